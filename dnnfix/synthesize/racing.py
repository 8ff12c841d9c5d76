"""A race of edited programs: all start, the slow ones drop out early, and only the best come to the ladder.

Every program of a round is trained on the same seeds, so that what differs is the edit. The seeds are none of those that the
ladder's sequential test uses: a winner has to win again.

Source: Jamieson and Talwalkar, "Non-stochastic Best Arm Identification and Hyperparameter Optimization" (2016), successive
halving.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dnnfix.source.program import Source
from dnnfix.synthesize.candidates import Variant
from dnnfix.validate.ladder import Laboratory
from dnnfix.validate.learning import MAX_PAIRS, score
from dnnfix.validate.symptoms import comes_to_enough

SEEDS_APART = 1000 + MAX_PAIRS
"""How far the seeds of a race are from the first seed of a program, so that the ladder's are others."""

ROUNDS = 2
"""Rounds of a race, each with a seed more than the one before."""

KEPT = 3
"""One program in so many is kept for the next round."""

FEWEST_KEPT = 3


@dataclass(frozen=True, slots=True)
class Racer:
    """One program of a race: the mean of its scores on the seeds that it was trained on, and whether that is enough on each.

    -1 where it could not be scored.
    """

    variant: Variant
    reached: float = -1.0
    arrived: bool = False


def race(
    original: Source, variants: Sequence[Variant], laboratory: Laboratory, seed: int, goal: float
) -> tuple[float, list[Racer]]:
    """What the original comes to, and the programs, those first that stayed in the race the longest, and the best of them.

    `goal` is the skill that is enough. A race that runs out of time ends with those whose round is complete.
    """
    left, dropped = [Racer(variant) for variant in variants], list[Racer]()
    at_first = -1.0
    for number in range(ROUNDS):
        seeds = range(seed + SEEDS_APART, seed + SEEDS_APART + number + 1)
        if laboratory.out_of_time() or not left:
            break
        laboratory.prepare([original, *(one.variant.source for one in left)], seeds)
        if laboratory.out_of_time():
            break
        at_first = _mean(original, laboratory, seeds)
        scored = [_scored(one.variant, laboratory, seeds, goal) for one in left]
        scored.sort(key=lambda one: -one.reached)
        last = number == ROUNDS - 1
        kept = len(scored) if last else max(FEWEST_KEPT, math.ceil(len(scored) / KEPT))
        left, dropped = scored[:kept], [*(replace(one, arrived=False) for one in scored[kept:]), *dropped]
    return at_first, [*left, *dropped]


def _scored(variant: Variant, laboratory: Laboratory, seeds: range, goal: float) -> Racer:
    arrived = all(comes_to_enough(laboratory.train(variant.source, seed), goal) for seed in seeds)
    return Racer(variant, _mean(variant.source, laboratory, seeds), arrived)


def _mean(source: Source, laboratory: Laboratory, seeds: range) -> float:
    found = [score(laboratory.train(source, seed)) for seed in seeds]
    return statistics.fmean(-1.0 if one is None or one.yardstick != "skill" else one.value for one in found)
