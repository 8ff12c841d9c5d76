"""The cause "pairing": rows that are shuffled apart from their targets are left in order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.tensors.shapes import where_written
from dnnfix.records import Delete, Edit, FixPattern, Unwrap
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.validate.reading import Reading

IN_PLACE = frozenset({"random.shuffle", "numpy.random.shuffle"})
ORDERS = frozenset({"torch.randperm", "numpy.random.permutation"})
SHUFFLED = frozenset({"numpy.random.permutation", "sklearn.utils.shuffle", "random.sample"})


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """Edits that leave out one shuffle each, only where no learner finds anything in the data."""
    if "unpaired" not in {reading.name for reading in symptoms}:
        return
    source = subject.source
    found = [*_in_place(source), *_as_values(source), *_by_order(subject)]
    for line, edit in found:
        title = f"Leave the rows in their order in line {line}"
        yield Cause("pairing", title, FixPattern.DATA_WRANGLING, (edit,), 0.6)
    if len(found) > 1:
        together = tuple(dict.fromkeys(edit for _, edit in found))
        title = "Leave the rows of inputs and targets in their order"
        yield Cause("pairing", title, FixPattern.DATA_WRANGLING, together, 0.5)


def _in_place(source: Source) -> Iterator[tuple[int, Edit]]:
    for call in source.calls(*sorted(IN_PLACE)):
        statement = source.statement_of(call)
        if len(call.args) == 1 and isinstance(statement, ast.Expr):
            yield call.lineno, Delete(source.site(statement))


def _as_values(source: Source) -> Iterator[tuple[int, Edit]]:
    for call in source.calls(*sorted(SHUFFLED)):
        if len(call.args) == 1 and isinstance(call.args[0], (ast.Name, ast.Attribute)):
            yield call.lineno, _without(source, call, call.args[0])
    for call in source.all_calls:
        match call:
            case ast.Call(func=ast.Attribute(value=rows, attr="sample")) if _takes_all(call):
                yield call.lineno, _without(source, call, rows)


def _takes_all(call: ast.Call) -> bool:
    return any(k.arg == "frac" and isinstance(k.value, ast.Constant) and k.value.value == 1 for k in call.keywords)


def _by_order(subject: Subject) -> Iterator[tuple[int, Edit]]:
    """Subscripts by a random order that no other array is put in."""
    source = subject.source
    found: dict[int, list[ast.Subscript]] = {}
    for node in source.nodes(ast.Subscript):
        made = where_written(subject, node.slice)
        if isinstance(made, ast.Call) and source.qualified(made.func) in ORDERS:
            found.setdefault(id(made), []).append(node)
    for used in found.values():
        if len({ast.unparse(node.value) for node in used}) == 1:
            for node in used:
                yield node.lineno, _without(source, node, node.value)


def _without(source: Source, whole: ast.expr, rows: ast.expr) -> Edit:
    """The edit that leaves rows as they are: the statement goes where nothing else is left of it."""
    statement = source.statement_of(whole)
    match statement:
        case ast.Assign(targets=[target], value=value) if value is whole and ast.unparse(target) == ast.unparse(rows):
            return Delete(source.site(statement))
    return Unwrap(source.site(whole), source.site(rows))
