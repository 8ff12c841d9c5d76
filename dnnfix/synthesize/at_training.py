"""The search for changed settings where training learns nothing: read its symptoms, propose settings, and race the
edited programs.

What makes a program learn should be the cause and not luck: among the edits under which it reaches the skill wanted,
the one that the run itself makes likeliest is preferred. Pairs are tried where no single edit is enough; each edit of
a pair is needed, or it would have won alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from dnnfix.errors import EditError
from dnnfix.records import (
    MISLEADING_CODE,
    MISLEADING_RULE,
    UNLEARNED_CODE,
    UNLEARNED_RULE,
    Applicability,
    Candidate,
    Family,
    Finding,
    FixPattern,
    Json,
    Site,
    Trace,
)
from dnnfix.source.program import Source
from dnnfix.source.public_names import words
from dnnfix.subject import Subject
from dnnfix.synthesize.candidates import Variant, apply
from dnnfix.synthesize.causes import Cause, causes
from dnnfix.synthesize.causes.epochs import EPOCHS, LONGEST, TIMES
from dnnfix.synthesize.racing import Racer, race
from dnnfix.synthesize.stored_weights import begins_with_stored
from dnnfix.validate import data_leaks
from dnnfix.validate.changes import is_loss_call
from dnnfix.validate.ladder import Laboratory
from dnnfix.validate.learning import LEARNED, score
from dnnfix.validate.reading import Reading
from dnnfix.validate.symptoms import CHANCE, WORTH, Learning, ends_by_itself, learning, reference

SINGLES = 14
"""Edits that start in the first race."""

IN_PAIRS = 6
"""Edits of which all pairs start in the second."""

OF_ONE_SETTING = 2
"""How many of them set the same setting: a rate may have to be greater, or smaller."""

ENOUGH = 0.6
"""Share of what a simple learner comes to from which on an edit needs no other beside it."""

OF_TRAINING = ("fit", "fit_generator", "train_on_batch", "step", "backward")
"""Operations of a training loop at which it is said that training learns nothing."""

OF_STORED = ("at-chance", "behind", "unfinished")
"""Symptoms that stored weights would not show."""

REWARDED = words("reward rewards")
"""Words of programs that learn by acting: their loss grows with what they are rewarded, or fined, by."""

PAIRING = "pairing"
"""The setting that alone is raced where data have no pattern."""

OF_STEPS = ("at-chance",)
"""Symptoms that more steps may end: some losses stay where they are for long before they fall."""

TOLD = ("", "steps")
"""What a look lacks that a setting far off makes up for: for the rest a race has to show that it is at fault."""

FAR_OFF = 0.85
"""How likely a setting has to be at fault for a training that ended on its way to be held against it: a rate off by 100."""

LIKELY = 0.5
"""How likely one of those settings has to be at fault for a race to try whether it is what holds a training back half-way."""

HALF_WAY = ("learning-rate", "inputs", "batch-size", "initialization")
"""Settings that may hold a training back half-way; more epochs, or weights that are let go, make any training better."""

SAID = {
    "behind": "the training learns far less than there is to learn",
    "unfinished": "the training ends too soon",
    "unpaired": "the targets do not go with the inputs",
}
"""How a finding begins; for all others the training learns nothing."""

SHOWN_BY = {"pattern": PAIRING, "epochs": EPOCHS}
"""The setting whose edits show what a look at a training alone cannot tell, by what it lacks."""

HELPED = 0.2
"""Skill that an edit has to come to, to count as one that helped: twice what chance may be."""

TRIALS = 12
"""Trials that half of the time left is planned for."""

AS_IT_IS = Cause("", "nothing set otherwise", FixPattern.ITERATIONS, (), 0.0)
"""What stands for the program itself in a race, where it comes far enough with another start: with every other one, or with one."""


@dataclass(frozen=True, slots=True)
class Look:
    """The examination of a training: the longest run observed, its symptoms, and a finding where it does not learn.

    Where that is unknown, `unsure` says why; `lacks` and `held_back` are those of `Learning`. `suspects` are settings
    of which only a race can show that they hold the training back.
    """

    trace: Trace
    symptoms: tuple[Reading, ...] = ()
    finding: Finding | None = None
    unsure: str = ""
    lacks: str = ""
    held_back: tuple[Reading, ...] = ()
    suspects: tuple[Cause, ...] = ()

    @property
    def misleading(self) -> Finding | None:
        """What is said of a training that looks better than it is."""
        found = data_leaks.readings(self.trace)
        if not found:
            return None
        said = "; ".join(reading.said for reading in found)
        numbers = {name: value for reading in found for name, value in reading.numbers.items()}
        evidence: dict[str, Json] = {"symptoms": [reading.name for reading in found], **numbers}
        return Finding(
            MISLEADING_CODE,
            MISLEADING_RULE,
            Family.OPINIONATED,
            site_of_training(self.trace),
            f"the training looks better than it is: {said}",
            found[0].symptom,
            0.8,
            evidence,
        )


def _left_open(looked: Trace, laboratory: Laboratory) -> str:
    """What is said where the time was over before a training that did not end had learned anything."""
    reached = score(looked)
    if ends_by_itself(looked) or not laboratory.out_of_time() or (reached is not None and reached.value >= LEARNED):
        return ""
    return "whether the network learns: the time of this file was used up; a larger --budget may tell"


def look_at_training(source: Source, seed: int, laboratory: Laboratory, logged: Sequence[Reading] = ()) -> Look:
    """Examine whether a training learns, with longer runs where a few hundred steps are too few to decide.

    A network that learned something counts as faulty only where a setting is far off, or a race shows one at fault.
    `logged` are the symptoms of a long run: they are looked for in longer runs, too, and what is held back here as it might be
    sound is a symptom where the long run has shown it.
    """
    looked = laboratory.look(source, seed)
    seen = learning(looked)
    is_cut = not ends_by_itself(looked) and not laboratory.out_of_time()
    if is_cut and (_may_change(Subject(source, looked), seen) or (logged and not seen.symptoms)):
        looked = laboratory.look(source, seed, 1)
        seen = learning(looked)
        reached = score(looked)
        at_a_guess = reached is not None and reached.value <= CHANCE
        too_short = (seen.lacks == "steps" and at_a_guess) or (bool(logged) and not seen.symptoms)
        if too_short and not laboratory.out_of_time():
            looked = laboratory.look(source, seed, 2)
            seen = learning(looked)
    subject = Subject(source, looked)
    suspects = _suspects(subject, seen)
    is_far_off = seen.lacks in TOLD and any(one.prior >= FAR_OFF for one in suspects)
    is_known = bool(seen.held_back) and seen.held_back[0].name in {reading.name for reading in logged}
    symptoms = seen.symptoms or (seen.held_back if is_far_off or is_known else ())
    if symptoms and symptoms[0].name == "diverging" and source.words & REWARDED:
        return Look(looked, unsure=f"whether the network learns: {symptoms[0].said}, which rewards may make it do")
    if not symptoms and not suspects:
        unsure = seen.unsure or _left_open(looked, laboratory)
        return Look(looked, unsure=unsure, lacks=seen.lacks, held_back=seen.held_back)
    finding = _finding(looked, symptoms or seen.held_back)
    first = (symptoms or seen.held_back)[0]
    if first.name in OF_STORED and begins_with_stored(subject, finding.site):
        said = f"whether the network learns: it begins with stored weights, and {first.said}"
        return Look(looked, unsure=said if symptoms else seen.unsure)
    if symptoms:
        return Look(looked, symptoms, finding)
    return Look(looked, unsure=seen.unsure, lacks=seen.lacks, held_back=seen.held_back, suspects=suspects)


def _may_change(subject: Subject, seen: Learning) -> bool:
    """Whether more steps may show what a training does not show yet, or that it shows no more what it is suspected of."""
    if seen.lacks == "steps" or any(reading.name in OF_STEPS for reading in seen.symptoms):
        return True
    return seen.lacks in ("", "cause") and bool(_suspects(subject, seen))


def _suspects(subject: Subject, seen: Learning) -> tuple[Cause, ...]:
    """The settings that may be at fault where the training shows none by itself, as far as they are likely enough.

    Of one that came half-way and stands still these are more where it is over: one that was cut may be slow, and sound.
    """
    if not seen.held_back:
        return ()
    found, setting = causes(subject, seen.held_back), SHOWN_BY.get(seen.lacks)
    if setting is not None:
        return tuple(one for one in found if one.setting == setting)
    is_over = seen.lacks == "" and subject.trace is not None and ends_by_itself(subject.trace)
    half_way = is_over and seen.held_back[0].name == "behind"
    return tuple(
        one for one in found if one.prior >= FAR_OFF or (half_way and one.prior >= LIKELY and one.setting in HALF_WAY)
    )


def as_suspected(looked: Look) -> Look:
    """The look as it is if a suspected setting is at fault; reported only once a race, or a proof, shows it."""
    if not looked.suspects:
        return looked
    return replace(looked, symptoms=looked.held_back, finding=_finding(looked.trace, looked.held_back))


def search_at_training(
    start: Variant,
    trace: Trace,
    laboratory: Laboratory,
    progress: Callable[[str], None],
    heard: Callable[[Finding], bool],
    climb: Callable[[Variant], bool] | None,
    suspected: Sequence[Cause] = (),
    logged: Sequence[Reading] = (),
) -> tuple[tuple[Finding, ...], str]:
    """Examine whether a training learns; if not, and the user wants such findings, race edits of its settings.

    `start` is the program, or what patches made of it; `trace` the longest run of it that is known; `suspected` what rules
    would change and could not prove by itself; `logged` the symptoms of a long run of the program. What reaches the goal is put up the ladder by `climb`, until it says that
    one was accepted; without it nothing is edited. Returns the findings about the training, with the result of every edit,
    and why nothing can be said of whether it learns.
    """
    if trace.crash is not None or not trace.steps or not trace.outcome.says_something:
        return (), ""
    learns = _learns(trace) and not logged
    if learns and not _evaluates(trace):
        return (), ""
    progress("looking whether the network learns")
    finding, unsure = None, ""
    if learns:
        looked = Look(laboratory.look(start.source, trace.seed))
    else:
        looked = look_at_training(start.source, trace.seed, laboratory, logged)
        finding, unsure = _repaired(start, looked, laboratory, progress, heard, climb, suspected, logged)
    misleading = looked.misleading
    said = [
        one for one in (misleading if misleading is None or heard(misleading) else None, finding) if one is not None
    ]
    return tuple(said), unsure


def _repaired(
    start: Variant,
    looked: Look,
    laboratory: Laboratory,
    progress: Callable[[str], None],
    heard: Callable[[Finding], bool],
    climb: Callable[[Variant], bool] | None,
    suspected: Sequence[Cause],
    logged: Sequence[Reading],
) -> tuple[Finding | None, str]:
    """Race edits where a look shows that nothing is learned, or that a setting may be at fault; see `search_at_training`."""
    if climb is not None:
        looked = as_suspected(looked)
    finding = looked.finding
    if finding is None or not heard(finding):
        return None, looked.unsure
    found: Sequence[Cause] = looked.suspects
    if not found:
        shown = {reading.name for reading in looked.symptoms}
        further = tuple(reading for reading in logged if reading.name not in shown)
        of_run = causes(Subject(start.source, looked.trace), (*looked.symptoms, *further))
        found = sorted([*suspected, *of_run], key=lambda one: -one.prior)
    raced = list(_raced(start, looked, finding, found, laboratory, progress, climb)) if climb is not None else []
    if raced and raced[-1][0] is AS_IT_IS and raced[-1][1].arrived:
        return None, f"whether the network learns: {looked.symptoms[0].said}; begun with another seed it learns"
    if looked.suspects and not any(racer.arrived for _, racer in raced):
        return None, looked.unsure
    return _with_table(finding, found, raced), ""


def _raced(
    start: Variant,
    looked: Look,
    finding: Finding,
    found: Sequence[Cause],
    laboratory: Laboratory,
    progress: Callable[[str], None],
    climb: Callable[[Variant], bool],
) -> Iterator[tuple[Cause, Racer]]:
    """Single edits, then pairs where no single one is enough: those that come far enough go up the ladder at once."""
    steps = len(looked.trace.steps)
    unfinished = looked.symptoms[0].name == "unfinished"
    longest = max(TIMES[0] * steps, min(TIMES[-1] * steps, LONGEST))
    laboratory.allow_steps(longest if unfinished else steps, TRIALS)
    entered: dict[tuple[bytes, ...], Cause] = {start.source.contents: AS_IT_IS}
    raced: list[tuple[Cause, Racer]] = []
    for pick, said in ((_singles, "settings"), (_pairs, "pairs of settings")):
        variants: list[Variant] = []
        for one in pick(found, raced):
            variant = _applied(start, finding, one)
            if variant is not None and variant.source.contents not in entered:
                entered[variant.source.contents] = one
                variants.append(variant)
        progress(f"racing {len(variants)} {said}")
        for racer in race(start.source, variants, laboratory, looked.trace.seed, _goal(looked)):
            raced.append((entered[racer.variant.source.contents], racer))
            yield raced[-1]
            if racer.arrived and (raced[-1][0] is AS_IT_IS or climb(racer.variant)):
                return


def _singles(found: Sequence[Cause], raced: Sequence[tuple[Cause, Racer]]) -> list[Cause]:
    return list(found[:SINGLES])


def _pairs(found: Sequence[Cause], raced: Sequence[tuple[Cause, Racer]]) -> list[Cause]:
    """Edits of different settings, two at a time, as one: of each setting those that helped the most, else the likeliest.

    First those of which one helped, or that are likely together.
    """
    reached = {cause.title: racer.reached for cause, racer in raced if racer.reached > HELPED}
    chosen: list[Cause] = []
    for one in sorted(found, key=lambda one: (-reached.get(one.title, 0.0), -one.prior)):
        if [other.setting for other in chosen].count(one.setting) < OF_ONE_SETTING and len(chosen) < IN_PAIRS:
            chosen.append(one)
    pairs = [
        (one, other)
        for place, one in enumerate(chosen)
        for other in chosen[place + 1 :]
        if other.setting != one.setting
    ]
    pairs.sort(key=lambda pair: -max(reached.get(each.title, 0.0) for each in pair) - pair[0].prior * pair[1].prior)
    return [
        replace(
            one,
            setting=f"{one.setting}, {other.setting}",
            title=f"{one.title}; {other.title[:1].lower()}{other.title[1:]}",
            edits=(*one.edits, *other.edits),
            prior=one.prior * other.prior,
        )
        for one, other in pairs
    ]


def _learns(trace: Trace) -> bool:
    """Whether the first steps of a training show already that it learns."""
    known = score(trace)
    return known is not None and known.yardstick == "skill" and known.value >= LEARNED


def _evaluates(trace: Trace) -> bool:
    """Whether a program takes losses of what it does not train on."""
    network = trace.network
    return network is not None and any(call.phase == "eval" and is_loss_call(network, call) for call in network.calls)


def _goal(looked: Look) -> float:
    """The skill that is enough: a good part of what a simple learner comes to, and half of the way there at least."""
    known, reached = reference(looked.trace), score(looked.trace)
    if known is None or not known.is_worth or looked.lacks == "cause":
        return WORTH + max(reached.value if reached is not None else 0.0, 0.0)
    return max(ENOUGH * known.skill, (known.skill + max(reached.value, 0.0)) / 2 if reached is not None else 0.0)


def _finding(looked: Trace, symptoms: Sequence[Reading]) -> Finding:
    first = symptoms[0]
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
        site_of_training(looked),
        f"{SAID.get(first.name, 'the training learns nothing')}: " + "; ".join(reading.said for reading in symptoms),
        first.symptom,
        0.9,
        numbers,
    )


def site_of_training(trace: Trace) -> Site:
    """Where it is said of a training what it comes to."""
    events = sorted(
        (event for event in trace.loop if event.name in OF_TRAINING and event.site is not None),
        key=lambda event: OF_TRAINING.index(event.name),
    )
    return events[0].site if events and events[0].site is not None else Site(1, 1, 1, 1)


def _applied(start: Variant, finding: Finding, one: Cause) -> Variant | None:
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
        return apply(start, candidate)
    except EditError:
        return None


def _with_table(finding: Finding, found: Sequence[Cause], raced: Sequence[tuple[Cause, Racer]]) -> Finding:
    """The finding with its likeliest cause and what each edit came to: what the parts of a patch are worth."""
    if any(cause is AS_IT_IS for cause, _ in raced):
        finding = replace(finding, message=f"{finding.message}; begun with another seed it learns")
    likeliest = _likeliest(found, [(cause, racer) for cause, racer in raced if cause is not AS_IT_IS])
    if likeliest is None:
        return finding
    table: dict[str, Json] = {cause.title: round(racer.reached, 3) for cause, racer in raced}
    cause: dict[str, Json] = {"cause": likeliest.setting, "raced": table}
    return replace(finding, evidence={**finding.evidence, **cause})


def _likeliest(found: Sequence[Cause], raced: Sequence[tuple[Cause, Racer]]) -> Cause | None:
    """The cause whose edit came up the ladder, which ends a race, or came far enough at least; else the likeliest that helped."""
    arrived = [cause for cause, racer in raced if racer.arrived]
    if arrived:
        return arrived[-1]
    helped = [cause for cause, racer in raced if racer.reached > HELPED]
    return max(helped or found, key=lambda cause: cause.prior, default=None)
