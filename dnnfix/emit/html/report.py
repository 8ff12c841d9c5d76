"""Everything that a report says, as the page's template takes it: findings by file, each with what belongs to it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from dnnfix import __version__
from dnnfix.emit.choice import independent
from dnnfix.emit.contract import devices, sandbox, unchecked
from dnnfix.emit.html import charts, graph
from dnnfix.emit.html.changes import FileChange, changes, encoded
from dnnfix.emit.html.code import Frame, Piece, coloured, frame
from dnnfix.emit.html.page import part, render
from dnnfix.emit.text import CHOOSE, WHY_UNSAFE, unshown, verdict_line
from dnnfix.emit.values import SHOWN, is_unknown, scaled, value_text
from dnnfix.emit.view import View, place, view
from dnnfix.records import (
    RUNGS,
    Ablation,
    FileReport,
    FindingOutcome,
    FindingResult,
    Json,
    Origin,
    Patch,
    PatchVerdict,
    Report,
    Site,
    Status,
    Symptom,
    Verdict,
)
from dnnfix.records.record import record

ASKS = {
    "parse": "Does it compile, and does the diff apply?",
    "run": "Is the crash gone, and does nothing new go wrong?",
    "shapes": "Do shapes agree, for more than one batch size?",
    "property": "Is what was observed gone?",
    "learn": "Does it train as it should, seed by seed, beside the original?",
    "honest": "Did it not win by cheating?",
    "harmless": "Do tests pass, and what else changes?",
}
"""What each rung of the ladder asks."""

ROLES = {
    "failing": "stopped here",
    "statement": "in the same statement",
    "caller": "called from here",
    "definition": "the value was made here",
    "constructor": "a layer on the way was made here",
    "source": "the data came from here",
}

COSTS = frozenset({"step_seconds", "peak_memory", "parameters"})
"""Side effects of which the share tells more than the difference."""

CUT = 400
"""Characters of a measured value that are shown."""


@record
class Rung:
    """One step of the ladder, with what each of its judges said."""

    name: str
    asks: str
    state: str
    verdicts: tuple[Verdict, ...] = ()
    seconds: float = 0.0


@record
class Effect:
    """What a patch changes beside the fault."""

    name: str
    before: str
    after: str
    change: str = ""


@record
class PatchView:
    """A patch as it is shown."""

    key: str
    id: str
    title: str
    verdict: str
    kind: str
    line: str
    files: tuple[FileChange, ...]
    bytes: str
    rungs: tuple[Rung, ...]
    effects: tuple[Effect, ...]
    charts: tuple[charts.Chart, ...]
    ablation: tuple[Ablation, ...]
    certificate: str
    seeds: int = 0
    finish: str = ""
    unshown: tuple[tuple[str, str], ...] = ()
    """What the runs did not show, each under its label."""


@record
class FindingView:
    """A finding as it is shown. `above` is the key of the finding at which its patch is shown."""

    key: str
    code: str
    rule: str
    family: str
    where: str
    at: str
    """The same in short, for a list of the file's findings."""
    message: str
    outcome: str
    reason: str
    symptom: str
    confidence: str
    frame: Frame | None
    facts: tuple[tuple[str, str], ...]
    best: PatchView | None
    above: str
    others: tuple[PatchView, ...]
    raced: tuple[tuple[str, str], ...] = ()
    """Edits of settings that were raced, and the skill that training came to with each."""


@record
class OriginView:
    """A line of a crash's slice."""

    line: int
    path: str
    pieces: tuple[Piece, ...]
    said: str
    held: tuple[str, ...]
    failing: bool


@record
class FileView:
    """One program with all that is said of it."""

    key: str
    report: FileReport
    findings: tuple[FindingView, ...]
    network: graph.Drawing | None
    origins: tuple[OriginView, ...]
    layers: tuple[charts.Chart, ...]
    seconds: float


def page(report: Report, views: Mapping[str, View], cache: Path | None = None, *, static: bool = False) -> str:
    """The report as the text of one HTML page. `views` are those of its files by path; `cache` keeps the bundled chart library."""
    files = tuple(
        _file(number, file, views.get(file.path, View()))
        for number, file in enumerate(report.files, 1)
        if file.findings or file.unrun or file.notes or file.through
    )
    counts = {outcome: 0 for outcome in FindingOutcome}
    for _, result in report.findings():
        counts[result.outcome] += 1
    curves = any(patch.curves for _, patch in report.patches()) or any(file.layers for file in report.files)
    library = charts.library(cache) if curves else ""
    return render(
        "report.html.j2",
        (library, part("charts.js")) if library else (),
        evaluates=bool(library),
        drawn_curves=bool(library),
        files=files,
        checked=len(report.files),
        total=sum(counts.values()),
        counts={outcome.value: number for outcome, number in counts.items() if number and not static},
        static=static,
        errors=report.errors,
        unchecked=unchecked(replace(report, errors=())),
        unrun=sum(file.unrun for file in report.files),
        version=__version__,
        sandbox=sandbox(report),
        devices=devices(report),
        runs=sum(len(file.runs) for file in report.files),
        seconds=sum(run.seconds for file in report.files for run in file.runs),
        measured=measured,
    )


def _file(number: int, file: FileReport, seen: View) -> FileView:
    lines = coloured("\n".join(seen.lines)) if file.findings or file.slice else []
    modules = {name: view(raw, name) for name, raw in file.modules.items()} if file.trace is not None else {}
    texts = {"": (seen, lines), **{name: (one, coloured("\n".join(one.lines))) for name, one in modules.items()}}
    shown: dict[str, str] = {}
    findings = tuple(
        _finding(f"f{number}-{place}", file, result, texts, shown) for place, result in enumerate(file.findings, 1)
    )
    return FileView(
        f"f{number}",
        file,
        findings,
        graph.drawing(file.trace, [result.finding for result in file.findings]) if file.trace is not None else None,
        tuple(_origin(origin, texts) for origin in file.slice),
        charts.of_layers(file.layers),
        sum(run.seconds for run in file.runs),
    )


Texts = Mapping[str, tuple[View, list[tuple[Piece, ...]]]]
"""The program and the modules beside it: as they were analysed, and coloured; by their paths, the program's empty."""


def _finding(key: str, file: FileReport, result: FindingResult, texts: Texts, shown: dict[str, str]) -> FindingView:
    finding, site = result.finding, result.finding.site
    patches = [patch for name in result.patches for patch in file.patches if patch.id == name]
    offered = patches and result.outcome in (FindingOutcome.REPAIRED, FindingOutcome.PARTIAL)
    best = patches[0] if offered else None
    above = shown.get(best.id, "") if best is not None else ""
    made = None
    if best is not None and not above:
        rival = not independent(file, best, [patch for patch in file.patches if patch.id in shown])
        made = _patch(f"{key}-p0", best, rival)
        shown[best.id] = key
    others = [patch for patch in patches if patch is not best]
    seen, lines = texts.get(site.path, (View(), []))
    at = place(file, site, texts[""][0])
    raced = finding.evidence.get("raced")
    tried = raced if isinstance(raced, Mapping) else {}
    told = {name: value for name, value in finding.evidence.items() if name != "raced" or not tried}
    facts = [(name.replace("_", " "), _cut(value_text(value))) for name, value in told.items()]
    return FindingView(
        key,
        finding.code,
        finding.rule,
        finding.family.value.replace("-", " "),
        str(at),
        f"cell {at.cell}, line {at.line}" if at.cell is not None else f"line {at.line}",
        finding.message,
        result.outcome.value,
        result.reason,
        "" if finding.symptom is Symptom.NONE_OBSERVED else finding.symptom.value.replace("-", " "),
        f"{finding.confidence:.0%}",
        frame(site, seen, lines) if seen.lines else None,
        tuple(facts),
        made,
        above,
        tuple(_patch(f"{key}-p{number}", patch) for number, patch in enumerate(others, 1)),
        tuple((title, value_text(came)) for title, came in tried.items()),
    )


def _patch(key: str, patch: Patch, rival: bool = False) -> PatchView:
    kind = WHY_UNSAFE.get(patch.candidate.applicability.value, "for reading only: it is never applied")
    if patch.verdict is PatchVerdict.CHOICE:
        kind = CHOOSE
    elif rival:
        kind += "; to be taken instead of a repair above, not with it"
    return PatchView(
        key,
        patch.id,
        patch.candidate.title,
        patch.verdict.value,
        kind,
        verdict_line(patch),
        changes(patch.diff),
        encoded(patch.diff),
        tuple(_rungs(patch)),
        tuple(_effects(patch.side_effects)),
        charts.of_patch(patch.curves),
        patch.ablation,
        patch.certificate or "",
        len({curve.seed for curve in patch.curves}),
        patch.remains,
        unshown(patch),
    )


def _rungs(patch: Patch) -> Iterator[Rung]:
    """The ladder as the patch climbed it; what it did not reach is there too. None for a patch that was not put up it."""
    if not patch.verdicts:
        return
    for name in RUNGS:
        own = tuple(verdict for verdict in patch.verdicts if verdict.rung == name)
        states = {verdict.status for verdict in own}
        order = (Status.FAIL, Status.INCONCLUSIVE, Status.PASS, Status.NOT_APPLICABLE)
        state = next((status.value for status in order if status in states), "not-reached")
        yield Rung(name, ASKS[name], state, own, sum(verdict.seconds for verdict in own))


def _effects(effects: Mapping[str, Json]) -> Iterator[Effect]:
    for name, value in effects.items():
        if is_unknown(value):
            continue
        words, factor, unit = SHOWN.get(name, (name.replace("_", " "), 1, ""))
        ends = (value.get("before"), value.get("after")) if isinstance(value, Mapping) else (None, value)
        told = ["–" if end is None else f"{scaled(end, factor)}{unit}" for end in ends]
        yield Effect(words, told[0], told[1], _change(*ends, factor, unit, name in COSTS))


def _change(before: Json, after: Json, factor: float, unit: str, is_cost: bool) -> str:
    """By how much a number changed: a cost by its share, another by the difference."""
    if isinstance(before, bool) or isinstance(after, bool):
        return ""
    if not isinstance(before, (int, float)) or not isinstance(after, (int, float)):
        return ""
    if not math.isfinite(before) or not math.isfinite(after):
        return ""
    if before == after or (is_cost and abs(after - before) < 0.005 * before):
        return "unchanged"
    if is_cost:
        return f"{(after - before) / before:+.0%}" if before > 0 else ""
    points = " points" if unit == " %" else unit
    return f"{(after - before) * factor:+.3g}{points}"


def _origin(origin: Origin, texts: Texts) -> OriginView:
    site: Site = origin.site
    _, lines = texts.get(site.path, (View(), []))
    seen = texts[""][0]
    cell, label = seen.locate(site.line) if not site.path else (None, site.line)
    where = site.path or (f"cell {seen.number(cell)}" if cell is not None else "")
    pieces = lines[site.line - 1] if 0 < site.line <= len(lines) else ()
    stripped = (Piece(pieces[0].text.lstrip(), pieces[0].kind), *pieces[1:]) if pieces else ()
    return OriginView(
        label, where, stripped, ROLES.get(origin.role, origin.role), origin.held, origin.role == "failing"
    )


def measured(verdict: Verdict) -> list[tuple[str, str]]:
    """The numbers of a verdict, for the page."""
    return [(name.replace("_", " "), _cut(value_text(value))) for name, value in verdict.measured.items()]


def _cut(text: str) -> str:
    return text if len(text) <= CUT else f"{text[: CUT - 1]}…"
