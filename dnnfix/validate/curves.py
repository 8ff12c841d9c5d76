"""The curves of the paired trials of a patch (loss, skill, gradient), thinned out for reports."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dnnfix.records import Curve, Trace
from dnnfix.validate.evidence import Evidence

POINTS = 60
"""Numbers that a curve has at most; each is the mean of the steps that it stands for."""


def curves(evidence: Evidence) -> tuple[Curve, ...]:
    """The curves of each pair of trials: the program before the patch, then with it, on one seed."""
    return tuple(
        Curve(
            trace.seed,
            patched,
            _points(trace, "loss"),
            _points(trace, "skill"),
            _points(trace, "gradient"),
            len(trace.steps),
        )
        for pair in evidence.pairs
        for patched, trace in ((False, pair.before), (True, pair.after))
    )


def _points(trace: Trace, name: str) -> tuple[float, ...]:
    values: list[float] = [value for step in trace.steps if (value := getattr(step, name)) is not None]
    count = min(POINTS, len(values))
    return tuple(
        _mean(values[place * len(values) // count : (place + 1) * len(values) // count]) for place in range(count)
    )


def _mean(values: Sequence[float]) -> float:
    """To four digits: a report of many patches is long enough."""
    return float(f"{math.fsum(values) / len(values):.4g}") if all(map(math.isfinite, values)) else math.nan
