"""What a training shows that does not learn, read from traces, and a race of edits."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from dnnfix.records import Call, Component, Json, LoopEvent, Network, Parameter, RunOutcome, Site, Step, Trace, Value
from dnnfix.validate.symptoms import comes_to_enough, fails_to_learn, is_at_work, learning, targets_are_made

CLEAR: dict[str, Json] = {"skill": 0.9, "luck": 0.05, "learner": "linear", "rows": 500, "kind": "class"}


def trained(
    losses: list[float], skill: float | None = 0.0, reference: Json = None, spread: float = 0.3, spent: bool = True
) -> Trace:
    steps = tuple(Step(i, loss=loss, skill=skill, output_std=spread) for i, loss in enumerate(losses))
    return Trace(RunOutcome.FINISHED, steps=steps, probes={"reference": reference}, spent=spent)


def names(trace: Trace) -> list[str]:
    return [reading.name for reading in fails_to_learn(trace)]


def noisy(level: float, steps: int = 200, size: float = 0.02) -> list[float]:
    draw = random.Random(0)
    return [level + draw.gauss(0, size) for _ in range(steps)]


FALLING = [2.3 * 0.99**step for step in range(200)]


def test_a_network_at_chance_is_at_fault_where_a_simple_learner_is_not() -> None:
    found = fails_to_learn(trained(noisy(2.3), reference=CLEAR))
    assert [reading.name for reading in found] == ["at-chance", "flat"]
    assert found[0].said == (
        "after 200 steps the network is no better than a guess (skill 0.00), where a linear model of the same 500 rows comes to 0.90"
    )
    assert found[0].numbers["reference"] == 0.9


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        pytest.param(trained(noisy(2.3)), "simple learners know no data", id="no yardstick"),
        pytest.param(
            trained(noisy(2.3), reference={**CLEAR, "skill": 0.2}), "whether there is anything to learn", id="noise"
        ),
        pytest.param(
            trained(noisy(2.3), reference={**CLEAR, "skill": 0.6, "luck": 0.4}), "anything to learn", id="luck"
        ),
        pytest.param(trained(FALLING, reference=CLEAR), "its loss still falls", id="still at work"),
        pytest.param(trained(noisy(2.3, 60), reference=CLEAR), "too short to tell", id="few steps"),
    ],
)
def test_what_cannot_be_told_is_said_and_is_no_finding(trace: Trace, said: str) -> None:
    seen = learning(trace)
    assert not seen.symptoms
    assert said in seen.unsure


def test_a_training_that_learns_is_left_alone() -> None:
    for skill in (0.65, 0.9):
        assert learning(trained(noisy(1.2), skill=skill, reference=CLEAR)) == learning(Trace(RunOutcome.FINISHED))


def test_a_network_that_learns_less_than_a_simple_learner_is_at_fault_only_where_a_setting_is() -> None:
    seen = learning(trained(noisy(1.2), skill=0.4, reference=CLEAR))
    assert not seen.symptoms and [reading.name for reading in seen.held_back] == ["behind", "flat"]
    assert "whether the network learns what there is" in seen.unsure
    assert learning(trained(FALLING, skill=0.4, reference=CLEAR)).lacks == "steps"


def test_a_training_that_ends_while_it_learned_nothing_is_told_from_one_that_was_cut() -> None:
    whole = trained(FALLING, reference=CLEAR, spent=False)
    assert names(whole) == ["unfinished"] and names(trained(FALLING, reference=CLEAR)) == []
    assert names(replace(whole, hurried=True)) == []
    assert "training ends after 200 steps, while the loss still falls" in fails_to_learn(whole)[0].said


def test_few_rows_are_there_to_be_known_by_heart() -> None:
    table = {**CLEAR, "skill": 1.0, "luck": 0.0, "learner": "table", "rows": 4}
    assert names(trained(noisy(0.7), reference=table)) == ["at-chance", "flat"]
    assert names(trained(noisy(0.7), skill=0.5, reference=table)) == []


def test_what_it_would_take_to_tell() -> None:
    assert learning(trained(noisy(2.3, 60), reference=CLEAR)).lacks == "steps"
    assert learning(trained(noisy(2.3), reference={**CLEAR, "skill": 0.1})).lacks == "pattern"
    assert learning(trained(noisy(2.3))).lacks == ""


def test_a_training_that_is_over_at_once_is_held_back() -> None:
    seen = learning(trained(FALLING[:1], reference=CLEAR, spent=False))
    assert (seen.symptoms, seen.lacks) == ((), "epochs")
    assert "training ends after 1 step: the network is no better than a guess" in seen.held_back[0].said
    assert not learning(trained(FALLING[:1], reference=CLEAR)).held_back, "one that was cut"
    assert not learning(trained(FALLING[:1], skill=0.5, reference=CLEAR, spent=False)).held_back, "one that learned"
    assert not learning(trained(FALLING[:1], spent=False)).held_back, (
        "a trial run on a few rows, which longer ones know by heart"
    )


def test_a_training_that_ended_on_its_way_is_held_back() -> None:
    (reading,) = learning(trained(FALLING, skill=0.4, reference=CLEAR, spent=False)).held_back
    assert reading.name == "unfinished" and "training ends after 200 steps" in reading.said
    assert not learning(trained(FALLING, skill=0.4, reference=CLEAR)).held_back


def test_a_network_that_learned_a_little_is_held_back_for_a_cause_where_it_has_no_yardstick() -> None:
    for data in (None, {**CLEAR, "skill": 0.5}):
        seen = learning(trained(noisy(1.2), skill=0.3, reference=data))
        assert (seen.symptoms, seen.unsure, seen.lacks) == ((), "", "cause")
        assert seen.held_back[0].said == "after 200 steps the network comes to a skill of 0.30"
    assert not learning(trained(FALLING, skill=0.3)).held_back, "one that was cut on its way"
    assert not learning(trained(noisy(1.2), skill=0.65)).held_back, "one that learned"


@pytest.mark.parametrize("losses", [[1.0] * 7, []])
def test_a_moment_of_training_says_nothing(losses: list[float]) -> None:
    assert not fails_to_learn(trained([float("nan")] * len(losses), reference=CLEAR))


def test_a_loss_that_is_no_number_is_at_fault_whatever_the_data() -> None:
    (reading,) = fails_to_learn(trained([2.0, 3.0, 9.0, float("inf"), *[float("nan")] * 8]))
    assert (reading.name, reading.numbers) == ("non-finite", {"step": 4})


@pytest.mark.parametrize(
    ("lines", "in_turns"),
    [
        pytest.param({"backward": (5, 9), "step": (6, 10)}, True, id="two losses"),
        pytest.param({"backward": (5,), "step": (6, 7)}, False, id="two optimizers of one loss"),
        pytest.param({"backward": (5, 9), "step": (6,)}, False, id="two losses in one step"),
        pytest.param({"step": (6, 10)}, True, id="gradient tapes"),
        pytest.param({"train_on_batch": (5, 9)}, True, id="models of Keras"),
        pytest.param({"fit": (5, 9), "step": (5,)}, False, id="one after the other"),
    ],
)
def test_adversaries_may_be_at_a_guess_or_lose(lines: dict[str, tuple[int, ...]], in_turns: bool) -> None:
    events = tuple(LoopEvent(name, Site(line, 1, line, 2), 0) for name, places in lines.items() for line in places)
    at_chance = replace(trained(noisy(2.3), reference=CLEAR), loop=events)
    away = replace(trained([2.0**step for step in range(20)]), loop=events)
    for trace in (at_chance, away):
        assert bool(fails_to_learn(trace)) is not in_turns
        assert ("in turns" in learning(trace).unsure) is in_turns


def test_a_loss_that_runs_away() -> None:
    assert names(trained([2.0**step for step in range(20)])) == ["diverging"]
    assert not names(trained([2.0, 900.0, *noisy(1.0)], skill=0.5)), "one step that overshoots is none"


def test_how_a_network_at_chance_looks() -> None:
    swinging = [1.0, 9.0] * 100
    rising = [1.0 + step / 20 for step in range(200)]
    assert names(trained(swinging, reference=CLEAR)) == ["at-chance", "oscillating"]
    assert names(trained(rising, reference=CLEAR)) == ["at-chance", "rising"]
    constant = trained(noisy(2.3), reference=CLEAR)
    constant = replace(constant, steps=(replace(constant.steps[0], output_std=5.0), *constant.steps[1:-1], replace(constant.steps[-1], output_std=0.0)))  # fmt: skip
    assert "constant-output" in names(constant)


def test_a_trend_is_told_from_noise() -> None:
    assert is_at_work(FALLING)
    assert not is_at_work(noisy(1.0))
    assert not is_at_work([1.0 - step * 1e-6 for step in range(200)]), "by as much as counts"


def test_what_is_enough_in_a_trial() -> None:
    assert comes_to_enough(trained(noisy(1.0), skill=0.6), 0.5)
    assert not comes_to_enough(trained(noisy(1.0), skill=0.4), 0.5)
    assert comes_to_enough(trained(FALLING, skill=0.4), 0.5), "on its way"
    assert not comes_to_enough(trained(FALLING, skill=0.2), 0.5), "no more than luck"


def made(target: Value, *calls: Call) -> Network:
    layer = Component(1, "layer", "torch.nn.Linear", parameters=("weight",))
    loss = Call(9, "torch.nn.functional.mse_loss", None, inputs=(Value(1), target), phase="train")
    return Network("torch", "trace", (layer,), (*calls, loss))


def test_targets_that_a_network_makes_are_no_yardstick() -> None:
    next_values = Call(4, "torch.nn.Linear", None, component=1, outputs=(Value(5, producer=4),))
    discounted = Call(6, "torch.Tensor.mul", None, inputs=(Value(5, producer=4),))
    moving = replace(trained(noisy(1.0), reference=CLEAR), network=made(Value(7, producer=6), next_values, discounted))
    given = replace(moving, network=made(Value(7, origin="data"), next_values))
    assert targets_are_made(moving) and not targets_are_made(given)
    assert "made by a network" in learning(moving).unsure and names(given) == ["at-chance", "flat"]


def test_a_loss_that_stays_one_number_while_weights_move() -> None:
    moving = Network("torch", "trace", parameters=(Parameter("w", (2, 2), optimized=True, update=0.1),))
    still = Network("torch", "trace", parameters=(Parameter("w", (2, 2), optimized=True, update=0.0),))
    same = trained([0.5] * 20, skill=None)
    assert names(replace(same, network=moving)) == ["unmoved"]
    assert not names(replace(same, network=still)) and not names(same)
    assert not names(replace(trained([0.5] * 19 + [0.4], skill=None), network=moving))
    assert not names(replace(trained([0.0] * 20, skill=None), network=moving))


def test_without_a_skill_a_loss_that_falls_is_enough_in_a_trial() -> None:
    assert comes_to_enough(trained(FALLING, skill=None), 0.6)
    assert not comes_to_enough(trained(noisy(2.3), skill=None), 0.6)


def test_unbalanced_targets_are_told_of_a_training_at_chance() -> None:
    assert "unbalanced" in names(trained(noisy(0.4), reference={**CLEAR, "counts": [90, 10]}))
    assert "unbalanced" not in names(trained(noisy(0.4), reference={**CLEAR, "counts": [70, 30]}))
