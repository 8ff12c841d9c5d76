"""`dnnfix bot run`: both phases, one after the other."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from dnnfix.cli.bot import choosing
from dnnfix.cli.bot.publish import told
from dnnfix.cli.console import CLEAN, ERROR, Console

OPERANDS = ""

DESCRIPTION = """Analyse the newest commit of a repository, or of every repository of a forge that asks for the bot, and publish what was found. The analysis
runs in a folder of its own, in the sandbox and without tokens; see `dnnfix bot analyse` and `dnnfix bot publish`."""

EXAMPLES = """  dnnfix bot run --forge local:/srv/forge --repo owner/name
  dnnfix bot run --forge local:/srv/forge                      all that are there
"""

EXIT_CODES = "0 done, 2 error in one of the repositories; the others are done all the same"


def configure(parser: argparse.ArgumentParser) -> None:
    """The flags of `bot run`."""
    parser.add_argument(
        "--repo", metavar="OWNER/NAME", action="append", help="this repository alone; more than once for several"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress")
    choosing.add_forge(parser)
    choosing.add_analysis(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Work on every repository; what goes wrong with one is said, and the others go on."""
    from dnnfix.bot import analyse
    from dnnfix.bot.publish import enabled, publish
    from dnnfix.bot.report import read
    from dnnfix.errors import DnnfixError
    from dnnfix.forge.git import cloned

    forge, code = choosing.forge(arguments, console), CLEAN
    for slug in arguments.repo or forge.repositories():
        try:
            repository = forge.repository(slug)
            if not arguments.asked and not enabled(forge, repository):
                told(console, slug, (), ("has not asked for the bot (a table [bot] in dnnfix.toml does)",))
                continue
            with tempfile.TemporaryDirectory(prefix="dnnfix-bot-") as folder:
                checkout = Path(folder, slug.rpartition("/")[2])
                console.progress(f"{slug}: fetching")
                cloned(forge.remote(slug), checkout, repository.default_branch)
                whole = arguments.whole or analyse.BUDGET
                text = analyse.analyse(checkout, slug, choosing.overrides(arguments), whole, console.progress)
            found = publish(forge, read(text.encode(), slug), push=not arguments.dry_run, asked=arguments.asked)
            told(console, slug, found.done, found.left)
        except DnnfixError as error:
            console.problem(f"{slug}: {error}")
            code = ERROR
    return code
