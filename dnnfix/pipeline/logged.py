"""What a long run has shown, in the report: evidence for what is found, or a finding that no patch can be proven for.

A patch rests on short runs alone. What was seen in the log says where to look, and is never a proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dnnfix.records import (
    UNLEARNED_CODE,
    UNLEARNED_RULE,
    Family,
    FileReport,
    Finding,
    FindingOutcome,
    FindingResult,
    Json,
    Site,
    Trace,
)
from dnnfix.source.program import Source

if TYPE_CHECKING:
    from dnnfix.config import Settings
    from dnnfix.watching.log import Seen, SymptomLog


def with_log(report: FileReport, log: SymptomLog, source: Source, trace: Trace, settings: Settings) -> FileReport:
    """The report, in which findings name what the long run has shown of them; what none of them is about is one more."""
    from dnnfix.pipeline.remarks import wanted

    results: list[FindingResult] = []
    known: set[str] = set()
    for result in report.findings:
        own = [seen for seen in log.seen if _is_of(result.finding, seen)]
        known |= {seen.reading.name for seen in own}
        results.append(replace(result, finding=_with_evidence(result.finding, own)) if own else result)
    left = [seen for seen in log.seen if seen.reading.name not in known]
    steps = f"the log of symptoms {log.path}, of a run of {log.steps} steps, shows"
    if not log.seen:
        return replace(report, notes=(*report.notes, f"{steps} none"))
    if left and not any(result.finding.code == UNLEARNED_CODE for result in results):
        finding = _with_evidence(_finding(left, source, trace), left)
        if wanted(finding, source, settings):
            results.append(FindingResult(finding, FindingOutcome.DECLINED, _reason(left[0], results)))
    return replace(report, findings=tuple(results))


def _is_of(finding: Finding, seen: Seen) -> bool:
    """Whether a finding of the short runs and a symptom of the long one show the same."""
    named = finding.evidence.get("symptoms")
    if isinstance(named, Sequence) and seen.reading.name in named:
        return True
    return finding.symptom is seen.reading.symptom


def _with_evidence(finding: Finding, seen: Sequence[Seen]) -> Finding:
    first = seen[0]
    said = f"{finding.message}; seen in the log at step {first.step}: {first.reading.said}"
    log: list[Json] = [_entry(one) for one in seen]
    return replace(finding, message=said, evidence={**finding.evidence, "log": log})


def _entry(seen: Seen) -> Mapping[str, Json]:
    entry: dict[str, Json] = {"step": seen.step, "symptom": seen.reading.name, "said": seen.reading.said}
    return entry | {name: value for name, value in (("where", seen.where), ("place", seen.place)) if value}


def _finding(seen: Sequence[Seen], source: Source, trace: Trace) -> Finding:
    from dnnfix.synthesize.at_training import site_of_training

    first = next((one for one in seen if one.file and one.line), seen[0])
    lines = source.text.count("\n") + 1
    is_here = first.line is not None and first.file == source.path.replace("\\", "/").rpartition("/")[2]
    site = site_of_training(trace)
    if is_here and first.line is not None and first.line <= lines and first.where:
        site = Site(first.line, 1, first.line, len(source.text.splitlines()[first.line - 1]) + 1)
    names: list[Json] = list(dict.fromkeys(one.reading.name for one in seen))
    return Finding(
        UNLEARNED_CODE,
        UNLEARNED_RULE,
        Family.OPINIONATED,
        site,
        f"a long run of the program shows {', '.join(map(str, names))}",
        seen[0].reading.symptom,
        0.6,
        {"symptoms": names},
    )


def _reason(first: Seen, results: Sequence[FindingResult]) -> str:
    said = f"seen at step {first.step} of the long run; the short runs do not show it, so that no patch for it can be proven"
    if any(result.outcome is FindingOutcome.REPAIRED for result in results):
        return f"{said}. A patch for another finding was proven: train again with it"
    return said
