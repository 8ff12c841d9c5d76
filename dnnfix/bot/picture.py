"""The loss curve before a patch and with it, as a Mermaid chart in Markdown.

A picture in the text itself needs no file in the repository and no host, and is drawn in the reader's colours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NAMES = ("skill", "loss")
"""What is drawn, the first that both sides have."""

FEWEST, MOST = 3, 60
"""Points of a line."""

COLOURS = ("#8c959f", "#0969da")

_FRAME = """```mermaid
%%{{init: {{"themeVariables": {{"xyChart": {{"plotColorPalette": "{colours}"}}}}}}}}%%
xychart-beta
    x-axis "share of the run in percent" 0 --> 100
    y-axis "{name}" {least:.4g} --> {most:.4g}
{lines}
```

{name} by step, seed {seed}: grey before, blue with the patch."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """Two lines on one scale: the numbers before a patch, and with it, on one seed."""

    name: str
    seed: int
    before: tuple[float, ...]
    after: tuple[float, ...]

    def markdown(self) -> str:
        """The picture, with a sentence that says what it shows."""
        values = (*self.before, *self.after)
        least, most = min(values), max(values)
        margin = (most - least) / 20 or abs(most) / 20 or 1.0
        lines = "\n".join(
            f"    line [{', '.join(f'{value:.4g}' for value in side)}]" for side in (self.before, self.after)
        )
        return _FRAME.format(
            colours=", ".join(COLOURS),
            name=self.name,
            seed=self.seed,
            least=least - margin,
            most=most + margin,
            lines=lines,
        )


def drawing(curves: Sequence[Any]) -> Drawing | None:
    """What is to be drawn of the curves of a report (`curves` of a patch in the JSON contract); `None` where nothing is to be seen.

    They are untrusted input: what is not a number, or has no pair, is not drawn.
    """
    for name in NAMES:
        sides: dict[tuple[int, bool], tuple[float, ...]] = {}
        for one in curves:
            if isinstance(one, Mapping) and type(one.get("seed")) is int and isinstance(one.get("patched"), bool):
                sides.setdefault((one["seed"], one["patched"]), _numbers(one.get(name)))
        for seed, patched in sides:
            before, after = sides.get((seed, False), ()), sides.get((seed, True), ())
            if not patched and min(len(before), len(after)) >= FEWEST:
                return Drawing(name, seed, before, after)
    return None


def _numbers(values: Any) -> tuple[float, ...]:
    """The finite numbers of a list, as far as they are drawn."""
    listed = values[:MOST] if isinstance(values, list) else []
    return tuple(float(one) for one in listed if type(one) in (int, float) and abs(one) < 1e30 and math.isfinite(one))
