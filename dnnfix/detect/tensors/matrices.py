"""Whether a tensor in a Keras layer is known to have two axes: a weight made with two sizes, or an input that `build`
checks.
"""

from __future__ import annotations

import ast

from dnnfix.source.program import Source

_MAKERS = frozenset({"add_weight", "add_variable"})


def is_matrix(source: Source, tensor: ast.expr) -> bool:
    """Whether a tensor is a weight that is made with two sizes, or the input whose shape is stated to have two."""
    bound = source.bindings(tensor) if isinstance(tensor, (ast.Name, ast.Attribute)) else ()
    made = [value for value in bound if not (isinstance(value, ast.Constant) and value.value is None)]
    if made:
        return all(_is_weight(value) or _is_stated(source, tensor, value) for value in made)
    return _is_stated(source, tensor, tensor)


def _is_weight(value: ast.expr) -> bool:
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    # `self.init((a, b))` is how the first Keras made a weight
    if value.func.attr not in _MAKERS and not _is_own(value.func):
        return False
    given = [*value.args[:2], *(k.value for k in value.keywords if k.arg == "shape")]
    shapes = [one for one in given if isinstance(one, (ast.Tuple, ast.List))]
    return len(shapes) == 1 and len(shapes[0].elts) == 2


def _is_own(function: ast.Attribute) -> bool:
    return isinstance(function.value, ast.Name) and function.value.id == "self" and function.attr.startswith("init")


def _is_stated(source: Source, tensor: ast.expr, value: ast.expr) -> bool:
    """Whether `build` asserts that the shape of this input has two axes: `assert len(input_shape[0]) == 2`."""
    method, owner = source.enclosing(tensor, ast.FunctionDef), source.enclosing(tensor, ast.ClassDef)
    place = _place(value, method)
    build = (
        next((one for one in owner.body if isinstance(one, ast.FunctionDef) and one.name == "build"), None)
        if (owner is not None and place is not None)
        else None
    )
    for node in ast.walk(build) if build is not None else ():
        match node:
            case ast.Assert(
                test=ast.Compare(
                    left=ast.Call(func=ast.Name(id="len"), args=[shape]),
                    ops=[ast.Eq()],
                    comparators=[ast.Constant(value=2)],
                )
            ):
                bound = source.bindings(shape) if isinstance(shape, ast.Name) else ()
                if place in {_place(one, build) for one in (shape, *bound)}:
                    return True
    return False


def _place(value: ast.expr, method: ast.FunctionDef | None) -> int | None:
    """Which of the inputs of a method a value is: -1 for all that it is given, `None` for anything else."""
    parameters = [one.arg for one in method.args.args] if method is not None else []
    if len(parameters) < 2:
        return None
    if isinstance(value, ast.Name) and value.id == parameters[1]:
        return -1
    match value:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int() as place)) if name == parameters[1]:
            return place
    return None
