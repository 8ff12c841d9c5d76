"""Finds which of several assignments to a name is in effect at a node, where control flow leaves no doubt."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from dnnfix.source.bindings import Scope
from dnnfix.source.tree import Tree, position


def value_at(
    tree: Tree, scope_of: Callable[[ast.AST], Scope], values: Sequence[ast.expr], at: ast.AST
) -> ast.expr | None:
    """The one of a name's `values`, in source order, that it has at the node `at`; `None` when in doubt.

    The last assignment before `at` holds where it stands in a block around `at`, so that it is always run, and where no
    loop brings control back from a later one.
    """
    place, scope = position(at)[:2], scope_of(at)
    if any(scope_of(value) is not scope for value in values):
        return None
    before = [value for value in values if position(value)[:2] < place]
    while before and tree.statement_of(before[-1]) is tree.statement_of(at):
        before.pop()
    if not before:
        return None
    last = tree.statement_of(before[-1])
    block = tree.parent(last)
    above: ast.AST | None = at
    while above is not None and tree.parent(above) is not block:
        above = tree.parent(above)
        if isinstance(above, (ast.For, ast.While, ast.AsyncFor)) and _assigned_in(tree, above, values):
            return None
    return before[-1] if above is not None and _in_one_list(block, last, above) else None


def _assigned_in(tree: Tree, loop: ast.AST, values: Sequence[ast.expr]) -> bool:
    inside = tree.site(loop)
    return any(inside.encloses(tree.site(value)) for value in values)


def _in_one_list(block: ast.AST | None, first: ast.AST, second: ast.AST) -> bool:
    """Whether two children of a node stand in the same list of statements."""
    for _, value in ast.iter_fields(block) if block is not None else ():
        if isinstance(value, list) and first in value:
            return second in value
    return False
