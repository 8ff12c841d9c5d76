"""The operator "brackets": a bracket closes elsewhere, so that an argument belongs to an inner or outer call, or to a
tuple.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from dnnfix.records import FixPattern, RemoveArgument, SetArgument
from dnnfix.synthesize.operators.change import Change, call_of, replaced, short
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
    yield from _as_one(scene, node)
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


def _as_one(scene: Scene, node: ast.Call) -> Iterator[Change]:
    """`Reshape(1, n)` as `Reshape((1, n))`: one argument that holds several, where more were given than are taken."""
    if len(node.args) > 1 and "positional argument" in scene.message and "given" in scene.message:
        whole = f"({', '.join(map(scene.code, node.args))})"
        given = ", ".join([whole, *map(scene.code, node.keywords)])
        yield replaced(scene, node, f"{scene.code(node.func)}({given})", "as one")


def _inwards(scene: Scene, node: ast.Call) -> Iterator[Change]:
    """`f(g(x), a)` as `f(g(x, a))`, and `Layer(…)(x, a)` as `Layer(…, a)(x)`."""
    inner = [arg for arg in node.args if isinstance(arg, ast.Call)][-1:]
    inner += [node.func] if isinstance(node.func, ast.Call) else []
    for keyword in node.keywords:
        yield from (_moved(scene, keyword, node, call, "inwards") for call in inner if keyword.arg is not None)
    if len(node.args) > 1 and isinstance(node.args[-2], ast.Call) and not node.keywords:
        call, last = node.args[-2], node.args[-1]
        inside = _call(scene, call, [*call.args, last], call.keywords)
        code = call_of(scene, node, [*map(scene.code, node.args[:-2]), inside])
        yield replaced(scene, node, code, "last inwards")


def _outwards(scene: Scene, node: ast.Call) -> Iterator[Change]:
    """`f(g(x, a))` as `f(g(x), a)`, and `Layer(…, a)(x)` as `Layer(…)(x, a)`."""
    above = scene.subject.source.parent(node)
    if not isinstance(above, ast.Call):
        return
    if above.func is node or node in above.args:
        named = [keyword for keyword in node.keywords if keyword.arg is not None]
        yield from (_moved(scene, keyword, node, above, "outwards") for keyword in named)
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


def _moved(scene: Scene, keyword: ast.keyword, giver: ast.Call, taker: ast.Call, form: str) -> Change:
    name = keyword.arg or ""
    refused = any(said in scene.message for said in _REFUSED) and name in scene.message
    likeness = NAMED * (refused or "no keyword arguments" in scene.message)
    given = SetArgument(scene.site(taker), name, scene.code(keyword.value))
    title = f"Give {name} to {short(scene.code(taker.func))}"
    return Change((RemoveArgument(scene.site(giver), name), given), title, form, likeness)


def _call(scene: Scene, call: ast.Call, args: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> str:
    return call_of(scene, call, map(scene.code, (*args, *keywords)))
