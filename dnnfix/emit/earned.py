"""The track record of each rule: in how many programs it found something, and how many of its patches were right.

The table beside this module is written by `tools/earned.py` from a replay of the benchmark's open half, whose repairs
are known and whose repaired programs count as sound, and from field trials on sound programs. Many rules were written
with those faults at hand: that one has fired in none of them means more than that it was right in one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_name("earned.json")
ALL = "all"
"""Under which name the table counts all programs."""

HIGH, MEDIUM = 0.9, 0.5
"""Shares of right ones among what a rule said from which its precision is called so; our own, as SARIF names four and defines none."""


@dataclass(frozen=True, slots=True)
class Earned:
    """Numbers of programs: faulty ones in which a rule found something, those with an accepted patch of it, right and wrong ones of these, and
    sound programs in which it found something.
    """

    faulty: int = 0
    accepted: int = 0
    right: int = 0
    wrong: int = 0
    sound: int = 0

    @property
    def precision(self) -> str:
        """The value of SARIF's property `precision`; `medium` where nothing is known."""
        told = self.right + self.wrong + self.sound
        share = self.right / told if told else MEDIUM
        return "high" if share >= HIGH else "medium" if share >= MEDIUM else "low"


@cache
def table() -> Mapping[str, Earned]:
    """By code what rules have earned; those that never fired are not in it."""
    counted = json.loads(TABLE.read_text(encoding="utf-8"))
    return {code: Earned(**counts) for code, counts in counted.items()}


def earned(code: str) -> Earned:
    """What a rule has earned."""
    return table().get(code, Earned())


def in_words(code: str) -> str:
    """The same as a sentence; empty for rules outside the catalogue, which are not in the table."""
    if not code.startswith("DNF"):
        return ""
    own, every = earned(code), table()[ALL]
    if not own.faulty and not own.sound:
        return (
            f"In the last replay of the benchmark: not seen in {every.faulty} faulty and {every.sound} sound programs."
        )
    patches = f"{own.accepted} with an accepted patch of it ({own.right} right, {own.wrong} wrong)"
    return f"In the last replay of the benchmark: found in {own.faulty} of {every.faulty} faulty programs, {patches}, and in {own.sound} of {every.sound} sound ones."
