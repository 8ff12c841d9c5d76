"""Maps the lines of an edited program to those of the original."""

from __future__ import annotations

import difflib


def line_map(before: str, after: str) -> dict[int, int]:
    """For each line of `after`, counted from 1, the corresponding line of `before`."""
    old, new = before.splitlines(), after.splitlines()
    mapped: dict[int, int] = {}
    for tag, old_start, old_end, new_start, new_end in difflib.SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        for offset in range(new_end - new_start):
            nearest = min(old_start + offset, max(old_start, old_end - 1)) if tag != "equal" else old_start + offset
            mapped[new_start + offset + 1] = min(nearest, max(0, len(old) - 1)) + 1
    return mapped
