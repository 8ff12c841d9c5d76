"""Trains edited programs side by side, the likeliest first, until one reaches the skill wanted.

Every program is trained on the same seeds, so that what differs is the edit; one that falls short on the first seed
drops out. The seeds are none of those that the ladder's sequential test uses: a winner has to win again. As the
likeliest of all that reach the goal is wanted, no program after it has to start.

Source: Jamieson and Talwalkar, "Non-stochastic Best Arm Identification and Hyperparameter Optimization" (2016): a
program that is behind after little training gets no more of it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dnnfix.source.program import Source
from dnnfix.synthesize.candidates import Variant
from dnnfix.validate.ladder import Laboratory
from dnnfix.validate.learning import MAX_PAIRS, score
from dnnfix.validate.symptoms import comes_to_enough

SEEDS_APART = 1000 + MAX_PAIRS
"""How far the seeds of a race are from the first seed of a program, so that the ladder's are others."""

AT_ONCE = 2
"""Programs that start together."""

SEEDS = 2
"""Seeds on which a program has to come far enough, one after the other."""

AHEAD = 0.2
"""Skill by which one of those that start together is clearly better than another that came far enough, too."""


@dataclass(frozen=True, slots=True)
class Racer:
    """One program of a race: the mean of its scores on the seeds that it was trained on, whether that is enough on each, and what it took.

    -1 where it could not be scored.
    """

    variant: Variant
    reached: float = -1.0
    arrived: bool = False
    steps: int = 0
    """Optimizer steps of its longest trial."""


def race(
    original: Source, variants: Sequence[Variant], laboratory: Laboratory, seed: int, goal: float
) -> Iterator[Racer]:
    """The programs in the order given, each once it is known how far it comes.

    Those that start together come in that order unless one is clearly better. The original is among them where it comes far enough
    itself, on the first seed: on each of the seeds that ends the race; on the first alone it learns by luck, and the others have to
    do so on all. `goal` is the skill that is enough. A race that runs out of time ends with those that are known.
    """
    seeds = [seed + SEEDS_APART + number for number in range(SEEDS)]
    lucky: list[int] = []
    before = 0.0
    is_told = False
    for first in range(0, len(variants), AT_ONCE):
        started = left = list(variants[first : first + AT_ONCE])
        trained: dict[tuple[bytes, ...], list[int]] = {one.source.contents: [] for one in started}
        for one_seed in seeds:
            asks_original = one_seed == seeds[0] or bool(lucky)
            laboratory.prepare([*([original] if asks_original else []), *(one.source for one in left)], [one_seed])
            if asks_original:
                before = _mean(original, laboratory, [one_seed])
            if laboratory.out_of_time():
                return
            if before >= goal and one_seed not in lucky:
                lucky.append(one_seed)
            if len(lucky) == len(seeds):
                yield Racer(Variant(original), _mean(original, laboratory, seeds), arrived=True)
                return
            for one in left:
                trained[one.source.contents].append(one_seed)
            left = [one for one in left if comes_to_enough(laboratory.train(one.source, one_seed), goal, before)]
            if not left and not lucky:
                break
        racers = [_racer(one, laboratory, trained[one.source.contents], one in left) for one in started]
        if lucky and not is_told:
            is_told = True
            yield Racer(Variant(original), _mean(original, laboratory, seeds))
        yield from _the_best_first(racers)


def _racer(one: Variant, laboratory: Laboratory, seeds: Sequence[int], arrived: bool) -> Racer:
    steps = max((len(laboratory.train(one.source, seed).steps) for seed in seeds), default=0)
    return Racer(one, _mean(one.source, laboratory, seeds), arrived, steps)


def _the_best_first(racers: Sequence[Racer]) -> list[Racer]:
    """The racers in their order, but for the best of those that arrived, where it is clearly ahead of the first and takes no longer."""
    arrived = [one for one in racers if one.arrived]
    arrived = [one for one in arrived if one.steps <= arrived[0].steps]
    best = max(arrived, key=lambda one: one.reached, default=None)
    if best is None or best.reached < arrived[0].reached + AHEAD:
        return list(racers)
    return [best, *(one for one in racers if one is not best)]


def _mean(source: Source, laboratory: Laboratory, seeds: Sequence[int]) -> float:
    found = [score(laboratory.train(source, seed)) for seed in seeds]
    return statistics.fmean(-1.0 if one is None or one.yardstick != "skill" else one.value for one in found)
