"""Constant integer expressions."""

from __future__ import annotations

import ast

import pytest

from dnnfix.source.arithmetic import number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("16 * 5 * 5", 400),
        ("2**10 - 1", 1023),
        ("-3 // 2", -2),
        ("True", None),
        ("1.0", None),
        ("n", None),
        ("1 // 0", None),
        ("+".join(["1"] * 50), 50),
        ("+".join(["1"] * 900), None),
    ],
)
def test_number(text: str, value: int | None) -> None:
    assert number(ast.parse(text, mode="eval").body) == value
