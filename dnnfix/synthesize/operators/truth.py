"""The operator "truth": an array used as a condition becomes `any`, an elementwise operation, or a test for `None`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.records import FixPattern
from dnnfix.synthesize.operators.change import Change, replaced
from dnnfix.synthesize.scene import Scene
from dnnfix.synthesize.slices import Place

PATTERN = FixPattern.DATA_TYPE

_ASKED = re.compile(r"Boolean value of Tensor|truth value of a[n ]|as a Python `?bool", re.IGNORECASE)


def changes(scene: Scene, place: Place) -> Iterator[Change]:
    """Other conditions at a place."""
    if not _ASKED.search(scene.message):
        return
    node, code = place.node, scene.code
    match node:
        case ast.BoolOp(op=ast.Or(), values=[ast.BoolOp(op=ast.And(), values=[test, chosen]), other]):
            yield replaced(scene, node, f"{code(chosen)} if {code(test)} else {code(other)}", "condition")
        case ast.BoolOp(op=ast.Or(), values=[ast.Name() | ast.Attribute() | ast.Subscript() as first, other]):
            yield replaced(scene, node, f"{code(first)} if {code(first)} is not None else {code(other)}", "none")
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name() | ast.Attribute() as operand):
            yield replaced(scene, node, f"{code(operand)} is None", "none")
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[ast.Constant(value=None)]):
            word = "is" if isinstance(op, ast.Eq) else "is not"
            yield replaced(scene, node, f"{code(left)} {word} None", "none")
        case ast.Name() | ast.Attribute() if _is_test(scene, node):
            yield replaced(scene, node, f"{code(node)} is not None", "none")
            yield replaced(scene, node, f"len({code(node)}) > 0", "length")
    if isinstance(node, ast.BoolOp):
        sign = " & " if isinstance(node.op, ast.And) else " | "
        parts = [f"({code(part)})" if not isinstance(part, ast.Name) else code(part) for part in node.values]
        yield replaced(scene, node, sign.join(parts), "elements")
    told = place.told
    if told is not None and told.is_array and _is_test(scene, node):
        shown = f"({code(node)})" if isinstance(node, ast.Compare | ast.BoolOp | ast.BinOp) else code(node)
        yield replaced(scene, node, f"{shown}.all()", "all")
        yield replaced(scene, node, f"{shown}.any()", "any")


def _is_test(scene: Scene, node: ast.expr) -> bool:
    """Whether the truth of an expression decides on what is done, or on what another one is."""
    match scene.subject.source.parent(node):
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
            return test is node
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return True
        case _:
            return False
