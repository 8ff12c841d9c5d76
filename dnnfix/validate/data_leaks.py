"""Signs that a training looks better than it is: shared rows in both parts, the target among the inputs, memorized
rows.

The numbers are those of `Experiment.REFERENCE`: the program's own evaluations beside the rows that it trains on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dnnfix.records import Json, Symptom, Trace
from dnnfix.validate.learning import score
from dnnfix.validate.reading import Reading
from dnnfix.validate.symptoms import ENOUGH_TO_TELL, LEARNERS, WORTH, ends_by_itself, verb

SHARED = 0.2
"""Share of the rows of another part that the part for training has, beyond what data repeat by nature, from which on it says little of new data."""

THE_SAME = 0.95
"""Share from which on another part is the one for training, which programs evaluate on purpose unless they call it validation."""

EVERYTHING = 0.8
"""Share of the part for training from which on another part that holds it is all there is."""

LATE = 0.75
"""Share of the steps behind which an evaluation has to be made, to be set beside what training came to."""


def readings(trace: Trace) -> tuple[Reading, ...]:
    """The symptoms in the data and the evaluations of a training; empty where nothing is known of them."""
    return (*_answer(trace), *_shared(trace), *_by_heart(trace))


def _answer(trace: Trace) -> Iterator[Reading]:
    found = trace.probes.get("reference")
    answer = found.get("answer") if isinstance(found, Mapping) else None
    if isinstance(found, Mapping) and isinstance(answer, int):
        said = f"the target is among the inputs: column {answer} is the target in each of {found['rows']} rows"
        yield Reading("answer-among-inputs", said, Symptom.VIOLATION, {"column": answer})


def _shared(trace: Trace) -> Iterator[Reading]:
    """Of several parts the first that shares rows with the one for training."""
    listed = trace.probes.get("parts")
    for part in listed if isinstance(listed, list) else []:
        if not isinstance(part, Mapping):
            continue
        shared, repeated, covers = (_number(part, name) or 0.0 for name in ("shared", "repeated", "covers"))
        on_purpose = not part.get("declared") and (shared >= THE_SAME or covers >= EVERYTHING)
        if not on_purpose and shared - repeated >= SHARED:
            named = "held back for validation" if part.get("declared") else "that it is evaluated on"
            said = f"{shared:.0%} of the {part['rows']} rows {named} are among those that it trains on"
            yield Reading("shared-rows", said, Symptom.VIOLATION, {"shared": shared, "repeated": repeated})
            return


def _by_heart(trace: Trace) -> Iterator[Reading]:
    """Whether the network knows the rows of training, and of new ones less than a simple learner of the same rows.

    Batch normalization takes other statistics in an evaluation, which lag behind for long: there the two cannot be compared.
    """
    found, known = trace.probes.get("held-back"), score(trace)
    if not isinstance(found, Mapping) or known is None or known.yardstick != "skill":
        return
    if trace.network is not None and any("BatchNorm" in component.name for component in trace.network.components):
        return
    held, simple, behind = (_number(found, name) for name in ("skill", "simple", "step"))
    steps = len(trace.steps)
    if held is None or simple is None or behind is None or behind < LATE * steps:
        return
    enough = ends_by_itself(trace) or steps >= ENOUGH_TO_TELL
    if enough and min(known.value, simple) - max(held, 0.0) >= WORTH:
        learner = str(found.get("learner"))
        said = (
            f"it learns rows by heart: a skill of {known.value:.2f} on those that it trains on, and of {held:.2f} on "
            f"{found.get('rows')} others, where {LEARNERS.get(learner)} of the former {verb(learner)} to {simple:.2f}"
        )
        numbers: dict[str, Json] = {"skill": round(known.value, 4), "held_back": held, "simple": simple}
        yield Reading("by-heart", said, Symptom.VIOLATION, numbers)


def _number(one: Mapping[str, Json], name: str) -> float | None:
    value = one.get(name)
    return float(value) if isinstance(value, (int, float)) else None
