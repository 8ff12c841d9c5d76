"""Clocks that run fast: what a program prints of its time is otherwise then, and nothing else is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnnfix.bench.assessment import FURTHER_TURNS
from dnnfix.bench.oracle import whole_run
from dnnfix.records import RunOutcome, Trace
from dnnfix.run.runner import Runner
from dnnfix.validate.behaviour import same_behaviour, same_but_for_itself

CLOCKS = b"""
import time, timeit
from time import perf_counter_ns, time as now
clocks = [time.time, time.perf_counter, timeit.default_timer, now, lambda: perf_counter_ns() / 1e9]
outer = time.monotonic()
before = [clock() for clock in clocks]
inner = time.monotonic()
time.sleep(0.2)
least = time.monotonic() - inner
passed = [clock() - start for clock, start in zip(clocks, before)]
print(least, time.monotonic() - outer, *passed)
print(type(time.time_ns()).__name__, now() > 1.7e9)
"""

TAKES = "import time\nstart = time.time()\ntime.sleep({})\nprint(f'{{time.time() - start:.0f}} s, loss {}')\n"


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(Path(sys.executable)) as made:
        yield made


def ran(runner: Runner, program: str | bytes, pace: float = 1.0) -> Trace:
    trace = runner.run(whole_run(program if isinstance(program, bytes) else program.encode(), 0, pace))
    assert trace.outcome is RunOutcome.FINISHED, trace.crash
    return trace


def test_every_clock_but_that_of_the_budget_runs_fast(runner: Runner) -> None:
    for pace in (1.0, 4.0, 1.0):
        times, others = ran(runner, CLOCKS, pace).printed.splitlines()
        least, most, *passed = map(float, times.split())
        assert 0.2 <= least and len(passed) == 5
        assert all(pace * least - 0.01 < seconds < pace * most + 0.01 for seconds in passed), times
        assert others == "int True"


@pytest.mark.parametrize(("loss", "is_same"), [("0.25", True), ("0.75", False)])
def test_a_clock_that_stands_alike_in_every_run_is_nothing_that_a_patch_answers_for(
    runner: Runner, loss: str, is_same: bool
) -> None:
    repaired, patched = TAKES.format(0.6, "0.25"), TAKES.format(1.6, loss)
    once, after = ran(runner, repaired), ran(runner, patched)
    assert once.printed == ran(runner, repaired).printed and not same_behaviour([after], [once])
    turns = [ran(runner, repaired, turn) for turn in FURTHER_TURNS]
    assert same_but_for_itself([after], [once], [turns]) is is_same
