"""A gain is worth nothing where the same examples have other answers; codes and scales are free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnnfix import registry
from dnnfix.records import Json, RunOutcome, Status, Symptom, Trace
from tests.validate.test_validators import evidence

COUNT = 60
LABELS = [number * 7 % 11 % 3 for number in range(COUNT)]
PRICES = [float(number * 37 % 101) ** 1.5 for number in range(COUNT)]
INPUTS = list(range(COUNT))


def seen(targets: Sequence[float | Sequence[float]], inputs: Sequence[int] = INPUTS, width: int = 1) -> Trace:
    rows: list[Json] = [list(map(float, one if isinstance(one, Sequence) else [one])) for one in targets]
    return Trace(RunOutcome.FINISHED, probes={"answers": {"rows": [*inputs], "targets": rows, "width": width}})


def judged(before: Trace, after: Trace, symptom: Symptom = Symptom.NOT_LEARNING) -> Status:
    (validator,) = (one for one in registry.validators() if one.name == "answers-kept")
    return validator.judge(replace(evidence(symptom=symptom), examples=(before, after))).status


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        (seen(LABELS), seen(LABELS), Status.PASS),
        (seen(LABELS), seen([2 - label for label in LABELS]), Status.PASS),
        (seen(LABELS), seen([label + 1 for label in LABELS]), Status.PASS),
        (seen(LABELS), seen([label > 0 for label in LABELS]), Status.FAIL),
        (seen(LABELS), seen([0] * COUNT), Status.FAIL),
        (seen([price > 300 for price in PRICES]), seen([price > 30 for price in PRICES]), Status.FAIL),
        (seen(LABELS), seen(LABELS[1:] + LABELS[:1]), Status.NOT_APPLICABLE),
        (seen(LABELS), seen([label > 0 for label in LABELS], inputs=INPUTS[::-1]), Status.NOT_APPLICABLE),
        (seen(LABELS), seen([label > 0 for label in LABELS], inputs=[]), Status.NOT_APPLICABLE),
        (seen(PRICES), seen([price / 1000 - 3 for price in PRICES]), Status.PASS),
        (seen(PRICES), seen([min(price, 700) for price in PRICES], inputs=INPUTS[::-1]), Status.FAIL),
        (seen(PRICES), seen(PRICES[5:] + PRICES[:5]), Status.NOT_APPLICABLE),
        (seen(PRICES), seen([1.0] * COUNT), Status.NOT_APPLICABLE),
        (
            seen([[price, 3 - label] for price, label in zip(PRICES, LABELS, strict=True)], width=2),
            seen([[price / 9, label] for price, label in zip(PRICES, LABELS, strict=True)], width=2),
            Status.PASS,
        ),
        (seen(LABELS), seen([[label, 0] for label in LABELS], width=2), Status.NOT_APPLICABLE),
        (seen(LABELS[:9], INPUTS[:9]), seen([0] * 9, INPUTS[:9]), Status.NOT_APPLICABLE),
        (seen([*LABELS[1:], float("nan")]), seen([0] * COUNT), Status.NOT_APPLICABLE),
        (Trace(RunOutcome.FINISHED), seen(LABELS), Status.NOT_APPLICABLE),
    ],
)
def test_the_answers_of_the_same_examples_are_the_same(before: Trace, after: Trace, status: Status) -> None:
    assert judged(before, after) is status
    assert judged(before, after, Symptom.VIOLATION) is Status.NOT_APPLICABLE


@given(st.lists(st.integers(0, 5), min_size=24, max_size=80), st.permutations(range(6)))
def test_another_code_for_the_same_classes_is_never_held_against_a_patch(labels: list[int], names: list[int]) -> None:
    inputs = range(len(labels))
    assert judged(seen(labels, inputs), seen([names[label] for label in labels], inputs)) is Status.PASS


@given(
    st.lists(st.floats(-1e3, 1e3, width=32), min_size=24, max_size=60, unique=True),
    st.floats(0.001, 1000.0),
    st.floats(-5.0, 5.0),
)
def test_another_scale_is_never_held_against_a_patch(amounts: list[float], factor: float, offset: float) -> None:
    after = [amount * factor * (1 + offset * offset) + offset for amount in amounts]
    assert judged(seen(amounts, range(len(amounts))), seen(after, range(len(amounts)))) is not Status.FAIL
