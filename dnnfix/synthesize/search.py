"""The search for patches: candidates of every finding up the ladder, and onwards from programs that got further.

A crash hides what comes after it. A candidate that removes one crash and meets another is no patch, but its program is
a new starting point; so the search goes on from there, best progress first, within bounds. Patches for findings that
do not hide one another are proven alone and then together.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from dnnfix.errors import EditError
from dnnfix.records import (
    CRASH_CAUSE,
    UNEXPLAINED_CODE,
    UNEXPLAINED_RULE,
    Candidate,
    Family,
    Finding,
    FindingOutcome,
    FindingResult,
    Json,
    Patch,
    PatchVerdict,
    Site,
    Status,
    Symptom,
    Trace,
    Verdict,
)
from dnnfix.source.diff import program_diff
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.at_crash import Choice, search_at_crash
from dnnfix.synthesize.candidates import Proposals, Variant, apply, propose
from dnnfix.synthesize.lines import line_map
from dnnfix.synthesize.partial import Attempt, partial
from dnnfix.synthesize.progress import reached, same_crash
from dnnfix.template import FixTemplate
from dnnfix.validate.behaviour import behaviour
from dnnfix.validate.evidence import OWN_FAULT, Evidence
from dnnfix.validate.ladder import Climb, Laboratory, climb
from dnnfix.validate.side_effects import side_effects

MAX_DEPTH = 4
"""Faults in a row that hide one another; each costs a run."""

MARGIN = 1.05
"""How much likelier (in logarithms) a small edit has to be than another that holds and makes the program do something else.

The least at which, on programs that the weights were not fitted on, no more than one in fifty of the edits that are ahead by it
is wrong where another one is right (`tools/fit_prior.py fit --check`).
"""

LIKELY = -0.75
"""Score from which on a small edit that nothing rivals is accepted; below it is a choice.

Of 22 that were accepted at -1.3 and more in 126 programs not seen before 16 were right; 12 of these have more than this, and of
the wrong ones one (a conversion that no message asks for, which is less likely since).
"""

RIVALLING = -1.5
"""Score from which on a small edit rivals a rule that explains the same crash otherwise."""

RIVAL = 1.5
"""How many times likelier a rule's patch has to be than another rule's that explains the same crash otherwise."""

GUESSED = 0.25
"""How likely a rule must hold its patch to be for it to be accepted: a number in place of a name that is computed is a guess."""

UNLIKELY = "it removes the fault, and it is too unlikely a repair to be taken for the one that was meant"

FITS = "it removes the fault by an axis or a size that fits, and others may fit elsewhere"

OTHERWISE = "the program does something else under each of several edits that remove the crash"

SHOWN = 3
"""Patches that a person may choose from, the likeliest."""

MAX_CLIMBS = 48
"""Candidates tried for one program: bounds the search where the budget of time does not."""

PER_FINDING = 6
"""Candidates tried for one finding: templates yield the likeliest first."""


class Wishes(Protocol):
    """The settings that the search reads."""

    def may_fix(self, code: str, name: str) -> bool:
        """Whether patches of this template are wanted."""
        ...


@dataclass(frozen=True, slots=True)
class Repair:
    """What the search found: every finding with its end, and the patches, best first."""

    results: tuple[FindingResult, ...]
    patches: tuple[Patch, ...]
    proofs: Mapping[str, Evidence] = field(default_factory=dict)
    """The evidence behind each accepted patch, by the patch's id."""
    unchecked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What is wrong with the repaired program and not the patch's doing."""


@dataclass
class _Search:
    origin: Source
    trace: Trace
    laboratory: Laboratory
    templates: Mapping[str, type[FixTemplate]]
    wishes: Wishes
    progress: Callable[[str], None]
    original: tuple[Finding, ...] = ()
    climbs: list[tuple[Variant, Climb]] = field(default_factory=list)
    accepted: list[tuple[Variant, Climb]] = field(default_factory=list)
    choices: list[tuple[Variant, Climb]] = field(default_factory=list)
    """Small edits that came up the ladder, of which none can be told to be the one that was meant."""
    attempts: list[Attempt] = field(default_factory=list)
    """What templates proposed and what came of it."""
    partial: tuple[Variant, Climb] | None = None
    """The furthest step towards a program that runs, where no patch reaches that."""
    proposals: dict[str, Proposals] = field(default_factory=dict)
    seen: set[tuple[bytes, ...]] = field(default_factory=set)
    direct: set[tuple[bytes, ...]] = field(default_factory=set)
    """Programs whose edits all speak of the original's text, so that they can be joined."""
    edit_errors: dict[str, str] = field(default_factory=dict)


def repair(
    source: Source,
    trace: Trace,
    laboratory: Laboratory,
    templates: Mapping[str, type[FixTemplate]],
    wishes: Wishes,
    progress: Callable[[str], None],
    at_crash: bool = True,
) -> Repair:
    """Find patches for a program, given the trace of its first run.

    `at_crash` says whether small edits are searched for at a crash for which no template has a patch.
    """
    search = _Search(source, trace, laboratory, templates, wishes, progress)
    search.seen.add(source.contents)
    search.original = laboratory.findings(source, trace)
    _explore(search, Variant(source), trace, search.original)
    if search.trace.crash is not None and search.accepted:
        _weigh_rivals(search)
    if at_crash and search.accepted:
        _seek_rivals(search)
    elif at_crash:
        _try_small_edits(search)
    _combine(search)
    if not search.accepted:
        steps = [attempt for attempt in search.attempts if not _fits_only(search, attempt.variant)]
        search.partial = partial(steps, search.laboratory)
    return _report(search)


def _explore(search: _Search, start: Variant, seen: Trace, found: tuple[Finding, ...]) -> None:
    """Climb with the candidates of each finding of a program, then of the findings behind those that got further."""
    frontier: list[tuple[Variant, Trace, tuple[Finding, ...]]] = [(start, seen, found)]
    depth = 0
    while frontier and depth < MAX_DEPTH:
        following: list[tuple[Variant, Trace, tuple[Finding, ...]]] = []
        for variant, trace, findings in frontier:
            runnable = trace.outcome.says_something
            for candidate_variant in _candidates(search, variant, trace, findings):
                if depth == 0 and not start.applied:
                    search.direct.add(candidate_variant.source.contents)
                if not runnable or len(search.climbs) >= MAX_CLIMBS or search.laboratory.out_of_time():
                    search.climbs.append((candidate_variant, _unproven(search, candidate_variant)))
                    continue
                result = _climb(search, candidate_variant)
                search.attempts.append(Attempt(candidate_variant, result, variant.source, trace))
                if result.accepted and _least_likely(candidate_variant) < GUESSED:
                    _take_back(search, candidate_variant, result, UNLIKELY)
                elif result.accepted and _fits_only(search, candidate_variant):
                    _take_back(search, candidate_variant, result, FITS)
                elif result.accepted:
                    search.accepted.append((candidate_variant, result))
                if _got_further(variant.source, trace, findings, result) or _settled_one(
                    search, trace, findings, result
                ):
                    remaining = result.evidence.remaining or search.laboratory.findings(
                        candidate_variant.source, result.evidence.after
                    )
                    following.append((candidate_variant, result.evidence.after, remaining))
        following.sort(key=lambda item: -item[0].applied[-1].prior)
        frontier = following[:3]
        depth += 1


def _try_small_edits(search: _Search) -> None:
    """Where no rule has a patch for a crash, search for one; what comes up the ladder counts where nothing rivals it.

    It goes on from the furthest step that rules came to, where there is one.
    """
    if not _may_search(search):
        return
    step = partial(search.attempts, search.laboratory)
    start = Variant(search.origin) if step is None else step[0]
    trace = search.trace if step is None else step[1].evidence.after

    def onwards(variant: Variant, seen: Trace, score: float, ahead: float) -> bool:
        return _go_on_by_rules(
            search, variant, seen, score >= LIKELY and ahead >= MARGIN and not _fits_only(search, variant)
        )

    found = search_at_crash(start, trace, search.laboratory, search.progress, onwards)
    if (found.choices or search.accepted or search.choices) and step is None:
        search.original = (*search.original, *found.findings)
    held: list[tuple[Choice, Climb]] = []
    for choice in found.choices:
        if choice.variant.source.contents in search.seen or search.laboratory.out_of_time():
            continue
        search.seen.add(choice.variant.source.contents)
        if step is None:
            search.direct.add(choice.variant.source.contents)
        result = _climb(search, choice.variant)
        if result.accepted:
            held.append((choice, result))
            if len(held) == SHOWN or held[0][0].score - choice.score >= MARGIN:
                break
    _choose(search, held)


def _go_on_by_rules(search: _Search, variant: Variant, seen: Trace, likely: bool) -> bool:
    """From a small edit that moved the crash go on with what rules say of the next one; tells whether a patch came of it.

    Where the edit is not `likely`, or another one moves the crash that is nearly as likely, that is a choice.
    """
    if search.laboratory.out_of_time() or seen.crash is None:
        return False
    known, tried = len(search.accepted), len(search.attempts)
    _explore(search, variant, seen, search.laboratory.findings(variant.source, seen))
    del search.attempts[tried:]  # what a small edit is a part of is no step that is offered by itself
    new = search.accepted[known:]
    if not likely:
        for patch, result in new:
            search.accepted.remove((patch, result))
            _take_back(search, patch, result, UNLIKELY)
    return bool(new)


def _choose(search: _Search, held: list[tuple[Choice, Climb]]) -> None:
    """Of the small edits that came up the ladder accept the likeliest, where nothing rivals it; the others are choices."""
    if not held:
        return
    best = held[0][0]
    if search.choices or any(best.score - choice.score < MARGIN for choice, _ in held[1:]):
        refused, reason = held, OTHERWISE
    elif best.score < LIKELY:
        refused, reason = held, UNLIKELY
    elif _fits_only(search, best.variant):
        refused, reason = held, FITS
    else:
        refused, reason = held[1:], "another small edit is likelier"
        search.accepted.append((best.variant, held[0][1]))
    for choice, result in refused:
        _take_back(search, choice.variant, result, reason)


def _fits_only(search: _Search, variant: Variant) -> bool:
    """Whether a part of a patch for a crash makes two things fit that did not, and nothing tells which of them was meant."""
    return search.trace.crash is not None and any(step.at_either_end for step in variant.applied)


def _weigh_rivals(search: _Search) -> None:
    """Where rules explain a crash in several ways, under whose patches the program does something else, accept the one that is far likelier."""
    accepted = sorted(search.accepted, key=lambda item: _merit(*item), reverse=True)
    best = accepted[0]
    start = _before_choices(best[0])
    if start is None:
        return
    settled = _ids(best)
    rivals = [
        other
        for other in (*accepted[1:], *search.choices)
        if settled.isdisjoint(_ids(other))
        and RIVAL * _certainty(other[0]) > _certainty(best[0])
        and _explains_otherwise(other, best, start.source)
    ]
    if rivals:
        search.accepted.clear()
        for item in accepted:
            if item is best or item in rivals:
                _take_back(search, *item, OTHERWISE)


def _seek_rivals(search: _Search) -> None:
    """Where a small edit removes a crash as well, of which a rule has another patch, neither can be told to be the one that was meant."""
    best = max(search.accepted, key=lambda item: _merit(*item))
    start = _before_choices(best[0])
    if start is None or not _may_search(search):
        return
    trace = search.laboratory.observe(start.source, search.trace.seed)
    found = search_at_crash(start, trace, search.laboratory, search.progress, depth=1)
    accepted = {variant.source.contents for variant, _ in search.accepted}
    for choice in found.choices:
        written = choice.variant.source.contents
        if choice.score < RIVALLING or written in accepted or search.laboratory.out_of_time():
            return
        if written in search.seen:
            continue
        rival = (choice.variant, _climb(search, choice.variant))
        if not rival[1].accepted:
            continue
        if _explains_otherwise(rival, best, start.source):
            for item in (*search.accepted, rival):
                _take_back(search, *item, OTHERWISE)
            search.accepted.clear()
        return


def _before_choices(variant: Variant) -> Variant | None:
    """What a patch makes of the program before it does more than follow the versions of libraries; `None` where it does no more.

    That has no rivals: it is written in a table, and what the program did before is known.
    """
    for place, step in enumerate(variant.applied):
        if any(finding.family is not Family.VERSIONING for finding in step.findings):
            return Variant(variant.made_from[place], variant.applied[:place], variant.made_from[:place])
    return None


def _explains_otherwise(one: tuple[Variant, Climb], other: tuple[Variant, Climb], start: Source) -> bool:
    """Whether of two patches each writes something else than the other, and under each the program does something else."""
    known = _lines(start)
    if not (_lines(one[0].source) - known).isdisjoint(_lines(other[0].source) - known):
        return False
    doing = behaviour(other[1].evidence.after)
    return not behaviour(one[1].evidence.after).comes_to_the_same(doing)


def _lines(source: Source) -> set[tuple[str, str]]:
    return {(path, line.strip()) for path, file in source.files.items() for line in file.text.splitlines()}


def _may_search(search: _Search) -> bool:
    return search.trace.crash is not None and search.wishes.may_fix(UNEXPLAINED_CODE, UNEXPLAINED_RULE)


def _ids(item: tuple[Variant, Climb]) -> set[str]:
    return {finding.id for finding in item[1].evidence.findings}


def _take_back(search: _Search, variant: Variant, result: Climb, reason: str) -> None:
    """Make a choice of a patch that came up the ladder."""
    verdict = Verdict("unambiguous", "harmless", Status.INCONCLUSIVE, reason)
    evidence = replace(result.evidence, verdicts=(*result.evidence.verdicts, verdict))
    taken_back = (variant, Climb(evidence, fell="harmless"))
    search.climbs[search.climbs.index((variant, result))] = taken_back
    search.choices.append(taken_back)


def _least_likely(variant: Variant) -> float:
    """How likely the least likely part of a patch was held to be before it was run."""
    return min(_likelihoods(variant))


def _candidates(
    search: _Search, variant: Variant, trace: Trace, findings: Iterable[Finding], most: int = PER_FINDING
) -> list[Variant]:
    """The variants one candidate away, likeliest first; text that was seen already is left out.

    Where one fault stands at several places, repairing all of them at once is a candidate too.
    """
    subject = Subject(variant.source, trace)
    made: list[Variant] = []
    likeliest: dict[str, list[Candidate]] = {}
    for finding in findings:
        template = search.templates.get(finding.code)
        if template is None or not search.wishes.may_fix(finding.code, finding.rule):
            continue
        proposals = propose(finding, subject, template)
        search.proposals.setdefault(finding.id, proposals)
        likeliest.setdefault(finding.code, []).extend(proposals.candidates[:1])
        for candidate in proposals.candidates[:most]:
            _add(search, made, variant, (candidate,))
    for same in likeliest.values():
        if len(same) > 1:
            _add(search, made, variant, tuple(same))
    made.sort(key=lambda v: (-v.applied[-1].prior * v.applied[-1].findings[0].confidence, -len(v.applied)))
    return made


def _add(search: _Search, made: list[Variant], variant: Variant, candidates: tuple[Candidate, ...]) -> None:
    """Add the variant with the candidates applied in one pass, unless its text was seen."""
    try:
        changed = apply(variant, *candidates)
    except EditError as error:
        if len(candidates) == 1:
            search.edit_errors[candidates[0].findings[0].id] = str(error)
        return
    if changed.source.contents not in search.seen:
        search.seen.add(changed.source.contents)
        made.append(changed)


def _climb(search: _Search, variant: Variant) -> Climb:
    search.progress(f"trying: {variant.applied[-1].title}")
    result = climb(_evidence(search, variant), search.laboratory)
    search.climbs.append((variant, result))
    return result


def _unproven(search: _Search, variant: Variant) -> Climb:
    return Climb(_evidence(search, variant), fell="not run")


def _evidence(search: _Search, variant: Variant) -> Evidence:
    """What is known of a variant before it is run: `after` is the original's trace until the `run` rung replaces it."""
    return Evidence(
        applied=variant.applied,
        source_before=search.origin,
        source_after=variant.source,
        before=search.trace,
        after=search.trace,
        original=search.original,
    )


def _got_further(made_from: Source, trace: Trace, findings: tuple[Finding, ...], result: Climb) -> bool:
    """Whether the candidate's program is a better place to go on from than the one it was made from."""
    after = result.evidence.after
    if not after.outcome.says_something:
        return False
    if result.accepted:
        return trace.crash is not None
    if trace.crash is not None:
        if after.crash is None:
            return True
        lines = line_map(made_from.text, result.evidence.source_after.text)  # an edit may add lines or take some away
        return reached(after, lines) > reached(trace) and not same_crash(trace, after, lines)
    return result.fell in ("property", "learn") and after.crash is None and len(findings) > 1


def _settled_one(search: _Search, trace: Trace, findings: tuple[Finding, ...], result: Climb) -> bool:
    """Whether a call that two faults make fail fails by the other one alone now: a library looks at one after the other."""
    after = result.evidence.after
    if trace.crash is None or after.crash is None or trace.crash.message == after.crash.message:
        return False
    own = {finding.code for finding in result.evidence.findings}
    others = {finding.code for finding in findings if finding.symptom is Symptom.CRASH} - own
    if not others:
        return False
    left = {finding.code for finding in search.laboratory.findings(result.evidence.source_after, after)}
    return bool(others & left) and not own & left


def _combine(search: _Search) -> None:
    """Prove together the best patches of findings that have nothing to do with one another, then take out what is idle."""
    if search.trace.crash is not None or search.laboratory.out_of_time():
        return
    chosen: list[Candidate] = []
    covered: set[str] = set()
    members = 0
    for variant, result in sorted(search.accepted, key=lambda item: _merit(*item), reverse=True):
        settled = {finding.cause or finding.id for finding in result.evidence.findings}
        if variant.source.contents in search.direct and not settled & covered:
            chosen.extend(variant.applied)
            covered |= settled
            members += 1
    if members < 2:
        return
    combined = _prove(search, chosen)
    if combined is None:
        return
    for candidate in chosen:
        fewer = [other for other in combined[0].applied if other is not candidate]
        if len(fewer) < len(combined[0].applied) and fewer:
            smaller = _prove(search, fewer)
            if smaller is not None and _settles(smaller[1], combined[1]):
                combined = smaller
    if combined not in search.accepted:
        search.accepted.append(combined)


def _prove(search: _Search, candidates: list[Candidate]) -> tuple[Variant, Climb] | None:
    """The original with all the candidates, if that comes up the ladder."""
    if search.laboratory.out_of_time():
        return None
    try:
        combined = apply(Variant(search.origin), *candidates)
    except EditError:
        return None
    for known in search.accepted:
        if known[0].source.contents == combined.source.contents:
            return known
    if combined.source.contents in search.seen:
        return None
    search.seen.add(combined.source.contents)
    result = _climb(search, combined)
    return (combined, result) if result.accepted else None


def _settles(smaller: Climb, larger: Climb) -> bool:
    """Whether a combination without one of its members leaves no more findings than with it."""
    return len(smaller.evidence.remaining) <= len(larger.evidence.remaining)


def _merit(variant: Variant, result: Climb) -> tuple[float, ...]:
    """Ranks accepted patches: no other matter, faults left, faults settled, confidence and prior, measured skill, smallness.

    A program that crashes is first of all to run; a patch that repairs a silent fault along with that comes after the one
    that does not. Only faults of the original count as settled, and rival explanations of
    one crash as one: a chain of repairs meets each of them again under another line, and would else outrank one patch
    that mends them all.
    """
    original = {finding.id for finding in result.evidence.original}
    settled = len({f.cause or f.id for f in result.evidence.findings if f.id in original})
    left = sum(finding.symptom.value != "none-observed" for finding in result.evidence.remaining)
    skill = next((step.skill for step in reversed(result.evidence.after.steps) if step.skill is not None), 0.0)
    change = len(program_diff(result.evidence.source_before, variant.source))
    return (
        -_silent_along(result.evidence),
        -float(left),
        float(settled),
        round(_certainty(variant), 3),
        round(skill, 1),
        -float(change),
    )


def _certainty(variant: Variant) -> float:
    """How likely a patch was held to be before any run: the product over its parts."""
    return math.prod(_likelihoods(variant))


def _likelihoods(variant: Variant) -> list[float]:
    return [candidate.prior * candidate.findings[0].confidence for candidate in variant.applied]


def _silent_along(evidence: Evidence) -> float:
    """How many silent faults a patch repairs along with a crash; a migration along with another is no such."""
    if evidence.before.crash is None or not any(_of_the_crash(finding) for finding in evidence.findings):
        return 0.0
    return float(sum(not _of_the_crash(finding) for finding in evidence.findings))


def _of_the_crash(finding: Finding) -> bool:
    return finding.symptom is Symptom.CRASH or finding.family is Family.VERSIONING


def _report(search: _Search) -> Repair:
    ordered = sorted(search.accepted, key=lambda item: _merit(*item), reverse=True)
    search.choices = sorted(search.choices, key=_order_of_choices)[:SHOWN]
    furthest = [search.partial] if search.partial is not None else []
    steps = {program.contents for variant, _ in furthest for program in (*variant.made_from, variant.source)}
    fallen = [item for item in search.climbs if item not in search.choices]
    rest = [item for item in fallen if not item[1].accepted and item[0].source.contents not in steps]
    patches: list[Patch] = []
    proofs: dict[str, Evidence] = {}
    for variant, result in (*ordered, *furthest, *search.choices, *rest):
        patches.append(replace(_patch(search, variant, result), rank=len(patches)))
        if result.accepted:
            proofs[patches[-1].id] = result.evidence
    findings = {finding.id: finding for finding in search.original}
    further = [item for item in ordered[1:] if _silent_along(item[1].evidence)]
    # what the best patches met on their way; other ways are alternatives
    for variant, _ in (*ordered[:1], *further[:1], *furthest):
        for finding in _settled(search, variant):
            findings.setdefault(finding.id, finding)
    results = tuple(_result(search, finding, patches) for finding in findings.values())
    errors = tuple(f"{name}: {reason}" for name, reason in search.edit_errors.items())
    notes = tuple(v.reason for _, result in ordered[:1] for v in result.evidence.verdicts if v.measured.get(OWN_FAULT))
    return Repair(results, tuple(patches), proofs, errors, notes)


def _order_of_choices(item: tuple[Variant, Climb]) -> tuple[bool, float]:
    """What a rule explains comes before what a search found, and then what was likelier before any run."""
    variant = item[0]
    return any(step.template == UNEXPLAINED_CODE for step in variant.applied), -_certainty(variant)


def _settled(search: _Search, variant: Variant) -> tuple[Finding, ...]:
    """The findings that a variant repairs, at the lines of the original."""
    pairs = zip(variant.applied, variant.made_from, strict=True)
    return tuple(_moved(search, made_from, finding) for applied, made_from in pairs for finding in applied.findings)


def _moved(search: _Search, found_in: Source, finding: Finding) -> Finding:
    """A finding of a later program at the line of the original that it stands for."""
    site = finding.site
    original, later = search.origin.files.get(site.path), found_in.files.get(site.path)
    if original is None or later is None:  # a module that no patch changes
        return finding
    lines = line_map(original.text, later.text)
    line = lines.get(site.line, site.line)
    moved = Site(line, site.column, line + site.end_line - site.line, site.end_column, site.path)
    return replace(finding, site=moved)


def _patch(search: _Search, variant: Variant, result: Climb) -> Patch:
    diff = program_diff(search.origin, variant.source)
    candidate = variant.applied[-1]
    if len(variant.applied) > 1:
        title = "; ".join(applied.title for applied in variant.applied)
        worst = max((a.applicability for a in variant.applied), key=["safe", "unsafe", "display-only"].index)
        candidate = replace(candidate, findings=_settled(search, variant), title=title, applicability=worst)
    effects: Mapping[str, Json] = side_effects(result.evidence) if result.accepted else {}
    if result.accepted:
        verdict = PatchVerdict.ACCEPTED
    elif search.partial is not None and variant is search.partial[0]:
        verdict = PatchVerdict.PARTIAL
    elif (variant, result) in search.choices:
        verdict = PatchVerdict.CHOICE
    elif result.fell == "not run":
        verdict = PatchVerdict.UNVALIDATED
    else:
        verdict = PatchVerdict.REJECTED
    name = hashlib.sha256(diff.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return Patch(f"patch-{name}", candidate, diff, verdict, result.evidence.verdicts, effects)


def _result(search: _Search, finding: Finding, patches: list[Patch]) -> FindingResult:
    """How a finding ended. Where rival explanations of one crash exist, the one whose patch was accepted was right."""
    own = [p for p in patches if any(_same(finding, f) for f in p.candidate.findings)]
    accepted = [p for p in own if p.verdict is PatchVerdict.ACCEPTED]
    step = next((p for p in own if p.verdict is PatchVerdict.PARTIAL), None)
    names = tuple(patch.id for patch in (*accepted, *(p for p in own if p not in accepted)))
    if accepted:
        return FindingResult(finding, FindingOutcome.REPAIRED, accepted[0].candidate.title, names)
    if step is not None:
        return FindingResult(finding, FindingOutcome.PARTIAL, f"removes this fault; {step.remains}", names)
    rival = next((p for p in patches if p.verdict is PatchVerdict.ACCEPTED and _rivals(finding, p)), None)
    if rival is not None:
        reason = f"another explanation of the crash was proven: {rival.candidate.template}"
        return FindingResult(finding, FindingOutcome.REJECTED, reason, names)
    proposals = search.proposals.get(finding.id)
    if proposals is not None and proposals.failed:
        return FindingResult(finding, FindingOutcome.FAILED, f"synthesize: {proposals.failed}", names)
    unproven = [p for p in own if p.verdict is PatchVerdict.UNVALIDATED]
    if unproven and len(unproven) == len(own):
        reason = f"not validated: the run ended with {search.trace.outcome.value}"
        if search.trace.outcome.says_something:
            reason = "not validated: the time of this file was used up"
        return FindingResult(finding, FindingOutcome.DECLINED, reason, names)
    open_choice = next((p for p in own if p.verdict is PatchVerdict.CHOICE), None)
    if open_choice is not None and open_choice.refusal is not None:
        return FindingResult(finding, FindingOutcome.UNDECIDED, open_choice.refusal.reason, names)
    refused = next((p.refusal for p in own if p.refusal is not None), None)
    if refused is not None:
        reason = f"{refused.validator}: {refused.reason}"
        return FindingResult(finding, FindingOutcome.REJECTED, reason, names)
    otherwise = (
        "no small edit was proven to remove it" if finding.code == UNEXPLAINED_CODE else "fixes are switched off"
    )
    reason = search.edit_errors.get(finding.id) or (proposals.declined if proposals else "") or otherwise
    return FindingResult(finding, FindingOutcome.DECLINED, reason, names)


def _rivals(finding: Finding, patch: Patch) -> bool:
    return finding.cause == CRASH_CAUSE and any(other.cause == CRASH_CAUSE for other in patch.candidate.findings)


def _same(finding: Finding, other: Finding) -> bool:
    """Whether two findings, one of them perhaps of an edited program, speak of the same fault."""
    if finding.cause not in ("", CRASH_CAUSE) and finding.cause == other.cause:
        return True
    one, another = finding.site, other.site
    return finding.code == other.code and (one.path, one.line) == (another.path, another.line)
