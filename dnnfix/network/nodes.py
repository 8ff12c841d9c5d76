"""A quick walk over the code of a function, leaving out the functions and classes defined in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

_CLOSED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_fields: dict[type[ast.AST], tuple[str, ...]] = {kind: () for kind in (ast.Constant, ast.Pass, ast.Break, *_CLOSED)}
_PLAIN = (
    "ctx",
    "op",
    "ops",
    "id",
    "attr",
    "name",
    "names",
    "arg",
    "lineno",
    "type_comment",
    "kind",
    "conversion",
    "level",
)


def own_nodes(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of the code, in no particular order; a function or class in it is one node."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        yield node
        kind = type(node)
        if kind not in _fields:
            _fields[kind] = tuple(f for f in kind._fields if f not in _PLAIN)
        for field in _fields[kind]:
            value = getattr(node, field)
            if type(value) is list:
                stack.extend(v for v in value if v is not None)
            elif isinstance(value, ast.AST):
                stack.append(value)
