"""Remembers which files the program opened for writing, which an `OSError` does not say."""

from __future__ import annotations

import os
import sys
from typing import Any, Set, Tuple

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod")

_last = ""
_series: Set[Tuple[str, str]] = set()
"""The folders in which files were written, with the endings of these."""


def watch() -> None:
    """Begin to watch; this cannot be undone in a process."""
    sys.addaudithook(_note)


def for_writing(name: str) -> bool:
    """Whether the last file or folder that was to be changed has that name."""
    return bool(name) and name == _last


def is_of_a_series(name: str) -> bool:
    """Whether the program wrote files with the same suffix into the same folder."""
    return _place(name) in _series


def _place(name: str) -> Tuple[str, str]:
    return os.path.dirname(os.path.abspath(name)), os.path.splitext(name)[1]


def _note(event: str, arguments: Tuple[Any, ...]) -> None:
    global _last
    if event == "open":
        path, _mode, flags = arguments
        if isinstance(flags, int) and flags & _WRITES and isinstance(path, (str, bytes)):
            _last = os.fsdecode(path)
            _series.add(_place(_last))
    elif event in _CHANGES and isinstance(arguments[0], (str, bytes)):
        _last = os.fsdecode(arguments[0])
