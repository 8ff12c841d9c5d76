"""What programs do about files before they read them."""

from __future__ import annotations

import ast

from dnnfix.source.program import Source

_ASKS = {"exists", "isfile", "is_file", "lexists"}


def looks_for_file(source: Source, node: ast.AST) -> bool:
    """Whether `node` stands below an `if` that asks whether a file is there."""
    test = source.enclosing(node, ast.If)
    while test is not None:
        for part in ast.walk(test.test):
            if (isinstance(part, ast.Attribute) and part.attr in _ASKS) or (
                isinstance(part, ast.Name) and part.id in _ASKS
            ):
                return True
        test = source.enclosing(test, ast.If)
    return False
