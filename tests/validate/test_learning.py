"""Scores of trials and the sequential test."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from dnnfix.records import RunOutcome, Step, Trace
from dnnfix.validate.learning import MAX_PAIRS, as_far, decide, difference, score


def trace(*skills: float | None, losses: tuple[float, ...] = ()) -> Trace:
    count = max(len(skills), len(losses))
    steps = tuple(
        Step(i, loss=losses[i] if i < len(losses) else None, skill=skills[i] if i < len(skills) else None)
        for i in range(count)
    )
    return Trace(RunOutcome.FINISHED, steps=steps)


def test_no_step_has_no_score() -> None:
    assert score(Trace(RunOutcome.FINISHED)) is None


def test_the_score_is_the_skill_of_the_last_quarter() -> None:
    found = score(trace(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.4, 0.8))
    assert found is not None
    assert found.value == pytest.approx(0.6)
    assert found.yardstick == "skill"


def test_without_skill_the_fall_of_the_loss_counts() -> None:
    found = score(trace(losses=(2.0, 1.5, 1.0, 1.0)))
    assert found is not None
    assert found.value == pytest.approx(0.5)
    assert found.yardstick == "loss"


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_non_finite_training_scores_as_bad_as_can_be(bad: float) -> None:
    found = score(trace(0.9, 0.9, 0.9, 0.9, losses=(1.0, 1.0, 1.0, bad)))
    assert found is not None
    assert found.value == -1.0


def of_ranks(steps: int, same: bool) -> Trace:
    return replace(trace(*[0.5] * steps), probes={"world": 2, "ranks": {"same_batches": same}})


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        (of_ranks(24, same=True), of_ranks(12, same=False), 12),
        (of_ranks(23, same=True), of_ranks(12, same=False), 12),
        (of_ranks(24, same=True), of_ranks(11, same=False), 24),
        (of_ranks(24, same=True), of_ranks(12, same=True), 24),
        (of_ranks(24, same=False), of_ranks(12, same=False), 24),
        (of_ranks(12, same=True), of_ranks(24, same=False), 12),
        (trace(*[0.5] * 24), trace(*[0.5] * 12), 24),
    ],
    ids=["divided", "uneven", "fewer than that", "still the same", "were divided", "more", "one process"],
)
def test_trials_are_compared_at_as_many_steps_only_where_ranks_come_to_divide_their_data(
    before: Trace, after: Trace, kept: int
) -> None:
    assert as_far(before, after).steps == before.steps[:kept]


def test_where_only_one_program_shows_its_skill_the_losses_are_compared() -> None:
    assert difference(trace(0.5, 0.5), trace(losses=(1.0, 0.5))) is None
    shown = trace(0.5, 0.5, losses=(1.0, 0.9))
    assert difference(shown, trace(losses=(1.0, 0.5))) == pytest.approx(0.4)


def test_five_wins_settle_and_four_do_not() -> None:
    assert decide([0.2] * 5, 0.05).settled == "yes"
    assert decide([0.2] * 4, 0.05).settled == ""


def test_five_losses_settle_against() -> None:
    assert decide([-0.2] * 5, 0.05).settled == "no"


def test_nine_wins_make_up_for_one_loss() -> None:
    one_lost = [0.2, 0.2, -0.1, *[0.2] * 6]
    assert decide(one_lost, 0.05).settled == "" and decide(one_lost, 0.05).can_succeed(1)
    assert decide([*one_lost, 0.2], 0.05).settled == "yes"


def test_two_losses_cannot_be_made_up_for() -> None:
    assert not decide([-0.1, -0.1, 0.2, 0.2, 0.2], 0.05).can_succeed(MAX_PAIRS - 5)


def test_equal_programs_are_accepted_in_at_most_one_case_of_twenty() -> None:
    generator = random.Random(0)
    accepted = sum(
        decide([generator.gauss(0.0, 1.0) for _ in range(MAX_PAIRS)], 0.0).settled == "yes" for _ in range(4000)
    )
    assert accepted / 4000 <= 0.05


def test_a_loss_that_leaves_the_finite_numbers_is_worse_than_any_that_falls() -> None:
    broken, falling = trace(losses=(2.0, 1e9, math.nan, math.nan)), trace(losses=(2.0, 1.5, 1.0, 1.0))
    assert difference(broken, falling) == 1.5 == -(difference(falling, broken) or 0.0)
