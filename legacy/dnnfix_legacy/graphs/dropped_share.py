"""Converts `keep_prob`, the fraction that dropout keeps, into `rate`, the fraction that it drops."""

from __future__ import annotations

import ast

_DIGITS = 12
"""Decimal places of a share: `1 - 0.8` is not quite 0.2 in binary."""


def dropped_share(kept: ast.expr, text: str) -> str:
    """The code of the dropped fraction, where `text` is the code of the expression `kept`."""
    if isinstance(kept, ast.Constant) and isinstance(kept.value, (int, float)):
        return repr(round(1.0 - kept.value, _DIGITS))
    simple = isinstance(kept, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return f"1 - {text}" if simple else f"1 - ({text})"
