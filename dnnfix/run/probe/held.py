"""What the names of the failing statement held when an exception left the program, and which names were at hand.

A message says that a list is no array; only the values tell which of the names is the list. Nothing of the program is
called for it: names, stored attributes and elements of plain containers are looked up, nothing else is evaluated.
"""

from __future__ import annotations

import ast
import difflib
import inspect
from types import FrameType
from typing import Any, Dict, Iterator, List, Optional

from . import sites
from .guard import guarded
from .lookup import MISSING, is_method, type_name, value_of

MOST = 40
"""Expressions of one statement that are told of."""

LONGEST = 120
"""Characters of a text that are told."""

NEAR = 0.55
"""Likeness from which on a name is told as one that may have been meant; who reads it is stricter."""

_TOLD = (ast.Name, ast.Attribute, ast.Subscript)


@guarded
def held_at(error: BaseException) -> Optional[Dict[str, Any]]:
    """The fields of the `crash` event that tell of values: `held`, `near` and `takes`."""
    entries = sites.entries_of(error.__traceback__)
    if not entries:
        return None
    frame, site = entries[-1].tb_frame, sites.site_of_entry(entries[-1]) or []
    found: Dict[str, Any] = {}
    statement = sites.line_site(frame.f_code.co_filename, entries[-1].tb_lineno)
    if statement is not None:
        nodes = sites.nodes_in(frame.f_code.co_filename, statement)
        found["held"] = list(_held(nodes, frame))[:MOST]
        found["takes"] = _takes(nodes, site, frame)
    found["near"] = _near(error)
    return {key: value for key, value in found.items() if value}


def _held(nodes: List[Any], frame: FrameType) -> Iterator[Dict[str, Any]]:
    for node, site in nodes:
        if isinstance(node, _TOLD) and isinstance(node.ctx, ast.Load):
            value = value_of(node, frame)
            if value is not MISSING:
                yield dict(_described(value), site=site)


def _described(value: Any) -> Dict[str, Any]:
    """The kind of a value, what a container holds first, and a text itself."""
    told: Dict[str, Any] = {"kind": type_name(value)}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        told["size"] = len(value)
        if value:
            told["of"] = type_name(value[0])
    elif type(value) is dict:
        told["size"] = len(value)
        if value:
            told["of"] = type_name(next(iter(value)))
    elif type(value) is str:
        told["text"] = value[:LONGEST]
    elif _is_array(value):
        told["dtype"] = str(value.dtype)
        told["size"] = len(value.shape)
    return told


def _is_array(value: Any) -> bool:
    return type_name(value) in ("numpy.ndarray", "torch.Tensor", "torch.nn.parameter.Parameter")


def _takes(nodes: List[Any], failed: List[Any], frame: FrameType) -> Dict[str, Any]:
    """The parameters of what the failing expression calls: names by kind, those without a default, whether any other."""
    for node, site in nodes:
        if isinstance(node, ast.Call) and site == failed:
            function = value_of(node.func, frame)
            if function is MISSING or not callable(function):
                return {}
            try:
                parameters = list(inspect.signature(function).parameters.values())
            except (TypeError, ValueError):
                return {}
            placed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
            named = [p for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
            if is_method(node.func, function, frame):
                placed, named = placed[1:], [p for p in named if p not in placed[:1]]
            return {
                "places": [p.name for p in placed],
                "names": [p.name for p in named],
                "needed": list(dict.fromkeys(p.name for p in (*placed, *named) if p.default is p.empty)),
                "more_places": any(p.kind is p.VAR_POSITIONAL for p in parameters),
                "more_names": any(p.kind is p.VAR_KEYWORD for p in parameters),
            }
    return {}


def _near(error: BaseException) -> List[str]:
    """The names that an object or module has in place of the one that was asked for."""
    name, owner = getattr(error, "name", None), getattr(error, "obj", MISSING)
    if not isinstance(error, AttributeError) or not isinstance(name, str) or owner is MISSING:
        return []
    wanted = name.lower()
    parts = set(wanted.split("_")) - {""}
    found = []
    for known in dir(owner):
        lower = known.lower()
        if known.startswith("_") and not name.startswith("_"):
            continue
        alike = bool(parts) and parts <= set(lower.split("_")) or lower.startswith(wanted) or wanted.startswith(lower)
        if alike or difflib.SequenceMatcher(None, wanted, lower).ratio() >= NEAR:
            found.append(known)
    return found[:200]
