"""Texts as an editor has them: lines as the protocol counts them, and columns in the units that were agreed on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lsprotocol.types import Position, Range
from pygls.workspace import PositionCodec, TextDocument

from dnnfix.records.record import record

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class Text(TextDocument):
    """A document whose lines are those of the protocol.

    pygls ends a line at form feeds and other separators as well, as no editor does, and would take changes for other lines.
    """

    @property
    def lines(self) -> Sequence[str]:
        """The lines with their ends."""
        return tuple(_LINES.findall(self.source))


@record
class Ruler:
    """Measures a text in the units of the client: where an offset lies, and which range a stretch of a line is."""

    lines: tuple[str, ...]
    codec: PositionCodec

    @classmethod
    def of(cls, text: str, codec: PositionCodec) -> Ruler:
        """That of a text."""
        return cls(tuple(_LINES.findall(text)), codec)

    def position(self, line: int, column: int) -> Position:
        """The position of a line and a column in characters, both from 0; what is beyond the text is its end."""
        if line >= len(self.lines):
            return self._end()
        text = self.lines[line].rstrip("\r\n")
        return Position(line, self.codec.client_num_units(text[:column]))

    def range(self, start: tuple[int, int], end: tuple[int, int]) -> Range:
        """The range between two places, each a line and a column."""
        return Range(self.position(*start), self.position(*end))

    def _end(self) -> Position:
        if not self.lines or self.lines[-1].endswith(("\r", "\n")):
            return Position(len(self.lines), 0)
        return Position(len(self.lines) - 1, self.codec.client_num_units(self.lines[-1]))


def overlap(one: Range, other: Range) -> bool:
    """Whether two ranges share a character, or one is a place in, or at an end of, the other."""
    return _place(one.start) <= _place(other.end) and _place(other.start) <= _place(one.end)


def _place(position: Position) -> tuple[int, int]:
    return position.line, position.character
