"""`dnnfix reproduce`: makes a program, or the program of a bug report, run without touching its fault."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from dnnfix.cli import options
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, FOUND, Console
from dnnfix.emit.view import printable
from dnnfix.errors import InputError
from dnnfix.programs import MAX_NOTEBOOK
from dnnfix.reproduce import script
from dnnfix.reproduce.reports.result import Reproduced

EXIT_CODES = "0 it runs (a report: its symptom appears), 1 it does not, 2 error"

EXAMPLES = """  dnnfix reproduce train.py                         what it takes to run, and what is missing
  dnnfix reproduce train.py --output runnable.py    the same as a script that runs by itself
  dnnfix reproduce issue.md --diff                  what was put around the program of a bug report
  dnnfix reproduce snippet.py --output-format json
"""

MARKDOWN = (".md", ".markdown")
SCHEMA = "dnnfix-reproduction/1"


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    path: Annotated[
        Path, Argument(metavar="FILE|REPORT.md", help="a program (.py, .ipynb) or a bug report in Markdown (.md)")
    ],
    running: options.Running,
    configuration: options.Configuration,
    output: Annotated[Path | None, Option(metavar="SCRIPT", help="write the runnable script there")] = None,
    force: Annotated[bool, Option("--force", help="overwrite SCRIPT where it exists")] = False,
    diff: Annotated[bool, Option("--diff", help="show the script as a diff against the program")] = False,
    output_format: Annotated[Literal["text", "json"], Option(help="how the account is written (text)")] = "text",
) -> int:
    """Make a program run that does not run as it stands, without touching its fault: data sets and files that
    nobody has, missing imports, undefined names, pretrained weights, a class alone, command-line arguments, a GPU. The program
    itself stays as it is; it is put between code that makes what it lacks. Every made-up thing is listed, with what its form
    was taken from. A bug report in Markdown is read for its code, its traceback and its prose; then it is also said whether
    the symptom that it reports appears. Nothing of yours is changed."""
    from dnnfix import pipeline

    raw = _read(path)
    _check(output, path, force)
    settings = configuration.settings(running)

    reproduced = pipeline.reproduce_report if path.suffix.lower() in MARKDOWN else pipeline.reproduce_file
    with console.working(os.fspath(path), settings.budget) as progress:
        result = reproduced(raw, os.fspath(path), settings, progress)
    text = script.script(result.program, result.reproduction)
    if output_format == "json":
        console.write(json.dumps(_document(result, text), indent=2) + "\n")
    else:
        console.write("\n".join(_lines(os.fspath(path), result)) + "\n")
        if diff:
            console.write(_diff(result, text))
    if output is not None:
        output.write_text(text, encoding="utf-8", errors="surrogateescape")
        console.remark(f"the script is in {output}")
    return CLEAN if result.succeeded else FOUND


def _read(path: Path) -> bytes:
    try:
        if path.is_file() and path.stat().st_size > MAX_NOTEBOOK:
            raise InputError(f"{path}: larger than {MAX_NOTEBOOK} bytes; that is data, not a program or a report.")
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror or error}. Give a program (.py, .ipynb) or a report (.md)."
        ) from error


def _check(target: Path | None, path: Path, force: bool) -> None:
    """Refuse a script that could not or should not be written, before anything is run."""
    if target is None:
        return
    if target.exists() and path.exists() and target.samefile(path):
        raise InputError(f"{target}: the script would overwrite the program. Give another name to --output.")
    if target.exists() and not force:
        raise InputError(f"{target}: exists already. Give another name to --output, or --force.")
    if not target.absolute().parent.is_dir():
        raise InputError(f"{target}: there is no such folder to write it into. Make it first.")


def _lines(path: str, result: Reproduced) -> Iterator[str]:
    reproduction = result.reproduction
    others = f" (also: {', '.join(result.typed.others)})" if result.typed.others else ""
    yield f"{printable(path)}: {result.typed.kind.value} bug{others}"
    for reason in result.typed.reasons[:3]:
        yield f"  because    {printable(reason)}"
    yield f"  as it is   {printable(result.as_it_is[:300])}"
    for step in reproduction.steps:
        yield f"  {'made' if step.invented else 'done'}       {printable(str(step))}"
    for missing in reproduction.missing:
        yield f"  missing    {printable(missing)}"
    for asked in result.asked:
        share, whom = f"{100 * asked.weight:.0f} %", "bugs of this type" if asked.of_type else "all bugs"
        yield f"  ask for    {asked.information.value} (it was of use for {share} of {whom} that could be reproduced)"
    yield f"  outcome    {printable(result.outcome)}"


def _document(result: Reproduced, text: str) -> dict[str, object]:
    reproduction = result.reproduction
    return {
        "schema": SCHEMA,
        "path": result.source.path,
        "type": result.typed.kind.value,
        "reasons": list(result.typed.reasons),
        "other_types": [kind.value for kind in result.typed.others],
        "actions": [
            {
                "action": step.action.value,
                "what": step.what,
                "evidence": step.evidence,
                "line": step.line,
                "invented": step.invented,
            }
            for step in reproduction.steps
        ],
        "missing": list(reproduction.missing),
        "missing_information": [{"information": a.information.value, "weight": a.weight} for a in result.asked],
        "reported": str(result.reported) if result.reported else None,
        "reproduced": result.shows,
        "runs": [
            {
                "outcome": trace.outcome.value,
                "detail": trace.detail,
                "seconds": round(trace.seconds, 3),
                "steps": len(trace.steps),
            }
            for trace in result.traces
        ],
        "outcome": result.outcome,
        "script": text,
    }


def _diff(result: Reproduced, text: str) -> str:
    name = result.source.path
    before, after = result.source.text.splitlines(True), text.splitlines(True)
    return "".join(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}"))
