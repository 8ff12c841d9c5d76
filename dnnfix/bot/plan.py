"""Plans the pull requests of a repository (which to open, update or close), by pure functions over analysis and
settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dnnfix.bot.proposal import Proposal, members_of, proposals
from dnnfix.bot.report import Analysis
from dnnfix.bot.settings import BotSettings
from dnnfix.forge.protocol import BRANCHES, Pull, Repository, State

HOUR = 3600.0
NOT_ASKED = "it has not asked for the bot (a table [bot] in dnnfix.toml does)"
IN_PART = "an open pull request is about more places, and not all of them were looked at"
GONE = "The fault is not found any more in the newest commit, so this is not needed."
GONE_MARK = "<!-- dnnfix: gone -->"
"""The last line of a pull request that the bot closes itself: that is no refusal."""

AGAIN = "A person said in the dashboard that this may come again."
AGAIN_MARK = "<!-- dnnfix: again -->"
"""The last line of a pull request whose refusal was taken back."""

CONFIGURE = f"{BRANCHES}configure"
"""The branch of the pull request that asks whether the bot is wanted; no fault is in it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Pull requests to open, in order, as far as there is room; to write anew; to close; and what is left, with the reason."""

    wanted: tuple[Proposal, ...] = ()
    renewed: tuple[tuple[Pull, Proposal], ...] = ()
    closed: tuple[Pull, ...] = ()
    left: tuple[str, ...] = ()


def plan(
    repository: Repository,
    analysis: Analysis,
    pulls: Sequence[Pull],
    settings: BotSettings,
    is_newest: bool,
    forbidden: str = "",
) -> Plan:
    """What to do about a repository; `is_newest` says that the analysis is of its newest commit, `forbidden` what it says against bots.

    What was closed unmerged is never proposed again, alone or in a group. An open pull request about the same fault is written anew,
    not opened a second time; what would take places out of it, or belongs to it, waits until everything was looked at. One is closed
    where the newest commit was analysed as a whole and none of its faults is found in it.
    """
    if said := unwanted(repository, settings, forbidden):
        return Plan(left=(said,))
    is_whole = is_newest and not analysis.left_out
    opened = [pull for pull in pulls if pull.state is State.OPEN]
    gone = [
        pull for pull in opened if is_whole and members_of(pull.body) and not members_of(pull.body) & analysis.faults
    ]
    no = refusals(pulls)
    refused = {member for pull in no for member in members_of(pull.body)}
    branches = {pull.branch for pull in no}
    renewed: list[tuple[Pull, Proposal]] = []
    wanted: list[Proposal] = []
    left: list[str] = []
    for proposal in proposals(analysis, refused, partial=settings.partial, unsafe=settings.unsafe):
        own = next((pull for pull in opened if _is_about(pull, proposal)), None)
        if analysis.unchanged and any(_has_more(pull, proposal) for pull in opened):
            left.append(f"{proposal.rule}: {IN_PART}")
        elif own is not None:
            renewed.append((own, proposal))
        elif proposal.branch not in branches:
            wanted.append(proposal)
    return Plan(tuple(wanted), tuple(renewed), tuple(gone), tuple(left))


def unwanted(repository: Repository, settings: BotSettings, forbidden: str) -> str:
    """Why nothing is done in a repository; empty where something may be. `forbidden` is what it says against bots."""
    if repository.is_fork or repository.is_archived:
        return f"it is {'a fork' if repository.is_fork else 'archived'}, which the bot leaves alone"
    if not settings.enabled:
        return NOT_ASKED
    return "" if settings.despite_policy else forbidden


def room(pulls: Sequence[Pull], settings: BotSettings, now: float) -> str:
    """Why no more pull requests are wanted now; empty where one more is. `now` is in seconds since 1970."""
    still_open = sum(pull.state is State.OPEN for pull in pulls)
    new = sum(now - pull.opened < HOUR for pull in pulls)
    if still_open >= settings.most_open:
        return f"{still_open} pull requests are open, and no more are wanted"
    return f"{new} in the last hour, and no more are wanted" if new >= settings.an_hour else ""


def refusals(pulls: Sequence[Pull]) -> list[Pull]:
    """Those that people closed unmerged, and that may not come again; where the bot closed one itself, as its fault was gone, it may."""
    marks = (GONE_MARK, AGAIN_MARK)
    return [
        pull
        for pull in pulls
        if pull.state is State.CLOSED and pull.branch != CONFIGURE and not pull.body.rstrip().endswith(marks)
    ]


def taken_back(pull: Pull) -> Pull:
    """A refused pull request once it may come again."""
    return replace(pull, body=f"{pull.body.rstrip()}\n\n{AGAIN}\n\n{AGAIN_MARK}\n")


def _is_about(pull: Pull, proposal: Proposal) -> bool:
    """Whether an open pull request is the one for a proposal, also where a person wrote its text anew."""
    return pull.branch == proposal.branch or bool(members_of(pull.body) & proposal.members)


def _has_more(pull: Pull, proposal: Proposal) -> bool:
    """Whether a pull request of the same rule is about faults that a proposal is not about."""
    is_same_rule = pull.branch.rpartition("-")[0] == proposal.branch.rpartition("-")[0]
    return is_same_rule and not members_of(pull.body) <= proposal.members
