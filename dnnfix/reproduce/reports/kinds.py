"""Classifies a bug by its type, with reasons, and lists the information that a report of that type lacks.

The five types are those of Humbatova et al., as the study of reproducing deep-learning bugs uses them; the words that
indicate a type begin with the tags by which the study chose its posts (its Table 1), and what is most useful for each
type comes from its Tables 6 and 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from dnnfix.records import RunOutcome, Trace
from dnnfix.reproduce.reports.report import reported_errors
from dnnfix.source.program import Source


class BugType(StrEnum):
    """What a bug is about."""

    MODEL = "model"
    TRAINING = "training"
    TENSOR = "tensor"
    API = "API"
    GPU = "GPU"


class Information(StrEnum):
    """What a report can hold that helps to reproduce a bug."""

    DATA = "data"
    MODEL = "model"
    HYPERPARAMETERS = "hyperparameters"
    CODE = "code"
    LOGS = "logs"


PREVALENCE = {
    Information.LOGS: 0.858,
    Information.CODE: 0.788,
    Information.DATA: 0.729,
    Information.MODEL: 0.647,
    Information.HYPERPARAMETERS: 0.527,
}
"""Share of the reproducible reports that hold it (Table 6)."""

USEFUL = {
    BugType.TRAINING: {Information.CODE: 0.9231, Information.LOGS: 0.8477, Information.DATA: 0.8077},
    BugType.MODEL: {Information.LOGS: 0.80, Information.MODEL: 0.70, Information.CODE: 0.70},
    BugType.TENSOR: {Information.DATA: 0.9524, Information.LOGS: 0.8571, Information.CODE: 0.6667},
    BugType.API: {Information.LOGS: 0.9091, Information.CODE: 0.8182, Information.MODEL: 0.7271},
}
"""Confidence with which reproduction of a type of bug needs an information (Table 7); the study has none for GPU bugs."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A type with the reasons for it, strongest first; `others` are types that something speaks for as well."""

    kind: BugType
    reasons: tuple[str, ...]
    others: tuple[BugType, ...] = ()


@dataclass(frozen=True, slots=True)
class Missing:
    """An information that a report lacks, and how much it matters, from 0 to 1: for bugs `of_type`, or for any."""

    information: Information
    weight: float
    of_type: bool


_ERRORS = {
    "ImportError": BugType.API,
    "ModuleNotFoundError": BugType.API,
    "AttributeError": BugType.API,
    "NameError": BugType.API,
    "NotImplementedError": BugType.API,
    "SyntaxError": BugType.API,
    "InvalidArgumentError": BugType.TENSOR,
    "IndexError": BugType.TENSOR,
}
_MESSAGES = (
    (BugType.GPU, r"\bcuda\b|\bcudnn\b|\bgpu\b|nvidia|device-side assert|same device|expected device"),
    (
        BugType.TENSOR,
        (
            r"shape|size mismatch|dimension|\bdim\b|ndim|rank|broadcast|expected .* got|mat1 and mat2|"
            r"\bdtype\b|scalar type|Float but|Long but|incompatible with the layer|logits and labels|out of bounds"
        ),
    ),
    (
        BugType.API,
        (
            r"unexpected keyword|positional argument|no attribute|cannot import|has no attribute|not callable|"
            r"no module named|deprecated|removed"
        ),
    ),
    (BugType.TRAINING, r"\bnan\b|does not require grad|no gradients|backward through the graph"),
)
_PROSE = (
    (
        BugType.TRAINING,
        (
            r"\bloss(?:es)?\b|\baccuracy\b|\btrain(?:ing|s)?\b|converg|\bnan\b|learning rate|overfit|underfit|"
            r"not learn|gradient|hyper-?parameter|imbalanced?|augmentation|optimi[sz]|initiali[sz]|performance"
        ),
    ),
    (BugType.MODEL, r"\blayers?\b|\bmodel\b|architecture|activation|\bweights\b|output of the (?:model|network)"),
    (BugType.TENSOR, r"\btensors?\b|\bshapes?\b|dimensions?|\bbatch\b|reshape|\binput\b"),
    (BugType.API, r"\bversion\b|upgrad|deprecat|\bapi\b|import|install|argument"),
    (BugType.GPU, r"\bgpus?\b|\bcuda\b|nvidia|out of memory|\bdevice\b"),
)
ERROR_WEIGHT, MESSAGE_WEIGHT, TRAINING_WEIGHT = 3.0, 4.0, 3.0
"""What an exception's class, its message and a training that was seen to fail weigh against one kind of word of prose."""
SECOND = 0.5
"""Share of the strongest type's weight from which on another type is named beside it."""


def type_of(said: str, trace: Trace | None) -> Typed:
    """The type of a bug from what a report says and from what a run showed."""
    weights = dict.fromkeys(BugType, 0.0)
    reasons: list[tuple[float, BugType, str]] = []
    for kind, weight, reason in (*_from_errors(said, trace), *_from_run(trace), *_from_prose(said)):
        weights[kind] += weight
        reasons.append((weight, kind, reason))
    best = max(BugType, key=lambda kind: weights[kind])
    if not weights[best]:
        return Typed(BugType.MODEL, ("nothing was reported or seen that speaks for another type",))
    why = [reason for _weight, kind, reason in sorted(reasons, key=lambda r: -r[0]) if kind is best]
    others = [kind for kind in BugType if kind is not best and weights[kind] >= SECOND * weights[best]]
    return Typed(best, tuple(dict.fromkeys(why)), tuple(others))


Evidence = tuple[BugType, float, str]


def _from_errors(said: str, trace: Trace | None) -> Iterator[Evidence]:
    errors = [(name, message, "reported") for name, message in reported_errors(said)][:1]
    if trace is not None and trace.crash is not None and not errors:
        errors.append((trace.crash.kind.rpartition(".")[2], trace.crash.message, "seen"))
    for name, message, how in errors:
        for kind, pattern in _MESSAGES:
            if found := re.search(pattern, message, re.IGNORECASE):
                yield kind, MESSAGE_WEIGHT, f'the {how} {name} speaks of "{found[0][:60]}"'
                break
        if name in _ERRORS:
            yield _ERRORS[name], ERROR_WEIGHT, f"a {name} was {how}"


def _from_run(trace: Trace | None) -> Iterator[Evidence]:
    if trace is None:
        return
    if trace.outcome is RunOutcome.NEEDS_GPU:
        yield BugType.GPU, MESSAGE_WEIGHT, "the program needs a GPU"
    if trace.steps and trace.crash is None:
        yield (
            BugType.TRAINING,
            TRAINING_WEIGHT,
            f"the program trains ({len(trace.steps)} steps seen) and does not crash",
        )


def _from_prose(said: str) -> Iterator[Evidence]:
    for kind, pattern in _PROSE:
        words = {match.lower() for match in re.findall(pattern, said, re.IGNORECASE)}
        if words:
            yield kind, min(len(words), 3), f"the report speaks of {', '.join(sorted(words)[:4])}"


_HYPERPARAMETERS = {"lr", "learning_rate", "batch_size", "epochs", "nb_epoch", "num_epochs", "n_epochs", "momentum"}
_DATA = re.compile(
    r"shape|\bdata ?set\b|\bmnist\b|cifar|imagenet|\d+ (?:samples|images|rows|classes|features)|\.csv|\(\d+, ?\d+",
    re.IGNORECASE,
)


def missing_information(
    kind: BugType, said: str, logs: str, source: Source | None, data_made: bool
) -> Iterator[Missing]:
    """What a report of a bug of that type lacks, most useful first (Table 7, then Table 6).

    `data_made` is whether data had to be made up with nothing in the report to go by.
    """
    held = set(_held(said, logs, source, data_made))
    weights = {**PREVALENCE, **USEFUL.get(kind, {})}
    first = USEFUL.get(kind, {})
    order = sorted(Information, key=lambda each: (each not in first, -weights[each]))
    yield from (Missing(each, weights[each], each in first) for each in order if each not in held)


def _held(said: str, logs: str, source: Source | None, data_made: bool) -> Iterator[Information]:
    if logs.strip() or next(reported_errors(said), None):
        yield Information.LOGS
    if source is None:
        return
    yield Information.CODE
    if not data_made or _DATA.search(said):
        yield Information.DATA
    if source.frameworks and (
        source.words & {"Module", "Sequential", "Model", "Linear", "Dense", "applications", "models"}
    ):
        yield Information.MODEL
    if source.words & _HYPERPARAMETERS or re.search(r"learning rate|batch size|epochs", said, re.IGNORECASE):
        yield Information.HYPERPARAMETERS
