"""A bracket closes elsewhere: an argument belongs to the call inside or around, a tuple's first element is what is meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from dnnfix.records import FixPattern
from dnnfix.synthesize.operators.change import Change, replaced
from dnnfix.synthesize.scene import Scene
from dnnfix.synthesize.slices import Place, Role

PATTERN = FixPattern.API_CONTRACT

NAMED = 1.0
"""What an argument that the message names, or a call that takes none by name, gains in logarithms where it goes elsewhere."""

_REFUSED = ("keyword argument", "Unrecognized keyword")
"""How libraries say that a call was given a name that it does not take."""


def changes(scene: Scene, place: Place) -> Iterator[Change]:
    """Other ways to set the brackets at a place."""
    node = place.node
    if place.role not in (Role.FAILING, Role.STATEMENT, Role.DEFINITION):
        return
    if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and node.elts:
        yield from _around_condition(scene, node)
    if isinstance(node, ast.BinOp):
        yield from _condition_of_operation(scene, node)
    if not isinstance(node, ast.Call):
        return
    yield from _of_tuple(scene, node)
    yield from _inwards(scene, node)
    yield from _outwards(scene, node)
    yield from _by_name(scene, node)


def _around_condition(scene: Scene, node: ast.Tuple) -> Iterator[Change]:
    """`a, b if c else d` as `(a, b) if c else d`: the condition decides on the whole pair."""
    last = node.elts[-1]
    if len(node.elts) > 1 and isinstance(last, ast.IfExp):
        inside = ", ".join([*map(scene.code, node.elts[:-1]), scene.code(last.body)])
        code = f"({inside}) if {scene.code(last.test)} else {scene.code(last.orelse)}"
        bare = not scene.code(node).startswith("(")
        yield replaced(scene, node, code if bare else f"({code})", "condition")


def _condition_of_operation(scene: Scene, node: ast.BinOp) -> Iterator[Change]:
    """`a + b if c else d` as `a + (b if c else d)`."""
    above = scene.subject.source.parent(node)
    if isinstance(above, ast.IfExp) and above.body is node:
        right = f"({scene.code(node.right)} if {scene.code(above.test)} else {scene.code(above.orelse)})"
        operator = scene.code(node)[len(scene.code(node.left)) : -len(scene.code(node.right))]
        yield replaced(scene, above, f"{scene.code(node.left)}{operator}{right}", "condition")


def _of_tuple(scene: Scene, node: ast.Call) -> Iterator[Change]:
    """`(x, rest).method()` as `(x).method(rest)`."""
    function = node.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Tuple) and function.value.elts:
        first, *rest = map(scene.code, function.value.elts)
        given = [*rest, *map(scene.code, node.args), *map(scene.code, node.keywords)]
        yield replaced(scene, node, f"({first}).{function.attr}({', '.join(given)})", "tuple")


def _inwards(scene: Scene, node: ast.Call) -> Iterator[Change]:
    """`f(g(x), a)` as `f(g(x, a))`, and `Layer(…)(x, a)` as `Layer(…, a)(x)`."""
    starred = any(isinstance(arg, ast.Starred) for arg in node.args)
    if starred or any(keyword.arg is None for keyword in node.keywords):
        return
    inner = [arg for arg in node.args if isinstance(arg, ast.Call)]
    for keyword in node.keywords:
        rest = [each for each in node.keywords if each is not keyword]
        for call in inner[-1:]:
            inside = _call(scene, call, call.args, [*call.keywords, keyword])
            given = [inside if arg is call else scene.code(arg) for arg in node.args]
            code = f"{scene.code(node.func)}({', '.join([*given, *map(scene.code, rest)])})"
            yield replaced(scene, node, code, "inwards", _named(scene, keyword))
        if isinstance(node.func, ast.Call):
            made = _call(scene, node.func, node.func.args, [*node.func.keywords, keyword])
            code = f"{made}({', '.join([*map(scene.code, node.args), *map(scene.code, rest)])})"
            yield replaced(scene, node, code, "inwards", _named(scene, keyword))
    if len(node.args) > 1 and isinstance(node.args[-2], ast.Call) and not node.keywords:
        call, last = node.args[-2], node.args[-1]
        inside = _call(scene, call, [*call.args, last], call.keywords)
        code = f"{scene.code(node.func)}({', '.join([*map(scene.code, node.args[:-2]), inside])})"
        yield replaced(scene, node, code, "last inwards")


def _outwards(scene: Scene, node: ast.Call) -> Iterator[Change]:
    """`f(g(x, a))` as `f(g(x), a)`, and `Layer(…, a)(x)` as `Layer(…)(x, a)`."""
    above = scene.subject.source.parent(node)
    if not isinstance(above, ast.Call):
        return
    for keyword in node.keywords:
        if keyword.arg is None:
            continue
        without = _call(scene, node, node.args, [each for each in node.keywords if each is not keyword])
        given = [without if arg is node else scene.code(arg) for arg in (*above.args, *above.keywords)]
        function = without if above.func is node else scene.code(above.func)
        if above.func is node or node in above.args:
            code = f"{function}({', '.join([*given, scene.code(keyword)])})"
            yield replaced(scene, above, code, "outwards", _named(scene, keyword))
    if above.args and above.args[-1] is node and not above.keywords and not node.keywords and len(node.args) > 1:
        without = _call(scene, node, node.args[:-1], [])
        given = [*map(scene.code, above.args[:-1]), without, scene.code(node.args[-1])]
        yield replaced(scene, above, f"{scene.code(above.func)}({', '.join(given)})", "last outwards")


def _by_name(scene: Scene, node: ast.Call) -> Iterator[Change]:
    """`Input(shape(n,))` as `Input(shape=(n,))`: a name that nothing has, where the call takes an argument of that name."""
    for arg in node.args:
        if not (isinstance(arg, ast.Call) and isinstance(arg.func, ast.Name) and f"'{arg.func.id}'" in scene.message):
            continue
        if scene.kind == "NameError" and any(p.name == arg.func.id for p in scene.takes(node)):
            inside = scene.code(arg)[len(arg.func.id) :].strip()
            given = [f"{arg.func.id}={inside}" if each is arg else scene.code(each) for each in node.args]
            code = ", ".join([*given, *map(scene.code, node.keywords)])
            yield replaced(scene, node, f"{scene.code(node.func)}({code})", "by name")


def _named(scene: Scene, keyword: ast.keyword) -> float:
    refused = any(said in scene.message for said in _REFUSED)
    return NAMED * (refused and (keyword.arg or "") in scene.message or "no keyword arguments" in scene.message)


def _call(scene: Scene, call: ast.Call, args: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> str:
    return f"{scene.code(call.func)}({', '.join(map(scene.code, (*args, *keywords)))})"
