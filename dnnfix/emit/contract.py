"""Reports as JSON by the contract `dnnfix/1`: one document for everything that a call of the tool reports.

`schema.json` beside this module describes it for other programs; the two are tested against each other.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from dnnfix import __version__
from dnnfix.emit.view import View, finding_id, member_id, place, plain
from dnnfix.records import FileReport, Finding, FindingResult, Json, ModelUse, Patch, Report, RunRecord

SCHEMA = "dnnfix/1"

_GUARD = ("none", "limits", "bubblewrap")


def document(report: Report, views: Mapping[str, View]) -> dict[str, Json]:
    """The report as plain JSON values; `views` by the paths of its files."""
    seen = {file.path: views.get(file.path, View()) for file in report.files}
    return {
        "schema": SCHEMA,
        "tool": {"version": __version__, "sandbox": sandbox(report), "devices": devices(report)},
        "findings": [_finding(file, result, seen[file.path]) for file, result in report.findings()],
        "patches": [_patch(file, patch) for file, patch in report.patches()],
        "runs": [_run(file, run) for file in report.files for run in file.runs],
        "through": [
            {"module": plain(file.path), "program": plain(file.through)} for file in report.files if file.through
        ],
        "models": [_model(file, file.model) for file in report.files if file.model is not None],
        "unchecked": [plain(text) for text in unchecked(report)],
    }


def text(report: Report, views: Mapping[str, View]) -> str:
    """The document as indented JSON in ASCII, with a line end."""
    return json.dumps(document(report, views), indent=2, allow_nan=False) + "\n"


def schema() -> dict[str, Json]:
    """The JSON Schema (2020-12) that every document follows."""
    loaded: dict[str, Json] = json.loads(Path(__file__).with_name("schema.json").read_bytes())
    return loaded


def sandbox(report: Report) -> str | None:
    """The weakest sandbox tier that a program of the report ran in; `None` where nothing was run."""
    used = [file.sandbox for file in report.files if file.runs]
    return min(used, key=_GUARD.index) if used else None


def devices(report: Report) -> list[Json]:
    """What programs of the report were run on, each named once."""
    return [plain(device) for device in sorted({file.device for file in report.files if file.runs})]


def unchecked(report: Report) -> list[str]:
    """What was not checked, and why: what holds for every file once, the rest by file, then what failed."""
    checked = [file for file in report.files if file.unchecked or not file.through]
    counts = Counter(text for file in checked for text in dict.fromkeys(file.unchecked))
    common = [text for text, count in counts.items() if count == len(checked)]
    own = [
        f"{file.path}: {text}"
        for file in checked
        for text in dict.fromkeys(file.unchecked)
        if counts[text] < len(checked)
    ]
    return [*common, *own, *report.unchecked, *report.errors]


def _finding(file: FileReport, result: FindingResult, seen: View) -> Json:
    finding = result.finding
    at = place(file, finding.site, seen)
    return {
        "id": plain(finding_id(file, finding)),
        "code": finding.code,
        "rule": finding.rule,
        "family": finding.family.value,
        "path": plain(at.path),
        "line": at.line,
        "column": at.column,
        "end_line": at.end_line,
        "end_column": at.end_column,
        "cell": at.cell,
        "message": plain(finding.message),
        "symptom": finding.symptom.value,
        "nature": finding.nature.value,
        "confidence": finding.confidence,
        "evidence": plain(finding.evidence),
        "outcome": result.outcome.value,
        "reason": plain(result.reason),
        "patches": [plain(member_id(file, patch)) for patch in result.patches],
    }


def _patch(file: FileReport, patch: Patch) -> Json:
    return {
        "id": plain(member_id(file, patch.id)),
        "template": patch.candidate.template,
        "author": plain(patch.candidate.author) or None,
        "fix_pattern": patch.candidate.fix_pattern.value,
        "applicability": patch.candidate.applicability.value,
        "verdict": patch.verdict.value,
        "rank": patch.rank,
        "prior": round(patch.candidate.prior, 4),
        "diff": plain(patch.diff),
        "findings": [plain(finding_id(file, finding)) for finding in _settled(file, patch)],
        "verdicts": [
            {
                "validator": verdict.validator,
                "status": verdict.status.value,
                "reason": plain(verdict.reason),
                "measured": plain(verdict.measured),
            }
            for verdict in patch.verdicts
        ],
        "side_effects": plain(patch.side_effects),
        "curves": [
            {
                "seed": curve.seed,
                "patched": curve.patched,
                "loss": plain(curve.loss),
                "skill": plain(curve.skill),
                "gradient": plain(curve.gradient),
            }
            for curve in patch.curves
        ],
        "certificate": plain(patch.certificate),
    }


def _settled(file: FileReport, patch: Patch) -> list[Finding]:
    """The findings of the report that name the patch; those of a later, half-repaired program have no site in it."""
    return [result.finding for result in file.findings if patch.id in result.patches]


def _model(file: FileReport, use: ModelUse) -> Json:
    return {
        "path": plain(file.path),
        "model": plain(use.model),
        "host": plain(use.host),
        "prompt_tokens": use.prompt_tokens,
        "answers": use.answers,
        "cached": use.cached,
        "malformed": use.malformed,
        "candidates": use.candidates,
        "asked_tokens": use.asked_tokens,
        "answered_tokens": use.answered_tokens,
        "cost": round(use.cost, 6),
        "remarks": [plain(remark) for remark in use.remarks],
        "prompt": plain(use.prompt) or None,
    }


def _run(file: FileReport, run: RunRecord) -> Json:
    return {
        "id": plain(member_id(file, run.id)),
        "outcome": run.outcome.value,
        "seconds": round(run.seconds, 3),
        "seed": run.seed,
        "reproduction": [plain(action) for action in run.reproduction],
    }
