"""Code that draws one random permutation, by which several arrays (inputs and labels) are then shuffled alike."""

from __future__ import annotations

import itertools

from dnnfix.source.program import Source


def order_name(source: Source) -> str:
    """A name for the order that the program does not use yet."""
    usual = ("order", "shuffled_order", "new_order")
    numbered = map("order_{}".format, itertools.count(2))
    return next(name for name in itertools.chain(usual, numbered) if name not in source.words)


def order_drawn(order: str, permutation: str, of: str) -> str:
    """The statement that draws an order of the array `of`; `permutation` is how the program spells numpy's function."""
    return f"{order} = {permutation}(len({of}))"
