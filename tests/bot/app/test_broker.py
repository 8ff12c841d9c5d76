"""From the store to the workers, through a Redis that may be killed at any time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock

import pytest

from dnnfix.bot.app import broker as brokers
from dnnfix.bot.app.broker import Broker, Courier
from dnnfix.bot.app.store import Asked, Job, Store
from dnnfix.bot.app.worker import Worker
from dnnfix.bot.publish import Published
from dnnfix.bot.visit import Visited
from dnnfix.errors import ForgeError, InputError
from dnnfix.forge.protocol import Forge
from tests.bot.app.conftest import Redis


def until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for something that another thread does."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


class Visits:
    """Visits that take a moment and change nothing; no two may be of one repository at a time."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.ended: list[str] = []
        self._seconds, self._running, self._lock = seconds, set[str](), Lock()

    def __call__(self, forge: Forge, job: Job) -> Visited:
        slug = job.name
        with self._lock:
            assert slug not in self._running
            self._running.add(slug)
        time.sleep(self._seconds)
        with self._lock:
            self._running.remove(slug)
            self.ended.append(slug)
        return Visited(Published())


def no_forge(installation: int) -> Forge:
    return None  # type: ignore[return-value]


@contextmanager
def at_work(
    store: Store, place: Redis, visits: Visits, number: int, seconds: float = 30.0
) -> Iterator[tuple[Broker, Courier]]:
    """A broker and a courier, and so many workers, until nothing is left to do."""
    broker = Broker(place.address)
    courier = Courier(store, broker)
    threads = broker.workers(Worker(store, no_forge, visits, Event()).work, number)
    courier.start()
    yield broker, courier
    until(lambda: store.counts().waiting + store.counts().running == 0, seconds)
    courier.stop()
    threads.stop()
    broker.close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A courier that looks often."""
    monkeypatch.setattr(brokers, "TICK", 0.1)
    monkeypatch.setattr(brokers, "RESEND", 1.0)


def test_everything_is_visited_once_by_several_workers(store: Store, broker_place: Redis) -> None:
    visits = Visits(0.01)
    with at_work(store, broker_place, visits, 4) as (_, courier):
        for number in range(200):
            store.accept(f"d-{number}", [Asked(f"people/r{number % 100}")])
            courier.ring()
    assert set(visits.ended) == {f"people/r{number}" for number in range(100)} and len(visits.ended) <= 200


def test_nothing_is_lost_when_the_broker_is_killed_three_times(store: Store, broker_place: Redis) -> None:
    visits = Visits(0.05)
    with at_work(store, broker_place, visits, 2, 60.0) as (broker, _):
        for number in range(60):
            store.accept(f"d-{number}", [Asked(f"people/r{number}")])
        for kill in range(1, 4):
            until(lambda kill=kill: len(visits.ended) >= 10 * kill)  # type: ignore[misc]
            broker_place.kill()
            assert not broker.answers()
            broker_place.start()
    assert sorted(visits.ended) == sorted(f"people/r{number}" for number in range(60))


def test_a_visit_that_fails_is_said_and_does_not_end_the_others(store: Store, broker_place: Redis) -> None:
    def visit(forge: Forge, job: Job) -> Visited:
        if job.slug == "people/bad":
            raise ForgeError("people/bad: is not there")
        if job.slug == "people/worse":
            raise ZeroDivisionError("by us")
        return Visited(Published(["opened 1: fix"]), "c" * 40)

    broker = Broker(broker_place.address)
    threads = broker.workers(Worker(store, no_forge, visit, Event()).work, 1)
    store.accept("d-1", [Asked(f"people/{name}") for name in ("bad", "worse", "good")])
    Courier(store, broker).carry()
    until(lambda: store.counts().failed == 2 and store.counts().waiting + store.counts().running == 0)
    threads.stop()
    assert store.problems() == {"people/bad": "people/bad: is not there", "people/worse": "ZeroDivisionError: by us"}
    broker.close()


def test_a_worker_that_is_asked_to_end_gives_its_job_back(store: Store) -> None:
    stopped = Event()

    def visit(forge: Forge, job: Job) -> Visited:
        stopped.set()
        raise ForgeError("was stopped")

    store.accept("d-1", [Asked("people/digits")])
    Worker(store, no_forge, visit, stopped).work("people/digits")
    assert store.problems() == {} and store.take("people/digits", "another") is not None


def test_a_visit_begins_where_the_last_one_settled_everything(store: Store) -> None:
    begun = []

    def visit(forge: Forge, job: Job) -> Visited:
        begun.append(job.settled)
        return Visited(Published(), f"{len(begun)}" * 40)

    worker = Worker(store, no_forge, visit, Event())
    for number in range(3):
        store.accept(f"d-{number}", [Asked("people/digits")])
        worker.work("people/digits")
    assert begun == ["", "1" * 40, "2" * 40]


def test_an_address_that_is_none_is_said() -> None:
    with pytest.raises(InputError, match="--broker"):
        Broker("localhost:6379")
    assert not Broker("redis://127.0.0.1:1/0").answers()
