"""The task stays the same: where a gain is claimed, the same examples have the same targets, up to code or scale.

A patch that gives examples other targets, such as a lower limit for what counts as a yes, makes the problem another
one, and a better score means nothing then. Where the targets come in another order, or go with other examples, they
may not have belonged together before, and this is not held against a patch.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from dnnfix.api import Evidence, Trace, Verdict

NAME = "answers-kept"
RUNG = "honest"

FEWEST = 24
"""Examples of which fewer tell nothing."""

MOST_CLASSES = 64
"""Different answers, all of whole numbers, up to which they are taken as names of classes."""

SAME_SCALE = 0.999
"""Squared correlation from which on one amount is the other on another scale; rounding to half precision leaves 0.99999."""

SAME_EXAMPLE = 0.9
"""Mean correlation from which on amounts belong to the same examples, and share of the rows of the inputs that have to be equal."""

SIGMAS = 4.0
"""By how many standard deviations the share of the commonest answer has to differ: 1 in 16,000 do by chance."""

Row = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Examples:
    """The first examples of a training: checksums of their inputs, empty where they are not known, and their answers."""

    inputs: tuple[int, ...]
    answers: tuple[Row, ...]
    width: int


def judge(evidence: Evidence) -> Verdict:
    """Fail where a gain is claimed and the same examples have other answers."""
    if not evidence.wants_improvement:
        return Verdict.not_applicable("no gain was claimed")
    before, after = (_examples(trace) for trace in evidence.examples) if evidence.examples else (None, None)
    if before is None or after is None or before.width != after.width:
        return Verdict.not_applicable("the answers of the examples cannot be set side by side")
    count = min(len(before.answers), len(after.answers))
    one, other = before.answers[:count], after.answers[:count]
    if count < FEWEST:
        return Verdict.not_applicable("too few examples were seen")
    is_same = _share_of_equal(before.inputs, after.inputs) >= SAME_EXAMPLE
    changed = (
        _other_classes(one, other, is_same) if _are_classes(one) and _are_classes(other) else _other_amounts(one, other)
    )
    if changed is None:
        return Verdict.not_applicable("other examples, or the same in another order, were seen")
    if changed:
        return Verdict.fails(f"the patch changes what is to be learned: {changed}", {"examples": count})
    return Verdict.passes("the same examples have the same answers", {"examples": count})


def _examples(trace: Trace) -> _Examples | None:
    found = trace.probes.get("answers")
    if not isinstance(found, Mapping):
        return None
    inputs, answers, width = found["rows"], found["targets"], found["width"]
    if not isinstance(inputs, list) or not isinstance(answers, list) or not isinstance(width, int):
        return None
    rows = tuple(tuple(float(number) for number in row) for row in answers)  # type: ignore[union-attr, arg-type]
    return _Examples(tuple(inputs), rows, width) if all(math.isfinite(one) for row in rows for one in row) else None  # type: ignore[arg-type]


def _share_of_equal(one: Sequence[int], other: Sequence[int]) -> float:
    count = min(len(one), len(other))
    return sum(a == b for a, b in zip(one, other, strict=False)) / count if count else 0.0


def _are_classes(rows: Sequence[Row]) -> bool:
    return len(set(rows)) <= MOST_CLASSES and all(number.is_integer() for row in rows for number in row)


def _other_classes(one: Sequence[Row], other: Sequence[Row], is_same: bool) -> str | None:
    """How the answers differ, empty where only their names do; `None` where it cannot be told."""
    pairs, before, after = (len(set(answers)) for answers in (zip(one, other, strict=True), one, other))
    if pairs == before == after:
        return ""
    if not is_same:
        return None
    if pairs == before:
        return f"{before} different answers become {after}"
    first, second = _commonest(one), _commonest(other)
    mean = (first + second) / 2
    if abs(first - second) > SIGMAS * math.sqrt(2 * mean * (1 - mean) / len(one)):
        return f"the commonest answer is that of {second:.0%} of the same examples, instead of {first:.0%}"
    return None


def _commonest(answers: Sequence[Hashable]) -> float:
    return Counter(answers).most_common(1)[0][1] / len(answers)


def _other_amounts(one: Sequence[Row], other: Sequence[Row]) -> str | None:
    """The same for amounts, each column on a scale of its own."""
    columns = [
        statistics.correlation(a, b)
        for a, b in zip(zip(*one, strict=True), zip(*other, strict=True), strict=True)
        if len(set(a)) > 1 and len(set(b)) > 1
    ]
    if not columns:
        return None
    if all(found**2 >= SAME_SCALE for found in columns):
        return ""
    alike = abs(statistics.fmean(columns))
    return (
        f"the amounts correlate with the former ones by {alike:.2f}, and are not on another scale"
        if alike >= SAME_EXAMPLE
        else None
    )
