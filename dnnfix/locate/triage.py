"""Whose fault a report is about: the program's, the data's, the environment's, the hardware's, another library's, or nobody's (a question or a wish).

Words of the title and of the text, and signs that rules see (an import that fails, memory that is used up, a sentence that asks), are weighed
by a logistic model. Its weights (`triage.json`) were fitted to restated reports that two people labelled apart from each other:
`tools/fit_triage.py`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from itertools import pairwise

from dnnfix.libraries import ABOUT_MODELS, FRAMEWORKS, OF_DATA, ON_KERAS, ON_TORCH
from dnnfix.locate.said import Said
from dnnfix.locate.words import words
from dnnfix.source.public_names import words as listed


class Fault(StrEnum):
    """Where what a report is about would have to be changed."""

    PROGRAM = "program"
    DATA = "data"
    ENVIRONMENT = "environment"
    HARDWARE = "hardware"
    THIRD_PARTY = "third-party"
    QUESTION = "question"


UNSURE = 0.5
"""Chance of the likeliest answer below which it is said to be unsure."""
LONGEST_SENTENCE = 240


@dataclass(frozen=True, slots=True)
class Triage:
    """Whose fault it is, how likely (0 to 1), the sentence of the report that says so most, and what to do next."""

    fault: Fault
    chance: float
    sentence: str
    advice: str

    @property
    def is_sure(self) -> bool:
        """Whether the answer is likelier than all others together."""
        return self.chance >= UNSURE


@dataclass(frozen=True, slots=True)
class Model:
    """What speaks for one answer: the weight of each feature, and what it has without any."""

    bias: float
    weights: Mapping[str, float]


ADVICE: Mapping[Fault, str] = {
    Fault.PROGRAM: "look at the places below, the most suspect first",
    Fault.DATA: "check the data that went in: shape, range of the labels, missing values, the files themselves",
    Fault.ENVIRONMENT: "compare the installed versions with those that the project asks for, in a new environment",
    Fault.HARDWARE: "find out what the device has left: a smaller batch, fewer processes, tensors on one device",
    Fault.THIRD_PARTY: "look for the report there; until it is mended, pin the version that worked",
    Fault.QUESTION: "answer it, or keep it as a wish: nothing seems to be broken",
}

_SIGNS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "memory": r"out of memory|\boom\b|memoryerror|cannot allocate|memory (?:leak|usage|consumption|error|keeps|grows|is not)|(?:gpu|cuda|video|v?ram|host|cpu) memory|bad_alloc",
        "device": r"cuda error|device-side assert|illegal memory access|nccl|same device|on the same|multi-?gpu|cuda:\d|\bgpus?\b|\btpus?\b|\bmps\b|nvlink|segmentation fault|core dumped",
        "install": r"\bpip3? install|conda install|setup\.py|build(?:ing)? wheel|installation|install(?:ing|ed)?\b|requirements|no matching distribution|compil(?:e|ation)|gcc|nvcc|cmake|ninja|docker|wheel",
        "missing module": r"no module named|modulenotfounderror|importerror|cannot import name|undefined symbol|\.so\b|dll load|glibc|libcu",
        "version": r"version conflict|incompatib|upgrad|downgrad|newer version|older version|latest version|since (?:version|v?\d+\.\d+)|after (?:updat|upgrad)|with (?:python|torch|pytorch|tensorflow|keras|numpy) v?\d|not (?:yet )?released|deprecat",
        "network": r"connection|timed? ?out|urlerror|httperror|ssl|proxy|40[34]|offline|download|permission denied",
        "asks": r"\bhow (?:can|do|to|should|does|would)\b|is it possible|is there (?:a|any) way|what is the|why (?:is|do|does|are)|could (?:you|someone|anyone)|can (?:i|we|you|someone|anyone)\b|wonder|question|clarif|understand|advice|any idea|should i\b",
        "wishes": r"feature request|would be (?:nice|great|good|useful|helpful)|it would|please add|add support|support for|propos|suggest|enhancement|i would like|would like to|motivation|pitch|roadmap|allow(?:ing)? (?:users|to)|ability to|request",
        "documents": r"\bdocs?\b|documentation|tutorial|readme|example notebook|docstring|typo",
        "data": r"my (?:own )?(?:data|dataset|csv|images|labels|annotations)|custom (?:data|dataset)|corrupt|labels? (?:file|are|is)|annotation|missing values?|\bnans? in|empty (?:file|dataset|dataframe)|json file|\.csv|\bcolumns?\b|out of range|file not found|no such file",
        "says bug": r"\bbug\b|describe the bug|expected behaviou?r|should (?:be|return|have|not)|regression|incorrect(?:ly)?|wrong(?:ly)?|unexpected(?:ly)?|instead of|is ignored|has no effect|fails? (?:when|if|with|for)|crash(?:es)?|breaks|broken|mistake",
        "other library": r"upstream|third.party|in (?:numpy|torch|pytorch|scipy|pandas|tensorflow)(?:'s| itself)",
        "goes back": r"downgrad|pin(?:ned|ning)?\b|(?:went|put|going|go|take[ns]?) back|works? (?:fine |well |again )?(?:with|in|on|under|if) [^.\n]{0,40}\d\.\d|runs again|(?:with|in|under) \S+ ?v?\d+\.\d+\S* (?:it|all|everything|nothing)|(?:as of|since|from) \S+ ?v?\d+\.\d+",
        "crash of the process": r"segmentation fault|segfault|core dumped|bus error|\bsig(?:segv|abrt|bus)",
        "code link": r"/blob/|#L\d+|line \d+ (?:of|in)|lines? \d+",
    }.items()
}
_TAGS: Mapping[str, re.Pattern[str]] = {
    "bug": re.compile(r"\[?\bbug\b", re.IGNORECASE),
    "feature": re.compile(r"feature|\[rfc|\benh\b|proposal|suggestion", re.IGNORECASE),
    "question": re.compile(r"question|help|how to|\?$", re.IGNORECASE),
}
"""What people write in front of a title."""
_LIBRARIES = (
    *FRAMEWORKS,
    *ON_TORCH,
    *ON_KERAS,
    *ABOUT_MODELS,
    *OF_DATA,
    *listed(
        "pytorch torchtext tf jaxlib scikit-learn scikit-image pillow opencv opencv-python pytorch-lightning fastai h5py pyarrow triton xformers protobuf sentencepiece spacy "
        "librosa soundfile sox numba llvmlite onnx onnxruntime tensorrt pydantic typer click hydra omegaconf wandb tensorboard dask ray faiss bitsandbytes deepspeed apex mmcv "
        "detectron2 setuptools pkg_resources tqdm requests fsspec dill cython nccl cudnn"
    ),
)
"""Libraries that projects stand on, by the names that reports call them."""
_LIBRARY = re.compile(rf"(?<![\w/.-])({'|'.join(sorted(_LIBRARIES, key=len, reverse=True))})(?![\w-])", re.IGNORECASE)
_LIBRARY_VERSION = re.compile(
    rf"{_LIBRARY.pattern}[`'\"]? ?(?:version |release |[=<>~!]=|v)? ?`?\d+\.\d", re.IGNORECASE
)
_TRACKER = re.compile(r"github\.com/[\w.-]+/([\w.-]+)/(?:issues|pull|commit)/|discuss\.pytorch\.org|bugs?\.python\.org")
_PACKAGE = re.compile(r"(?:site|dist)-packages/([A-Za-z]\w*)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def features(said: Said, project: str) -> Mapping[str, float]:
    """What the model sees of a report to a project of that name: signs, words of the title, words of the text; each by its name."""
    text = f"{said.title}\n{said.prose}\n{said.logs}"
    found = {**dict(_signs(said, text)), **dict(_others(said, text, _plain(project)))}
    title = list(words(said.title))
    prose = list(words(said.prose))
    body = {*prose, *words(said.message)}
    found |= {f"title {word}": 1.0 for word in (*title, *map(" ".join, pairwise(title)))}
    found |= {f"first {title[0]}": 1.0} if title else {}
    found |= {f"text {word}": 1.0 for word in (*body, *map(" ".join, pairwise(prose))) if len(word) > 1}
    return found


def _signs(said: Said, text: str) -> Iterator[tuple[str, float]]:
    for name, pattern in _SIGNS.items():
        if many := len(pattern.findall(text)):
            yield f"sign {name}", min(2.0, 1.0 + math.log(many) / 2)
        if pattern.search(said.title):
            yield f"sign {name} in title", 1.0
        if said.message and pattern.search(f"{said.error}: {said.message}"):
            yield f"sign {name} in message", 1.0
    if said.title.rstrip().endswith("?"):
        yield "sign title asks", 1.0
    if many := said.prose.count("?"):
        yield "sign text asks", float(min(3, many))
    for tag, pattern in _TAGS.items():
        if pattern.search(said.title):
            yield f"sign tagged {tag}", 1.0
    if said.error:
        yield "sign error", 1.0
        yield f"error {said.error}", 1.0
    if said.frames:
        yield "sign traceback", 1.0
    if said.code.strip():
        yield "sign code", 1.0
    yield "sign length", math.log1p(len(text)) / 8


def _others(said: Said, text: str, project: str) -> Iterator[tuple[str, float]]:
    """Signs of libraries that are not the project itself."""
    for part, stretch in (("title", said.title), ("message", f"{said.error}: {said.message}"), ("text", text)):
        if any(_plain(name) not in project for name in _LIBRARY.findall(stretch)):
            yield f"sign library in {part}", 1.0
        if many := sum(_plain(name) not in project for name in _LIBRARY_VERSION.findall(stretch)):
            yield f"sign version of a library in {part}", 1.0 + (many == 1)
    if any(_plain(name) not in project for name in _TRACKER.findall(text)):
        yield "sign tracker of another", 1.0
    if said.frames:
        innermost = said.frames[-1].path
        package = _PACKAGE.search(innermost)
        if package is None:
            whose = "frozen" if innermost.startswith("<") else "own"
        else:
            whose = "own" if _plain(package[1]) in project else "another's"
        yield f"sign innermost frame {whose}", 1.0


def _plain(name: str) -> str:
    """A name as it is compared: a project is called `pytorch-lightning`, its package `pytorch_lightning`."""
    return re.sub(r"[-_.]", "", name.lower())


def triaged(said: Said, project: str) -> Triage:
    """Whose fault a report to a project of that name (`owner/name`, or the path of its folder) is about."""
    found = features(said, project)
    chances = _chances(found)
    fault = max(chances, key=lambda each: chances[each])
    return Triage(fault, chances[fault], _sentence(said, fault), ADVICE[fault])


def _chances(found: Mapping[str, float]) -> Mapping[Fault, float]:
    sums = {
        fault: model.bias + sum(model.weights.get(name, 0.0) * value for name, value in found.items())
        for fault, model in _fitted().items()
    }
    greatest = max(sums.values())
    powers = {fault: math.exp(value - greatest) for fault, value in sums.items()}
    return {fault: power / sum(powers.values()) for fault, power in powers.items()}


def _sentence(said: Said, fault: Fault) -> str:
    """The sentence that speaks most for a fault: the one whose own signs and words weigh most."""
    weights = _fitted()[fault].weights
    sentences: Sequence[str] = [
        said.title,
        *_SENTENCE.split(said.prose),
        f"{said.error}: {said.message}" if said.error else "",
    ]
    best, most = said.title, -math.inf
    for sentence in sentences:
        own = set(words(sentence))
        if not own:
            continue
        weight = sum(weights.get(f"text {word}", 0.0) for word in own)
        weight += sum(weights.get(f"sign {name}", 0.0) for name, pattern in _SIGNS.items() if pattern.search(sentence))
        if weight > most:
            best, most = sentence, weight
    return best.strip()[:LONGEST_SENTENCE]


@cache
def _fitted() -> Mapping[Fault, Model]:
    document = json.loads(resources.files("dnnfix.locate").joinpath("triage.json").read_text(encoding="utf-8"))
    return {Fault(name): Model(model["bias"], model["weights"]) for name, model in document.items()}
