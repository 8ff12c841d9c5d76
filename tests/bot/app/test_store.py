"""The memory of the App: what is asked for is done once at a time, and never forgotten."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer

import pytest
import sqlalchemy as sa

from dnnfix.bot.app.store import FIRST_PAUSE, LEASE, MOST_FAILURES, REMEMBERED, Asked, Counts, Store
from dnnfix.errors import EnvironmentProblem, InputError
from tests.bot.app.postgres import cluster, initdb

ONE = Asked("people/digits", 7)


class Clock:
    """A clock that is set by hand, in seconds since 1970."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The address of a database in a PostgreSQL of its own."""
    if initdb() is None:
        pytest.skip("needs PostgreSQL: apt install postgresql")
    with cluster() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that nobody has used, in either database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/bot.sqlite"
    found: str = request.getfixturevalue("postgres")
    engine = sa.create_engine(found)
    with engine.begin() as change:
        change.execute(sa.text("DROP SCHEMA public CASCADE"))
        change.execute(sa.text("CREATE SCHEMA public"))
    engine.dispose()
    return found


@pytest.fixture
def timed(address: str, clock: Clock) -> Iterator[Store]:
    made = Store(address, clock)
    yield made
    made.close()


def test_a_delivery_is_taken_once(timed: Store) -> None:
    assert timed.accept("d-1", [ONE]) and not timed.accept("d-1", [Asked("people/other")])
    assert timed.counts() == Counts(1, 0, 0)


def test_a_job_has_one_worker_and_is_done_once(timed: Store) -> None:
    timed.accept("d-1", [ONE])
    job = timed.take(ONE.slug, "first")
    assert job is not None and job.installation == 7 and timed.take(ONE.slug, "second") is None
    assert timed.counts() == Counts(0, 1, 0)
    assert timed.finish(job) and timed.take(ONE.slug, "second") is None and timed.counts() == Counts(0, 0, 0)


def test_what_is_asked_for_during_a_visit_is_visited_again_and_once(timed: Store) -> None:
    timed.accept("d-1", [ONE])
    job = timed.take(ONE.slug, "first")
    timed.accept("d-2", [ONE])
    timed.accept("d-3", [ONE])
    assert job is not None and timed.finish(job)
    again = timed.take(ONE.slug, "second")
    assert again is not None and timed.finish(again) and timed.take(ONE.slug, "third") is None


def test_a_job_whose_worker_died_is_taken_by_another_and_the_dead_one_has_no_say(timed: Store, clock: Clock) -> None:
    timed.accept("d-1", [ONE])
    job = timed.take(ONE.slug, "first")
    assert job is not None
    clock.now += LEASE - 1
    assert timed.keep(job) and timed.take(ONE.slug, "second") is None
    clock.now += LEASE + 1
    other = timed.take(ONE.slug, "second")
    assert other is not None and not timed.keep(job) and not timed.finish(job) and timed.finish(other)


def test_a_failure_is_tried_again_later_and_later_and_then_given_up(timed: Store, clock: Clock) -> None:
    timed.accept("d-1", [ONE])
    for number in range(MOST_FAILURES):
        job = timed.take(ONE.slug, "one")
        assert job is not None, number
        timed.fail(job, "the forge has trouble")
        assert timed.problems() == {ONE.slug: "the forge has trouble"} and timed.take(ONE.slug, "one") is None
        clock.now += FIRST_PAUSE * 2**number
    assert timed.take(ONE.slug, "one") is None and timed.counts() == Counts(0, 0, 0)
    timed.accept("d-2", [ONE])
    job = timed.take(ONE.slug, "one")
    assert job is not None and timed.finish(job) and timed.problems() == {}


def test_what_is_given_back_waits_for_another(timed: Store) -> None:
    timed.accept("d-1", [ONE])
    job = timed.take(ONE.slug, "first")
    assert job is not None and timed.give_back(job) and timed.waiting(5, 10.0) == (ONE.slug,)


def test_what_waits_is_carried_oldest_first_and_again_after_a_while(timed: Store, clock: Clock) -> None:
    for number in range(3):
        timed.accept(f"d-{number}", [Asked(f"people/r{number}")])
        clock.now += 1
    assert timed.waiting(2, 10.0) == ("people/r0", "people/r1") and timed.waiting(2, 10.0) == ("people/r2",)
    assert timed.waiting(2, 10.0) == ()
    clock.now += 10
    assert len(timed.waiting(5, 10.0)) == 3


def test_everything_outlives_the_process(address: str) -> None:
    first = Store(address)
    first.accept("d-1", [ONE])
    first.close()
    second = Store(address)
    assert not second.accept("d-1", [ONE]) and second.take(ONE.slug, "one") is not None
    second.close()


def test_many_at_once_take_turns(address: str) -> None:
    with ThreadPoolExecutor(8) as threads:
        stores = list(threads.map(Store, [address] * 8))
        new = list(threads.map(lambda n: stores[n % 8].accept(f"d-{n // 2}", [ONE]), range(80)))
        taken = list(threads.map(lambda n: stores[n].take(ONE.slug, str(n)), range(8)))
    assert sum(new) == 40 and sum(job is not None for job in taken) == 1
    (job,) = filter(None, taken)
    assert job.wanted == 40
    for store in stores:
        store.close()


def test_a_new_file_that_another_is_just_writing_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "bot.sqlite"
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    timer = Timer(0.3, other.close)
    timer.start()
    store = Store(f"sqlite:///{file}")
    timer.join()
    assert store.answers()
    store.close()


def test_a_store_of_the_first_version_is_brought_to_this_one(address: str) -> None:
    Store(address).close()
    engine = sa.create_engine(address)
    with engine.begin() as change:
        change.execute(sa.text("ALTER TABLE jobs DROP COLUMN settled"))
        change.execute(sa.text("UPDATE alembic_version SET version_num = '0001'"))
        row = "'people/digits', 7, 1, 0, 1.0, 0.0, '', 0.0, 0, ''"
        change.execute(sa.text(f"INSERT INTO jobs VALUES ({row})"))
    engine.dispose()
    store = Store(address)
    job = store.take("people/digits", "one")
    assert job is not None and job.installation == 7 and job.settled == "" and store.finish(job, "c" * 40)
    store.close()


@pytest.mark.parametrize("said", ["", "bot.sqlite", "mysql://localhost/bot", "nothing://x", "sqlite"])
def test_an_address_that_makes_no_sense_is_said(said: str) -> None:
    with pytest.raises(InputError):
        Store(said)


def test_a_store_that_is_not_there_is_said_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="does not answer"):
        Store(f"sqlite:///{tmp_path}/no/such/folder.sqlite")
    with pytest.raises((EnvironmentProblem, InputError)) as caught:
        Store("postgresql+psycopg://dnnfix:hunter2@127.0.0.1:1/bot")
    assert "hunter2" not in str(caught.value)


def test_a_review_is_a_job_of_its_own_that_is_forgotten_after_a_while(timed: Store, clock: Clock) -> None:
    timed.accept("d-1", [Asked(ONE.slug, 7, 9), ONE])
    job, whole = timed.take("people/digits#9", "one"), timed.take(ONE.slug, "two")
    assert job is not None and (job.slug, job.pull) == (ONE.slug, 9)
    assert whole is not None and (whole.slug, whole.pull) == (ONE.slug, 0)
    assert timed.finish(job) and timed.finish(whole, "c" * 40)
    clock.now += REMEMBERED + 1
    timed.accept("d-2", [ONE, Asked(ONE.slug, 7, 9)])
    again, review = timed.take(ONE.slug, "two"), timed.take("people/digits#9", "one")
    assert again is not None and again.wanted == 2 and again.settled == "c" * 40
    assert review is not None and review.wanted == 2, "what is asked for in that moment is kept"
    assert timed.finish(review)
    clock.now += REMEMBERED + 1
    timed.accept("d-3", [ONE])
    timed.accept("d-4", [Asked(ONE.slug, 7, 9)])
    review = timed.take("people/digits#9", "one")
    assert review is not None and review.wanted == 1
