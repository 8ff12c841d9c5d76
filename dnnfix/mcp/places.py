"""Where a call may look: inside of the folders that the client works in, and nowhere that a link leads to from there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dnnfix.errors import InputError

SHOWN = 200
"""Characters of a path that a message repeats."""


def placed(path: str, folders: Sequence[Path]) -> tuple[Path, str]:
    """The folder that a path lies in, and the path from there, both without links. A path that is not absolute starts from the first folder that has it.

    Raises:
        InputError: the path leads out of the folders, or nothing is there.
    """
    named = path if len(path) <= SHOWN else f"{path[:SHOWN]}..."
    try:
        is_path = bool(path.strip()) and b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        is_path = False
    if not is_path:
        raise InputError(f"{named!a}: is no path. Name a file or folder in {_listed(folders)}.")
    real = [Path(os.path.realpath(folder)) for folder in folders]
    inside = [found for start in real if (found := _inside(Path(os.path.realpath(start / path)), real)) is not None]
    if not inside:
        led = any(_inside(Path(os.path.normpath(start / path)), real) is not None for start in real)
        how = "a link leads out of" if led else "is outside of"
        raise InputError(f"{named}: {how} {_listed(real)}, where this client works. Name a file or folder in there.")
    for folder, below in inside:
        if os.path.exists(folder / below):
            return folder, below
    raise InputError(f"{named}: no such file or folder in {_listed(real)}. Check the path.")


def admits(file: Path, folders: Sequence[Path]) -> bool:
    """Whether a file lies in one of the folders once links are followed."""
    return any(file.resolve().is_relative_to(os.path.realpath(folder)) for folder in folders)


def _inside(target: Path, folders: Sequence[Path]) -> tuple[Path, str] | None:
    """The innermost of the folders that a place is in, and the way from there."""
    around = [folder for folder in folders if target.is_relative_to(folder)]
    if not around:
        return None
    folder = max(around, key=lambda one: len(one.parts))
    return folder, os.path.relpath(target, folder)


def _listed(folders: Sequence[Path]) -> str:
    return ", ".join(map(str, folders))
