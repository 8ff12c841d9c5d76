"""Looks up the value of an expression in a frame without running any code of the program.

Names, stored attributes, elements of plain containers and constants are looked up; properties, calls and operators are
not evaluated and yield `MISSING`.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from types import FrameType, ModuleType
from typing import Any

MISSING = object()


def value_of(node: ast.AST, frame: FrameType) -> Any:
    """The value of an expression; `MISSING` where that would take evaluating it."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        for space in (frame.f_locals, frame.f_globals, vars(builtins)):
            if node.id in space:
                return space[node.id]
    elif isinstance(node, ast.Attribute):
        owner = value_of(node.value, frame)
        return MISSING if owner is MISSING else _stored(owner, node.attr)
    elif isinstance(node, ast.Subscript):
        return _element(value_of(node.value, frame), value_of(node.slice, frame))
    elif isinstance(node, (ast.List, ast.Tuple)):
        items = [value_of(item, frame) for item in node.elts]
        return MISSING if any(item is MISSING for item in items) else items
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = value_of(node.operand, frame)
        return -number if type(number) in (int, float) else MISSING
    return MISSING


def is_method(called: ast.AST, function: Any, frame: FrameType) -> bool:
    """Whether a function was found in the class of the object before the dot, so that it is called with the object
    first.
    """
    if not isinstance(called, ast.Attribute):
        return False
    owner = value_of(called.value, frame)
    if isinstance(owner, (type, ModuleType)):
        return False
    in_object = getattr(owner, "__dict__", None)
    if isinstance(in_object, dict) and called.attr in in_object:
        return False
    return inspect.isroutine(function) and not isinstance(function, (staticmethod, classmethod))


def type_name(value: Any) -> str:
    """The name of a value's class, with its module unless that is `builtins` or `__main__`."""
    kind = type(value)
    return kind.__name__ if kind.__module__ in ("builtins", "__main__") else "%s.%s" % (kind.__module__, kind.__name__)


def _stored(owner: Any, name: str) -> Any:
    """An attribute that is stored as it is: of a module, in the object, among a network's parts, or a method of it."""
    if isinstance(owner, ModuleType):
        return vars(owner).get(name, MISSING)
    stored = getattr(owner, "__dict__", None)
    if isinstance(stored, dict):
        for space in (stored, *(stored.get(part) or {} for part in ("_modules", "_parameters", "_buffers"))):
            if isinstance(space, dict) and name in space:
                return space[name]
    found = inspect.getattr_static(owner, name, MISSING)
    if found is MISSING or hasattr(type(found), "__get__") and not inspect.isroutine(found):
        return MISSING
    return found


def _element(owner: Any, index: Any) -> Any:
    if type(owner) in (list, tuple) and type(index) is int or type(owner) is dict and type(index) in (str, int):
        try:
            return owner[index]
        except (LookupError, TypeError):
            return MISSING
    return MISSING
