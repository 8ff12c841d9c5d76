"""The search over small edits at a crash that no rule repairs: operators along the slice, tried where the program stopped.

Thousands of edits are tried in the frames that the crash left alive, each for a part of a millisecond. Those under which
the program goes on are put together by what they came to, and the likeliest of each such class is what whole runs decide on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dnnfix.errors import EditError
from dnnfix.records import AddImport, FixPattern, Json
from dnnfix.run.job import TextEdit, Trying
from dnnfix.source.edits import text_changes
from dnnfix.source.program import Source
from dnnfix.synthesize.operators import Change, operators
from dnnfix.synthesize.prior import score
from dnnfix.synthesize.scene import Scene
from dnnfix.synthesize.slices import Place, places

MOST = 4000
"""Edits that are tried at one crash, the likeliest."""


@dataclass(frozen=True, slots=True)
class Guess:
    """One edit that may be the repair: what it is, of which operator, where, and how likely before any run."""

    change: Change
    operator: str
    pattern: FixPattern
    place: Place
    score: float


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a guess where the program stopped.

    `holds` where the edited statement and all that follows in its block ran; `moved` where the statement itself ran, and
    something behind it did not; `print` tells guesses apart that came to different values, and is empty where nothing does.
    """

    guess: Guess
    holds: bool
    moved: bool
    print: str


def guesses(scene: Scene) -> list[Guess]:
    """What the operators offer along the slice of a crash, the likeliest first; equal edits once."""
    found: list[Guess] = []
    seen: set[tuple[object, ...]] = set()
    for place in places(scene):
        for operator in operators():
            for order, change in enumerate(operator.changes(scene, place)):
                if change.edits not in seen:
                    seen.add(change.edits)
                    likely = score(operator.name, change.form, place, order)
                    found.append(Guess(change, operator.name, operator.pattern, place, likely))
    found.sort(key=lambda guess: -guess.score)
    return found[:MOST]


def tryings(source: Source, wanted: Iterable[Guess]) -> tuple[list[Guess], tuple[Trying, ...]]:
    """The guesses whose edits can be carried out, and the same as changes of the text."""
    able: list[Guess] = []
    written: list[Trying] = []
    for guess in wanted:
        imports = tuple(edit.statement for edit in guess.change.edits if isinstance(edit, AddImport))
        edits = tuple(edit for edit in guess.change.edits if not isinstance(edit, AddImport))
        try:
            changes = text_changes(source, edits)
        except EditError:
            continue
        place = source.places.place
        able.append(guess)
        written.append(
            Trying(tuple(TextEdit("", place(c.start), place(c.end), c.new) for c in changes), imports, guess.score)
        )
    return able, tuple(written)


def outcomes(tried: Sequence[Guess], answers: Json) -> list[Tried]:
    """What the speculation said of each guess; those of which it said nothing are left out."""
    if not isinstance(answers, (list, tuple)):
        return []
    found: list[Tried] = []
    for guess, answer in zip(tried, answers, strict=False):
        told: Any = answer
        if isinstance(told, dict) and told.get("ok"):
            error = told.get("error")
            found.append(Tried(guess, error is None, error is not None, str(told.get("print") or "")))
    return found


def one_of_each(tried: Iterable[Tried]) -> list[Tried]:
    """Of the guesses that came to the same values in the same statement the likeliest, in the order given."""
    found: list[Tried] = []
    seen: set[tuple[object, ...]] = set()
    for one in tried:
        key = (one.print,) if one.print else (one.guess.change.edits,)
        if key not in seen:
            seen.add(key)
            found.append(one)
    return found
