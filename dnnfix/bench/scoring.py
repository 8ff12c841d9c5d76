"""Compares findings and patches with the repairs that people made: family, changed lines, equal syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from dnnfix.emit.hunks import replacements
from dnnfix.records import Family, Finding

ENDS = frozenset({Family.DATA_DIMENSION, Family.LAYER_DIMENSION})
"""A mismatch of dimensions can be told, and repaired, on the side of the data or of the layer: both name one fault."""


def detected(findings: Iterable[Finding], family: Family) -> bool:
    """Whether a finding names the family of the fault."""
    wanted = ENDS if family in ENDS else {family}
    return any(finding.family in wanted for finding in findings)


def changed_lines(diff: str) -> frozenset[int]:
    """The lines of the original that a repair changes; an insertion counts as the lines on both sides of it."""
    found: set[int] = set()
    for change in replacements(diff):
        found.update(range(change.first, change.end) if change.old else (change.first - 1, change.first))
    return frozenset(found)


def localized(findings: Iterable[Finding], lines: Iterable[int]) -> bool:
    """Whether a finding points at one of the lines."""
    wanted = frozenset(lines)
    return any(wanted & set(range(f.site.line, f.site.end_line + 1)) for f in findings)


def same_tree(one: bytes, other: bytes) -> bool:
    """Whether two programs read the same: layout, comments, docstrings and the order of keywords apart."""
    try:
        return _plain(one) == _plain(other)
    except (SyntaxError, ValueError, RecursionError):
        return False


def _plain(program: bytes) -> str:
    tree = ast.parse(program)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords.sort(key=lambda keyword: keyword.arg or "")
        elif (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)
