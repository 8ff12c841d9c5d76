"""Helpers on syntax trees that several edit actions share."""

from __future__ import annotations

import ast
import builtins
import io
import tokenize
from collections.abc import Iterable, Iterator
from contextlib import suppress

from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import last_name

_ENDINGS = words("builtins.exit builtins.quit sys.exit os._exit os.abort")
"""Functions that end a program."""

_TOLD = words("usage print_usage print_help show_help")
"""Names of functions that say how a program is to be called, after which it does nothing more."""

_PARSERS = words("argparse.ArgumentParser optparse.OptionParser")
"""What ends a program by its methods `error` and `exit`; a logger's `error` does not."""


def ends(source: Source, statement: ast.stmt) -> bool:
    """Whether a statement ends the program: it raises, exits, asserts something false, or prints how the program is
    called.
    """
    if isinstance(statement, ast.Assert):
        return isinstance(statement.test, ast.Constant) and not statement.test.value
    called = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(called, ast.Call):
        return isinstance(statement, ast.Raise)
    if last_name(called.func) in _TOLD or source.qualified(called.func) in _ENDINGS:
        return True
    if not isinstance(called.func, ast.Attribute) or called.func.attr not in ("error", "exit"):
        return False
    made = source.constructor(called.func.value)
    named = made is None and last_name(called.func.value).lower().endswith("parser")
    return named or made is not None and source.qualified(made.func) in _PARSERS


def methods_of(definition: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    """The methods defined in a class, by their names; the last one of several with one name."""
    return {part.name: part for part in definition.body if isinstance(part, ast.FunctionDef)}


def is_static(function: ast.FunctionDef) -> bool:
    """Whether a method takes no object."""
    return any(last_name(decorator) == "staticmethod" for decorator in function.decorator_list)


def string(node: ast.AST | None) -> str | None:
    """The string that a constant is; `None` for any other node."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def strings(nodes: Iterable[ast.expr]) -> list[str]:
    """The constant strings among expressions."""
    return [value for node in nodes if (value := string(node)) is not None]


def given(call: ast.Call) -> list[ast.expr]:
    """All arguments of a call, keyword arguments last."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def named(source: Source, name: str) -> list[ast.Name]:
    """Where a name is read."""
    return [node for node in source.nodes(ast.Name) if node.id == name and isinstance(node.ctx, ast.Load)]


def call_of(source: Source, node: ast.AST) -> ast.Call | None:
    """The call whose function an expression is."""
    above = source.parent(node)
    return above if isinstance(above, ast.Call) and above.func is node else None


def assigned(node: ast.AST | None) -> str:
    """The name that an assignment binds; empty where it binds several, or the target is not a name."""
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    return target.id if isinstance(target, ast.Name) else ""


def tests_around(source: Source, node: ast.AST) -> Iterator[ast.expr]:
    """The tests of the `if` statements around a node, the innermost first."""
    above = source.enclosing(node, ast.If)
    while above is not None:
        yield above.test
        above = source.enclosing(above, ast.If)


@once
def comments(source: Source) -> tuple[tuple[int, str, bool], ...]:
    """The comments and lines of docstrings: line, text, and whether nothing else is on the line."""
    found: list[tuple[int, str, bool]] = []
    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
            if token.type == tokenize.COMMENT:
                found.append((token.start[0], token.string.lstrip("#"), not token.line[: token.start[1]].strip()))
    for node in source.nodes(ast.Expr):
        if (said := string(node.value)) is not None:
            found += [(node.lineno + number, text, True) for number, text in enumerate(said.split("\n"))]
    return tuple(sorted(found))


@once
def bound_names(source: Source) -> frozenset[str]:
    """Every name that the program binds anywhere; an undefined name may be a misspelling of one."""
    found = {node.id for node in source.nodes(ast.Name) if not isinstance(node.ctx, ast.Load)}
    found |= {node.name for node in source.nodes(ast.FunctionDef)} | {node.name for node in source.nodes(ast.ClassDef)}
    found |= {argument.arg for argument in source.nodes(ast.arg)}
    found |= {(alias.asname or alias.name).partition(".")[0] for alias in source.nodes(ast.alias)}
    return frozenset(found) - frozenset(dir(builtins))


def shortened(text: str, length: int) -> str:
    """A string on one line, cut to at most that length."""
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 3] + "..."
