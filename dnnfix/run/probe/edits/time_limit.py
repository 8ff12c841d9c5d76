"""A context manager that interrupts a piece of work in this process after some seconds."""

from __future__ import annotations

import contextlib
import signal
from typing import Any, Iterator


class OverTime(BaseException):
    """The time for a piece of work is over; derived from `BaseException` so that no `except Exception` of the
    program catches it.
    """


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """A context that raises `OverTime` in its body after so many seconds."""

    def end(number: int, frame: Any) -> None:
        raise OverTime

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
