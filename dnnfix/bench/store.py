"""The store of a replay's results: one SQLite file, written as results come, readable whenever it was stopped.

A result is kept under the hash of all that it depends on, so that one made before is taken instead of made again.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import dnnfix
from dnnfix.bench.assessment import Assessed, Assignment
from dnnfix.errors import InputError

FORMAT = "1"
_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS results (
    id TEXT NOT NULL, arm TEXT NOT NULL, hash TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (id, arm, hash)
);
CREATE INDEX IF NOT EXISTS by_hash ON results (hash);
"""


@dataclass
class Store:
    """The results in a file, which is created where it is missing. To be closed, best by `with`.

    Raises `InputError` for a file that is not such a store, or that cannot be written.
    """

    path: Path

    def __post_init__(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(self.path, timeout=30.0)
            self._base.execute("PRAGMA journal_mode=WAL")
            self._base.executescript(_TABLES)
            known = self.about().get("format", FORMAT)
        except (sqlite3.Error, OSError) as error:
            raise InputError(f"{self.path}: no results can be kept here: {error}") from None
        if known != FORMAT:
            raise InputError(f"{self.path}: results of another version of dnnfix. Give another --output.")
        self.describe({"format": FORMAT})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._base.close()

    def put(self, key: str, found: Assessed) -> None:
        """Keep a result; it is on the disk when this returns."""
        with self._writing():
            self._base.execute(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?)",
                (found.case, found.arm.value, key, json.dumps(found.to_json())),
            )

    def get(self, key: str) -> Assessed | None:
        """The result under a hash."""
        row = self._base.execute("SELECT record FROM results WHERE hash = ?", (key,)).fetchone()
        return Assessed.from_json(json.loads(row[0])) if row is not None else None

    def results(self) -> list[Assessed]:
        """Everything that is kept, in the order of ids and arms; what was made again comes behind what was there before."""
        rows = self._base.execute("SELECT record FROM results ORDER BY id, arm, rowid").fetchall()
        return [Assessed.from_json(json.loads(row[0])) for row in rows]

    def clear(self) -> None:
        """Forget every result."""
        with self._writing():
            self._base.execute("DELETE FROM results")

    def describe(self, facts: Mapping[str, str]) -> None:
        """Keep facts about the replay: versions, settings, the machine."""
        with self._writing():
            self._base.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", facts.items())

    def about(self) -> dict[str, str]:
        """The facts that were kept."""
        return dict(self._base.execute("SELECT name, value FROM about").fetchall())

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._base:
                yield
        except sqlite3.Error as error:
            raise InputError(
                f"{self.path}: cannot be written: {error}. What is there stays readable; make room and give --resume."
            ) from None


def hash_of(assignment: Assignment, surroundings: Mapping[str, str]) -> str:
    """The hash of all that a result depends on: the assignment, the engine, and what it runs in."""
    known: dict[str, Any] = {"assignment": assignment.to_json(), "surroundings": dict(surroundings)}
    return blake2b(json.dumps(known, sort_keys=True).encode(), digest_size=16).hexdigest()


def engine() -> str:
    """A hash of the engine and its catalogue: every file that they are made of, by content."""
    root = Path(dnnfix.__file__).parent
    found = blake2b(digest_size=16)
    for folder, inner, files in os.walk(root, followlinks=True):
        inner[:] = sorted(name for name in inner if not name.startswith((".", "__pycache__")))
        for name in sorted(files):
            if name.endswith((".py", ".toml", ".json")):
                path = Path(folder, name)
                found.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()
