"""The operator "texts": a format string gets as many places as values are put into it, and no mark that is refused."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from string import Formatter

from dnnfix.records import Edit, FixPattern, Replace
from dnnfix.synthesize.operators.change import Change, replaced
from dnnfix.synthesize.scene import Scene
from dnnfix.synthesize.slices import Place, Role

PATTERN = FixPattern.MONITOR

_REFUSED = re.compile(r"can.{1,2}t contain [\"'](\S)[\"']")

INSTEAD = "_"
"""What is written for a mark that is refused."""

OPENING, CLOSING = "([{ /,:|", ")]}"
"""Marks that belong to the place behind, and before, them."""


def changes(scene: Scene, place: Place) -> Iterator[Change]:
    """Other format strings for the one at a place."""
    node = place.node
    if place.role is not Role.FAILING:
        return
    refused = _REFUSED.search(scene.message)
    if refused and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield from _without(scene, node.func.attr, refused[1])
    if "Replacement index" not in scene.message:
        return
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str() as text) as whole, attr="format"), args=args):
            fewer = _with_places(text, len(args)) if not node.keywords else None
            if fewer is not None and scene.code(whole)[:1] in "'\"":
                yield replaced(scene, whole, repr(fewer), "fewer places")


def _without(scene: Scene, method: str, mark: str) -> Iterator[Change]:
    """The texts that all calls of a method are given first, with another mark for the one that it refuses."""
    edits: list[Edit] = []
    for call in scene.subject.source.all_calls:
        if not (isinstance(call.func, ast.Attribute) and call.func.attr == method and call.args):
            continue
        match call.args[0]:
            case ast.Constant(value=str() as text) as written:
                pass
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str() as text) as written, attr="format")):
                pass
            case _:
                continue
        forms = [form for _, _, form, _ in _parsed(text)]
        if mark in text and not any(mark in (form or "") for form in forms):
            edits.append(Replace(scene.site(written), scene.code(written).replace(mark, INSTEAD)))
    if edits and mark != INSTEAD:
        yield Change(tuple(edits), f"Write {INSTEAD} for {mark} in what {method} is given", "refused mark")


def _parsed(text: str) -> list[tuple[str, str | None, str | None, str | None]]:
    try:
        return list(Formatter().parse(text))
    except ValueError:
        return []


def _with_places(text: str, count: int) -> str | None:
    """The text with the first places only; `None` where they are numbered or named, there are no more, or one is not closed."""
    pieces = _parsed(text)
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
