"""What the variables of the failing frames held at a crash, and the shapes of expressions made of them, in any
library.

The run says what each name of the innermost frames held. From these the shape of an expression follows where it is
made of names, attributes of `self`, indices and arithmetic; anything else has no known shape.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from dnnfix.records import Frame, Json
from dnnfix.subject import Subject

Shape = tuple[int | None, ...]

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

ELEMENTWISE = frozenset({"where", "logical_not", "logical_and", "logical_or", "abs", "exp", "log", "sqrt", "equal"})
"""Functions of arrays, by their last names, whose result has the shape to which their arguments broadcast."""


def held(subject: Subject, expr: ast.expr) -> Json:
    """The run's description of what a name or an attribute of `self` held at the crash; `None` where it is unknown."""
    if not isinstance(expr, (ast.Name, ast.Attribute)):
        return None
    key = ast.unparse(expr)
    scope = subject.source.enclosing(expr, *FUNCTIONS)
    for frame in _frames(subject, scope):
        if key in frame.names:
            return frame.names[key]
    frames = subject.crash.frames if subject.crash is not None else ()
    own = scope is None or not _is_local(scope, key)
    return frames[0].names.get(key) if frames and own else None


def _frames(subject: Subject, scope: ast.AST | None) -> Iterator[Frame]:
    """The frames of the crash that ran the code of a function (`None` for the module), the innermost first."""
    for frame in reversed(subject.crash.frames if subject.crash is not None else ()):
        node = subject.node(frame.site)
        if node is not None and subject.source.enclosing(node, *FUNCTIONS) is scope:
            yield frame


def _is_local(scope: ast.AST, name: str) -> bool:
    return any(
        (isinstance(node, ast.arg) and node.arg == name)
        or (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store))
        for node in ast.walk(scope)
    )


def shape_of(subject: Subject, expr: ast.expr) -> Shape | None:
    """The shape of an expression's value at the crash; `()` for a number, `None` where it is not known."""
    match expr:
        case ast.Constant(value=bool() | int() | float()):
            return ()
        case ast.Name() | ast.Attribute():
            return described_shape(held(subject, expr))
        case ast.Subscript():
            whole = shape_of(subject, expr.value)
            return part_shape(subject, whole, indices(expr)) if whole is not None else None
        case ast.UnaryOp():
            return shape_of(subject, expr.operand)
        case ast.BinOp(op=ast.MatMult()):
            return None
        case ast.BinOp():
            return _together(subject, (expr.left, expr.right))
        case ast.Compare():
            return _together(subject, (expr.left, *expr.comparators))
        case ast.Call(func=ast.Attribute(attr=name)) if name in ELEMENTWISE and not expr.keywords:
            return _together(subject, expr.args)
    return None


def described_shape(description: Json) -> Shape | None:
    """The shape in the run's description of an array or a number."""
    if isinstance(description, (int, float)):
        return ()
    sizes = description.get("shape") if isinstance(description, dict) else None
    if not isinstance(sizes, list):
        return None
    shape: list[int | None] = []
    for size in sizes:
        if size is not None and not isinstance(size, int):
            return None
        shape.append(size)
    return tuple(shape)


def held_list(subject: Subject, expr: ast.expr) -> tuple[int, tuple[Json, ...]] | None:
    """The length and the described first items of a list or tuple that a name held; `None` for anything else."""
    description = held(subject, expr)
    if not isinstance(description, dict):
        return None
    length, items = description.get("length"), description.get("items")
    return (length, tuple(items)) if isinstance(length, int) and isinstance(items, list) else None


def row_lengths(subject: Subject, expr: ast.expr) -> tuple[int, int, bool] | None:
    """The shortest and the longest of the rows of numbers that a list or an array of objects held; if all are whole."""
    description = held(subject, expr)
    if not isinstance(description, dict):
        return None
    shortest, longest = description.get("shortest"), description.get("longest")
    if not isinstance(shortest, int) or not isinstance(longest, int):
        return None
    return shortest, longest, bool(description.get("whole"))


def size_of(subject: Subject, expr: ast.expr) -> int | None:
    """The integer value of an expression: a literal, held by a name, a size of an array, or arithmetic."""
    match expr:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub()):
            inner = size_of(subject, expr.operand)
            return -inner if inner is not None else None
        case ast.BinOp():
            return _arithmetic(expr.op, size_of(subject, expr.left), size_of(subject, expr.right))
        case ast.Subscript(value=ast.Attribute(attr="shape", value=array), slice=axis):
            shape, place = shape_of(subject, array), size_of(subject, axis)
            inside = shape is not None and place is not None and -len(shape) <= place < len(shape)
            return shape[place] if shape is not None and place is not None and inside else None
        case ast.Call(func=ast.Name(id="len"), args=[array]):
            shape, listed = shape_of(subject, array), held_list(subject, array)
            return shape[0] if shape else listed[0] if listed is not None else None
        case ast.Name() | ast.Attribute():
            number = held(subject, expr)
            return number if isinstance(number, int) and not isinstance(number, bool) else None
    return None


def _arithmetic(op: ast.operator, left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return None
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.FloorDiv() if right:
            return left // right
    return None


def _together(subject: Subject, parts: Sequence[ast.expr]) -> Shape | None:
    shapes = [shape_of(subject, part) for part in parts]
    return broadcast([shape for shape in shapes if shape is not None]) if shapes and None not in shapes else None


def broadcast(shapes: Sequence[Shape]) -> Shape | None:
    """The shape to which these stretch together by the rules of NumPy; `None` where they do not."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[int | None] = []
    for axis in range(-rank, 0):
        sizes = [shape[axis] for shape in shapes if len(shape) >= -axis]
        wide = {size for size in sizes if size != 1}
        if len(wide - {None}) > 1:
            return None
        result.append(next(iter(wide - {None}), None if wide else 1))
    return tuple(result)


def indices(expr: ast.Subscript) -> tuple[ast.expr, ...]:
    """The indices of a subscript, one per comma."""
    return tuple(expr.slice.elts) if isinstance(expr.slice, ast.Tuple) else (expr.slice,)


def part_shape(subject: Subject, whole: Shape, given: Sequence[ast.expr]) -> Shape | None:
    """The shape of what indices take from an array; `None` for indices other than numbers, slices, `...` and `None`."""
    taken = sum(not _is_new_axis(one) and not _is_ellipsis(one) for one in given)
    if taken > len(whole) or sum(map(_is_ellipsis, given)) > 1:
        return None
    result: list[int | None] = []
    sizes = list(whole)
    for one in given:
        if _is_new_axis(one):
            result.append(1)
        elif _is_ellipsis(one):
            skipped = len(whole) - taken
            result += sizes[:skipped]
            sizes = sizes[skipped:]
        elif isinstance(one, ast.Slice):
            size = sizes.pop(0)
            length = _slice_length(subject, one, size)
            if length is None and size is not None:
                return None
            result.append(length)
        elif size_of(subject, one) is not None:
            sizes.pop(0)
        else:
            return None
    return (*result, *sizes)


def _slice_length(subject: Subject, one: ast.Slice, size: int | None) -> int | None:
    if size is None:
        return None
    bounds: list[int | None] = []
    for bound in (one.lower, one.upper, one.step):
        value = size_of(subject, bound) if bound is not None else None
        if bound is not None and value is None:
            return None
        bounds.append(value)
    return len(range(*slice(*bounds).indices(size))) if bounds[2] != 0 else None


def _is_new_axis(one: ast.expr) -> bool:
    return (isinstance(one, ast.Constant) and one.value is None) or (
        isinstance(one, ast.Attribute) and one.attr == "newaxis"
    )


def _is_ellipsis(one: ast.expr) -> bool:
    return isinstance(one, ast.Constant) and one.value is Ellipsis
