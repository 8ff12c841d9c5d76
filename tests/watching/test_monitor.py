"""What measurements come to, over numbers that are written by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from dnnfix.validate.symptoms import ENOUGH_TO_TELL
from dnnfix.watching.log import Seen
from dnnfix.watching.monitor import MOST_STEPS, Look, Monitor

WEIGHTS = {"first.weight": 1.0, "last.weight": 1.0}
SOUND: dict[str, Any] = {
    "gradients": {"first.weight": 0.1, "last.weight": 0.1},
    "weights": WEIGHTS,
    "updates": {"first.weight": 1e-3, "last.weight": 1e-3},
    "matrices": frozenset(WEIGHTS),
    "rates": (("Adam", 1e-3),),
}


def told(losses: Iterable[float], look: Callable[[int], Look], patience: int = 200, every: int = 5) -> list[Seen]:
    """The symptoms of a training with these losses, looked at now and then."""
    found: list[Seen] = []
    monitor = Monitor(found.append, patience)
    for number, loss in enumerate(losses):
        if not monitor.took(loss):
            monitor.loss_broke()
        if number % every == 0:
            monitor.looked(look(number))
    assert len(monitor.trace().steps) <= MOST_STEPS
    return found


def names(found: list[Seen]) -> list[str]:
    return [seen.reading.name for seen in found]


def falling(steps: int) -> list[float]:
    return [math.exp(-step / 300) + 0.05 * math.sin(step) ** 2 for step in range(steps)]


def test_a_loss_that_falls_shows_nothing_whatever_the_layers_do() -> None:
    faint = Look(**{**SOUND, "gradients": {"first.weight": 1e-9, "last.weight": 0.1}, "rates": (("Adam", 1e-6),)})
    assert told(falling(2000), lambda number: faint) == []


def test_a_loss_that_has_fallen_may_stay() -> None:
    losses = falling(1000) + [0.03 + 0.001 * math.sin(step) for step in range(4000)]
    faint = Look(**{**SOUND, "gradients": {"first.weight": 1e-9, "last.weight": 0.1}})
    assert told(losses, lambda number: faint) == []


def test_a_loss_that_never_fell_shows_what_speaks_for_it() -> None:
    losses = [1.0 + 0.01 * math.sin(step) for step in range(1000)]
    assert told(losses, lambda number: Look(**SOUND)) == [], "nothing says that it could fall"
    slow = Look(**{**SOUND, "rates": (("Adam", 1e-6),), "updates": dict.fromkeys(WEIGHTS, 1e-8)})
    found = told(losses, lambda number: slow)
    assert set(names(found)) == {"flat", "rate-off", "small-updates"}
    assert all(200 <= seen.step < 400 for seen in found), "it is patient, and then sure"


def test_a_rate_that_warms_up_is_none_that_is_off() -> None:
    losses = [1.0 + 0.01 * math.sin(step) for step in range(1000)]
    assert told(losses, lambda number: Look(**{**SOUND, "rates": (("Adam", 1e-9 * 1.02 ** min(number, 700)),)})) == []


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_is_told_at_once_and_once(broken: float) -> None:
    found = told([1.0] * 50 + [broken] * 50, lambda number: Look(**SOUND))
    assert [(seen.step, seen.reading.name) for seen in found] == [(51, "non-finite")]


@pytest.mark.parametrize("what", ["weights", "gradients"])
def test_weights_and_gradients_that_are_not_finite_are_named(what: str) -> None:
    lost = Look(**{**SOUND, what: {"first.weight": 1.0, "last.weight": math.nan}})
    (seen,) = told(falling(100), lambda number: lost if number > 50 else Look(**SOUND))
    assert (seen.reading.name, seen.where, seen.step) == ("non-finite", "last.weight", 56)


def test_weights_that_no_step_moves() -> None:
    still = Look(**{**SOUND, "updates": dict.fromkeys(WEIGHTS, 0.0)})
    (seen,) = told(falling(400), lambda number: still if number > 100 else Look(**SOUND))
    assert seen.reading.name == "weights-unmoved" and seen.reading.numbers["since"] == 106
    assert seen.step >= 106 + ENOUGH_TO_TELL
    rested = Look(**{**SOUND, "updates": dict.fromkeys(WEIGHTS, 0.0), "gradients": dict.fromkeys(WEIGHTS, 0.0)})
    assert told(falling(400), lambda number: rested) == [], "without gradients nothing is to move"


def test_gradients_that_explode_with_the_loss() -> None:
    losses = falling(300) + [5.0] * 20
    large = Look(**{**SOUND, "gradients": {"first.weight": 1e4, "last.weight": 0.1}})
    found = told(losses, lambda number: large if number >= 300 else Look(**SOUND))
    spike = told(falling(3000) + [0.4] * 20, lambda number: large if number >= 3000 else Look(**SOUND))
    assert spike == [], "what has learned has spikes"
    assert names(found) == ["exploding-gradients"] and found[0].where == "first.weight"
    assert told(falling(320), lambda number: large if number == 300 else Look(**SOUND)) == [], "one that passes"


def test_a_loss_that_runs_away_needs_no_patience() -> None:
    found = told([1.05**step for step in range(150)], lambda number: Look(**SOUND), patience=10_000, every=1)
    assert "diverging" in names(found)


def test_losses_lowered_in_turns_are_not_judged() -> None:
    found: list[Seen] = []
    monitor = Monitor(found.append, 100)
    monitor.in_turns = True
    for step in range(400):
        monitor.took(1.05**step)
        monitor.looked(Look(**{**SOUND, "rates": (("Adam", 1.0),)}))
    assert found == []


def test_a_long_run_takes_no_more_room() -> None:
    monitor = Monitor(lambda seen: None)
    for step in range(20_000):
        monitor.took(1.0 / (1 + step))
        if step % 100 == 0:
            monitor.looked(Look(**SOUND))
    steps = monitor.trace().steps
    assert MOST_STEPS // 2 <= len(steps) <= MOST_STEPS and steps[-1].index > 19_000
    assert steps[0].loss is not None and steps[-1].loss is not None and steps[0].loss > 10 * steps[-1].loss
