"""The curves of a patch as data for the page, and the library that draws them there.

They are drawn by Vega in the reader's browser, when a finding is opened. Its runtime alone is inlined (0.6 MB, without Vega-Lite),
as `vl-convert-python` bundles it: as SVG it follows the colours of the page, is read by screen readers, and prints.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from dnnfix.records import Curve, Json, LayerCurve
from dnnfix.records.record import record

MEASURES = (
    ("loss", "Loss", "what the program minimises; not comparable where the patch changes the loss"),
    ("skill", "Skill", "what was learned, whatever the scale of the loss: 1 is perfect, 0 is guessing"),
    ("gradient", "Gradient norm", "the size of all gradients together"),
)

FINAL = 0.25
"""Fraction of a curve that its last number is the mean of."""

RUNTIME = 'import {{View, parse, Error}} from "https://cdn.jsdelivr.net/npm/vega@{}/+esm.js"; window.vega = {{View, parse, Error}};'
"""What is bundled: the address is the name under which `vl-convert` carries Vega, and nothing is fetched."""


@record
class Chart:
    """One measure of all trials: lines for the page, and the last numbers as a table for those who do not see them.

    A line is `{"label", "side", "steps", "values"}`; values that are no finite numbers are null.
    """

    name: str
    title: str
    about: str
    lines: tuple[Json, ...]
    rows: tuple[tuple[str, str, str], ...] = ()
    head: tuple[str, str, str] = ("Seed", "Before", "With the patch")
    """What the columns of the rows are."""


def of_patch(curves: Sequence[Curve]) -> tuple[Chart, ...]:
    """A chart for each measure that was taken."""
    found = []
    for name, title, about in MEASURES:
        lines: list[Json] = [
            {
                "label": f"seed {curve.seed}",
                "side": "after" if curve.patched else "before",
                "steps": _places(len(values), curve.steps),
                "values": [_finite(value) for value in values],
            }
            for curve in curves
            if (values := _values(curve, name))
        ]
        if lines:
            found.append(Chart(name, title, about, tuple(lines), tuple(_rows(curves, name))))
    return tuple(found)


def of_layers(curves: Sequence[LayerCurve]) -> tuple[Chart, ...]:
    """How the units of each layer went: the share that is dead, and the spread of what each layer gives."""
    found = []
    named = {"dead": [(one, one.dead) for one in curves], "spread": [(one, one.spread) for one in curves]}
    for name, title, about in (
        ("dead", "Dead or saturated units", "share of outputs through which no gradient passes; 1 is all of them"),
        ("spread", "Spread of outputs", "how much outputs differ from sample to sample; 0 is not at all"),
    ):
        lines: list[Json] = [
            {
                "label": curve.layer + (f", line {curve.line}" if curve.line else ""),
                "side": f"c{number % 6}",
                "steps": [float(step) for step in curve.steps[: len(values)]],
                "values": [_finite(value) for value in values],
            }
            for number, (curve, values) in enumerate(named[name])
            if any(value is not None for value in values)
        ]
        if lines:
            known = [(curve, [one for one in values if one is not None]) for curve, values in named[name]]
            rows = ((curve.layer, f"{values[0]:.3g}", f"{values[-1]:.3g}") for curve, values in known if values)
            found.append(Chart(name, title, about, tuple(lines), tuple(rows), ("Layer", "First", "Last")))
    return tuple(found)


def _values(curve: Curve, name: str) -> tuple[float, ...]:
    return {"loss": curve.loss, "skill": curve.skill, "gradient": curve.gradient}[name]


def _places(count: int, steps: int) -> list[Json]:
    """The step that each point stands for: the last of its part. In percent of the run where the steps are not known."""
    whole = steps or 100
    return [round(whole * (place + 1) / count, 1) for place in range(count)]


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _rows(curves: Iterable[Curve], name: str) -> Iterator[tuple[str, str, str]]:
    sides: dict[int, dict[bool, str]] = {}
    for curve in curves:
        sides.setdefault(curve.seed, {})[curve.patched] = _last(_values(curve, name))
    for seed, said in sides.items():
        yield str(seed), said.get(False, "–"), said.get(True, "–")


def _last(values: Sequence[float]) -> str:
    tail = values[-max(1, math.ceil(len(values) * FINAL)) :]
    if not tail:
        return "–"
    return f"{math.fsum(tail) / len(tail):.4g}" if all(map(math.isfinite, tail)) else "not finite"


def library(cache: Path | None) -> str:
    """The text of Vega's runtime, minified; empty where this version of `vl-convert` carries it under another name.

    It takes seconds to bundle, so that it is kept in `cache` for the next report.
    """
    import vl_convert

    drawer, carrier = vl_convert.get_vega_version(), version("vl-convert-python")
    kept = cache / f"vega-{drawer}-{carrier}.js" if cache is not None else None
    if kept is not None:
        with suppress(OSError, UnicodeDecodeError):
            return kept.read_text(encoding="utf-8")
    try:
        text: str = vl_convert.javascript_bundle(RUNTIME.format(drawer))
    except RuntimeError:
        return ""
    if kept is not None:
        with suppress(OSError):  # a full or read-only cache costs seconds the next time
            kept.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=kept.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(name, kept)
    return text
