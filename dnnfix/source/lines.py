"""A line of source in two forms, as it is in the file and as it is analysed, with the mapping of columns between them.

To make a snippet parse, lines lose prompts or indentation and get small rewrites. Each such line remembers which of its
characters stand for which in the file, so that an edit of the analysed text can be made in the file's own text.
"""

from __future__ import annotations

from typing import NamedTuple

from dnnfix.records.record import record


class Segment(NamedTuple):
    """Characters of an analysed line and their origin: `length` characters of the file's line from `origin`.

    Where `copied` is false the characters are made up.
    """

    text: str
    origin: int
    length: int
    copied: bool = True


@record
class Line:
    """One line: as it stands in the file (`raw`) and as it is analysed (`text`)."""

    raw: str
    segments: tuple[Segment, ...]

    @classmethod
    def of(cls, raw: str) -> Line:
        """A line that is analysed as it stands."""
        return cls(raw, (Segment(raw, 0, len(raw)),) if raw else ())

    @property
    def text(self) -> str:
        """The line as it is analysed."""
        return "".join(segment.text for segment in self.segments)

    @property
    def prefix(self) -> str:
        """What the file has at the left of the analysed text: a prompt, or indentation that was taken away."""
        return self.raw[: self.segments[0].origin] if self.segments else ""

    def replaced(self, start: int, end: int, new: str) -> Line:
        """The line with the analysed characters from `start` to `end` (columns from 0) exchanged for `new`."""
        before: list[Segment] = []
        after: list[Segment] = []
        at = 0
        for segment in self.segments:
            stop = at + len(segment.text)
            if at < start:
                before.append(_part(segment, 0, min(start, stop) - at))
            if stop > end:
                after.append(_part(segment, max(end - at, 0), len(segment.text)))
            at = stop
        origin = before[-1].origin + before[-1].length if before else 0
        if start == end and not before:
            origin = after[0].origin if after else 0
        stop_raw = after[0].origin if after else len(self.raw)
        if not before and end and after:
            # What is taken from the left end of a line is out of the way of later edits, like a prompt.
            origin = stop_raw if not new else self.segments[0].origin
        made = [Segment(new, origin, max(stop_raw - origin, 0), copied=False)] if new else []
        return Line(self.raw, (*before, *made, *after))

    def blanked(self, stand_in: str = "") -> Line:
        """The line analysed as `stand_in` alone."""
        return Line(self.raw, (Segment(stand_in, 0, len(self.raw), copied=False),) if stand_in else ())

    def to_raw(self, column: int, *, end: bool) -> int | None:
        """The column in the file of an analysed column (both from 0); `None` within made-up characters.

        `end` tells that the column ends a range, so that it belongs to the character before it.
        """
        left: int | None = None
        right: int | None = None
        at = 0
        for segment in self.segments:
            stop = at + len(segment.text)
            if at < column < stop:
                return segment.origin + column - at if segment.copied else None
            if stop == column:
                left = segment.origin + segment.length
            if at == column:
                right = segment.origin
            at = stop
        if not self.segments and not self.raw.strip():
            return min(column, len(self.raw))
        first, second = (left, right) if end else (right, left)
        return first if first is not None else second


def _part(segment: Segment, start: int, end: int) -> Segment:
    """The characters of a segment from `start` to `end`."""
    if start == 0 and end == len(segment.text):
        return segment
    if segment.copied:
        return Segment(segment.text[start:end], segment.origin + start, end - start)
    return Segment(segment.text[start:end], segment.origin, segment.length, copied=False)
