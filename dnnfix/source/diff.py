"""Writes unified diffs that `git apply` accepts: file names, context and missing final newlines as git writes them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import PurePath
from typing import TypeAlias

from dnnfix.source.program import Source

CONTEXT = 3
"""Unchanged lines around a change, as git has them."""

_Op: TypeAlias = "tuple[str, int, int, int, int]"
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def unified_diff(before: bytes, after: bytes, path: str) -> str:
    """The diff of the file at `path` (relative, `/` between folders) from `before` to `after`; "" if nothing changed.

    Line ends are those of the file, so a diff of a CRLF file has CRLF in its content lines. Bytes that are not UTF-8
    stand as lone surrogates: write the diff with `errors="surrogateescape"` to get the file's own bytes.
    """
    if before == after:
        return ""
    old, new = _lines(before), _lines(after)
    name = path.removeprefix("./").lstrip("/")
    # Without `--git`: of a patch that says so git takes names from the top of the repository, and passes over the others silently.
    parts = [f"diff {_quoted('a/' + name)} {_quoted('b/' + name)}\n"]
    # git marks the end of a name with a space in it by a tab.
    tab = "\t" if " " in name and _quoted(name) == name else ""
    parts.append(f"--- {_quoted('a/' + name)}{tab}\n+++ {_quoted('b/' + name)}{tab}\n")
    for group in _hunks(_operations(old, new)):
        parts.extend(_hunk(group, old, new))
    return "".join(parts)


def git_diff(before: bytes, after: bytes, path: str) -> str:
    """The diff in git's own form, as `git diff` prints it: the path is one from the top of the repository."""
    diff = unified_diff(before, after, path)
    return f"diff --git{diff.removeprefix('diff')}" if diff else ""


def program_diff(before: Source, after: Source) -> str:
    """The diff of a program and of the modules beside it, file after file as git writes them."""
    parts = [unified_diff(before.raw, after.raw, before.path)]
    for old, new in zip(before.beside, after.beside, strict=True):
        parts.append(unified_diff(old.raw, new.raw, module_path(before.path, old.path)))
    return "".join(parts)


def module_path(program: str, place: str) -> str:
    """The path of a module, given relative to the program's folder: `pkg/net.py` of `src/train.py` is
    `src/pkg/net.py`.
    """
    return posixpath.normpath((PurePath(program).parent / place).as_posix())


def _lines(content: bytes) -> list[str]:
    """The lines as git counts them (only a line feed ends one), with their ends."""
    text = content.decode("utf-8", "surrogateescape")
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _operations(old: list[str], new: list[str]) -> list[_Op]:
    """What turns `old` into `new`. Equal ends are set aside first: edits are small and files are large."""
    head, limit = 0, min(len(old), len(new))
    while head < limit and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < limit - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    old_end, new_end = len(old) - tail, len(new) - tail
    middle = SequenceMatcher(None, old[head:old_end], new[head:new_end], autojunk=False).get_opcodes()
    operations: list[_Op] = [("equal", 0, head, 0, head)] if head else []
    operations += [(tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in middle]
    return [*operations, ("equal", old_end, len(old), new_end, len(new))] if tail else operations


def _hunks(operations: list[_Op]) -> Iterator[list[_Op]]:
    """Groups of operations with `CONTEXT` unchanged lines around each."""
    group: list[_Op] = []
    for position, (tag, a, b, c, d) in enumerate(operations):
        if tag != "equal":
            group.append((tag, a, b, c, d))
            continue
        first, last = position == 0, position == len(operations) - 1
        if not first and (last or b - a > 2 * CONTEXT):
            yield [*group, (tag, a, min(b, a + CONTEXT), c, min(d, c + CONTEXT))]
            group = []
        if not last and (first or b - a > 2 * CONTEXT):
            group = [(tag, max(a, b - CONTEXT), b, max(c, d - CONTEXT), d)]
        elif not last:
            group.append((tag, a, b, c, d))
    if group:
        yield group


def _hunk(group: list[_Op], old: list[str], new: list[str]) -> Iterator[str]:
    yield f"@@ -{_range(group[0][1], group[-1][2])} +{_range(group[0][3], group[-1][4])} @@\n"
    for tag, a, b, c, d in group:
        if tag == "equal":
            yield from (_line(" ", line) for line in old[a:b])
        else:
            yield from (_line("-", line) for line in old[a:b])
            yield from (_line("+", line) for line in new[c:d])


def _range(start: int, end: int) -> str:
    """Lines from `start` to `end` (from 0, end excluded) as a hunk header has them."""
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _line(mark: str, line: str) -> str:
    return mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"


def _quoted(name: str) -> str:
    """A file name as git writes it: in quotes, with escapes, where it has characters that would end it."""
    if any(c in _ESCAPES or c < " " for c in name):
        return '"' + "".join(_ESCAPES.get(c) or (c if c >= " " else f"\\{ord(c):03o}") for c in name) + '"'
    return name
