"""The symptoms of a training that does not learn: predicates over one trace, with the numbers that they rest on.

Whether there is anything to learn is asked of the program's own data: two simple learners are tried on the rows that
training went through (`Experiment.REFERENCE`). Skill is that of `records.Step`: 1 for perfect, about 0 for always
predicting the commonest class, or the mean.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dnnfix.records import Call, Json, Network, RunOutcome, Symptom, Trace
from dnnfix.validate import layer_symptoms
from dnnfix.validate.changes import is_loss_call, leading_to
from dnnfix.validate.learning import score
from dnnfix.validate.reading import Reading

CHANCE = 0.1
"""Skill up to which a training has learned nothing: twice what equal programs differ by over seeds."""

WORTH = 0.3
"""Skill that a simple learner has to be ahead of chance and of its own luck by, for the data to be worth learning."""

MEMORIZED = 0.6
"""Skill up to which a network may have learned rows by heart in which simple learners find no pattern."""

LEARNED_ENOUGH = 0.6
"""Skill beyond which a network that no yardstick says more of is let be."""

ENOUGH_STEPS = 8
"""Optimizer steps before which a training says nothing."""

ENOUGH_TO_TELL = 100
"""Optimizer steps before which a network may well be no better than a guess, or have far to go."""

RUNAWAY = 100.0
"""By what factor a loss has grown that runs away: a first step that overshoots does not do that."""

RISING = 2.0
"""By what factor the mean loss of the last quarter exceeds that of the first where training gets worse."""

STILL = 0.01
"""Share of its start by which a loss falls that stands still."""

STEADY = 2.6
"""Standard deviations below none that the trend of the losses has to be for training to be still at work (one in 200 by chance)."""

MOST_COMPARED = 1000
"""Losses of which every two are compared for that, evenly spread over the steps."""

SWINGS = 0.5
"""Share of the mean loss that one step changes it by, on average, where it oscillates."""

UNBALANCED = 0.8
"""Share of the rows that one class has where the targets are unbalanced."""

CONSTANT = 1e-4
"""Spread of the outputs over the samples, as a share of what it was at first, below which one value is predicted for everything."""


LEARNERS = {"linear": "a linear model", "neighbours": "the nearest neighbours", "table": "a table"}
"""What a person reads of the simple learners."""


def verb(learner: str) -> str:
    """The verb for a learner in a sentence: `comes` or `come`."""
    return "come" if learner == "neighbours" else "comes"


@dataclass(frozen=True, slots=True)
class Reference:
    """The skill that a simple learner reaches on the program's own rows."""

    skill: float
    luck: float
    learner: str
    rows: int
    linear: float | None = None
    """What the linear one of them comes to."""
    counts: tuple[int, ...] = ()
    """How many rows each class has, where targets are classes (`kind` is `class`) or one answer of yes and no (`binary`)."""
    kind: str = ""

    @property
    def is_worth(self) -> bool:
        """Whether there is something to learn that even a simple learner finds."""
        return self.skill - max(self.luck, 0.0) >= WORTH

    @property
    def in_words(self) -> str:
        """The learner, as a sentence names it."""
        return f"{LEARNERS.get(self.learner, self.learner)} of the same {self.rows} rows"

    @property
    def come(self) -> str:
        """The verb that goes with it."""
        return verb(self.learner)


def reference(trace: Trace) -> Reference | None:
    """The result of the simple learners in the run; `None` where it was not measured or the data do not allow it."""
    found = trace.probes.get("reference")
    if not isinstance(found, Mapping):
        return None
    skill, luck, rows = (found.get(name) for name in ("skill", "luck", "rows"))
    if not isinstance(skill, (int, float)) or not isinstance(luck, (int, float)) or not isinstance(rows, int):
        return None
    linear, listed = found.get("linear"), found.get("counts")
    by_line = float(linear) if isinstance(linear, (int, float)) else None
    counts = tuple(count for count in listed if isinstance(count, int)) if isinstance(listed, list) else ()
    return Reference(
        float(skill), float(luck), str(found.get("learner")), rows, by_line, counts, str(found.get("kind"))
    )


@dataclass(frozen=True, slots=True)
class Learning:
    """What a training shows: the symptoms of one that does not learn, the weightiest first, or why that cannot be told.

    Both are empty for one that learns. `lacks` has what it would take to tell: `steps`, which a longer run has; `epochs`, where
    training is over after a few steps; `pattern`, where simple learners find nothing in the data; or `cause`, where
    the network is half-way, or at a guess with a loss that falls, and no yardstick says how far there is to go.
    """

    symptoms: tuple[Reading, ...] = ()
    unsure: str = ""
    lacks: str = ""
    held_back: tuple[Reading, ...] = ()
    """What is a symptom where something else speaks for it: a training that ended on its way, or that has no yardstick, where a
    setting is far from usual; data without a pattern, where they have one once a shuffle is left out."""


def fails_to_learn(trace: Trace) -> tuple[Reading, ...]:
    """The symptoms of a training that does not learn; empty where it learns, or where that is unknown."""
    return learning(trace).symptoms


def learning(trace: Trace) -> Learning:
    """Whether a training learns, as far as its steps and its data show."""
    if (trace.crash is not None and not trace.crashed_after_cut) or not trace.steps:
        return Learning()
    losses = trace.losses
    broken = next((place for place, loss in enumerate(losses) if not math.isfinite(loss)), None)
    if broken is not None and len(trace.steps) >= ENOUGH_STEPS:
        return Learning((non_finite(broken + 1),))
    unmoved = _unmoved(trace, losses)
    if unmoved is not None:
        return Learning((unmoved,))
    known = score(trace)
    skill = known.value if known is not None and known.yardstick == "skill" else None
    if trains_in_turns(trace):
        said = "whether the network learns: losses are lowered in turns, as adversaries do, so that one may rise, and one be at a guess"
        return Learning(unsure=said if skill is None or skill <= CHANCE else "")
    runs_away = None if skill is not None and skill > CHANCE else _runs_away(losses)
    if runs_away is not None and not targets_are_made(trace):
        return Learning((runs_away,))
    return Learning() if skill is None or broken is not None else _beside_simple_learners(trace, losses, skill)


def non_finite(step: int) -> Reading:
    """The symptom of a loss that is no finite number at that step, counted from 1."""
    said = f"the loss leaves the finite numbers at step {step}"
    return Reading("non-finite", said, Symptom.NON_FINITE, {"step": step})


def _beside_simple_learners(trace: Trace, losses: Sequence[float], skill: float) -> Learning:
    data, is_guess = reference(trace), skill <= CHANCE
    seen = f"after {taken(trace)} steps {_comes_to(skill)}"
    if targets_are_made(trace):
        said = f"whether the network learns: {seen}, and its targets are made by a network, too"
        return Learning(unsure=said if is_guess else "")
    if data is None:
        if not is_guess:
            return _half_way(trace, losses, skill, seen)
        reason = f"whether the network learns: {seen}, and simple learners know no data of that form"
        if len(losses) < ENOUGH_TO_TELL:
            return Learning(unsure=reason)
        held_back = (_reading("at-chance", seen, skill, trace), *how_it_looks(trace, losses))
        is_stuck = ends_by_itself(trace) or not is_at_work(losses)
        return Learning(unsure=reason, lacks="" if is_stuck else "cause", held_back=held_back)
    if not data.is_worth or data.skill - max(skill, 0.0) < WORTH or (data.learner == "table" and not is_guess):
        said = f"{seen}; {data.in_words} {data.come} to no more than {max(data.skill, 0.0):.2f}"
        unsure = f"whether there is anything to learn: {said}" if is_guess else ""
        if data.is_worth and not is_guess:
            return _half_way(trace, losses, skill, seen)
        if data.is_worth or skill >= MEMORIZED:
            return Learning(unsure=unsure)
        unpaired = (Reading("unpaired", said, Symptom.NOT_LEARNING, {"skill": round(skill, 4)}),)
        return Learning(unsure=unsure, lacks="pattern", held_back=unpaired)
    return _far_behind(trace, losses, skill, data)


def _half_way(trace: Trace, losses: Sequence[float], skill: float, seen: str) -> Learning:
    """What is held back of a network that learned something, and of which no yardstick says how much there is."""
    is_over = ends_by_itself(trace) and len(losses) >= ENOUGH_STEPS
    if skill > LEARNED_ENOUGH or not (is_over or (len(losses) >= ENOUGH_TO_TELL and not is_at_work(losses))):
        return Learning()
    return Learning(lacks="cause", held_back=(_reading("behind", seen, skill, trace), *how_it_looks(trace, losses)))


def _reading(name: str, seen: str, skill: float, trace: Trace) -> Reading:
    return Reading(name, seen, Symptom.NOT_LEARNING, {"skill": round(skill, 4), "steps": taken(trace)})


def _far_behind(trace: Trace, losses: Sequence[float], skill: float, data: Reference) -> Learning:
    """What is said of a network that a simple learner is far ahead of: a fault, or too few steps."""
    steps, at_work, is_guess = taken(trace), is_at_work(losses), skill <= CHANCE
    beside = f"where {data.in_words} {data.come} to {data.skill:.2f}"
    numbers: dict[str, Json] = {"skill": round(skill, 4), "steps": steps}
    numbers |= {"reference": data.skill, "learner": data.learner, "linear": data.linear}
    falls = ", and its loss still falls" if at_work else ""
    seen = f"after {steps} steps {_comes_to(skill)}{falls}"
    stands_still = not at_work and len(losses) >= ENOUGH_TO_TELL
    if is_guess and stands_still:
        name, said = "at-chance", f"{seen}, {beside}"
    elif is_guess and ends_by_itself(trace) and steps >= ENOUGH_STEPS:
        falls = ", while the loss still falls" if at_work else ""
        name, said = "unfinished", f"training ends after {steps} steps{falls}: {_comes_to(skill)}, {beside}"
    elif stands_still:
        behind = (Reading("behind", f"{seen}, {beside}", Symptom.NOT_LEARNING, numbers), *how_it_looks(trace, losses))
        return Learning(unsure=f"whether the network learns what there is: {seen}, {beside}", held_back=behind)
    else:
        ends = f"training ends after {steps} step{'' if steps == 1 else 's'}: {_comes_to(skill)}{falls}, {beside}"
        ended = Reading("unfinished", ends, Symptom.NOT_LEARNING, numbers)
        is_over = ends_by_itself(trace)
        at_once = is_over and is_guess and steps < ENOUGH_STEPS
        held_back = (ended,) if at_once or (is_over and steps >= ENOUGH_STEPS) else ()
        unsure = f"whether the network learns: {seen}, which is too short to tell"
        return Learning(unsure=unsure, lacks="epochs" if at_once else "steps", held_back=held_back)
    return Learning((Reading(name, said, Symptom.NOT_LEARNING, numbers), *how_it_looks(trace, losses)))


def _comes_to(skill: float) -> str:
    if skill <= CHANCE:
        return f"the network is no better than a guess (skill {skill:.2f})"
    return f"the network comes to a skill of {skill:.2f}"


def taken(trace: Trace) -> int:
    """How many optimizer steps a training took: of a long one, each recorded step may stand for several."""
    return max(len(trace.steps), trace.steps[-1].index + 1) if trace.steps else 0


def ends_by_itself(trace: Trace) -> bool:
    """Whether training was not cut, so that its steps are all that the program takes."""
    return trace.outcome is RunOutcome.FINISHED and not trace.spent and not trace.hurried


def targets_are_made(trace: Trace) -> bool:
    """Whether what predictions are compared with is given by a network itself, as the values of a next state are.

    Such targets move while it trains, and a learner that is given them afterwards has an easier task.
    """
    network = trace.network
    if network is None:
        return False
    events = [event.name for event in trace.loop]
    if "predict" in events and events.count("fit") > 1 and events.index("predict") < events.index("fit"):
        return True
    losses = [call for call in network.calls if is_loss_call(network, call) and call.phase != "eval"]
    makers = [maker for call in losses for value in call.inputs[1:2] if (maker := network.producer(value)) is not None]
    return any(_has_weights(network, call) for call in leading_to(network, makers))


def trains_in_turns(trace: Trace) -> bool:
    """Whether weights are changed at several places by turns, each by a loss of its own, as adversaries are."""
    steps, passes, batches = (
        {event.site for event in trace.loop if event.name == name and event.site is not None}
        for name in ("step", "backward", "train_on_batch")
    )
    return len(batches) > 1 or (len(steps) > 1 and len(passes) != 1)  # a gradient tape has no backward pass


def _has_weights(network: Network, call: Call) -> bool:
    made = network.component(call.component)
    return made is not None and made.kind in ("layer", "model") and bool(made.parameters)


def _unmoved(trace: Trace, losses: Sequence[float]) -> Reading | None:
    """Whether the loss is one number to the last digit while weights move, so that it does not depend on them."""
    if len(losses) < ENOUGH_STEPS or len(set(losses)) > 1 or not losses[0] or trace.network is None:
        return None
    if not any(parameter.update for parameter in trace.network.parameters):
        return None
    said = f"the loss is {losses[0]:.6g} in each of {len(losses)} steps, while weights move: it is not computed from them anew"
    return Reading("unmoved", said, Symptom.NOT_LEARNING, {"loss": losses[0], "steps": len(losses)})


def _runs_away(losses: Sequence[float]) -> Reading | None:
    if len(losses) < ENOUGH_STEPS or losses[0] <= 0:
        return None
    if min(losses[-3:]) > RUNAWAY * losses[0]:
        said = f"the loss runs away, from {losses[0]:.3g} to {losses[-1]:.3g}"
        return Reading("diverging", said, Symptom.NOT_LEARNING, {"first": losses[0], "last": losses[-1]})
    return None


def how_it_looks(trace: Trace, losses: Sequence[float]) -> list[Reading]:
    """What training at chance looks like: of these, several may hold."""
    found: list[Reading] = []
    quarter = max(1, len(losses) // 4)
    if len(losses) < ENOUGH_STEPS:
        return found
    first, last = math.fsum(losses[:quarter]) / quarter, math.fsum(losses[-quarter:]) / quarter
    spreads = [step.output_std for step in trace.steps if step.output_std is not None]
    if len(spreads) > 1 and spreads[-1] <= CONSTANT * max(max(spreads), 1e-12):
        said = "the outputs do not depend on the samples any more"
        found.append(Reading("constant-output", said, Symptom.CONSTANT_OUTPUT, {"spread": spreads[-1]}))
    moves = [abs(later - earlier) for earlier, later in itertools.pairwise(losses)]
    if first > 0 and last > RISING * first:
        found.append(_curve("rising", f"the loss rises, from {first:.3g} to {last:.3g}", first, last))
    elif math.fsum(moves) / len(moves) > SWINGS * abs(math.fsum(losses) / len(losses)):
        found.append(_curve("oscillating", "the loss swings from step to step by half of its size", first, last))
    elif abs(first - last) <= STILL * abs(first):
        found.append(_curve("flat", f"the loss stays at {last:.3g}", first, last))
    return [*found, *_unbalanced(reference(trace)), *layer_symptoms.readings(trace)]


def _unbalanced(data: Reference | None) -> list[Reading]:
    if data is None or len(data.counts) < 2 or max(data.counts) < UNBALANCED * sum(data.counts):
        return []
    said = f"{max(data.counts) / sum(data.counts):.0%} of the targets are of one class"
    return [Reading("unbalanced", said, Symptom.NOT_LEARNING, {"counts": list(data.counts), "kind": data.kind})]


def _curve(name: str, said: str, first: float, last: float) -> Reading:
    return Reading(name, said, Symptom.NOT_LEARNING, {"first": first, "last": last})


def comes_to_enough(trace: Trace, wanted: float, known: float = 0.0) -> bool:
    """Whether a trial reaches a skill, or has left what was `known` before behind for certain and is on its way.

    Where skill cannot be measured: whether its loss falls, and it shows no symptom.
    """
    found = score(trace)
    if found is None or found.yardstick != "skill":
        return found is not None and is_at_work(trace.losses) and not fails_to_learn(trace)
    return found.value >= wanted or (found.value >= WORTH + max(known, 0.0) and is_at_work(trace.losses))


def is_at_work(losses: Sequence[float]) -> bool:
    """Whether the loss was still falling when training ended, so that its time may have been too short.

    By the trend of the second half (Mann and Kendall's test), and by as much as counts.
    """
    half = list(losses[len(losses) // 2 :])
    half = half[:: max(1, len(half) // MOST_COMPARED)]
    if len(half) < ENOUGH_STEPS:
        return False
    third = max(1, len(half) // 3)
    start, end = math.fsum(half[:third]) / third, math.fsum(half[-third:]) / third
    if start - end <= STILL * abs(start):
        return False
    count = len(half)
    trend = sum(
        (later > earlier) - (later < earlier) for place, earlier in enumerate(half) for later in half[place + 1 :]
    )
    spread = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    return trend < -STEADY * spread
