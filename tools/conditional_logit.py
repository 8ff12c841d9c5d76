"""A conditional logit: within each crash one guess is to be chosen, and the weights of their features are fitted.

The chance of a guess is the exponential of its score, shared out among the guesses of its crash and one outcome more: that
none of them is right, whose score is fitted too. Where several guesses are right, their chances add up. Weights are drawn
towards those they start from, so that what is seen seldom stays where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

Feature = tuple[str, str, float]
Key = tuple[str, str]


@dataclass(frozen=True)
class Choice:
    """The guesses at one crash: the features of each, what its score has besides, and whether it is right."""

    program: str
    features: tuple[tuple[Feature, ...], ...]
    given: tuple[float, ...]
    right: tuple[bool, ...]


@dataclass(frozen=True)
class Fitted:
    """Weights by group and name, and the score of the outcome that no guess is right."""

    weights: dict[Key, float]
    none: float

    def score(self, features: Iterable[Feature], given: float) -> float:
        """The score of a guess."""
        return given + sum(value * self.weights.get((group, name), 0.0) for group, name, value in features)


def fit(
    choices: Sequence[Choice],
    start: Mapping[Key, float],
    strength: Callable[[Key], float],
    capped: Callable[[Key], bool] = lambda key: False,
) -> Fitted:
    """The weights that make the right guesses likeliest, less half of `strength` for each squared step away from `start`.

    No weight that is `capped` gets larger than it was at the start.
    """
    keys = sorted(
        {(group, name) for choice in choices for row in choice.features for group, name, _ in row} | set(start)
    )
    place = {key: number for number, key in enumerate(keys)}
    begun = np.array([start.get(key, 0.0) for key in keys] + [0.0])
    held = np.array([strength(key) for key in keys] + [1e-4])
    tables = [_table(choice, place) for choice in choices]

    def loss(weights: Any) -> tuple[float, Any]:
        total, slope = 0.0, np.zeros_like(weights)
        for table, given, right in tables:
            scores = table @ weights + given
            whole, wanted = logsumexp(scores), logsumexp(scores[right])
            total += whole - wanted
            chances = np.exp(scores - whole)
            chances[right] -= np.exp(scores[right] - wanted)
            slope += chances @ table
        away = weights - begun
        return total + 0.5 * float(held @ away**2), slope + held * away

    bounds = [(None, start.get(key, 0.0) if capped(key) else None) for key in keys] + [(None, None)]
    found = minimize(loss, begun, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500}).x
    return Fitted({key: float(found[number]) for key, number in place.items()}, float(found[-1]))


def _table(choice: Choice, place: Mapping[Key, int]) -> tuple[Any, Any, Any]:
    """Rows of features with the outcome `none` as the last, what their scores have besides, and which of them are right."""
    table = np.zeros((len(choice.features) + 1, len(place) + 1))
    for number, row in enumerate(choice.features):
        for group, name, value in row:
            table[number, place[group, name]] += value
    table[-1, -1] = 1.0
    right = np.array([*choice.right, not any(choice.right)])
    return table, np.array([*choice.given, 0.0]), right


def folds(programs: Iterable[str], many: int) -> Iterator[frozenset[str]]:
    """The programs in `many` parts of about one size, the same each time."""
    ordered = sorted(set(programs))
    for number in range(many):
        yield frozenset(ordered[number::many])
