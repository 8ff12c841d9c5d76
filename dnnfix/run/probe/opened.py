"""Remembers what the program last tried to write to: an error says which file, but not what was wanted of it."""

from __future__ import annotations

import os
import sys
from typing import Any, Tuple

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod")

_last = ""


def watch() -> None:
    """Begin to watch; this cannot be undone in a process."""
    sys.addaudithook(_note)


def for_writing(name: str) -> bool:
    """Whether the last file or folder that was to be changed has that name."""
    return bool(name) and name == _last


def _note(event: str, arguments: Tuple[Any, ...]) -> None:
    global _last
    if event == "open":
        path, _mode, flags = arguments
        if isinstance(flags, int) and flags & _WRITES and isinstance(path, (str, bytes)):
            _last = os.fsdecode(path)
    elif event in _CHANGES and isinstance(arguments[0], (str, bytes)):
        _last = os.fsdecode(arguments[0])
