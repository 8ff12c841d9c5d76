"""Exceptions that a program swallows are told, and an opened handler lets them through."""

from __future__ import annotations

import dataclasses

import pytest

from dnnfix.records import RunOutcome, Scaffold, Trace
from dnnfix.run.job import Budget, Job
from dnnfix.run.runner import Runner

SWALLOWS = """\
def asks():
    try:
        import no_such_package
    except Exception:
        pass


def works():
    try:
        return [1, 2][2]
    except Exception as error:
        print(error)


asks()
works()
print("over")
"""


def traced(text: str, runner: Runner, scaffold: Scaffold | None = None) -> Trace:
    return runner.run(Job("program.py", text.encode(), 0, Budget(seconds=10.0), scaffold=scaffold))


def test_what_was_swallowed_last_is_told(runner: Runner) -> None:
    trace = traced(SWALLOWS, runner)
    assert trace.outcome is RunOutcome.FINISHED
    assert trace.printed.endswith("over\n")
    assert trace.caught is not None
    assert (trace.caught.site.line, trace.caught.number) == (11, 1)
    assert (trace.caught.kind, trace.caught.message) == ("IndexError", "list index out of range")


def test_an_opened_handler_lets_it_through_and_no_other_one_does(runner: Runner) -> None:
    trace = traced(SWALLOWS, runner, Scaffold(opened=(("", 1),)))
    assert trace.outcome is RunOutcome.CRASHED
    assert trace.crash is not None and trace.crash.site is not None
    assert (trace.crash.kind, trace.crash.site.line) == ("IndexError", 10)
    assert [frame.site.line for frame in trace.crash.frames] == [16, 10]


def test_what_the_machine_lacks_is_caught_by_an_opened_handler_too(runner: Runner) -> None:
    trace = traced(SWALLOWS, runner, Scaffold(opened=(("", 0),)))
    assert trace.outcome is RunOutcome.FINISHED


@pytest.mark.parametrize(
    "handler",
    ["except IndexError:\n    pass", "except Exception:\n    raise", "except:\n    raise ValueError from None"],
)
def test_a_handler_that_is_not_broad_or_that_raises_swallows_nothing(handler: str, runner: Runner) -> None:
    trace = traced(f"try:\n    [][0]\n{handler}\n", runner)
    assert trace.caught is None


def test_a_handler_of_a_module_beside_the_program(runner: Runner) -> None:
    job = Job("program.py", b"import beside\n", 0, Budget(seconds=10.0), beside=(("beside.py", SWALLOWS.encode()),))
    trace = runner.run(job)
    assert trace.caught is not None and trace.caught.site.path == "beside.py"
    opened = dataclasses.replace(job, scaffold=Scaffold(opened=(("beside.py", 1),)))
    assert runner.run(opened).outcome is RunOutcome.CRASHED
