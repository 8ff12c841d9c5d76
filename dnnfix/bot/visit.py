"""Both phases of the bot in one call, for a repository or a person's pull request: analyses without tokens, then
publishes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dnnfix.bot.plan import unwanted
from dnnfix.bot.policy import forbids
from dnnfix.bot.publish import Published, publish
from dnnfix.bot.report import read
from dnnfix.bot.reviewing import review_pull, wants_review
from dnnfix.bot.settings import heeded
from dnnfix.forge.git import checked_out, cloned
from dnnfix.forge.protocol import Forge

Analyser = Callable[[Path, str, Path, str], None]
"""Writes the report of a checkout (a folder, and what it is called) to a file, of what came after a commit where one is named. Raises
`AnalysisFailed`."""


@dataclass(frozen=True, slots=True)
class Visited:
    """What was done, and the settled commit: all of it was analysed, and no pull request about it waits."""

    published: Published
    settled: str = ""


def visited(
    forge: Forge,
    slug: str,
    analyse: Analyser,
    *,
    push: bool = True,
    by_person: bool = False,
    since: str = "",
    told: Callable[[str], None] = lambda text: None,
) -> Visited:
    """What was done in the repository `slug`; one that wants nothing of the bot is not analysed.

    `push` is off for a dry run; `by_person` says that a person asks for this repository; `since` is a commit that is settled, `told`
    hears what is being done. Raises what `analyse` and `publish` raise.
    """
    with tempfile.TemporaryDirectory(prefix="dnnfix-bot-") as folder:
        checkout, report = Path(folder, "checkout", slug.rpartition("/")[2]), Path(folder, "report.json")
        told("fetching")
        repository = forge.repository(slug)
        git = cloned(forge.remote(slug), checkout, repository.default_branch, since)
        if said := unwanted(repository, heeded(git, "HEAD", slug, by_person=by_person), forbids(git, "HEAD")):
            return Visited(Published(left=[said]))
        told("analysing")
        analyse(checkout, slug, report, since)
        analysis = read(report.read_bytes(), slug)
    told("publishing")
    done = publish(forge, slug, analysis, push=push, by_person=by_person)
    return Visited(done, "" if done.left or analysis.left_out else analysis.commit)


def visited_pull(
    forge: Forge,
    slug: str,
    number: int,
    analyse: Analyser,
    *,
    by_person: bool = False,
    told: Callable[[str], None] = lambda text: None,
) -> Published:
    """What was said of a pull request of the repository `slug`: of its head what came after its base is analysed, where reviews are wanted.

    Raises what `analyse` and `review_pull` raise.
    """
    said, reviewed = wants_review(forge, slug, number, by_person=by_person)
    if said:
        return Published(left=[said])
    with tempfile.TemporaryDirectory(prefix="dnnfix-bot-") as folder:
        checkout, report = Path(folder, "checkout", slug.rpartition("/")[2]), Path(folder, "report.json")
        told("fetching")
        _, base = checked_out(forge.remote(slug), checkout, reviewed.head, reviewed.base)
        told("analysing")
        analyse(checkout, slug, report, base)
        analysis = read(report.read_bytes(), slug)
    told("reviewing")
    return review_pull(forge, slug, number, analysis, by_person=by_person)
