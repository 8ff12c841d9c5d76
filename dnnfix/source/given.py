"""What a call gives for a parameter, as it is written."""

from __future__ import annotations

import ast


def keyword_value(call: ast.Call, name: str) -> ast.expr | None:
    """What a call gives for a keyword."""
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def argument_value(call: ast.Call, name: str, position: int | None) -> ast.expr | None:
    """What a call gives for a parameter, by its name or by its place, which counts from 0 and may not be known."""
    named = keyword_value(call, name)
    if named is not None or position is None:
        return named
    return call.args[position] if len(call.args) > position else None
