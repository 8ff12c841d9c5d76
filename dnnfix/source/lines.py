"""Lines that are analysed in another form than they have in the file, and the way back from one to the other.

To make a snippet parse, lines lose prompts or indentation and get small rewrites. Each such line remembers which of its
characters come from where in the file, so that an edit of the analysed text can be made in the file's own text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Segment(NamedTuple):
    """Characters of an analysed line; `origin` is their column (from 0) in the file's line, -1 for made-up ones."""

    text: str
    origin: int


@dataclass(frozen=True, slots=True)
class Line:
    """One line: as it stands in the file (`raw`) and as it is analysed (`text`)."""

    raw: str
    segments: tuple[Segment, ...]

    @classmethod
    def of(cls, raw: str) -> Line:
        """A line that is analysed as it stands."""
        return cls(raw, (Segment(raw, 0),) if raw else ())

    @property
    def text(self) -> str:
        """The line as it is analysed."""
        return "".join(segment.text for segment in self.segments)

    @property
    def prefix(self) -> str:
        """What the file has at the left of the analysed text: a prompt, or indentation that was taken away."""
        if not self.segments or self.segments[0].origin < 0:
            return ""
        return self.raw[: self.segments[0].origin]

    def replaced(self, start: int, end: int, new: str) -> Line:
        """The line with the analysed characters from `start` to `end` (columns from 0) exchanged for `new`."""
        before, after, at = [], [], 0
        for segment in self.segments:
            length = len(segment.text)
            if at < start:
                before.append(Segment(segment.text[: start - at], segment.origin))
            if at + length > end:
                cut = max(end - at, 0)
                after.append(Segment(segment.text[cut:], segment.origin + cut if segment.origin >= 0 else -1))
            at += length
        made = [Segment(new, -1)] if new else []
        return Line(self.raw, tuple(segment for segment in (*before, *made, *after) if segment.text))

    def blanked(self, stand_in: str = "") -> Line:
        """The line analysed as `stand_in` alone."""
        return Line(self.raw, (Segment(stand_in, -1),) if stand_in else ())

    def to_raw(self, column: int, *, end: bool) -> int | None:
        """The column in the file of an analysed column (both from 0); `None` where made-up characters meet it.

        `end` tells that the column ends a range, so that it belongs to the character before it.
        """
        if not self.segments:
            return len(self.raw) if not self.raw.strip() else None
        at = 0
        found: int | None = None
        for segment in self.segments:
            length = len(segment.text)
            if segment.origin >= 0 and at <= column <= at + length:
                found = segment.origin + column - at
                if (at < column) if end else (column < at + length):
                    return found
            at += length
        return found
