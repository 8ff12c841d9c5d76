"""The facts that are reported of a crash no rule explains: the failing expression, the values in it and the layer
called.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dnnfix.records import Call, Crash, Json
from dnnfix.source.program import Source
from dnnfix.synthesize.definitions import definitions

MOST = 4
"""Names of the failing expression that are told of."""

LONGEST = 60
"""Characters of the failing expression that are shown."""


def account(source: Source, crash: Crash) -> dict[str, Json]:
    """The failing expression, what its names held and where that came from, and the layer that was called."""
    told: dict[str, Json] = {}
    site = crash.site
    if site is None or site.path not in source.files:
        return told
    file = source.files[site.path]
    home = replace(site, path="")
    node = file.node_at(home)
    if isinstance(node, ast.expr):
        code = " ".join(file.segment(home).split())
        told["at"] = code if len(code) <= LONGEST else f"{code[: LONGEST - 1]}…"
        told.update(list(_held(file, node, crash.frames[-1].names))[:MOST])
    if crash.call is not None:
        told["layer"] = _layer(source, crash.call)
    return told


def _held(file: Source, node: ast.expr, names: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    for part in ast.walk(node):
        text = ast.unparse(part) if isinstance(part, ast.Name | ast.Attribute) else ""
        what = _in_words(names.get(text))
        if what:
            lines = sorted({value.lineno for value in definitions(file, part)}) if isinstance(part, ast.expr) else []
            made = f" of line{'s' * (len(lines) > 1)} {' and '.join(map(str, lines[-2:]))}" if lines else ""
            yield text, f"{what}{made}"


def _in_words(value: Any) -> str:
    """An array by its shape and kind, a list by its length, a number or text as it is; nothing of what was not kept."""
    if isinstance(value, Mapping):
        if isinstance(value.get("shape"), (list, tuple)):
            return f"{str(value.get('dtype', '')).removeprefix('torch.')} {shape_text(value['shape'])}".strip()
        if "length" in value:
            return f"a list of {value['length']}"
        return ""
    return repr(value)[:LONGEST] if isinstance(value, (bool, int, float, str)) else ""


def shape_text(sizes: Sequence[object]) -> str:
    """A shape as Python writes it: `(64, 10)`, `(3,)`."""
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def _layer(source: Source, call: Call) -> str:
    """The layer that was called, where it was made, and the shapes that it was given."""
    given = " and ".join(shape_text(value.shape) for value in call.inputs if value.shape is not None)
    made = call.made_at
    place = f" of {source.line_in_words(made.line, made.path)}" if made is not None else ""
    return f"{call.name}{place}" + (f", given {given}" if given else "")
