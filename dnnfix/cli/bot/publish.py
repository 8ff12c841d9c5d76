"""`dnnfix bot publish`: the second phase, from a report."""

from __future__ import annotations

import argparse
from pathlib import Path

from dnnfix.cli.bot import choosing
from dnnfix.cli.console import CLEAN, Console

OPERANDS = "REPORT"

DESCRIPTION = """Open pull requests from the report of `dnnfix bot analyse`, renew those that are open, and close those whose fault is gone. The report
is taken as anybody's input: it is checked first, and nothing of the repository is run or checked out. At most two are open at a time
and one is new in an hour, unless the repository asks for more; what was closed unmerged never comes again."""

EXAMPLES = """  dnnfix bot publish report.json --forge local:/srv/forge
  dnnfix bot publish report.json --forge local:/srv/forge --dry-run
"""

EXIT_CODES = "0 published, or nothing to do; 2 error"


def configure(parser: argparse.ArgumentParser) -> None:
    """The flags of `bot publish`."""
    parser.add_argument("report", help="the report")
    choosing.add_forge(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Read the report, and publish it."""
    from dnnfix.bot.publish import publish
    from dnnfix.bot.report import MOST_BYTES, read
    from dnnfix.errors import InputError

    try:
        with Path(arguments.report).open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{arguments.report}: cannot be read ({error.strerror}). Check the path.") from None
    analysis = read(text, arguments.report)
    found = publish(choosing.forge(arguments, console), analysis, push=not arguments.dry_run, asked=arguments.asked)
    told(console, analysis.slug, found.done, found.left)
    return CLEAN


def told(console: Console, slug: str, done: tuple[str, ...], left: tuple[str, ...]) -> None:
    """Say what was done in a repository, and what was left, with the reason."""
    lines = [f"{slug}: {one}" for one in done] + [f"{slug}: left alone: {one}" for one in left]
    console.write("".join(f"{line}\n" for line in lines or [f"{slug}: nothing to do"]))
