"""Names that a program uses and never defines, found by pyflakes, which knows every rule of Python's scopes."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.source.names import knows_star
from dnnfix.source.program import Source, once


@dataclass(frozen=True, slots=True)
class Undefined:
    """An undefined name, and the line of its first use."""

    name: str
    line: int


@once
def undefined_names(source: Source) -> tuple[Undefined, ...]:
    """The undefined names of a program in the order of their first use; names of notebooks' shells are defined."""
    from pyflakes import checker, messages

    found: dict[str, int] = {}
    for message in checker.Checker(source.tree, source.path).messages:
        if isinstance(message, (messages.UndefinedName, messages.ImportStarUsage, messages.UndefinedLocal)):
            name = str(message.message_args[0])
            found[name] = min(message.lineno, found.get(name, message.lineno))
    return tuple(Undefined(name, line) for name, line in sorted(found.items(), key=lambda item: item[1]))


@once
def starred(source: Source) -> tuple[str, ...] | None:
    """The modules of which the program imports everything; `None` where it is not known what one of them brings."""
    imports = source.nodes(ast.ImportFrom)
    found = tuple(node.module or "" for node in imports if any(alias.name == "*" for alias in node.names))
    return found if all(knows_star(module) for module in found) else None


def bound_by(source: Source, node: ast.AST) -> frozenset[str]:
    """The names that the functions around a node and the module bind, builtins left out.

    Names of a class count only for code directly in its body, as in Python.
    """
    found = set(_bound_in(source, source.tree))
    inner = source.enclosing(node, ast.ClassDef, *_FUNCTIONS)
    if isinstance(inner, ast.ClassDef):
        found |= _bound_in(source, inner)
    around = source.enclosing(node, *_FUNCTIONS)
    while around is not None:
        found |= _bound_in(source, around)
        around = source.enclosing(around, *_FUNCTIONS)
    return frozenset(found)


_FUNCTIONS = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)


@once
def _bound_in(source: Source, scope: ast.AST) -> frozenset[str]:
    """The names that a function, a comprehension or the module binds itself."""
    found: set[str] = set()
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
            continue
        if isinstance(node, _FUNCTIONS):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.Global):
            found.update(node.names)
        waiting.extend(ast.iter_child_nodes(node))
    return frozenset(found)
