"""Reads dnnfix's own unified diffs back as replaced lines, and applies them to a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dnnfix.errors import InputError
from dnnfix.records.record import record

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_FILE = re.compile(r"^(?=diff )", re.MULTILINE)
_NEW_NAME = re.compile(r"^\+\+\+ (.*)$", re.MULTILINE)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


@record
class Replacement:
    """Lines of the original, from number `first` on, and the lines to put there; both with their line ends."""

    first: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]

    @property
    def end(self) -> int:
        """The number of the line after the last one replaced; `first` itself for a pure insertion."""
        return self.first + len(self.old)

    def touches(self, other: Replacement) -> bool:
        """Whether two changes are of the same lines, or next to each other, where one can shift what the other was made for."""
        return self.first <= other.end and other.first <= self.end


def sections(diff: str) -> dict[str, str]:
    """The diff of each file in a diff of several, by the file's path as the diff has it."""
    found: dict[str, str] = {}
    for part in _FILE.split(diff):
        name = _NEW_NAME.search(part)
        if name is not None:
            found[_unquoted(name[1].rstrip("\t")).removeprefix("b/")] = part
    return found


def own_section(path: str) -> str:
    """What a diff calls the file at a path."""
    return path.removeprefix("./").lstrip("/")


def _unquoted(name: str) -> str:
    """A file name without the quotes and escapes that git gives it."""
    if not name.startswith('"'):
        return name
    return re.sub(
        r"\\([0-7]{3}|.)", lambda m: chr(int(m[1], 8)) if len(m[1]) == 3 else _ESCAPED.get(m[1], m[1]), name[1:-1]
    )


def replacements(diff: str) -> tuple[Replacement, ...]:
    """The changes of a unified diff of one file, in order, in line numbers of the original."""
    found: list[Replacement] = []
    old: list[bytes] = []
    new: list[bytes] = []
    line = 0
    for kind, content, start in _body(diff):
        if kind in "-+":
            (old if kind == "-" else new).append(content)
            continue
        if old or new:
            found.append(Replacement(line, tuple(old), tuple(new)))
            line += len(old)
            old, new = [], []
        line = start if kind == "@" else line + 1
    if old or new:
        found.append(Replacement(line, tuple(old), tuple(new)))
    return tuple(found)


def _body(diff: str) -> Iterator[tuple[str, bytes, int]]:
    """Each line of the hunks as (kind, content with line end, 0), each header as (`@`, b"", first line)."""
    lines = diff.encode("utf-8", "surrogateescape").split(b"\n")
    inside = False
    for number, raw in enumerate(lines):
        text = raw.decode("utf-8", "surrogateescape")
        header = _HUNK.match(text)
        if header is not None:
            start, count = int(header[1]), int(header[2] or 1)
            inside = True
            yield "@", b"", start if count else start + 1
        elif inside and text[:1] in (" ", "-", "+"):
            following = lines[number + 1 : number + 2]
            bare = bool(following) and following[0].startswith(b"\\")
            yield text[0], raw[1:] + (b"" if bare else b"\n"), 0


def backwards(changes: Iterable[Replacement]) -> Iterator[Replacement]:
    """The changes that undo those changes, in line numbers of the changed program."""
    shift = 0
    for change in sorted(changes, key=lambda change: change.first):
        yield Replacement(change.first + shift, change.new, change.old)
        shift += len(change.new) - len(change.old)


def apply(raw: bytes, changes: Iterable[Replacement]) -> bytes:
    """The bytes with changes made to them, all in line numbers of the original.

    Raises:
        InputError: the bytes are not those that the changes were made for, or two changes touch the same line.
    """
    lines = raw.split(b"\n")
    ended = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    made: list[bytes] = []
    at = 1
    for change in sorted(changes, key=lambda change: (change.first, change.end)):
        if change.first < at:
            raise InputError("two patches touch the same lines. Apply them one after the other.")
        if tuple(ended[change.first - 1 : change.end - 1]) != change.old:
            raise InputError(f"line {change.first} is not what the patch was made for. Run dnnfix again.")
        made.extend(ended[at - 1 : change.first - 1])
        made.extend(change.new)
        at = change.end
    made.extend(ended[at - 1 :])
    return b"".join(made)
