"""The differences between two replays, on the cases that both have, with a test of their significance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import comb

from dnnfix.bench.assessment import REPAIRING, Arm, Assessed
from dnnfix.bench.totals import SEARCHED

COMPARED = ("detected", "localized", "accepted", "correct", "wrong")
"""What is compared of the repair arm."""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that is counted: the cases that have it only in the first replay, and only in the second.

    `chance` is the probability of so uneven a split, or a more uneven one, were both replays alike (McNemar's exact
    test).
    """

    arm: Arm
    what: str
    both: int
    lost: tuple[str, ...]
    won: tuple[str, ...]

    @property
    def name(self) -> str:
        """What is counted, with the arm where it is not the engine as it is used."""
        return self.what if self.arm is Arm.REPAIR else f"{self.what}, {self.arm} arm"

    @property
    def is_worse(self) -> bool:
        """Whether something correct was lost, or something wrong or false came in."""
        if self.arm not in REPAIRING or self.what == "wrong":
            return bool(self.won)
        return self.what == "correct" and bool(self.lost)

    @property
    def chance(self) -> float:
        """Two-sided probability under equal chances of losing and winning a case."""
        n, k = len(self.lost) + len(self.won), min(len(self.lost), len(self.won))
        return min(1.0, 2 * sum(comb(n, i) for i in range(k + 1)) / 2**n) if n else 1.0


def compare(before: Iterable[Assessed], after: Iterable[Assessed]) -> tuple[int, list[Change]]:
    """How many cases both have, and the changes: of the steps of the repair arm, and of what other arms got accepted.

    The search arm is included where both replays have it.
    """
    old, new = _by_key(before), _by_key(after)
    shared = sorted(old.keys() & new.keys())
    counted = [(Arm.REPAIR, what) for what in COMPARED]
    counted += [(arm, "accepted") for arm in (Arm.HEALTHY, Arm.NULL, Arm.RANDOM)]
    if any(arm is Arm.SEARCH for _, arm in shared):
        counted += [(Arm.SEARCH, what) for what in SEARCHED]
    changes = [_change(arm, what, old, new, [key for key in shared if key[1] is arm]) for arm, what in counted]
    return len({case for case, arm in shared if arm in REPAIRING}), changes


_Key = tuple[str, Arm]


def _by_key(results: Iterable[Assessed]) -> dict[_Key, Assessed]:
    return {(result.case, result.arm): result for result in results if not result.failed}


def _change(
    arm: Arm, what: str, old: Mapping[_Key, Assessed], new: Mapping[_Key, Assessed], keys: Iterable[_Key]
) -> Change:
    had = {key[0] for key in keys if getattr(old[key], what)}
    has = {key[0] for key in keys if getattr(new[key], what)}
    return Change(arm, what, len(had & has), tuple(sorted(had - has)), tuple(sorted(has - had)))
