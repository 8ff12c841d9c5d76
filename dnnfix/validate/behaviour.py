"""What a run did, as far as two runs can be compared: the same program may be written in many ways."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from dnnfix.records import Trace

NEAR = 1e-4
"""Relative difference up to which two numbers of deterministic runs are the same: sums may be taken in another order."""

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|nan|inf)\b")


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What a run did, as far as it can be compared: words and numbers printed, losses, and what its layers gave.

    Reshaping and other functions between the layers are left out: one result is got in many ways.
    """

    words: str
    numbers: tuple[float, ...]
    losses: tuple[float, ...]
    shapes: tuple[object, ...]

    @property
    def tells(self) -> bool:
        """Whether there is anything in it that two different programs would differ in."""
        return bool(self.losses or self.numbers or self.shapes)

    def same_as(self, other: Behaviour) -> bool:
        """Whether two runs did the same up to rounding."""
        if (self.words, self.shapes) != (other.words, other.shapes):
            return False
        return _near(self.numbers, other.numbers) and _near(self.losses, other.losses)


def behaviour(trace: Trace) -> Behaviour:
    """What a run did."""
    calls = trace.network.calls if trace.network is not None else ()
    return Behaviour(
        words=" ".join(_NUMBER.sub("#", trace.printed).split()),
        numbers=tuple(float(found) for found in _NUMBER.findall(trace.printed)),
        losses=tuple(step.loss for step in trace.steps if step.loss is not None),
        shapes=tuple(
            (call.name, tuple((v.shape, v.dtype) for v in call.outputs)) for call in calls if call.component is not None
        ),
    )


def same_behaviour(some: Sequence[Trace], others: Sequence[Trace]) -> bool:
    """Whether two programs did the same on the same seeds."""
    pairs = [(behaviour(one), behaviour(other)) for one, other in zip(some, others, strict=True)]
    return bool(pairs) and all(one.tells and one.same_as(other) for one, other in pairs)


def _near(some: Sequence[float], others: Sequence[float]) -> bool:
    if len(some) != len(others):
        return False
    return all(
        (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=NEAR, abs_tol=NEAR**2)
        for a, b in zip(some, others, strict=True)
    )
