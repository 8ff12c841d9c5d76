"""The score of a trial, and the sequential test over a series of paired trials.

A loss cannot be compared across a change of loss function, so trials are scored by skill (see `records.Step`), which
does not depend on the loss's scale; only where no skill could be taken is the fall of the loss itself used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dnnfix.records import Json, Trace

TAIL = 0.25
"""Share of the last steps that a score averages over: single mini-batches are too noisy to compare."""

EVIDENCE_NEEDED = 20.0
"""A claim is accepted when its betting martingale reaches 1 / 0.05 (Ville's inequality: error at most 5 %)."""

STAKE = 0.9
"""Share of the capital that is bet on a win: five wins in a row reach 1.9 ** 5 = 24.8 and settle the claim."""

MAX_PAIRS = 12
"""Paired trials after which an open claim is inconclusive: one loss takes nine wins to make up for, two take twelve."""

MIN_PAIRS = 5
"""Paired trials before which no claim can be settled, so that they may as well run side by side."""

LEARNED = 0.7
"""Mean skill from which on a training needs no closer look: no simple learner could be far ahead of it."""

MARGIN = 0.05
"""Skill that counts as a difference: twice the spread that equal programs showed over seeds on small data sets."""


@dataclass(frozen=True, slots=True)
class Score:
    """The score of a trial and the yardstick it was taken with (`skill` or `loss`)."""

    value: float
    yardstick: str


def score(trace: Trace) -> Score | None:
    """The trial's score; `None` when it took no scored step. Non-finite training scores as bad as can be."""
    if not trace.steps:
        return None
    tail = trace.steps[-_tail(trace) :]
    if not _ends_finite(trace):
        return Score(-1.0, "skill")
    losses = trace.losses
    skills = [step.skill for step in tail if step.skill is not None and math.isfinite(step.skill)]
    if skills:
        return Score(max(-1.0, sum(skills) / len(skills)), "skill")
    return _fall(losses, len(tail))


def _ends_finite(trace: Trace) -> bool:
    """Whether the last losses of a trial, where they are known, are finite numbers."""
    return all(math.isfinite(loss) for loss in trace.losses[-_tail(trace) :])


def _tail(trace: Trace) -> int:
    return max(1, math.ceil(len(trace.steps) * TAIL))


def _fall(losses: Sequence[float], tail: int) -> Score | None:
    """By what part of its start the loss fell, from -1 to 1."""
    if len(losses) < 2:
        return None
    start, end = abs(losses[0]) or 1e-12, sum(losses[-tail:]) / len(losses[-tail:])
    return Score(max(-1.0, min(1.0, (losses[0] - end) / start)), "loss")


def difference(before: Trace, after: Trace) -> float | None:
    """By how much the later program scores better; `None` where the two cannot be compared.

    Where only one of them shows its skill, both are compared by the fall of their losses. One that does not end in finite
    numbers scores as bad as can be on either yardstick.
    """
    first, second = score(before), score(after)
    if first is None or second is None:
        return None
    if first.yardstick != second.yardstick and _ends_finite(before) and _ends_finite(after):
        falls = [_fall(t.losses, _tail(t)) for t in (before, after)]
        if falls[0] is None or falls[1] is None:
            return None
        first, second = falls[0], falls[1]
    return second.value - first.value


def as_far(before: Trace, after: Trace) -> Trace:
    """The earlier trial as far as the later one is compared with it: to its end, but where ranks divide their data in the later alone.

    The passes over the data are as many then, and each takes fewer steps, which average over more samples. Such a patch
    has to learn as much in its steps as the original in as many.
    """
    taken, divided = len(before.steps), len(after.steps)
    same = [_ranks(trace).get("same_batches") for trace in (before, after)]
    ranks = before.probes.get("world")
    if same != [True, False] or not isinstance(ranks, int) or not divided < taken <= ranks * divided:
        return before
    return replace(before, steps=before.steps[:divided])


def _ranks(trace: Trace) -> Mapping[str, Json]:
    found = trace.probes.get("ranks")
    return found if isinstance(found, dict) else {}


def threshold(improvement: bool) -> float:
    """The difference in score that a win has to exceed: a gain where one is claimed, else no more than a small loss."""
    return MARGIN if improvement else -MARGIN


@dataclass(frozen=True, slots=True)
class Decision:
    """The state of a sequential test: `settled` is `yes`, `no` or empty for undecided."""

    settled: str
    evidence_for: float
    wins: int
    losses: int

    def can_succeed(self, left: int) -> bool:
        """Whether as many more pairs, all won, would settle the claim with `yes`."""
        return self.evidence_for * (1 + STAKE) ** left >= EVIDENCE_NEEDED


def decide(differences: Sequence[float], threshold: float) -> Decision:
    """Test sequentially whether the patched program scores better than the original by more than `threshold`.

    Each pair is a bet at even odds on its sign. Under the hypothesis that wins and losses are equally likely the
    capital is a martingale, so stopping at any time keeps the error below 1 / EVIDENCE_NEEDED. A negative `threshold`
    turns the question into "not worse by more than that".
    """
    capital_for = capital_against = 1.0
    wins = losses = 0
    for value in differences:
        won = value > threshold
        wins, losses = wins + won, losses + (not won)
        capital_for *= 1 + STAKE if won else 1 - STAKE
        capital_against *= 1 - STAKE if won else 1 + STAKE
        if capital_for >= EVIDENCE_NEEDED:
            return Decision("yes", capital_for, wins, losses)
        if capital_against >= EVIDENCE_NEEDED:
            return Decision("no", capital_for, wins, losses)
    return Decision("", capital_for, wins, losses)
