"""The first phase: run the programs of a checkout in the sandbox and say what was found. It has no token and needs none."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from dnnfix import config
from dnnfix.bot import report as reports
from dnnfix.bot.entries import Entry, programs
from dnnfix.config import Settings
from dnnfix.emit import contract
from dnnfix.emit.view import View, member_id, view
from dnnfix.errors import BudgetExceeded, EditError, InputError
from dnnfix.forge.git import Git
from dnnfix.records import FileReport, PatchVerdict, Report
from dnnfix.run.secret import looks_secret

BUDGET = 1800.0
"""Seconds for a whole repository."""

FROM_REPOSITORY = (
    "select", "extend-select", "ignore", "fixable", "unfixable", "per-file-ignores", "exclude", "seed"
)  # fmt: skip
"""Settings that a repository may make about itself: none of them names what is run, or where."""

KEYS = ("_KEY", "_KEY_ID", "_PAT")
"""Ends of names of variables that hold a secret, beside those that secret files have."""

MOST_FILE = 4 * 2**20
"""Bytes of a file beyond which it is data."""


def analyse(
    checkout: Path, slug: str, overrides: Mapping[str, object], budget: float, progress: Callable[[str], None]
) -> str:
    """The report of a checkout as text, at the commit that is checked out.

    `overrides` are settings of the command line; those of the repository count below them, and cannot weaken the sandbox. A program
    that the budget (in seconds) leaves no time for is named under `unchecked`. Raises `ForgeError` where the folder is no checkout.
    """
    git = Git(checkout)
    commit = git.run("rev-parse", "HEAD").strip()
    found = programs(_files(git, checkout))
    with contextlib.chdir(checkout), _without_secrets():
        settings, not_read = _settings(overrides)
        files, views, unchecked = _looked_at(found.entries, found.others, settings, budget, progress)
    document = contract.document(Report(tuple(files), (), (*not_read, *unchecked)), views)
    shown = [(file, patch) for file in files for patch in file.patches if patch.verdict is not PatchVerdict.REJECTED]
    extra = {
        "titles": {member_id(file, patch.id): patch.candidate.title for file, patch in shown},
        "certificates": {
            member_id(file, patch.id): Path(patch.certificate).read_text(encoding="utf-8")
            for file, patch in shown
            if patch.certificate is not None
        },
    }
    return reports.written(slug, commit, document, [entry.path for entry in found.entries], extra)


def _settings(overrides: Mapping[str, object]) -> tuple[Settings, list[str]]:
    """The settings for the repository in the working folder, and what of its own configuration is not read."""
    found = config.configuration_in(Path.cwd())
    table = config.merge(config.read(found), {}) if found is not None else {}
    read = {key: value for key, value in table.items() if key in FROM_REPOSITORY}
    not_read = [
        f"{found.name}: the bot does not read `{key}` of a repository" for key in table if found and key not in read
    ]
    origin = str(found.name) if found is not None else config.COMMAND_LINE
    return config.freeze(config.merge(read, overrides), Path.cwd(), origin, config.merge({}, overrides)), not_read


def _looked_at(
    entries: tuple[Entry, ...],
    others: tuple[str, ...],
    settings: Settings,
    budget: float,
    progress: Callable[[str], None],
) -> tuple[list[FileReport], dict[str, View], list[str]]:
    from dnnfix import pipeline

    files: list[FileReport] = []
    views: dict[str, View] = {}
    unchecked: list[str] = []
    deadline = time.monotonic() + budget
    for number, entry in enumerate(entries, 1):
        left = deadline - time.monotonic()
        if left <= 0:
            unchecked.append(f"{entry.path}: the time for this repository was used up")
            continue
        said = f"{entry.path} ({number} of {len(entries)})"
        own = replace(settings, arguments=entry.arguments or settings.arguments, budget=min(settings.budget, left))
        with _told(entry.path, unchecked):
            raw = Path(entry.path).read_bytes()
            files.append(pipeline.suggest_file(raw, entry.path, own, functools.partial(_passed_on, progress, said)))
            views[entry.path] = view(raw, entry.path)
    for path in others:
        with _told(path, unchecked):
            raw = Path(path).read_bytes()
            files.append(pipeline.check_file(raw, path, settings, patches=False))
            views[path] = view(raw, path)
    return files, views, unchecked


def _passed_on(progress: Callable[[str], None], said: str, text: str) -> None:
    progress(f"{said}: {text}")


@contextlib.contextmanager
def _told(path: str, unchecked: list[str]) -> Iterator[None]:
    """What goes wrong with one program is said of it, and the others go on."""
    try:
        yield
    except (InputError, BudgetExceeded, EditError, OSError) as error:
        said = str(error)
        unchecked.append(said if said.startswith(path) else f"{path}: {said}")


def _files(git: Git, checkout: Path) -> dict[str, bytes]:
    """The regular files that git has of the checkout, as far as they may be programs or tell of them."""
    listed = git.run("ls-files", "-s", "-z").split("\0")
    found = {}
    for line in filter(None, listed):
        mode, _, path = line.partition(" ")[0], *line.partition("\t")[1:]
        place = checkout / path
        if mode.startswith("100") and not place.is_symlink() and place.is_file() and place.stat().st_size <= MOST_FILE:
            found[path] = place.read_bytes()
    return found


@contextlib.contextmanager
def _without_secrets() -> Iterator[None]:
    """Nothing that runs meanwhile inherits a token: what looks like one is taken out of the environment."""
    taken = {name: os.environ.pop(name) for name in list(os.environ) if looks_secret(name) or name.endswith(KEYS)}
    try:
        yield
    finally:
        os.environ.update(taken)
