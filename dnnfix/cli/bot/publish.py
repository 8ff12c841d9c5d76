"""`dnnfix bot publish`: the second phase of the bot, from a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnnfix.cli.bot import choosing
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, Console

if TYPE_CHECKING:
    from dnnfix.bot.publish import Published


EXAMPLES = """  dnnfix bot publish report.json --repo owner/name --forge local:/srv/forge
  dnnfix bot publish report.json --repo owner/name --forge local:/srv/forge --dry-run
  dnnfix bot publish report.json --repo owner/name --forge github --onboard    ask first, with what was found
"""

EXIT_CODES = "0 published, or nothing to do; 2 error"


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    report: choosing.Reported,
    target: choosing.Target,
    onboard: choosing.Onboarding = False,
) -> int:
    """Open pull requests from the report of `dnnfix bot analyse`, renew those that are open, and close those whose fault is gone. The report
    is taken as anybody's input: it is checked first, and nothing of the repository is run or checked out. At most two are open at a time
    and one is new in an hour, unless the repository asks for more; what was closed unmerged never comes again."""
    from dnnfix.bot import onboarding
    from dnnfix.bot.publish import Published, publish

    analysis = report.analysis()
    forge, push = target.forge(console), not target.dry_run
    question = onboarding.onboard(forge, report.repo, analysis, push=push) if onboard else Published()
    is_asked = bool(question.done or question.left)
    found = question if is_asked else publish(forge, report.repo, analysis, push=push, by_person=target.asked)
    told(console, report.repo, found)
    return CLEAN


def told(console: Console, slug: str, found: Published) -> None:
    """Say what was done in a repository, and what was left, with the reason."""
    lines = [f"{slug}: {one}" for one in found.done] + [f"{slug}: left alone: {one}" for one in found.left]
    console.write("".join(f"{line}\n" for line in lines or [f"{slug}: nothing to do"]))
