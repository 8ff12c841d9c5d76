"""The pipeline: observe, detect, synthesize, validate, rank, emit; each arrow from records to records.

Reads top to bottom: `check_file` is the static path and `suggest_file` the whole. Neither prints, and neither raises
for what is wrong with the user's program.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

from dnnfix import registry
from dnnfix.config import Settings
from dnnfix.detect.catalogue import Detection, detect, gate
from dnnfix.errors import EditError
from dnnfix.records import (
    Candidate,
    FileReport,
    Finding,
    FindingOutcome,
    FindingResult,
    Patch,
    PatchVerdict,
    Trace,
)
from dnnfix.source.diff import unified_diff
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.suppress import split
from dnnfix.synthesize.candidates import Variant, apply, propose
from dnnfix.synthesize.search import Repair, repair
from dnnfix.template import FixTemplate

Progress = Callable[[str], None]

WORD = re.compile(rb"[A-Za-z_]\w*")

NOT_RUN = "the program was not run: `dnnfix suggest` does that"


def check_file(raw: bytes, path: str, settings: Settings, patches: bool = True) -> FileReport:
    """The static part alone: findings from the source, with unvalidated patches if `patches`.

    Raises `InputError` where the bytes cannot be analysed.
    """
    active = gate(selected(settings), frozenset(word.decode("ascii", "ignore") for word in WORD.findall(raw)))
    active = [template for template in active if not template.needs_run]
    if not active:
        return FileReport(path, unchecked=(NOT_RUN,))
    source = Source.from_bytes(raw, path)
    subject = Subject(source)
    detection = detect(subject, active)
    sorted_out = split(detection.findings, source.text, path, settings, {template.code for template in active})
    kept = sorted_out.kept
    results: list[FindingResult] = []
    drafts: list[Patch] = []
    for finding in kept:
        own = _drafts(finding, subject, settings, len(drafts)) if patches else ()
        drafts.extend(own)
        results.append(FindingResult(finding, FindingOutcome.DECLINED, NOT_RUN, tuple(patch.id for patch in own)))
    results.extend(sorted_out.unused)
    return FileReport(path, tuple(results), tuple(drafts), unchecked=(NOT_RUN, *detection.failures))


def suggest_file(raw: bytes, path: str, settings: Settings, progress: Progress) -> FileReport:
    """The whole pipeline on one program: run it, find its faults, and prove patches for them.

    Raises `InputError` where the bytes cannot be analysed, `SandboxError` and `InterpreterError` where nothing can run.
    """
    from dnnfix.run.runner import Runner
    from dnnfix.validate.laboratory import TrialLaboratory

    started = time.monotonic()
    source = Source.from_bytes(raw, path)
    templates = selected(settings)
    failures: list[str] = []

    def findings_of(program: Source, trace: Trace | None) -> tuple[Finding, ...]:
        detection: Detection = detect(Subject(program, trace), templates)
        failures.extend(detection.failures)
        return split(detection.findings, program.text, path, settings).kept

    progress("starting the interpreter")
    with Runner(
        interpreter=Path(settings.python),
        tier=settings.tier,
        trust=settings.trust,
        companions=Path(path).resolve().parent if path != "-" else None,
        framework=_framework(source),
    ) as runner:
        deadline = started + settings.budget
        laboratory = TrialLaboratory(runner, path, findings_of, deadline, settings.test_command)
        progress("running the program")
        trace = laboratory.observe(source, settings.seed)
        outcome = repair(source, trace, laboratory, {t.code: t for t in templates}, settings, progress)
        patches = tuple(
            _numbered(patch, rank) for rank, patch in enumerate(outcome.patches)
        )
        return FileReport(
            path,
            findings=outcome.results,
            patches=patches,
            runs=tuple(laboratory.records),
            unchecked=_unchecked(trace, outcome, failures),
            sandbox=runner.tier.value,
            notes=trace.notes,
        )


def selected(settings: Settings) -> tuple[type[FixTemplate], ...]:
    """The templates that the settings switch on."""
    return tuple(t for t in registry.templates(settings.templates) if settings.enabled(t.code, t.name, t.default))


def _framework(source: Source) -> str | None:
    for name in ("tensorflow", "keras", "torch"):
        if name in source.frameworks:
            return name
    return None


def _drafts(finding: Finding, subject: Subject, settings: Settings, start: int) -> tuple[Patch, ...]:
    """Unvalidated patches for a finding of the static path."""
    template = registry.template(finding.code, settings.templates)
    if template is None or not settings.may_fix(finding.code, finding.rule):
        return ()
    drafts: list[Patch] = []
    for candidate in propose(finding, subject, template).candidates:
        try:
            variant = apply(Variant(subject.source), candidate)
        except EditError:
            continue
        diff = unified_diff(subject.source.raw, variant.source.raw, subject.source.path)
        name = f"patch-{start + len(drafts) + 1}"
        drafts.append(Patch(name, candidate, diff, PatchVerdict.UNVALIDATED, rank=len(drafts)))
    return tuple(drafts)


def _unchecked(trace: Trace, outcome: Repair, failures: list[str]) -> tuple[str, ...]:
    """What was not checked, and why; never empty, since no run shows everything."""
    said: list[str] = []
    if not trace.outcome.says_something:
        said.append(f"the program's behaviour: the run ended with {trace.outcome.value} ({trace.detail})")
    for site in trace.cut:
        said.append(f"the loop at line {site.line} beyond {len(trace.steps)} optimizer steps")
    if trace.outcome.says_something and not trace.steps:
        said.append("training: no optimizer step was taken")
    said.extend(outcome.unchecked)
    said.extend(dict.fromkeys(failures))
    said.append("code that this run did not reach, except by reading it")
    return tuple(said)


def _numbered(patch: Patch, rank: int) -> Patch:
    from dataclasses import replace

    return replace(patch, rank=rank)
