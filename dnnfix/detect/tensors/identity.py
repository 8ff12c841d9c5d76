"""Whether two expressions of a program refer to the same object.

Two functions of one file may each have a `model` and a `loss` of their own. An edit that follows a name over the whole
file changes programs that have nothing to do with the one that was run.
"""

from __future__ import annotations

import ast

from dnnfix.source.arguments import keyword_value
from dnnfix.source.program import Source, once
from dnnfix.source.tree import parameter_names
from dnnfix.subject import Subject

MAX_CALLERS = 4
"""Functions looked through, from a parameter to what is given for it."""

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Thing = tuple[str, ast.AST]
"""What is written, and the module, class or function in which its first name is bound."""


def same_thing(subject: Subject, one: ast.expr, other: ast.expr) -> bool:
    """Whether both expressions name the same object: written alike, bound at one place, or given from there.

    A parameter means what the callers in this program pass for it; where there is none, it belongs to its function.
    """
    if ast.dump(one) == ast.dump(other) and _home(subject.source, one) is _home(subject.source, other):
        return True
    return bool(_things(subject.source, one, MAX_CALLERS) & _things(subject.source, other, MAX_CALLERS))


def _things(source: Source, node: ast.expr, depth: int) -> frozenset[Thing]:
    home = _home(source, node)
    if not isinstance(node, ast.Name) or not isinstance(home, Function) or node.id not in parameter_names(home):
        return frozenset({(ast.dump(node), home)})
    given = _given(source, home, node.id) if depth else ()
    found = [_things(source, argument, depth - 1) for argument in given]
    return frozenset().union(*found) if found else frozenset({(ast.dump(node), home)})


def _home(source: Source, node: ast.expr) -> ast.AST:
    """The function in which the first name of an expression is bound, the class of a `self`, else the module."""
    root: ast.AST = node
    while isinstance(root, (ast.Attribute, ast.Call, ast.Subscript)):
        root = root.func if isinstance(root, ast.Call) else root.value
    if not isinstance(root, ast.Name):
        return source.tree
    function = _function(source, root)
    while function is not None:
        if root.id in _bound(source, function):
            owner = source.parent(function)
            own = isinstance(owner, ast.ClassDef) and parameter_names(function)[:1] == (root.id,)
            return owner if own and owner is not None else function
        function = _function(source, function)
    return source.tree


def _function(source: Source, node: ast.AST) -> Function | None:
    found = source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    return found if isinstance(found, Function) else None


@once
def _bound(source: Source, function: Function) -> frozenset[str]:
    """The names that a function binds itself: its parameters and what it assigns to, but for what it calls global."""
    found = set(parameter_names(function))
    outer: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.update({node.id} if _function(source, node) is function else ())
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            outer.update(node.names)
    return frozenset(found - outer)


def _given(source: Source, function: Function, name: str) -> tuple[ast.expr, ...]:
    """What the calls of a plain function give for one of its parameters."""
    if isinstance(function, ast.Lambda) or isinstance(source.parent(function), ast.ClassDef):
        return ()
    position = parameter_names(function).index(name)
    found: list[ast.expr] = []
    for call in _calls_of(source, function):
        keyword = keyword_value(call, name)
        plain = not any(isinstance(one, ast.Starred) for one in call.args)
        value = call.args[position] if keyword is None and plain and position < len(call.args) else keyword
        found += [value] if value is not None else []
    return tuple(found)


@once
def _calls_of(source: Source, function: Function) -> tuple[ast.Call, ...]:
    return tuple(call for call in source.all_calls if source.definition(call.func) is function)
