"""Findings as workflow commands, which GitHub Actions shows as annotations on the lines of a change."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.emit.view import View, place
from dnnfix.records import FileReport, FindingOutcome, FindingResult, Symptom


def commands(file: FileReport, seen: View) -> Iterator[str]:
    """One line for each finding of a file."""
    for result in file.findings:
        yield _annotation(file, result, seen)


def problem(error: str) -> str:
    """The line for something that could not be analysed."""
    return f"::error title=dnnfix::{_message(error)}"


def remark(text: str) -> str:
    """The line for something that a reader should know."""
    return f"::notice title=dnnfix::{_message(text)}"


def _annotation(file: FileReport, result: FindingResult, seen: View) -> str:
    finding = result.finding
    at = place(file, finding.site, seen)
    grave = finding.symptom is Symptom.CRASH or result.outcome in (FindingOutcome.REPAIRED, FindingOutcome.PARTIAL)
    fields = {"title": f"dnnfix {finding.code} {finding.rule}"}
    words = finding.message
    if at.cell is not None:
        words = f"cell {at.cell_number}, line {at.line}: {words}"
        fields |= {"file": at.path}
    else:
        fields |= {"file": at.path, "line": str(at.line), "endLine": str(at.end_line)}
        if at.line == at.end_line:
            fields |= {"col": str(at.column), "endColumn": str(max(at.column, at.end_column - 1))}
    listed = ",".join(f"{name}={_property(value)}" for name, value in fields.items())
    return f"::{'error' if grave else 'warning'} {listed}::{_message(f'{words} ({result.outcome}: {result.reason})')}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
