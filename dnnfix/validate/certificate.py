"""Certificates: JSON documents of what a patch was shown to do, from which anyone can repeat the proof.

A certificate names the program and the patch by hash, and everything that a trial depends on: seeds, budgets, sandbox
tier, device, interpreter and library versions. `dnnfix verify` repeats the climb and compares verdicts, not timings.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from dnnfix import __version__
from dnnfix.errors import CertificateError
from dnnfix.records import Applicability, Json, Patch, Reproduction, Scaffold, Status, Verdict
from dnnfix.run.job import Device, Tier
from dnnfix.validate.evidence import Evidence
from dnnfix.validate.laboratory import OBSERVED_STEPS, TRAINED_STEPS
from dnnfix.validate.same_as_before import NAME as SAME_AS_BEFORE

SCHEMA = "dnnfix-certificate/1"
NOTHING_DONE = Reproduction()


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate as read from its file."""

    path: str
    program_hash: str
    diff: str
    codes: tuple[str, ...]
    seed: int
    tier: str
    verdicts: Mapping[str, str]
    budget: float = 60.0
    arguments: tuple[str, ...] = ()
    """What the program was called with."""
    observed_steps: int = OBSERVED_STEPS
    """Optimizer steps after which an observing run was cut."""
    trained_steps: int = TRAINED_STEPS
    """Optimizer steps after which a training trial was cut."""
    reproduction: Reproduction = field(default_factory=Reproduction)
    """What the program ran in, where it does not run as it stands; its scaffold only."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """The hashes of the modules beside the program, by their paths in its folder."""
    applicability: Applicability = Applicability.UNSAFE
    author: str = ""
    """The language model that wrote the patch: some judges are stricter with one."""
    device: str = "cpu"
    """What the program was run on: `cpu`, or `cuda` with the model of the card."""


def digest(content: bytes) -> str:
    """The hash that names a program or patch."""
    return hashlib.sha256(content).hexdigest()


def document(
    patch: Patch,
    evidence: Evidence,
    tier: Tier,
    seed: int,
    budget: float,
    arguments: Sequence[str] = (),
    reproduction: Reproduction = NOTHING_DONE,
    observed_steps: int = OBSERVED_STEPS,
    device: str = "cpu",
) -> dict[str, Json]:
    """The certificate of an accepted patch as a JSON document.

    `arguments` are what the program was called with, `reproduction` is what it ran in,
    `observed_steps` the optimizer steps after which an observing run was cut, `device` what it ran on, in words.
    """
    program: dict[str, Json] = {
        "path": evidence.source_before.path,
        "sha256": digest(evidence.source_before.raw),
        "beside": {module.path: digest(module.raw) for module in evidence.source_before.beside},
        "arguments": list(arguments),
        "reproduction": {
            "steps": [str(step) for step in reproduction.steps],
            "scaffold": asdict(reproduction.scaffold),
        },
    }
    return {
        "schema": SCHEMA,
        "tool": __version__,
        "program": program,
        "patch": {
            "diff": patch.diff,
            "sha256": digest(patch.diff.encode("utf-8", "surrogateescape")),
            "applicability": patch.candidate.applicability.value,
            "author": patch.candidate.author,
        },
        "findings": [
            {"code": f.code, "rule": f.rule, "line": f.site.line, "message": f.message} for f in evidence.findings
        ],
        "seeds": [seed, *(pair.before.seed for pair in evidence.pairs)],
        "budget": {"seconds": budget, "observed_steps": observed_steps, "trained_steps": _trained_steps(evidence)},
        "sandbox": tier.value,
        "device": device,
        "versions": dict(evidence.after.versions),
        "verdicts": [_verdict(verdict) for verdict in evidence.verdicts],
        "side_effects": dict(patch.side_effects),
    }


def _trained_steps(evidence: Evidence) -> int:
    """Optimizer steps of the trials: the usual ones, or those of the longest where they took more."""
    return max(TRAINED_STEPS, *(len(trace.steps) for pair in evidence.pairs for trace in (pair.before, pair.after)), 0)


def _verdict(verdict: Verdict) -> dict[str, Json]:
    return {**asdict(verdict), "status": verdict.status.value, "measured": dict(verdict.measured)}


def write(folder: Path, content: Mapping[str, Json]) -> Path:
    """Write a certificate under a name made of its content; the same content keeps its file."""
    text = json.dumps(content, indent=2, sort_keys=True, default=str)
    folder.mkdir(parents=True, exist_ok=True)
    stable = {key: value for key, value in content.items() if key not in ("verdicts", "side_effects")}
    name = digest(json.dumps(stable, sort_keys=True, default=str).encode())[:16]
    target = folder / f"{name}.json"
    partial = target.with_suffix(".partial")
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(target)
    return target


def read(path: Path) -> Certificate:
    """Read a certificate.

    Raises:
        CertificateError: the file is missing, is not a certificate, or its patch was changed after it was written.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise CertificateError(f"{path}: cannot be read as a certificate: {error}") from error
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise CertificateError(f"{path}: not a dnnfix certificate (its `schema` has to be {SCHEMA!r})")
    try:
        diff = str(content["patch"]["diff"])
        if digest(diff.encode("utf-8", "surrogateescape")) != content["patch"]["sha256"]:
            raise CertificateError(f"{path}: the patch in it does not match its hash; it was changed by hand")
        if not diff.strip() or not content["verdicts"]:
            raise CertificateError(f"{path}: the certificate proves nothing: it has no patch, or no verdict")
        return Certificate(
            path=str(content["program"]["path"]),
            program_hash=str(content["program"]["sha256"]),
            beside={_inside(str(k)): str(v) for k, v in content["program"].get("beside", {}).items()},
            diff=diff,
            applicability=Applicability(content["patch"].get("applicability", Applicability.UNSAFE)),
            author=str(content["patch"].get("author") or ""),
            codes=tuple(str(finding["code"]) for finding in content["findings"]),
            seed=int(content["seeds"][0]),
            tier=str(content["sandbox"]),
            device=_device(str(content.get("device", Device.CPU.value))),
            verdicts={str(v["validator"]): str(v["status"]) for v in content["verdicts"]},
            budget=float(content["budget"]["seconds"]),
            observed_steps=int(content["budget"]["observed_steps"]),
            trained_steps=int(content["budget"]["trained_steps"]),
            arguments=tuple(str(word) for word in content["program"].get("arguments", ())),
            reproduction=Reproduction(
                scaffold=_scaffold(content["program"].get("reproduction", {}).get("scaffold", {}))
            ),
        )
    except (AttributeError, KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise CertificateError(f"{path}: the certificate lacks or garbles a field: {error!r}") from error


def _device(text: str) -> str:
    """What a program was run on. Raises `ValueError` where that begins with the name of no device."""
    if text.partition(" ")[0] not in (Device.CPU, Device.CUDA):
        raise ValueError(f"no device: {text}")
    return text


def _inside(path: str) -> str:
    """The path of a module; a certificate, which may be anyone's, has no say over files by their whole path."""
    if PurePosixPath(path).is_absolute():
        raise ValueError(f"a module outside of the program's repository: {path}")
    return path


def _scaffold(content: Mapping[str, Any]) -> Scaffold:
    return Scaffold(
        start=str(content.get("start", "")),
        definitions=tuple((str(name), str(code)) for name, code in content.get("definitions", ())),
        end=str(content.get("end", "")),
        literals=tuple((str(old), str(new)) for old, new in content.get("literals", ())),
        arguments=tuple(str(word) for word in content.get("arguments", ())),
        opened=tuple((str(path), int(number)) for path, number in content.get("opened", ())),
        sizes=tuple((str(name), int(most)) for name, most in content.get("sizes", ())),
    )


def unrepeated(certificate: Certificate, baseline: str | None, device: str) -> tuple[str, ...]:
    """What a climb on this device, without the interpreter of the old era, does not repeat. That interpreter is never taken from
    the certificate, since that would let a certificate choose what is started.
    """
    said: list[str] = []
    if baseline is None and certificate.verdicts.get(SAME_AS_BEFORE) == Status.PASS.value:
        said.append(f"{SAME_AS_BEFORE}: was pass; not repeated, which takes --baseline-python")
    if device != certificate.device:
        said.append(f"proven on {certificate.device}, run again on {device}")
    return tuple(said)


def differences(
    certificate: Certificate, verdicts: tuple[Verdict, ...], baseline: str | None = None
) -> tuple[str, ...]:
    """In which verdicts a repeated climb differs from the certificate; empty when it holds.

    Without `baseline`, the interpreter of the old era, no comparison with it is expected.
    """
    now = {verdict.validator: verdict for verdict in verdicts}
    said: list[str] = []
    for name, status in certificate.verdicts.items():
        if name == SAME_AS_BEFORE and baseline is None:
            continue
        verdict = now.get(name)
        if verdict is None:
            said.append(f"{name}: was {status}, is not reached any more")
        elif verdict.status.value != status and (verdict.status is Status.FAIL or status == Status.PASS.value):
            said.append(f"{name}: was {status}, is {verdict.status.value}: {verdict.reason}")
        elif verdict.status is Status.INCONCLUSIVE:
            said.append(f"{name}: was {status}, is inconclusive: {verdict.reason}")
    return tuple(said)
