"""The layer or loss whose call crashed, and what did not fit: a size, a rank, or the shapes of prediction and target.

Rests on the recorded call in flight, never on the wording of the message: in 20 of 39 crash posts of the study the
message does not match the fix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dnnfix.network.facts import LayerFacts, LossFacts, layer_facts, loss_facts, stated_input
from dnnfix.records import Call, Json, Value
from dnnfix.records.record import record
from dnnfix.subject import Subject


@record
class SizeConflict:
    """A layer whose stated input size does not meet the size of what it received on that axis.

    `axis` counts as in the received shape (negative from the end), `stated` is what the constructor says and
    `received` what came.
    """

    call: Call
    facts: LayerFacts
    value: Value
    axis: int
    stated: int
    received: int


@record
class RankConflict:
    """A layer that received a tensor of a rank that it does not take.

    `wanted` is the batched rank that the layer takes; `rank` is what came, the batch axis counted.
    """

    call: Call
    facts: LayerFacts
    value: Value
    rank: int
    wanted: int


@record
class LossConflict:
    """A loss that crashed: what it was given as prediction and as target. Both shapes are known."""

    call: Call
    facts: LossFacts
    prediction: Value
    target: Value


def crashed_layer(subject: Subject) -> tuple[Call, LayerFacts, Value] | None:
    """The known layer in whose call the program crashed, with the input whose shape is known."""
    crash = subject.crash
    if crash is None or crash.call is None:
        return None
    call = _inner(subject, crash.call)
    facts = layer_facts(call)
    if facts is None or not call.inputs or call.inputs[0].shape is None:
        return None
    return call, facts, call.inputs[0]


STACKS = {"torch.nn.TransformerEncoder": "encoder_layer", "torch.nn.TransformerDecoder": "decoder_layer"}
"""Layers that repeat a layer they are given, and the argument that gives it."""


def _inner(subject: Subject, call: Call) -> Call:
    """The call, as one of the layer that a stack repeats where it is a call of a stack."""
    given = call.args.get(STACKS.get(call.name, ""))
    place = given.get("component") if isinstance(given, Mapping) else None
    repeated = subject.network.component(place) if isinstance(place, int) else None
    if repeated is None:
        return call
    return replace(call, name=repeated.name, component=repeated.id, made_at=repeated.site, args=repeated.args)


def size_conflict(subject: Subject) -> SizeConflict | None:
    """The size conflict that explains the crash, if the crash is one.

    `None` too where the rank is not one that the layer takes: then no size on an axis can be the matter.
    """
    found = crashed_layer(subject)
    if found is None:
        return None
    call, facts, value = found
    stated = stated_input(call)
    axis = facts.takes_axis
    shape = value.shape
    if stated is None or axis is None or shape is None or not -len(shape) <= axis < len(shape):
        return None
    received = shape[axis]
    if received is None or received == stated or not facts.accepts_rank(len(shape)):
        return None
    return SizeConflict(call, facts, value, axis, stated, received)


def rank_conflict(subject: Subject) -> RankConflict | None:
    """The rank conflict that explains the crash, if the crash is one."""
    found = crashed_layer(subject)
    if found is None:
        return None
    call, facts, value = found
    rank = len(value.shape or ())
    wanted = facts.batched_rank if facts.ranks else facts.min_rank
    if facts.accepts_rank(rank) or wanted is None:
        return None
    return RankConflict(call, facts, value, rank, wanted)


def loss_conflict(subject: Subject) -> LossConflict | None:
    """The loss in whose call the program crashed, where the shapes of its prediction and target are known."""
    call = subject.crash.call if subject.crash is not None else None
    facts = loss_facts(call) if call is not None else None
    if call is None or facts is None or len(call.inputs) < 2:
        return None
    prediction, target = call.inputs[:2]
    if prediction.shape is None or target.shape is None:
        return None
    return LossConflict(call, facts, prediction, target)


def refused_constructor(subject: Subject) -> Call | None:
    """The call in flight, where the constructor of a layer refused its arguments, before it received a tensor."""
    call = subject.crash.call if subject.crash is not None else None
    if call is None or call.inputs or layer_facts(call) is None or call.site is None:
        return None
    return call if subject.call_node(call) is not None else None


def sizes(value: Json, spatial: int) -> tuple[int, ...] | None:
    """A kernel, pool or stride argument as one number per spatial axis; `None` if it is not a plain number or list."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return (value,) * spatial
    if isinstance(value, (list, tuple)):
        numbers = [one for one in value if isinstance(one, int) and not isinstance(one, bool)]
        if len(numbers) == len(value):
            return tuple(numbers) if len(numbers) == spatial else (numbers[0],) * spatial if len(numbers) == 1 else None
    return None
