"""Where the value of an expression may come from, by the source: through variables, attributes, lists and parameters.

Every assignment to a name counts, on whatever path. That is more than the engine concludes from elsewhere; it is for
programs that crashed, where a run shows whether the expression that was found is the right one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.records import Held
from dnnfix.source.program import Source, once
from dnnfix.subject import Subject

MAX_EXPRESSIONS = 64
"""Expressions looked at on the way back from one."""


def origins(subject: Subject, expr: ast.expr) -> Iterator[ast.expr]:
    """The expression and those whose value may become its own, or become a part of it by arithmetic, nearest first."""
    waiting, seen = [expr], {expr}
    while waiting and len(seen) <= MAX_EXPRESSIONS:
        current = waiting.pop(0)
        yield current
        for further in _behind(subject, current):
            if further not in seen:
                seen.add(further)
                waiting.append(further)


def _behind(subject: Subject, expr: ast.expr) -> Iterator[ast.expr]:
    match expr:
        case ast.BinOp():
            yield from (expr.left, expr.right)
        case ast.UnaryOp():
            yield expr.operand
        case ast.IfExp():
            yield from (expr.body, expr.orelse)
        case ast.Subscript():
            yield expr.value
        case ast.ListComp() | ast.GeneratorExp():
            yield expr.elt
        case ast.List() | ast.Tuple():
            yield from expr.elts
        case ast.Name():
            yield from _given_to_name(subject, expr)
        case ast.Attribute():
            yield from _given_to_attribute(subject, expr)


def _given_to_name(subject: Subject, name: ast.Name) -> Iterator[ast.expr]:
    source = subject.source
    around = source.enclosing(name, ast.FunctionDef, ast.AsyncFunctionDef)
    while isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef)):
        values = list(_assigned(subject, around, name.id))
        arguments = (*around.args.posonlyargs, *around.args.args, *around.args.kwonlyargs)
        taken = any(one.arg == name.id for one in arguments)
        yield from values
        if taken:
            yield from _passed(subject, around, name.id)
        if values or taken:
            return
        around = source.enclosing(around, ast.FunctionDef, ast.AsyncFunctionDef)
    yield from _assigned(subject, source.tree, name.id)


def _assigned(subject: Subject, around: ast.AST, name: str) -> Iterator[ast.expr]:
    """The values that a name is given in a function or at the module's top, loops included."""
    own = around if isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
    for node in _stored(subject.source).get((own, name), ()):
        holder = subject.source.parent(node)
        if isinstance(holder, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and holder.value is not None:
            yield holder.value
        elif isinstance(holder, ast.For) and holder.target is node:
            yield holder.iter
        elif isinstance(holder, ast.Tuple) and (iterated := _element_of(subject, holder, node)) is not None:
            yield iterated


@once  # asked for each name on the way
def _stored(source: Source) -> dict[tuple[ast.AST | None, str], list[ast.Name]]:
    """The places where names are given values, by the function around them and the name, outer ones first."""
    found: dict[tuple[ast.AST | None, str], list[ast.Name]] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own = source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
            found.setdefault((own, node.id), []).append(node)
    return found


def _element_of(subject: Subject, target: ast.Tuple, name: ast.Name) -> ast.expr | None:
    """What gives a name its elements that stands in the target of a loop over `enumerate` or `zip`."""
    loop = subject.source.parent(target)
    if not isinstance(loop, ast.For) or loop.target is not target or not isinstance(loop.iter, ast.Call):
        return None
    place, over = target.elts.index(name), subject.source.qualified(loop.iter.func)
    if over == "builtins.enumerate":
        place -= 1
    elif over != "builtins.zip":
        return None
    return loop.iter.args[place] if 0 <= place < len(loop.iter.args) else None


def _given_to_attribute(subject: Subject, attribute: ast.Attribute) -> Iterator[ast.expr]:
    owner = subject.source.enclosing(attribute, ast.ClassDef)
    if owner is None or not isinstance(attribute.value, ast.Name) or attribute.value.id != "self":
        return
    for node in ast.walk(owner):
        if isinstance(node, ast.Assign) and any(_is_of_self(target, attribute.attr) for target in node.targets):
            yield node.value


def _is_of_self(target: ast.expr, name: str) -> bool:
    own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
    return own and isinstance(target, ast.Attribute) and target.attr == name


def _passed(subject: Subject, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> Iterator[ast.expr]:
    """What the program's calls of a function, or of the class that it constructs, give for a parameter."""
    source = subject.source
    owner = source.parent(function)
    target: ast.AST = owner if isinstance(owner, ast.ClassDef) and function.name == "__init__" else function
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    shift = int(isinstance(owner, ast.ClassDef) and names[:1] == ["self"])
    for call in source.all_calls:
        if source.definition(call.func) is not target or any(isinstance(one, ast.Starred) for one in call.args):
            continue
        place = names.index(name) - shift if name in names else len(call.args)
        if 0 <= place < len(call.args):
            yield call.args[place]
        yield from (keyword.value for keyword in call.keywords if keyword.arg == name)


def unpacked_key(subject: Subject) -> tuple[ast.Call, ast.Name, Held] | None:
    """The call whose result, a dictionary, was unpacked into the key that a run stopped at, the name that has it, and what it held."""
    crash = subject.crash
    if crash is None or crash.kind not in ("TypeError", "AttributeError") or not re.search(r"\bstr\b", crash.message):
        return None
    for held in crash.held:
        name = subject.node(held.site)
        if held.kind != "str" or held.text is None or not isinstance(name, ast.Name):
            continue
        call = _unpacked_from(subject.source, name)
        if call is not None and not any(each.arg in (None, "return_dict") for each in call.keywords):
            return call, name, held
    return None


def _unpacked_from(source: Source, name: ast.Name) -> ast.Call | None:
    """The call whose result is unpacked into a name, where that is the only value it has in its function."""
    function = source.enclosing(name, ast.FunctionDef)
    stores = [
        node
        for node in source.nodes(ast.Name)
        if isinstance(node, ast.Name)
        and node.id == name.id
        and isinstance(node.ctx, ast.Store)
        and source.enclosing(node, ast.FunctionDef) is function
    ]
    above = source.parent(stores[0]) if len(stores) == 1 else None
    match source.parent(above) if above is not None else None:
        case ast.Assign(targets=[ast.Tuple() | ast.List()], value=ast.Call() as call) if not isinstance(
            above, ast.Starred
        ):
            return call
    return None
