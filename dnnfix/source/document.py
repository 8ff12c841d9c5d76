"""A file with two texts, its own and the analysed one, and the translation of edits from the second to the first."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Protocol

from dnnfix.errors import EditError, InputError
from dnnfix.records.record import record
from dnnfix.source.decode import Decoded, decode, split_lines, usual_newline
from dnnfix.source.lines import Line
from dnnfix.source.parse import Unparsable, parse
from dnnfix.source.parsing import recover

END_OF_LINE = 2**31
"""The column after everything that the file has on a line."""


@record
class Change:
    """New text for a range of the analysed text.

    Lines count from 1, columns from 0 in characters. `whole_lines` tells that the range is made of whole lines, so that
    what the file has at their left goes with them. New lines get the prompt or indentation that the file has at the
    left of line `like`.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    new: str
    whole_lines: bool = False
    like: int = 0

    @property
    def start(self) -> tuple[int, int]:
        """Where the range begins."""
        return self.line, self.column

    @property
    def end(self) -> tuple[int, int]:
        """Where the range ends."""
        return self.end_line, self.end_column


@record
class Splice:
    """New text for the characters from `start` to `end` of a text."""

    start: int
    end: int
    new: str


class Container(Protocol):
    """What holds the program's text: a plain file, or the cells of a notebook."""

    def write(self, splices: Sequence[Splice]) -> bytes:
        """The file with the splices, which are in order and apart from each other, carried out."""

    def locate(self, line: int) -> tuple[str | None, int]:
        """The cell that a line of the text stands in, and the line's number there."""

    def number(self, cell: str) -> int:
        """The number of a cell among all, from 1."""


@dataclass(frozen=True)
class PlainFile:
    """A Python file: its text is the program's."""

    decoded: Decoded

    def write(self, splices: Sequence[Splice]) -> bytes:
        """The file with the splices carried out."""
        return self.decoded.encode(spliced(self.decoded.text, splices))

    def locate(self, line: int) -> tuple[str | None, int]:
        """No cell, and the line itself."""
        return None, line

    def number(self, cell: str) -> int:
        """There is no cell. Raises `LookupError`."""
        raise LookupError(cell)


@dataclass(frozen=True)
class Document:
    """One file: the lines of its own text with their endings, the analysed text with as many, and what differs."""

    path: str
    container: Container
    own_lines: Sequence[str]
    text: str
    parsed: ast.Module | None
    """The tree of the analysed text; `None` where that is known to parse and was not parsed yet."""
    endings: Sequence[str]
    encoding: str
    bom: bytes
    rewritten: Mapping[int, Line] = field(default_factory=dict)
    recoveries: tuple[str, ...] = ()
    refused: Unparsable | None = None
    """Why Python does not read the file; see `Recovered`."""

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree of the analysed text."""
        return parse(self.text) if self.parsed is None else self.parsed

    @property
    def newline(self) -> str:
        """The line ending that most lines have."""
        return usual_newline(list(self.endings))

    @property
    def is_as_given(self) -> bool:
        """Whether an interpreter reads the file itself as the analysed text."""
        plain = isinstance(self.container, PlainFile) and not self.container.decoded.notes
        return plain and not self.rewritten and not self.encoding.startswith(("utf-16", "utf-32"))

    @property
    def is_plain(self) -> bool:
        """Whether the text is that of one file, and of no notebook's cells."""
        return isinstance(self.container, PlainFile)

    def apply(self, changes: Iterable[Change]) -> bytes:
        """The file with changes of the analysed text, in order and apart from each other, carried out.

        Indentation that Python 3 does not compile is written as it was read, wherever anything is changed. Raises
        `EditError` where a change meets characters that the file does not have or cannot hold.
        """
        lines = self.own_lines
        starts, at = [], 0
        for line, ending in zip(lines, self.endings, strict=True):
            starts.append(at)
            at += len(line) + len(ending)
        starts.append(at)
        try:
            splices = [self._splice(change, lines, starts) for change in changes]
            return self.container.write(self._with_blanks(splices, starts) if splices else splices)
        except UnicodeEncodeError as error:
            missing = error.object[error.start]
            raise EditError(f"{self.path}: {self.encoding} has no {missing!r}, which the edit puts in.") from None

    def _with_blanks(self, splices: list[Splice], starts: Sequence[int]) -> list[Splice]:
        """These splices, and one for each line, of the file or of the same cells, whose tabs were read as blanks and that none of them writes anew."""
        blanks = []
        cell = {number: self.container.locate(number)[0] for number in self.rewritten}
        changed = (
            {self.container.locate(bisect_right(starts, splice.start))[0] for splice in splices} if cell else set()
        )
        for number, line in self.rewritten.items():
            if cell[number] not in changed:
                continue
            first = line.segments[0] if line.segments else None
            own = line.raw[: first.length] if first is not None and not first.origin else ""
            at = starts[number - 1]
            if first is None or "\t" not in own or first.text != own.expandtabs(8):
                continue
            if not any(splice.start <= at < splice.end for splice in splices):
                blanks.append(Splice(at, at + len(own), first.text))
        return sorted([*splices, *blanks], key=lambda splice: (splice.start, splice.end)) if blanks else splices

    def _splice(self, change: Change, lines: Sequence[str], starts: list[int]) -> Splice:
        if change.whole_lines:
            start, end = starts[change.line - 1], starts[change.end_line - 1]
            # Only the last line of a text has no line end that could be the end of the range.
            end += len(lines[change.end_line - 1]) if change.end_column else 0
        else:
            start = starts[change.line - 1] + self._column(change.line, change.column, lines, end=False)
            is_range = change.start != change.end
            end = starts[change.end_line - 1] + self._column(change.end_line, change.end_column, lines, end=is_range)
        new = change.new
        if "\n" in new:
            like = change.like or change.line
            left = self.rewritten[like].prefix if like in self.rewritten else ""
            parts = new.split("\n")
            head = left if change.whole_lines else ""
            ending = self.endings[like - 1] or self.newline
            tail = parts.pop()
            kept = [parts[0] and head + parts[0], *(part and left + part for part in parts[1:])]
            new = ending.join([*kept, tail if change.whole_lines or not tail else left + tail])
        return Splice(start, max(start, end), new)

    def _column(self, line: int, column: int, lines: Sequence[str], *, end: bool) -> int:
        rewritten = self.rewritten.get(line)
        if rewritten is None or column == END_OF_LINE:
            return min(column, len(lines[line - 1]))
        found = rewritten.to_raw(column, end=end)
        if found is None:
            raise EditError(
                f"{self.path}: line {line} had to be rewritten to be read, and the edit falls on that part."
            )
        return found


def spliced(text: str, splices: Sequence[Splice]) -> str:
    """`text` with the splices, which are in order and do not overlap, carried out."""
    parts, at = [], 0
    for splice in splices:
        parts += [text[at : splice.start], splice.new]
        at = splice.end
    return "".join([*parts, text[at:]])


def read_document(raw: bytes, path: str, python: str | None = None) -> Document:
    """The document in a file's bytes. Where its text is `python`, which is known to parse, it is parsed once its tree is asked for.

    Raises `InputError`, and nothing else, whatever the bytes.
    """
    if path.endswith(".ipynb"):
        from dnnfix.source.notebook import read_notebook

        return read_notebook(raw, path)
    decoded = decode(raw, path)
    lines, endings = split_lines(decoded.text)
    text = decoded.text if "\r" not in decoded.text else "\n".join(lines)
    file = partial(
        Document, path, PlainFile(decoded), lines, endings=endings, encoding=decoded.encoding, bom=decoded.bom
    )
    if text == python:
        return file(text, None, recoveries=decoded.notes)
    recovered = recover(text)
    if isinstance(recovered, Unparsable):
        raise InputError(f"{path}: not Python, {recovered}; mend this line or give only the code.")
    if recovered.rewritten and not recovered.tree.body:
        raise InputError(f"{path}: no line of it is Python; give a Python program or a notebook.")
    return file(
        recovered.text,
        recovered.tree,
        rewritten=recovered.rewritten,
        recoveries=(*decoded.notes, *recovered.notes),
        refused=recovered.refused,
    )
