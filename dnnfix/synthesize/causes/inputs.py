"""The cause "input scale": inputs scaled to about one by the statistics of the training samples, or a first
normalization layer.
"""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.network.facts import layer_facts
from dnnfix.records import Call, FixPattern, Value, Wrap
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.arrays import is_of_network, scaled
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.synthesize.edits.recipes import insert_layer_before
from dnnfix.synthesize.edits.spelling import spell
from dnnfix.validate.reading import Reading

LARGE = 10.0
"""Size of the largest input from which on its scale may be what stops training: beyond three deviations of scaled data."""

BYTES = (60.0, 255.0)
"""Largest values between which inputs that are never negative are the bytes of pictures."""


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """Scaled arrays where they are passed to training, or a normalization as the first layer."""
    first = _first_layer(subject)
    if first is None:
        return
    call, value = first
    size = max(abs(value.low or 0.0), abs(value.high or 0.0))
    if size <= LARGE:
        return
    is_bytes = value.low is not None and value.low >= 0.0 and BYTES[0] < size <= BYTES[1]
    made = scaled(subject, "x", is_bytes)
    if made:
        how = "by 255" if is_bytes else "by the mean and the deviation of the training samples"
        title = f"Scale the inputs, which reach {size:.3g}, {how}"
        yield Cause("inputs", title, FixPattern.DATA_WRANGLING, made, 0.8)
    yield from _normalized(subject, call, value, size)


def _first_layer(subject: Subject) -> tuple[Call, Value] | None:
    """The first layer or model that is called, and what it is given; indices are no amounts."""
    for call in subject.network.calls:
        facts = layer_facts(call)
        for value in call.inputs[:1]:
            if value.high is None or not is_of_network(subject, call):
                continue
            if facts is not None and facts.kind == "embedding":
                return None
            return call, value
    return None


def _normalized(subject: Subject, call: Call, value: Value, size: float) -> Iterator[Cause]:
    """A normalization over the batch in front of the first layer."""
    shape = value.shape or ()
    if call.name.startswith("keras."):
        spelled = spell(subject, "keras.layers.BatchNormalization")
        code = f"{spelled.code}()"
    elif call.name.startswith("torch.nn.") and len(shape) in (2, 4) and shape[1] is not None:
        spelled = spell(subject, f"torch.nn.BatchNorm{len(shape) // 2}d")
        code = f"{spelled.code}({shape[1]})"
    else:
        return
    made = insert_layer_before(subject, call, code)
    if made is not None and not isinstance(made[0], Wrap):  # a layer made anew in every call would not learn
        title = f"Normalize the inputs, which reach {size:.3g}, in the first layer"
        yield Cause("inputs", title, FixPattern.ADD_LAYER, (*made, *spelled.imports), 0.5)
