"""Activity of each layer's units during training (dead or saturated fractions), and gradient size of its weights.

Measured in steps 4, 8, 16 and so on: the state of a layer changes slowly, and all other steps cost nothing. Only the
program's own calls are measured; none is made for this.
"""

from __future__ import annotations

import math
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple

_FIRST = 4
_MOST_ROWS = 256
_MOST_NUMBERS = 1 << 18
_MOST_LAYERS = 64
_TINY = 1e-12
_NEAR_THE_END = 0.02
"""Share of its range up to which an activation counts as at one of its ends."""

_RECTIFIED = frozenset({"relu", "relu_", "relu6"})
_ENDS: Dict[str, Tuple[float, float]] = {
    "sigmoid": (0.0, 1.0), "sigmoid_": (0.0, 1.0), "hardsigmoid": (0.0, 1.0), "hard_sigmoid": (0.0, 1.0),
    "tanh": (-1.0, 1.0), "tanh_": (-1.0, 1.0), "softsign": (-1.0, 1.0), "hardtanh": (-1.0, 1.0),
}  # fmt: skip
"""The range of activations that saturate."""


class Units:
    """The layers and weights of a training, in the steps that are looked at."""

    def __init__(self) -> None:
        self._steps: List[int] = []
        self._layers: Dict[Any, Dict[str, Any]] = {}
        self._weights: Dict[str, Dict[int, float]] = {}

    @staticmethod
    def due(number: int) -> bool:
        """Whether the step of that number, counted from 1, is looked at."""
        return number >= _FIRST and number & (number - 1) == 0

    @staticmethod
    def rows(shape: Sequence[int]) -> int:
        """How many rows of an output of that shape are looked at."""
        return max(2, min(_MOST_ROWS, _MOST_NUMBERS // max(1, math.prod(shape[1:]))))

    def gave(self, number: int, key: Any, name: str, site: Optional[Sequence[int]], output: Any) -> None:
        """Measure what a layer or an activation gave in a step: `output` is an array, with rows on its first axis."""
        numpy: Any = sys.modules["numpy"]
        if output.ndim < 2 or output.dtype.kind != "f" or not output.size:
            return
        layer = self._layers.get(key)
        if layer is None:
            if len(self._layers) >= _MOST_LAYERS:
                return
            layer = self._layers[key] = {"name": name, "site": site, "shares": {}, "spreads": {}}
        if number in layer["spreads"]:
            return
        rows = output.reshape(len(output), -1).astype("float64")
        layer["spreads"][number] = float(rows.std(0).mean() / (numpy.abs(rows).mean() + _TINY))
        share = _share(numpy, name, rows)
        if share is not None:
            layer["shares"][number] = share

    def came(self, number: int, weight: str, gradient: Any) -> None:
        """Measure the gradient that came to a weight in a step: the root of the mean square of its elements."""
        if gradient.ndim >= 2 and gradient.size:
            size = float((gradient.astype("float64") ** 2).mean() ** 0.5)
            self._weights.setdefault(weight, {})[number] = size

    def step_done(self, number: int) -> None:
        """The step of that number was looked at."""
        self._steps.append(number)

    def found(self) -> Optional[Dict[str, Any]]:
        """All that was measured, one number for each step that was looked at; `None` where there was no such step."""
        if not self._steps:
            return None
        layers = [
            {
                "name": layer["name"],
                "site": layer["site"],
                "shares": self._in_order(layer["shares"]) if layer["shares"] else None,
                "spreads": self._in_order(layer["spreads"]),
            }
            for layer in self._layers.values()
        ]
        weights = [{"name": name, "gradients": self._in_order(known)} for name, known in self._weights.items()]
        return {"steps": self._steps, "layers": layers, "weights": weights}

    def _in_order(self, known: Dict[int, float]) -> List[Optional[float]]:
        return [float("%.4g" % known[number]) if number in known else None for number in self._steps]


def is_activation(name: str) -> bool:
    """Whether a function or layer of that name is one whose units may be dead or saturated."""
    return name.lower() in _RECTIFIED or name.lower() in _ENDS


def _share(numpy: Any, name: str, rows: Any) -> Optional[float]:
    """The share of outputs that are zero, of a rectified layer, or at an end of their range; `None` for all others."""
    if name.lower() in _RECTIFIED:
        return float((rows == 0.0).mean())
    ends = _ENDS.get(name.lower())
    if ends is None:
        return None
    near = _NEAR_THE_END * (ends[1] - ends[0])
    return float(((rows < ends[0] + near) | (rows > ends[1] - near)).mean())
