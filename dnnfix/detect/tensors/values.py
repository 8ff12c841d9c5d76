"""The uses of losses in a program: prediction and target of each, the layer and activation that made it, and value
ranges.

A loss that is called many times is read once, with the ranges of all its calls joined, so that a fault is one finding
and an observation is that of the whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from dnnfix.network.facts import (
    LOSS_WORDS,
    ActivationUse,
    LossFacts,
    activation_of,
    layer_facts,
    loss_calls,
    loss_facts,
    stated_output,
    through,
)
from dnnfix.records import Call, Site, Symptom, Value
from dnnfix.records.record import record
from dnnfix.source.program import once
from dnnfix.subject import Subject

WANTING = frozenset({"FileNotFoundError", "ImportError", "ModuleNotFoundError"})
"""Exceptions of programs that lack a file or a package."""

N = TypeVar("N", int, float)

SCORING = frozenset({"linear", "convolution", "normalization"})
"""Kinds of layers whose outputs are raw scores where no activation follows."""

TOLERANCE = 1e-3
"""By how much a value may leave a range through rounding alone."""


@record
class LossUse:
    """One place where a loss is computed.

    `call` is the first call seen there. `prediction` and `target` carry the ranges of all its calls. `producer` made the
    prediction's values and `activation` is what it applied last. `crashed` says that the program ended in this call.
    """

    call: Call
    facts: LossFacts
    prediction: Value
    target: Value | None = None
    producer: Call | None = None
    activation: ActivationUse | None = None
    crashed: bool = False

    @property
    def name(self) -> str:
        """The loss's short name."""
        return self.call.name.rpartition(".")[2]

    @property
    def cause(self) -> str:
        """The cause of findings about this loss: `crash` where the program ended in it."""
        return "crash" if self.crashed else ""

    @property
    def symptom(self) -> Symptom:
        """The symptom of a fault that can end the program in this loss."""
        return Symptom.CRASH if self.crashed else Symptom.VIOLATION

    @property
    def in_keras(self) -> bool:
        """Whether it is a loss of Keras."""
        return self.call.name.startswith("keras.")

    @property
    def in_torch(self) -> bool:
        """Whether it is a loss of torch."""
        return self.call.name.startswith("torch.")

    @property
    def is_cross_entropy(self) -> bool:
        """Whether the loss is called a cross-entropy, binary or over classes."""
        return "entropy" in self.name.lower() or "BCE" in self.name

    @property
    def site(self) -> Site | None:
        """Where the program chooses the loss: its constructor or string, else its call."""
        return self.call.made_at or self.call.site

    @property
    def output_site(self) -> Site | None:
        """Where the layer or activation that returns the prediction is constructed, else where it is called."""
        maker = self.producer
        return (maker.made_at or maker.site) if maker is not None else None

    @property
    def bare(self) -> bool:
        """Whether no activation is known to follow the layer that returns the prediction."""
        return self.activation is None or self.activation.facts.linear

    @property
    def activation_name(self) -> str:
        """The name of the activation that returns the prediction; empty where none is known."""
        return self.activation.name if self.activation is not None else ""

    @property
    def rows_sum_to_one(self) -> bool:
        """Whether the prediction is known to be a softmax."""
        return self.activation is not None and self.activation.facts.rows_sum_to_one

    @property
    def rank(self) -> int | None:
        """How many axes the prediction has."""
        return len(self.prediction.shape) if self.prediction.shape is not None else None

    @property
    def width(self) -> int | None:
        """How many values per sample the prediction has, `None` if unknown; 1 where it has no such axis."""
        shape = self.prediction.shape
        if shape is not None and len(shape) < 2:
            return 1
        if shape is not None:
            axis = self.facts.class_axis if self.facts.class_axis is not None else -1
            if shape[axis] is not None:
                return shape[axis]
        maker = self.producer
        return stated_output(maker) if maker is not None and shape is None else None

    @property
    def plain(self) -> bool:
        """Whether the prediction is known to be logits: of a layer with no activation behind it."""
        maker = self.producer
        if maker is None:
            return False
        facts = layer_facts(maker)
        known = (
            not maker.name.startswith("keras.")
            or self.activation is not None
            or facts is None
            or facts.kind == "normalization"
        )
        return self.bare and known and facts is not None and facts.kind in SCORING

    @property
    def leaves_unit_range(self) -> bool:
        """Whether predictions outside [0, 1] were seen."""
        return outside(self.prediction, 0.0, 1.0)

    @property
    def target_is_indices(self) -> bool:
        """Whether the target was seen to hold class indices: integers without the axis of the prediction's classes."""
        target, shape = self.target, self.prediction.shape
        if target is None or target.shape is None or shape is None or not whole(target) or len(shape) < 2:
            return False
        if target.low is not None and target.low < 0:
            return False
        axis = (self.facts.class_axis if self.facts.class_axis is not None else -1) % len(shape)
        if target.row_sums_to_one and shape[axis] != 1 and target.shape[-1] == shape[axis]:
            return False  # rows with a one for the class
        wanted = shape[:axis] + shape[axis + 1 :]
        return _agree(target.shape, wanted) or (shape[axis] != 1 and _agree(target.shape, (*wanted, 1)))

    @property
    def target_is_one_hot(self) -> bool:
        """Whether the target was seen to hold rows of the prediction's shape that sum to one."""
        return self.target is not None and self._target_in_rows and self.target.row_sums_to_one is True

    @property
    def target_is_multi_hot(self) -> bool:
        """Whether the target was seen to hold several independent zeros and ones per sample."""
        target = self.target
        if target is None or not self._target_in_rows or target.row_sums_to_one is not False:
            return False
        return binary(target) and target.dtype in ("float32", "float64", "float16")

    @property
    def _target_in_rows(self) -> bool:
        shape = self.target.shape if self.target is not None else None
        return shape is not None and shape == self.prediction.shape and len(shape) > 1 and (shape[-1] or 0) > 1


def _agree(shape: tuple[int | None, ...], other: tuple[int | None, ...]) -> bool:
    """Whether two shapes are the same as far as they are known."""
    return len(shape) == len(other) and all(a == b or a is None or b is None for a, b in zip(shape, other, strict=True))


def whole(value: Value) -> bool:
    """Whether the values are known to be integers."""
    integer = value.dtype is not None and value.dtype.startswith(("int", "uint"))
    return value.integral is True or integer


def binary(value: Value | None) -> bool:
    """Whether the values are known to be zeros and ones."""
    if value is None or value.low is None or value.high is None:
        return False
    return whole(value) and value.low >= 0 and value.high <= 1


def outside(value: Value, low: float, high: float, share: float = 0.0) -> bool:
    """Whether values were seen outside `[low, high]` by more than rounding and more than `share` of their spread."""
    if value.low is None or value.high is None:
        return False
    slack = max(TOLERANCE, share * (value.high - value.low))
    return value.low < low - slack or value.high > high + slack


def extent(value: Value | None) -> str:
    """The range of a value in words, for messages."""
    if value is None or value.low is None or value.high is None:
        return "unknown"
    return f"{value.low:.4g} to {value.high:.4g}"


def seen_of(subject: Subject, value: Value) -> list[Value]:
    """The value, and what was seen wherever else the same data entered."""
    inputs = (one for call in subject.network.calls for one in call.inputs)
    return [value, *(one for one in inputs if one.site is not None and one.site == value.site and one.origin == "data")]


@once  # many templates ask
def loss_uses(subject: Subject) -> tuple[LossUse, ...]:
    """Every place where a known loss is computed, the one that the program crashed in included.

    A run that stopped for want of a file or a package before any loss says nothing of them: then the source does.
    """
    if subject.trace is None and subject.source.words.isdisjoint(LOSS_WORDS):
        return ()  # spares most files of a scan the work of reading their network
    found: dict[tuple[Site | None, Site | None, Site | None], LossUse] = {}
    for call, facts in loss_calls(subject.network):
        use = _read(subject, call, facts) if call.inputs else None
        if use is None:
            continue
        key = (call.site, call.made_at, use.output_site)
        found[key] = _joined(found[key], use) if key in found else use
    crash = subject.crash.call if subject.crash is not None else None
    facts_of_crash = loss_facts(crash) if crash is not None else None
    if crash is not None and facts_of_crash is not None and crash.inputs:
        use = replace(_read(subject, crash, facts_of_crash), crashed=True)
        same = [key for key in found if key[:2] == (crash.site, crash.made_at)]
        for key in same:
            del found[key]
        found[(crash.site, crash.made_at, None)] = use
    if not found and subject.crash is not None and subject.crash.kind in WANTING:
        return loss_uses(Subject(subject.source))
    return tuple(found.values())


def _read(subject: Subject, call: Call, facts: LossFacts) -> LossUse:
    network = subject.network
    prediction = call.inputs[0]
    maker = through(network, prediction)
    if maker is None and network.known_from == "trace" and prediction.origin is None:
        maker = _maker_in_source(subject, call)
    target = call.inputs[1] if len(call.inputs) > 1 else None
    if target is not None and target.integral is False and subject.trace is not None and subject.trace.on_invented_data:
        target = replace(target, low=None, high=None, integral=None, distinct=None)  # the amounts are ours
    return LossUse(call, facts, prediction, target, maker, activation_of(maker) if maker is not None else None)


def _maker_in_source(subject: Subject, call: Call) -> Call | None:
    """What the source says of the prediction, where the run ended before it could show it."""
    network = subject.source_network
    for other, _ in loss_calls(network):
        chosen = call.made_at is not None and other.made_at == call.made_at
        if other.inputs and (chosen or other.site == call.site):
            return through(network, other.inputs[0])
    return None


def _joined(first: LossUse, later: LossUse) -> LossUse:
    target = first.target
    if target is not None and later.target is not None:
        target = _both(target, later.target)
    return replace(first, prediction=_both(first.prediction, later.prediction), target=target)


def _both(first: Value, later: Value) -> Value:
    return replace(
        first,
        low=_extreme(min, first.low, later.low),
        high=_extreme(max, first.high, later.high),
        integral=_all(first.integral, later.integral),
        finite=_all(first.finite, later.finite),
        row_sums_to_one=_all(first.row_sums_to_one, later.row_sums_to_one),
        distinct=_extreme(max, first.distinct, later.distinct),
    )


def _extreme(choose: Callable[[N, N], N], first: N | None, later: N | None) -> N | None:
    return later if first is None else first if later is None else choose(first, later)


def _all(first: bool | None, later: bool | None) -> bool | None:
    return later if first is None else first if later is None else first and later


def edge_calls(subject: Subject, names: frozenset[str]) -> Iterator[tuple[Call, bool]]:
    """Calls of functions, named by their last part, with finite inputs and outputs that are not finite.

    Each comes once per place, with whether it gave values that are not finite (`True`) or zeros where its slope has no
    bound (`False`). Only runs show them.
    """
    if subject.trace is None or subject.network.known_from != "trace":
        return
    seen: set[Site | None] = set()
    for call in subject.network.calls:
        if call.name.rpartition(".")[2].rstrip("_") not in names or not call.outputs or call.site in seen:
            continue
        if any(value.finite is not True for value in call.inputs):
            continue
        result = call.outputs[0]
        if result.finite is False:
            seen.add(call.site)
            yield call, True
        elif result.finite and result.requires_grad and (result.low == 0 or result.high == 0):
            seen.add(call.site)
            yield call, False
