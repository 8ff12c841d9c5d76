"""Constant integer expressions (`128`, `16 * 5 * 5`, `2**10`) and the terms of a sum."""

from __future__ import annotations

import ast
from collections.abc import Iterator

DEEPEST = 200
"""Operations inside each other beyond which an expression is not computed: a sum of so many terms is not a size."""


def number(node: ast.expr | None, deepest: int = DEEPEST) -> int | None:
    """The value of a constant integer expression; `None` for any other expression."""
    if deepest == 0:
        return None
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            inside = number(inner, deepest - 1)
            return -inside if inside is not None else None
        case ast.BinOp(left=left, op=operator, right=right):
            a, b = number(left, deepest - 1), number(right, deepest - 1)
            if a is None or b is None or max(abs(a), abs(b)) > 10**9:
                return None
            match operator:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.FloorDiv() if b:
                    return a // b
                case ast.Pow() if 0 <= b <= 30 and abs(a) <= 16:
                    return int(a**b)
    return None


def summands(node: ast.expr) -> Iterator[ast.expr]:
    """The terms of a sum, from left to right; the expression itself where it is not a sum."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from summands(node.left)
        yield from summands(node.right)
    else:
        yield node
