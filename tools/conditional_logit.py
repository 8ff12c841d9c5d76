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

Feature = tuple[str, str, float]
Key = tuple[str, str]


@dataclass(frozen=True)
class Choice:
    """The guesses at one crash: the features of each, and whether it is right."""

    features: tuple[tuple[Feature, ...], ...]
    right: tuple[bool, ...]


@dataclass(frozen=True)
class Fitted:
    """Weights by group and name, and the score of the outcome that no guess is right."""

    weights: dict[Key, float]
    none: float

    def score(self, features: Iterable[Feature]) -> float:
        """The score of a guess."""
        return sum(value * self.weights.get((group, name), 0.0) for group, name, value in features)


def fit(
    choices: Sequence[Choice],
    start: Mapping[Key, float],
    strength: Callable[[Key], float],
) -> Fitted:
    """The weights that make the right guesses likeliest, less half of `strength` for each squared step away from `start`."""
    keys = sorted(
        {(group, name) for choice in choices for row in choice.features for group, name, _ in row} | set(start)
    )
    place = {key: number for number, key in enumerate(keys)}
    begun = np.array([start.get(key, 0.0) for key in keys] + [0.0])
    held = np.array([strength(key) for key in keys] + [1e-4])
    table = np.concatenate([_rows(choice, place) for choice in choices])
    right = np.concatenate([[*choice.right, not any(choice.right)] for choice in choices])
    starts = np.cumsum([0, *(len(choice.right) + 1 for choice in choices[:-1])])
    found = likeliest(table, right, starts, begun, held)
    return Fitted({key: float(found[number]) for key, number in place.items()}, float(found[-1]))


def likeliest(table: Any, right: Any, starts: Any, begun: Any, held: Any) -> Any:
    """The weight of each column that makes the right rows likeliest among those of their choice.

    Choices are stretches of rows that begin at `starts`, and each has a right row. `held` is how strongly a weight is drawn to what it
    `begun` as: half of it for each squared step away.
    """
    choice: Any = np.repeat(np.arange(len(starts)), np.diff([*starts, len(right)]))

    def loss(weights: Any) -> tuple[float, Any]:
        scores = table @ weights
        wanted = np.where(right, scores, -np.inf)
        of_all, of_right = np.logaddexp.reduceat(scores, starts), np.logaddexp.reduceat(wanted, starts)
        slope = (np.exp(scores - of_all[choice]) - np.exp(wanted - of_right[choice])) @ table
        away = weights - begun
        return float((of_all - of_right).sum() + 0.5 * held @ away**2), slope + held * away

    return minimize(loss, begun, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x


def _rows(choice: Choice, place: Mapping[Key, int]) -> Any:
    """Rows of features, with the outcome that none is right as the last."""
    table = np.zeros((len(choice.features) + 1, len(place) + 1))
    for number, row in enumerate(choice.features):
        for group, name, value in row:
            table[number, place[group, name]] += value
    table[-1, -1] = 1.0
    return table


def folds(programs: Iterable[str], many: int) -> Iterator[frozenset[str]]:
    """The programs in `many` parts of about one size, the same each time."""
    ordered = sorted(set(programs))
    for number in range(many):
        yield frozenset(ordered[number::many])
