"""A text that is being made to parse: lines are rewritten one by one, and keep their numbers and originals."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import TypeAlias

from dnnfix.source.lines import Line
from dnnfix.source.scan import Scan, scan
from dnnfix.source.tree import line_starts

_INDENT = re.compile(r"[ \t\f]*")


class Draft:
    """The lines of a text, their rewritten forms, and notes on the rewriting. Lines count from 0 here."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = list(lines)
        self.rewritten: dict[int, Line] = {}
        self.notes: list[str] = []
        self.blanked: set[int] = set()
        """Lines left out because they are not code, whatever else they are."""
        self._originals = tuple(self.lines)

    @property
    def text(self) -> str:
        """The text as it is now."""
        return "\n".join(self.lines)

    def copy(self) -> Draft:
        """A draft that can be changed without this one."""
        other = Draft(())
        other.lines = list(self.lines)
        other.rewritten = dict(self.rewritten)
        other.notes = list(self.notes)
        other.blanked = set(self.blanked)
        other._originals = self._originals
        return other

    def scan(self) -> Scan:
        """Strings, comments and brackets of the text as it is now."""
        return scan(self.text)

    def replace(self, number: int, start: int, end: int, new: str) -> None:
        """Exchange the characters of a line from `start` to `end` for `new`."""
        self._set(number, self._line(number).replaced(start, end, new))

    def blank(self, number: int, stand_in: str = "") -> None:
        """Leave a line out."""
        self._set(number, self._line(number).blanked(stand_in))

    def leave_out(self, number: int) -> None:
        """Leave out a line that is not code."""
        if self.lines[number].strip():
            self.blanked.add(number)
        self.blank(number)

    def shift(self, number: int, indent: str) -> None:
        """Change a line's indentation."""
        old = indent_of(self.lines[number])
        if old.startswith(indent):
            self.replace(number, 0, len(old) - len(indent), "")
        else:
            self.replace(number, 0, len(old), indent)

    def replace_all(self, pattern: re.Pattern[str], new: Callable[[re.Match[str]], Replacements]) -> bool:
        """Apply the replacements that `new` returns for each match outside strings and comments; returns whether
        there were any.
        """
        text, found = self.text, self.scan()
        covered = sorted(found.strings + found.comments)
        starts = line_starts(self.lines)
        places: list[tuple[int, int, str]] = []
        part = 0
        for match in pattern.finditer(text):
            while part < len(covered) and covered[part][1] <= match.start():
                part += 1
            if part < len(covered) and covered[part][0] <= match.start():
                continue
            places += new(match)
        for start, end, replacement in sorted(places, reverse=True):
            number = bisect_right(starts, start) - 1
            if end <= starts[number] + len(self.lines[number]):
                self.replace(number, start - starts[number], end - starts[number], replacement)
        return bool(places)

    def _line(self, number: int) -> Line:
        return self.rewritten.get(number) or Line.of(self._originals[number])

    def _set(self, number: int, line: Line) -> None:
        self.rewritten[number] = line
        self.lines[number] = line.text


Replacements: TypeAlias = "list[tuple[int, int, str]]"
"""Ranges of a text by offset, with what to put there."""


def indent_of(line: str) -> str:
    """The whitespace at the left of a line."""
    found = _INDENT.match(line)
    return found.group() if found else ""


def is_code(line: str) -> bool:
    """Whether a line has more than whitespace and a comment."""
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("#")


def ranges(numbers: Iterable[int]) -> str:
    """Line numbers (from 0) as people write them, from 1: `3, 7-9`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a + 1) if a == b else f"{a + 1}-{b + 1}" for a, b in runs)
