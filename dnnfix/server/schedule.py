"""When programs are checked: once their text has rested, one after another, and never for a text that is gone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event
from typing import TypeVar

SHORTEST, LONGEST = 0.005, 0.5
"""Seconds that a text has to rest. What arrives together, as the changes of one key do, is checked once."""

Result = TypeVar("Result")


class GivenUpError(Exception):
    """Ends a job in its thread."""


class Schedule:
    """Calls `check` for the addresses of programs that changed. It may raise nothing but `CancelledError`.

    A text has to rest half as long as the last check of that program took: a short one is answered at once, and a long one
    does not keep the processor busy at every key.
    """

    def __init__(self, check: Callable[[str], Awaitable[None]], worker: ThreadPoolExecutor | None = None) -> None:
        self._check = check
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._took: dict[str, float] = {}
        self.worker = worker or ThreadPoolExecutor(1, thread_name_prefix="check")
        """The thread that works; several connections share one."""
        self._owns_worker = worker is None

    def soon(self, uri: str, *, now: bool = False) -> None:
        """Check a program after its rest, or `now`; a check of what it was before is given up."""
        self.drop(uri)
        rest = 0.0 if now else min(LONGEST, max(SHORTEST, self._took.get(uri, 0.0) / 2))
        self._tasks[uri] = asyncio.get_running_loop().create_task(self._later(uri, rest))

    def drop(self, uri: str) -> None:
        """Give up a check that has not ended."""
        if (task := self._tasks.pop(uri, None)) is not None:
            task.cancel()

    async def settled(self, uri: str) -> None:
        """Wait until the program is checked as it is now."""
        while (task := self._tasks.get(uri)) is not None and not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.shield(task)

    async def work(self, job: Callable[[Callable[[], None]], Result]) -> Result:
        """Do what takes the processor in the thread that is there for it, when that is free.

        The job is given a function to call now and then, which raises `GivenUpError` once nobody waits for it.
        """
        given_up = Event()

        def go_on() -> None:
            if given_up.is_set():
                raise GivenUpError

        try:
            return await asyncio.get_running_loop().run_in_executor(self.worker, job, go_on)
        except asyncio.CancelledError:
            given_up.set()
            raise

    def close(self) -> None:
        """Wait for nothing."""
        for uri in list(self._tasks):
            self.drop(uri)
        if self._owns_worker:
            self.worker.shutdown(wait=False, cancel_futures=True)

    async def _later(self, uri: str, rest: float) -> None:
        await asyncio.sleep(rest)
        begun = time.monotonic()
        await self._check(uri)
        self._took[uri] = time.monotonic() - begun
