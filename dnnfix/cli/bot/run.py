"""`dnnfix bot run`: both phases of the bot for several repositories, one after the other."""

from __future__ import annotations

import argparse

from dnnfix.bot.analysis_process import LocalAnalyser
from dnnfix.cli.bot import choosing
from dnnfix.cli.bot.publish import told
from dnnfix.cli.console import CLEAN, ERROR, Console
from dnnfix.forge.protocol import Forge

OPERANDS = ""

DESCRIPTION = """Analyse the newest commit of a repository, or of every repository of a forge that asks for the bot, and publish what was found. The analysis
runs in a folder and a process of its own, in the sandbox and without tokens; see `dnnfix bot analyse` and `dnnfix bot publish`."""

EXAMPLES = """  dnnfix bot run --forge local:/srv/forge --repo owner/name
  dnnfix bot run --forge local:/srv/forge                      all that are there
  dnnfix bot run --forge github --repo owner/name --dry-run   what would be opened there
  dnnfix bot run --forge github --repo owner/name --pull 7     review a pull request of a person
  dnnfix bot run --forge github:owner --onboard                ask all of an owner's, work where it is wanted
"""

EXIT_CODES = "0 done, 2 error in one of the repositories; the others are done all the same"


def configure(parser: argparse.ArgumentParser) -> None:
    """The flags of `bot run`."""
    parser.add_argument(
        "--repo", metavar="OWNER/NAME", action="append", help="this repository alone; more than once for several"
    )
    parser.add_argument(
        "--pull", type=int, metavar="NUMBER", help="review this pull request of a person instead; needs one --repo"
    )
    choosing.add_onboard(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress")
    choosing.add_forge(parser)
    choosing.add_analysis(parser)
    choosing.add_since(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Work on every repository; what goes wrong with one is said, and the others go on."""
    from dnnfix.cli.main import internal
    from dnnfix.errors import DnnfixError, InputError

    if arguments.pull is not None and len(arguments.repo or ()) != 1:
        raise InputError("--pull: name the one repository that it is in with --repo.")
    forge, code = choosing.forge(arguments, console), CLEAN
    for slug in arguments.repo or forge.repositories():
        try:
            _one(arguments, console, forge, slug)
        except DnnfixError as error:
            console.problem(f"{slug}: {error}")
            code = ERROR
        except Exception as error:  # noqa: BLE001 - one repository must not end the work on the others
            console.problem(f"{slug}: {internal(error, console.verbose)}")
            code = ERROR
    return code


def _one(arguments: argparse.Namespace, console: Console, forge: Forge, slug: str) -> None:
    from dnnfix.bot.onboarding import onboard
    from dnnfix.bot.visit import visited, visited_pull

    analyse = LocalAnalyser(choosing.flags(arguments), quiet=arguments.quiet)

    def progress(text: str) -> None:
        console.progress(f"{slug}: {text}")

    if arguments.pull is not None:
        said = visited_pull(forge, slug, arguments.pull, analyse, by_person=arguments.asked, told=progress)
        told(console, slug, said)
        return
    if arguments.onboard:
        question = onboard(forge, slug, push=not arguments.dry_run)
        if question.done or question.left:
            told(console, slug, question)
            return
    found = visited(
        forge,
        slug,
        analyse,
        push=not arguments.dry_run,
        by_person=arguments.asked,
        since=arguments.since or "",
        told=progress,
    )
    told(console, slug, found.published)
