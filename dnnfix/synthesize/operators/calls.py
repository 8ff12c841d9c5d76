"""The operator "calls": a call is removed or made, or another method or an index is used in its place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.records import Edit, FixPattern, Replace
from dnnfix.synthesize.edits.spelling import spell
from dnnfix.synthesize.operators.change import Change, replaced
from dnnfix.synthesize.scene import Scene, Told
from dnnfix.synthesize.slices import NOTHING, Place, Role

PATTERN = FixPattern.NEURAL_CONNECTION

UNCALLABLE = 1.5
"""What other forms of a call gain, in logarithms, where the message says that what is called cannot be."""

CONVERSIONS = {
    "item": ("does not require grad",),
    "detach": ("does not require grad",),
    "numpy": ("does not require grad",),
    "tolist": ("does not require grad",),
    "clone": ("cannot assign",),
    "long": ("long", "int64", "integral"),
    "int": ("int",),
    "float": ("float",),
    "double": ("double", "float64"),
    "half": ("half", "float16"),
    "bool": ("bool",),
}
"""Methods that make another kind of the same values, each with words of messages that speak of what comes of them."""

SAID = 2.0
"""What leaving a conversion out gains, in logarithms, where the message speaks of what it makes."""

METHODS = {
    "str": ("format", "split", "strip", "lower"),
    "dict": ("get", "items", "keys", "values", "update"),
    "list": ("index", "append", "extend"),
}
"""Methods of plain kinds that a call without its method most often meant."""


def changes(scene: Scene, place: Place) -> Iterator[Change]:
    """Other forms of the call at a place."""
    node = place.node
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        if not _is_nothing(scene, node.value):
            yield replaced(scene, node, scene.code(node.value), "no index")
        yield from _called_for_indexed(scene, node)
    if not isinstance(node, ast.Call):
        return
    first = node.args[0] if node.args and not isinstance(node.args[0], ast.Starred) else None
    if first is not None:
        yield replaced(scene, node, scene.code(first), "unwrap")
    if isinstance(node.func, ast.Attribute) and not _is_nothing(scene, node.func.value):
        converts = node.func.attr in CONVERSIONS and not node.args
        form = "no conversion" if converts else "no method"
        yield replaced(scene, node, scene.code(node.func.value), form, SAID * _is_said(scene, node.func.attr))
    yield replaced(scene, node, scene.code(node.func), "uncalled")
    if first is not None and isinstance(first, ast.Call) and first.args:
        yield from _curried(scene, node, first)
    if first is not None and _is_data(scene.told(first)):
        yield from _made_then_called(scene, node)
    if first is not None and place.role is not Role.CONSTRUCTOR:
        yield from _for_each(scene, node, first)
    function = scene.told(node.func)
    if function is not None and not function.takes:
        yield from _of_no_function(scene, place, node, function)


def _is_nothing(scene: Scene, node: ast.expr) -> bool:
    """Whether a value is `None`: to take that as it is keeps quiet about what should have been there."""
    told = scene.told(node)
    return told is not None and told.kind == NOTHING


def _is_said(scene: Scene, method: str) -> bool:
    """Whether the message speaks of what a conversion makes."""
    said = any(word in scene.message.lower() for word in CONVERSIONS.get(method, ()))
    return said or (method in CONVERSIONS and f"no attribute '{method}'" in scene.message)


def _for_each(scene: Scene, node: ast.Call, first: ast.expr) -> Iterator[Change]:
    """A function of one sample, called on many: on each of them, and what it gives put together."""
    told = scene.told(first)
    if told is None or not (told.size or len(told.shape or ()) > 2):
        return
    rest = "".join(f", {scene.code(arg)}" for arg in (*node.args[1:], *node.keywords))
    code = f"[{scene.code(node.func)}(one{rest}) for one in {scene.code(first)}]"
    joined = "torch.stack" if told.is_torch else "numpy.array" if told.is_numpy else ""
    imports: tuple[Edit, ...] = ()
    if joined:
        spelling = spell(scene.subject, joined)
        code, imports = f"{spelling.code}({code})", tuple(spelling.imports)
    edits = (Replace(scene.site(node), code), *imports)
    yield Change(edits, f"Call {scene.code(node.func)} on each of {scene.code(first)[:40]}", "each")


def _of_no_function(scene: Scene, place: Place, node: ast.Call, function: Told) -> Iterator[Change]:
    """For a call of what is no function: one of its methods, or an index."""
    meant = UNCALLABLE * ("not callable" in scene.message and place.role is Role.FAILING)
    for method in METHODS.get(function.last, ()):
        yield replaced(scene, node.func, f"{scene.code(node.func)}.{method}", "method", meant)
    if (function.is_array or function.items or function.keys) and node.args and not node.keywords:
        given = ", ".join(scene.code(arg) for arg in node.args)
        yield replaced(scene, node, f"{scene.code(node.func)}[{given}]", "index for call", meant)


def _is_data(told: Told | None) -> bool:
    """Whether a value is an array, or a list of arrays: what layers are called on and not made of."""
    return told is not None and (told.is_array or any(item.is_array for item in told.items))


def _called_for_indexed(scene: Scene, node: ast.Subscript) -> Iterator[Change]:
    owner = scene.told(node.value)
    if owner is not None and owner.takes:
        yield replaced(scene, node, f"{scene.code(node.value)}({scene.code(node.slice)})", "call for index")


def _curried(scene: Scene, node: ast.Call, first: ast.Call) -> Iterator[Change]:
    """`Outer(Inner(…)(x))` as `Outer(Inner(…))(x)`: a layer around a layer, not around what it gives."""
    if not isinstance(first.func, ast.Call):
        return
    given = ", ".join(scene.code(arg) for arg in (*first.args, *first.keywords))
    rest = "".join(f", {scene.code(arg)}" for arg in node.args[1:])
    rest += "".join(f", {k.arg}={scene.code(k.value)}" for k in node.keywords if k.arg)
    code = f"{scene.code(node.func)}({scene.code(first.func)}{rest})({given})"
    yield Change((Replace(scene.site(node), code),), "Put the layer around the layer, and call both", "curry")


def _made_then_called(scene: Scene, node: ast.Call) -> Iterator[Change]:
    """`Layer(x)` as `Layer()(x)`: made first, then called."""
    function = scene.code(node.func)
    if not function.rpartition(".")[2][:1].isupper():
        return
    code = (
        f"{function}({', '.join(scene.code(a) for a in (*node.args[1:], *node.keywords))})({scene.code(node.args[0])})"
    )
    yield Change((Replace(scene.site(node), code),), f"Make {function} first, then call it", "make and call")
