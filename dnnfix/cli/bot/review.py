"""`dnnfix bot review`: comments on a person's pull request, from a report of its head."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from dnnfix.cli.bot import choosing
from dnnfix.cli.bot.publish import told
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, Console

EXAMPLES = """  dnnfix bot review report.json --repo owner/name --pull 7 --forge github
  dnnfix bot review report.json --repo owner/name --pull 7 --forge local:/srv/forge --dry-run
"""

EXIT_CODES = "0 reviewed, or nothing to say; 2 error"


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    report: choosing.Reported,
    pull: Annotated[int, Option(metavar="NUMBER", help="the pull request")],
    target: choosing.Target,
) -> int:
    """Comment on a pull request of a person where the report of `dnnfix bot analyse`, made in a checkout of its head, has findings on lines
    that it changes; a proven patch of such lines alone is a suggestion. At most five comments, none of them twice; one whose fault is gone is
    resolved. Where nothing is found nothing is said. A repository asks for it with `review = true` in its table `[bot]`."""
    from dnnfix.bot.reviewing import review_pull

    analysis = report.analysis()
    forge = target.forge(console)
    found = review_pull(forge, report.repo, pull, analysis, by_person=target.asked)
    told(console, report.repo, found)
    return CLEAN
