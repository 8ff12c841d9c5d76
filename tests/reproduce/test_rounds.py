"""How often a program is run to make it runnable, and when that is given up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dnnfix.records import EditAction, EditStep, Network, Reproduction, RunOutcome, Scaffold, Step, Trace
from dnnfix.reproduce import rounds
from dnnfix.reproduce.case import Case
from dnnfix.reproduce.rounds import RUNS, attempt, needed
from dnnfix.source.program import Source

FAILED = Trace(RunOutcome.NEEDS_DATA, detail="x.csv")
DONE = Trace(RunOutcome.FINISHED, steps=(Step(0, 1.0),))


def made(start: str) -> Reproduction:
    scaffold = Scaffold(start=start)
    return Reproduction((EditStep(EditAction.INPUT_DATA, start, "a guess", scaffold=scaffold),), scaffold, ("a gap",))


def tried(
    monkeypatch: pytest.MonkeyPatch, plans: list[Reproduction], ends: list[Trace]
) -> tuple[Reproduction, tuple[Trace, ...], int]:
    """Attempt with these plans, the last one again and again, and runs that end so; gives how many runs there were."""
    asked, run = iter([*plans, *[plans[-1]] * 9]), iter(ends)
    monkeypatch.setattr(rounds, "plan", lambda case: next(asked))
    count = 0

    def once(reproduction: Reproduction) -> Trace:
        nonlocal count
        count += 1
        return next(run)

    case = Case(Source.from_bytes(b"pass\n", "x.py"), (FAILED,), lambda name: True)
    reproduction, traces = attempt(case, once)
    return reproduction, traces, count


def test_no_more_runs_than_two(monkeypatch: pytest.MonkeyPatch) -> None:
    plans = [made("a = 1"), made("a = 2"), made("a = 3"), made("a = 4")]
    kept, traces, count = tried(monkeypatch, plans, [FAILED] * 9)
    assert count == RUNS == 2 and len(traces) == 2
    assert kept.scaffold.start == "a = 2"


def test_one_run_where_that_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, _, count = tried(monkeypatch, [made("a = 1"), made("a = 2")], [DONE])
    assert count == 1 and kept.scaffold.start == "a = 1"


def test_no_second_run_where_nothing_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tried(monkeypatch, [made("a = 1")], [FAILED] * 9)[2] == 1


def test_nothing_is_run_where_nothing_can_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, traces, count = tried(monkeypatch, [Reproduction(missing=("a gap",))], [])
    assert not count and not traces and kept.missing == ("a gap",) and not kept.steps


def test_a_scaffold_that_breaks_is_given_up_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Trace(RunOutcome.ENVIRONMENT, detail="the scaffold failed: ValueError: no")
    kept, _, count = tried(monkeypatch, [made("a = 1")], [broken])
    assert count == 1 and not kept.steps
    assert any("ValueError: no" in missing for missing in kept.missing)


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        (DONE, False),
        (FAILED, True),
        (Trace(RunOutcome.CRASHED), True),
        (Trace(RunOutcome.EXITED), True),
        (Trace(RunOutcome.FINISHED), True),
        (Trace(RunOutcome.FINISHED, network=Network("torch", "trace")), True),
        (Trace(RunOutcome.TIMEOUT), False),
        (Trace(RunOutcome.OUT_OF_MEMORY), False),
        (Trace(RunOutcome.KILLED), False),
    ],
)
def test_when_it_is_needed(trace: Trace, expected: bool) -> None:
    assert needed(trace) is expected


def test_a_second_run_with_less_where_the_first_was_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = [Trace(RunOutcome.OUT_OF_MEMORY), DONE]
    kept, _, count = tried(monkeypatch, [made("a = 1"), made("a = 2")], ends)
    assert count == 2 and kept.scaffold.start == "a = 2"


@pytest.mark.parametrize(("second", "start"), [(DONE, "a = 2"), (Trace(RunOutcome.CRASHED), "a = 1")])
def test_a_run_with_less_where_steps_are_slow_counts_where_the_program_still_fits(
    monkeypatch: pytest.MonkeyPatch, second: Trace, start: str
) -> None:
    ends = [replace(DONE, step_seconds=0.4), second]
    kept, _, count = tried(monkeypatch, [made("a = 1"), made("a = 2")], ends)
    assert count == 2 and kept.scaffold.start == start
