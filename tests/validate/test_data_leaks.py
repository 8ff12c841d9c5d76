"""What evaluations show beside training, from the numbers alone."""

from __future__ import annotations

import pytest

from dnnfix.records import Component, Json, Network, RunOutcome, Step, Trace
from dnnfix.validate.data_leaks import readings

LEARNED: dict[str, Json] = {"rows": 200, "step": 200, "skill": 0.1, "simple": 0.6, "learner": "linear"}
PART: dict[str, Json] = {"rows": 200, "declared": False, "shared": 0.4, "repeated": 0.0, "covers": 0.2}


def names(
    skill: float, held_back: Json = None, parts: Json = None, steps: int = 200, network: Network | None = None
) -> list[str]:
    taken = tuple(Step(index, loss=1.0, skill=skill) for index in range(steps))
    probes = {"held-back": held_back, "parts": parts}
    trace = Trace(RunOutcome.FINISHED, network=network, steps=taken, probes=probes, spent=True)
    return [reading.name for reading in readings(trace)]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param({}, ["by-heart"], id="far less on new rows"),
        pytest.param({"skill": 0.5}, [], id="as a simple learner"),
        pytest.param({"simple": 0.2}, [], id="no simple learner does better"),
        pytest.param({"step": 100}, [], id="evaluated long before"),
    ],
)
def test_rows_are_learned_by_heart_where_a_simple_learner_does_better_on_new_ones(
    changed: dict[str, Json], expected: list[str]
) -> None:
    assert names(0.9, {**LEARNED, **changed}) == expected


def test_nothing_is_said_where_batch_statistics_differ_in_an_evaluation() -> None:
    layers = [Component(number, "layer", name) for number, name in enumerate(("Dense", "BatchNormalization"))]
    assert names(0.9, LEARNED, network=Network("keras", "trace", tuple(layers[:1]))) == ["by-heart"]
    assert names(0.9, LEARNED, network=Network("keras", "trace", tuple(layers))) == []


def test_of_a_training_that_learned_little_or_was_cut_nothing_is_said() -> None:
    assert names(0.3, LEARNED) == []
    assert names(0.9, LEARNED, steps=20) == []


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param({}, ["shared-rows"], id="rows of both"),
        pytest.param({"repeated": 0.3}, [], id="as data repeat by nature"),
        pytest.param({"shared": 1.0}, [], id="the part for training"),
        pytest.param({"shared": 1.0, "declared": True}, ["shared-rows"], id="called validation"),
        pytest.param({"covers": 0.9}, [], id="all there is"),
    ],
)
def test_parts_share_rows_where_the_program_does_not_mean_it(changed: dict[str, Json], expected: list[str]) -> None:
    assert names(0.9, parts=[{**PART, "shared": 0.0}, {**PART, **changed}]) == expected
