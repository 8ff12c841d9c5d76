"""From a report to places: brings the index up to date, asks it, and says why."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from dnnfix.errors import InputError
from dnnfix.forge.git import Git
from dnnfix.locate.answer import Line, Located, Suspect, SuspectFile
from dnnfix.locate.evidence import executed, frames, layers, messages, quoted
from dnnfix.locate.index import Index
from dnnfix.locate.lacking import lacking
from dnnfix.locate.question import Question
from dnnfix.locate.ranking import Ranked, ranked_definitions, ranked_files
from dnnfix.locate.said import LONGEST, said
from dnnfix.locate.spectra import spectrum
from dnnfix.locate.tree import Folder, Revision, Tree, history_of
from dnnfix.locate.triage import triaged
from dnnfix.locate.words import words

SHARED_WORDS = 5
"""Words that a file shares with the report which are named as a reason."""
SHORTEST = 4
"""Letters of such a word: in a small repository few files hold words of grammar."""
SUSPECTS = 3
"""Definitions that are shown of a file."""
LEAST_WORDS = 3
"""Words below which a report says nothing."""

Progress = Callable[[str], None]


def locate(
    text: str,
    name: str,
    folder: Path,
    *,
    cache: Path | None = None,
    revision: str | None = None,
    written: float | None = None,
    top: int = 10,
    tests: str | None = None,
    seconds: float = 600.0,
    progress: Progress = lambda _text: None,
) -> Located:
    """The places of a repository that a report is about.

    `name` is how the report is called in messages, `written` when it was written (seconds since 1970; now): nothing that
    the history says of later times is used. `cache` is the folder in which indexes are kept. `tests` is a command that calls
    pytest on tests of which some show the fault: what they execute is evidence then, and may take so many `seconds`. Raises `InputError`.
    """
    report = said(text)
    if sum(1 for _ in words(report.whole)) < LEAST_WORDS:
        raise InputError(
            f"{name}: the report says nothing that could be looked for. Give its text: title, message, traceback."
        )
    git = history_of(folder)
    tree, commit = _tree(folder, git, revision)
    seen = None
    if tests is not None:
        progress("running the tests")
        seen = spectrum.run(tests, folder, seconds)
    with _kept(cache, folder, revision) as index:
        index.update(tree, lambda done, all_: progress(f"reading files: {done} of {all_}"))
        if not index.paths:
            raise InputError(f"{folder}: holds no Python files but tests. Give the root of the repository.")
        if git is not None:
            progress("reading the history")
            index.update_history(git, commit or git.run("rev-parse", "HEAD").strip())
        progress("ranking")
        question = Question(report, index, time.time() if written is None else written, seen, tree.texts)
        files = ranked_files(question)
        definitions = ranked_definitions(question, files)
        lines = _lines(question)
        shown = tuple(_file(question, ranked, definitions, lines.get(ranked.number, ())) for ranked in files[:top])
    return Located(
        name,
        str(folder),
        commit or "",
        len(files),
        shown,
        triaged(report, str(folder.resolve())),
        lacking(report.report, text),
        tuple(_remarks(text, report.whole, folder, git)),
    )


def _remarks(text: str, whole: str, folder: Path, git: Git | None) -> Iterator[str]:
    if len(text) > LONGEST:
        yield f"the report has {len(text):,} characters, of which the first and last {LONGEST // 2:,} were read"
    letters = [letter for letter in whole if letter.isalpha()]
    if letters and sum(letter.isascii() for letter in letters) < len(letters) / 2:
        yield "the report is in another alphabet: only the code, names and messages in it could be compared"
    if git is None:
        yield f"{folder} has no git history: what was changed and mended before is not known"
    elif git.run("rev-parse", "--is-shallow-repository").strip() == "true":
        yield f"{folder} was cloned without all of its history: what was changed and mended earlier is not known"


def _tree(folder: Path, git: Git | None, revision: str | None) -> tuple[Tree, str | None]:
    if revision is None:
        return Folder(folder), None
    if git is None:
        raise InputError(f"{folder}: is in no git repository, so that there is no revision {revision!r}.")
    found = Revision(git, revision)
    return found, found.commit


@contextmanager
def _kept(cache: Path | None, folder: Path, revision: str | None) -> Iterator[Index]:
    """The index that is kept for a folder; one that is damaged is thrown away, and one that cannot be kept is made in memory."""
    if cache is None:
        with Index() as index:
            yield index
        return
    place = blake2b(f"{folder.resolve()}\0{revision is not None}".encode("utf-8", "surrogateescape"), digest_size=8)
    file = cache / f"locate-{place.hexdigest()}.sqlite"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        found = Index(file)
    except (
        OSError,
        sqlite3.OperationalError,
    ):  # a folder that is not writable, or another call that works on it for long
        found = Index()
    except sqlite3.DatabaseError:
        file.unlink(missing_ok=True)
        found = Index(file)
    try:
        with found:
            yield found
    except sqlite3.DatabaseError as error:
        raise InputError(f"{file}: the index is damaged ({error}). Delete it: it is made anew.") from None


def _file(question: Question, ranked: Ranked, definitions: Sequence[Ranked], lines: Sequence[Line]) -> SuspectFile:
    index = question.index
    own = [each for each in definitions if index.definitions[each.number].file == ranked.number][:SUSPECTS]
    shared = ", ".join(_shared(question, ranked.number))
    reasons = (*ranked.reasons, *([f"shares the words {shared}"] if shared else []))
    return SuspectFile(
        index.paths[ranked.number],
        ranked.share,
        reasons,
        tuple(_suspect(question, each) for each in own),
        tuple(lines),
    )


def _suspect(question: Question, ranked: Ranked) -> Suspect:
    place = question.index.definitions[ranked.number]
    return Suspect(place.name, place.first, place.last, ranked.share, ranked.reasons)


def _lines(question: Question) -> Mapping[int, list[Line]]:
    """The lines that are pointed at, by file; each once, with all that points at it."""
    found: dict[int, dict[tuple[int, int], dict[str, None]]] = {}
    for kind in (frames, quoted, messages, layers, executed):
        for file, line in kind.lines(question):
            found.setdefault(file, {}).setdefault((line.first, line.last), {})[line.reason] = None
    return {
        file: [Line(*place, "; ".join(reasons)) for place, reasons in places.items()] for file, places in found.items()
    }


def _shared(question: Question, file: int) -> Iterable[str]:
    """The words of the report that the file holds and few others do, the rarest first."""
    asked = dict.fromkeys(words(f"{question.said.title} {question.said.prose} {question.said.message}"))
    return question.index.rare(file, [word for word in asked if len(word) >= SHORTEST])[:SHARED_WORDS]
