"""Keeps the caps on calls and costs, for all processes with one cache folder: what a call may cost is set aside before it is made."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from dnnfix.endpoint import Endpoint

PERIOD = 86_400.0
"""Seconds that the caps hold for."""

BUSY = 30.0
"""Seconds that another process is waited for."""

_TABLE = "CREATE TABLE IF NOT EXISTS call (id INTEGER PRIMARY KEY, time REAL, cost REAL)"


class CapReached(Exception):
    """Another call would go over a cap; says which."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The calls of the last day, in one SQLite file."""

    path: Path

    @contextmanager
    def call(self, endpoint: Endpoint, most: float) -> Iterator[Entry]:
        """Set aside what a call may cost at most, and afterwards what it cost. Raises `CapReached`, and `OSError` where nothing can be kept.

        A call whose cost is never told, as its process was killed, counts as what was set aside for it.
        """
        number = self._begin(endpoint, most)
        entry = Entry(most)
        try:
            yield entry
        finally:
            self._end(number, entry)

    def spent(self) -> tuple[int, float]:
        """Calls of the last day, and US dollars that they cost."""
        try:
            with closing(self._open()) as base:
                return self._spent(base)
        except sqlite3.Error as error:
            raise OSError(f"{self.path}: the calls of the model cannot be read ({error})") from None

    def _begin(self, endpoint: Endpoint, most: float) -> int:
        try:
            with closing(self._open()) as base:
                base.execute("BEGIN IMMEDIATE")  # no other process counts between what is read and what is written
                calls, cost = self._spent(base)
                if calls >= endpoint.max_calls:
                    raise CapReached(f"`max-calls` is {endpoint.max_calls} a day, and so many were made")
                if endpoint.max_cost is not None and cost + most > endpoint.max_cost:
                    raise CapReached(
                        f"`max-cost` is {endpoint.max_cost:g} dollars a day, {cost:.4f} are spent, and a call may cost {most:.4f}"
                    )
                made = base.execute("INSERT INTO call (time, cost) VALUES (?, ?)", (time.time(), most)).lastrowid
                base.execute("COMMIT")
                return made or 0
        except sqlite3.Error as error:
            raise OSError(
                f"{self.path}: the calls of the model cannot be counted ({error}), so that none is made"
            ) from None

    def _end(self, number: int, entry: Entry) -> None:
        try:
            with closing(self._open()) as base:
                if entry.counts:
                    base.execute("UPDATE call SET cost = ? WHERE id = ?", (entry.cost, number))
                else:
                    base.execute("DELETE FROM call WHERE id = ?", (number,))
        except (sqlite3.Error, OSError):
            return  # what was set aside stays

    def _open(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise OSError(
                f"{self.path.parent}: no folder for the calls of the model can be made there ({error})"
            ) from None
        base = sqlite3.connect(self.path, timeout=BUSY, isolation_level=None)
        try:
            base.execute(_TABLE)
        except sqlite3.Error:
            base.close()
            raise
        return base

    @staticmethod
    def _spent(base: sqlite3.Connection) -> tuple[int, float]:
        since = time.time() - PERIOD
        base.execute("DELETE FROM call WHERE time < ?", (since,))
        calls, cost = base.execute("SELECT COUNT(*), COALESCE(SUM(cost), 0) FROM call").fetchone()
        return int(calls), float(cost)


@dataclass(slots=True)
class Entry:
    """A call under way: what it is held to cost."""

    cost: float
    counts: bool = True
    """Whether it is a call at all: none is that no server took."""
