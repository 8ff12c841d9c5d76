"""Tests of a program for a file's existence before it reads the file."""

from __future__ import annotations

import ast

from dnnfix.reproduce.syntax import tests_around
from dnnfix.source.program import Source
from dnnfix.source.tree import last_name

_ASKS = {"exists", "isfile", "is_file", "lexists"}


def looks_for_file(source: Source, node: ast.AST) -> bool:
    """Whether `node` is inside an `if` that tests whether a file exists."""
    parts = (part for test in tests_around(source, node) for part in ast.walk(test))
    return any(isinstance(part, ast.expr) and last_name(part) in _ASKS for part in parts)
