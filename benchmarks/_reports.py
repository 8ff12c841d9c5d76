"""The set of restated reports (`benchmarks/locate/reports.jsonl`), and what the evidence of `dnnfix.locate` says of each.

Every report is told in our own words from the facts of a public one, whose address it has, with the commit that mended it. The
repositories themselves are not in the set: FOLDER holds their clones with history, as `OWNER+NAME` or `OWNER+NAME/repo`.
"""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from dnnfix.forge.git import Git
from dnnfix.locate.index import Index
from dnnfix.locate.question import Question, Scores
from dnnfix.locate.ranking import (
    FILE,
    KINDS,
    KINDS_OF_DEFINITIONS,
    SEARCHED,
    definition_scores,
    file_scores,
    ranked_files,
)
from dnnfix.locate.said import said
from dnnfix.locate.spectra.spectrum import Spectrum, spectrum
from dnnfix.locate.tree import Revision

REPORTS = Path(__file__).with_name("locate") / "reports.jsonl"
DAY = 86_400.0
LOOKED_AT = 3 * SEARCHED
"""Files whose definitions are kept: whatever weights are fitted later, the best files are among them."""

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Report:
    """A restated report, the commit before its fix, the fix, and the files that it changed (tests aside)."""

    repository: str
    issue: int
    written: float
    version: str
    fix: str
    files: tuple[str, ...]
    text: str

    @property
    def name(self) -> str:
        """How the report is called."""
        return f"{self.repository}#{self.issue}"


@dataclass(frozen=True)
class Table:
    """Evidence for the candidates of one report: a row each, a column for each kind, each column divided by its greatest."""

    report: Report
    values: Any
    right: Any
    seconds: float = 0.0
    """What the evidence took to gather."""
    files: Any = None
    """The row of its file, for each definition."""
    paths: tuple[str, ...] = ()
    """The path of each file."""
    changed: int = 0
    """How many definitions the fix changed, whether they are among the rows or not."""


def reports(path: Path = REPORTS) -> list[Report]:
    """The reports of the set."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        files = tuple(entry["files"])
        written = time.mktime(time.strptime(entry["written"], "%Y-%m-%d")) + DAY
        found.append(
            Report(entry["repository"], entry["issue"], written, entry["version"], entry["fix"], files, entry["report"])
        )
    return found


def by_repository(every: Iterable[Report]) -> Mapping[str, Sequence[Report]]:
    """The reports of each repository."""
    found: dict[str, list[Report]] = defaultdict(list)
    for report in every:
        found[report.repository].append(report)
    return found


def clone(folder: Path, repository: str) -> Git:
    """Git in the clone of a repository. Ends the program where there is none."""
    place = folder / repository.replace("/", "+")
    for each in (place, place / "repo", place / "repo" / ".git"):
        if (each / "HEAD").exists() or (each / ".git").exists():
            return Git(each)
    raise SystemExit(f"{place}: no clone of https://github.com/{repository} there. Make one, with its history.")


def spectrum_of(folder: Path | None, report: Report) -> Spectrum | None:
    """The spectrum of the tests of a fix in the version before it, where it was taken: `OWNER+NAME-ISSUE.json`, as the plugin writes it."""
    if folder is None:
        return None
    file = folder / f"{report.repository.replace('/', '+')}-{report.issue}.json"
    return spectrum(json.loads(file.read_bytes())) if file.is_file() else None


def questions(
    folder: Path, repository: str, own: Sequence[Report], spectra: Path | None = None
) -> Iterator[tuple[Report, Question, Git]]:
    """Each report of a repository as a question to the index of the version that it was mended in."""
    git = clone(folder, repository)
    with Index() as index:
        index.update_history(git, git.run("rev-parse", "HEAD").strip())
        # In the order of their versions, so that little is read again from one to the next.
        for report in sorted(own, key=lambda each: int(git.run("log", "-1", "--format=%ct", each.version))):
            tree = Revision(git, report.version)
            index.update(tree)
            seen = spectrum_of(spectra, report)
            yield report, Question(said(report.text), index, report.written, seen, tree.texts), git


def tables(
    folder: Path, every: Sequence[Report], spectra: Path | None = None, jobs: int = 2
) -> tuple[list[Table], list[Table]]:
    """The evidence for files and for definitions of each report, in the same order."""
    groups = sorted(by_repository(every).items(), key=lambda each: -len(each[1]))
    with ProcessPoolExecutor(jobs) as pool:
        done = list(
            pool.map(_of_repository, *zip(*((folder, name, own, spectra) for name, own in groups), strict=True))
        )
    return [each for files, _ in done for each in files], [each for _, definitions in done for each in definitions]


def _of_repository(
    folder: Path, repository: str, own: Sequence[Report], spectra: Path | None
) -> tuple[list[Table], list[Table]]:
    files, definitions = [], []
    for report, question, git in questions(folder, repository, own, spectra):
        paths = question.index.paths
        right = {number for number, path in paths.items() if path in report.files}
        if not right:
            continue
        begun = time.perf_counter()
        evidence = file_scores(question)
        seconds = time.perf_counter() - begun
        numbers = list(paths)
        right_rows = np.isin(numbers, list(right))
        files.append(Table(report, _values(evidence, numbers), right_rows, seconds, paths=tuple(paths.values())))
        row = {number: i for i, number in enumerate(numbers)}
        among = [place for file in ranked_files(question)[:LOOKED_AT] for place in question.index.in_file(file.number)]
        held = [place.id for place in among]
        changed = _changed(git, report, question)
        values = _values([*definition_scores(question), Scores(FILE, {})], held)
        of_file = np.array([row[place.file] for place in among], dtype=int)
        definitions.append(Table(report, values, np.isin(held, list(changed)), seconds, of_file, changed=len(changed)))
    return files, definitions


def columns_of() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """(module, name) of each kind of evidence, in the order of the columns, for files and for definitions."""
    with Index() as index:
        question = Question(said(""), index, 0.0)
        files = [(_module(kind), scores.name) for kind in KINDS for scores in kind.evidence(question)]
        definitions = [
            (_module(kind), scores.name) for kind in KINDS_OF_DEFINITIONS for scores in kind.of_definitions(question)
        ]
    return files, [*definitions, ("ranking", FILE)]


def _module(kind: ModuleType) -> str:
    return kind.__name__.rpartition(".")[2]


def _values(evidence: Sequence[Scores], numbers: Sequence[int]) -> Any:
    row = {number: i for i, number in enumerate(numbers)}
    values = np.zeros((len(numbers), len(evidence)), dtype=np.float32)
    for column, scores in enumerate(evidence):
        greatest = max(scores.of.values(), default=0.0)
        if greatest > 0:
            for number, score in scores.of.items():
                if number in row:
                    values[row[number], column] = score / greatest
    return values


def _changed(git: Git, report: Report, question: Question) -> set[int]:
    """The definitions that the fix changed lines of, each line in its innermost one."""
    found: set[int] = set()
    by_path = {path: number for number, path in question.index.paths.items()}
    for path in report.files:
        if path not in by_path:
            continue
        places = question.index.in_file(by_path[path])
        shown = git.run("diff", "-U0", "-M", report.version, report.fix, "--", path)
        for match in _HUNK.finditer(shown):
            first, count = int(match[1]), int(match[2] or 1)
            for line in range(first, first + max(1, count)):
                around = [place for place in places if place.first <= line <= place.last]
                if around:
                    found.add(min(around, key=lambda place: place.last - place.first).id)
    return found
