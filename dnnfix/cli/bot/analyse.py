"""`dnnfix bot analyse`: the first phase of the bot, in a checkout."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

from dnnfix.cli.bot import choosing
from dnnfix.cli.console import CLEAN, Console

OPERANDS = "[FOLDER]"

DESCRIPTION = """Find the programs of a checkout, run each for a moment in the sandbox as `dnnfix suggest` does, read the rest, and write a
report for `dnnfix bot publish`. The folder is the top of a checkout; what git does not know of it is not looked at. Where variables look like
tokens the analysis is made by a process that does not have them, and programs are run under bubblewrap alone. Of the repository's own settings only those are read
that choose rules and files."""

EXAMPLES = """  dnnfix bot analyse --repo owner/name --output-file report.json
  dnnfix bot analyse checkout/ --repo owner/name --python .venv/bin/python
"""

EXIT_CODES = "0 analysed, 2 error"


def configure(parser: argparse.ArgumentParser) -> None:
    """The flags of `bot analyse`."""
    parser.add_argument("folder", nargs="?", default=".", help="the checkout (the working folder)")
    parser.add_argument("--repo", required=True, metavar="OWNER/NAME", help="what the repository is called")
    parser.add_argument("--output-file", metavar="FILE", help="where the report goes (standard output)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    choosing.add_analysis(parser)
    choosing.add_since(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Analyse, and write the report."""
    from dnnfix.bot import analyse, analysis_process
    from dnnfix.errors import InputError

    target = Path(arguments.output_file).absolute() if arguments.output_file else None
    folder = Path(arguments.folder).absolute()
    if not folder.is_dir():
        raise InputError(f"{arguments.folder}: no such folder. Name the checkout of a git repository.")
    if target is not None and not target.parent.is_dir():
        raise InputError(f"{arguments.output_file}: there is no such folder to write it into. Make it first.")
    flags = replace(choosing.flags(arguments), since=arguments.since)
    if analysis_process.secrets():
        with tempfile.TemporaryDirectory(prefix="dnnfix-bot-") as place:
            made = Path(place, "report.json")
            code = analysis_process.analysed(flags.command(folder, arguments.repo, made, quiet=arguments.quiet))
            if code == CLEAN:
                _handed_over(console, made.read_text(encoding="utf-8"), target)
            return code
    whole = flags.whole or analyse.BUDGET
    text = analyse.analyse(folder, arguments.repo, flags.overrides(), whole, console.progress, arguments.since or "")
    _handed_over(console, text, target)
    return CLEAN


def _handed_over(console: Console, text: str, target: Path | None) -> None:
    if target is None:
        console.write(text)
    else:
        target.write_text(text, encoding="utf-8")
