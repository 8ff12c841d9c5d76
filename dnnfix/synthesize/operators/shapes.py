"""The operator "shapes": an array is reshaped to that of another array, or to sizes that the program names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations
from math import isqrt, prod

from dnnfix.records import FixPattern
from dnnfix.synthesize.edits.spelling import spell
from dnnfix.synthesize.operators.change import Change, around
from dnnfix.synthesize.scene import Scene
from dnnfix.synthesize.slices import Place

PATTERN = FixPattern.DATA_DIMENSION

NAMED = 6
"""Sizes with names that are put together."""

MIXED = -1.5
"""What a shape loses, in logarithms, that has as many axes and another last one: a sample's numbers become another's."""

UNSAID = -0.9
"""What the shape of an array beside it loses, in logarithms, against one that the message speaks of."""

MOST = 24
"""Shapes that one array is given."""

_SHAPE = re.compile(r"[(\[]\s*((?:None|-?\d+)(?:\s*,\s*(?:None|-?\d+))*)\s*,?\s*[)\]]")


def changes(scene: Scene, place: Place) -> Iterator[Change]:
    """Other shapes for the array at a place."""
    sizes = place.told.sizes if place.told is not None else None
    if place.told is None or not sizes or prod(sizes) < 2:
        return
    seen: set[str] = set()
    for shape, form, less in _shapes(scene, place, sizes):
        if shape in seen or len(seen) >= MOST:
            continue
        seen.add(shape)
        if place.told.is_torch or place.told.is_numpy:
            yield around(scene, place.node, "", f".reshape({shape})", form, likeness=less)
        elif "tensorflow" in place.told.kind:
            spelling = spell(scene.subject, "tensorflow.reshape")
            yield around(scene, place.node, f"{spelling.code}(", f", [{shape}])", form, spelling.imports, less)


def _shapes(scene: Scene, place: Place, sizes: tuple[int, ...]) -> Iterator[tuple[str, str, float]]:
    """Shapes, each with its form and what it loses, in logarithms, against the best of that form."""
    elements = prod(sizes)
    for wanted, less in _met(scene):
        rest = prod(wanted[1:])
        if rest > 1 and elements % rest == 0 and wanted[1:] != sizes:  # that is one axis more
            mixed = MIXED * (len(wanted) == len(sizes) and wanted[-1] != sizes[-1])
            yield ", ".join(["-1", *(_spelled(scene, place, size) for size in wanted[1:])]), "met", mixed + less
    named = {
        name: told.number
        for name, told in scene.names(place.node).items()
        if isinstance(told.number, int) and not isinstance(told.number, bool) and 1 < told.number <= elements
    }
    named = dict([item for item in named.items() if elements % item[1] == 0][:NAMED])
    for length in (1, 2, 3):
        for chosen in permutations(named, length):
            size = prod(named[name] for name in chosen)
            mixed = length + 1 == len(sizes) and named[chosen[-1]] != sizes[-1]
            if size <= elements and elements % size == 0:
                yield ", ".join(["-1", *chosen]), "named", MIXED * mixed
    for channels in (1, 3):
        for name, side in named.items():
            if elements % (channels * side * side) == 0:
                yield f"-1, {channels}, {name}, {name}", "picture", 0.0
                yield f"-1, {name}, {name}, {channels}", "picture", 0.0
    if len(sizes) == 2:
        for channels in (1, 3):
            side = isqrt(sizes[1] // channels)
            if side > 1 and channels * side * side == sizes[1]:
                yield f"-1, {channels}, {side}, {side}", "square", 0.0
                yield f"-1, {side}, {side}, {channels}", "square", 0.0


def _met(scene: Scene) -> Iterator[tuple[tuple[int, ...], float]]:
    """Shapes that the message speaks of, and those of the other arrays in the failing statements, with what these lose."""
    for found in _SHAPE.findall(scene.message):
        sizes = [size.strip() for size in found.split(",")]
        if len(sizes) > 1:
            yield (-1, *(int(size) if size != "None" else -1 for size in sizes[1:])), 0.0
    for frame in scene.frames[:2]:
        for told in frame.values.values():
            if told.sizes is not None and len(told.sizes) > 1:
                yield told.sizes, UNSAID


def _spelled(scene: Scene, place: Place, size: int) -> str:
    return next(scene.spelled(size, place.node))
