"""The cause "learning rate": the usual rate of the optimizer, and others around it and around the one that is set."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dnnfix.network.optimizers import FAR_OFF
from dnnfix.records import FixPattern
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.synthesize.causes.optimizing import optimizers
from dnnfix.validate.reading import Reading

TOO_SMALL = frozenset({"flat", "unfinished"})
"""Symptoms after which a greater rate is likelier than a smaller one, where the outputs still depend on the samples."""

TOO_GREAT = frozenset({"non-finite", "diverging", "rising", "oscillating"})
"""Symptoms after which a greater rate would be worse."""


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """Other rates for each optimizer whose rate is known."""
    shown = {reading.name for reading in symptoms}
    for one in optimizers(subject):
        if one.value is None:
            continue
        off = abs(math.log10(one.value / one.usual))
        likely = 0.85 if off >= FAR_OFF else 0.6 if off >= 0.99 else 0.3
        slow = bool(shown & TOO_SMALL) and "constant-output" not in shown
        down, up = (0.5, 0.7) if slow else (0.7, 0.5)
        weighed = [(one.usual, 1.0), (one.usual / 10, down), (one.usual * 10, up), (one.value / 100, 0.4)]
        weighed += [(one.value / 10, down - 0.1), *([(one.value * 10, up)] if one.value <= one.usual else [])]
        rates: dict[float, float] = {}
        for rate, weight in weighed:
            rates[float(f"{rate:.6g}")] = max(weight, rates.get(float(f"{rate:.6g}"), 0.0))
        for rate, weight in rates.items():
            if math.isclose(rate, one.value) or (shown & TOO_GREAT and rate > one.value):
                continue
            made = one.with_rate(subject, rate)
            if made is not None:
                title = f"Train with a learning rate of {rate:g} rather than {one.value:g}"
                yield Cause("learning-rate", title, FixPattern.OPTIMIZER, made, likely * weight)
