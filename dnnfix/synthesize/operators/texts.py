"""A text that values are put into has as many places as there are values."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from string import Formatter

from dnnfix.records import FixPattern
from dnnfix.synthesize.operators.change import Change, replaced
from dnnfix.synthesize.scene import Scene
from dnnfix.synthesize.slices import Place, Role

PATTERN = FixPattern.MONITOR

OPENING, CLOSING = "([{ /,:|", ")]}"
"""Marks that belong to the place behind, and before, them."""


def changes(scene: Scene, place: Place) -> Iterator[Change]:
    """Other texts for the one that values are put into at a place."""
    node = place.node
    if place.role is not Role.FAILING or "Replacement index" not in scene.message:
        return
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str() as text) as whole, attr="format"), args=args):
            fewer = _with_places(text, len(args)) if not node.keywords else None
            if fewer is not None and scene.code(whole)[:1] in "'\"":
                yield replaced(scene, whole, repr(fewer), "fewer places")


def _with_places(text: str, count: int) -> str | None:
    """The text with the first places only; `None` where they are numbered or named, there are no more, or one is not closed."""
    try:
        pieces = list(Formatter().parse(text))
    except ValueError:
        return None
    places = [piece for piece in pieces if piece[1] is not None]
    if len(places) <= count or any(name for _, name, _, _ in places):
        return None
    found, left = "", count
    for literal, name, form, conversion in pieces:
        said = literal.replace("{", "{{").replace("}", "}}")
        if name is None:
            return found + (said.lstrip(CLOSING) if left < 0 else said)
        left -= 1
        if left == -1:
            found += said.rstrip(OPENING)
        elif left >= 0:
            found += f"{said}{{{'!' + conversion if conversion else ''}{':' + form if form else ''}}}"
    return found
