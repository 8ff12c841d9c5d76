"""`dnnfix suggest`: finds faults and proves patches, without changing any file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from typer import Option

from dnnfix.cli import options
from dnnfix.cli.command import command
from dnnfix.cli.console import Console
from dnnfix.cli.reported import report_of
from dnnfix.cli.session import Session
from dnnfix.errors import ConfigError
from dnnfix.programs import Program
from dnnfix.records import FileReport

EXAMPLES = """  dnnfix suggest train.py
  dnnfix suggest train.py --output-format diff | git apply
  dnnfix suggest experiments/ --budget 120 --output-format json --output-file report.json
  dnnfix suggest train.py --python .venv/bin/python     the interpreter that has the program's packages
  dnnfix suggest notebook.ipynb --select DNF3           losses and activations only
  dnnfix suggest --report issue.md ~/src/project        what a bug report is about: its program, and where it points
  dnnfix suggest train.py --log symptoms.jsonl          with what dnnfix.watch saw in a long run
  dnnfix suggest train.py --proposer model --dry-run    what a language model would be told, where nothing else repairs it
"""

EXIT_CODES = "0 nothing found, 1 findings, 2 error, or nothing found and a program that could not be run"


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    inputs: options.Inputs,
    rules: options.Selection,
    patches: options.Fixing,
    running: options.Running,
    long_run: options.LongRun,
    proposing: options.Proposing,
    configuration: options.Configuration,
    results: options.Results,
    report: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="a bug report (- for standard input): its program is repaired, and the most suspect files of the folder PATH",
        ),
    ] = None,
) -> int:
    """Find the faults of deep-learning programs and print proven patches for them. Each program is run for a
    moment in a sandbox, without network and on a budget; candidates are run beside it, and only one that removes the
    symptom and breaks nothing else is shown as a repair. Where none does, the one that gets furthest is shown as partial,
    with the place where the program then stops. A module, which has no program of its own, is run through a program of
    its repository that uses it, where there is one. Nothing of yours is changed."""
    if proposing.dry_run and results.output_format not in (None, "text", "json"):
        raise ConfigError(f"--dry-run: what would be sent is shown as text or json. Received: {results.output_format}")
    overrides = options.overrides(rules, patches, running, proposing)
    session = Session(console, inputs, configuration, results, overrides, needs_path=report is None)
    programs = session.programs() if report is None else session.reported(report_of(report))
    if long_run.log is not None:  # that of one program, which is the one to run
        return session.work(reports(session, long_run.log, programs))
    from dnnfix.through import Through

    through = Through(session.finder, lambda program: _report(session, program), console.remark)
    return session.work(through.reports(programs))


def reports(
    session: Session, log: str | None = None, programs: Iterator[Program] | None = None
) -> Iterator[tuple[Program, FileReport]]:
    """The whole report of each program that can be analysed, in order; `log` is that of a long run of the only one."""
    for program in session.programs() if programs is None else programs:
        report = _report(session, program, log)
        if report is not None:
            yield program, report


def _report(session: Session, program: Program, log: str | None = None) -> FileReport | None:
    """The whole report of a program; where it cannot be analysed, the reason goes to the output."""
    from dnnfix import pipeline
    from dnnfix.selectors import verify
    from dnnfix.watching.log import read_log

    seen = read_log(log, program.path) if log is not None else None
    verify(program.settings)
    pipeline.verify_proposer(program.settings, session.asked)
    with (
        session.guarding(program),
        session.console.working(program.path, program.settings.budget) as progress,
    ):
        found = pipeline.suggest_file(
            program.raw, program.path, program.settings, progress, log=seen, said=program.said
        )
        if found.model is not None and found.model.silent:  # not every format has a place for it
            session.console.remark(
                f"{program.path}: {found.model.model} gave no answer: {'; '.join(found.model.remarks)}"
            )
        return found
    return None
