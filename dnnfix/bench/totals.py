"""The totals of a replay: counts with their confidence intervals, overall and by group, and why repairs were missed."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from dnnfix.bench.assessment import REPAIRING, USUAL, Arm, Assessed
from dnnfix.bench.cases import Case
from dnnfix.bench.instances import Half

Z = 1.959964
"""The normal quantile of a two-sided interval of 95 %."""

COST = "runs of a case over running both programs once per seed"
"""The bound of the project on it is three."""

STEPS = ("runnable", "reproduced", "detected", "localized", "patched", "accepted", "correct")
"""The steps of a repair, each of which the next one needs to mean something."""

SEARCHED = ("accepted", "correct", "wrong")
"""What is counted of the search arm: its findings name no family."""


@dataclass(frozen=True, slots=True)
class Share:
    """How many of how many, with Wilson's interval of 95 %, which holds for small numbers and for none or all."""

    count: int
    of: int

    @property
    def value(self) -> float:
        """The fraction; 0 where there are no cases."""
        return self.count / self.of if self.of else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the interval; 0 and 1 where there are no cases."""
        if not self.of:
            return 0.0, 1.0
        scale = 1 + Z**2 / self.of
        centre = (self.value + Z**2 / (2 * self.of)) / scale
        reach = Z * math.sqrt(self.value * (1 - self.value) / self.of + (Z / (2 * self.of)) ** 2) / scale
        return max(0.0, centre - reach), min(1.0, centre + reach)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.count} of {self.of} ({100 * self.value:.1f} %, {100 * low:.1f}–{100 * high:.1f})"


@dataclass(frozen=True, slots=True)
class Line:
    """The counts of one group of cases."""

    name: str
    cases: int
    shares: Mapping[str, Share]
    """By the name of what is counted: the steps, `wrong`, and the accepted patches of the other arms."""


@dataclass(frozen=True, slots=True)
class ModelLine:
    """What one language model did for a group of cases, where it alone proposed."""

    name: str
    model: str
    cases: int
    well_formed: Share
    """Of its answers."""
    accepted: Share
    correct: Share
    wrong: Share
    in_reach: Share
    """Of the cases that it repaired right, those that the engine repairs without it."""
    cost: float
    """US dollars a case."""


@dataclass(frozen=True, slots=True)
class Totals:
    """All that is said of a replay."""

    whole: Line
    groups: Mapping[str, tuple[Line, ...]]
    waterfall: tuple[tuple[str, int], ...]
    """How many cases came through each step and all before it."""
    missed: tuple[tuple[str, int], ...]
    """Why cases are not correct, most frequent first."""
    wrong: tuple[Assessed, ...]
    false: tuple[Assessed, ...]
    """Accepted patches of the repaired programs."""
    arms: tuple[Assessed, ...]
    """Accepted patches of the null and the random arm."""
    failed: tuple[Assessed, ...]
    seconds: Mapping[str, float]
    """Medians and sums of the times."""
    search: tuple[Line, ...] = ()
    """What the search arm did, in whole and by half; nothing where it was not replayed."""
    model: tuple[ModelLine, ...] = ()
    """What the arm of each language model did, in whole and by half."""


def totals(cases: Sequence[Case], results: Iterable[Assessed]) -> Totals:
    """The totals over cases; results of others are passed over."""
    known = {case.id: case for case in cases}
    kept = [result for result in results if result.case in known]
    by_case = {(result.case, result.arm): result for result in kept}
    repairs = [by_case[id, Arm.REPAIR] for id in known if (id, Arm.REPAIR) in by_case]
    sound = [result for result in repairs if not result.failed]

    def line(name: str, ids: set[str]) -> Line:
        return _line(name, ids, by_case)

    def grouped(key: Callable[[Case], str]) -> tuple[Line, ...]:
        names = sorted({key(case) for case in cases})
        return tuple(line(name, {case.id for case in cases if key(case) == name}) for name in names)

    through = sound
    waterfall = [("cases", len(through))]
    for step in STEPS:
        if step == "localized":  # a fault can be repaired at another place than people did
            continue
        through = [result for result in through if getattr(result, step)]
        waterfall.append((step, len(through)))
    accepted = [result for result in kept if result.accepted]
    judged = [by_case[id, arm] for id in known for arm in REPAIRING if (id, arm) in by_case]
    searched = [result for result in judged if result.arm is Arm.SEARCH and not result.failed]
    return Totals(
        whole=line("all", set(known)),
        groups={
            "half": grouped(lambda case: case.instance.half),
            "library": grouped(lambda case: case.instance.library),
            "fix pattern": grouped(lambda case: case.instance.fix_pattern),
            "bug type": grouped(lambda case: case.instance.bug_type),
            "framework of the case": grouped(lambda case: case.framework),
            "fidelity": grouped(lambda case: case.fidelity),
        },
        waterfall=tuple(waterfall),
        missed=tuple(Counter(_why(result) for result in sound if not result.correct).most_common()),
        wrong=tuple(result for result in judged if result.wrong),
        false=tuple(result for result in accepted if result.arm is Arm.HEALTHY),
        arms=tuple(result for result in accepted if result.arm in (Arm.NULL, Arm.RANDOM)),
        failed=tuple(result for result in kept if result.failed),
        seconds=_seconds(kept, sound),
        search=tuple(_searched(searched, known)) if searched else (),
        model=tuple(_by_models(judged, known, by_case)),
    )


def _by_models(
    judged: Sequence[Assessed], known: Mapping[str, Case], by_case: Mapping[tuple[str, Arm], Assessed]
) -> Iterator[ModelLine]:
    """The lines of each model: all its cases, then those of each half."""
    asked = [result for result in judged if result.arm is Arm.MODEL and not result.failed and result.model is not None]
    for model in dict.fromkeys(result.model["model"] for result in asked if result.model):
        own = [result for result in asked if result.model and result.model["model"] == model]
        halves = [(half.value, [r for r in own if known[r.case].instance.half is half]) for half in sorted(Half)]
        for name, found in (("all", own), *halves):
            uses = [result.model for result in found if result.model]
            answers = sum(use["answers"] for use in uses)
            right = [result for result in found if result.correct]
            reached = [by_case.get((result.case, Arm.REPAIR)) for result in right]
            yield ModelLine(
                name,
                model,
                len(found),
                Share(answers - sum(use["malformed"] for use in uses), answers),
                Share(sum(result.accepted for result in found), len(found)),
                Share(len(right), len(found)),
                Share(sum(result.wrong for result in found), len(found)),
                Share(sum(one is not None and one.correct for one in reached), len(right)),
                sum(use["cost"] for use in uses) / len(found) if found else 0.0,
            )


def _searched(results: Sequence[Assessed], known: Mapping[str, Case]) -> Iterator[Line]:
    """The lines of the search arm: all its cases, then those of each half."""
    halves = [(half.value, [r for r in results if known[r.case].instance.half is half]) for half in sorted(Half)]
    for name, found in (("all", results), *halves):
        shares = {what: Share(sum(bool(getattr(r, what)) for r in found), len(found)) for what in SEARCHED}
        yield Line(name, len(found), shares)


def _line(name: str, ids: set[str], by_case: Mapping[tuple[str, Arm], Assessed]) -> Line:
    def share(arm: Arm, what: str) -> Share:
        found = [result for (id, of), result in by_case.items() if id in ids and of is arm and not result.failed]
        return Share(sum(bool(getattr(result, what)) for result in found), len(found))

    shares = {what: share(Arm.REPAIR, what) for what in (*STEPS, "wrong")}
    shares |= {arm.value: share(arm, "accepted") for arm in USUAL if arm is not Arm.REPAIR}
    return Line(name, len(ids), shares)


def _seconds(kept: Sequence[Assessed], sound: Sequence[Assessed]) -> dict[str, float]:
    per_case: dict[str, float] = {}
    for result in kept:
        per_case[result.case] = per_case.get(result.case, 0.0) + result.seconds
    spent = [result.seconds for result in sound]
    plain = {result.case: result.plain_seconds for result in sound if result.plain_seconds}
    cost: dict[str, list[float]] = {}
    for result in kept:
        if result.case in plain and result.seeds:
            cost.setdefault(result.case, []).append(result.run_seconds)
            cost[result.case].append(plain[result.case] * result.seeds)
    ratios = [sum(pairs[::2]) / sum(pairs[1::2]) for pairs in cost.values()]
    return {
        "all arms, summed": round(sum(per_case.values()), 1),
        "all arms of a case, median": round(median(per_case.values()), 1) if per_case else 0.0,
        "all arms of a case, longest": round(max(per_case.values()), 1) if per_case else 0.0,
        "repair arm, median": round(median(spent), 1) if spent else 0.0,
        COST: round(median(ratios), 2) if ratios else 0.0,
        f"{COST}, highest": round(max(ratios), 2) if ratios else 0.0,
    }


def _why(result: Assessed) -> str:
    """Why a case is not correct, without what is its own: numbers, names and messages."""
    if result.wrong:
        return "wrong: a patch was accepted and the symptom is still there"
    if result.accepted:
        return "a patch takes the symptom away and is none of the ground truth"
    if not result.runnable:
        return "the program could not be run"
    fell = re.match(r"(DNF\d+) fell at (\w+)", result.reason)
    if fell:
        return f"the patch of {fell[1]} fell at the rung {fell[2]}"
    found = re.match(r"(DNF\d+) (\w+)", result.reason)
    if found:
        return f"{found[1]} was {found[2]}"
    return result.reason or "no patch"
