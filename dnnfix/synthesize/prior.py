"""How likely a small edit is to be the repair, before it is run: a log-linear model over the kind of edit and its
place.

Its weights are data (`prior.json`), fitted on healthy programs that were broken (`tools/fit_prior.py`). A score is a
logarithm: the difference of two says how much likelier one edit is than another at the same crash.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

WEIGHTS = Path(__file__).with_name("prior.json")

UNKNOWN = -2.0
"""The weight of an operator that the weights do not name."""

Weights = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Traits:
    """What the likelihood of a guess is made of: see `Place` for `role` and `steps`, `Change` for `form` and `likeness`.

    `order` is the operator's own order at the place, from 0.
    """

    operator: str
    form: str
    role: str
    steps: int
    order: int = 0
    likeness: float = 0.0
    wide: str = ""
    """How the change goes beyond its place: `alike` and `everywhere` at all places alike, `rebound` for all that follows."""


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
