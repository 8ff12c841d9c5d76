"""What is made smaller of a program that is too slow, and what is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dnnfix.records import Crash, EditStep, RunOutcome, Trace
from dnnfix.reproduce.actions import smaller
from dnnfix.reproduce.case import Case
from dnnfix.source.program import Source

STALLED = Trace(RunOutcome.TIMEOUT)


def case(text: str, *more: Trace) -> Case:
    source = Source.from_bytes(text.encode(), "program.py")
    return Case(source, (STALLED, *more), lambda name: True, Path("/nowhere"), little_data=True)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("batch_size = 64\nhidden_size = 512\n", (("batch_size", 4),)),
        ("net(num_hidden_layers=12, n_head=12)\n", (("num_hidden_layers", 2),)),
        ("batch_size = 2\nblock_size = computed()\n", ()),
        ("parser.add_argument('-b', '--train-batch-size', default=32)\n", (("train_batch_size", 4),)),
        ("optimizer.step(); classes = 1000; block = 9\n", ()),
    ],
)
def test_sizes_are_known_by_their_names_and_widths_stay(text: str, sizes: tuple[tuple[str, int], ...]) -> None:
    found = [step for step in smaller.steps(case(text)) if isinstance(step, EditStep)]
    assert [step.scaffold.sizes for step in found] == ([sizes] if sizes else [])


def test_words_of_a_command_line_are_given_again_smaller() -> None:
    called = replace(case("pass\n"), called_with=("data", "--batch_size=32", "--n-layers", "12", "--seed", "100"))
    (step,) = smaller.steps(called)
    assert isinstance(step, EditStep) and step.scaffold.arguments == ("--batch_size=4", "--n-layers", "2")


def test_sizes_that_do_not_fit_stay_as_they_were() -> None:
    text = "block_size = 1024\n"
    for message, fits in (
        ("shapes cannot be multiplied (8x64 and 1024x8)", False),
        ("invalid index of a 0-dim tensor", True),
    ):
        crash = Trace(RunOutcome.CRASHED, crash=Crash("RuntimeError", message))
        assert bool(list(smaller.steps(case(text, crash)))) is fits
    assert not list(smaller.steps(replace(case(text), little_data=False)))
