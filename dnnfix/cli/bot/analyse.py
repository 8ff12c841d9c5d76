"""`dnnfix bot analyse`: the first phase, in a checkout."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from dnnfix.cli.bot import choosing
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, Console

EXAMPLES = """  dnnfix bot analyse --repo owner/name --output-file report.json
  dnnfix bot analyse checkout/ --repo owner/name --python .venv/bin/python
"""

EXIT_CODES = "0 analysed, 2 error"


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    repo: Annotated[str, Option(metavar="OWNER/NAME", help="what the repository is called")],
    analysis: choosing.Analysing,
    since: choosing.Since = None,
    folder: Annotated[Path, Argument(metavar="FOLDER", help="the checkout (the working folder)")] = Path(),
    output_file: Annotated[Path | None, Option(metavar="FILE", help="where the report goes (standard output)")] = None,
) -> int:
    """Find the programs of a checkout, run each for a moment in the sandbox as `dnnfix suggest` does, read the rest, and write a
    report for `dnnfix bot publish`. The folder is the top of a checkout; what git does not know of it is not looked at. Where variables look like
    tokens the analysis is made by a process that does not have them, and programs are run under bubblewrap alone. Of the repository's own settings only those are read
    that choose rules and files."""
    from dnnfix.bot import analyse, analysis_process
    from dnnfix.errors import InputError

    target = output_file.absolute() if output_file else None
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder. Name the checkout of a git repository.")
    if target is not None and not target.parent.is_dir():
        raise InputError(f"{output_file}: there is no such folder to write it into. Make it first.")
    flags = replace(analysis.flags(), since=since)
    if analysis_process.secrets(flags.keys):
        with tempfile.TemporaryDirectory(prefix="dnnfix-bot-") as place:
            made = Path(place, "report.json")
            command = flags.command(folder.absolute(), repo, made, quiet=console.quiet)
            code = analysis_process.analysed(command, needed=flags.keys)
            if code == CLEAN:
                _handed_over(console, made.read_text(encoding="utf-8"), target)
            return code
    whole = flags.whole or analyse.BUDGET
    text = analyse.analyse(folder.absolute(), repo, flags.overrides(), whole, console.progress, since or "")
    _handed_over(console, text, target)
    return CLEAN


def _handed_over(console: Console, text: str, target: Path | None) -> None:
    if target is None:
        console.write(text)
    else:
        target.write_text(text, encoding="utf-8")
