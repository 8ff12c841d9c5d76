"""`dnnfix bot run`: both phases of the bot for several repositories, one after the other."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from dnnfix.bot.analysis_process import LocalAnalyser
from dnnfix.cli.bot import choosing
from dnnfix.cli.bot.publish import told
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, ERROR, Console
from dnnfix.cli.guard import internal

EXAMPLES = """  dnnfix bot run --forge local:/srv/forge --repo owner/name
  dnnfix bot run --forge local:/srv/forge                      all that are there
  dnnfix bot run --forge github --repo owner/name --dry-run   what would be opened there
  dnnfix bot run --forge github --repo owner/name --pull 7     review a pull request of a person
  dnnfix bot run --forge github:owner --onboard                ask all of an owner's, work where it is wanted
"""

EXIT_CODES = "0 done, 2 error in one of the repositories; the others are done all the same"


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    target: choosing.Target,
    analysis: choosing.Analysing,
    since: choosing.Since = None,
    onboard: choosing.Onboarding = False,
    repo: Annotated[
        list[str] | None,
        Option(metavar="OWNER/NAME", help="this repository alone; more than once for several"),
    ] = None,
    pull: Annotated[
        int | None,
        Option(metavar="NUMBER", help="review this pull request of a person instead; needs one --repo"),
    ] = None,
) -> int:
    """Analyse the newest commit of a repository, or of every repository of a forge that asks for the bot, and publish what was found. The analysis
    runs in a folder and a process of its own, in the sandbox and without tokens; see `dnnfix bot analyse` and `dnnfix bot publish`."""
    from dnnfix.bot import onboarding
    from dnnfix.bot.visit import visited, visited_pull
    from dnnfix.errors import DnnfixError, InputError

    if pull is not None and len(repo or ()) != 1:
        raise InputError("--pull: name the one repository that it is in with --repo.")
    forge, code = target.forge(console), CLEAN

    def visit(slug: str) -> None:
        analyse = LocalAnalyser(analysis.flags(), quiet=console.quiet)

        def progress(text: str) -> None:
            console.progress(f"{slug}: {text}")

        if pull is not None:
            said = visited_pull(forge, slug, pull, analyse, by_person=target.asked, told=progress)
            told(console, slug, said)
            return
        push = not target.dry_run
        if onboard:
            question = onboarding.onboard(forge, slug, push=push)
            if question.done or question.left:
                told(console, slug, question)
                return
        found = visited(forge, slug, analyse, push=push, by_person=target.asked, since=since or "", told=progress)
        told(console, slug, found.published)

    for slug in repo or forge.repositories():
        try:
            visit(slug)
        except DnnfixError as error:
            console.problem(f"{slug}: {error}")
            code = ERROR
        except Exception as error:  # noqa: BLE001 - one repository must not end the work on the others
            console.problem(f"{slug}: {internal(error, console.verbose)}")
            code = ERROR
    return code
