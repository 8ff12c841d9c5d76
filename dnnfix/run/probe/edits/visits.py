"""Records ranks and dtypes of the names in a statement each time it runs before it fails.

An edit that suits the failing visit may break earlier ones: a loop that initializes weights with two axes before one
with one.
"""

from __future__ import annotations

import ast
import contextlib
from types import FrameType
from typing import Any, Dict, List, Tuple

from .. import sites
from . import stopped
from .stopped import Place

MOST = 40
"""Times that a statement is looked at; where it runs more often, the first ones and no later ones are told."""

Span = Tuple[Place, Place]

_lines: Dict[str, int] = {}
"""By file the line at which the watched statement begins."""
_parts: Dict[str, List[Tuple[Span, Any]]] = {}
_seen: List[Tuple[str, Dict[Span, Tuple[Any, ...]]]] = []


def watch(places: Any) -> None:
    """Record, from now on, the statements at these places (path of the file, line); one in each file."""
    _lines.clear()
    _parts.clear()
    _seen.clear()
    for path, line in places:
        filename = sites.file_at(str(path))
        site = sites.line_site(filename, int(line))
        if site is not None:
            _lines[filename] = int(site[0])


def concerns(frame: FrameType) -> bool:
    """Whether the code of a frame may have a watched statement in it."""
    line = _lines.get(frame.f_code.co_filename)
    return line is not None and len(_seen) < MOST and line >= frame.f_code.co_firstlineno


def at_line(frame: FrameType) -> None:
    """Record the names of the watched statement, when a frame comes to it."""
    filename = frame.f_code.co_filename
    if frame.f_lineno != _lines.get(filename) or len(_seen) >= MOST:
        return
    if filename not in _parts:
        _parts[filename] = _named(filename, frame.f_lineno)
    space = {**frame.f_globals, **frame.f_locals}
    found: Dict[Span, Tuple[Any, ...]] = {}
    for span, code in _parts[filename]:
        with contextlib.suppress(Exception):  # names that are not given a value yet
            value = eval(code, {}, space)
            shape = getattr(value, "shape", None)
            kind = str(getattr(value, "dtype", type(value).__name__))
            found[span] = (len(shape) if shape is not None else None, kind)
    _seen.append((filename, found))


def told() -> List[Any]:
    """(path, span, ranks and kinds) of all visits but the last, which failed."""
    kinds: Dict[Tuple[str, Span], List[Tuple[Any, ...]]] = {}
    for filename, found in _seen[:-1]:
        for span, kind in found.items():
            known = kinds.setdefault((sites.path_of(filename), span), [])
            if kind not in known:
                known.append(kind)
    return [[path, [*start, *end], [list(kind) for kind in known]] for (path, (start, end)), known in kinds.items()]


def _named(filename: str, line: int) -> List[Tuple[Span, Any]]:
    """The names of a statement, and attributes of names, each with code that gives its value."""
    text = stopped.text(filename)
    found: List[Tuple[Span, Any]] = []
    for node in ast.walk(text.tree):
        if isinstance(node, ast.stmt) and node.lineno == line:
            for part in ast.walk(node):
                if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Load) and _is_plain(part):
                    source = ast.fix_missing_locations(ast.Expression(part))
                    found.append((text.span(part), compile(source, "<part>", "eval", dont_inherit=True)))
            break
    return found


def _is_plain(node: ast.AST) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
