"""Statements that put what belongs together, such as inputs and their labels, in one random order."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from dnnfix.source.program import Source


def order_name(source: Source) -> str:
    """A name for the order that the program does not use yet."""
    usual = ("order", "shuffled_order", "new_order")
    numbered = map("order_{}".format, itertools.count(2))
    return next(name for name in itertools.chain(usual, numbered) if name not in source.words)


def order_drawn(order: str, permutation: str, of: str) -> str:
    """The statement that draws an order of the array `of`; `permutation` is how the program spells numpy's function."""
    return f"{order} = {permutation}(len({of}))"


def put_in_order(order: str, parts: Mapping[str, str], into: str = "") -> str:
    """The statement that puts all parts in that order: names, each with what of it takes indices ("" or ".iloc").

    With `into="[:]"` the arrays themselves are changed, instead of what the names stand for.
    """
    names = ", ".join(f"{name}{into}" for name in parts)
    return f"{names} = " + ", ".join(f"{name}{rows}[{order}]" for name, rows in parts.items())
