"""The pipeline: observe, detect, synthesize, validate, rank, emit; each arrow from records to records.

Reads top to bottom: `check_file` is the static path and `suggest_file` the whole. Neither prints, and neither raises
for what is wrong with the user's program.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dnnfix import registry
from dnnfix.config import Settings
from dnnfix.detect.catalogue import detect
from dnnfix.errors import CertificateError, EditError, InputError
from dnnfix.records import (
    UNEXPLAINED_CODE,
    UNEXPLAINED_RULE,
    Candidate,
    EditAction,
    Family,
    FileReport,
    Finding,
    FindingOutcome,
    FindingResult,
    FixPattern,
    Patch,
    PatchVerdict,
    Reproduction,
    RunOutcome,
    Site,
    Symptom,
    Trace,
)
from dnnfix.source.program import Source
from dnnfix.source.viewpoint import seen_from
from dnnfix.subject import Subject
from dnnfix.suppress import split
from dnnfix.template import FixTemplate

if TYPE_CHECKING:
    from dnnfix.emit.hunks import Replacement
    from dnnfix.reproduce.attempt import Run
    from dnnfix.reproduce.case import Case
    from dnnfix.reproduce.result import Reproduced
    from dnnfix.run.job import Tier
    from dnnfix.synthesize.search import Repair
    from dnnfix.validate.laboratory import TrialLaboratory

Progress = Callable[[str], None]

RUN_SECONDS = 20.0
"""Seconds that a run may take at least, within the budget of its file; of a larger budget each may take a third."""

NOT_RUN = "the program was not run: `dnnfix suggest` does that"


def check_file(raw: bytes, path: str, settings: Settings, patches: bool = True) -> FileReport:
    """The static part alone: findings from the source, with unvalidated patches if `patches`.

    Raises `InputError` where the bytes cannot be analysed.
    """
    source = Source.from_bytes(raw, path)
    active = [template for template in selected(settings) if not template.needs_run]
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
    unchecked = (NOT_RUN, *_misread(source), *detection.failures)
    return FileReport(path, tuple(results), tuple(drafts), unchecked=unchecked)


def suggest_file(raw: bytes, path: str, settings: Settings, progress: Progress) -> FileReport:
    """The whole pipeline on one program: run it, find its faults, and prove patches for them.

    Raises `InputError` where the bytes cannot be analysed, `SandboxError` and `InterpreterError` where nothing can run.
    """
    from dnnfix.synthesize.search import repair

    source = _with_modules(Source.from_bytes(raw, path))
    templates = {template.code: template for template in selected(settings)}
    failures: list[str] = []
    progress("starting the interpreter")
    with _laboratory(source, settings, failures) as laboratory:
        runner = laboratory.runner
        progress("running the program")
        trace = laboratory.observe(source, settings.seed)
        reproduction = _reproduced(source, trace, laboratory, settings, progress)
        if reproduction.steps:
            trace = laboratory.observe(source, settings.seed)
        outcome = repair(source, trace, laboratory, templates, settings, progress)
        patches = tuple(_certified(patch, outcome, runner.tier, settings, reproduction) for patch in outcome.patches)
        crash = tuple(_unexplained(trace, outcome))
        doubted = crash if any(step.invented for step in reproduction.steps) else ()
        heard = tuple(r for r in crash if not doubted and _wanted(r.finding, source, settings))
        silenced = tuple(
            f"{result.finding.message}, which the settings or a comment silence"
            for result in crash[len(heard) :]
            if not doubted
        )
        return FileReport(
            path,
            findings=(*outcome.results, *heard),
            patches=patches,
            runs=tuple(laboratory.records),
            unchecked=(
                *_misread(source),
                *silenced,
                *(_doubt(result.finding, source) for result in doubted),
                *laboratory.uncompared,
                *_unchecked(source, trace, outcome, failures),
            ),
            sandbox=runner.tier.value,
            notes=trace.notes,
            reproduction=reproduction,
            unrun=bool(doubted) or _unrun(trace),
        )


def reproduce_report(raw: bytes, path: str, settings: Settings, progress: Progress) -> Reproduced:
    """Reproduce the program of a bug report in Markdown, and see whether it shows what the report says.

    Raises `InputError` where the report holds no code or code that cannot be analysed.
    """
    from dnnfix.reproduce import report

    written = report.read(raw.decode("utf-8", "replace"), path)
    program = os.path.join(os.path.dirname(path), f"{Path(path).stem}.py")
    return _reproduce(
        Source.from_bytes(written.program.encode(), program), settings, progress, written.said, written.logs
    )


def reproduce_file(raw: bytes, path: str, settings: Settings, progress: Progress) -> Reproduced:
    """Make one program run, as far as that can be done without touching its fault. Raises `InputError`."""
    return _reproduce(Source.from_bytes(raw, path), settings, progress)


def _reproduce(source: Source, settings: Settings, progress: Progress, said: str = "", logs: str = "") -> Reproduced:
    from dnnfix.reproduce.attempt import attempt, broke, needed
    from dnnfix.reproduce.kinds import missing_information, type_of
    from dnnfix.reproduce.result import Reproduced
    from dnnfix.reproduce.symptoms import reported_symptom, shown
    from dnnfix.reproduce.versions import migrated

    program = source = _with_modules(source)
    reported = reported_symptom(said)
    with _laboratory(source, settings, []) as laboratory:
        progress("running the program as it stands")
        first = laboratory.observe(source, settings.seed)

        reproduction = Reproduction()
        traces: tuple[Trace, ...] = (first,)
        if needed(first) and not (reported and shown(reported, first)[0]):
            program, moved = migrated(source, said) if said else (source, ())
            run = _within(laboratory, program, settings, progress)
            reproduction, more = attempt(case_of(program, traces, settings, said), run)
            if moved and not more:
                more = (run(reproduction),)
            traces += tuple(trace for trace in more if not broke(trace))
            reproduction = replace(reproduction, steps=(*moved, *reproduction.steps))
        if reported is not None and reported.symptom is not Symptom.CRASH and traces[-1].steps:
            progress("training, to see the symptom")
            traces += (laboratory.train(program, settings.seed),)
    shows, saw = shown(reported, traces[-1]) if reported is not None else (None, "")
    typed = type_of(said, traces[-1])
    invented = any(step.invented and step.action is EditAction.INPUT_DATA for step in reproduction.steps)
    asked = tuple(missing_information(typed.kind, said, logs, source, invented)) if said else ()
    return Reproduced(source, program, typed, traces, reproduction, asked, reported, shows, saw)


def _reproduced(
    source: Source, trace: Trace, laboratory: TrialLaboratory, settings: Settings, progress: Progress
) -> Reproduction:
    """What makes a program run that did not run as it stands; the laboratory runs everything inside of it from now on."""
    from dnnfix.reproduce.attempt import attempt, needed

    if not needed(trace):
        return Reproduction()

    case = case_of(source, (trace,), settings)
    reproduction, _ = attempt(case, _within(laboratory, source, settings, progress))
    if reproduction.scaffold != laboratory.reproduction.scaffold:  # else the last run was within it, and is kept
        laboratory.reproduced(reproduction)
    return reproduction


def _within(laboratory: TrialLaboratory, program: Source, settings: Settings, progress: Progress) -> Run:
    """Runs a program inside the scaffold of a reproduction, in which the laboratory stays from then on."""

    def run(reproduction: Reproduction) -> Trace:
        progress(f"making it runnable: {len(reproduction.steps)} steps")
        laboratory.reproduced(reproduction)
        return laboratory.observe(program, settings.seed)

    return run


def case_of(source: Source, traces: tuple[Trace, ...], settings: Settings, said: str = "") -> Case:
    """What the edit actions of reproduction are shown of a program; `said` is the text of a bug report."""
    from dnnfix.reproduce.case import Case
    from dnnfix.run.interpreter import modules

    path = Path(source.path)
    return Case(
        source,
        traces,
        lambda name: name in modules(Path(settings.python)),
        path.resolve().parent,
        said,
        gpu=os.path.exists("/dev/nvidiactl"),
        arguments=settings.arguments,
    )


@contextmanager
def _laboratory(source: Source, settings: Settings, failures: list[str]) -> Iterator[TrialLaboratory]:
    """A laboratory for one program, whose clock starts now; failures of templates are added to `failures`."""
    from dnnfix.run.runner import Runner
    from dnnfix.validate.laboratory import TrialLaboratory

    deadline = time.monotonic() + settings.budget
    templates = selected(settings)

    def findings_of(program: Source, trace: Trace | None) -> tuple[Finding, ...]:
        detection = detect(Subject(program, trace), templates)
        failures.extend(detection.failures)
        return _heard(detection.findings, program, settings)

    with Runner(
        interpreter=Path(settings.python),
        tier=settings.tier,
        trust=settings.trust,
        companions=Path(source.path).resolve().parent,
        framework=_framework(source),
        baseline=Path(settings.baseline_python) if settings.baseline_python else None,
    ) as runner:
        yield TrialLaboratory(
            runner,
            source.path,
            findings_of,
            deadline,
            registry.validators(),
            settings.test_command,
            settings.workers,
            settings.arguments,
            seconds=max(RUN_SECONDS, settings.budget / 3),
            baseline=settings.baseline_python,
            python=settings.python,
        )


def _heard(findings: Sequence[Finding], program: Source, settings: Settings) -> tuple[Finding, ...]:
    """The findings that nothing silences: no comment in the file that they are in, no setting for it."""
    beside = {module.path: module for module in program.beside}
    kept = list(split([f for f in findings if f.site.path not in beside], program.text, program.path, settings).kept)
    for place, module in beside.items():
        own = [seen_from(finding, {place: ""}) for finding in findings if finding.site.path == place]
        path = str(Path(program.path).parent / place)
        kept += [seen_from(finding, {"": place}) for finding in split(own, module.text, path, settings).kept]
    return tuple(kept)


def _with_modules(source: Source) -> Source:
    """The program with the modules beside it that it imports."""
    from dnnfix.reproduce.beside import modules_beside

    return source.along_with(modules_beside(source, Path(source.path).resolve().parent))


def unmigrated(raw: bytes, path: str, settings: Settings) -> Iterator[tuple[Finding, str]]:
    """What of an old program is still as it was, with the reason, in the order of the source.

    Raises `InputError` where the bytes cannot be analysed.
    """
    from dnnfix.synthesize.candidates import propose

    subject = Subject(Source.from_bytes(raw, path))
    active = {t.code: t for t in selected(settings) if t.family is Family.VERSIONING and not t.needs_run}
    found = split(detect(subject, active.values()).findings, subject.source.text, path, settings).kept
    for finding in sorted(found, key=lambda finding: finding.site):
        proposals = propose(finding, subject, active[finding.code])
        yield finding, proposals.declined or proposals.failed or "there is a patch, which was not proven or not allowed"


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
    from dnnfix.source.diff import program_diff
    from dnnfix.synthesize.candidates import Variant, apply, propose

    template = registry.template(finding.code, settings.templates)
    if template is None or not settings.may_fix(finding.code, finding.rule):
        return ()
    drafts: list[Patch] = []
    for candidate in propose(finding, subject, template).candidates:
        try:
            variant = apply(Variant(subject.source), candidate)
        except EditError:
            continue
        diff = program_diff(subject.source, variant.source)
        name = f"patch-{start + len(drafts) + 1}"
        drafts.append(Patch(name, candidate, diff, PatchVerdict.UNVALIDATED, rank=len(drafts)))
    return tuple(drafts)


def _unexplained(trace: Trace, outcome: Repair) -> Iterator[FindingResult]:
    """The crash of the program, where no template has a finding for it: a crash is never reported as "no problem"."""
    crash = trace.crash
    explained = any(result.finding.symptom is Symptom.CRASH for result in outcome.results)
    explained = explained or any(patch.verdict is PatchVerdict.ACCEPTED for patch in outcome.patches)
    if crash is None or explained or trace.outcome is not RunOutcome.CRASHED or _after_cut(trace):
        return
    said = ": ".join([crash.kind, *crash.message.strip().splitlines()[:1]])
    finding = Finding(
        UNEXPLAINED_CODE,
        UNEXPLAINED_RULE,
        Family.OPINIONATED,
        crash.site or Site(1, 1, 1, 1),
        f"the program crashes: {said[:300]}",
        Symptom.CRASH,
        confidence=1.0,
        cause="crash",
    )
    yield FindingResult(finding, FindingOutcome.DECLINED, "no template explains this crash")


def _doubt(finding: Finding, source: Source) -> str:
    """What to say of a crash that no rule explains, in a program that ran on made-up things only."""
    said = finding.message.removeprefix("the program crashes: ")
    return f"the program beyond {_line(source, finding.site)}: on what was made up it crashes there, with {said}"


def _wanted(finding: Finding, source: Source, settings: Settings) -> bool:
    """Whether the user wants to hear of a finding that no template made."""
    enabled = settings.enabled(finding.code, finding.rule)
    return enabled and bool(split([finding], source.text, source.path, settings).kept)


def _after_cut(trace: Trace) -> bool:
    """Whether a crash came after training, behind a loop that the budget cut: that may be the cut's own doing."""
    return trace.crash is not None and bool(trace.cut) and bool(trace.steps)


def _unrun(trace: Trace) -> bool:
    """Whether the run ended before the program showed anything, for a reason that lies outside of it."""
    told = trace.outcome.says_something and trace.outcome is not RunOutcome.EXITED
    return not told and not trace.steps


def _misread(source: Source) -> tuple[str, ...]:
    """Where the analysed text is not the file's: what Python itself makes of the file was not checked there."""
    return tuple(f"the file as it stands: {note}" for note in source.recoveries)


def _line(source: Source, site: Site) -> str:
    """A line as the reader of the program counts it."""
    if site.path:
        return f"line {site.line} of {site.path}"
    cell, line = source.locate(site.line)
    return f"line {line}" if cell is None else f"line {line} of cell {cell}"


def _unchecked(source: Source, trace: Trace, outcome: Repair, failures: list[str]) -> tuple[str, ...]:
    """What was not checked, and why; never empty, since no run shows everything."""
    from dnnfix.run.advice import ending

    said: list[str] = []
    if not trace.outcome.says_something:
        said.append(f"the program's behaviour: the run ended with {ending(trace)}")
    if trace.outcome is RunOutcome.EXITED:
        said.append(f"what comes after the program's own end: {ending(trace)}")
    if trace.crash is not None and _after_cut(trace):
        place = f" at {_line(source, trace.crash.site)}" if trace.crash.site else ""
        said.append(
            f"the end of the program: it stopped{place} with {trace.crash.kind} after its loops were cut to the budget, "
            "which may be the cut's doing"
        )
    for site in trace.cut:
        said.append(f"the loop at {_line(source, site)} beyond {len(trace.steps)} optimizer steps")
    if trace.outcome.says_something and not trace.steps:
        said.append("training: no optimizer step was taken")
    said.extend(outcome.unchecked)
    said.extend(dict.fromkeys(failures))
    said.append("code that this run did not reach, except by reading it")
    return tuple(said)


def _certified(patch: Patch, outcome: Repair, tier: Tier, settings: Settings, reproduction: Reproduction) -> Patch:
    """The patch with its certificate written, where it was accepted and the cache folder can be written."""
    from dnnfix.validate import certificate

    proof = outcome.proofs.get(patch.id)
    if proof is None or patch.verdict is not PatchVerdict.ACCEPTED:
        return patch
    content = certificate.document(patch, proof, tier, settings.seed, settings.budget, settings.arguments, reproduction)
    try:
        return replace(patch, certificate=str(certificate.write(settings.certificates, content)))
    except OSError:  # a full or read-only cache costs the certificate, not the patch
        return patch


def _certified_bytes(path: str, file: Path, digest: str, changes: Sequence[Replacement]) -> bytes:
    """The bytes that a file had when it was certified: as it is, or without the patch. Raises `CertificateError`."""
    from dnnfix.emit import hunks
    from dnnfix.validate import certificate as certificates

    try:
        raw = file.read_bytes()
    except OSError as error:
        raise CertificateError(
            f"{path}: its program {file} cannot be read ({error.strerror}). Run dnnfix verify in the folder in which "
            "the patch was made."
        ) from error
    if certificates.digest(raw) != digest:
        with suppress(InputError):
            raw = hunks.apply(raw, hunks.backwards(changes))
    if certificates.digest(raw) != digest:
        raise CertificateError(f"{path}: {file} is not the program that was certified; it changed since")
    return raw


def verify_certificate(path: str, settings: Settings) -> tuple[bool, tuple[str, ...]]:
    """Whether the proof in a certificate holds when it is run again, and in what it differs.

    The program may be as it was, or with the patch applied. What it is called with comes from the certificate. Raises
    `CertificateError` where the certificate or its program cannot be used.
    """
    from dnnfix.emit import hunks
    from dnnfix.validate import certificate as certificates
    from dnnfix.validate.evidence import Evidence
    from dnnfix.validate.ladder import climb

    written = certificates.read(Path(path))
    changes = {name: hunks.replacements(section) for name, section in hunks.sections(written.diff).items()}
    folder = Path(written.path).parent

    def both(file: Path, shown: str, digest: str) -> tuple[Source, Source]:
        own = changes.get(hunks.own_section(file.as_posix()), ())
        raw = _certified_bytes(path, file, digest, own)
        return Source.from_bytes(raw, shown), Source.from_bytes(hunks.apply(raw, own), shown)

    before, after = both(Path(written.path), written.path, written.program_hash)
    modules = [both(folder / name, name, digest) for name, digest in written.beside.items()]
    before, after = before.along_with(old for old, _ in modules), after.along_with(new for _, new in modules)
    budget = max(settings.budget, written.budget)
    again = replace(settings, seed=written.seed, budget=budget, arguments=written.arguments)
    with _laboratory(before, again, []) as laboratory:
        laboratory.reproduced(written.reproduction)
        trace = laboratory.observe(before, written.seed)
        findings = laboratory.findings(before, trace)
        meant = tuple(finding for finding in findings if finding.code in written.codes)
        if not meant:
            return False, (f"the finding ({', '.join(written.codes)}) does not appear any more",)
        repaired = Candidate("", "certified patch", FixPattern.CHANGE_NEURAL_ARCHITECTURE, (), meant)
        evidence = Evidence((repaired,), before, after, trace, trace, original=findings)
        verdicts = climb(evidence, laboratory).evidence.verdicts
        differences = certificates.differences(written, verdicts, settings.baseline_python)
    return not differences, (*differences, *certificates.unrepeated(written, settings.baseline_python))
