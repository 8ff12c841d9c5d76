"""The operator "axes": an array gets an axis more or less, its axes are transposed or merged, or one is reduced or
indexed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from dnnfix.records import FixPattern
from dnnfix.synthesize.edits.spelling import spell
from dnnfix.synthesize.operators.change import Change, around
from dnnfix.synthesize.scene import Scene, Told
from dnnfix.synthesize.slices import Place

PATTERN = FixPattern.DATA_DIMENSION

ELEMENTWISE = frozenset(
    ["eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "div", "pow", "where", "maximum", "minimum", "equal"]
)
"""Functions that go through two arrays element by element."""

WIDENING = frozenset({"unsqueeze", "column"})
"""Forms after which an operation of two arrays may meet each element of one with each of the other."""

RANK = 5
"""Axes up to which arrays are given others."""


def changes(scene: Scene, place: Place) -> Iterator[Change]:
    """Other axes for the array at a place."""
    told = place.told
    if told is None or told.shape is None or len(told.shape) > RANK:
        return
    if scene.kind == "AttributeError" or (scene.kind == "IndexError" and "out of bounds" in scene.message):
        return  # an array has the same methods, whatever its axes, and other axes would only be longer
    if told.is_torch:
        written = _torch(told)
    elif told.is_numpy:
        written = _numpy(told)
    else:
        yield from _spread(scene, place, told)
        yield from _by_functions(scene, place, told)
        return
    yield from _spread(scene, place, told)
    pairs = makes_pairs(scene, place)
    for after, form in written:
        if not (pairs and form in WIDENING):
            yield around(scene, place.node, "", after, form)
    if told.is_torch and told.shape and told.shape[0] == 1:
        yield around(scene, place.node, "", "[0]", "first")


def _spread(scene: Scene, place: Place, told: Told) -> Iterator[Change]:
    """Several axes of one more, where the array meets one that has all its sizes in the same order, and others between."""
    shape = told.sizes or ()
    for other in _met_by(scene, place.node):
        wide = other.sizes or ()
        if 1 < len(shape) < len(wide) - 1 and shape[0] == wide[0]:
            for kept in combinations(range(len(wide)), len(shape)):
                if kept[0] == 0 and all(wide[axis] == size for axis, size in zip(kept, shape, strict=True)):
                    index = ", ".join(":" if axis in kept else "None" for axis in range(len(wide)))
                    yield around(scene, place.node, "", f"[{index}]", "spread")


def _met_by(scene: Scene, node: ast.expr) -> Iterator[Told]:
    """The arrays that stand in one operation or call with another."""
    above = scene.subject.source.parent(node)
    if isinstance(above, ast.keyword):
        above = scene.subject.source.parent(above)
    both = [above.left, above.right] if isinstance(above, ast.BinOp) else []
    both += [*above.args, *(keyword.value for keyword in above.keywords)] if isinstance(above, ast.Call) else []
    for other in both:
        told = scene.told(other) if other is not node else None
        if told is not None and told.shape is not None:
            yield told


def makes_pairs(scene: Scene, place: Place) -> bool:
    """Whether one axis more would pair each element with each: beside another array that has no more axes."""
    source = scene.subject.source
    node = place.node
    match source.parent(node):
        case ast.BinOp(left=left, op=op, right=right) if not isinstance(op, ast.MatMult):
            both: list[ast.expr] = [left, right]
        case ast.Compare(left=left, comparators=[right]):
            both = [left, right]
        case ast.Attribute(value=left, attr=name) as function if name in ELEMENTWISE:
            call = source.parent(function)
            both = [left, *call.args[:1]] if isinstance(call, ast.Call) else [left]
        case ast.Call(func=ast.Attribute(value=left, attr=name), args=args) if name in ELEMENTWISE:
            both = list(args[:2]) if len(args) > 1 else [left, *args]
        case _:
            return False
    rank = len(place.told.shape or ()) if place.told is not None else 0
    others = [told for other in both if other is not node and (told := scene.told(other)) is not None]
    return all(len(other.shape or ()) <= rank for other in others)


def _reduced(name: str, axis: int) -> str:
    """The form of a reduction: over the first axis, which is most often that of the samples, it makes one of all of them."""
    return f"{name} over rows" if axis == 0 else name


def _torch(told: Told) -> Iterator[tuple[str, str]]:
    shape = told.shape or ()
    rank = len(shape)
    for axis in range(rank):
        if shape[axis] == 1:
            yield f".squeeze({axis if axis != rank - 1 else -1})", "squeeze"
    for axis in dict.fromkeys((1, 0, rank)):
        if axis <= rank:
            yield f".unsqueeze({axis if axis != rank or rank < 2 else -1})", "unsqueeze"
    if rank > 2:
        yield ".flatten(1)", "flatten"
    if rank == 2:
        yield ".t()", "transpose"
    for one, other in combinations(range(rank), 2):
        if rank > 2:
            yield f".transpose({one}, {other})", "transpose"
    if rank == 4:
        yield ".permute(0, 3, 1, 2)", "channels"
        yield ".permute(0, 2, 3, 1)", "channels"
    if rank == 3:
        yield ".permute(2, 0, 1)", "channels"
        yield ".permute(1, 2, 0)", "channels"
    if rank > 1:
        yield ".flatten()", "flat"
        yield f".reshape(-1, {shape[-1]})", "rows"
    if rank == 1:
        yield ".reshape(-1, 1)", "column"
    for axis in range(rank):
        if rank > 1:
            yield from ((f".{name}({axis})", _reduced(name, axis)) for name in ("argmax", "mean", "sum"))
    if rank > 2:
        yield "[:, -1]", "last"
        yield "[-1]", "last"
        yield "[:, 0]", "first"
    if rank > 0:
        yield "[0]", "first"
    if rank:
        yield ".mean()", "mean"
        yield ".sum()", "sum"


def _numpy(told: Told) -> Iterator[tuple[str, str]]:
    shape = told.shape or ()
    rank = len(shape)
    for axis in range(rank):
        if shape[axis] == 1:
            yield f".squeeze(axis={axis if axis != rank - 1 else -1})", "squeeze"
    yield "[None]", "unsqueeze"
    yield "[..., None]", "unsqueeze"
    if rank > 1:
        yield "[:, None]", "unsqueeze"
    if rank == 1:
        yield ".reshape(-1, 1)", "column"
    if rank > 2:
        yield f".reshape({shape[0]}, -1)", "flatten"
        yield f".reshape(-1, {shape[-1]})", "rows"
    if rank == 2:
        yield ".T", "transpose"
    if rank == 4:
        yield ".transpose(0, 3, 1, 2)", "channels"
        yield ".transpose(0, 2, 3, 1)", "channels"
    if rank == 3:
        yield ".transpose(0, 2, 1)", "transpose"
        yield ".transpose(2, 0, 1)", "channels"
        yield ".transpose(1, 2, 0)", "channels"
    if rank > 1:
        yield ".ravel()", "flat"
        for axis in range(rank):
            yield from ((f".{name}(axis={axis})", _reduced(name, axis)) for name in ("argmax", "mean"))
    if rank > 2:
        yield "[:, -1]", "last"
    if rank > 0:
        yield "[0]", "first"


def _by_functions(scene: Scene, place: Place, told: Told) -> Iterator[Change]:
    """For arrays of a library whose functions stand apart: TensorFlow's, and Keras's `ops`."""
    of_tensorflow = "tensorflow" in told.kind
    module = "tensorflow" if of_tensorflow else "keras.ops"
    shape = told.shape or ()
    rank = len(shape)

    def call(name: str, rest: str, form: str) -> Change:
        spelling = spell(scene.subject, f"{module}.{name}")
        return around(scene, place.node, f"{spelling.code}(", f", {rest})", form, spelling.imports)

    for axis in range(rank):
        if shape[axis] == 1:
            yield call("squeeze", f"axis={axis if axis != rank - 1 else -1}", "squeeze")
    for axis in dict.fromkeys((rank, 0, 1)):
        yield call("expand_dims", f"axis={axis if axis != rank else -1}", "unsqueeze")
    if rank > 2 and not of_tensorflow:
        spelling = spell(scene.subject, "keras.layers.Flatten")
        yield around(scene, place.node, f"{spelling.code}()(", ")", "flatten", spelling.imports)
    if rank > 1:
        order = [*range(rank - 2), rank - 1, rank - 2]
        yield call("transpose", f"{order}" if of_tensorflow else f"{tuple(order)}", "transpose")
        for axis in range(rank):
            yield call("argmax", f"axis={axis}", _reduced("argmax", axis))
            yield call("reduce_mean" if of_tensorflow else "mean", f"axis={axis}", _reduced("mean", axis))
    if rank > 2 and of_tensorflow and shape[-1] is not None:
        yield call("reshape", f"[-1, {shape[-1]}]", "rows")
    if rank > 2:
        yield around(scene, place.node, "", "[:, -1]", "last")
    if rank > 0:
        yield around(scene, place.node, "", "[0]", "first")
