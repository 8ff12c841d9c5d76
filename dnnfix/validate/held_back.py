"""What makes a training look better than it is: rows that are in both parts, the answer among the inputs, rows learned by heart.

The numbers are those of `Experiment.REFERENCE`: the program's own evaluations beside the rows that it trains on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dnnfix.records import Json, Symptom, Trace
from dnnfix.validate.learning import score
from dnnfix.validate.reading import Reading
from dnnfix.validate.symptoms import ENOUGH_TO_TELL, LEARNERS, WORTH, ends_by_itself

SHARED = 0.2
"""Share of the rows of an evaluation that training knows, beyond what the data repeat by nature, from which on it says little of new data."""

THE_SAME = 0.95
"""Share from which on an evaluation is one of the rows of training, as programs make on purpose, unless they call it validation."""

EVERYTHING = 0.8
"""Share of the rows of training from which on an evaluation that holds them too is one of all rows there are."""

NEW = 0.05
"""Share of rows that training knows up to which an evaluation is one of new rows."""


def readings(trace: Trace) -> tuple[Reading, ...]:
    """What the evaluations of a training show; empty where nothing is known of them."""
    return (*_answer(trace), *_of_passes(trace))


def _answer(trace: Trace) -> Iterator[Reading]:
    found = trace.probes.get("reference")
    answer = found.get("answer") if isinstance(found, Mapping) else None
    if isinstance(found, Mapping) and isinstance(answer, int):
        said = f"the target is among the inputs: column {answer} is the target in each of {found['rows']} rows"
        yield Reading("answer-among-inputs", said, Symptom.VIOLATION, {"column": answer})


def _of_passes(trace: Trace) -> Iterator[Reading]:
    """Of the passes of one evaluation the first that shows something."""
    listed = trace.probes.get("held-back")
    passes = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    for one in passes:
        found = _shared(one) or _by_heart(trace, one)
        if found is not None:
            yield found
            return


def _shared(one: Mapping[str, Json]) -> Reading | None:
    shared, repeated, covers = (_number(one, name) for name in ("shared", "repeated", "covers"))
    on_purpose = not one.get("declared") and (shared >= THE_SAME or covers >= EVERYTHING)
    if on_purpose or shared - repeated < SHARED:
        return None
    said = f"{shared:.0%} of the {one['rows']} rows that it is evaluated on are among those that it trains on"
    return Reading("shared-rows", said, Symptom.VIOLATION, {"shared": shared, "repeated": repeated})


def _by_heart(trace: Trace, one: Mapping[str, Json]) -> Reading | None:
    """Whether the network knows the rows of training, and of new ones less than a simple learner of the same rows."""
    known, held, simple = score(trace), one.get("skill"), one.get("simple")
    if not isinstance(held, (int, float)) or not isinstance(simple, (int, float)) or _number(one, "shared") > NEW:
        return None
    if known is None or known.yardstick != "skill" or not (ends_by_itself(trace) or len(trace.steps) >= ENOUGH_TO_TELL):
        return None
    if known.value - max(held, 0.0) < WORTH or simple - max(held, 0.0) < WORTH:
        return None
    learner = LEARNERS.get(str(one.get("learner")), "a simple learner")
    said = (
        f"it learns rows by heart: a skill of {known.value:.2f} on those that it trains on, and of {held:.2f} on "
        f"{one['rows']} others, where {learner} of the same rows {'come' if learner.endswith('s') else 'comes'} to {simple:.2f}"
    )
    return Reading(
        "by-heart", said, Symptom.VIOLATION, {"skill": round(known.value, 4), "held_back": held, "simple": simple}
    )


def _number(one: Mapping[str, Json], name: str) -> float:
    value = one.get(name)
    return float(value) if isinstance(value, (int, float)) else 0.0
