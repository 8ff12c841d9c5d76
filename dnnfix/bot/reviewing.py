"""Publishes the review of a person's pull request by a report. It has the token, and runs no code of the repository."""

from __future__ import annotations

import tempfile
from pathlib import Path

from dnnfix.bot.policy import forbids
from dnnfix.bot.publish import Published
from dnnfix.bot.report import Analysis
from dnnfix.bot.review import Changed, Review, changed_lines, not_reviewed, review
from dnnfix.bot.settings import BotSettings, heeded
from dnnfix.errors import BotReportError, ForgeError
from dnnfix.forge.git import Git, changes, fetched, with_history
from dnnfix.forge.protocol import Forge, Remote, Repository, Reviewed

PROGRAMS = "*.py"
"""What is reviewed: in a notebook's file no person reads lines."""


def wants_review(forge: Forge, slug: str, number: int, *, by_person: bool = False) -> tuple[str, Reviewed]:
    """Why a pull request is not reviewed, before anything of it is analysed, empty where it is; and the pull request."""
    repository, reviewed, remote = forge.repository(slug), forge.reviewed(slug, number), forge.remote(slug)
    with tempfile.TemporaryDirectory(prefix="dnnfix-bot-") as folder:
        return _unwanted(repository, reviewed, remote, Path(folder), by_person=by_person)[0], reviewed


def review_pull(forge: Forge, slug: str, number: int, analysis: Analysis, *, by_person: bool = False) -> Published:
    """Comment on a pull request of the repository `slug`, and resolve what is settled there; doing it twice changes nothing.

    `by_person` says that a person asks for it, whether or not the repository has a table `[bot]`. Raises `BotReportError` for the
    analysis of another repository, `ForgeError`, and `ConfigError` for settings that make no sense.
    """
    if analysis.slug != slug:
        raise BotReportError(f"the report is of {analysis.slug}, and is to be published in {slug}.")
    repository, reviewed, remote = forge.repository(slug), forge.reviewed(slug, number), forge.remote(slug)
    with tempfile.TemporaryDirectory(prefix="dnnfix-bot-") as folder:
        said, settings = _unwanted(repository, reviewed, remote, Path(folder), by_person=by_person)
        if said:
            return Published(left=[said])
        git, (base, head) = with_history(remote, Path(folder, "whole.git"), reviewed.base, reviewed.head)
        if head != analysis.commit:
            return Published(left=[f"its newest commit is {head}, and {analysis.commit} was analysed"])
        todo = review(reviewed, analysis, _changed(git, base, head, analysis), settings)
    return _carried_out(forge, slug, number, analysis.commit, todo)


def _unwanted(
    repository: Repository, reviewed: Reviewed, remote: Remote, folder: Path, *, by_person: bool
) -> tuple[str, BotSettings]:
    """Why a pull request is not reviewed, and what the default branch of the repository says of reviews."""
    git, newest = fetched(remote, folder / "newest.git", repository.default_branch)
    settings = heeded(git, newest, repository.slug, by_person=by_person)
    return not_reviewed(repository, reviewed, settings, forbids(git, newest)), settings


def _changed(git: Git, base: str, head: str, analysis: Analysis) -> dict[str, Changed]:
    """The files that are changed and have findings, as the head has them; links and submodules are none."""
    found = {}
    lines = changed_lines(changes(git, base, head, PROGRAMS))
    for path in lines.keys() & {fault.path for fault in analysis.findings}:
        file = git.regular_file(head, path)
        if file is not None:
            found[path] = Changed(lines[path], file[1], git.run_bytes("cat-file", "blob", file[1]))
    return found


def _carried_out(forge: Forge, slug: str, number: int, commit: str, todo: Review) -> Published:
    said = Published()
    if todo.remarks:
        forge.review(slug, number, commit, todo.body, todo.remarks)
        said.done.append(f"commented on {number}: {', '.join(f'{one.path}:{one.first}' for one in todo.remarks)}")
    for thread in todo.resolved:
        try:
            forge.resolve(slug, number, thread.id)
        except ForgeError as error:
            said.left.append(f"a comment on {thread.path} whose fault is gone: {error}")
        else:
            said.done.append(f"resolved a comment of {number} on {thread.path}")
    return said
