"""Functions that nobody calls run where lines in them are outdated, with values after what is done with them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

from dnnfix.records import Crash, EditStep, Frame, RunOutcome, Site, Trace
from dnnfix.reproduce.actions import network
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.plan import joined
from dnnfix.source.program import Source

Run = Callable[..., Trace]

OUTDATED = textwrap.dedent(
    """
    import torch
    from torch.autograd import Variable

    def draw(policy, count, size):
        return torch.cat([policy.sample(size) for _ in range(count)], 0)[:count]

    def score(policy, judge, num_samples, batch_size):
        seen, total = draw(policy, num_samples, batch_size), 0
        for start in range(0, num_samples, batch_size):
            nll_loss = judge.batch_loss(Variable(seen[start : start + batch_size]))
            total += nll_loss.data[0]
        return total

    def accuracy(output, target):
        correct = output.max(1)[1].eq(target).sum()
        return correct.data[0] / target.size(0)

    def widths(table):
        return table.size(0)
    """
)


def planned(text: str, *traces: Trace) -> list[EditStep | Gap]:
    source = Source.from_bytes(text.encode(), "program.py")
    return list(network.steps(Case(source, traces, lambda name: True, Path("/nowhere"))))


def called(text: str, *traces: Trace) -> list[str]:
    return [step.what.split()[0] for step in planned(text, *traces) if isinstance(step, EditStep)]


def test_an_outdated_line_of_a_function_shows_when_it_is_called(run_in: Run) -> None:
    assert called(OUTDATED) == ["score", "accuracy"]
    trace = run_in(OUTDATED, joined([step for step in planned(OUTDATED) if isinstance(step, EditStep)]))
    assert trace.crash is not None
    assert trace.crash.kind == "IndexError"
    assert trace.crash.site is not None
    assert trace.crash.site.line == 12


def test_the_functions_run_when_they_are_brought_up_to_date(run_in: Run) -> None:
    scaffold = joined([step for step in planned(OUTDATED) if isinstance(step, EditStep)])
    trace = run_in(OUTDATED.replace(".data[0]", ".item()"), scaffold)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail


def test_functions_without_outdated_lines_are_left_alone() -> None:
    assert not planned(OUTDATED.replace(".data[0]", ".item()"))


def test_a_function_that_what_was_made_does_not_fit_is_not_called_again() -> None:
    stood = Trace(RunOutcome.FINISHED, 0)
    place = Frame(Site(9, 1, 9, 2), "score")
    failed = Trace(RunOutcome.CRASHED, 0, crash=Crash("TypeError", "made up", (place,)))
    assert called(OUTDATED, stood, failed) == ["accuracy"]


def test_a_parameter_that_nothing_is_told_of_is_a_gap() -> None:
    text = OUTDATED.replace("def accuracy(output, target)", "def accuracy(output, target, mystery)")
    assert [one.what for one in planned(text) if isinstance(one, Gap)] == [
        "accuracy is never called, and what its `mystery` is is not told: add a call of it"
    ]
