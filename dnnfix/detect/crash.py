"""Readings of a crash: which layer received what it was not made for.

Rests on the recorded call in flight, never on the wording of the message: in 20 of 39 crash posts of the study the
message does not match the fix.
"""

from __future__ import annotations

from dataclasses import dataclass

from dnnfix.network.facts import LayerFacts, layer_facts, stated_input
from dnnfix.records import Call, Value
from dnnfix.subject import Subject


@dataclass(frozen=True, slots=True)
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


def crashed_layer(subject: Subject) -> tuple[Call, LayerFacts, Value] | None:
    """The known layer in whose call the program crashed, with the input whose shape is known."""
    crash = subject.crash
    if crash is None or crash.call is None:
        return None
    facts = layer_facts(crash.call)
    if facts is None or not crash.call.inputs or crash.call.inputs[0].shape is None:
        return None
    return crash.call, facts, crash.call.inputs[0]


def size_conflict(subject: Subject) -> SizeConflict | None:
    """The size conflict that explains the crash, if the crash is one."""
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
    if received is None or received == stated:
        return None
    return SizeConflict(call, facts, value, axis, stated, received)
