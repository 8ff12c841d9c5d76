"""Both phases for one repository: its newest commit is analysed without tokens, and what was found is published."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from dnnfix.bot.plan import unwanted
from dnnfix.bot.policy import forbids
from dnnfix.bot.publish import Published, publish
from dnnfix.bot.report import read
from dnnfix.bot.settings import heeded
from dnnfix.forge.git import cloned
from dnnfix.forge.protocol import Forge

Analyser = Callable[[Path, str, Path], None]
"""Writes the report of a checkout (a folder, and what it is called) to a file. Raises `AnalysisFailed`."""


def visited(
    forge: Forge,
    slug: str,
    analyse: Analyser,
    *,
    push: bool = True,
    by_person: bool = False,
    told: Callable[[str], None] = lambda text: None,
) -> Published:
    """What was done in the repository `slug`; one that wants nothing of the bot is not analysed.

    `push` is off for a dry run; `by_person` says that a person asks for this repository; `told` hears what is being done. Raises what
    `analyse` and `publish` raise.
    """
    with tempfile.TemporaryDirectory(prefix="dnnfix-bot-") as folder:
        checkout, report = Path(folder, slug.rpartition("/")[2]), Path(folder, "report.json")
        told("fetching")
        repository = forge.repository(slug)
        git = cloned(forge.remote(slug), checkout, repository.default_branch)
        if said := unwanted(repository, heeded(git, "HEAD", slug, by_person=by_person), forbids(git, "HEAD")):
            return Published(left=[said])
        told("analysing")
        analyse(checkout, slug, report)
        analysis = read(report.read_bytes(), slug)
    told("publishing")
    return publish(forge, slug, analysis, push=push, by_person=by_person)
