"""What the measurements of a training come to: its symptoms, by the predicates and thresholds of `dnnfix.validate`.

Losses of all steps, and what the looks measured, are put together to the trace that a run in the sandbox would have left,
of which the same predicates are asked. A long run has thousands of steps: neighbours are joined, so that a trace keeps at
most `MOST_STEPS`.

Most of what a look sees is found in trainings that learn, too: sparse activations, small gradients, rates far from usual.
So it is said only where the training as a whole shows that it does not learn. What is said whatever the loss does: numbers
that are not finite, weights that no step moves, and an optimizer without the weights of the model.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dnnfix.network.optimizers import FAR_OFF, USUAL_RATES
from dnnfix.records import Json, RunOutcome, Step, Symptom, Trace
from dnnfix.validate.learning import score
from dnnfix.validate.reading import Reading
from dnnfix.validate.symptoms import (
    ENOUGH_STEPS,
    ENOUGH_TO_TELL,
    RISING,
    RUNAWAY,
    STILL,
    how_it_looks,
    is_at_work,
    learning,
    non_finite,
)
from dnnfix.watching.log import Seen

PATIENCE = 1000
"""Steps before which it is not said of a training that it learns nothing: it may be warming up."""

MOST_STEPS = 256
"""Steps of the trace; where there are more, neighbours are joined."""

MOST_LOOKS = 64
"""Looks whose gradients and updates are remembered."""

AGAIN = 1.1
"""By what factor the steps have grown when the training as a whole is judged again: twice before anything is said."""

SMALL_UPDATE = 1e-6
"""Size of a step's update, beside the weights, below which they hardly move: a thousandth of the usual 1/1,000."""

LARGE_UPDATE = 0.1
"""Size of a step's update, beside the weights, above which they are written anew every few steps: a hundred times the usual."""

OF_LAYERS = ("dead-units", "saturated-units", "collapsed", "vanishing-gradients")
"""Symptoms of layers, of which one has to speak for a training that stands still where its skill is not known."""

OF_ONE_STEP = ("diverging",)
"""Symptoms that no patience is needed for."""


@dataclass(slots=True)
class Look:
    """What one look at a step measured; `None` and empty where it could not. Sizes are root mean squares over the elements.

    `gradients`, `weights` and `updates` are by the name of the weight, an update being what one optimizer step changed;
    `rates` are pairs of the short name of an optimizer's class and its learning rate; `batch` is a checksum of the inputs, and `batches`
    how many different ones the data have. `layers` is what `Units.found` gives, with the path of each layer.
    """

    skill: float | None = None
    spread: float | None = None
    gradients: Mapping[str, float] = field(default_factory=dict)
    matrices: frozenset[str] = frozenset()
    """The names of the weights that have two axes at least."""
    weights: Mapping[str, float] = field(default_factory=dict)
    updates: Mapping[str, float] = field(default_factory=dict)
    rates: tuple[tuple[str, float], ...] = ()
    batch: int | None = None
    batches: int | None = None


@dataclass(slots=True)
class _Kept:
    """One step of the trace, or several that were joined."""

    index: int
    loss: float
    skill: float | None = None
    spread: float | None = None
    gradient: float | None = None


class Monitor:
    """The state of one watched training. `tell` is called with each new symptom.

    `reference` is asked for the result of the simple learners when the training may be no better than a guess; it returns `None` as long as there is none.
    `layers` is asked for what was measured of the layers.
    """

    def __init__(
        self,
        tell: Callable[[Seen], None],
        patience: int = PATIENCE,
        reference: Callable[[], Mapping[str, Json] | None] = lambda: None,
        layers: Callable[[], Mapping[str, Json] | None] = lambda: None,
    ) -> None:
        self.step = 0
        """How many optimizer steps were taken."""
        self.in_turns = False
        """Whether several losses are lowered by turns, as adversaries do: nothing is said of such a training as a whole."""
        self.broken = False
        """Whether numbers that are not finite were found."""
        self.may_be_stuck = False
        """Whether it matters what simple learners come to: the training was no better than a guess when it was judged last."""
        self._tell = tell
        self._patience = patience
        self._reference = reference
        self._layers = layers
        self._pending: list[tuple[int, float]] = []
        self._kept: list[_Kept] = []
        self._stride = 1
        self._looks: list[tuple[int, Look]] = []
        self._judged = 0
        self._suspected: set[tuple[str, str]] = set()
        self._told: set[tuple[str, str]] = set()
        self._losses: set[float] = set()

    # What is measured

    def took(self, loss: float | None) -> bool:
        """A step was taken with that loss, if it is known; whether the loss is a finite number, as far as it is known."""
        self.step += 1
        return loss is None or self.knew(self.step, loss)

    def knew(self, step: int, loss: float) -> bool:
        """The loss of a step that was taken before, counted from 1, as `took` returns it."""
        if not -math.inf < loss < math.inf:
            return False
        self._pending.append((step - 1, loss))
        return True

    def loss_broke(self, where: str = "", numbers: Mapping[str, Json] | None = None, step: int = 0) -> None:
        """The loss of a step, by default the last, is no finite number; `where` is the first weight that is not, either."""
        reading = non_finite(step or self.step)
        said = f"{reading.said}; the first weight that is not finite is `{where}`" if where else reading.said
        self._broke(Reading(reading.name, said, reading.symptom, {**reading.numbers, **(numbers or {})}), where)

    def looked(self, look: Look) -> None:
        """A look at the last step is over: everything that it shows is told."""
        self._flush()
        if self._kept:
            last = self._kept[-1]
            last.skill = look.skill if look.skill is not None else last.skill
            last.spread = look.spread if look.spread is not None else last.spread
            last.gradient = _norm(look.gradients.values())
        self._looks.append((self.step, look))
        del self._looks[:-MOST_LOOKS]
        for name, sizes in (("weights", look.weights), ("gradients", look.gradients)):
            lost = [one for one, size in sizes.items() if not math.isfinite(size)]
            if lost:
                what = f"the {name} of `{lost[0]}` are not finite at step {self.step}"
                numbers: dict[str, Json] = {"step": self.step, "not_finite": len(lost), "of": len(sizes)}
                self._broke(Reading("non-finite", what, Symptom.NON_FINITE, numbers), lost[0])
                return
        for reading, where in (*self._unmoved(), *self._exploding()):
            self._say(reading, where)
        if self.step >= max(self._judged * AGAIN, self._judged + 1) and not self.broken:
            self._judged = self.step
            self._judge()

    def ended(self) -> None:
        """The training is over: what it shows as a whole is told, and need not be found twice."""
        self._flush()
        if not self.broken:
            for reading, where in self._whole():
                self._say(reading, where)

    def not_held(self, weights: int, steps: int) -> None:
        """Gradients came to so many weights of the model in so many steps, and no optimizer that stepped holds one of them."""
        said = f"none of the optimizers that took {steps} steps holds any of the model's {weights} weights"
        self._say(Reading("not-in-optimizer", said, Symptom.NOT_LEARNING, {"weights": weights, "steps": steps}), "")

    # What it comes to

    def trace(self) -> Trace:
        """The training as a run in the sandbox would have recorded it."""
        probes: dict[str, Json] = {"reference": self._reference(), "units": self._layers()}
        steps = (Step(one.index, one.loss, one.skill, one.gradient, None, one.spread) for one in self._kept)
        return Trace(RunOutcome.BUDGET, steps=tuple(steps), probes=probes)

    def _judge(self) -> None:
        """Look at the training as a whole. What it shows is told where the last look at it showed the same."""
        found = {(reading.name, where): reading for reading, where in self._whole()}
        for (name, where), reading in found.items():
            if (name, where) in self._suspected:
                self._say(reading, where)
        self._suspected = set(found)

    def _whole(self) -> Iterator[tuple[Reading, str]]:
        if self.in_turns or len(self._kept) < ENOUGH_STEPS:
            return
        is_early = self.step < max(self._patience, ENOUGH_TO_TELL)
        if is_early and self._kept[-1].loss <= RUNAWAY * self._kept[0].loss:
            return
        trace = self.trace()
        seen = learning(trace)
        self.may_be_stuck = any(one.name == "at-chance" for one in (*seen.symptoms, *seen.held_back))
        if seen.symptoms and seen.symptoms[0].name in OF_ONE_STEP:
            yield from ((one, "") for one in (*seen.symptoms, *self._beside()))
        if is_early:
            return
        symptoms: Sequence[Reading] = ()
        if len(self._losses) == 1 and (loss := next(iter(self._losses))):
            said = f"the loss is {loss:.6g} in each of {self.step} steps"
            symptoms = (Reading("unmoved", said, Symptom.NOT_LEARNING, {"loss": loss, "steps": self.step}),)
        elif seen.symptoms:
            symptoms = seen.symptoms
        elif seen.held_back:
            symptoms = seen.held_back if seen.held_back[0].name == "at-chance" else ()
            symptoms = symptoms if not is_at_work(trace.losses) and self._is_spoken_for(symptoms) else ()
        elif (known := score(trace)) is not None and known.yardstick == "loss":
            symptoms = self._by_loss_alone(trace)
        if symptoms:
            yield from ((one, _where(one)) for one in symptoms)
            yield from self._accompanying()

    def _by_loss_alone(self, trace: Trace) -> Sequence[Reading]:
        """What a training shows whose skill is not known: that it stands still, or gets worse, and something in it says why."""
        losses = trace.losses
        quarter, start = losses[-max(1, len(losses) // 4) :], losses[:ENOUGH_STEPS]
        fell = statistics.fmean(start) - statistics.fmean(quarter) > STILL * abs(statistics.fmean(start))
        if fell or is_at_work(losses):
            return ()
        found = how_it_looks(trace, losses)
        return found if self._is_spoken_for(found) else ()

    def _is_spoken_for(self, symptoms: Sequence[Reading]) -> bool:
        """Whether a layer or a rate far from usual says why a training stands still."""
        return any(one.name in OF_LAYERS for one in symptoms) or next(self._rates(), None) is not None

    # Beside a training that does not learn

    def _accompanying(self) -> Iterator[tuple[Reading, str]]:
        yield from ((one, "") for one in self._beside())
        yield from self._updates()
        yield from self._repeated()

    def _beside(self) -> Iterator[Reading]:
        for name, rate, usual in self._rates():
            said = f"the learning rate of {name} is {rate:g}, where {usual:g} is usual"
            yield Reading("rate-off", said, Symptom.NOT_LEARNING, {"rate": rate, "usual": usual, "optimizer": name})

    def _rates(self) -> Iterator[tuple[str, float, float]]:
        """The rates that are far from usual, in all of the last looks, and do not rise, as they do while a training warms up."""
        if not self._looks:
            return
        for name in {name for name, _ in self._looks[-1][1].rates}:
            usual = USUAL_RATES.get(name)
            known = [rate for _, look in self._looks for other, rate in look.rates if other == name]
            if usual is None or not known or min(known) <= 0 or known[-1] > known[0]:
                continue
            if all(abs(math.log10(rate / usual)) >= FAR_OFF for rate in known):
                yield name, known[-1], usual

    def _updates(self) -> Iterator[tuple[Reading, str]]:
        """The weights whose updates are far from a thousandth of their size."""
        ratios: dict[str, list[float]] = {}
        for _, look in self._looks[-ENOUGH_STEPS:]:
            for name, size in look.updates.items():
                if name in look.matrices and look.weights.get(name):
                    ratios.setdefault(name, []).append(size / look.weights[name])
        middle = {name: statistics.median(known) for name, known in ratios.items()}
        if not middle:
            return
        largest, smallest = max(middle, key=middle.__getitem__), min(middle, key=middle.__getitem__)
        if middle[largest] > LARGE_UPDATE:
            said = f"each step changes `{largest}` by {middle[largest]:.1e} of its size, where a thousandth is usual"
            yield Reading("large-updates", said, Symptom.NOT_LEARNING, {"ratio": middle[largest]}), largest
        if max(middle.values()) < SMALL_UPDATE:
            said = (
                f"no step changes a weight by more than {middle[largest]:.1e} of its size, where a thousandth is usual"
            )
            yield Reading("small-updates", said, Symptom.NOT_LEARNING, {"ratio": middle[largest]}), smallest

    def _repeated(self) -> Iterator[tuple[Reading, str]]:
        known = [(look.batch, look.batches) for _, look in self._looks[-ENOUGH_STEPS:] if look.batch is not None]
        if len(known) < ENOUGH_STEPS or len({batch for batch, _ in known}) > 1:
            return
        whole = known[-1][1]
        if whole is not None and whole > 1:
            said = f"all of {len(known)} steps looked at were taken on the same batch, of {whole} that the data have"
            yield Reading("repeated-data", said, Symptom.NOT_LEARNING, {"batches": whole, "looks": len(known)}), ""

    # Whatever the loss does

    def _unmoved(self) -> Iterator[tuple[Reading, str]]:
        """Gradients come to the weights, and for a hundred steps and three looks at least no optimizer step changed one."""
        since = self.step
        looks = 0
        for step, look in reversed(self._looks):
            if not look.updates or any(look.updates.values()) or not any(look.gradients.values()):
                break
            since, looks = step, looks + 1
        if looks >= 3 and self.step - since >= ENOUGH_TO_TELL:
            said = f"no weight has moved since step {since}, though gradients come to them"
            rate = next((rate for _, rate in self._looks[-1][1].rates), None)
            numbers: dict[str, Json] = {"since": since, "rate": rate}
            yield Reading("weights-unmoved", said, Symptom.NOT_LEARNING, numbers), ""

    def _exploding(self) -> Iterator[tuple[Reading, str]]:
        """The gradients are far larger than they were, and the loss has risen with them beyond where it began.

        Below that it is a spike, as trainings have that came to a small loss.
        """
        norms = [one.gradient for one in self._kept if one.gradient is not None]
        if len(norms) <= ENOUGH_STEPS or self.in_turns or len(self._kept) < 2 * ENOUGH_STEPS:
            return
        usual, risen = statistics.median(norms[:-1]), statistics.median(one.loss for one in self._kept[:-1])
        risen = max(risen, self._kept[0].loss)
        last = self._kept[-1]
        if usual > 0 and norms[-1] > RUNAWAY * usual and risen > 0 and last.loss > RISING * risen:
            said = (
                f"the gradients are {norms[-1] / usual:.3g} times what they usually were, and the loss rises with them"
            )
            largest = max(self._looks[-1][1].gradients, key=self._looks[-1][1].gradients.__getitem__, default="")
            numbers: dict[str, Json] = {"norm": norms[-1], "usual": usual, "weight": largest}
            yield Reading("exploding-gradients", said, Symptom.NOT_LEARNING, numbers), largest

    def _broke(self, reading: Reading, where: str) -> None:
        if not self.broken:
            self.broken = True
            self._say(reading, where)

    def _say(self, reading: Reading, where: str) -> None:
        if (reading.name, where) not in self._told:
            self._told.add((reading.name, where))
            line = reading.numbers.get("line")
            self._tell(Seen(self.step, reading, where, line=line if isinstance(line, int) else None))

    # The steps that are kept

    def _flush(self) -> None:
        """Make steps of the losses that wait: each is the mean over as many steps as every other one."""
        for start in range(0, len(self._pending) - self._stride + 1, self._stride):
            part = self._pending[start : start + self._stride]
            self._kept.append(_Kept(part[-1][0], math.fsum(loss for _, loss in part) / len(part)))
        if len(self._losses) < 2:
            self._losses.update([loss for _, loss in self._pending[:2048]])
        whole = len(self._pending) // self._stride * self._stride
        self._pending = self._pending[whole:]
        while len(self._kept) > MOST_STEPS:
            odd = self._kept[len(self._kept) // 2 * 2 :]
            self._kept = [_joined(*pair) for pair in zip(self._kept[::2], self._kept[1::2], strict=False)] + odd
            self._stride *= 2


def _joined(first: _Kept, second: _Kept) -> _Kept:
    skills = [one.skill for one in (first, second) if one.skill is not None]
    return _Kept(
        second.index,
        (first.loss + second.loss) / 2,
        math.fsum(skills) / len(skills) if skills else None,
        first.spread if second.spread is None else second.spread,
        first.gradient if second.gradient is None else second.gradient,
    )


def _where(reading: Reading) -> str:
    """The module or the weight that a symptom is of."""
    found = reading.numbers.get("path") or reading.numbers.get("weight")
    return found if isinstance(found, str) else ""


def _norm(sizes: object) -> float | None:
    """The root of the sum of the squares; `None` where there is nothing."""
    known = [size for size in sizes if isinstance(size, float)] if hasattr(sizes, "__iter__") else []
    return math.hypot(*known) if known else None
