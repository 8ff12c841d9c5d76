"""Edits that change data in the same way at every place where a program passes them on."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from dnnfix.records import Edit, InsertBefore, Wrap
from dnnfix.subject import Subject
from dnnfix.synthesize.edits.spelling import spell


def wrapped(subject: Subject, node: ast.expr, before: str, after: str) -> Wrap:
    """The edit that puts code around an expression; of a choice between a value and a plain number the value is meant."""
    return Wrap(subject.source.site(chosen_value(node)), before, after)


def chosen_value(node: ast.expr) -> ast.expr:
    """Of `value if test else 1.0` the value; else the expression itself."""
    match node:
        case ast.IfExp(body=ast.Constant(), orelse=value) if not isinstance(value, ast.Constant):
            return value
        case ast.IfExp(body=value, orelse=ast.Constant()) if not isinstance(value, ast.Constant):
            return value
    return node


def change_data(
    subject: Subject, nodes: Sequence[ast.expr], before: str, after: str, *, each: bool = False
) -> tuple[Edit, ...]:
    """Edits that put `before` and `after` around data, once for each variable.

    A variable that is passed several times is changed once, before its first use; anything else is changed where
    it is passed. Expressions other than variables are changed only where they come first in `nodes`, since what
    they do is not known to need the change; with `each` they are changed like the first.
    """
    edits: list[Edit] = []
    groups: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Name):
            groups.setdefault(node.id, []).append(node)
        elif node is nodes[0] or each:
            edits.append(wrapped(subject, node, before, after))
    for name, uses in groups.items():
        first = min(uses, key=lambda one: (one.lineno, one.col_offset))
        if len(uses) > 1 and _straight(subject, uses):
            edits.append(InsertBefore(subject.source.site(first), f"{name} = {before}{name}{after}"))
        else:
            edits += [wrapped(subject, use, before, after) for use in uses]
    return tuple(edits)


def _straight(subject: Subject, uses: Sequence[ast.expr]) -> bool:
    """Whether the uses stand in one block of statements, so that a change before the first one reaches each once."""
    statements = [subject.source.statement_of(use) for use in uses]
    return len({id(subject.source.parent(statement)) for statement in statements}) == 1 and not any(
        subject.source.enclosing(statement, ast.For, ast.While, ast.If, ast.Try) for statement in statements
    )


def with_numpy(subject: Subject, function: str) -> tuple[str, tuple[Edit, ...]]:
    """How the program spells a function of numpy, and the import that it needs for it."""
    spelling = spell(subject, f"numpy.{function}")
    return spelling.code, spelling.imports
