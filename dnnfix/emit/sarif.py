"""Reports as SARIF 2.1.0, with the properties that GitHub code scanning asks for, and fixes for viewers that read
them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from urllib.parse import quote

from dnnfix import __version__
from dnnfix.emit.contract import sandbox, unchecked
from dnnfix.emit.earned import earned
from dnnfix.emit.hunks import Replacement, replacements, sections
from dnnfix.emit.rules import Rule
from dnnfix.emit.view import Place, View, place, plain, view
from dnnfix.records import (
    Applicability,
    FileReport,
    FindingOutcome,
    FindingResult,
    Json,
    Nature,
    Patch,
    PatchVerdict,
    Report,
    Symptom,
)
from dnnfix.suppress import fingerprint

SCHEMA_URI = "https://json.schemastore.org/sarif-2.1.0.json"
MAX_RESULTS = 25_000
"""GitHub refuses a run with more."""
MAX_DESCRIPTION = 1024
"""GitHub cuts longer full descriptions."""


def text(report: Report, views: Mapping[str, View], rules: Iterable[Rule]) -> str:
    """The report as a SARIF log in indented ASCII JSON, with a line end."""
    return json.dumps(log(report, views, rules), indent=2, allow_nan=False) + "\n"


def log(report: Report, views: Mapping[str, View], rules: Iterable[Rule]) -> dict[str, Json]:
    """The report as a SARIF log; `rules` describes the codes that occur."""
    known = sorted({rule.code: rule for rule in rules}.values(), key=lambda rule: rule.code)
    places = {rule.code: index for index, rule in enumerate(known)}
    results: list[Json] = []
    for file, result in islice(report.findings(), MAX_RESULTS):
        results.append(_result(file, result, views.get(file.path, View()), places))
    total = sum(len(file.findings) for file in report.files)
    notes: list[Json] = [_notification("note", text) for text in unchecked(replace(report, errors=()))]
    notes += [_notification("error", error) for error in report.errors]
    if total > MAX_RESULTS:
        notes.append(_notification("warning", f"{total - MAX_RESULTS} more results than the {MAX_RESULTS} shown"))
    unrun = [file.unrun for file in report.files]
    done = not report.errors and not (unrun and all(unrun))
    run: dict[str, Json] = {
        "tool": {"driver": _driver(known)},
        "invocations": [{"executionSuccessful": done, "toolExecutionNotifications": notes}],
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"sandbox": sandbox(report)},
    }
    return {"$schema": SCHEMA_URI, "version": "2.1.0", "runs": [run]}


def _driver(rules: Sequence[Rule]) -> Json:
    return {
        "name": "dnnfix",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in rules],
    }


def _rule(rule: Rule) -> Json:
    described = plain(" ".join(rule.help.split())[:MAX_DESCRIPTION])
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": plain(rule.summary)},
        "fullDescription": {"text": described},
        "help": {"text": plain(rule.help), "markdown": plain(f"# {rule.code} {rule.name}\n\n{rule.help}")},
        "defaultConfiguration": {"level": "warning"},
        "properties": {
            "precision": earned(rule.code).precision,
            "problem.severity": "warning",
            "tags": ["deep-learning", rule.family, rule.fix_pattern],
        },
    }


def _notification(level: str, text: str) -> Json:
    return {"level": level, "message": {"text": plain(text)}}


def _result(file: FileReport, result: FindingResult, seen: View, places: Mapping[str, int]) -> Json:
    finding = result.finding
    at = place(file, finding.site, seen)
    module = file.modules.get(finding.site.path)
    lines = view(module, finding.site.path).lines if module is not None else seen.lines
    grave = finding.symptom is Symptom.CRASH or result.outcome in (FindingOutcome.REPAIRED, FindingOutcome.PARTIAL)
    made: dict[str, Json] = {
        "ruleId": finding.code,
        "level": "error" if grave else "note" if finding.nature is Nature.ADVICE else "warning",
        "message": {"text": plain(finding.message)},
        "locations": [_location(at)],
        "partialFingerprints": {"dnnfix/v1": fingerprint(finding.code, finding.site.line, lines)},
        "properties": {
            "symptom": finding.symptom.value,
            "confidence": finding.confidence,
            "outcome": result.outcome.value,
            "reason": plain(result.reason),
        },
    }
    if finding.code in places:
        made["ruleIndex"] = places[finding.code]
    fixes: list[Json] = [_fix(file, patch) for patch in file.patches if patch.id in result.patches and _offered(patch)]
    if fixes:
        made["fixes"] = fixes
    return made


def _offered(patch: Patch) -> bool:
    if (
        patch.verdict in (PatchVerdict.REJECTED, PatchVerdict.CHOICE)
        or patch.candidate.applicability is Applicability.DISPLAY_ONLY
    ):
        return False
    return bool(patch.diff)


def _location(at: Place) -> Json:
    region: dict[str, Json] = {
        "startLine": at.line,
        "startColumn": at.column,
        "endLine": at.end_line,
        "endColumn": at.end_column,
    }
    found: dict[str, Json] = {"physicalLocation": {"artifactLocation": {"uri": uri(at.path)}, "region": region}}
    if at.cell is not None:
        found["logicalLocations"] = [
            {"name": at.cell, "fullyQualifiedName": f"cell {at.cell_number}", "kind": "module"}
        ]
    return found


def _fix(file: FileReport, patch: Patch) -> Json:
    remains = f": {patch.remains}" if patch.remains else ""
    description = f"{patch.candidate.title} ({patch.candidate.applicability}, {patch.verdict}{remains})"
    root = "/" if file.path.startswith("/") else ""
    changes: list[Json] = [
        {
            "artifactLocation": {"uri": uri(root + path)},
            "replacements": [_replacement(change) for change in replacements(section)],
        }
        for path, section in sections(patch.diff).items()
    ]
    return {
        "description": {"text": plain(description)},
        "artifactChanges": changes,
    }


def _replacement(change: Replacement) -> Json:
    region: Json = {"startLine": change.first, "startColumn": 1, "endLine": change.end, "endColumn": 1}
    inserted = b"".join(change.new).decode("utf-8", "replace")
    return {"deletedRegion": region, "insertedContent": {"text": inserted}}


def uri(path: str) -> str:
    """A relative path as a relative URI, an absolute one as a `file:` URI."""
    quoted = quote(path.replace(os.sep, "/"), safe="/", errors="surrogateescape")
    return f"file://{quoted}" if path.startswith("/") else quoted
