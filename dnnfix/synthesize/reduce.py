"""Reduces a combined patch to the hunks that it needs."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from dnnfix.errors import InputError
from dnnfix.source.program import Source

Needed = Callable[[Source], bool]


def reduce_patch(before: Source, after: Source, still_good: Needed) -> Source:
    """The patched program with every hunk taken back whose removal brings no symptom back.

    `still_good` runs a trial program; it is called once per hunk, last hunk first, so that a later hunk that leans on
    an earlier one goes first.
    """
    old = before.raw.splitlines(keepends=True)
    current = after
    index = 0
    while True:
        new = current.raw.splitlines(keepends=True)
        hunks = [op for op in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if op[0] != "equal"]
        if len(hunks) < 2 or index >= len(hunks):
            return current
        _, old_start, old_end, new_start, new_end = hunks[len(hunks) - 1 - index]
        try:
            trial = Source.from_bytes(b"".join([*new[:new_start], *old[old_start:old_end], *new[new_end:]]), after.path)
        except InputError:
            index += 1
            continue
        if still_good(trial):
            current = trial
        else:
            index += 1


def line_map(before: str, after: str) -> dict[int, int]:
    """For each line of `after`, counted from 1, the line of `before` that it stands for."""
    old, new = before.splitlines(), after.splitlines()
    mapped: dict[int, int] = {}
    for tag, old_start, old_end, new_start, new_end in difflib.SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        for offset in range(new_end - new_start):
            nearest = min(old_start + offset, max(old_start, old_end - 1)) if tag != "equal" else old_start + offset
            mapped[new_start + offset + 1] = min(nearest, max(0, len(old) - 1)) + 1
    return mapped
