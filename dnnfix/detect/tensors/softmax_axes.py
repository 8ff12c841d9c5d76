"""The axis that a softmax runs over, beside the axis that it has to run over: that of the classes, or that of weighted values."""

from __future__ import annotations

import ast
import re

from dnnfix.detect.tensors.axis_layouts import is_self_method, layout, whole_number
from dnnfix.detect.tensors.endings import KEEPING, Ending, dimension, ending, is_output
from dnnfix.detect.written import Written, all_written, written_above
from dnnfix.source.arguments import argument_value
from dnnfix.source.program import Source, once
from dnnfix.source.tree import last_name, within

OF_PLANES = re.compile(r"Conv(Transpose)?2d$")
PRODUCTS = frozenset(["matmul", "bmm"])
THREE_AXES = 3
CHOOSING = {"argmax": 0, "max": 0, "gather": 0, "topk": 1}
"""Methods that choose among classes, with the place of the axis among their arguments."""


@once
def chosen_elsewhere(source: Source) -> dict[ast.expr, int]:
    """The softmaxes over axis 0 of whose values one is chosen over another axis, which is that of the classes then, with that axis."""
    found: dict[ast.expr, int] = {}
    for call in source.all_calls:
        short = last_name(call.func)
        if short not in CHOOSING or not isinstance(call.func, ast.Attribute):
            continue
        by_function = (source.qualified(call.func) or "") == f"torch.{short}"
        of = argument_value(call, "input", 0) if by_function else call.func.value
        axis = whole_number(argument_value(call, "dim", CHOOSING[short] + by_function))
        end = ending(source, of) if of is not None and axis is not None and axis > 0 else None
        if axis is None or end is None or end.axis != 0 or end.activation not in ("softmax", "log_softmax"):
            continue
        is_in_order = not re.search(
            r"permute|transpose|swapaxes|\.m?[tT]\b|\[", ast.unparse(source.statement_of(end.node))
        )
        if not end.moved or (is_in_order and isinstance(of, ast.Name)):
            found[end.node] = axis
    return found


def misses_classes(source: Source, end: Ending) -> int | None:
    """The axis of a softmax at the output that is not that of its layer's features, where the axes of its input are known."""
    below, given = end.inner, given_to(source, end)
    if below is None or below.made is None or below.activation or below.width == 1 or given is None:
        return None
    known = layout(source, given, given)
    if known is None or known.more or len(known.axes) < THREE_AXES or not is_output(source, end):
        return None
    features = argument_value(below.made, "out_channels" if _is_of_planes(below) else "out_features", 1)
    named = [i for i, axis in enumerate(known.axes) if features is not None and axis == ast.unparse(features)]
    axis = end.axis if end.axis is not None else 0 if len(known.axes) == THREE_AXES else 1
    right = 1 if _is_of_planes(below) else len(known.axes) - 1
    return axis if named == [right] and axis % len(known.axes) != right else None


def _is_of_planes(end: Ending) -> bool:
    return end.made is not None and OF_PLANES.search(ast.unparse(end.made.func)) is not None


def width_is_alone(source: Source, end: Ending) -> bool:
    """Whether axis 1 of what a softmax gets may be that of its layer's only unit: not where there are three axes or more."""
    given = given_to(source, end)
    known = layout(source, given, given) if given is not None else None
    return known is None or len(known.axes) < THREE_AXES


def given_to(source: Source, end: Ending) -> ast.expr | None:
    """What an activation is applied to by a call."""
    node = end.node
    if not isinstance(node, ast.Call) or node is end.made:
        return None
    if end.made is None and not source.qualified(node.func) and isinstance(node.func, ast.Attribute):
        return node.func.value
    return node.args[0] if node.args else None


def misses_weighted(source: Source, product: ast.expr) -> tuple[ast.Call, int] | None:
    """The softmax of scores, and its axis, whose weights a product sums over another axis than that they sum to one over.

    Scores are a product of queries with transposed keys; the product with the values runs over their last axis.
    """
    left = _left(source, product)
    weights = _behind(source, left, False) if left is not None else None
    if not isinstance(weights, ast.Call):
        return None
    made = source.constructor(weights.func) if isinstance(weights.func, (ast.Name, ast.Attribute)) else weights.func
    given: ast.expr | None
    if isinstance(made, ast.Call) and source.qualified(made.func) == "torch.nn.Softmax":
        given, axis = (weights.args[0] if weights.args else None), dimension(made, 0)
    elif last_name(weights.func) != "softmax" or is_self_method(weights.func):
        return None
    elif source.qualified(weights.func):
        given, axis = argument_value(weights, "input", 0), dimension(weights, 1)
    else:
        given, axis = getattr(weights.func, "value", None), dimension(weights, 0)
    scores = _behind(source, given) if given is not None else None
    if axis is None or scores is None or not _is_of_keys(source, scores):
        return None
    is_of_three = (
        last_name(getattr(product, "func", product)) == "bmm" or last_name(getattr(scores, "func", scores)) == "bmm"
    )
    known = layout(source, scores, scores)
    rank = len(known.axes) if known is not None and not known.more else THREE_AXES if is_of_three else None
    is_wrong = axis % rank != rank - 1 if rank is not None and -rank <= axis < rank else axis in (0, -2, -3)
    return (weights, axis) if is_wrong else None


def _left(source: Source, product: ast.expr) -> ast.expr | None:
    """What stands on the left of a matrix product."""
    if isinstance(product, ast.BinOp):
        return product.left if isinstance(product.op, ast.MatMult) else None
    if not isinstance(product, ast.Call) or last_name(product.func) not in PRODUCTS:
        return None
    if source.qualified(product.func):
        return argument_value(product, "input", 0)
    return product.func.value if isinstance(product.func, ast.Attribute) else None


def _behind(source: Source, expr: ast.expr, is_scaled: bool = True) -> ast.expr:
    """What a value is made of, below dropout and masks, and for scores below scales."""
    for _ in range(12):
        if isinstance(expr, ast.Name):
            written = written_above(source, expr, expr) or _first_of(source, expr)
            if written is None or written.place is not None:
                return expr
            expr = written.value
        elif is_scaled and isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Div, ast.Mult)):
            expr = expr.left
        elif isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute):
            name = expr.func.attr
            is_method = not source.qualified(expr.func)
            if is_method and (
                name in KEEPING or name in ("masked_fill", "masked_fill_") or (is_scaled and name in ("div", "mul"))
            ):
                expr = expr.func.value
            elif re.match(r"(attn?_?|attention_?)?drop(out)?$", name) and expr.args:
                expr = expr.args[0]
            else:
                return expr
        else:
            return expr
    return expr


def _first_of(source: Source, name: ast.Name) -> Written | None:
    """The only assignment to a name that does not change what it was before, as a mask in a branch does."""
    own = [one for one in all_written(source, name) if name.id not in {n.id for n in within(one.value, ast.Name)}]
    return own[0] if len(own) == 1 else None


def _is_of_keys(source: Source, scores: ast.expr) -> bool:
    """Whether scores are a product with something that is transposed in it, and not divided by their sums."""
    right: ast.expr | None = None
    if isinstance(scores, ast.BinOp) and isinstance(scores.op, ast.MatMult):
        right = scores.right
    elif isinstance(scores, ast.Call) and last_name(scores.func) in PRODUCTS and scores.args:
        right = scores.args[-1]
    if right is None:
        return False
    behind = _behind(source, right)
    return isinstance(behind, ast.Call) and last_name(behind.func) in ("transpose", "permute", "t", "swapaxes")
