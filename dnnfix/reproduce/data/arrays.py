"""Derives the form of a missing array: its shape, value range and labels, with the evidence for each."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dnnfix.reproduce.case import Case
from dnnfix.reproduce.data import clues
from dnnfix.reproduce.data.network_cost import FEWEST, affordable
from dnnfix.reproduce.flow.values import Use

INPUT = re.compile(r"(?:^|_|/)(?:x|xs|data|dataset|inputs?|images?|imgs?|features?|samples?|texts?|sequences?|xtr|xte)s?"
                   r"(?:$|_|\d|/|(?=tr|te|val))", re.IGNORECASE)  # fmt: skip
TARGET = re.compile(r"(?:^|_|/)(?:y|ys|labels?|targets?|classes|outputs?|gt|masks?|ytr|yte|annotations?|t)s?"
                    r"(?:$|_|\d|/|(?=tr|te|val))", re.IGNORECASE)  # fmt: skip
_TEST = re.compile(r"te(?:st)?(?:ing)?(?:$|_|x|y|/|\d|s)|tst", re.IGNORECASE)
_CHECK = re.compile(r"val(?:id(?:ation)?)?(?![a-z])|dev(?:$|_)|vld|holdout", re.IGNORECASE)

SAMPLES = 512
"""Samples where nothing tells: sixteen batches of 32, so that an epoch is over within a trial."""

FEWEST_UNTOLD = 32
"""Samples where nothing tells and the network is so large that more of them would take longer than a trial."""

LARGEST = 40_000_000
"""Values at most: more than any program needs to show its fault, in a tenth of the memory that a trial may use."""

STEPS, SIDE = 20, 32
"""The length of sequences and the side of images where nothing tells."""


@dataclass(frozen=True, slots=True)
class Looks:
    """The form of an array. `shape` is that of one sample; `code` makes the array with `made_pair`."""

    role: str
    shape: tuple[int, ...]
    samples: int
    form: str
    size: tuple[int, ...]
    scale: str
    vocabulary: int
    part: int
    evidence: str
    suffix: str = ""

    @property
    def pair(self) -> str:
        """The call that makes inputs and targets together."""
        size = self.size[0] if len(self.size) == 1 else self.size
        more = f", vocabulary={self.vocabulary}" if self.vocabulary else ""
        more += f", scale={self.scale!r}" if self.scale != "plain" else ""
        more += f", part={self.part}" if self.part else ""
        return f"made_pair({self.samples}, {self.shape!r}, {self.form!r}, {size!r}{more})"

    @property
    def code(self) -> str:
        """The expression of the array."""
        return f"{self.pair}[{0 if self.role == 'inputs' else 1}]{self.suffix}"

    @property
    def words(self) -> str:
        """What is made, in words."""
        if self.role == "inputs":
            kind = f"token ids below {self.vocabulary}" if self.vocabulary else _SCALES[self.scale]
            return f"{self.samples} samples of the shape {self.shape}, {kind}"
        count = "x".join(map(str, self.size)) if self.form == "values" else self.size[-1]
        return f"{self.samples} targets: {_FORMS[self.form].format(count)}"


_SCALES = {"plain": "numbers around 0", "unit": "values from 0 to 1", "bytes": "bytes from 0 to 255"}
_FORMS = {
    "classes": "indices of {} classes", "one-hot": "one-hot rows of {} classes", "binary": "0 or 1",
    "labels": "rows of {} zeros and ones", "values": "{} number(s) each", "steps": "one of {} classes for each step",
    "words": "names of {} classes", "same": "the inputs themselves", "mask": "one of {} classes for each place",
    "mask one-hot": "one of {} classes for each place, one-hot", "mask binary": "0 or 1 for each place",
}  # fmt: skip


class Contradictory(Exception):
    """Two clues that contradict each other; the message names both places."""


def role_of(name: str, uses: Sequence[Use]) -> str | None:
    """Whether data is a network's inputs or its targets, by its uses, else by its name."""
    counts = {role: sum(use.kind == role for use in uses) for role in ("inputs", "targets")}
    if any(use.kind in ("one-hot", "encoded") for use in uses) and not counts["inputs"]:
        return "targets"
    if counts["inputs"] != counts["targets"]:
        return "inputs" if counts["inputs"] > counts["targets"] else "targets"
    for called in [name, *(str(use.detail) for use in uses if use.kind == "bound" and use.part == ())]:
        if TARGET.search(called):
            return "targets"
        if INPUT.search(called):
            return "inputs"
    return None


def look(
    case: Case, name: str, uses: Sequence[Use], role: str, partner: str = "", beside: Sequence[Use] = ()
) -> Looks | None:
    """The form of the array of a name; `None` where there is no evidence. Raises `Contradictory`.

    `partner` is the name of the targets that belong to inputs, or of the inputs that belong to targets, and `beside` its
    uses: both are made together, so that the one can be learned from the other.
    """
    ends = clues.ends(case.source)
    rows = max(_rows(uses), _rows(beside))
    if role == "inputs":
        x = _inputs(case, name, uses, ends, _count(case, partner), rows)
        y = _targets(case, partner, beside, ends, x)
        if x is None:
            return None
        form = (y.form, y.size) if y is not None else _form_at_network(ends)
        if is_own_target(uses):
            form = ("same", x.shape)
            x = replace(x, scale="unit") if x.scale == "plain" and ends.form in ("binary", "labels") else x
        return replace(x, form=form[0], size=form[1], part=part_of(name))
    return _targets(case, name, uses, ends, _inputs(case, partner, beside, ends, _count(case, name), rows))


def _rows(uses: Sequence[Use]) -> int:
    """How many samples there are at least, by the places at which the program takes the data apart."""
    taken = [use.detail[:2] for use in uses if use.kind in ("slice", "rows") and use.part == () and use.exact]
    most = max((abs(place) for ends in taken for place in ends if isinstance(place, int)), default=0)
    return most + (FEWEST_UNTOLD if (most, None) in taken else 0)


def _count(case: Case, targets: str) -> int | None:
    """How many samples there are by what is said of the targets."""
    told = _agreed(case, targets, clues.TARGETS) if targets else None
    return told.shape[0] if told is not None else None


def is_own_target(uses: Sequence[Use]) -> bool:
    """Whether inputs are learned from themselves, as by an autoencoder."""
    fed = {(use.part, use.line) for use in uses if use.kind == "inputs" and use.exact}
    return any((use.part, use.line) in fed for use in uses if use.kind == "targets" and use.exact)


def scaled_from_bytes(uses: Sequence[Use]) -> list[Use]:
    """The uses that make numbers from 0 to 1 of bytes."""
    return [use for use in uses if use.kind == "arithmetic" and use.detail in _BYTES]


def part_of(name: str) -> int:
    """0 for training data, 1 for test data, 2 for what checks between."""
    return 2 if _CHECK.search(name) else 1 if _TEST.search(name) else 0


def _agreed(case: Case, name: str, role: str) -> clues.Clue | None:
    """What is said of a name's shape. Raises `Contradictory`."""
    told = clues.shapes_of(case, name) if name else []
    clash = clues.contradiction(told)
    if clash is not None:
        raise Contradictory(f"contradictory shapes of {name}: {clash[0].evidence}; {clash[1].evidence}")
    told = told or (clues.messages(case, role) if not part_of(name) else [])
    return min(told, key=lambda clue: clue.strength, default=None)


def _inputs(
    case: Case, name: str, uses: Sequence[Use], ends: clues.Ends, count: int | None, rows: int = 0
) -> Looks | None:
    told = _agreed(case, name, clues.INPUTS)
    reshaped = _reshaped(uses)
    resized = next((use for use in uses if use.kind == "resized"), None)
    columns = _columns(uses) if resized is None else None  # `images[i, 0]` is no column then
    samples: int | None = None
    if told is not None:
        samples, sizes, evidence = told.shape[0], told.shape[1:], told.evidence
    elif reshaped is not None:
        samples, sizes, evidence = reshaped
    elif columns is not None:
        sizes, evidence = columns
    elif (place := _place(uses)) is not None and place < len(ends.several):
        sizes, evidence = ends.several[place], clues.FROM_NETWORK.format(what=f"input {place + 1}")
    elif ends.inputs is not None:
        sizes = ends.inputs
        evidence = clues.FROM_NETWORK.format(what="input")
        if ends.line is not None:
            evidence = f"line {ends.line}: {evidence}"
    elif (fed := _fed(uses)) is not None:
        sizes, evidence = fed
    elif (asked := clues.asked(case.source)) is not None and any(use.kind == "inputs" for use in uses):
        sizes, evidence = asked[0], f"line {asked[2]}: {asked[1]} takes it; its sizes: a guess"
    else:
        return None
    shape = tuple(size if size else _usual(sizes) for size in sizes)
    if any(not size for size in sizes):
        evidence += "; sizes that are open: a guess"
    scale = "plain"
    if divided := scaled_from_bytes(uses):
        scale = "bytes"
        evidence += f"; line {divided[0].line}: scaled from bytes"
    elif resized is not None and len(shape) >= 2:
        scale = "bytes"
        evidence += f"; line {resized.line}: resized as images are"
    elif len(shape) >= 3 or (len(shape) == 2 and "Conv2" in ends.first) or (len(shape) == 2 and shape[0] == shape[1]):
        scale = "unit"
    vocabulary = (ends.vocabulary or 0) if len(shape) < 2 else 0
    if vocabulary and told is not None:
        evidence += f"; that they are ids: {clues.FROM_NETWORK.format(what='embedding')}"
    elif not vocabulary and not divided:
        evidence += "; numbers of single precision: a guess"
    made = _samples(case, samples or count, shape, ends, rows)
    return Looks("inputs", shape, made, "classes", (2,), scale, vocabulary, 0, evidence)


_BYTES = tuple((op, number) for op in ("Div", "Sub") for number in (255, 255.0, 256, 256.0, 127.5, 128, 128.0, 127))


def _usual(sizes: tuple[int | None, ...]) -> int:
    return STEPS if len(sizes) <= 2 else SIDE


def _samples(case: Case, told: int | None, shape: tuple[int, ...], ends: clues.Ends, rows: int) -> int:
    """How many samples are made: as many as are told, and as many as the program takes apart."""
    size = math.prod(shape)
    wanted = told or affordable(case.source, shape, SAMPLES if size < 20000 else 64, FEWEST_UNTOLD)
    if ends.batch and not told:
        wanted = 16 * ends.batch
    if case.little_data and not told:
        wanted = ends.batch or FEWEST
    return max(1, min(max(wanted, 0 if told else rows), LARGEST // max(1, size)))


def _reshaped(uses: Sequence[Use]) -> tuple[int | None, tuple[int, ...], str] | None:
    """What a `reshape` says of the data before it: samples and the values of each, without axes of one."""
    for use in uses:
        if use.kind == "reshape" and use.exact and len(use.detail) > 1 and not _of_one(use):
            first, rest = use.detail[0], use.detail[1:]
            if all(isinstance(size, int) and size > 0 for size in rest):
                sizes = tuple(size for size in rest if size != 1) or (1,)
                side = round(sizes[0] ** 0.5)
                if len(sizes) == 1 and side * side == sizes[0] >= 64:
                    sizes = (side, side)
                samples = first if isinstance(first, int) and first > 0 else None
                return samples, sizes, f"line {use.line}: reshaped to {use.detail}"
    return None


def _of_one(use: Use) -> bool:
    """Whether something is done with one sample of the data, as to show it."""
    return any(step[0] in ("item", "element") for step in use.part)


def _columns(uses: Sequence[Use]) -> tuple[tuple[int, ...], str] | None:
    """The columns that are taken of it by their places."""
    highest, line = 0, 0
    for use in uses:
        if use.kind == "column" and use.exact:
            ends = [use.detail[1] + 1] if use.detail[0] == "one" and isinstance(use.detail[1], int) else []
            ends += [use.detail[2]] if use.detail[0] == "range" and isinstance(use.detail[2], int) else []
            if ends and max(ends) > highest:
                highest, line = max(ends), use.line
    return ((highest,), f"line {line}: {highest} columns are used") if highest else None


def _place(uses: Sequence[Use]) -> int | None:
    """Which of several inputs of a network it is."""
    places = [use.detail[1] for use in uses if use.kind == "inputs" and isinstance(use.detail, tuple)]
    return places[0] if places else None


def _fed(uses: Sequence[Use]) -> tuple[clues.Shape, str] | None:
    """The shape of the placeholder that it is fed to."""
    for use in uses:
        if use.kind == "fed" and use.detail and len(use.detail) > 1 and all(use.detail[1:]):
            told = clues.FROM_NETWORK.format(what="placeholder")
            return use.detail[1:], f"line {use.line}: {told}"
    return None


_AS_LARGE = 100
"""Targets of so many values, as many as the inputs have, are what an autoencoder learns: other versions of the inputs."""


def _form_at_network(ends: clues.Ends) -> tuple[str, tuple[int, ...]]:
    """The targets that the network's end asks for."""
    outputs = ends.outputs or 2
    form = ends.form or "classes"
    if ends.per_step and form == "one-hot":
        return "steps", (outputs,)
    if form in ("binary", "classes") and outputs < 2:
        return form, (1,) if form == "binary" else (2,)
    return form, (outputs,)


def _targets(case: Case, name: str, uses: Sequence[Use], ends: clues.Ends, x: Looks | None) -> Looks | None:
    form, size = _form_at_network(ends)
    evidence = f"{ends.loss.rpartition('.')[2] or 'the loss'}: " + clues.FROM_NETWORK.format(what="loss and output")
    fed = _fed(uses)
    if fed is not None and len(fed[0]) == 1 and fed[0][0]:
        size, evidence = (fed[0][0],), fed[1]
    if x is not None and form in ("labels", "values") and x.shape == size and size[-1] >= _AS_LARGE:
        form, evidence = "same", f"{evidence}; as large as the inputs: made like these"
    if ends.spatial and x is not None and len(x.shape) == 3:
        if form in ("binary", "labels", "one-hot", "classes"):
            form, size = _mask(x.shape, ends)
        elif form == "values" and (_OF_MASKS.search(ends.loss) or _OF_MASKS.search(name)):
            form, size = _mask(x.shape, replace(ends, form="binary"))
        elif form == "values":  # other images
            form, size = "values", _mask(x.shape, replace(ends, form="binary"))[1][:-1]
    made = next((use for use in uses if use.kind in ("one-hot", "encoded")), None)
    told = _agreed(case, name, clues.TARGETS)
    suffix = " * 255" if form.startswith("mask binary") and scaled_from_bytes(uses) else ""
    if made is not None:
        count = made.detail if isinstance(made.detail, int) else size[-1] if size[-1] > 1 else 2
        form, size = ("words" if made.kind == "encoded" else "classes"), (count,)
        evidence = f"line {made.line}: made {'numbers' if made.kind == 'encoded' else 'one-hot'} there"
    elif ends.form is None and (told is None or len(told.shape) < 2):
        if ends.outputs is None:
            return None
        evidence += "; no loss is known: class indices are a guess"
    samples = x.samples if x is not None else SAMPLES
    if told is not None:
        samples = told.shape[0] or samples
        form, size, suffix = _as_told(told.shape[1:], form, size, ends.outputs)
        evidence = f"{told.evidence}; what the values are: {evidence}"
    binary = form == "binary" and not told and case.source.frameworks == {"torch"}
    shape = x.shape if x is not None else (4,)
    if binary:
        size = (1, 1)
    made_with = x or Looks("inputs", shape, samples, form, size, "plain", 0, 0, "")
    return replace(
        made_with,
        role="targets",
        samples=samples,
        form=form,
        size=size,
        part=part_of(name),
        evidence=evidence,
        suffix=suffix,
    )


_OF_MASKS = re.compile(r"mask|segment|dice|jaccard|iou(?![a-z])|tversky", re.IGNORECASE)
"""Names of losses and of targets that tell of masks."""


def _mask(shape: tuple[int, ...], ends: clues.Ends) -> tuple[str, tuple[int, ...]]:
    """Masks as large as the images, behind a network that ends in a convolution; the last number counts the classes."""
    outputs = ends.outputs or 1
    first = min(range(3), key=lambda axis: shape[axis]) == 0
    places = shape[1:] if first else shape[:2]
    if ends.form == "classes":
        return "mask", (*places, max(2, outputs))
    if ends.form == "one-hot" and outputs > 1:
        return "mask one-hot", (*places, outputs)
    whole = (outputs, *places) if first else (*places, outputs)
    return "mask binary", (*whole, 2)


def _as_told(
    rest: tuple[int | None, ...], form: str, size: tuple[int, ...], outputs: int | None
) -> tuple[str, tuple[int, ...], str]:
    """The form of targets whose shape is told, whatever the network asks for."""
    known = tuple(length or 1 for length in rest)
    if form == "values":
        return form, known or (1,), "[:, 0]" if not known else ""
    if known in ((), (1,)):
        indices = "classes" if form in ("one-hot", "steps", "labels") else form
        return indices, size if indices != "binary" else (1,), ".reshape(-1, 1)" if known else ""
    if len(known) == 1:
        several = form in ("labels", "binary") and outputs == known[0]
        return ("labels" if several else "one-hot"), known, ""
    return "values", known, ""
