"""The index of a repository: one SQLite database, kept from call to call, in which only what has changed is read again.

SQLite's own full-text search (FTS5) stems, stores and ranks by BM25 with a weight for each field. bm25s and tantivy do the
ranking as well; bm25s makes its whole index anew for one changed file, and tantivy is a second store beside the tables that
are needed anyway. FTS5 comes with Python.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from dnnfix.forge.git import Git
from dnnfix.locate.history import commits
from dnnfix.locate.outline import outline
from dnnfix.locate.tree import Tree
from dnnfix.locate.words import text_of

VERSION = 2
"""Of the tables and of what is put into them; an index of another version is made anew."""
FIELDS = ("path", "names", "notes", "body")
"""The fields of a file, in the order of their columns."""
RARE = 0.1
"""Share of the files up to which a word that they hold is rare."""
BUSY = 60.0
"""Seconds that another call on the same index is waited for."""
KEPT_AT_ONCE = 100
"""Files that are read between two points from which an interrupted call goes on."""
MOST_TERMS = 400
"""Words of one question."""

_TABLES = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT UNIQUE, stamp TEXT, lines INTEGER);
CREATE TABLE definition (id INTEGER PRIMARY KEY, file INTEGER, name TEXT, first INTEGER, last INTEGER, is_class INTEGER);
CREATE INDEX definition_file ON definition (file);
CREATE TABLE message (id INTEGER PRIMARY KEY, file INTEGER, line INTEGER, text TEXT);
CREATE INDEX message_file ON message (file);
CREATE TABLE built (file INTEGER, line INTEGER, text TEXT, number INTEGER);
CREATE INDEX built_file ON built (file);
CREATE INDEX built_number ON built (number);
CREATE TABLE past (id INTEGER PRIMARY KEY, time INTEGER, fixes INTEGER, subject TEXT);
CREATE TABLE touched (past INTEGER, path TEXT);
CREATE VIRTUAL TABLE file_words USING fts5 (path, names, notes, body, tokenize = 'porter ascii');
CREATE VIRTUAL TABLE definition_words USING fts5 (names, body, tokenize = 'porter ascii');
CREATE VIRTUAL TABLE message_words USING fts5 (text, tokenize = 'porter ascii');
CREATE VIRTUAL TABLE past_words USING fts5 (text, tokenize = 'porter ascii');
"""


@dataclass(frozen=True, slots=True)
class Place:
    """A definition in a file."""

    id: int
    file: int
    name: str
    first: int
    last: int
    is_class: bool


@dataclass(frozen=True, slots=True)
class Change:
    """A past commit: when it was made, its subject, and whether it says that it fixes something."""

    id: int
    time: int
    fixes: bool
    subject: str


class Index:
    """An open index. Close it, or use it in a `with` statement."""

    def __init__(self, database: Path | None = None) -> None:
        """The index in that file, which is made where it does not exist; in memory without one."""
        self._database = sqlite3.connect(
            ":memory:" if database is None else database, timeout=BUSY, isolation_level=None
        )
        self._database.execute("PRAGMA synchronous = OFF")  # what a power cut destroys is made anew
        self._held: dict[str, frozenset[int]] = {}
        if self._kept("version") != str(VERSION):
            self._make()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    # --- what is put in ---

    def update(self, tree: Tree, progress: Callable[[int, int], None] = lambda _done, _all: None) -> int:
        """Read what is new or other than at the last time, forget what is gone; the number of files read."""
        now = tree.stamps()
        had = {path: (number, stamp) for number, path, stamp in self.rows("SELECT id, path, stamp FROM file")}
        changed = [path for path, stamp in now.items() if path not in had or had[path][1] != stamp]
        with self._writing():
            self._forget(number for path, (number, _) in had.items() if now.get(path) != had[path][1])
        for begun in range(0, len(changed), KEPT_AT_ONCE):
            with self._writing():
                for path, text in tree.texts(changed[begun : begun + KEPT_AT_ONCE]):
                    self._add(path, now[path], text)
            progress(min(begun + KEPT_AT_ONCE, len(changed)), len(changed))
        if changed or len(had) != len(now):
            self._clear_known()
        return len(changed)

    def update_history(self, git: Git, until: str) -> None:
        """Read the commits up to `until` that are not known yet."""
        last = self._kept("commit")
        if last == until:
            return
        if last is not None and not git.succeeds("merge-base", "--is-ancestor", last, until):
            last = None
            for table in ("past", "touched", "past_words"):
                self._database.execute(f"DELETE FROM {table}")
        with self._writing():
            for commit in commits(git, until, last):
                subject = commit.message.split("\n", 1)[0]
                number = self._insert("past (time, fixes, subject)", (commit.time, commit.fixes, subject))
                self._database.executemany(
                    "INSERT INTO touched VALUES (?, ?)", [(number, path) for path in commit.files]
                )
                words = text_of(commit.message[:2000])
                self._database.execute("INSERT INTO past_words (rowid, text) VALUES (?, ?)", (number, words))
            self._keep("commit", until)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction: all of it is kept, or nothing where it is interrupted."""
        with self._database:
            self._database.execute("BEGIN")
            yield

    def _add(self, path: str, stamp: str, text: str) -> None:
        made = outline(text)
        number = self._insert("file (path, stamp, lines)", (path, stamp, made.lines))
        fields = (number, text_of(path.removesuffix(".py")), made.names, made.notes, made.body)
        self._database.execute(
            "INSERT INTO file_words (rowid, path, names, notes, body) VALUES (?, ?, ?, ?, ?)", fields
        )
        first = self._next("definition")
        places = [
            (first + i, number, each.name, each.first, each.last, each.is_class)
            for i, each in enumerate(made.definitions)
        ]
        self._database.executemany("INSERT INTO definition VALUES (?, ?, ?, ?, ?, ?)", places)
        said = [(place[0], text_of(place[2]), body) for place, body in zip(places, made.bodies, strict=True)]
        self._database.executemany("INSERT INTO definition_words (rowid, names, body) VALUES (?, ?, ?)", said)
        first = self._next("message")
        raised = [(first + i, number, each.line, each.text) for i, each in enumerate(made.messages)]
        self._database.executemany("INSERT INTO message VALUES (?, ?, ?, ?)", raised)
        told = [(row[0], text_of(row[3])) for row in raised]
        self._database.executemany("INSERT INTO message_words (rowid, text) VALUES (?, ?)", told)
        rows = [(number, each.line, each.text, value) for each in made.built for value in each.numbers]
        self._database.executemany("INSERT INTO built VALUES (?, ?, ?, ?)", rows)

    def _forget(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            for table in ("definition", "message"):
                self._database.execute(
                    f"DELETE FROM {table}_words WHERE rowid IN (SELECT id FROM {table} WHERE file = ?)", (number,)
                )
                self._database.execute(f"DELETE FROM {table} WHERE file = ?", (number,))
            self._database.execute("DELETE FROM built WHERE file = ?", (number,))
            self._database.execute("DELETE FROM file_words WHERE rowid = ?", (number,))
            self._database.execute("DELETE FROM file WHERE id = ?", (number,))

    def _next(self, table: str) -> int:
        """The next free number of a table."""
        found: int = self._database.execute(f"SELECT coalesce(max(id), 0) + 1 FROM {table}").fetchone()[0]
        return found

    def _insert(self, into: str, row: Sequence[object]) -> int:
        marks = ", ".join("?" * len(row))
        return self._database.execute(f"INSERT INTO {into} VALUES ({marks})", row).lastrowid or 0

    def _make(self) -> None:
        for (name,) in self.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%'"):
            self._database.execute(f"DROP TABLE {name}")
        for (name,) in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'"):
            self._database.execute(f"DROP TABLE {name}")
        self._database.executescript(_TABLES)
        self._keep("version", str(VERSION))

    def _kept(self, key: str) -> str | None:
        try:
            found = self._database.execute("SELECT value FROM about WHERE key = ?", (key,)).fetchone()
        except sqlite3.OperationalError:
            return None
        return None if found is None else str(found[0])

    def _keep(self, key: str, value: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (key, value))

    # --- what is asked ---

    def rows(self, question: str, given: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of a question to the tables."""
        return self._database.execute(question, given).fetchall()

    @cached_property
    def paths(self) -> dict[int, str]:
        """The path of each file."""
        return dict(self._database.execute("SELECT id, path FROM file"))

    @cached_property
    def lines(self) -> dict[int, int]:
        """The number of lines of each file."""
        return dict(self._database.execute("SELECT id, lines FROM file"))

    @cached_property
    def definitions(self) -> dict[int, Place]:
        """The definitions of all files."""
        found = self._database.execute("SELECT id, file, name, first, last, is_class FROM definition")
        return {row[0]: Place(row[0], row[1], row[2], row[3], row[4], bool(row[5])) for row in found}

    @cached_property
    def by_name(self) -> dict[str, list[Place]]:
        """Definitions by the last part of their name."""
        found: dict[str, list[Place]] = {}
        for place in self.definitions.values():
            found.setdefault(place.name.rpartition(".")[2], []).append(place)
        return found

    def in_file(self, file: int) -> list[Place]:
        """The definitions of one file."""
        return self._by_file.get(file, [])

    @cached_property
    def _by_file(self) -> dict[int, list[Place]]:
        found: dict[int, list[Place]] = {}
        for place in self.definitions.values():
            found.setdefault(place.file, []).append(place)
        return found

    def message(self, number: int) -> tuple[int, int, str]:
        """(file, line, text) of a message."""
        found: tuple[int, int, str] = self._database.execute(
            "SELECT file, line, text FROM message WHERE id = ?", (number,)
        ).fetchone()
        return found

    @cached_property
    def past(self) -> dict[int, Change]:
        """The commits."""
        found = self._database.execute("SELECT id, time, fixes, subject FROM past")
        return {row[0]: Change(*row) for row in found}

    @cached_property
    def touched(self) -> list[tuple[int, str]]:
        """(commit, path) of all commits."""
        return list(self._database.execute("SELECT past, path FROM touched"))

    def rare(self, file: int, asked: Sequence[str]) -> list[str]:
        """Those of the words that the file and few others hold, the rarest first."""
        found = []
        for word in asked:
            holders = self._holders(word)
            if file in holders and len(holders) <= max(1, len(self.paths) * RARE):
                found.append((len(holders), word))
        return [word for _, word in sorted(found)]

    def _holders(self, word: str) -> frozenset[int]:
        if word not in self._held:
            rows = self._database.execute("SELECT rowid FROM file_words WHERE file_words MATCH ?", (f'"{word}"',))
            self._held[word] = frozenset(row[0] for row in rows)
        return self._held[word]

    def _clear_known(self) -> None:
        for name in ("paths", "lines", "definitions", "by_name", "_by_file", "past", "touched"):
            self.__dict__.pop(name, None)
        self._held.clear()

    def holding(self, table: str, phrase: str) -> list[int]:
        """The rows of a table of words whose body has these words one after the other."""
        match = f'body : "{phrase}"'
        return [row[0] for row in self._database.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH ?", (match,))]

    def alike(self, table: str, terms: Sequence[str], weights: Sequence[float] = ()) -> Iterator[tuple[int, float]]:
        """(row, BM25) of the rows of a table of words that hold any of the words; a weight for each of its fields."""
        if not terms:
            return
        match = " OR ".join(f'"{term}"' for term in terms[:MOST_TERMS])
        columns = "".join(f", {weight}" for weight in weights)
        found = self._database.execute(
            f"SELECT rowid, -bm25({table}{columns}) FROM {table} WHERE {table} MATCH ?", (match,)
        )
        yield from found
