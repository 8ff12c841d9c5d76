"""The search for patches: candidates of every finding up the ladder, and then of the programs that got further.

A crash hides what comes after it. A candidate that removes one crash and meets another is no patch, but its program
is a new starting point; so the search goes on from there, best progress first, within bounds. Patches for findings
that do not hide one another are proven alone and then together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from dnnfix.errors import EditError
from dnnfix.records import UNLEARNED_CODE, UNLEARNED_RULE, Candidate, Family, Finding, Symptom, Trace
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.at_crash import Choice, search_at_crash
from dnnfix.synthesize.at_training import search_at_training
from dnnfix.synthesize.candidates import Variant, apply, propose
from dnnfix.synthesize.causes import Cause
from dnnfix.synthesize.lines import line_map
from dnnfix.synthesize.merit import merit
from dnnfix.synthesize.partial import Attempt, partial
from dnnfix.synthesize.progress import reached, same_crash
from dnnfix.synthesize.repairs import Repair, at_original, drawn_up
from dnnfix.synthesize.rivals import (
    MARGIN,
    SHOWN,
    UNLIKELY,
    accept_of_rule,
    choose,
    fits_only,
    is_clear,
    seek_rivals,
    weigh_rivals,
)
from dnnfix.synthesize.search_state import Search, Wishes
from dnnfix.template import FixTemplate
from dnnfix.validate.ladder import Climb, Laboratory
from dnnfix.validate.reading import Reading

MAX_DEPTH = 4
"""Faults in a row that hide one another; each costs a run."""

MAX_CLIMBS = 48
"""Candidates tried for one program: bounds the search where the budget of time does not."""

PER_FINDING = 6
"""Candidates tried for one finding: templates yield the likeliest first."""


def repair(
    source: Source,
    trace: Trace,
    laboratory: Laboratory,
    templates: Mapping[str, type[FixTemplate]],
    wishes: Wishes,
    progress: Callable[[str], None],
    at_crash: bool = True,
    at_training: Callable[[Finding], bool] | None = None,
    logged: tuple[Reading, ...] = (),
) -> Repair:
    """Find patches for a program, given the trace of its first run.

    `at_crash` says whether small edits are searched for at a crash for which no template has a patch, `at_training` whether
    the user wants findings about a training that learns nothing; without it none is examined.
    `logged` are the symptoms of a long run of the program, which are looked for when its training is.
    """
    search = Search(source, trace, laboratory, templates, wishes, progress, logged=logged, at_crash=at_crash)
    search.seen.add(source.contents)
    search.may_race = at_training is not None and trace.crash is None
    search.original = laboratory.findings(source, trace)
    _explore(search, Variant(source), trace, search.original)
    if search.trace.crash is not None and search.accepted:
        weigh_rivals(search)
    if at_crash and search.accepted:
        seek_rivals(search)
    elif at_crash:
        _try_small_edits(search)
    _combine(search)
    if at_training is not None and not search.choices and (search.trace.crash is None or not search.accepted):
        _race_settings(search, at_training)
    if not search.accepted:
        steps = [attempt for attempt in search.attempts if not fits_only(search, attempt.variant)]
        search.partial = partial(steps, search.laboratory)
    return drawn_up(search)


def _explore(search: Search, start: Variant, seen: Trace, found: tuple[Finding, ...]) -> None:
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
                if _is_part_of_patch(search, candidate_variant):
                    continue
                if search.may_race and _is_raced(search, candidate_variant):
                    search.left_to_race.append(candidate_variant)
                    continue
                if not runnable or len(search.climbs) >= MAX_CLIMBS or search.laboratory.out_of_time():
                    search.climbs.append((candidate_variant, search.unproven(candidate_variant)))
                    continue
                result = search.climb(candidate_variant)
                search.attempts.append(Attempt(candidate_variant, result, variant.source, trace))
                if result.accepted:
                    accept_of_rule(search, candidate_variant, result)
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


def _is_raced(search: Search, variant: Variant) -> bool:
    template = search.templates.get(variant.applied[-1].template)
    return template is not None and template.raced


def _is_part_of_patch(search: Search, variant: Variant) -> bool:
    """Whether a migration is a part of one that was accepted."""
    last = variant.applied[-1]
    if any(finding.family is not Family.VERSIONING for finding in last.findings):
        return False
    edits, before = set(last.edits), variant.applied[:-1]
    return any(patch.applied[:-1] == before and edits < set(patch.applied[-1].edits) for patch, _ in search.accepted)


def _try_small_edits(search: Search) -> None:
    """Where no rule has a patch for a crash, search for one; what comes up the ladder counts where nothing rivals it.

    It goes on from the furthest step that rules came to, where there is one.
    """
    if not search.may_search_at_crash():
        return
    step = partial(search.attempts, search.laboratory)
    start = Variant(search.origin) if step is None else step[0]
    trace = search.trace if step is None else step[1].evidence.after

    def onwards(variant: Variant, seen: Trace, score: float, ahead: float) -> bool:
        return _go_on_by_rules(search, variant, seen, is_clear(search, variant, score, ahead))

    found = search_at_crash(start, trace, search.laboratory, search.progress, onwards)
    search.lacking = found.lacking
    if (found.choices or search.accepted or search.choices) and step is None:
        search.original = (*search.original, *found.findings)
    held: list[tuple[Choice, Climb]] = []
    for choice in found.choices:
        if choice.variant.source.contents in search.seen or search.laboratory.out_of_time():
            continue
        search.seen.add(choice.variant.source.contents)
        if step is None:
            search.direct.add(choice.variant.source.contents)
        result = search.climb(choice.variant)
        if result.accepted:
            held.append((choice, result))
            if len(held) == SHOWN or held[0][0].score - choice.score >= MARGIN:
                break
    choose(search, held)


def _race_settings(search: Search, heard: Callable[[Finding], bool]) -> None:
    """Where training learns nothing, with the best patch in it where one was proven, race other settings up the ladder."""
    if search.laboratory.out_of_time():
        return
    start, trace = Variant(search.origin), search.trace
    if search.accepted:
        start, result = max(search.accepted, key=lambda item: merit(*item))
        trace = result.evidence.pairs[0].after if result.evidence.pairs else result.evidence.after
    may_edit = search.wishes.may_fix(UNLEARNED_CODE, UNLEARNED_RULE)
    others = search.original

    def climb(variant: Variant) -> bool:
        search.original = (*others, *variant.applied[-1].findings)
        search.seen.add(variant.source.contents)
        result = search.climb(variant)
        if result.accepted:
            search.accepted.append((variant, result))
        return result.accepted

    found, search.unsure = search_at_training(
        start,
        trace,
        search.laboratory,
        search.progress,
        heard,
        climb if may_edit else None,
        () if start.applied else _suspected(search),
        search.logged,
    )
    if start.applied:
        found = tuple(at_original(search, start.source, one) for one in found)
    if any(one.code == UNLEARNED_CODE for one in found) or not search.unsure:
        # What is said of the training as a whole stands for what was left to the race.
        left = [one for variant in search.left_to_race for one in variant.applied[-1].findings]
        others = tuple(one for one in others if one not in left)
    search.original = (*others, *found)


def _suspected(search: Search) -> list[Cause]:
    """What rules leave to a race; and what a few steps of training did not show to be better: beside another fault that may be so."""
    fallen = [variant for variant, result in search.climbs if result.fell == "learn"]
    return [
        Cause(one.template, one.title, one.fix_pattern, one.edits, one.prior * one.findings[0].confidence)
        for variant in (*search.left_to_race, *fallen)
        if len(variant.applied) == 1
        for one in variant.applied
    ]


def _go_on_by_rules(search: Search, variant: Variant, seen: Trace, likely: bool) -> bool:
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
            search.take_back(patch, result, UNLIKELY)
    return bool(new)


def _candidates(
    search: Search, variant: Variant, trace: Trace, findings: Iterable[Finding], most: int = PER_FINDING
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
        likeliest.setdefault(finding.kind, []).extend(proposals.candidates[:1])
        for candidate in proposals.candidates[:most]:
            _add(search, made, variant, (candidate,))
    for same in likeliest.values():
        if len(same) > 1:
            _add(search, made, variant, tuple(same))
    made.sort(key=lambda v: (-v.applied[-1].prior * v.applied[-1].findings[0].confidence, -len(v.applied)))
    return made


def _add(search: Search, made: list[Variant], variant: Variant, candidates: tuple[Candidate, ...]) -> None:
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
    return (
        result.fell in ("property", "learn") and not result.only_unreached and after.crash is None and len(findings) > 1
    )


def _settled_one(search: Search, trace: Trace, findings: tuple[Finding, ...], result: Climb) -> bool:
    """Whether a call that two faults make fail fails by the other one alone now: a library looks at one after the other."""
    after = result.evidence.after
    if trace.crash is None or after.crash is None or trace.crash.message == after.crash.message:
        return False
    own = {finding.kind for finding in result.evidence.findings}
    others = {finding.kind for finding in findings if finding.symptom is Symptom.CRASH} - own
    if not others:
        return False
    left = {finding.kind for finding in search.laboratory.findings(result.evidence.source_after, after)}
    return bool(others & left) and not own & left


def _combine(search: Search) -> None:
    """Prove together the best patches of findings that have nothing to do with one another, then take out what is idle.

    Migrations to which the run did not come go along: they follow from tables, and what did not run is named.
    """
    if search.trace.crash is not None or search.laboratory.out_of_time():
        return
    chosen: list[Candidate] = []
    covered: set[str] = set()
    members = 0
    ordered = sorted(search.accepted, key=lambda item: merit(*item), reverse=True)
    for variant, result in (*ordered, *search.unreached_migrations()):
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


def _prove(search: Search, candidates: list[Candidate]) -> tuple[Variant, Climb] | None:
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
    result = search.climb(combined)
    return (combined, result) if result.accepted else None


def _settles(smaller: Climb, larger: Climb) -> bool:
    """Whether a combination without one of its members leaves no more findings than with it."""
    return len(smaller.evidence.remaining) <= len(larger.evidence.remaining)
