"""The deadline of the work on one file, and the time that is left until then."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Deadline:
    """The end of so many seconds from now on; `math.inf` for none."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until then, 0 once it has passed."""
        return max(0.0, self._at - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() >= self._at

    @contextmanager
    def extended(self) -> Iterator[None]:
        """A block after which as much is left as before it."""
        begun = time.monotonic()
        yield
        self._at += time.monotonic() - begun
