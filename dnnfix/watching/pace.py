"""How often a training is looked at, so that looking takes no more than its share of the time, by clocks of its own."""

from __future__ import annotations

import time
from collections.abc import Callable

SHARE = 0.02
"""Share of the time of a training that watching it may take."""

LOOKS = 0.75
"""The part of that share which looks may take: the rest is for counting steps, which no clock here sees."""

FIRST = 4
"""The first step that is looked at, where there is time for it: before, everything is being set up."""

OFTEN = 32
"""The part of the steps taken so far that lies between two looks at least: a state that lasted long lasts on."""

UNKNOWN = 0.02
"""Seconds that a look is taken to cost before there was one."""

Times = tuple[float, float]
"""Seconds by the clock on the wall, and of the processor."""


def now() -> Times:
    """The two clocks: the wall's sees what waits for a device, the processor's is right where other processes work as well."""
    return time.perf_counter(), time.process_time()


class Pace:
    """The time that was spent on looking, and when there is time for the next look: by either clock within the share."""

    def __init__(self, share: float = SHARE, clock: Callable[[], Times] = now) -> None:
        self.share = share
        self.next = FIRST
        """The next step at which it is asked whether there is time."""
        self.clock = clock
        self._spent = [0.0, 0.0]
        self._costs = [UNKNOWN, UNKNOWN]
        """What a look takes: of the last ones the dearest, slowly forgotten."""
        self._begun = clock()

    @property
    def elapsed(self) -> Times:
        """How long the training is watched."""
        wall, processor = self.clock()
        return wall - self._begun[0], processor - self._begun[1]

    @property
    def taken(self) -> float:
        """The share of the time that looking took, by the clock by which it is more."""
        return max(spent / max(elapsed, 1e-9) for spent, elapsed in zip(self._spent, self.elapsed, strict=True))

    def step_takes(self, steps: int) -> float:
        """Seconds of the processor that a step takes by itself."""
        return (self.elapsed[1] - self._spent[1]) / max(steps, 1)

    def has_time(self, step: int, seconds: float | None = None) -> bool:
        """Whether there is time for a look of so many seconds, by default as many as looks took; else asks later."""
        wait = 0.0
        for spent, cost, elapsed in zip(self._spent, self._costs, self.elapsed, strict=True):
            needed = (spent + (cost if seconds is None else seconds)) / (LOOKS * self.share)
            wait = max(wait, needed / max(elapsed, 1e-9) - 1.0)
        if wait and seconds is None:
            self.next = step + max(1, min(int(wait * step), 1 + step // 4))
        return not wait

    def looked(self, step: int, seconds: Times) -> None:
        """A look at a step is over, and took so long."""
        self.also(seconds)
        self._costs = [max(last, 0.95 * cost + 0.05 * last) for last, cost in zip(seconds, self._costs, strict=True)]
        self.next = step + max(1, step // OFTEN)

    def also(self, seconds: Times) -> None:
        """Time was spent on something that is no look."""
        self._spent = [spent + last for spent, last in zip(self._spent, seconds, strict=True)]


def since(begun: Times, clock: Callable[[], Times] = now) -> Times:
    """How long ago that was."""
    wall, processor = clock()
    return wall - begun[0], processor - begun[1]
