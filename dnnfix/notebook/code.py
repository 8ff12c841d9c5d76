"""Code in pieces for an HTML page: each with its kind, for its colour, and whether it is what a finding points at."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from pygments.lexers.python import PythonLexer
from pygments.token import STANDARD_TYPES

from dnnfix.emit.text import FRAME, MAX_FRAME_LINES
from dnnfix.emit.view import View, printable
from dnnfix.records import Site
from dnnfix.records.record import record


@record
class Piece:
    """Characters of one colour; `kind` is the first letter of Pygments' short name (k: keyword, s: string, …)."""

    text: str
    kind: str
    marked: bool


@record
class Row:
    """A numbered line."""

    label: int
    pieces: tuple[Piece, ...]


def rows(site: Site, seen: View) -> Iterator[Row]:
    """The lines around a site within its cell."""
    cell = seen.locate(site.line)[0]
    last = min(site.end_line, site.line + MAX_FRAME_LINES - 1)
    numbers = [n for n in range(max(1, site.line - FRAME), last + 1) if seen.locate(n)[0] == cell]
    while numbers and numbers[0] < site.line and not seen.line(numbers[0]).strip():
        del numbers[0]
    for number in numbers:
        text = seen.line(number)
        start = site.column - 1 if number == site.line else len(text) - len(text.lstrip())
        end = site.end_column - 1 if number == site.end_line else len(text.rstrip())
        marked = range(start, max(end, start + 1)) if number >= site.line else range(0)
        yield Row(seen.locate(number)[1], tuple(_pieces(text, marked)))


def _pieces(text: str, marked: range) -> Iterator[Piece]:
    """A line in pieces, cut where the colour changes and where the mark begins and ends."""
    for at, token, value in PythonLexer(stripnl=False, ensurenl=False).get_tokens_unprocessed(text):
        kind = STANDARD_TYPES.get(token, "")[:1]
        cuts = sorted(
            {at, at + len(value), *(cut for cut in (marked.start, marked.stop) if at < cut < at + len(value))}
        )
        for start, end in pairwise(cuts):
            yield Piece(printable(text[start:end]), kind, start in marked)
