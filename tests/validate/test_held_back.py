"""What evaluations show beside training, from the numbers alone."""

from __future__ import annotations

import pytest

from dnnfix.records import Json, RunOutcome, Step, Trace
from dnnfix.validate.held_back import readings

NEW: dict[str, Json] = {"rows": 200, "declared": False, "shared": 0.0, "repeated": 0.0, "covers": 0.0}
LEARNED: dict[str, Json] = {"skill": 0.1, "simple": 0.6, "learner": "linear"}


def names(skill: float, *passes: dict[str, Json], steps: int = 200) -> list[str]:
    taken = [Step(index, loss=1.0, skill=skill) for index in range(steps)]
    trace = Trace(RunOutcome.FINISHED, steps=tuple(taken), probes={"held-back": list(passes)}, spent=True)
    return [reading.name for reading in readings(trace)]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param({}, ["by-heart"], id="far less on new rows"),
        pytest.param({"skill": 0.5}, [], id="as a simple learner"),
        pytest.param({"simple": 0.2}, [], id="no simple learner does better"),
        pytest.param({"skill": None}, [], id="no loss taken"),
        pytest.param({"shared": 0.1}, [], id="some rows are known"),
    ],
)
def test_rows_are_learned_by_heart_where_a_simple_learner_does_better_on_new_ones(
    changed: dict[str, Json], expected: list[str]
) -> None:
    assert names(0.9, {**NEW, **LEARNED, **changed}) == expected


def test_of_a_training_that_learned_little_or_was_cut_nothing_is_said() -> None:
    assert names(0.3, {**NEW, **LEARNED}) == []
    assert names(0.9, {**NEW, **LEARNED}, steps=20) == []


def test_the_first_pass_that_shows_something_is_told() -> None:
    assert names(0.9, {**NEW, "shared": 0.99, "covers": 0.4}, {**NEW, "shared": 0.5, "covers": 0.2}) == ["shared-rows"]
