"""The second phase: from a report to pull requests. It has the token, and runs nothing of the repository.

Commits are made from objects of git, without a working tree. The branch is pushed before the pull request is opened, and both carry
the identity of what they are about: a publishing that was ended in between is taken up by the next one, and opens no second one.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from dnnfix.bot.body import body, commit_message, title
from dnnfix.bot.plan import GONE, Plan, plan
from dnnfix.bot.proposal import Proposal, members_of
from dnnfix.bot.report import Analysis
from dnnfix.bot.settings import FILES, BotSettings, settings_of
from dnnfix.emit import hunks
from dnnfix.errors import ForgeError, InputError
from dnnfix.forge.git import EMAIL, Git, fetched
from dnnfix.forge.protocol import Forge, Repository

REGULAR = ("100644", "100755")
"""Modes of files that a patch may change: no links, no submodules."""


class Branch(Enum):
    """What became of the branch of a proposal."""

    MADE = auto()
    THERE = auto()
    LEFT = auto()


@dataclass(frozen=True, slots=True)
class Published:
    """What was done in one repository, a sentence each."""

    done: tuple[str, ...]
    left: tuple[str, ...]


def publish(
    forge: Forge,
    analysis: Analysis,
    *,
    push: bool = True,
    asked: bool = False,
    clock: Callable[[], float] = time.time,
) -> Published:
    """Open, renew and close what the plan says; doing it twice changes nothing.

    `push` is off for a dry run; `asked` says that a person asks for this repository, whether or not it has a table `[bot]`. Raises
    `ForgeError`, and `ConfigError` for settings of the repository that make no sense.
    """
    repository = forge.repository(analysis.slug)
    with tempfile.TemporaryDirectory(prefix="dnnfix-bot-") as folder:
        git = fetched(forge.remote(analysis.slug), Path(folder, "repository.git"), repository.default_branch)
        head = git.run("rev-parse", f"refs/remotes/origin/{repository.default_branch}").strip()
        settings = _settings(git, head, repository)
        if asked and not settings.enabled:
            settings = BotSettings(enabled=True)
        pulls = forge.pulls(analysis.slug)
        todo = plan(repository, analysis, pulls, settings, clock())
        return _carried_out(forge, repository, git, head, analysis, todo, settings, push)


def enabled(forge: Forge, repository: Repository) -> bool:
    """Whether a repository asks for the bot: nothing of one that does not is run. Raises `ConfigError` as `publish` does."""
    with tempfile.TemporaryDirectory(prefix="dnnfix-bot-") as folder:
        git = fetched(forge.remote(repository.slug), Path(folder, "repository.git"), repository.default_branch)
        return _settings(git, f"refs/remotes/origin/{repository.default_branch}", repository).enabled


def _settings(git: Git, head: str, repository: Repository) -> BotSettings:
    for path in FILES:
        if git.succeeds("cat-file", "-e", f"{head}:{path}"):
            return settings_of(git.run_bytes("cat-file", "blob", f"{head}:{path}"), f"{repository.slug}: {path}")
    return BotSettings()


def _carried_out(
    forge: Forge,
    repository: Repository,
    git: Git,
    head: str,
    analysis: Analysis,
    todo: Plan,
    settings: BotSettings,
    push: bool,
) -> Published:
    slug, done, left = repository.slug, list[str](), list(todo.left)
    if analysis.unproven:
        left.append(f"{analysis.unproven} findings without a proven patch, which nobody is bothered with")
    for pull in todo.closed if head == analysis.commit else ():
        forge.update_pull(slug, pull.number, pull.title, f"{pull.body.rstrip()}\n\n{GONE}\n")
        forge.close_pull(slug, pull.number, GONE)
        done.append(f"closed {pull.number}: {pull.title}")
    for pull, proposal in todo.renewed:
        became = _pushed(git, head, pull.branch, proposal, push, left)
        if became is Branch.MADE or (became is Branch.THERE and members_of(pull.body) != frozenset(proposal.members)):
            forge.update_pull(slug, pull.number, *_texts(proposal, analysis))
            done.append(f"wrote {pull.number} anew: {pull.title}")
    for proposal in todo.opened:
        if _pushed(git, head, proposal.branch, proposal, push, left) is not Branch.LEFT:
            number = forge.open_pull(slug, proposal.branch, *_texts(proposal, analysis), draft=settings.draft)
            done.append(f"opened {number}: {title(proposal)}")
    return Published(tuple(done), tuple(left))


def _texts(proposal: Proposal, analysis: Analysis) -> tuple[str, str]:
    return title(proposal), body(proposal, analysis.commit)


def _pushed(git: Git, head: str, branch: str, proposal: Proposal, push: bool, left: list[str]) -> Branch:
    """Bring the branch of a proposal to where it has to be, on the newest commit.

    A branch with a commit of a person is left alone, and a proposal whose lines have changed meanwhile is left for the next analysis.
    """
    try:
        tree = _tree(git, head, proposal)
    except (InputError, ForgeError) as error:
        left.append(f"{branch}: {error}")
        return Branch.LEFT
    there = _remote_head(git, branch)
    if there is not None:
        if git.run("log", "-1", "--format=%ae", there).strip() != EMAIL:
            left.append(f"{branch}: somebody pushed to it, so it is left alone")
            return Branch.LEFT
        if git.run("log", "-1", "--format=%T %P", there).strip() == f"{tree} {head}":
            return Branch.THERE
    made = git.run("commit-tree", tree, "-p", head, given=commit_message(proposal).encode()).strip()
    if push:
        git.run(
            "push", "--quiet", f"--force-with-lease={branch}:{there or ''}", "origin", f"{made}:refs/heads/{branch}"
        )
    return Branch.MADE


def _remote_head(git: Git, branch: str) -> str | None:
    """The commit of a branch on the forge, fetched; `None` where there is no such branch."""
    if not git.run("ls-remote", "--heads", "origin", f"refs/heads/{branch}").strip():
        return None
    git.run(
        "fetch", "--quiet", "--depth=2", "--no-tags", "origin", f"+refs/heads/{branch}:refs/remotes/origin/{branch}"
    )
    return git.run("rev-parse", f"refs/remotes/origin/{branch}").strip()


def _tree(git: Git, head: str, proposal: Proposal) -> str:
    """The tree of the newest commit with the proposal in it. Raises `InputError` where its lines are others by now."""
    index = {"GIT_INDEX_FILE": str(git.folder / "proposal.index")}
    git.run("read-tree", head, beside=index)
    for path, changes in proposal.changes.items():
        listed = git.run("ls-tree", "-z", head, "--", path).split("\0")[0]
        mode, _, rest = listed.partition(" ")
        if mode not in REGULAR:
            raise InputError(f"{path}: is no regular file in the newest commit")
        before = git.run_bytes("cat-file", "blob", rest.split()[1])
        after = hunks.apply(before, changes)
        made = git.run("hash-object", "-w", "--stdin", given=after).strip()
        git.run("update-index", "--cacheinfo", f"{mode},{made},{path}", beside=index)
    return git.run("write-tree", beside=index).strip()
