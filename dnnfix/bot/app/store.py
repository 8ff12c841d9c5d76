"""The database of the App's jobs and received webhooks, in SQLite or PostgreSQL.

SQLAlchemy's Core rather than statements of our own for each database, with its migrations (Alembic). Every method is one transaction.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from dnnfix.errors import EnvironmentProblem, InputError

LEASE = 60.0
"""Seconds for which a worker has a job, unless it says that it is still at it."""

FIRST_PAUSE = 60.0
"""Seconds until a job that failed is due again: twice as many after each failure."""

MOST_FAILURES = 8
"""Failures after which a job is given up until the repository is asked for again."""

REMEMBERED = 14 * 86400.0
"""Seconds for which a delivery is known by its identity; GitHub sends none again that is older than three days."""

MOST_PROBLEM = 500
"""Characters of a problem that are kept."""

BUSY = 30.0
"""Seconds to wait for another writer of an SQLite file."""

OF_PULL = "#"
"""What stands between a repository and the number of a pull request in the name of a job."""

metadata = sa.MetaData()

deliveries = sa.Table(
    "deliveries",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("received", sa.Float, nullable=False, index=True),
)

jobs = sa.Table(
    "jobs",
    metadata,
    sa.Column("slug", sa.String(200), primary_key=True),
    sa.Column("installation", sa.BigInteger, nullable=False),
    sa.Column("wanted", sa.Integer, nullable=False),
    sa.Column("done", sa.Integer, nullable=False),
    sa.Column("due", sa.Float, nullable=False, index=True),
    sa.Column("sent", sa.Float, nullable=False),
    sa.Column("holder", sa.String(100), nullable=False),
    sa.Column("until", sa.Float, nullable=False),
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("problem", sa.Text, nullable=False),
    sa.Column("settled", sa.String(64), nullable=False),
)
"""One row for each repository, and for each pull request that is reviewed. `wanted` counts how often it was asked for, `done` which of these
askings is answered; `due` says from when on, `sent` when it was last given to the broker, `holder` and `until` which worker has it and how
long, `settled` the newest commit of which nothing is left to do. Times are in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A repository that is to be visited, with the installation of the App that lets us in (0 where there is none).

    `pull` is the number of a pull request that is to be reviewed, 0 for the repository itself.
    """

    slug: str
    installation: int = 0
    pull: int = 0

    @property
    def name(self) -> str:
        """The name of the job."""
        return f"{self.slug}{OF_PULL}{self.pull}" if self.pull else self.slug


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker has taken: `wanted` is the asking that it answers, `holder` says whose it is, `settled` is the commit that was last."""

    name: str
    installation: int
    wanted: int
    holder: str
    settled: str = ""

    @property
    def slug(self) -> str:
        """The repository."""
        return self.name.partition(OF_PULL)[0]

    @property
    def pull(self) -> int:
        """The pull request that is to be reviewed, 0 for the repository itself."""
        return int(self.name.partition(OF_PULL)[2] or 0)


@dataclass(frozen=True, slots=True)
class Counts:
    """How many jobs wait, are being done, and wait after a failure."""

    waiting: int
    running: int
    failed: int


class Store:
    """The store at an address such as `sqlite:///bot.sqlite` or `postgresql+psycopg://user@host/name`; `lease` is in seconds."""

    def __init__(self, address: str, clock: Callable[[], float] = time.time, lease: float = LEASE) -> None:
        """Connect, and bring the tables to this version. Raises `InputError` for no such address, `EnvironmentProblem` without an answer."""
        self._clock = clock
        self.lease = lease
        try:
            self._engine = sa.create_engine(address, connect_args=_given(address), pool_pre_ping=True)
        except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError, ImportError) as error:
            raise InputError(f"{_shown(address)}: is no address of a store that can be used here ({error}).") from None
        if self._engine.dialect.name not in ("sqlite", "postgresql"):
            raise InputError(f"{_shown(address)}: has to be sqlite:///FILE or postgresql+psycopg://….")
        self._turn: AbstractContextManager[object] = nullcontext()
        if self._engine.dialect.name == "sqlite":
            self._turn = Lock()  # SQLite has waiting writers look again after longer and longer sleeps
            sa.event.listen(self._engine, "connect", _prepared)
            sa.event.listen(self._engine, "begin", _begun)
        self._migrate()

    def close(self) -> None:
        """Give the connections back."""
        self._engine.dispose()

    def answers(self) -> bool:
        """Whether the store can be asked now."""
        try:
            with self._transaction() as asked:
                asked.execute(sa.select(sa.func.count()).select_from(jobs).limit(1))
        except EnvironmentProblem:
            return False
        return True

    def accept(self, delivery: str, asked: Iterable[Asked]) -> bool:
        """Store a delivery with all that it asks for, in one transaction; `False` where it is known already."""
        now = self._clock()
        with self._transaction() as change:
            made = self._insert(deliveries).values(id=delivery, received=now).on_conflict_do_nothing()
            if change.execute(made.returning(deliveries.c.id)).first() is None:
                return False
            for one in asked:
                self._want(change, one, now)
            change.execute(sa.delete(deliveries).where(deliveries.c.received < now - REMEMBERED))
            is_old = sa.and_(jobs.c.wanted == jobs.c.done, jobs.c.due < now - REMEMBERED)
            change.execute(sa.delete(jobs).where(is_old, jobs.c.slug.contains(OF_PULL)))
        return True

    def waiting(self, most: int, resend: float) -> tuple[str, ...]:
        """The names of the jobs to be carried to the workers, the longest waiting first, at most `most`; they count as sent from now on.

        Such that were sent less than `resend` seconds ago, or that a worker has, are not among them.
        """
        now = self._clock()
        free = [jobs.c.wanted > jobs.c.done, jobs.c.due <= now, jobs.c.until < now, jobs.c.sent <= now - resend]
        with self._transaction() as change:
            found = change.execute(sa.select(jobs.c.slug).where(*free).order_by(jobs.c.sent, jobs.c.due).limit(most))
            names = tuple(row.slug for row in found)
            change.execute(sa.update(jobs).where(jobs.c.slug.in_(names)).values(sent=now))
        return names

    def take(self, name: str, holder: str) -> Job | None:
        """Lease a job for `lease` seconds; `None` where there is nothing to do, or another worker has it."""
        now = self._clock()
        free = [jobs.c.slug == name, jobs.c.wanted > jobs.c.done, jobs.c.due <= now, jobs.c.until < now]
        with self._transaction() as change:
            taken = change.execute(sa.update(jobs).where(*free).values(holder=holder, until=now + self.lease)).rowcount
            if not taken:
                return None
            row = change.execute(sa.select(jobs).where(jobs.c.slug == name)).one()
        return Job(row.slug, row.installation, row.wanted, holder, row.settled)

    def keep(self, job: Job) -> bool:
        """Renew the lease of a job; `False` where another worker has it by now."""
        return self._set(job, until=self._clock() + self.lease)

    def finish(self, job: Job, settled: str = "") -> bool:
        """Mark a job as done, up to the commit `settled`; where it was asked for again meanwhile it waits again."""
        done = {"done": job.wanted, "settled": settled, "failures": 0, "problem": ""}
        return self._set(job, until=0.0, holder="", sent=0.0, **done)

    def give_back(self, job: Job) -> bool:
        """Give up the lease of a job that was not done, so that another worker may take it now."""
        return self._set(job, until=0.0, holder="", sent=0.0)

    def fail(self, job: Job, problem: str) -> bool:
        """Mark a job as failed: due again after a pause, or after `MOST_FAILURES` only when it is asked for again."""
        pause = sa.case(
            *((jobs.c.failures == number, FIRST_PAUSE * 2**number) for number in range(MOST_FAILURES)), else_=0.0
        )
        return self._set(
            job,
            until=0.0,
            holder="",
            sent=0.0,
            failures=jobs.c.failures + 1,
            due=self._clock() + pause,
            done=sa.case((jobs.c.failures >= MOST_FAILURES - 1, job.wanted), else_=jobs.c.done),
            problem=problem[:MOST_PROBLEM],
        )

    def counts(self) -> Counts:
        """The number of jobs by state."""
        now = self._clock()
        is_open = jobs.c.wanted > jobs.c.done
        kinds = {
            "running": sa.and_(is_open, jobs.c.until >= now),
            "failed": sa.and_(is_open, jobs.c.until < now, jobs.c.due > now),
            "waiting": sa.and_(is_open, jobs.c.until < now, jobs.c.due <= now),
        }
        columns = [
            sa.func.coalesce(sa.func.sum(sa.case((chosen, 1), else_=0)), 0).label(name)
            for name, chosen in kinds.items()
        ]
        with self._transaction() as asked:
            row = asked.execute(sa.select(*columns)).one()
        return Counts(int(row.waiting), int(row.running), int(row.failed))

    def problems(self) -> dict[str, str]:
        """The names of the jobs that failed last, with what went wrong."""
        with self._transaction() as asked:
            found = asked.execute(
                sa.select(jobs.c.slug, jobs.c.problem).where(jobs.c.problem != "").order_by(jobs.c.slug)
            )
            return {row.slug: row.problem for row in found}

    def _want(self, change: sa.Connection, one: Asked, now: float) -> None:
        first = {"done": 0, "sent": 0.0, "holder": "", "until": 0.0, "failures": 0, "problem": "", "settled": ""}
        made = self._insert(jobs).values(slug=one.name, installation=one.installation, wanted=1, due=now, **first)
        again = {"wanted": jobs.c.wanted + 1, "due": now, "installation": one.installation, "failures": 0}
        change.execute(made.on_conflict_do_update(index_elements=[jobs.c.slug], set_=again))

    def _set(self, job: Job, **values: Any) -> bool:
        own = [jobs.c.slug == job.name, jobs.c.holder == job.holder]
        with self._transaction() as change:
            return bool(change.execute(sa.update(jobs).where(*own).values(**values)).rowcount)

    def _insert(self, table: sa.Table) -> Any:
        """An insertion that knows what to do where the row is there: each database has its own."""
        return (sqlite if self._engine.dialect.name == "sqlite" else postgresql).insert(table)

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        try:
            with self._turn, self._engine.begin() as connection:
                yield connection
        except sa.exc.OperationalError as error:
            raise EnvironmentProblem(f"{_shown(self._engine.url)}: the store does not answer ({error.orig}).") from None

    def _migrate(self) -> None:
        from alembic import command
        from alembic.config import Config

        config = Config(attributes={"connection": None})
        config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
        with self._transaction() as connection:
            if self._engine.dialect.name == "postgresql":
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(667)"))  # one migrates, the others wait
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


def _given(address: str) -> dict[str, Any]:
    return {"timeout": BUSY} if address.startswith("sqlite") else {}


def _shown(address: object) -> str:
    """An address without its password."""
    try:
        return sa.make_url(str(address)).render_as_string(hide_password=True)
    except sa.exc.ArgumentError:
        return "the address of the store"


def _prepared(connection: Any, record: object) -> None:
    """SQLite: readers and a writer at once; what is committed outlives the process, as the log is written before."""
    connection.isolation_level = None  # transactions are begun by `_begun`
    last = time.monotonic() + BUSY
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:  # SQLite does not wait by itself where another is changing the mode
            if "locked" not in str(error) or time.monotonic() > last:
                raise
            time.sleep(BUSY / 1000)
    connection.execute("PRAGMA synchronous=NORMAL")


def _begun(connection: sa.Connection) -> None:
    """SQLite: a transaction that will write takes its turn at its beginning, where waiting is possible."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")
