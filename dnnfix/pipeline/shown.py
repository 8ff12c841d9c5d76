"""What a report shows of a run beside its findings: the slice of a crash, and how the units of each layer went.

Nothing here runs anything or decides anything: it draws up what the run had told already.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dnnfix.records import Json, LayerCurve, Origin, Site, Trace
from dnnfix.source.program import Source
from dnnfix.subject import Subject

if TYPE_CHECKING:
    from dnnfix.synthesize.slices import Place

LINES = 12
"""Lines of a slice that are shown: what is further away is hardly ever to blame."""

COMPUTING = frozenset({"layer", "loss", "model"})
"""Kinds of components that values go through: what else was constructed gave none."""

SEEN = ("failing", "statement", "caller")
"""Roles of lines whose names hold at the crash what they held when the line ran."""

HELD = 6
"""Names of a line of which it is said what they held."""


def slice_of(source: Source, trace: Trace) -> tuple[Origin, ...]:
    """The lines of a program that the value may come from at which it crashed, nearest first; none where it did not."""
    from dnnfix.synthesize.scene import Frame, Scene
    from dnnfix.synthesize.slices import Role, places

    if trace.crash is None or trace.crash.site is None:
        return ()
    subject = Subject(source, trace)
    frames = tuple(Frame(frame.site.path, frame.function, frame.site, {}, {}) for frame in reversed(trace.crash.frames))
    names = {name: held for frame in trace.crash.frames for name, held in frame.names.items()}
    network = subject.network
    other = {part.site.line for part in network.components if part.site is not None and part.kind not in COMPUTING}
    lines: dict[int, list[Place]] = {}
    for place in places(Scene(subject, frames)):
        if place.role is Role.CONSTRUCTOR and source.site(place.node).line in other:
            continue
        lines.setdefault(source.site(place.node).line, []).append(place)
    nearest = sorted(lines.items(), key=lambda found: (found[1][0].steps, -found[0]))
    given = _given(trace)
    return tuple(
        Origin(
            _span(source, found[0].node),
            found[0].role.value,
            found[0].steps,
            given.get(line) or (_held(found, names) if found[0].role in SEEN else ()),
        )
        for line, found in nearest[:LINES]
    )


def _given(trace: Trace) -> dict[int, tuple[str, ...]]:
    """What the last operation on each line gave, in the order of the run: its shape and kind of numbers."""
    calls = trace.network.calls if trace.network is not None else ()
    return {
        call.site.line: (f"gives {said}",)
        for call in calls
        if call.site is not None and not call.site.path and call.outputs
        if (said := _value({"shape": call.outputs[0].shape, "dtype": call.outputs[0].dtype}))
    }


def _span(source: Source, node: ast.expr) -> Site:
    """The whole of an expression's statement, where that is one line; else the expression."""
    statement = source.statement_of(node)
    site = source.site(statement)
    return site if site.line == site.end_line else source.site(node)


def _held(found: Sequence[Place], names: Mapping[str, Json]) -> tuple[str, ...]:
    """What the names of a line held: `x: (64, 1352) float32`."""
    nodes = [place.node for place in found]
    texts = dict.fromkeys(ast.unparse(node) for node in nodes if isinstance(node, ast.Name | ast.Attribute))
    told = [f"{text} is {said}" for text in texts if text in names and (said := _value(names[text]))]
    return tuple(told[:HELD])


def _value(held: Json) -> str:
    from dnnfix.synthesize.crash_account import shape_text

    match held:
        case {"shape": [*sizes], **rest}:
            return f"{shape_text(sizes)} {str(rest.get('dtype') or '').removeprefix('torch.')}".rstrip()
        case {"length": length}:
            return f"{length} items"
        case bool() | int() | float():
            return f"{held:g}" if isinstance(held, float) else str(held)
    return ""


def layer_curves(looked: Trace | None) -> tuple[LayerCurve, ...]:
    """How the units of each layer went in a training that was looked at; none where none was."""
    from dnnfix.validate.layer_symptoms import units

    known = units(looked) if looked is not None else None
    if known is None:
        return ()
    return tuple(LayerCurve(one.name, one.line, known.steps, one.shares, one.spreads) for one in known.layers)
