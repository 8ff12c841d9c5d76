"""Every expression that may have given a name or attribute its value: assignments, loops, unpacking, and methods that
fill it.

Rules ask `Source.bindings`, which returns nothing where one value is unknown. A search wants every place that may be
to blame.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.source.program import Source, once

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

FILLING = frozenset({"append", "extend", "insert", "add", "update", "appendleft"})
"""Methods that put their argument into what they are called on."""

Given = dict[tuple[ast.AST | None, str], tuple[ast.expr, ...]]
"""Values by the function or class (`None` the module) and the text of the target: `x`, `self.x`."""


def definitions(source: Source, use: ast.expr) -> tuple[ast.expr, ...]:
    """The expressions that set a name or attribute, in its function, else its class, else the module."""
    given = _given(source)
    text = ast.unparse(use)
    for owner in (source.enclosing(use, *FUNCTIONS), source.enclosing(use, ast.ClassDef), None):
        if (owner, text) in given:
            return given[owner, text]
    return ()


@once
def _given(source: Source) -> Given:
    found: dict[tuple[ast.AST | None, str], list[ast.expr]] = {}
    for node in ast.walk(source.tree):
        for target, value in _pairs(node):
            text = ast.unparse(target)
            owner = source.enclosing(node, *FUNCTIONS)
            if text.startswith("self."):
                owner = source.enclosing(node, ast.ClassDef)
            found.setdefault((owner, text), []).append(value)
    return {key: tuple(values) for key, values in found.items()}


def _pairs(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets with what they are given: of an unpacked tuple each with its own part, where it is written out."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _unpacked(target, node.value)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        for target, _ in _unpacked(node.target, node.iter):
            yield target, node.iter
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in FILLING:
        base = node.func.value
        for arg in node.args:
            yield base.value if isinstance(base, ast.Subscript) else base, arg
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        if node.value.args or node.value.keywords:  # what was done to it
            yield node.value.func.value, node.value
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield node.optional_vars, node.context_expr


def _unpacked(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple | ast.List):
        same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
        values = value.elts if same and isinstance(value, ast.Tuple | ast.List) else [value] * len(target.elts)
        for each, own in zip(target.elts, values, strict=True):
            yield from _unpacked(each, own)
    elif isinstance(target, ast.Starred | ast.Subscript):
        yield target.value, value
    else:
        yield target, value
