"""`dnnfix bot review`: comments on a person's pull request, from a report of its head."""

from __future__ import annotations

import argparse

from dnnfix.cli.bot import choosing
from dnnfix.cli.bot.publish import told
from dnnfix.cli.console import CLEAN, Console

OPERANDS = "REPORT"

DESCRIPTION = """Comment on a pull request of a person where the report of `dnnfix bot analyse`, made in a checkout of its head, has findings on lines
that it changes; a proven patch of such lines alone is a suggestion. At most five comments, none of them twice; one whose fault is gone is
resolved. Where nothing is found nothing is said. A repository asks for it with `review = true` in its table `[bot]`."""

EXAMPLES = """  dnnfix bot review report.json --repo owner/name --pull 7 --forge github
  dnnfix bot review report.json --repo owner/name --pull 7 --forge local:/srv/forge --dry-run
"""

EXIT_CODES = "0 reviewed, or nothing to say; 2 error"


def configure(parser: argparse.ArgumentParser) -> None:
    """The flags of `bot review`."""
    choosing.add_report(parser)
    parser.add_argument("--pull", required=True, type=int, metavar="NUMBER", help="the pull request")
    choosing.add_forge(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Read the report, and comment."""
    from dnnfix.bot.reviewing import review_pull

    analysis = choosing.analysis(arguments.report)
    forge = choosing.forge(arguments, console)
    found = review_pull(forge, arguments.repo, arguments.pull, analysis, by_person=arguments.asked)
    told(console, arguments.repo, found)
    return CLEAN
