"""Iterates the nodes of a function's own code, without those of functions and classes defined in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from dnnfix.source.tree import CHILD_FIELDS

_CLOSED = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda})


def own_nodes(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of the code, in no particular order; a function or class in it is one node."""
    fields = CHILD_FIELDS
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        yield node
        kind = node.__class__
        for field in fields[kind] if kind not in _CLOSED else ():
            value = getattr(node, field)
            if value.__class__ is list:
                pending.extend(item for item in value if item is not None)
            elif value is not None:
                pending.append(value)
