"""Writes the trace: one JSON object per line to a file descriptor of its own, apart from the program's output."""

from __future__ import annotations

import json
import os
from typing import Any, List, Optional, Tuple

LONGEST_TEXT = 4000
"""Characters kept of any one message; longer ones are cut in the middle."""

_descriptor: Optional[int] = None
_owner = 0
_scrubbed: List[Tuple[bytes, bytes]] = []


def attach(descriptor: int, folder: str = "", top: str = "") -> None:
    """Write to `descriptor` from now on, in this process only.

    `folder` is that of the program, in scratch: places in it, and in the folders above it below `top`, are written as seen
    from it, so that traces of equal runs are equal. A process that the program forks (a worker of a data loader) inherits
    the descriptor but never writes to it.
    """
    global _descriptor, _owner, _scrubbed
    _descriptor = descriptor
    _owner = os.getpid()
    _scrubbed = [_as_seen(folder, "")] if folder else []
    while top and os.path.dirname(folder).startswith(top + os.sep):
        folder = os.path.dirname(folder)
        _scrubbed.append(_as_seen(folder, "../" * len(_scrubbed)))


def _as_seen(folder: str, instead: str) -> Tuple[bytes, bytes]:
    """How the beginning of a place in a folder is written in a line, and what is written instead."""
    return (json.dumps(folder)[1:-1] + "/").encode("ascii"), instead.encode("ascii")


def emit(event: str, **fields: Any) -> None:
    """Write one event. Values that JSON cannot hold become their short `repr`; a closed pipe is not an error."""
    if _descriptor is None or os.getpid() != _owner:
        return
    fields["event"] = event
    try:
        line = json.dumps(fields, default=_plain).encode("ascii")
    except (TypeError, ValueError, RecursionError):
        line = json.dumps({"event": "note", "text": "an event of kind %s could not be written" % event}).encode("ascii")
    for place, seen in _scrubbed:
        line = line.replace(place, seen)
    _write(line + b"\n")


def shorten(text: str, limit: int = LONGEST_TEXT) -> str:
    """The text itself, or its beginning and end where it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    return "%s … %s" % (text[: limit * 2 // 3], text[-limit // 3 :])


def _write(data: bytes) -> None:
    while data and _descriptor is not None:
        try:
            data = data[os.write(_descriptor, data) :]
        except InterruptedError:
            continue
        except OSError:
            return


def _plain(value: Any) -> Any:
    """What stands for a value that JSON does not know: numpy and framework scalars as numbers, the rest as text."""
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "shape", None) in ((), None):
        try:
            plain = item()
        except Exception:
            plain = None
        if isinstance(plain, (bool, int, float, str)):
            return plain
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    try:
        return {"repr": shorten(repr(value), 200)}
    except Exception:
        return {"repr": "<%s>" % type(value).__name__}
