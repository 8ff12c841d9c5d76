"""Turns a finished search into its result: every finding with its outcome, and the patches, best first."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from dnnfix.records import (
    CRASH_CAUSE,
    MISLEADING_CODE,
    UNEXPLAINED_CODE,
    UNLEARNED_CODE,
    Ablation,
    Family,
    Finding,
    FindingOutcome,
    FindingResult,
    Json,
    Patch,
    PatchVerdict,
    Site,
    Status,
)
from dnnfix.run.advice import in_words
from dnnfix.source.diff import program_diff
from dnnfix.source.program import Source
from dnnfix.synthesize.candidates import Variant
from dnnfix.synthesize.lines import line_map
from dnnfix.synthesize.merit import certainty, merit, silent_along
from dnnfix.synthesize.partial import furthest_of
from dnnfix.synthesize.progress import LACKING
from dnnfix.synthesize.rivals import SHOWN
from dnnfix.synthesize.search_state import Search
from dnnfix.validate.curves import curves
from dnnfix.validate.evidence import OWN_FAULT, Evidence
from dnnfix.validate.ladder import Climb
from dnnfix.validate.learning import LEARNED
from dnnfix.validate.side_effects import side_effects

TOO_LATE = "the time of this file was used up"

UNREPAIRED = {
    UNEXPLAINED_CODE: "no small edit was proven to remove it",
    UNLEARNED_CODE: "none of the settings that were raced makes it learn",
    MISLEADING_CODE: "which data to hold back is for a person to say",
}
"""What is said of the engine's own findings where nothing came of them."""


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
    migrated: Source | None = None
    """The program brought up to date as far as the tables know, where no patch was accepted."""
    further: Source | None = None
    """The program that got furthest past the crash, where no patch was accepted since it then lacked what is no part of it: a file, a GPU."""
    search: Search | None = None
    """The search that it was drawn up from, which may go on with other proposals."""


def drawn_up(search: Search) -> Repair:
    ordered = sorted(search.accepted, key=lambda item: merit(*item), reverse=True)
    search.choices = sorted(search.choices, key=_order_of_choices)[:SHOWN]
    furthest = [search.partial] if search.partial is not None else []
    steps = {program.contents for variant, _ in furthest for program in (*variant.made_from, variant.source)}
    fallen = [item for item in search.climbs if item not in search.choices]
    rest = [item for item in fallen if not item[1].accepted and item[0].source.contents not in steps]
    rest.sort(key=lambda item: -len(item[1].evidence.findings) if item[1].only_unreached else 0)
    patches: list[Patch] = []
    proofs: dict[str, Evidence] = {}
    for variant, result in (*ordered, *furthest, *search.choices, *rest):
        patches.append(replace(_patch(search, variant, result), rank=len(patches)))
        if result.accepted:
            proofs[patches[-1].id] = result.evidence
    findings = {finding.id: finding for finding in search.original}
    further = [item for item in ordered[1:] if silent_along(item[1].evidence)]
    # what the best patches met on their way; other ways are alternatives
    for variant, _ in (*ordered[:1], *further[:1], *furthest):
        for finding in _settled(search, variant):
            findings.setdefault(finding.id, finding)
    harmless = [finding for finding in findings.values() if _hinders_nothing(finding, patches)]
    left = {patch.id: _left(search, item) for patch, item in zip(patches, (*ordered, *furthest), strict=False)}
    results = tuple(_result(search, finding, patches, left) for finding in findings.values() if finding not in harmless)
    errors = tuple(f"{name}: {reason}" for name, reason in search.edit_errors.items())
    notes = tuple(v.reason for _, result in ordered[:1] for v in result.evidence.verdicts if v.measured.get(OWN_FAULT))
    told = tuple(
        f"{finding.message}; it learns all the same, so that nothing is to be repaired" for finding in harmless
    )
    unsure = (*errors, *filter(None, [search.unsure]))
    return Repair(results, tuple(patches), proofs, unsure, (*notes, *told), _migrated(search), _further(search), search)


def _migrated(search: Search) -> Source | None:
    """The program with the most migrations that was run, where none was accepted."""
    run = [
        variant
        for variant, result in search.climbs
        if result.fell != "not run" and all(f.family is Family.VERSIONING for c in variant.applied for f in c.findings)
    ]
    if search.accepted or not run:
        return None
    return max(run, key=lambda variant: sum(len(candidate.findings) for candidate in variant.applied)).source


def _further(search: Search) -> Source | None:
    """The program of an attempt that got past the crash and came to lack something, where none was accepted."""
    lacking = [one for one in search.attempts if one.climb.evidence.after.outcome in LACKING and one.gets_past]
    if search.accepted:
        return None
    return furthest_of(lacking).variant.source if lacking else search.lacking


def _order_of_choices(item: tuple[Variant, Climb]) -> tuple[bool, float]:
    """What a rule explains comes before what a search found, and then what was likelier before any run."""
    variant = item[0]
    return any(step.template == UNEXPLAINED_CODE for step in variant.applied), -certainty(variant)


def _settled(search: Search, variant: Variant) -> tuple[Finding, ...]:
    """The findings that a variant repairs, at the lines of the original; one that takes several steps is where the first of them found it."""
    found: dict[str, Finding] = {}
    for applied, made_from in zip(variant.applied, variant.made_from, strict=True):
        for finding in applied.findings:
            found.setdefault(finding.id, at_original(search, made_from, finding))
    return tuple(found.values())


def at_original(search: Search, found_in: Source, finding: Finding) -> Finding:
    """A finding of a later program at the corresponding line of the original."""
    site = finding.site
    original, later = search.origin.files.get(site.path), found_in.files.get(site.path)
    if original is None or later is None:  # a module that no patch changes
        return finding
    lines = line_map(original.text, later.text)
    line = lines.get(site.line, site.line)
    moved = Site(line, site.column, line + site.end_line - site.line, site.end_column, site.path)
    return replace(finding, site=moved)


def _patch(search: Search, variant: Variant, result: Climb) -> Patch:
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
    elif result.fell == "not run" or result.only_unreached:
        verdict = PatchVerdict.UNVALIDATED
    else:
        verdict = PatchVerdict.REJECTED
    name = hashlib.sha256(diff.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    drawn = curves(result.evidence) if result.accepted else ()
    return Patch(
        f"patch-{name}",
        candidate,
        diff,
        verdict,
        result.evidence.verdicts,
        effects,
        curves=drawn,
        ablation=tuple(_ablation(search, variant)) if result.accepted else (),
    )


def _ablation(search: Search, variant: Variant) -> Iterator[Ablation]:
    """What came of a variant of several edits without one of them, as far as that was tried on the way."""
    tried = {_edits(other): result for other, result in search.climbs}
    own = _edits(variant)
    for candidate in variant.applied if len(own) > 1 else ():
        result = tried.get(own - {(candidate.template, candidate.title)})
        if result is None or result.fell == "not run":
            continue
        refusal = next((v for v in result.evidence.verdicts if v.status in (Status.FAIL, Status.INCONCLUSIVE)), None)
        left = ", ".join(dict.fromkeys(finding.code for finding in candidate.findings))
        reason = f"{refusal.validator}: {refusal.reason}" if refusal is not None else f"leaves {left}"
        yield Ablation(candidate.title, result.accepted, reason)


def _edits(variant: Variant) -> frozenset[tuple[str, str]]:
    return frozenset((candidate.template, candidate.title) for candidate in variant.applied)


def _hinders_nothing(finding: Finding, patches: list[Patch]) -> bool:
    """Whether a finding is of what only hinders training, and trials showed that the program learns as well with it."""
    own = [patch for patch in patches if any(_same(finding, one) for one in patch.candidate.findings)]
    return bool(own) and all(patch.candidate.only_hinders and _learns_as_well(patch) for patch in own)


def _learns_as_well(patch: Patch) -> bool:
    """Whether a patch was rejected as the program learns without it, or as it learns no better with it."""
    if patch.verdict is not PatchVerdict.REJECTED:
        return False
    of_training = next((v for v in patch.verdicts if v.validator == "learns" and "before" in v.measured), None)
    if of_training is None:
        return False
    before = of_training.measured["before"]
    return of_training.status is Status.FAIL or (isinstance(before, float) and before >= LEARNED)


def _left(search: Search, item: tuple[Variant, Climb]) -> frozenset[tuple[object, ...]]:
    """What is still found in a patched program, at the lines of the original."""
    variant, result = item
    found = (at_original(search, variant.source, one) for one in result.evidence.remaining)
    return frozenset(map(_place, found))


def _place(finding: Finding) -> tuple[object, ...]:
    return finding.kind, finding.message, finding.site.path, finding.site.line


def _result(
    search: Search, finding: Finding, patches: list[Patch], left: Mapping[str, frozenset[tuple[object, ...]]]
) -> FindingResult:
    """How a finding ended. Where rival explanations of one crash exist, the one whose patch was accepted was right.

    A patch settles what shares a cause with its own findings only where that is not found any more (`left`, by patch).
    """
    own = [p for p in patches if any(_same(finding, f) for f in p.candidate.findings)]
    settling = [p for p in own if _place(finding) not in left.get(p.id, ())]
    accepted = [p for p in settling if p.verdict is PatchVerdict.ACCEPTED]
    step = next((p for p in settling if p.verdict is PatchVerdict.PARTIAL), None)
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
    open_choice = next((p for p in own if p.verdict is PatchVerdict.CHOICE), None)
    if open_choice is not None and open_choice.refusal is not None:
        return FindingResult(finding, FindingOutcome.UNDECIDED, open_choice.refusal.reason, names)
    unproven = [p for p in own if p.verdict is PatchVerdict.UNVALIDATED]
    unreached = next((p for p in unproven if p.not_run), None)
    if unreached is not None:
        return FindingResult(finding, FindingOutcome.DECLINED, f"not validated: {unreached.not_run}", names)
    if unproven and len(unproven) == len(own):
        reason = f"not validated: {in_words(search.trace.outcome)}"
        if search.trace.outcome.says_something:
            reason = f"not validated: {TOO_LATE}"
        return FindingResult(finding, FindingOutcome.DECLINED, reason, names)
    refused = next((p.refusal for p in own if p.refusal is not None), None)
    if refused is not None:
        reason = f"{refused.validator}: {refused.reason}"
        return FindingResult(finding, FindingOutcome.REJECTED, reason, names)
    leaving = next((p for p in own if p not in settling), None)
    if leaving is not None:
        return FindingResult(finding, FindingOutcome.DECLINED, f"the patch leaves it: {leaving.candidate.title}", names)
    out_of_time = search.laboratory.out_of_time()
    otherwise = UNREPAIRED.get(finding.code, TOO_LATE if out_of_time else "fixes are switched off")
    reason = search.edit_errors.get(finding.id) or (proposals.declined if proposals else "") or otherwise
    return FindingResult(finding, FindingOutcome.DECLINED, reason, names)


def _rivals(finding: Finding, patch: Patch) -> bool:
    return finding.cause == CRASH_CAUSE and any(other.cause == CRASH_CAUSE for other in patch.candidate.findings)


def _same(finding: Finding, other: Finding) -> bool:
    """Whether two findings, one of them perhaps of an edited program, speak of the same fault."""
    if finding.cause not in ("", CRASH_CAUSE) and finding.cause == other.cause:
        return True
    one, another = finding.site, other.site
    return finding.kind == other.kind and (one.path, one.line) == (another.path, another.line)
