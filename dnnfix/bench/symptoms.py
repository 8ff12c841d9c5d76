"""The symptom of a case, as a predicate over one whole run of its program.

It is the case's own oracle, and owes nothing to the ladder: it reads how the run ended, what the program printed, what
it warned of, and whether its losses are finite and its weights move.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dnnfix.records import RunOutcome, Symptom, Trace


class Shown(StrEnum):
    """What a run says of the symptom."""

    YES = "yes"
    NO = "no"
    OTHER = "other"
    """The program ended in another failure, so that it can show neither."""
    UNKNOWN = "unknown"
    """The run says nothing of the program: it was out of time, memory, or without its environment."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """When a run shows the symptom.

    * `crash`: it ends in `exception` (the class's own name), with a message that `message` matches where that is given.
    * `warning`, `silent-broadcast`: a warning that `message` matches.
    * `non-finite`: a loss, or the number that `printed` finds, is infinite or not a number.
    * `no-gradient`: a weight that could train is not moved by training.
    * `not-learning`, `constant-output`, `violation`: the last number that `printed` finds in what the program prints lies
      `below` or `above` a bound, or is not a number at all; with `present`, `printed` is found there (true) or nowhere
      (false).

    `message` and `printed` are regular expressions; `printed` has one group around the number, unless `present` is given.
    """

    kind: Symptom
    exception: str = ""
    message: str = ""
    printed: str = ""
    below: float | None = None
    above: float | None = None
    present: bool | None = None

    def shown(self, trace: Trace) -> Shown:
        """What one run says of the symptom."""
        if not trace.outcome.says_something or trace.outcome is RunOutcome.BUDGET:
            return Shown.UNKNOWN
        if trace.crash is not None:
            return Shown.YES if self._is_the_crash(trace) else Shown.OTHER
        if trace.outcome is RunOutcome.EXITED:
            return Shown.OTHER
        return Shown.YES if _SHOWN[self.kind](self, trace) else Shown.NO

    def printed_by(self, trace: Trace) -> str:
        """What a run printed where the predicate looks, as a sentence; empty where it reads nothing that is printed."""
        if not self.printed:
            return ""
        if self.present is not None:
            return "it is printed" if _is_printed(self, trace) else "it is printed nowhere"
        number = _number(self, trace)
        return "no number" if number is None else f"{number:g}"

    @property
    def bound(self) -> str:
        """When what is printed shows the symptom, in words."""
        if self.present is not None:
            return f"{self.printed!r} is printed" + ("" if self.present else " nowhere")
        bounds = {"below": self.below, "above": self.above}
        words = [f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None]
        return "".join(words) or "not finite"

    def _is_the_crash(self, trace: Trace) -> bool:
        crash = trace.crash
        if self.kind is not Symptom.CRASH or crash is None:
            return False
        return crash.kind.rpartition(".")[2] == self.exception and re.search(self.message, crash.message) is not None


def _number(predicate: Predicate, trace: Trace) -> float | None:
    """The last number that the program printed where the predicate looks; `nan` where it printed something else."""
    found = re.findall(predicate.printed, trace.printed, re.MULTILINE)
    if not found:
        return None
    try:
        return float(found[-1])
    except ValueError:
        return math.nan


def _is_printed(predicate: Predicate, trace: Trace) -> bool:
    return re.search(predicate.printed, trace.printed, re.MULTILINE) is not None


def _printed(predicate: Predicate, trace: Trace) -> bool:
    if predicate.present is not None:
        return _is_printed(predicate, trace) is predicate.present
    number = _number(predicate, trace)
    if number is None or math.isnan(number):
        return True
    low = predicate.below is not None and number < predicate.below
    return low or (predicate.above is not None and number > predicate.above)


def _non_finite(predicate: Predicate, trace: Trace) -> bool:
    losses = trace.losses
    if predicate.printed and (number := _number(predicate, trace)) is not None:
        losses.append(number)
    return any(not math.isfinite(loss) for loss in losses)


def _warned(predicate: Predicate, trace: Trace) -> bool:
    said = [f"{warning.category}: {warning.message}" for warning in trace.warnings]
    return any(re.search(predicate.message, text) for text in said)


def _unmoved(predicate: Predicate, trace: Trace) -> bool:
    weights = trace.network.parameters if trace.network is not None else ()
    return any(weight.trainable and (weight.optimized is False or weight.update == 0.0) for weight in weights)


_SHOWN = {
    Symptom.CRASH: lambda predicate, trace: False,
    Symptom.WARNING: _warned,
    Symptom.SILENT_BROADCAST: _warned,
    Symptom.NON_FINITE: _non_finite,
    Symptom.NO_GRADIENT: _unmoved,
    Symptom.NOT_LEARNING: _printed,
    Symptom.CONSTANT_OUTPUT: _printed,
    Symptom.VIOLATION: _printed,
}

_KEYS = {
    Symptom.CRASH: ({"exception"}, {"message"}),
    Symptom.WARNING: ({"message"}, set[str]()),
    Symptom.SILENT_BROADCAST: ({"message"}, set[str]()),
    Symptom.NON_FINITE: (set[str](), {"printed"}),
    Symptom.NO_GRADIENT: (set[str](), set[str]()),
    Symptom.NOT_LEARNING: ({"printed"}, {"below", "above"}),
    Symptom.CONSTANT_OUTPUT: ({"printed"}, {"below", "above"}),
    Symptom.VIOLATION: ({"printed"}, {"below", "above", "present"}),
}
"""For each symptom the keys that a predicate needs, and those that it may have."""

KINDS = frozenset(_KEYS)
"""The symptoms that a case can have."""


def read_predicate(table: Mapping[str, Any]) -> Predicate:
    """The predicate of a table of `case.toml`. Raises `ValueError` with what is wrong and what is possible."""
    given = dict(table)
    try:
        kind = Symptom(given.pop("kind", ""))
        needed, allowed = _KEYS[kind]
    except (ValueError, KeyError):
        raise ValueError(
            f"[symptom] kind has to be one of {', '.join(_KEYS)}. Received: {table.get('kind')!r}"
        ) from None
    if missing := needed - given.keys():
        raise ValueError(f"{kind} needs {', '.join(sorted(missing))}")
    if unknown := given.keys() - needed - allowed:
        raise ValueError(f"{kind} has no {', '.join(sorted(unknown))}; it has {', '.join(sorted(needed | allowed))}")
    for key, value in given.items():
        wanted = bool if key == "present" else (int, float) if key in ("below", "above") else str
        if not isinstance(value, wanted) or (wanted is not bool and isinstance(value, bool)):
            raise ValueError(f"{key} is of the wrong kind. Received: {value!r}")
    if "printed" in needed and len(given.keys() & {"below", "above", "present"}) != 1:
        raise ValueError(f"{kind} needs one of below, above" + (" or present" if "present" in allowed else ""))
    for key in ("message", "printed"):
        try:
            groups = re.compile(given.get(key, "")).groups
        except re.error as error:
            raise ValueError(f"{key} is no regular expression: {error}. Received: {given[key]!r}") from None
        if key == "printed" and key in given and groups != (0 if "present" in given else 1):
            wanted_groups = "no group with present" if "present" in given else "one group, around the number"
            raise ValueError(f"printed needs {wanted_groups}. Received: {given[key]!r}")
    return Predicate(kind, **given)
