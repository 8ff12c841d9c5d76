"""The learning rate: the usual one of the optimizer, and others around it and around the one that is set."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dnnfix.records import FixPattern
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.synthesize.causes.optimizing import optimizers
from dnnfix.validate.symptoms import Reading

TOO_GREAT = frozenset({"non-finite", "diverging", "rising", "oscillating"})
"""Symptoms after which a greater rate would be worse."""


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """Other rates for each optimizer whose rate is known."""
    shown = {reading.name for reading in symptoms}
    for one in optimizers(subject):
        if one.value is None:
            continue
        off = abs(math.log10(one.value / one.usual))
        likely = 0.85 if off >= 1.9 else 0.6 if off >= 0.99 else 0.3
        rates = {one.usual: 1.0, one.usual / 10: 0.7, one.usual * 10: 0.5, one.value / 10: 0.6, one.value / 100: 0.4}
        rates |= {} if shown & TOO_GREAT or one.value > one.usual else {one.value * 10: 0.5}
        for rate, weight in rates.items():
            if math.isclose(rate, one.value) or (shown & TOO_GREAT and rate > one.value):
                continue
            made = one.with_rate(subject, rate)
            if made is not None:
                title = f"Train with a learning rate of {rate:g} rather than {one.value:g}"
                yield Cause("learning-rate", title, FixPattern.OPTIMIZER, made, likely * weight)
