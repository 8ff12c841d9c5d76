"""Making text that is not quite Python parse, with every line kept in its place."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from dnnfix.source.lines import Line
from dnnfix.source.parse import Unparsable, parse


@dataclass(frozen=True)
class Recovered:
    """A text that parses, the lines in it that differ from the given ones (by number from 1), and what was done."""

    text: str
    tree: ast.Module
    rewritten: Mapping[int, Line]
    notes: tuple[str, ...]


def recover(text: str) -> Recovered | Unparsable:
    """`text` made to parse, or why it cannot be."""
    try:
        return Recovered(text, parse(text), {}, ())
    except Unparsable as error:
        return error
