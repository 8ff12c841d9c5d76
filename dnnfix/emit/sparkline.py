"""A curve as one line of block characters for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
MARKS = "_.-~=+*#"
"""The same heights where the terminal has ASCII only."""

BROKEN = "!"
"""What stands for a number that is none."""


def sparkline(values: Sequence[float], width: int, low: float, high: float, levels: str = BLOCKS) -> str:
    """The values in `width` characters at most, each as high as its mean between `low` and `high`."""
    count = min(width, len(values))
    parts = [values[place * len(values) // count : (place + 1) * len(values) // count] for place in range(count)]
    return "".join(_level(sum(part) / len(part), low, high, levels) for part in parts)


def _level(value: float, low: float, high: float, levels: str) -> str:
    if not math.isfinite(value):
        return BROKEN
    share = (value - low) / (high - low) if high > low else 0.0
    return levels[min(len(levels) - 1, max(0, int(share * len(levels))))]
