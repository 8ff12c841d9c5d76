"""The static path (`dnnfix check`): the findings of one file by its source, without running it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from dnnfix import registry
from dnnfix.config import Settings
from dnnfix.detect.run_rules import detect
from dnnfix.errors import EditError
from dnnfix.index import Listed
from dnnfix.pipeline.old_world import elsewhere
from dnnfix.pipeline.remarks import cut_short, misread, unreadable, wanted
from dnnfix.records import Edit, Family, FileReport, Finding, FindingOutcome, FindingResult, Patch, PatchVerdict
from dnnfix.source.program import Source, once
from dnnfix.subject import Subject
from dnnfix.suppress import split
from dnnfix.template import FixTemplate

NOT_RUN = "the program was not run: `dnnfix suggest` does that"


def check_file(raw: bytes, path: str, settings: Settings, patches: bool = True) -> FileReport:
    """The static part alone: findings from the source, with unvalidated patches if `patches`.

    Raises `InputError` where the bytes cannot be analysed.
    """
    return check_source(Source.from_bytes(raw, path), settings, patches)


def check_source(
    source: Source, settings: Settings, patches: bool = True, before_each: Callable[[], None] = lambda: None
) -> FileReport:
    """The same of a program that was read already. `before_each` is called before each rule, and ends it by what it raises."""
    path = source.path
    listed = _of_source(registry.listed(settings.own_rules), settings)
    subject = Subject(source)
    active = {one.code: one.load() for one in listed if one.is_triggered(subject.words)}
    detection = detect(subject, active.values(), before_each)
    sorted_out = split(detection.findings, source.text, path, settings, {one.code for one in listed})
    kept = sorted_out.kept
    results: list[FindingResult] = []
    drafts: list[Patch] = []
    for finding in kept:
        allowed = patches and finding.code in active and settings.may_fix(finding.code, finding.rule)
        own = _drafts(finding, subject, active[finding.code], len(drafts)) if allowed else ()
        drafts.extend(own)
        results.append(FindingResult(finding, FindingOutcome.DECLINED, NOT_RUN, tuple(patch.id for patch in own)))
    results.extend(sorted_out.unused)
    results.extend(result for result in unreadable(source) if wanted(result.finding, source, settings))
    unchecked = (NOT_RUN, *cut_short(subject), *elsewhere(source), *misread(source), *detection.failures)
    return FileReport(path, tuple(results), tuple(drafts), unchecked=unchecked)


def unmigrated(raw: bytes, path: str, settings: Settings) -> Iterator[tuple[Finding, str]]:
    """What of an old program is still as it was, in the order of the source, with the reason why there is no patch, if there is none.

    Raises `InputError` where the bytes cannot be analysed.
    """
    from dnnfix.synthesize.candidates import propose

    subject = Subject(Source.from_bytes(raw, path))
    active = {t.code: t for t in selected(settings) if t.family is Family.VERSIONING and not t.needs_run}
    found = split(detect(subject, active.values()).findings, subject.source.text, path, settings).kept
    for finding in sorted(found, key=lambda finding: finding.site):
        proposals = propose(finding, subject, active[finding.code])
        yield finding, proposals.declined or proposals.failed


def selected(settings: Settings) -> tuple[type[FixTemplate], ...]:
    """The templates that the settings switch on."""
    listed = registry.listed(settings.own_rules)
    return tuple(one.load() for one in listed if settings.enabled(one.code, one.name, one.default, bool(one.silent)))


@lru_cache(maxsize=8)  # the same for most files of a scan
def _of_source(listed: tuple[Listed, ...], settings: Settings) -> tuple[Listed, ...]:
    """Those that the settings switch on for reading alone and that need no run."""
    return tuple(
        one
        for one in listed
        if not one.needs_run
        and settings.enabled(one.code, one.name, one.default or one.default_in_check, bool(one.silent))
    )


def _drafts(finding: Finding, subject: Subject, template: type[FixTemplate], start: int) -> tuple[Patch, ...]:
    """Unvalidated patches for a finding of the static path."""
    from dnnfix.synthesize.candidates import propose

    drafts: list[Patch] = []
    for candidate in propose(finding, subject, template).candidates:
        diff = _diff(subject.source, candidate.edits)
        if diff is not None:
            name = f"patch-{start + len(drafts) + 1}"
            drafts.append(Patch(name, candidate, diff, PatchVerdict.UNVALIDATED, rank=len(drafts)))
    return tuple(drafts)


@once  # a migration is the same patch for each of its findings
def _diff(source: Source, edits: tuple[Edit, ...]) -> str | None:
    """The diff that the edits make; `None` where they cannot be carried out."""
    from dnnfix.source.diff import program_diff
    from dnnfix.synthesize.candidates import edited

    try:
        return program_diff(source, edited(source, edits))
    except EditError:
        return None
