"""The combined diff, file by file, of the patches that are applied together."""

from __future__ import annotations

from collections.abc import Sequence

from dnnfix.emit.hunks import apply, own_section, replacements, sections
from dnnfix.records import Patch
from dnnfix.source.diff import unified_diff


def combined(raw: bytes, path: str, patches: Sequence[Patch]) -> dict[str, str]:
    """The diffs for patches taken together, by the file that each is for: the program, and modules beside it.

    Raises `InputError` where two patches clash.
    """
    found = {name: section for patch in patches for name, section in sections(patch.diff).items()}
    own = own_section(path)
    if own in found and len(patches) > 1:
        found[own] = unified_diff(raw, taken(raw, path, patches), path)
    return found


def taken(raw: bytes, path: str, patches: Sequence[Patch]) -> bytes:
    """The file at a path with the patches applied. Raises `InputError` where they clash or were made for other bytes."""
    own = own_section(path)
    return apply(raw, [change for patch in patches for change in replacements(sections(patch.diff).get(own, ""))])
