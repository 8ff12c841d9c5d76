"""The value that stands under a name, as a reader of the text takes it: what the last assignment above gives it.

For fragments: a name that is bound again in the next round of a loop, or in a branch that ends before, is no matter here where the
last assignment above stands in a block around the place.
"""

from __future__ import annotations

import ast

from dnnfix.detect.loops.training_loop import Function, block_of, function_around
from dnnfix.records.record import record
from dnnfix.source.program import Source, once
from dnnfix.source.tree import parameter_names, position


@record
class Written:
    """What is assigned to a name: `value`, or the element at `place` of it, in `statement`; `nested` tells of an element of that element."""

    value: ast.expr
    statement: ast.stmt
    place: int | None = None
    nested: bool = False


@once
def _assignments(source: Source) -> dict[tuple[Function | None, str], list[Written]]:
    """The assignments of each function, and of the module's top, by the text of what they assign to, in source order."""
    found: dict[tuple[Function | None, str], list[Written]] = {}
    plain: list[tuple[ast.stmt, ast.expr, ast.expr]] = [
        (node, target, node.value) for node in source.nodes(ast.Assign) for target in node.targets
    ]
    plain += [(node, node.target, node.value) for node in source.nodes(ast.AnnAssign) if node.value is not None]
    for statement, target, value in plain:
        around = function_around(source, statement)
        targets = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        given = value.elts if isinstance(value, (ast.Tuple, ast.List)) and len(targets) > 1 else None
        for place, each in enumerate(targets):
            if len(targets) == 1 and each is target:
                one = Written(value, statement)
            elif given is not None and len(given) == len(targets):
                one = Written(given[place], statement)
            else:
                one = Written(value, statement, place)
            if isinstance(each, (ast.Tuple, ast.List)):
                for inner in each.elts:
                    nested = Written(one.value, statement, place, True)
                    found.setdefault((around, ast.unparse(inner)), []).append(nested)
            if isinstance(each, (ast.Name, ast.Attribute, ast.Subscript)):
                found.setdefault((around, ast.unparse(each)), []).append(one)
    for group in found.values():
        group.sort(key=lambda one: position(one.statement)[:2])
    return found


def written_above(source: Source, expr: ast.expr, at: ast.AST) -> Written | None:
    """What the last assignment above `at`, in its function or at the module's top, gives to a name or attribute.

    `None` where nothing is seen, and where that assignment stands in a branch or loop that is over at `at`.
    """
    around, text = function_around(source, at), ast.unparse(expr)
    own = _assignments(source).get((around, text), [])
    statement = at if isinstance(at, ast.stmt) else source.statement_of(at)
    before = [one for one in own if position(one.statement)[:2] < position(statement)[:2]]
    if not before:
        is_local = around is not None and isinstance(expr, ast.Name) and (own or text in parameter_names(around))
        above = [] if is_local or around is None else _assignments(source).get((None, text), [])
        return above[-1] if len(above) == 1 else None
    last = before[-1]
    block = block_of(source, last.statement)
    return last if any(node in block for node in (statement, *_above(source, statement))) else None


def last_written(source: Source, expr: ast.expr, at: ast.AST) -> ast.stmt | None:
    """The last assignment to a name above `at` in its function, wherever it stands."""
    statement = at if isinstance(at, ast.stmt) else source.statement_of(at)
    own = _assignments(source).get((function_around(source, at), ast.unparse(expr)), [])
    before = [one.statement for one in own if position(one.statement)[:2] < position(statement)[:2]]
    return before[-1] if before else None


def all_written(source: Source, expr: ast.expr) -> list[Written]:
    """Every assignment to what has this text, wherever it stands."""
    text = ast.unparse(expr)
    return [one for (_, name), group in _assignments(source).items() if name == text for one in group]


def _above(source: Source, node: ast.AST) -> list[ast.AST]:
    """The nodes around a node."""
    found: list[ast.AST] = []
    above = source.parent(node)
    while above is not None:
        found.append(above)
        above = source.parent(above)
    return found
