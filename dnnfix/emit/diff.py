"""One git-applicable diff of everything that would be taken, file by file."""

from __future__ import annotations

from collections.abc import Sequence

from dnnfix.emit.hunks import apply, replacements
from dnnfix.records import Patch
from dnnfix.source.diff import unified_diff


def combined(raw: bytes, path: str, patches: Sequence[Patch]) -> str:
    """The diff of a file for patches taken together, empty for none. Raises `InputError` where two of them clash."""
    if len(patches) <= 1:
        return "".join(patch.diff for patch in patches)
    return unified_diff(raw, taken(raw, patches), path)


def taken(raw: bytes, patches: Sequence[Patch]) -> bytes:
    """The file with the patches applied. Raises `InputError` where they clash or were made for other bytes."""
    return apply(raw, [change for patch in patches for change in replacements(patch.diff)])
