"""Writes the certificates of accepted patches, and verifies a certificate by a new run (`dnnfix verify`)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dnnfix.config import Settings
from dnnfix.errors import CertificateError, InputError
from dnnfix.pipeline.runs import laboratory_for
from dnnfix.records import UNLEARNED_CODE, Candidate, FixPattern, Patch, PatchVerdict, Reproduction
from dnnfix.source.diff import module_path
from dnnfix.source.program import Source

if TYPE_CHECKING:
    from dnnfix.emit.hunks import Replacement
    from dnnfix.run.job import Tier
    from dnnfix.synthesize.repairs import Repair
    from dnnfix.validate.certificate import Certificate


def certified(
    patch: Patch,
    outcome: Repair,
    tier: Tier,
    device: str,
    settings: Settings,
    reproduction: Reproduction,
    observed_steps: int,
) -> Patch:
    """The patch with its certificate written, where it was accepted and the cache folder can be written."""
    from dnnfix.validate import certificate

    proof = outcome.proofs.get(patch.id)
    if proof is None or patch.verdict is not PatchVerdict.ACCEPTED:
        return patch
    content = certificate.document(
        patch, proof, tier, settings.seed, settings.budget, settings.arguments, reproduction, observed_steps, device
    )
    try:
        return replace(patch, certificate=str(certificate.write(settings.certificates, content)))
    except OSError:  # a full or read-only cache costs the certificate, not the patch
        return patch


def verify_certificate(path: str, settings: Settings) -> tuple[bool, tuple[str, ...]]:
    """Whether the proof in a certificate holds when it is run again, and in what it differs.

    The program may be as it was, or with the patch applied. What it is called with comes from the certificate. Raises
    `CertificateError` where the certificate or its program cannot be used.
    """
    from dnnfix.emit import hunks
    from dnnfix.run import gpu
    from dnnfix.run.visible import repository_of
    from dnnfix.synthesize.at_crash import unexplained_crash
    from dnnfix.synthesize.at_training import as_suspected, look_at_training
    from dnnfix.validate import certificate as certificates
    from dnnfix.validate.evidence import Evidence
    from dnnfix.validate.ladder import BLOCKING, climb

    written = certificates.read(Path(path))
    changes = _changes(written)
    folder = Path(written.path).resolve().parent

    def both(file: Path, shown: str, in_diff: str, digest: str) -> tuple[Source, Source]:
        own = changes.get(hunks.own_section(in_diff), ())
        raw = _certified_bytes(path, file, digest, own)
        return Source.from_bytes(raw, shown), Source.from_bytes(hunks.apply(raw, own), shown)

    repository = repository_of(folder)

    def module(name: str, digest: str) -> tuple[Source, Source]:
        file = (folder / name).resolve()
        if not file.is_relative_to(repository):
            raise CertificateError(f"{path}: a module outside of the program's repository: {name}")
        return both(file, name, module_path(written.path, name), digest)

    before, after = both(Path(written.path), written.path, written.path, written.program_hash)
    modules = [module(name, digest) for name, digest in written.beside.items()]
    before, after = before.along_with(old for old, _ in modules), after.along_with(new for _, new in modules)
    budget = max(settings.budget, written.budget)
    device = written.device.split()[0] if settings.device == "auto" and gpu.present() else settings.device
    again = replace(settings, seed=written.seed, budget=budget, arguments=written.arguments, device=device)
    with laboratory_for(before, again, []) as laboratory:
        laboratory.repeat(written.reproduction, written.observed_steps, written.trained_steps)
        trace = laboratory.observe(before, written.seed)
        findings = laboratory.findings(before, trace)
        crash = unexplained_crash(before, trace)
        if crash is not None and crash.code in written.codes:
            findings = (*findings, crash)
        if UNLEARNED_CODE in written.codes:
            untaught = as_suspected(look_at_training(before, written.seed, laboratory)).finding
            findings = findings if untaught is None else (*findings, untaught)
        meant = tuple(finding for finding in findings if finding.code in written.codes)
        if not meant:
            return False, (f"the finding ({', '.join(written.codes)}) does not appear any more",)
        pattern = FixPattern.CHANGE_NEURAL_ARCHITECTURE
        repaired = Candidate("", "certified patch", pattern, (), meant, written.applicability, author=written.author)
        evidence = Evidence((repaired,), before, after, trace, trace, original=findings)
        climbed = climb(evidence, laboratory)
        differences = certificates.differences(written, climbed.evidence.verdicts, settings.baseline_python)
        if not climbed.accepted and not differences:  # a certificate may leave out what stands against its patch
            (against, *_) = [verdict for verdict in climbed.evidence.verdicts if verdict.status in BLOCKING]
            differences = (
                f"{against.validator}: the certificate does not name it, and it is {against.status.value}: {against.reason}",
            )
    here = gpu.device_of(before.raw, again.asked_device)
    return not differences, (*differences, *certificates.unrepeated(written, settings.baseline_python, here))


def is_certified(written: Certificate, file: Path) -> bool:
    """Whether a file is the program of a certificate, as it was or with the patch applied."""
    from dnnfix.emit import hunks

    try:
        _certified_bytes("", file, written.program_hash, _changes(written).get(hunks.own_section(written.path), ()))
    except CertificateError:
        return False
    return True


def _changes(written: Certificate) -> dict[str, tuple[Replacement, ...]]:
    """What the patch of a certificate changes, by file."""
    from dnnfix.emit import hunks

    return {name: hunks.replacements(section) for name, section in hunks.sections(written.diff).items()}


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
