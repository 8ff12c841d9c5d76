"""Keeps the last frame of each function of the program that returned: at a crash they show where values came from.

A traceback has only the frames that the exception passed through. A data set's `__getitem__`, a generator or a
constructor that made the value has finished by then; its last frame is kept with its variables.
"""

from __future__ import annotations

import sys
import threading
from types import CodeType, FrameType
from typing import Any, Dict, List, NamedTuple, Optional

from .. import sites
from . import stopped, visits
from .stopped import Standing

MOST = 60
"""Functions whose last frame is kept."""


class _Left(NamedTuple):
    """A frame at the moment that a value left it."""

    frame: FrameType
    last: int
    line: int


_left: Dict[CodeType, _Left] = {}
_raising: Optional[FrameType] = None


def watch() -> None:
    """Keep, from now on, the last frame of each function of the program that returns or yields a value."""
    _left.clear()
    threading.settrace(_on_call)
    sys.settrace(_on_call)


def standings() -> List[Standing]:
    """The kept frames, the latest first; also stops keeping them."""
    sys.settrace(None)
    threading.settrace(None)
    found: List[Standing] = []
    for left in reversed(list(_left.values())):
        site = sites.site_at(left.frame, left.last, left.line)
        one = stopped.at(left.frame, site) if site is not None else None
        if one is not None:
            found.append(one)
    return found


def _on_call(frame: FrameType, event: str, given: Any) -> Optional[Any]:
    if not sites.is_user_frame(frame):
        return None
    looked_at = visits.concerns(frame)
    if frame.f_code.co_name.startswith("<") and not (looked_at and frame.f_code.co_name == "<module>"):
        return None
    frame.f_trace_lines = looked_at
    return _within


def _within(frame: FrameType, event: str, given: Any) -> Any:
    global _raising
    code = frame.f_code
    if event == "line":
        visits.at_line(frame)
    elif event == "exception":
        _raising = frame
    elif (
        event == "return"
        and code.co_name != "<module>"
        and not (given is None and _raising is frame)
        and (code in _left or len(_left) < MOST)
    ):
        _left.pop(code, None)  # the latest last
        _left[code] = _Left(frame, frame.f_lasti, frame.f_lineno)
    return _within
