"""Source text as a page shows it: coloured tokens, and marks over stretches of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise

from dnnfix.emit.view import View
from dnnfix.records import Site
from dnnfix.records.record import record

AROUND = 3
"""Lines shown above and below a site."""

LONGEST = 14
"""Lines of a long site that are shown."""

TAB = 4

KINDS = {"Keyword": "k", "Comment": "c", "String": "s", "Number": "n", "Name.Function": "f", "Name.Class": "f"}
"""Classes of the style sheet by kinds of Pygments; other tokens have the colour of text."""


@record
class Piece:
    """A stretch of a line: its text, the class of its colour, and whether it is marked."""

    text: str
    kind: str = ""
    marked: bool = False


@record
class Line:
    """A numbered line; `hit` says whether a site is on it."""

    number: int
    pieces: tuple[Piece, ...]
    hit: bool = False


@record
class Frame:
    """The lines around a site, and how many of its own are left out."""

    lines: tuple[Line, ...]
    more: int = 0


def coloured(text: str) -> list[tuple[Piece, ...]]:
    """The lines of a Python text in coloured pieces; one list entry for each line as `text.split("\\n")` has them."""
    from pygments.lexers.python import PythonLexer

    lines: list[list[Piece]] = [[]]
    for token, value in PythonLexer(stripnl=False, ensurenl=False).get_tokens(text.replace("\r", " ")):
        name = str(token).removeprefix("Token.").removeprefix("Literal.")
        kind = next((short for known, short in KINDS.items() if name.startswith(known)), "")
        first, *rest = value.split("\n")
        if first:
            lines[-1].append(Piece(first, kind))
        lines.extend([Piece(part, kind)] if part else [] for part in rest)
    return [tuple(line) for line in lines]


def frame(site: Site, seen: View, lines: Sequence[tuple[Piece, ...]]) -> Frame:
    """The lines around a site, those of its own cell, with the site marked. `lines` are those of the view, coloured."""
    last = min(site.end_line, site.line + LONGEST - 1)
    cell = seen.locate(site.line)[0]
    shown = []
    for number in range(max(1, site.line - AROUND), min(last + AROUND, len(seen.lines)) + 1):
        own, label = seen.locate(number)
        if own != cell:
            continue
        text, pieces = seen.line(number), lines[number - 1] if number <= len(lines) else ()
        hit = site.line <= number <= last
        if hit:
            start = site.column - 1 if number == site.line else len(text) - len(text.lstrip())
            end = site.end_column - 1 if number == site.end_line else len(text.rstrip())
            pieces = tuple(marked(pieces, [(start, max(end, start + 1))]))
        shown.append(Line(label, _widened(pieces), hit))
    while shown and not shown[-1].hit and not any(piece.text.strip() for piece in shown[-1].pieces):
        shown.pop()
    while shown and not shown[0].hit and not any(piece.text.strip() for piece in shown[0].pieces):
        shown.pop(0)
    return Frame(tuple(shown), site.end_line - last)


def marked(pieces: Iterable[Piece], spans: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    """The pieces cut at the ends of the spans (in characters from 0), those inside of one marked; equal neighbours are one."""
    for (kind, inside), run in groupby(_cut(pieces, spans), lambda piece: (piece.kind, piece.marked)):
        yield Piece("".join(piece.text for piece in run), kind, inside)


def _cut(pieces: Iterable[Piece], spans: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    at = 0
    for piece in pieces:
        ends = sorted(
            {0, len(piece.text), *(cut - at for span in spans for cut in span if 0 < cut - at < len(piece.text))}
        )
        for start, end in pairwise(ends):
            inside = any(first <= at + start and at + end <= last for first, last in spans)
            yield Piece(piece.text[start:end], piece.kind, piece.marked or inside)
        at += len(piece.text)


def _widened(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Tabs as blanks: a browser's tab stops are those of the table cell, not of the line."""
    return tuple(Piece(piece.text.replace("\t", " " * TAB), piece.kind, piece.marked) for piece in pieces)
