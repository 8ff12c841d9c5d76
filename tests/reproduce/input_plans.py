"""What is planned for the data of a program, and its run with them."""

from __future__ import annotations

from pathlib import Path

from dnnfix.records import EditStep, RunOutcome, Trace
from dnnfix.reproduce.actions import input_data
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.plan import joined
from dnnfix.run.job import Budget, Job
from dnnfix.run.runner import Runner
from dnnfix.source.program import Source


def plan(code: str, said: str = "", folder: Path | None = None) -> tuple[list[EditStep], list[str]]:
    """The steps for a program, and what is missing."""
    case = Case(Source.from_bytes(code.encode(), "program.py"), (), lambda name: True, folder=folder, said=said)
    found = list(input_data.steps(case))
    steps = [step for step in found if isinstance(step, EditStep)]
    return steps, [gap.what for gap in found if isinstance(gap, Gap)]


def run(runner: Runner, code: str, said: str = "", steps: int = 12) -> Trace:
    """The run of a program with its data made."""
    made, missing = plan(code, said)
    assert made and not missing, missing
    job = Job("program.py", code.encode(), 0, Budget(steps, seconds=60), scaffold=joined(made))
    return runner.run(job)


def finished(trace: Trace) -> str:
    """What a run printed that came to its end."""
    assert trace.outcome is RunOutcome.FINISHED, (trace.detail, trace.crash)
    return trace.printed
