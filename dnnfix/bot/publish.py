"""The second phase: from a report to pull requests. It has the token, and runs nothing of the repository.

Commits are made from objects of git, without a working tree. The branch is pushed before the pull request is opened, and both carry
the identity of what they are about: a publishing that was ended in between is taken up by the next one, and opens no second one.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path

from dnnfix.bot.body import SHOWN, body, commit_message, title
from dnnfix.bot.plan import GONE, GONE_MARK, Plan, plan, room
from dnnfix.bot.policy import forbids
from dnnfix.bot.proposal import Proposal, members_of
from dnnfix.bot.report import Analysis
from dnnfix.bot.settings import BotSettings, heeded
from dnnfix.emit import hunks
from dnnfix.errors import BotReportError, ForgeError, InputError
from dnnfix.forge.git import EMAIL, Git, fetched
from dnnfix.forge.protocol import Forge

REGULAR = ("100644", "100755")
"""Modes of files that a patch may change: no links, no submodules."""


class Branch(Enum):
    """What became of the branch of a proposal."""

    MADE = auto()
    THERE = auto()
    LEFT = auto()


@dataclass(frozen=True, slots=True)
class Published:
    """What was done in one repository, a sentence each, and what was left alone, with the reason."""

    done: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def publish(
    forge: Forge,
    slug: str,
    analysis: Analysis,
    *,
    push: bool = True,
    by_person: bool = False,
    clock: Callable[[], float] = time.time,
) -> Published:
    """Open, renew and close what the plan for the repository `slug` says; doing it twice changes nothing.

    `push` is off for a dry run; `by_person` says that a person asks for this repository, whether or not it has a table `[bot]`. Raises
    `BotReportError` for the analysis of another repository, `ForgeError`, and `ConfigError` for settings that make no sense.
    """
    if analysis.slug != slug:
        raise BotReportError(f"the report is of {analysis.slug}, and is to be published in {slug}.")
    repository = forge.repository(slug)
    with tempfile.TemporaryDirectory(prefix="dnnfix-bot-") as folder:
        git = fetched(forge.remote(slug), Path(folder, "repository.git"), repository.default_branch)
        head = git.run("rev-parse", f"refs/remotes/origin/{repository.default_branch}").strip()
        settings = heeded(git, head, slug, by_person=by_person)
        todo = plan(repository, analysis, forge.pulls(slug), settings, head == analysis.commit, forbids(git, head))
        work = _Work(forge, slug, git, head, analysis, settings, push, clock)
        work.carry_out(todo)
        return work.said


@dataclass(frozen=True, slots=True)
class _Work:
    """One publishing."""

    forge: Forge
    slug: str
    git: Git
    head: str
    analysis: Analysis
    settings: BotSettings
    push: bool
    clock: Callable[[], float]
    said: Published = field(default_factory=Published)

    def carry_out(self, todo: Plan) -> None:
        self.said.left.extend(todo.left)
        for pull in todo.closed:
            self.forge.update_pull(
                self.slug, pull.number, pull.title, f"{pull.body.rstrip()}\n\n{GONE}\n\n{GONE_MARK}\n"
            )
            self.forge.close_pull(self.slug, pull.number, GONE)
            self.said.done.append(f"closed {pull.number}: {pull.title}")
        for pull, proposal in todo.renewed:
            became, known = self._branch(pull.branch, proposal), members_of(pull.body)
            is_told = known == proposal.members and self.analysis.commit[:SHOWN] in pull.body
            if known and (became is Branch.MADE or (became is Branch.THERE and not is_told)):
                self.forge.update_pull(self.slug, pull.number, title(proposal), body(proposal, self.analysis.commit))
                self.said.done.append(f"wrote {pull.number} anew: {pull.title}")
        for proposal in todo.wanted:
            full = room(self.forge.pulls(self.slug), self.settings, self.clock())
            if full:
                self.said.left.append(f"{proposal.rule}: {full}")
            elif self._branch(proposal.branch, proposal) is not Branch.LEFT:
                texts = title(proposal), body(proposal, self.analysis.commit)
                number = self.forge.open_pull(self.slug, proposal.branch, *texts, draft=self.settings.draft)
                self.said.done.append(f"opened {number}: {texts[0]}")

    def _branch(self, branch: str, proposal: Proposal) -> Branch:
        """Bring the branch of a proposal to where it has to be, on the newest commit.

        One with a commit of a person is left alone, and a proposal whose files have changed meanwhile is left for the next analysis.
        """
        try:
            tree = self._tree(proposal)
        except (InputError, ForgeError) as error:
            self.said.left.append(f"{branch}: {error}")
            return Branch.LEFT
        there = self._remote_head(branch)
        if there is not None:
            *people, made_of, parents = self.git.run("log", "-1", "--format=%ae%n%ce%n%T%n%P", there).split("\n")[:4]
            if set(people) != {EMAIL} or len(parents.split()) != 1:
                self.said.left.append(f"{branch}: somebody pushed to it, so it is left alone")
                return Branch.LEFT
            if (made_of, parents) == (tree, self.head):
                return Branch.THERE
        message = commit_message(proposal).encode()
        made = self.git.run("commit-tree", tree, "-p", self.head, given=message).strip()
        if self.push:
            lease = f"--force-with-lease=refs/heads/{branch}:{there or ''}"
            self.git.run("push", "--quiet", lease, "origin", f"{made}:refs/heads/{branch}")
        return Branch.MADE

    def _remote_head(self, branch: str) -> str | None:
        """The commit of a branch on the forge, fetched; `None` where there is no such branch."""
        reference = f"refs/heads/{branch}"
        if not self.git.run("ls-remote", "--heads", "origin", reference).strip():
            return None
        here = f"refs/remotes/origin/{branch}"
        self.git.run("fetch", "--quiet", "--depth=2", "--no-tags", "origin", f"+{reference}:{here}")
        return self.git.run("rev-parse", here).strip()

    def _tree(self, proposal: Proposal) -> str:
        """The tree of the newest commit with the proposal in it. Raises `InputError` where its files are others by now."""
        index = {"GIT_INDEX_FILE": str(self.git.folder / "proposal.index")}
        self.git.run("read-tree", self.head, beside=index)
        for path, changes in proposal.changes.items():
            mode, _, rest = self.git.run("ls-tree", "-z", self.head, "--", path).split("\0")[0].partition(" ")
            if mode not in REGULAR:
                raise InputError(f"{path}: is no regular file in the newest commit")
            blob = rest.split()[1]
            if blob != proposal.blobs[path]:
                raise InputError(f"{path}: has changed since it was analysed")
            after = hunks.apply(self.git.run_bytes("cat-file", "blob", blob), changes)
            made = self.git.run("hash-object", "-w", "--stdin", given=after).strip()
            self.git.run("update-index", "--cacheinfo", f"{mode},{made},{path}", beside=index)
        return self.git.run("write-tree", beside=index).strip()
