"""What was told of a module is not told again for each further program that imports it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

from dnnfix.records import FileReport, FindingOutcome, FindingResult
from dnnfix.source.diff import module_path

_BEST = (FindingOutcome.REPAIRED, FindingOutcome.PARTIAL, FindingOutcome.UNDECIDED)
"""Ends of a finding that offer more than another program's, best first."""

_Key = tuple[str, int, int, str]


@dataclass
class Told:
    """The findings that were told, by file, place and kind: how they ended, and for which program."""

    _known: dict[_Key, tuple[int, str]] = field(default_factory=dict)

    def once(self, report: FileReport) -> FileReport:
        """The report without findings in modules that were told for another program with as good an end, and a note of them."""
        kept: list[FindingResult] = []
        before: dict[str, int] = {}
        for result in report.findings:
            key, worth = _key(report, result), _worth(report, result)
            known, program = self._known.get(key, (-1, ""))
            if result.finding.site.path and worth <= known and program != report.path:
                before[program] = before.get(program, 0) + 1
                continue
            kept.append(result)
            if worth > known:
                self._known[key] = worth, report.path
        if not before:
            return report
        named = {name for result in kept for name in result.patches}
        of_others = {name for result in report.findings if result not in kept for name in result.patches} - named
        patches = tuple(patch for patch in report.patches if patch.id not in of_others)
        said = tuple(
            f"{_findings(n)} in modules beside it told for {program} are left out" for program, n in before.items()
        )
        return replace(report, findings=tuple(kept), patches=patches, notes=(*report.notes, *said))


def _key(report: FileReport, result: FindingResult) -> _Key:
    site = result.finding.site
    file = os.path.normpath(module_path(report.path, site.path) if site.path else report.path)
    return file, site.line, site.column, result.finding.kind


def _worth(report: FileReport, result: FindingResult) -> int:
    """How much an end of a finding offers: a patch that was proven, a part of one, several, one by reading alone, or none."""
    if result.outcome in _BEST:
        return len(_BEST) + 1 - _BEST.index(result.outcome)
    return int(any(patch.not_run for patch in report.patches if patch.id in result.patches))


def _findings(number: int) -> str:
    return f"{number} finding{'' if number == 1 else 's'}"
