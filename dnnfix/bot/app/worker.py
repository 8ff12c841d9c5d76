"""Carries out a job of the store: visits the repository or pull request, and records in the store how it went."""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

import structlog
from prometheus_client import Counter, Histogram

from dnnfix.bot.app.store import Job, Store
from dnnfix.bot.visit import Visited
from dnnfix.errors import DnnfixError, EnvironmentProblem
from dnnfix.forge.protocol import Forge

BOUNDS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0)
"""Seconds by which the times of visits are counted."""

VISITS = Counter("dnnfix_visits", "Visits to repositories by how they ended", ["ended"])
SECONDS = Histogram("dnnfix_visit_seconds", "What a visit takes", buckets=BOUNDS)
DONE = Counter("dnnfix_done", "What was done on the forge: pull requests opened, written anew, closed", ["what"])

log = structlog.get_logger()


class Worker:
    """Visits one repository after the other; several threads may share it.

    `forge` returns the forge for an installation of the App; `visit` does the work since the last settled commit, and ends
    early where `stopped` is set.
    """

    def __init__(
        self, store: Store, forge: Callable[[int], Forge], visit: Callable[[Forge, Job], Visited], stopped: Event
    ) -> None:
        self._store, self._forge, self._visit, self._stopped = store, forge, visit, stopped
        self._name = f"{socket.gethostname()[:40]}-{os.getpid()}"

    def work(self, name: str) -> None:
        """Do a job if there is something to do and no other worker is at it. Raises nothing."""
        if self._stopped.is_set():
            return
        try:
            job = self._store.take(name, f"{self._name}-{uuid.uuid4().hex[:8]}")
            if job is not None:
                self._done(job)
        except EnvironmentProblem as error:
            log.error("the store failed", job=name, why=str(error))

    def _done(self, job: Job) -> None:
        began = time.monotonic()
        told = log.bind(job=job.name, holder=job.holder)
        told.info("visit begins")
        try:
            with self._kept(job):
                found = self._visit(self._forge(job.installation), job)
        except Exception as error:  # noqa: BLE001 - one repository must not end the work on the others
            if self._stopped.is_set():
                self._store.give_back(job)
                return
            why = str(error) if isinstance(error, DnnfixError) else f"{type(error).__name__}: {error}"
            VISITS.labels("failed").inc()
            told.error("visit failed", why=why, exc_info=not isinstance(error, DnnfixError))
            self._store.fail(job, why)
            return
        self._store.finish(job, found.settled)
        done = found.published
        for one in done.done:
            DONE.labels(one.split()[0]).inc()
        VISITS.labels("done").inc()
        SECONDS.observe(time.monotonic() - began)
        told.info("visit done", seconds=round(time.monotonic() - began, 1), did=done.done, left=done.left)

    @contextmanager
    def _kept(self, job: Job) -> Iterator[None]:
        """Keep the job for as long as it takes."""
        ended = Event()

        def keep() -> None:
            while not ended.wait(self._store.lease / 4):
                try:
                    self._store.keep(job)
                except EnvironmentProblem as error:
                    log.error("the store failed", job=job.name, why=str(error))

        keeper = Thread(target=keep, name="keeper", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            ended.set()
            keeper.join()
