"""`dnnfix locate`: from a bug report to the files, functions and lines that it is about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, BadParameter, Option

from dnnfix.cli import options
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, Console
from dnnfix.cli.output import palette, replace_file
from dnnfix.cli.reported import Reported, issue_of, report_of
from dnnfix.emit.text import PLAIN
from dnnfix.errors import InputError
from dnnfix.locate import account

EXAMPLES = """  dnnfix locate --report issue.md                     the repository in this folder
  dnnfix locate --report issue.md ~/src/MONAI --top 3
  dnnfix locate --issue owner/name#12 ~/src/name      the issue as it stands on GitHub, with the token in GITHUB_TOKEN
  dnnfix locate --report issue.md --revision v1.2.0   the version that the report is about
  dnnfix locate --report issue.md --test-command "python -m pytest -q tests/test_loss.py"
  pbpaste | dnnfix locate --report - . --output-format json
"""

EXIT_CODES = "0 places were found, 2 error"


def _positive(value: int) -> int:
    if value < 1:
        raise BadParameter(f"has to be at least 1. Received: {value}")
    return value


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    configuration: options.Configuration,
    repository: Annotated[
        Path, Argument(metavar="REPOSITORY", help="the folder of the repository (the working folder)")
    ] = Path(),
    report: Annotated[
        str | None, Option(metavar="FILE", help="the report, in Markdown or plain text; - for standard input")
    ] = None,
    issue: Annotated[
        str | None, Option(metavar="OWNER/NAME#N", help="the issue of that number, from the forge")
    ] = None,
    forge: Annotated[str, Option(metavar="github|local:FOLDER", help="where issues are asked for (github)")] = "github",
    revision: Annotated[
        str | None, Option(metavar="REV", help="a tag, branch or commit to look in, in place of the files as they are")
    ] = None,
    test_command: Annotated[
        str | None,
        Option(
            metavar="COMMAND",
            help="a call of pytest with tests that show the fault: it is run on a copy, and what failing tests execute is evidence too",
        ),
    ] = None,
    budget: Annotated[float, Option(metavar="SECONDS", help="time for that command (600)")] = 600.0,
    top: Annotated[int, Option(metavar="N", help="how many files are shown (10)", callback=_positive)] = 10,
    output_format: Annotated[Literal["text", "json", "html"], Option(help="how the answer is written (text)")] = "text",
    output_file: Annotated[Path | None, Option(metavar="FILE", help="write it there, not to standard output")] = None,
) -> int:
    """Say where in a repository a bug report points: files, functions and lines, the most suspect first, each with its
    share of the suspicion and the reasons: stack frames, names and words in the text, the message of the error, changes for like
    reasons, what was changed lately. Nothing is changed, and nothing is run but --test-command. Tests are not searched. The repository is read once; later calls read what has changed."""
    from dnnfix.locate.locate import locate

    asked = _asked(console, report, issue, forge)
    settings = configuration.settings()
    with console.working(asked.name) as progress:
        located = locate(
            asked.text,
            asked.name,
            repository,
            cache=settings.cache,
            revision=revision,
            written=asked.written,
            top=top,
            tests=test_command,
            seconds=budget,
            progress=progress,
        )
    if output_format == "json":
        made = json.dumps(account.document(located), indent=2, ensure_ascii=False) + "\n"
    elif output_format == "html":
        made = account.page(located)
    else:
        made = account.text(located, PLAIN if output_file else palette(console))
    if output_file is not None:
        replace_file(output_file, made)
    else:
        console.write(made)
    return CLEAN


def _asked(console: Console, report: str | None, issue: str | None, forge: str) -> Reported:
    if issue is not None and report is None:
        return issue_of(console, issue, forge)
    if report is None or issue is not None:
        raise InputError("give the report by --report FILE (- for standard input), or by --issue OWNER/NAME#N.")
    return report_of(report)
