"""A limit of time on a piece of work within one process."""

from __future__ import annotations

import contextlib
import signal
from typing import Any, Iterator


class OverTime(BaseException):
    """The time for a piece of work is over; no `except Exception` of the program's takes it."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """A context that is left by `OverTime` after so many seconds."""

    def end(number: int, frame: Any) -> None:
        raise OverTime

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
