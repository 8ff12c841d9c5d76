"""A program as an emitter needs it: its lines, the cell of a line in a notebook, and values that are safe to print."""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from dnnfix.errors import InputError
from dnnfix.records import FileReport, Finding, Json, Site
from dnnfix.records.record import record

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@record
class View:
    """The analysed lines of one program. `locate` returns the cell of a line, if it has one, and its line in there; `number` the
    number of such a cell among all, from 1."""

    lines: tuple[str, ...] = ()
    locate: Callable[[int], tuple[str | None, int]] = lambda line: (None, line)
    number: Callable[[str], int] = lambda cell: 0

    def line(self, number: int) -> str:
        """A line by its number, counted from 1; empty where there is none."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""


def view(raw: bytes, path: str) -> View:
    """The view of a program; one without lines where the bytes cannot be analysed."""
    from dnnfix.source.program import Source

    try:
        source = Source.from_bytes(raw, path)
    except InputError:
        return View()
    lines = source.text.split("\n")
    refused = source.document.refused
    if refused is not None and 0 < refused.line <= len(lines):
        lines[refused.line - 1] = source.document.own_lines[refused.line - 1]
    return View(tuple(lines), source.locate, source.cell_number)


@record
class Place:
    """Where a finding is, as a reader finds it: the lines are those of the cell where there is one."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    cell: str | None
    cell_number: int = 0
    """The number of the cell among all, from 1, as readers count; 0 without one."""

    def __str__(self) -> str:
        cell = f":cell {self.cell_number}" if self.cell is not None else ""
        return f"{self.path}{cell}:{self.line}:{self.column}"


def place(file: FileReport, site: Site, seen: View) -> Place:
    """The place of a site of that file, or of a module that the program imports."""
    if site.path:
        path = posixpath.normpath(PurePosixPath(file.path).parent / site.path)
        return Place(path, site.line, site.column, site.end_line, site.end_column, None)
    cell, line = seen.locate(site.line)
    number = seen.number(cell) if cell is not None else 0
    return Place(file.path, line, site.column, line + site.end_line - site.line, site.end_column, cell, number)


def finding_id(file: FileReport, finding: Finding) -> str:
    """The finding's id within a report over several files."""
    return f"{file.path}::{finding.id}"


def member_id(file: FileReport, id: str) -> str:
    """The id of a patch or run within a report over several files."""
    return f"{file.path}::{id}"


def printable(text: str) -> str:
    """The string without terminal control and bidirectional characters: programs under repair are not trusted."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(path: str) -> str:
    """A path that is safe to print where a line is for one thing: file names may hold line ends and tabs."""
    return printable(re.sub("[\n\t]", "\N{REPLACEMENT CHARACTER}", path))


def columns(text: str) -> int:
    """The columns that a terminal shows a string in: two for a wide character, none for what joins the one before it."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # takes long to load

    return cell_len(text)


def plain(value: Json) -> Json:
    """A value that every JSON reader takes: records of the pipeline may hold NaN, infinities and lone surrogates."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8") if not value.isascii() else value
    if isinstance(value, Mapping):
        return {str(plain(str(key))): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value
