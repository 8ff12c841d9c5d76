"""The first phase of the bot: runs the programs of a checkout in the sandbox and writes the report, without a token."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dnnfix import config
from dnnfix.bot import report as reports
from dnnfix.bot.changed import touched
from dnnfix.bot.entries import Entry, is_program, programs, tells_of_programs
from dnnfix.bot.pins import REQUIREMENTS
from dnnfix.bot.proposable import proposable
from dnnfix.bot.settings import asked
from dnnfix.config import Settings
from dnnfix.emit import contract
from dnnfix.emit.hunks import sections
from dnnfix.emit.view import View, member_id, view
from dnnfix.errors import EnvironmentProblem, InputError
from dnnfix.forge.git import Git
from dnnfix.records import FileReport, Report
from dnnfix.suppress import path_matches

BUDGET = 1800.0
"""Seconds for a whole repository."""

CONFINED = {"sandbox": "bubblewrap"}
"""The bot runs programs of strangers: no weaker confinement will do."""

MOST_FILE = 4 * 2**20
"""Bytes of a file beyond which it is data."""


def analyse(
    checkout: Path,
    slug: str,
    overrides: Mapping[str, object],
    budget: float,
    progress: Callable[[str], None],
    since: str = "",
) -> str:
    """The report of a checkout as a JSON string, at the commit that is checked out.

    `overrides` are settings of the command line, paths in them absolute; what the repository says about itself counts below them. A
    program that the budget (in seconds) leaves no time for is named under `left_out`, one that no change after the commit `since` can be felt in
    under `unchanged`. Raises `ForgeError` where the folder is no
    checkout, and `InputError` where it is a part of one, or where the interpreter is a file of the repository.
    """
    git = Git(checkout)
    commit = git.run("rev-parse", "HEAD").strip()
    if git.run("rev-parse", "--show-prefix").strip():
        raise InputError(f"{checkout}: is a folder inside of a repository. Name the top of it.")
    python = overrides.get("python")
    if python is not None and _lies_in(Path(str(python)).absolute(), checkout.absolute()):
        raise InputError(
            f"{python}: is a file of the repository, which is not trusted. Name an interpreter outside of it."
        )
    blobs, files = _files(git, checkout)
    with contextlib.chdir(checkout):
        said = asked(git, commit, slug)
        given = {**overrides, **CONFINED}
        settings = config.freeze(config.merge(said.itself, given), Path.cwd(), said.origin, config.merge({}, given))
        kept = {path: raw for path, raw in files.items() if not _is_excluded(path, settings)}
        found = programs(kept)
        again, note = _again(git, kept, since)
        entries = tuple(entry for entry in found.entries if entry.path in again)
        others = tuple(path for path in found.others if path in again)
        looked = _looked_at(entries, others, settings, budget, progress)
    not_read = [f"{said.origin}: the bot does not read `{key}` of a repository" for key in said.not_read]
    document = contract.document(Report(tuple(looked.files), (), (*note, *not_read, *looked.unchecked)), looked.views)
    proposed = list(proposable(looked.files, kept))
    beside = {
        "programs": [entry.path for entry in found.entries],
        "left_out": looked.left_out,
        "unchanged": sorted({path for path in kept if is_program(path)} - again),
        "titles": {member_id(file, patch.id): patch.candidate.title for file, patch in proposed},
        "certificates": {
            member_id(file, patch.id): Path(patch.certificate).read_text(encoding="utf-8")
            for file, patch in proposed
            if patch.certificate is not None
        },
        "blobs": {path: blobs[path] for _, patch in proposed for path in sections(patch.diff) if path in blobs},
    }
    return reports.written(slug, commit, document, beside)


@dataclass(frozen=True, slots=True)
class _Looked:
    """The report of each program, and the programs that could not be analysed."""

    files: list[FileReport] = field(default_factory=list)
    views: dict[str, View] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def add(self, path: str, raw: bytes, report: FileReport) -> None:
        """Take the report of a program."""
        self.files.append(report)
        self.views[path] = view(raw, path)
        if report.unrun:
            self.left_out.append(path)

    @contextlib.contextmanager
    def telling(self, path: str) -> Iterator[None]:
        """A block in which an error of one program is recorded for the report; errors of the machine are raised."""
        try:
            yield
        except EnvironmentProblem:
            raise
        except Exception as error:  # noqa: BLE001 - programs of strangers: whatever one of them does to us, the others are looked at
            told = str(error) or type(error).__name__
            self.unchecked.append(told if told.startswith(path) else f"{path}: {told}")
            self.left_out.append(path)


def _again(git: Git, files: Mapping[str, bytes], since: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """The files to look at for what came after a commit, all where it is not known; and what there is to say about that."""
    everything = frozenset(path for path in files if is_program(path))
    if not since:
        return everything, ()
    if not git.succeeds("cat-file", "-e", f"{since}^{{commit}}"):
        return everything, (f"the commit {since} is not there any more, so everything was looked at",)
    changed = git.run("diff", "--name-only", "-z", "--no-renames", since, "HEAD").split("\0")
    return touched(files, frozenset(filter(None, changed))), ()


def _looked_at(
    entries: tuple[Entry, ...],
    others: tuple[str, ...],
    settings: Settings,
    budget: float,
    progress: Callable[[str], None],
) -> _Looked:
    from dnnfix import pipeline

    looked = _Looked()
    deadline = time.monotonic() + budget
    for number, entry in enumerate(entries, 1):
        left = deadline - time.monotonic()
        if left <= 0:
            looked.unchecked.append(f"{entry.path}: the time for this repository was used up")
            looked.left_out.append(entry.path)
            continue
        said = f"{entry.path} ({number} of {len(entries)})"
        own = replace(settings, arguments=entry.arguments or settings.arguments, budget=min(settings.budget, left))
        with looked.telling(entry.path):
            raw = Path(entry.path).read_bytes()
            told = functools.partial(_passed_on, progress, said)
            looked.add(entry.path, raw, pipeline.suggest_file(raw, entry.path, own, told))
    for path in others:
        with looked.telling(path):
            raw = Path(path).read_bytes()
            looked.add(path, raw, pipeline.check_file(raw, path, settings, patches=False))
    return looked


def _passed_on(progress: Callable[[str], None], said: str, text: str) -> None:
    progress(f"{said}: {text}")


def _lies_in(file: Path, folder: Path) -> bool:
    """Whether a file lies in a folder, or what it is a link to does: an interpreter takes its packages from where its link lies."""
    return any(one.is_relative_to(top) for one in (file, file.resolve()) for top in (folder, folder.resolve()))


def _is_excluded(path: str, settings: Settings) -> bool:
    return any(path_matches(path, pattern, settings.root) for pattern in settings.exclude)


def _files(git: Git, checkout: Path) -> tuple[dict[str, str], dict[str, bytes]]:
    """The objects and the bytes of the regular files of the checkout that may be programs, tell of them or of versions; others in it do not count."""
    blobs, files = {}, {}
    for line in filter(None, git.run("ls-files", "-s", "-z").split("\0")):
        about, _, path = line.partition("\t")
        mode, blob, _ = about.split()
        place = checkout / path
        counts = tells_of_programs(path) or REQUIREMENTS.fullmatch(place.name)
        if not mode.startswith("100") or not counts or place.is_symlink() or not place.is_file():
            continue
        if place.stat().st_size <= MOST_FILE:
            blobs[path], files[path] = blob, place.read_bytes()
    return blobs, files
