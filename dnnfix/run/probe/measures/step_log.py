"""Keeps training steps until they are measured, a few at a time, and times them."""

from __future__ import annotations

import statistics
import time
from typing import Any, Dict, List, Optional

_SECONDS_WAITING = 0.25
_MOST_TIMES = 10_000


class StepLog:
    """The steps that wait to be measured, at most `at_most`, and the times of the steps whose calls were not
    recorded.
    """

    def __init__(self, at_most: int) -> None:
        self.index = 0
        """How many steps were taken."""
        self._waiting: List[Dict[str, Any]] = []
        self._at_most = at_most
        self._flushed = time.monotonic()
        self._times: List[float] = []

    @property
    def step_seconds(self) -> Optional[float]:
        """The median time of a step after the recorded ones; `None` where there were too few."""
        intervals = [later - earlier for earlier, later in zip(self._times, self._times[1:])]
        return statistics.median_high(intervals) if intervals else None

    def _is_due(self, recorded: bool) -> bool:
        """Whether what waits is to be measured, now that one more step was taken."""
        now = time.monotonic()
        if not recorded and len(self._times) < _MOST_TIMES:
            self._times.append(now)
        return recorded or len(self._waiting) >= self._at_most or now - self._flushed > _SECONDS_WAITING

    def _taken(self, kept: int = 0) -> List[Dict[str, Any]]:
        """What waits, but for the last `kept`, which wait on."""
        count = len(self._waiting) - kept
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        self._flushed = time.monotonic()
        return taken
