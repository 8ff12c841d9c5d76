"""How a program uses an optional argument: whether it insists on it nevertheless, and whether it reads it as a path."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType

from dnnfix.reproduce.arguments.demands import demands, name_of
from dnnfix.source.program import Source
from dnnfix.source.public_names import words
from dnnfix.source.tree import last_name

_FOLDERS = words("join listdir walk glob iglob scandir isdir makedirs mkdir Path mkdtemp ListDirectory MakeDirs")
_FILES = words(
    """open file Open GFile FastGFile exists isfile getsize loadtxt genfromtxt read_csv read_table read_excel load imread
    loadmat basename dirname splitext abspath expanduser normpath realpath File read_json read_pickle fromfile"""
)

_OF_FILES = words("file_path filepath filename file_name path data_file data_files")
"""Parameters that take the path of a file, whatever they are parameters of."""

_FOLLOWED = 400
"""Expressions that stand for an argument and are looked at, at most."""


@dataclass(frozen=True, slots=True)
class PathUse:
    """Where an argument is used as a path, and whether the path is a folder's."""

    line: int
    folder: bool
    plain: bool
    """Whether no other part of a path stands before it: an empty text would be one then."""


def read_as(source: Source, name: str) -> list[ast.expr]:
    """The places that read an argument of that name: `args.name`, `args["name"]`."""
    found: list[ast.expr] = [
        node
        for node in source.nodes(ast.Attribute)
        if node.attr == name and isinstance(node.ctx, ast.Load) and not source.is_called(node)
    ]
    found += [
        node
        for node in source.nodes(ast.Subscript)
        if isinstance(node.slice, ast.Constant) and node.slice.value == name and isinstance(node.ctx, ast.Load)
    ]
    return found


def insisted_on(
    source: Source, reads: Sequence[ast.expr], others: Mapping[str, bool] = MappingProxyType({})
) -> int | None:
    """The line of a test that ends the program if an argument that is read there is missing: `if not FLAGS.data: raise …`.

    Of several arguments of which one will do, one alone is insisted on: `others` are those that the program has, and whether they have
    a value already.
    """
    return next((line for line, wanted in _asked_for(source, reads, others) if wanted), None)


def is_spared(source: Source, reads: Sequence[ast.expr], others: Mapping[str, bool]) -> bool:
    """Whether an argument is one of several of which one will do, and another of them is given."""
    found = [wanted for _line, wanted in _asked_for(source, reads, others)]
    return bool(found) and not any(found)


def _asked_for(source: Source, reads: Sequence[ast.expr], others: Mapping[str, bool]) -> Iterator[tuple[int, bool]]:
    """The lines of the tests that ask for an argument, and whether each asks for this one rather than for another."""
    stands = {id(node) for node in islice(_stands_for(source, reads), _FOLLOWED)}
    for demand in demands(source):
        own = next((name_of(part) for part in demand.of if id(part) in stands), None)
        if own is not None:
            yield demand.line, demand.chosen({**others, own: False}) == own


def path_use(source: Source, name: str) -> PathUse | None:
    """Where an optional argument that is never tested for being present is used as a path."""
    uses: list[PathUse] = []
    for node in islice(_stands_for(source, read_as(source, name)), _FOLLOWED):
        if _is_tested(source, node):
            return None
        above = source.parent(node)
        call = source.parent(above) if isinstance(above, ast.keyword) else above
        if isinstance(call, ast.Call) and node is not call.func:
            called = last_name(call.func)
            first = bool(call.args) and call.args[0] is node
            if called in _FOLDERS or called in _FILES or (isinstance(above, ast.keyword) and above.arg in _OF_FILES):
                uses.append(PathUse(node.lineno, called in _FOLDERS and (first or called != "join"), called != "join"))
        elif isinstance(above, ast.BinOp) and isinstance(above.op, ast.Add):
            behind = above.right if above.left is node else None
            text = behind.value if isinstance(behind, ast.Constant) else None
            if isinstance(text, str) and "/" in text:
                uses.append(PathUse(node.lineno, text.startswith("/"), False))
    return next((use for use in uses if use.folder), uses[0]) if uses else None


def _stands_for(source: Source, reads: Sequence[ast.expr]) -> Iterator[ast.expr]:
    """The places that read an argument, and those that read a name, an attribute or a parameter which holds it."""
    pending, seen = list(reads), {id(node) for node in reads}
    while pending:
        node = pending.pop(0)
        yield node
        for held in _held_as(source, node):
            if id(held) not in seen:
                seen.add(id(held))
                pending.append(held)


def _held_as(source: Source, node: ast.expr) -> Iterator[ast.expr]:
    """The places that read what an expression is assigned to or given as, itself or as one of two: `b if test else a`."""
    above = source.parent(node)
    while isinstance(above, ast.IfExp) and node is not above.test:
        node, above = above, source.parent(above)
    if isinstance(above, ast.Assign) and above.value is node:
        for target in above.targets:
            if isinstance(target, ast.Name):
                yield from _loads(source, target.id, source.enclosing(above, ast.FunctionDef))
            elif isinstance(target, ast.Attribute) and last_name(target.value) == "self":
                yield from (
                    other
                    for other in source.nodes(ast.Attribute)
                    if other.attr == target.attr
                    and isinstance(other.ctx, ast.Load)
                    and last_name(other.value) == "self"
                )
    call = source.parent(above) if isinstance(above, ast.keyword) else above
    if not isinstance(call, ast.Call) or node is call.func:
        return
    function = source.definition(call.func)
    if isinstance(function, ast.ClassDef):
        function = next((p for p in function.body if isinstance(p, ast.FunctionDef) and p.name == "__init__"), None)
    if not isinstance(function, ast.FunctionDef):
        return
    parameters = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]
    parameters = parameters[1:] if parameters[:1] == ["self"] else parameters
    if isinstance(above, ast.keyword):
        name = above.arg or ""
    else:
        place = next((place for place, arg in enumerate(call.args) if arg is node), len(parameters))
        name = parameters[place] if place < len(parameters) else ""
    if name:
        yield from _loads(source, name, function)


def _loads(source: Source, name: str, inside: ast.FunctionDef | None) -> Iterator[ast.expr]:
    """The places that read a name, within a function where it is one of that."""
    within = {id(part) for part in ast.walk(inside)} if inside is not None else None
    for node in source.nodes(ast.Name):
        if node.id == name and isinstance(node.ctx, ast.Load) and (within is None or id(node) in within):
            yield node


def _is_tested(source: Source, node: ast.expr) -> bool:
    """Whether an expression is asked for having a value: in a test, before an `or`, compared with None or a text."""
    above = source.parent(node)
    if isinstance(above, (ast.BoolOp, ast.Compare)) or (
        isinstance(above, ast.UnaryOp) and isinstance(above.op, ast.Not)
    ):
        return True
    return isinstance(above, (ast.If, ast.IfExp, ast.While)) and above.test is node
