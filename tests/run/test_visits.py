"""What a failing statement's names held when it ran before is told."""

from __future__ import annotations

from typing import Any

from dnnfix.run.job import Budget, Job, Speculation
from dnnfix.run.runner import Runner

LOOP = """\
import numpy as np


def total(sample):
    return sample.sum(axis=1)


for sample in [np.ones((2, 3)), np.ones((4, 3)), np.ones(3)]:
    total(sample)
"""


def told(runner: Runner, *lines: int) -> list[Any]:
    speculation = Speculation(watched=tuple(("", line) for line in lines))
    job = Job("program.py", LOOP.encode(), 0, Budget(seconds=10.0), speculation=speculation)
    survey = runner.run(job).probes["survey"]
    assert isinstance(survey, dict) and isinstance(survey["before"], list)
    return survey["before"]


def test_the_failing_visit_is_not_among_them(runner: Runner) -> None:
    assert ["", [5, 12, 5, 18], [[2, "float64"]]] in told(runner, 5)


def test_a_statement_of_the_module(runner: Runner) -> None:
    assert ["", [9, 11, 9, 17], [[2, "float64"]]] in told(runner, 9)


def test_nothing_is_told_of_what_is_not_watched(runner: Runner) -> None:
    assert told(runner) == []
