"""The second phase of the bot: opens, updates and closes pull requests by a report. It has the token, and runs no
code of the repository.

Commits are made from objects of git, without a working tree. The branch is pushed before the pull request is opened,
and both carry the identity of what they are about: a publishing that was ended in between is taken up by the next
one, and opens no second one.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dnnfix.bot.body import SHOWN, body, commit_message, title
from dnnfix.bot.branches import Branch, Branches
from dnnfix.bot.dashboard import Page, Ticked, Waiting, found, ticked, unproven
from dnnfix.bot.dashboard_issue import keep
from dnnfix.bot.plan import GONE, GONE_MARK, Plan, plan, refusals, room, taken_back, unwanted
from dnnfix.bot.policy import forbids
from dnnfix.bot.proposal import Proposal, members_of
from dnnfix.bot.report import Analysis
from dnnfix.bot.reviewers import dress
from dnnfix.bot.settings import BotSettings, heeded
from dnnfix.emit import hunks
from dnnfix.errors import BotReportError, ForgeError, InputError
from dnnfix.forge.git import fetched
from dnnfix.forge.protocol import Dress, Forge, Issue, Pull, State

BARE = "<!-- dnnfix: labels and reviewers to come -->"
"""The first line of the text of a pull request that does not have them yet."""

STOPPED = "the dashboard stops it"
"""Why nothing is opened; also where it cannot be read, as it may say so."""


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
        git, head = fetched(forge.remote(slug), Path(folder, "repository.git"), repository.default_branch)
        settings = heeded(git, head, slug, by_person=by_person)
        forbidden, is_newest = forbids(git, head), head == analysis.commit
        work = _Work(forge, slug, Branches(git, head, push), analysis, settings, clock)
        is_shown = settings.dashboard and not unwanted(repository, settings, forbidden)
        dashboard = work.dashboard() if is_shown else None
        issue, boxes = dashboard or (None, Ticked(stop=is_shown))
        pulls = work.taken_back(forge.pulls(slug), boxes)
        waiting = work.carry_out(plan(repository, analysis, pulls, settings, is_newest, forbidden), boxes)
        if dashboard is not None:
            work.show(issue, waiting, boxes, is_whole=is_newest and not analysis.left_out and not analysis.unchanged)
        return work.said


@dataclass(frozen=True, slots=True)
class _Work:
    """One publishing."""

    forge: Forge
    slug: str
    branches: Branches
    analysis: Analysis
    settings: BotSettings
    clock: Callable[[], float]
    said: Published = field(default_factory=Published)

    def dashboard(self) -> tuple[Issue | None, Ticked] | None:
        """The dashboard if it is there, and what is ticked in it; `None` where it cannot be read."""
        try:
            issue = found(self.forge.issues(self.slug))
        except ForgeError as error:
            self.said.left.append(f"the dashboard cannot be read, so nothing is opened: {error}")
            return None
        return issue, ticked(issue)

    def taken_back(self, pulls: Sequence[Pull], boxes: Ticked) -> list[Pull]:
        """The pull requests, of which those that may come again say so from now on."""
        chosen = {pull.number: taken_back(pull) for pull in refusals(pulls) if pull.number in boxes.retry}
        for number, pull in chosen.items():
            self.forge.update_pull(self.slug, number, pull.title, pull.body)
            self.said.done.append(f"allowed {number} to come again: {pull.title}")
            if self.analysis.unchanged:
                self.said.left.append(f"{number}: comes again once all programs are looked at")
        return [chosen.get(pull.number, pull) for pull in pulls]

    def carry_out(self, todo: Plan, boxes: Ticked) -> list[Waiting]:
        """Carry out the plan and the ticked boxes; returns the pull requests that wait."""
        self.said.left.extend(todo.left)
        for pull in todo.closed:
            if self.analysis.unchanged and self.branches.changed_in(pull.branch) & self.analysis.unchanged:
                continue
            self.forge.update_pull(
                self.slug, pull.number, pull.title, f"{pull.body.rstrip()}\n\n{GONE}\n\n{GONE_MARK}\n"
            )
            self.forge.close_pull(self.slug, pull.number, GONE)
            self.said.done.append(f"closed {pull.number}: {pull.title}")
        for pull, proposal in todo.renewed:
            became, known = self._branch(pull.branch, proposal), members_of(pull.body)
            is_bare = pull.body.startswith(BARE)
            is_told = known == proposal.members and self.analysis.commit[:SHOWN] in pull.body and not is_bare
            if is_bare and became is not Branch.LEFT:
                self._put_on(pull.number, self._dress(proposal))
            if known and (became is Branch.MADE or (became is Branch.THERE and not is_told)):
                self.forge.update_pull(self.slug, pull.number, title(proposal), body(proposal, self.analysis.commit))
                self.said.done.append(f"wrote {pull.number} anew: {pull.title}")
        waiting = []
        for proposal in sorted(todo.wanted, key=lambda one: one.key not in boxes.open):
            if full := self._is_full(proposal, boxes):
                self.said.left.append(f"{proposal.rule}: {full}")
                waiting.append(Waiting(proposal.key, title(proposal), full))
            elif self._branch(proposal.branch, proposal) is not Branch.LEFT:
                self._open(proposal)
        return waiting

    def show(self, before: Issue | None, waiting: Sequence[Waiting], boxes: Ticked, *, is_whole: bool) -> None:
        """Update the dashboard."""
        pulls = self.forge.pulls(self.slug)
        opened = [pull for pull in pulls if pull.state is State.OPEN]
        page = Page(opened, waiting, refusals(pulls), unproven(self.analysis), boxes.stop, is_whole)
        try:
            done = keep(self.forge, self.slug, before, page)
        except ForgeError as error:
            self.said.left.append(f"the dashboard: {error}")
            return
        self.said.done.extend([done] if done else [])

    def _is_full(self, proposal: Proposal, boxes: Ticked) -> str:
        """Why a pull request is not opened now; empty where it may be."""
        if boxes.stop:
            return STOPPED
        return "" if proposal.key in boxes.open else room(self.forge.pulls(self.slug), self.settings, self.clock())

    def _open(self, proposal: Proposal) -> None:
        """Open the pull request of a branch; until it has its labels and reviewers its text says so, for the next one to go on."""
        name, text = title(proposal), body(proposal, self.analysis.commit)
        dress = self._dress(proposal)
        first = f"{BARE}\n{text}" if dress else text
        number = self.forge.open_pull(self.slug, proposal.branch, name, first, draft=self.settings.draft)
        self.said.done.append(f"opened {number}: {name}")
        if dress:
            self._put_on(number, dress)
            self.forge.update_pull(self.slug, number, name, text)

    def _dress(self, proposal: Proposal) -> Dress:
        try:
            return dress(self.settings, self.branches.git, self.branches.head, proposal.changes)
        except InputError as error:
            self.said.left.append(f"{proposal.branch}: nobody is asked for a review: {error}")
            return Dress(self.settings.labels, self.settings.assignees, self.settings.reviewers)

    def _put_on(self, number: int, dress: Dress) -> None:
        """Each kind by itself: one that the forge refuses costs no other."""
        kinds = Dress(labels=dress.labels), Dress(assignees=dress.assignees), Dress(reviewers=dress.reviewers)
        for kind in filter(None, kinds):
            try:
                self.forge.dress_pull(self.slug, number, kind)
            except ForgeError as error:
                self.said.left.append(f"{number}: labels, assignees and reviewers as far as possible: {error}")

    def _branch(self, branch: str, proposal: Proposal) -> Branch:
        """Bring the branch of a proposal to where it has to be; one whose files have changed meanwhile is left for the next analysis."""
        try:
            contents = self._contents(proposal)
        except (InputError, ForgeError) as error:
            self.said.left.append(f"{branch}: {error}")
            return Branch.LEFT
        became = self.branches.bring(branch, contents, commit_message(proposal))
        if became is Branch.LEFT:
            self.said.left.append(f"{branch}: somebody pushed to it, so it is left alone")
        return became

    def _contents(self, proposal: Proposal) -> dict[str, bytes]:
        """What a proposal makes of each of its files. Raises `InputError` where they are others by now."""
        contents = {}
        for path, changes in proposal.changes.items():
            _, blob = self.branches.file(path)
            if blob != proposal.blobs[path]:
                raise InputError(f"{path}: has changed since it was analysed")
            contents[path] = hunks.apply(self.branches.git.run_bytes("cat-file", "blob", blob), changes)
        return contents
