"""How likely a small edit is to be the one that was meant, before it is run: a log-linear model over what it is and where.

Its weights are data (`prior.json`).
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from dnnfix.synthesize.slices import Place, Spot

WEIGHTS = Path(__file__).with_name("prior.json")


def score(operator: str, form: str, place: Place | Spot, order: int) -> float:
    """The logarithm of an edit's weight: `form` of an operator at a place, `order` the operator's own order there, from 0."""
    weights = _weights()
    return float(
        weights["operators"].get(operator, -2.0)
        + weights["forms"].get(f"{operator}.{form}", 0.0)
        + weights["roles"].get(place.role.value, 0.0)
        + weights["steps"] * place.steps
        + weights["order"] * order
    )


@cache
def _weights() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return read
