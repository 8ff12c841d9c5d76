"""How likely a small edit is to be the one that was meant, before it is run: a log-linear model over what it is and where.

Its weights are data (`prior.json`), fitted on healthy programs that were broken (`tools/fit_prior.py`). A score is the
logarithm of a weight; only differences of scores within one crash say something.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dnnfix.synthesize.traits import Traits

WEIGHTS = Path(__file__).with_name("prior.json")

UNKNOWN = -2.0
"""The weight of an operator that the weights do not name."""

Weights = Mapping[str, Mapping[str, float]]


def features(traits: Traits) -> Iterator[tuple[str, str, float]]:
    """What the score of a guess is summed from: the group of a weight, its name in there, and the feature's value."""
    yield "operators", traits.operator, 1.0
    yield "forms", f"{traits.operator}.{traits.form}", 1.0
    yield "places", traits.role, 1.0
    yield "numbers", "steps", float(traits.steps)
    yield "numbers", "order", float(traits.order)
    yield "numbers", "likeness", traits.likeness
    if traits.wide:
        yield "ways", traits.wide, 1.0
    if traits.seen:
        yield "ways", "seen", 1.0


def score(traits: Traits, weights: Weights | None = None) -> float:
    """The logarithm of an edit's weight."""
    given = weights if weights is not None else _weights()
    unknown = {"operators": UNKNOWN}
    return sum(
        value * given.get(group, {}).get(name, unknown.get(group, 0.0)) for group, name, value in features(traits)
    )


@cache
def _weights() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return read
