"""What may be done now: pure functions over what the analysis, the pull requests and the settings say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dnnfix.bot.proposal import Proposal, members_of, proposals
from dnnfix.bot.report import Analysis
from dnnfix.bot.settings import BotSettings
from dnnfix.forge.protocol import Pull, Repository, State

HOUR = 3600.0
GONE = "The fault is not found any more in the newest commit, so this is not needed."


@dataclass(frozen=True, slots=True)
class Plan:
    """Pull requests to open, to write anew and to close, and what is left for another time, with the reason."""

    opened: tuple[Proposal, ...] = ()
    renewed: tuple[tuple[Pull, Proposal], ...] = ()
    closed: tuple[Pull, ...] = ()
    left: tuple[str, ...] = ()


def plan(repository: Repository, analysis: Analysis, pulls: Sequence[Pull], settings: BotSettings, now: float) -> Plan:
    """What to do about a repository; `now` is in seconds since 1970.

    What was closed unmerged is never proposed again, alone or in a group. An open pull request about the same patches is written anew,
    not opened a second time; one whose patches are not found any more is closed.
    """
    if not settings.enabled:
        return Plan(left=(f"{repository.slug}: has not asked for the bot (a table [bot] in dnnfix.toml does)",))
    if repository.is_fork or repository.is_archived:
        kind = "a fork" if repository.is_fork else "archived"
        return Plan(left=(f"{repository.slug}: is {kind}, which the bot leaves alone",))
    refused = {
        one for pull in pulls if pull.state is State.CLOSED and not _was_gone(pull) for one in members_of(pull.body)
    }
    wanted = list(proposals(analysis, refused, partial=settings.partial, unsafe=settings.unsafe))
    known = {pull: members_of(pull.body) for pull in pulls if pull.state is State.OPEN}
    proposed = {one for proposal in wanted for one in proposal.members}
    closed = [pull for pull, members in known.items() if members and not members & proposed]
    renewed: list[tuple[Pull, Proposal]] = []
    opened: list[Proposal] = []
    left: list[str] = []
    still_open = len(known) - len(closed)
    new = sum(now - pull.opened < HOUR for pull in pulls)
    for proposal in wanted:
        own = next((pull for pull, members in known.items() if members & set(proposal.members)), None)
        if own is not None:
            renewed.append((own, proposal))
        elif still_open >= settings.most_open:
            left.append(f"{proposal.rule}: {still_open} pull requests are open, and no more are wanted")
        elif new >= settings.an_hour:
            left.append(f"{proposal.rule}: {new} in the last hour, and no more are wanted")
        else:
            opened.append(proposal)
            still_open, new = still_open + 1, new + 1
    return Plan(tuple(opened), tuple(renewed), tuple(closed), tuple(left))


def _was_gone(pull: Pull) -> bool:
    """Whether the bot closed it itself, as its fault was gone: that is no refusal."""
    return GONE in pull.body
