"""The curves of the paired trials of a patch."""

from __future__ import annotations

import math

from dnnfix.records import Candidate, FixPattern, RunOutcome, Step, Trace
from dnnfix.source.program import Source
from dnnfix.validate.curves import POINTS, curves
from dnnfix.validate.evidence import Evidence, Pair

SOURCE = Source.from_bytes(b"pass\n", "program.py")


def trained(*losses: float) -> Trace:
    steps = tuple(Step(index, loss=loss, gradient=1.0) for index, loss in enumerate(losses))
    return Trace(RunOutcome.FINISHED, seed=7, steps=steps)


def test_each_point_is_the_mean_of_its_part_and_none_is_made_up() -> None:
    before, after = trained(*[float(step) for step in range(2 * POINTS)]), trained(3.0, math.inf)
    candidate = Candidate("DNF301", "", FixPattern.ACTIVATION, (), ())
    evidence = Evidence((candidate,), SOURCE, SOURCE, before, after, pairs=(Pair(before, after),))
    first, second = curves(evidence)
    assert (first.seed, first.patched, second.patched) == (7, False, True)
    assert first.loss[:3] == (0.5, 2.5, 4.5) and len(first.loss) == POINTS
    assert second.loss[0] == 3.0 and math.isnan(second.loss[1])
    assert first.skill == () and second.gradient == (1.0, 1.0)
