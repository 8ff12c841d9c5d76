"""Programs and places for the tests of `dnnfix.source`."""

from __future__ import annotations

from dnnfix.records import Edit, Site
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source


def read(text: str | bytes, path: str = "program.py") -> Source:
    """The program in a text."""
    return Source.from_bytes(text.encode() if isinstance(text, str) else text, path)


def place(source: Source, text: str, number: int = 0) -> Site:
    """Where `text` stands in the program, the first time or a later one (`number` from 0)."""
    at = -1
    for _ in range(number + 1):
        at = source.text.index(text, at + 1)
    before = source.text[:at]
    line, column = before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1
    end = source.text[: at + len(text)]
    return Site(line, column, end.count("\n") + 1, len(end) - (end.rfind("\n") + 1) + 1)


def edited(text: str | bytes, *edits: Edit, path: str = "program.py") -> str:
    """The text after edits."""
    return apply_edits(read(text, path), edits).decode()


def first_call(text: str | bytes) -> Site:
    """The site of the first call of a program."""
    source = read(text)
    return source.site(source.all_calls[0])
