"""The numbers of instances per library and fix pattern, and those of a stratified sample of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TypeAlias

from dnnfix.bench.instances import Instance, Library
from dnnfix.records import FixPattern

Cell: TypeAlias = tuple[Library, FixPattern]


def cells(instances: Iterable[Instance]) -> Counter[Cell]:
    """How many instances there are of each library and fix pattern."""
    return Counter((instance.library, instance.fix_pattern) for instance in instances)


def stratified(whole: Mapping[Cell, int], wanted: int) -> dict[Cell, int]:
    """How many of each cell a sample of `wanted` has in the proportions of the whole, each at least one.

    Every cell gets one; the rest goes by the highest quotients of Webster's method (`count / (2 given + 1)`), which is
    the apportionment whose shares are rounded most evenly. Raises `ValueError` where there are more cells than places.
    """
    given = {cell: 1 for cell, count in whole.items() if count}
    if not len(given) <= wanted <= sum(whole.values()):
        raise ValueError(f"{len(given)} to {sum(whole.values())} can be chosen. Received: {wanted}")
    while sum(given.values()) < wanted:
        open_cells = [cell for cell in given if given[cell] < whole[cell]]
        best = max(open_cells, key=lambda cell: (Fraction(whole[cell], 2 * given[cell] + 1), cell))
        given[best] += 1
    return given
