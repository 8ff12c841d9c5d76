"""What programs do about files before they read them."""

from __future__ import annotations

import ast

from dnnfix.reproduce.syntax import tests_around
from dnnfix.source.program import Source
from dnnfix.source.tree import last_name

_ASKS = {"exists", "isfile", "is_file", "lexists"}


def looks_for_file(source: Source, node: ast.AST) -> bool:
    """Whether `node` stands below an `if` that asks whether a file is there."""
    parts = (part for test in tests_around(source, node) for part in ast.walk(test))
    return any(isinstance(part, ast.expr) and last_name(part) in _ASKS for part in parts)
