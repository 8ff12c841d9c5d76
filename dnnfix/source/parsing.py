"""Parses a text, and makes it parse if it does not (`recovery`, which is loaded only then)."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from dnnfix.source.lines import Line
from dnnfix.source.parse import Unparsable, parse


@dataclass(frozen=True)
class Recovered:
    """A text that parses, its lines that differ from the original ones (by number from 1), and notes on the changes."""

    text: str
    tree: ast.Module
    rewritten: Mapping[int, Line]
    notes: tuple[str, ...]
    refused: Unparsable | None = None
    """Why Python does not read the text, where that is more than what pasting or another version of Python did to it."""


def recover(text: str) -> Recovered | Unparsable:
    """`text` in a form that parses, or why there is none."""
    try:
        return Recovered(text, parse(text), {}, ())
    except Unparsable as error:
        # Most files parse, and the means to mend the others take long to load.
        from dnnfix.source.recovery import Recovery

        return Recovery(text, error).run()
