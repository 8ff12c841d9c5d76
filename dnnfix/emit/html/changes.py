"""A unified diff as rows of a table: what is shown is unified, and the page lays it side by side where that is asked for."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from dnnfix.emit.html.code import Piece, coloured, marked
from dnnfix.emit.hunks import sections
from dnnfix.records.record import record

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")

_WORD = re.compile(r"\w+|\s+|[^\w\s]")

ALIKE = 0.4
"""How like an old and a new line have to be for what differs in them to be marked."""


@record
class Row:
    """A line of a diff: `kind` is `same`, `old`, `new` or `gap` (lines that are left out)."""

    kind: str
    before: int | None = None
    after: int | None = None
    pieces: tuple[Piece, ...] = ()


@record
class FileChange:
    """The change of one file."""

    path: str
    rows: tuple[Row, ...]
    added: int
    removed: int


def changes(diff: str) -> tuple[FileChange, ...]:
    """The files of a diff as `dnnfix.source.diff` writes it, with their rows."""
    return tuple(_change(path, section) for path, section in (sections(diff) or {"": diff}).items())


def encoded(diff: str) -> str:
    """The bytes of a diff in Base64, so that a page hands on each of them, whatever their encoding."""
    return base64.b64encode(diff.encode("utf-8", "surrogateescape")).decode("ascii")


def _change(path: str, section: str) -> FileChange:
    rows = tuple(_rows(section))
    return FileChange(path, rows, sum(row.kind == "new" for row in rows), sum(row.kind == "old" for row in rows))


def _rows(section: str) -> Iterator[Row]:
    before = after = 0
    inside = False
    hunk: list[Row] = []
    texts: list[str] = []

    def done() -> Iterator[Row]:
        yield from _coloured(hunk, texts)
        hunk.clear()
        texts.clear()

    for line in section.split("\n"):
        header = _HUNK.match(line)
        if header is not None:
            yield from done()
            if inside:
                yield Row("gap")
            before, after, inside = int(header[1]), int(header[2]), True
            continue
        sign, text = line[:1], line[1:].rstrip("\r")
        if not inside or sign not in {" ", "+", "-"}:
            continue
        old, new = sign != "+", sign != "-"
        kind = {"+": "new", "-": "old"}.get(sign, "same")
        hunk.append(Row(kind, before if old else None, after if new else None))
        texts.append(text)
        before, after = before + old, after + new
    yield from done()


def _coloured(rows: Sequence[Row], texts: Sequence[str]) -> Iterator[Row]:
    """The rows of a hunk with their texts: each side is read as one text, and what differs in a changed line is marked."""
    sides = {}
    for own, other in (("old", "new"), ("new", "old")):
        numbers = [number for number, row in enumerate(rows) if row.kind != other]
        sides[own] = dict(zip(numbers, coloured("\n".join(texts[number] for number in numbers)), strict=False))
    spans = _differences(rows, texts)
    for number, row in enumerate(rows):
        pieces = sides["old" if row.kind == "old" else "new"].get(number, (Piece(texts[number]),))
        yield replace(row, pieces=tuple(marked(pieces, spans.get(number, ()))))


def _differences(rows: Sequence[Row], texts: Sequence[str]) -> dict[int, list[tuple[int, int]]]:
    """The stretches of changed lines that differ from the line in whose place they are."""
    found: dict[int, list[tuple[int, int]]] = {}
    start = 0
    while start < len(rows):
        olds = _run(rows, start, "old")
        news = _run(rows, start + len(olds), "new")
        for old, new in zip(olds, news, strict=False):
            before, after = _WORD.findall(texts[old]), _WORD.findall(texts[new])
            matcher = SequenceMatcher(None, before, after, autojunk=False)
            if matcher.ratio() >= ALIKE:
                parts = [op for op in matcher.get_opcodes() if op[0] != "equal"]
                found[old] = [_span(before, op[1], op[2]) for op in parts if op[2] > op[1]]
                found[new] = [_span(after, op[3], op[4]) for op in parts if op[4] > op[3]]
        start += len(olds) + len(news) or 1
    return found


def _span(words: Sequence[str], first: int, end: int) -> tuple[int, int]:
    """Where some words of a line stand in it."""
    start = sum(map(len, words[:first]))
    return start, start + sum(map(len, words[first:end]))


def _run(rows: Sequence[Row], start: int, kind: str) -> list[int]:
    end = start
    while end < len(rows) and rows[end].kind == kind:
        end += 1
    return list(range(start, end))
