"""Finds the argument of a call by the parameter's name or position, as an expression."""

from __future__ import annotations

import ast


def keyword_value(call: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword argument, or `None`."""
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def argument_value(call: ast.Call, name: str, position: int | None) -> ast.expr | None:
    """The argument for a parameter, by its name or by its position, which counts from 0 and may be unknown; or
    `None`.
    """
    named = keyword_value(call, name)
    if named is not None or position is None:
        return named
    return call.args[position] if len(call.args) > position else None
