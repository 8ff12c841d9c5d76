"""What the names of the failing statement held when an exception left the program, and which names were at hand.

A message says that a list is no array; only the values tell which of the names is the list. Nothing of the program is
called for it: names, stored attributes and elements of plain containers are looked up, nothing else is evaluated.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import inspect
from types import FrameType, ModuleType, TracebackType
from typing import Any, Dict, Iterator, List, Optional

from . import sites
from .guard import guarded

MOST = 40
"""Expressions of one statement that are told of."""

LONGEST = 120
"""Characters of a text that are told."""

NEAR = 0.55
"""Likeness from which on a name is told as one that may have been meant; who reads it is stricter."""

_MISSING = object()
_TOLD = (ast.Name, ast.Attribute, ast.Subscript)


@guarded
def held_at(error: BaseException) -> Optional[Dict[str, Any]]:
    """The fields of the `crash` event that tell of values: `held`, `near` and `takes`."""
    last = _last_of_user(error.__traceback__)
    if last is None:
        return None
    frame = last.tb_frame
    found: Dict[str, Any] = {}
    places = sites.frames_of(last)
    statement = sites.line_site(frame.f_code.co_filename, last.tb_lineno)
    if places and statement is not None:
        nodes = sites.nodes_in(frame.f_code.co_filename, statement)
        found["held"] = list(_held(nodes, frame))[:MOST]
        found["takes"] = _takes(nodes, places[0]["site"], frame)
    found["near"] = _near(error)
    return {key: value for key, value in found.items() if value}


def _last_of_user(traceback: Optional[TracebackType]) -> Optional[TracebackType]:
    last = None
    while traceback is not None:
        if sites.is_user_file(traceback.tb_frame.f_code.co_filename):
            last = traceback
        traceback = traceback.tb_next
    if last is not None:
        last = TracebackType(None, last.tb_frame, last.tb_lasti, last.tb_lineno)
    return last


def _held(nodes: List[Any], frame: FrameType) -> Iterator[Dict[str, Any]]:
    for node, site in nodes:
        if isinstance(node, _TOLD) and isinstance(node.ctx, ast.Load):
            value = _evaluate(node, frame)
            if value is not _MISSING:
                yield dict(_described(value), site=site)


def _described(value: Any) -> Dict[str, Any]:
    """The kind of a value, what a container holds first, and a text itself."""
    told: Dict[str, Any] = {"kind": _kind(value)}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        told["size"] = len(value)
        if value:
            told["of"] = _kind(value[0])
    elif type(value) is dict:
        told["size"] = len(value)
        if value:
            told["of"] = _kind(next(iter(value)))
    elif type(value) is str:
        told["text"] = value[:LONGEST]
    elif _is_array(value):
        told["dtype"] = str(value.dtype)
        told["size"] = len(value.shape)
    return told


def _is_array(value: Any) -> bool:
    return _kind(value) in ("numpy.ndarray", "torch.Tensor", "torch.nn.parameter.Parameter")


def _kind(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ in ("builtins", "__main__") else "%s.%s" % (kind.__module__, kind.__name__)


def _evaluate(node: ast.AST, frame: FrameType) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        for space in (frame.f_locals, frame.f_globals, vars(builtins)):
            if node.id in space:
                return space[node.id]
        return _MISSING
    if isinstance(node, ast.Attribute):
        owner = _evaluate(node.value, frame)
        return _MISSING if owner is _MISSING else _stored(owner, node.attr)
    if isinstance(node, ast.Subscript):
        owner, index = _evaluate(node.value, frame), _evaluate(node.slice, frame)
        if type(owner) in (list, tuple) and type(index) is int or type(owner) is dict and type(index) in (str, int):
            try:
                return owner[index]
            except (LookupError, TypeError):
                return _MISSING
    return _MISSING


def _stored(owner: Any, name: str) -> Any:
    """An attribute that is stored as it is: of a module, in the object, among a network's parts, or a method of it."""
    if isinstance(owner, ModuleType):
        return vars(owner).get(name, _MISSING)
    stored = getattr(owner, "__dict__", None)
    if isinstance(stored, dict):
        for space in (stored, *(stored.get(part) or {} for part in ("_modules", "_parameters", "_buffers"))):
            if isinstance(space, dict) and name in space:
                return space[name]
    found = inspect.getattr_static(owner, name, _MISSING)
    if found is _MISSING or hasattr(type(found), "__get__") and not inspect.isroutine(found):
        return _MISSING
    return found


def _takes(nodes: List[Any], failed: List[Any], frame: FrameType) -> Dict[str, Any]:
    """The parameters of what the failing expression calls: names by kind, those without a default, whether any other."""
    for node, site in nodes:
        if isinstance(node, ast.Call) and site == failed:
            function = _evaluate(node.func, frame)
            if function is _MISSING or not callable(function):
                return {}
            try:
                parameters = list(inspect.signature(function).parameters.values())
            except (TypeError, ValueError):
                return {}
            placed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
            named = [p for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
            if inspect.isroutine(function) and _is_unbound(node.func, function, frame):
                placed, named = placed[1:], [p for p in named if p is not placed[0]]
            return {
                "places": [p.name for p in placed],
                "names": [p.name for p in named],
                "needed": list(dict.fromkeys(p.name for p in (*placed, *named) if p.default is p.empty)),
                "more_places": any(p.kind is p.VAR_POSITIONAL for p in parameters),
                "more_names": any(p.kind is p.VAR_KEYWORD for p in parameters),
            }
    return {}


def _is_unbound(called: ast.AST, function: Any, frame: FrameType) -> bool:
    """Whether a function was found in the class of the object before the dot, so that it takes the object first."""
    if not isinstance(called, ast.Attribute):
        return False
    owner = _evaluate(called.value, frame)
    if isinstance(owner, (type, ModuleType)):
        return False
    in_object = getattr(owner, "__dict__", None)
    return not (isinstance(in_object, dict) and called.attr in in_object) and inspect.isfunction(function)


def _near(error: BaseException) -> List[str]:
    """The names that an object or module has in place of the one that was asked for."""
    name, owner = getattr(error, "name", None), getattr(error, "obj", _MISSING)
    if not isinstance(error, AttributeError) or not isinstance(name, str) or owner is _MISSING:
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
