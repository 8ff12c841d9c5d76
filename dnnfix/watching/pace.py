"""How often a training is looked at, so that looking takes no more than its share of the time, by a clock of its own."""

from __future__ import annotations

import time
from collections.abc import Callable

SHARE = 0.02
"""Share of the time of a training that watching it may take."""

FIRST = 4
"""The first step that is looked at, where there is time for it: before, everything is being set up."""

OFTEN = 32
"""The part of the steps taken so far that lies between two looks at least: a state that lasted long lasts on."""

UNKNOWN = 0.002
"""Seconds that a look is taken to cost before there was one."""


class Pace:
    """The time that was spent on looking, and when there is time for the next look.

    `clock` gives seconds. Times are those of the wall: what waits for a device counts, too.
    """

    def __init__(self, share: float = SHARE, clock: Callable[[], float] = time.perf_counter) -> None:
        self.share = share
        self.spent = 0.0
        """Seconds spent so far."""
        self.next = FIRST
        """The next step at which it is asked whether there is time."""
        self.cost = UNKNOWN
        """Seconds that a look takes: of the last ones the dearest, slowly forgotten."""
        self._clock = clock
        self._begun = clock()

    @property
    def elapsed(self) -> float:
        """Seconds since the training is watched."""
        return self._clock() - self._begun

    def has_time(self, step: int, seconds: float | None = None) -> bool:
        """Whether there is time for a look of so many seconds, by default as many as looks took; else asks later."""
        elapsed, cost = self.elapsed, self.cost if seconds is None else seconds
        missing = (self.spent + cost) / self.share - elapsed
        if missing <= 0:
            return True
        if seconds is None:
            each = max(elapsed, 1e-9) / max(step, 1)
            self.next = step + max(1, min(int(missing / each), 1 + step // 4))
        return False

    def looked(self, step: int, seconds: float) -> None:
        """A look at a step is over, and took so long."""
        self.spent += seconds
        self.cost = max(seconds, 0.9 * self.cost + 0.1 * seconds)
        self.next = step + max(1, step // OFTEN)

    def also(self, seconds: float) -> None:
        """Time was spent on something that is no look."""
        self.spent += seconds
