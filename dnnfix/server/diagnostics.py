"""Findings as diagnostics of the protocol."""

from __future__ import annotations

from lsprotocol.types import Diagnostic, DiagnosticSeverity, DiagnosticTag, Range

from dnnfix.emit.view import plain
from dnnfix.records import UNEXPLAINED_CODE, FindingResult
from dnnfix.server.checked import Checked
from dnnfix.suppress import UNUSED_CODE

SOURCE = "dnnfix"


def diagnostics(checked: Checked) -> dict[str, list[Diagnostic]]:
    """What to show in each document of a program, by its address; an empty list where there is nothing."""
    found: dict[str, list[Diagnostic]] = {part.uri: [] for part in checked.program.parts.values()}
    for result in checked.report.findings:
        placed = checked.place(result.finding.site)
        if placed is not None:
            part, place = placed
            found[part.uri].append(diagnostic(result, place))
    return found


def diagnostic(result: FindingResult, place: Range) -> Diagnostic:
    """One finding at its place."""
    finding = result.finding
    unused = finding.code == UNUSED_CODE
    severity = DiagnosticSeverity.Error if finding.code == UNEXPLAINED_CODE else DiagnosticSeverity.Warning
    return Diagnostic(
        range=place,
        message=str(plain(finding.message)),
        severity=DiagnosticSeverity.Hint if unused else severity,
        code=finding.code,
        source=SOURCE,
        tags=[DiagnosticTag.Unnecessary] if unused else None,
        data={"id": plain(finding.id), "rule": finding.rule},
    )
