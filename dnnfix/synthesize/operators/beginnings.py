"""The operator "beginnings": a statement that has to come first, such as `super().__init__()` or a first value of a
name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.detect.tensors.symbolic import parameters
from dnnfix.records import Edit, InsertAfter, InsertBefore, Replace
from dnnfix.source.tree import bound_in, names_in
from dnnfix.synthesize.definitions import FUNCTIONS
from dnnfix.synthesize.operators.change import Change
from dnnfix.synthesize.scene import Scene

OWNERS = 4
"""Objects of a statement whose method is called before it."""

UNSET = frozenset({"NameError", "UnboundLocalError"})
"""Exceptions of a name that has no value."""

OUTWARDS = -0.5
"""What a first value loses, in logarithms, for each loop further out: most often it is for the innermost one."""

IN_OTHERS = 2.0
"""What it gains to keep a parameter of the constructor that another method reads by its bare name: nothing else has that name."""

LOWEST = ("loss", "error", "err", "cost", "distance", "perplexity")
"""Words of names for what is best where it is least."""

_NAMED_CALL = re.compile(r"\b([a-z_]\w*)\(")
LACKS = re.compile(r"'(\w+)' object has no attribute '(\w+)'")
_NO_VALUE = re.compile(r"(?:name|variable) '(\w+)'")


def changes(scene: Scene, node: ast.stmt) -> Iterator[Change]:
    """Statements that may have to come before one."""
    yield from _called(scene, node)
    yield from _prepared(scene, node)
    if scene.kind in UNSET:
        yield from _begun(scene, node)


def _begun(scene: Scene, node: ast.stmt) -> Iterator[Change]:
    """A first value for a name that only the loop around, or the loop itself, gives one."""
    missing = _NO_VALUE.search(scene.message)
    source = scene.subject.source
    function = source.enclosing(node, *FUNCTIONS)
    owner = function if isinstance(function, FUNCTIONS) else source.tree
    name = missing.group(1) if missing is not None else ""
    uses = [each for each in ast.walk(owner) if isinstance(each, ast.Name) and each.id == name]
    if not any(isinstance(each.ctx, ast.Store) for each in uses):
        return
    if isinstance(owner, FUNCTIONS) and any(_binds(each, name) for each in source.tree.body):
        first = next(each for each in owner.body if not _is_text(each))
        yield Change((InsertBefore(scene.site(first), f"global {name}"),), f"Take {name} of the module", "global")
    for value in dict.fromkeys(_first_values(scene, name, uses)):
        place: ast.AST | None = node
        if not isinstance(node, ast.For | ast.While):
            place = source.enclosing(node, ast.For, ast.While, *FUNCTIONS)
        less = 0.0
        while isinstance(place, ast.For | ast.While):
            edit = InsertBefore(scene.site(place), f"{name} = {value}")
            yield Change((edit,), f"Begin with {name} = {value}", "begun", less)
            place, less = source.enclosing(place, ast.For, ast.While, *FUNCTIONS), less + OUTWARDS


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _binds(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)


def _first_values(scene: Scene, name: str, uses: list[ast.Name]) -> Iterator[str]:
    """What a name begins with, by what is done with it: tests, sums, lists, the best so far."""
    source = scene.subject.source
    for use in uses:
        match source.parent(use):
            case ast.AugAssign(target=ast.Name(id=target), value=value) if target == name:
                yield "[]" if isinstance(value, ast.List) else "''" if isinstance(value, ast.JoinedStr) else "0"
            case ast.UnaryOp(op=ast.Not()):
                yield "False"
            case ast.While(test=test) if test is use:
                yield "True"
            case ast.Attribute(attr="append" | "extend"):
                yield "[]"
            case ast.Subscript(ctx=ast.Store()):
                yield "{}"
            case ast.Compare():
                yield "float('inf')" if any(word in name.lower() for word in LOWEST) else "0"


def _prepared(scene: Scene, node: ast.stmt) -> Iterator[Change]:
    """The method that gives an object the attribute it lacks, called first with what is called as its parameters are."""
    lacks = LACKS.search(scene.message)
    kind, attribute = lacks.groups() if lacks is not None else ("", "")
    owners = [n for n in scene.subject.source.nodes(ast.ClassDef) if n.name == kind]
    names = scene.names(node)
    for method in (each for owner in owners for each in owner.body if isinstance(each, ast.FunctionDef)):
        gives = any(
            isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and ast.unparse(n) == f"self.{attribute}"
            for n in ast.walk(method)
        )
        required = method.args.args[1 : len(method.args.args) - len(method.args.defaults)]
        given = [n if n in names else f"self.{n}" for n in (each.arg for each in required)]
        if not gives or method.name == "__init__" or any(each not in names for each in given):
            continue
        for each in ast.walk(node):
            if isinstance(each, ast.Attribute) and each.attr == attribute:
                code = f"{scene.code(each.value)}.{method.name}({', '.join(given)})"
                yield Change((InsertBefore(scene.site(node), code),), f"Call {code} first", "call")
                return


def _called(scene: Scene, node: ast.stmt) -> Iterator[Change]:
    """A method that the message names, called without arguments on an object of the statement before it."""
    methods = list(dict.fromkeys(_NAMED_CALL.findall(scene.message)))
    if "__init__" in methods:
        yield from constructed_first(scene, node)
    owners: dict[str, None] = {}
    for each in ast.walk(node):
        told = scene.told(each) if isinstance(each, ast.Name | ast.Attribute) else None
        if told is not None and told.attributes and isinstance(each, ast.expr):
            owners[scene.code(each)] = None
    for method in [method for method in methods if not method.startswith("_")][:OWNERS]:
        for owner in list(owners)[:OWNERS]:
            code = f"{owner}.{method}()"
            yield Change((InsertBefore(scene.site(node), code),), f"Call {code} first", "call")


def constructed_first(scene: Scene, node: ast.stmt) -> Iterator[Change]:
    """A call of the base class's constructor at the beginning of the constructor around a statement."""
    function = scene.subject.source.enclosing(node, *FUNCTIONS)
    if not isinstance(function, FUNCTIONS) or function.name != "__init__":
        return
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    calls = [each for each in ast.walk(function) if isinstance(each, ast.Call)]
    for call in calls:
        if _is_of_no_object(call) or _is_of_another(scene, call):
            yield Change((Replace(scene.site(call), "super()"),), f"Take super() for {scene.code(call)}", "construct")
            return
    if body and not any(isinstance(call.func, ast.Attribute) and call.func.attr == "__init__" for call in calls):
        code = "super().__init__()"
        yield Change((InsertBefore(scene.site(body[0]), code),), f"Call {code} first", "construct")


def stored(scene: Scene, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Change]:
    """An unused parameter of a constructor with the name of the missing attribute, assigned to `self`."""
    lacks = LACKS.search(scene.message)
    name = lacks.group(2) if lacks is not None else ""
    if name not in names_in(function) and name in parameters(function):
        code = f"self.{name} = {name}"
        yield Change((InsertAfter(scene.site(function.body[-1]), code),), f"Write {code}", "stored")


def kept(scene: Scene, name: ast.Name) -> Iterator[Change]:
    """A parameter of the constructor that other methods read as if it were theirs: kept in `self`, and read from there by all of them."""
    owner = scene.subject.source.enclosing(name, ast.ClassDef)
    methods = [each for each in owner.body if isinstance(each, ast.FunctionDef)] if owner is not None else []
    constructor = next((each for each in methods if each.name == "__init__"), None)
    if constructor is None or name.id not in parameters(constructor):
        return
    readers = [each for each in methods if each is not constructor and name.id not in bound_in(each)]
    uses = [use for each in readers for use in ast.walk(each) if isinstance(use, ast.Name) and use.id == name.id]
    own = f"self.{name.id}"
    if name in uses and not any(ast.unparse(node) == own for node in ast.walk(constructor)):
        code = f"{own} = {name.id}"
        edits: list[Edit] = [InsertAfter(scene.site(constructor.body[-1]), code)]
        edits += [Replace(scene.site(use), own) for use in uses]
        yield Change(tuple(edits), f"Write {code} in the constructor, and read {own}", "stored", IN_OTHERS)


def _is_of_no_object(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "super" and len(call.args) == 1


def _is_of_another(scene: Scene, call: ast.Call) -> bool:
    """Whether `super` is asked for what is above another class than the one that the call stands in."""
    owner = scene.subject.source.enclosing(call, ast.ClassDef)
    match call:
        case ast.Call(func=ast.Name(id="super"), args=[named, _]) if isinstance(owner, ast.ClassDef):
            return isinstance(named, ast.Name | ast.Attribute) and ast.unparse(named) != owner.name
    return False
