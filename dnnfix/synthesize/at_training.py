"""From a training that learns nothing to the few edits that are worth the ladder: ask what it shows, set settings otherwise, race them.

Of what makes a program learn the cause is preferred over luck: among the edits under which it comes far enough, the one that the
run itself makes likeliest. Pairs are tried where no single edit is enough; each edit of a pair is needed, or it would have won alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dnnfix.errors import EditError
from dnnfix.records import (
    UNLEARNED_CODE,
    UNLEARNED_RULE,
    Applicability,
    Candidate,
    Family,
    Finding,
    Json,
    Site,
    Trace,
)
from dnnfix.source.known import words
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.candidates import Variant, apply
from dnnfix.synthesize.causes import Cause, causes
from dnnfix.synthesize.racing import Racer, race
from dnnfix.validate.ladder import Laboratory
from dnnfix.validate.learning import score
from dnnfix.validate.symptoms import CHANCE, Reading, fails_to_learn, learning, reference

LEARNS = 0.3
"""Mean skill in the first steps from which on a training needs no closer look."""

SINGLES = 14
"""Edits that start in the first race."""

IN_PAIRS = 5
"""Edits, the likeliest of each setting, of which all pairs start in the second."""

ENOUGH = 0.6
"""Share of what a simple learner comes to from which on an edit needs no other beside it."""

STORED = words("load_state_dict from_pretrained pretrained load_model load_weights IMAGENET1K_V1")
"""Words of programs that begin with weights that were trained elsewhere: these, and a tiny rate, may be missing here for a reason."""

OF_TRAINING = ("fit", "fit_generator", "train_on_batch", "step", "backward")
"""Operations of a training loop at which it is said that training learns nothing."""


@dataclass(frozen=True, slots=True)
class Race:
    """What came of a look at training: what is said where it learns nothing, with the edits that make it learn, the likeliest first.

    Where that could not be told, `unsure` says why.
    """

    finding: Finding | None = None
    winners: tuple[Variant, ...] = ()
    unsure: str = ""


def look_at_training(source: Source, trace: Trace, laboratory: Laboratory) -> tuple[Trace, Race]:
    """Look whether a training learns: a longer run, and what is said of it."""
    looked = laboratory.look(source, trace.seed)
    seen = learning(looked)
    symptoms = seen.symptoms
    if not symptoms:
        return looked, Race(unsure=seen.unsure)
    if symptoms[0].name == "at-chance" and source.words & STORED:
        said = f"whether the network learns: it begins with stored weights, and {symptoms[0].said}"
        return looked, Race(unsure=said)
    return looked, Race(_finding(looked, symptoms))


def search_at_training(
    source: Source,
    trace: Trace,
    laboratory: Laboratory,
    progress: Callable[[str], None],
    heard: Callable[[Finding], bool],
    may_edit: bool,
) -> Race:
    """Look whether a training learns; where it does not, and the user wants to hear of it, race edits of its settings."""
    if not _needs_a_look(trace):
        return Race()
    progress("looking whether the network learns")
    looked, seen = look_at_training(source, trace, laboratory)
    finding = seen.finding
    if finding is None:
        return seen
    if not heard(finding):
        return Race()
    if not may_edit:
        return seen
    found = causes(Subject(source, looked), fails_to_learn(looked))
    progress(f"racing {min(len(found), SINGLES)} settings")
    goal = _goal(looked)
    raced = _raced(source, finding, found[:SINGLES], laboratory, trace.seed, goal)
    arrived = [one for one in raced if one.arrived]
    if not arrived:
        pairs = _pairs(found)
        progress(f"racing {len(pairs)} pairs of settings")
        in_pairs = _raced(source, finding, pairs, laboratory, trace.seed, goal)
        arrived = [one for one in in_pairs if one.arrived]
        raced += in_pairs
    arrived.sort(key=lambda one: (-one.variant.applied[0].prior, -one.reached))
    return Race(_with_table(finding, raced), tuple(one.variant for one in arrived))


def _needs_a_look(trace: Trace) -> bool:
    """Whether a program trains, and its first steps do not show already that it learns."""
    known = score(trace)
    if trace.crash is not None or not trace.steps or not trace.outcome.says_something:
        return False
    return known is None or known.yardstick != "skill" or known.value < LEARNS


def _goal(looked: Trace) -> float:
    known = reference(looked)
    return ENOUGH * known.skill if known is not None else LEARNS


def _finding(looked: Trace, symptoms: Sequence[Reading]) -> Finding:
    first = symptoms[0]
    events = sorted(
        (event for event in looked.loop if event.name in OF_TRAINING and event.site is not None),
        key=lambda event: OF_TRAINING.index(event.name),
    )
    site = events[0].site if events and events[0].site is not None else Site(1, 1, 1, 1)
    numbers: dict[str, Json] = {"symptoms": [reading.name for reading in symptoms]}
    for reading in symptoms:
        numbers |= {name: value for name, value in reading.numbers.items() if name not in numbers}
    known = reference(looked)
    if known is not None:
        numbers["reference"] = known.skill
    return Finding(
        UNLEARNED_CODE,
        UNLEARNED_RULE,
        Family.OPINIONATED,
        site,
        "the training learns nothing: " + "; ".join(reading.said for reading in symptoms),
        first.symptom,
        0.9,
        numbers,
    )


def _raced(
    source: Source, finding: Finding, settings: Sequence[Cause], laboratory: Laboratory, seed: int, goal: float
) -> list[Racer]:
    variants = [variant for one in settings if (variant := _applied(source, finding, one)) is not None]
    distinct = {variant.source.contents: variant for variant in variants if variant.source.contents != source.contents}
    at_first, raced = race(source, list(distinct.values()), laboratory, seed, goal)
    return raced if at_first <= 2 * CHANCE else []


def _pairs(found: Sequence[Cause]) -> list[Cause]:
    """The likeliest edits of different settings, two at a time, as one."""
    likeliest = list({one.setting: one for one in reversed(found)}.values())
    likeliest.sort(key=lambda one: -one.prior)
    chosen = likeliest[:IN_PAIRS]
    return [
        replace(
            one,
            setting=f"{one.setting}, {other.setting}",
            title=f"{one.title}; {other.title[:1].lower()}{other.title[1:]}",
            edits=(*one.edits, *other.edits),
            prior=one.prior * other.prior,
        )
        for place, one in enumerate(chosen)
        for other in chosen[place + 1 :]
    ]


def _applied(source: Source, finding: Finding, one: Cause) -> Variant | None:
    candidate = Candidate(
        template=UNLEARNED_CODE,
        title=one.title,
        fix_pattern=one.pattern,
        edits=one.edits,
        findings=(finding,),
        applicability=Applicability.UNSAFE,
        prior=one.prior,
    )
    try:
        return apply(Variant(source), candidate)
    except EditError:
        return None


def _with_table(finding: Finding, raced: Sequence[Racer]) -> Finding:
    """The finding with what each edit came to: what the parts of a patch are worth."""
    table: dict[str, Json] = {one.variant.applied[0].title: round(one.reached, 3) for one in raced}
    return replace(finding, evidence={**finding.evidence, "raced": table})
