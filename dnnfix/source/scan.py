"""Finds the strings, comments and bracket depths of a text that need not parse."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_PART = re.compile(
    r"""(?P<comment>\#[^\n]*)
    |(?P<string>\"{3}(?:\\.|[^\\])*?(?:\"{3}|\Z)|'{3}(?:\\.|[^\\])*?(?:'{3}|\Z)
      |"(?:\\.|[^"\\\n])*(?:"|(?=\n)|\Z)|'(?:\\.|[^'\\\n])*(?:'|(?=\n)|\Z))
    |(?P<open>[(\[{])|(?P<close>[)\]}])""",
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True)
class Scan:
    """Where the strings and comments of a text are, and how deep in brackets each line begins."""

    strings: list[tuple[int, int]] = field(default_factory=list)
    """Ranges of string literals and of comments, in order."""
    comments: list[tuple[int, int]] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    """For each line, the number of open brackets at its start."""
    inside: set[int] = field(default_factory=set)
    """The lines (from 0) that begin inside a string literal."""
    unclosed: list[str] = field(default_factory=list)
    """The brackets that are still open at the end."""


def scan(text: str) -> Scan:
    """The strings, comments and bracket depths of `text`, for rewriting it line by line."""
    found = Scan(depths=[0])
    at = 0
    for part in _PART.finditer(text):
        start, end = part.span()
        _lines(found, text.count("\n", at, start))
        newlines = text.count("\n", start, end)
        if part["string"]:
            found.strings.append((start, end))
            line = len(found.depths)
            found.inside.update(range(line, line + newlines))
            _lines(found, newlines)
        elif part["comment"]:
            found.comments.append((start, end))
        elif part["open"]:
            found.unclosed.append(part["open"])
        elif found.unclosed:
            found.unclosed.pop()
        at = end
    _lines(found, text.count("\n", at))
    return found


def _lines(found: Scan, count: int) -> None:
    found.depths.extend([len(found.unclosed)] * count)


def indented(code: str, indent: str) -> str:
    """`code` with `indent` before each line, but for the first one, blank ones and those that begin inside a string."""
    if "\n" not in code:
        return code
    inside = scan(code).inside
    lines = code.split("\n")
    return "\n".join(
        line if not number or number in inside or not line.strip() else indent + line
        for number, line in enumerate(lines)
    )
