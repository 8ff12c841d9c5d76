"""Reports for a person at a terminal: the site, the message, the evidence, the patch and what proved it."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import replace

from dnnfix.emit.choice import independent
from dnnfix.emit.contract import devices, sandbox, unchecked
from dnnfix.emit.sparkline import BLOCKS, sparkline
from dnnfix.emit.values import effect_text, is_unknown, value_text
from dnnfix.emit.view import View, columns, one_line, place, printable, view
from dnnfix.records import (
    CRASH_CAUSE,
    FileReport,
    Finding,
    FindingOutcome,
    FindingResult,
    ModelUse,
    Nature,
    Patch,
    PatchVerdict,
    Report,
    Status,
    Symptom,
)
from dnnfix.records.record import record

FRAME = 2
"""Lines shown above a site."""
MAX_FRAME_LINES = 6
"""Lines of a long site that are shown and underlined."""
CHOOSE = "not proven to be what was meant: fix --interactive takes it"
"""What is said of each choice."""
CURVE = 24
"""Characters of a curve."""
MAX_CODE = 200
"""Columns of a frame where the output is no terminal, whose width it has else."""
MIN_ROOM = 20
"""Columns that words and code are given on the narrowest terminal."""
TAB = 4
"""Columns of a tab."""
CUT = "..."
"""What stands for the parts of a line of code that are not shown."""
MAX_LINE = 160
"""Characters of a line of facts before it is cut."""

WHY_UNSAFE = {"unsafe": "unsafe: it changes what is trained", "safe": "safe: the meaning is kept"}
"""What the applicability of a patch means."""


@record
class Palette:
    """What a terminal can show: escape sequences for the parts of a report, all empty where colour is unwanted."""

    bold: str = ""
    red: str = ""
    green: str = ""
    yellow: str = ""
    cyan: str = ""
    dim: str = ""
    off: str = ""
    levels: str = BLOCKS
    """The heights that curves are drawn in."""
    width: int = 0
    """The columns of a terminal, in which words are wrapped and code is cut around its site; 0 elsewhere. Diffs are left whole."""


COLOURS = Palette("\033[1m", "\033[31m", "\033[32m", "\033[33m", "\033[36m", "\033[2m", "\033[0m")
PLAIN = Palette()


def file_text(file: FileReport, seen: View, palette: Palette = PLAIN, verbose: bool = False) -> str:
    """The report of one file; empty where there is nothing to report. A patch for several findings is shown once."""
    blocks: list[str] = []
    shown: set[str] = set()
    if file.through:
        blocks.append(
            f"{palette.bold}{one_line(file.path)}{palette.off}: has no program of its own; "
            f"it was run in {one_line(file.through)}, which uses it"
        )
    if file.reproduction.steps or file.reproduction.missing:
        blocks.append("\n".join(_reproduction(file, palette)))
    for result in file.findings:
        blocks.append("\n".join(_finding(file, result, seen, palette, verbose, shown)))
    if file.model is not None:
        blocks.append(model_text(file.model, palette))
    if file.notes and (verbose or file.findings or file.unrun):
        texts = [printable(f"{one_line(file.path)}: {note}") for note in file.notes]
        blocks.append("\n".join(hanging(f"{palette.dim}note{palette.off}  ", 6, text, palette) for text in texts))
    return "".join(f"{block}\n\n" for block in blocks)


def model_text(use: ModelUse, palette: Palette = PLAIN) -> str:
    """What a language model was asked, and what that took; or what it would be."""
    name = f"{one_line(use.model) or 'no model'} at {one_line(use.host) or 'no host'}"
    if use.prompt:
        price = f", {use.cost:.4f} dollars at most" if use.cost else ""
        head = f"would ask {name}: a prompt of about {use.prompt_tokens} tokens{price}"
        return f"{hanging(f'{palette.dim}model{palette.off} ', 6, head, palette)}\n\n{printable(use.prompt)}"
    price = f", {use.cost:.4f} dollars" if use.cost else ""
    said = (
        f"{name}: {_count(use.answers, 'answer')} ({use.cached} kept from before, {use.malformed} malformed), "
        f"{_count(use.candidates, 'different edit')}, {use.asked_tokens} + {use.answered_tokens} tokens{price}"
    )
    rows = [said if use.answers else f"{name} gave no answer", *map(printable, use.remarks)]
    return "\n".join(hanging(f"{palette.dim}model{palette.off} ", 6, row, palette) for row in rows)


def _reproduction(file: FileReport, palette: Palette) -> Iterator[str]:
    """What was made up so that the program runs, and what is still missing; never part of a patch."""
    name = f"{palette.bold}{one_line(file.path)}{palette.off}"
    reproduction = file.reproduction
    if reproduction.steps:
        yield f"{name}: does not run as it stands; it was run in a scaffold, which is no part of any patch:"
    else:
        yield f"{name}: does not run as it stands:"
    for step in reproduction.steps:
        yield _row("made", printable(str(step)), palette.cyan, palette)
    for missing in reproduction.missing:
        yield _row("missing", printable(missing), palette.yellow, palette)


def paragraphs(text: str, palette: Palette) -> str:
    """Prose whose paragraphs and lists fill the lines of a terminal; what else is indented stays as it is."""
    return "\n\n".join(_paragraph(block, palette) for block in text.split("\n\n"))


def _paragraph(block: str, palette: Palette) -> str:
    if not re.search(r"^[^\w`(\"]", block, re.MULTILINE):
        return hanging("", 0, block, palette)
    items = re.split(r"^- ", block, flags=re.MULTILINE)
    if items[0] or re.search(r"\n(?!  \S)", "".join(item.rstrip() for item in items)):
        return block
    return "\n".join(hanging("- ", 2, item.rstrip(), palette) for item in items[1:])


def _row(label: str, text: str, colour: str, palette: Palette) -> str:
    """What a report says under a label, on one line, or on a terminal on as many as it takes."""
    return hanging(f"  {colour}{label}{palette.off}{' ' * max(11 - len(label), 1)}", 13, text, palette)


def hanging(head: str, indent: int, text: str, palette: Palette) -> str:
    """Text behind a head that takes so many columns; on a terminal it is wrapped and goes on below its own beginning."""
    room = palette.width - indent
    if not palette.width or columns(text) <= room:
        return f"{head}{text}"
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".lstrip()
        if lines[-1] and columns(longer) > max(room, MIN_ROOM):
            lines.append(word)
        else:
            lines[-1] = longer
    return head + f"\n{' ' * indent}".join(lines)


def summary(report: Report, palette: Palette = PLAIN, static: bool = False, applied: int | None = None) -> str:
    """The last lines of a report: the counts, then always what was not checked. `applied` is a number of patches."""
    counts = {outcome: 0 for outcome in FindingOutcome}
    for _, result in report.findings():
        counts[result.outcome] += 1
    total = sum(counts.values())
    files = _count(len(report.files), "file")
    if total:
        parts = [f"{number} {outcome}" for outcome, number in counts.items() if number and not static]
        ends = f": {', '.join(parts)}" if parts else ""
        line = f"{palette.bold}Found {_count(total, 'problem')} in {files}{palette.off}{ends}."
        line += _same_crash(report, total)
        if applied is not None:
            line += f" {_count(applied, 'patch', 'patches') if applied else 'No patch'} applied."
    elif report.files and all(file.unrun for file in report.files):
        line = f"No problems found by reading {files}."
    elif report.files:
        line = f"No problems found in {files}, as far as was checked."
    else:
        line = "Nothing was checked."
    if report.errors:
        line += f" {palette.red}{_count(len(report.errors), 'input')} could not be analysed.{palette.off}"
    unrun = sum(file.unrun for file in report.files)
    if unrun:
        line += f" {palette.red}{_count(unrun, 'program')} could not be run.{palette.off}"
    if (tier := sandbox(report)) is not None:
        line += f" Sandbox: {tier}."
    if (on := devices(report)) not in ([], ["cpu"]):
        line += f" Device: {', '.join(map(str, on))}."
    if not report.files:
        return f"{line}\n"
    missing = unchecked(replace(report, errors=()))
    listed = _list("Not checked: ", missing or ["nothing beyond the rules that are on"], palette)
    return "\n".join([line, *listed]) + "\n"


def _same_crash(report: Report, total: int) -> str:
    """How many of the findings are rival explanations of one crash, where there are several."""
    numbers = [sum(one.finding.cause == CRASH_CAUSE for one in file.findings) for file in report.files]
    numbers = [number for number in numbers if number > 1]
    if not numbers:
        return ""
    same = sum(numbers)
    which = f"{same} of them" if same < total else "Both" if same == 2 else f"All {same}"
    return f" {which} are about {'one crash' if len(numbers) == 1 else f'{len(numbers)} crashes'}."


def unmigrated(places: list[str]) -> str:
    """The list of everything in old programs that could not be migrated; empty where nothing is left."""
    if not places:
        return ""
    return "\n".join([f"Not migrated, {_count(len(places), 'place')}:", *(f"  {printable(p)}" for p in places), "", ""])


def _count(number: int, noun: str, nouns: str = "") -> str:
    return f"{number} {noun if number == 1 else nouns or f'{noun}s'}"


def _list(title: str, items: list[str], palette: Palette) -> Iterator[str]:
    limit = 8
    for number, item in enumerate(items[:limit]):
        yield hanging(title if number == 0 else " " * len(title), len(title), printable(item), palette)
    if len(items) > limit:
        yield f"{' ' * len(title)}and {len(items) - limit} more (all with --output-format json)"


def _finding(
    file: FileReport, result: FindingResult, seen: View, palette: Palette, verbose: bool, shown: set[str]
) -> Iterator[str]:
    finding = result.finding
    at = place(file, finding.site, seen)
    yield f"{palette.bold}{one_line(str(at))}{palette.off}: {palette.red}{finding.code}{palette.off} {finding.rule}{_nature(finding)}"
    yield hanging("  ", 2, printable(finding.message), palette)
    if _beaten(file, result) and not verbose:
        yield _row(result.outcome, printable(result.reason), palette.yellow, palette)
        return
    if not finding.site.path:
        yield from frame(finding, seen, palette)
    elif (module := file.modules.get(finding.site.path)) is not None:
        yield from frame(finding, view(module, finding.site.path), palette)
    facts = _facts(finding)
    if facts:
        yield _row("observed" if file.runs else "evidence", facts, palette.cyan, palette)
    patches = [patch for name in result.patches for patch in file.patches if patch.id == name]
    offered = (FindingOutcome.REPAIRED, FindingOutcome.PARTIAL)
    best = patches[0] if patches and result.outcome in offered else None
    if result.outcome is FindingOutcome.DECLINED:
        best = next(filter(_is_proposed, patches), None)
    if best is not None and best.id in shown:
        yield _ending(best, f"by the patch shown above: {printable(best.candidate.title)}", palette)
    elif best is not None:
        above = [patch for patch in file.patches if patch.id in shown]
        shown.add(best.id)
        yield from _repair(best, palette, not independent(file, best, above), verbose)
    elif result.reason not in file.unchecked:  # else the last lines say it for all findings at once
        yield _row(result.outcome, printable(result.reason), palette.yellow, palette)
    choices = [patch for patch in patches if patch.verdict is PatchVerdict.CHOICE] if best is None else []
    for number, patch in enumerate(choices, 1):
        yield _row(f"choice {number}", f"{printable(patch.candidate.title)} ({CHOOSE})", palette.yellow, palette)
        yield from diff_lines(patch.diff, palette)
    yield from _others([patch for patch in patches if patch not in choices], best, palette, verbose)


def _nature(finding: Finding) -> str:
    """What a finding is if it is no fault, in brackets."""
    return "" if finding.nature is Nature.FAULT else f" ({finding.nature})"


def _beaten(file: FileReport, result: FindingResult) -> bool:
    """Whether a finding explains a crash in another way than the one that a patch was proven for."""
    if result.finding.cause != CRASH_CAUSE or result.outcome is FindingOutcome.REPAIRED:
        return False
    return any(
        other.finding.cause == CRASH_CAUSE and other.outcome is FindingOutcome.REPAIRED for other in file.findings
    )


def frame(finding: Finding, seen: View, palette: Palette = PLAIN) -> Iterator[str]:
    """The lines around a site, numbered, with the site underlined."""
    site = finding.site
    last = min(site.end_line, site.line + MAX_FRAME_LINES - 1)
    width = len(str(seen.locate(last)[1]))
    room = max((palette.width or MAX_CODE) - width - 5, MIN_ROOM)
    cell = seen.locate(site.line)[0]
    for number in range(max(1, site.line - FRAME), last + 1):
        text = seen.line(number)
        own, label = seen.locate(number)
        if own != cell or (number < site.line and not text.strip()):
            continue
        start = end = 0
        if site.line <= number:
            start = site.column - 1 if number == site.line else len(text) - len(text.lstrip())
            end = max(site.end_column - 1 if number == site.end_line else len(text.rstrip()), start + 1)
        start, end = (len(text[:place].expandtabs(TAB)) for place in (start, end))
        shown, start, end = _around(printable(text.expandtabs(TAB)), start, end, room)
        yield f"  {palette.dim}{label:>{width}} |{palette.off} {shown}"
        if site.line <= number:
            blanks, carets = " " * columns(shown[:start]), "^" * max(1, columns(shown[start:end]))
            yield f"  {' ' * width} {palette.dim}|{palette.off} {blanks}{palette.red}{carets}{palette.off}"
    if site.end_line > last:
        yield f"  {' ' * width} {palette.dim}| ({site.end_line - last} more lines){palette.off}"


def _around(line: str, start: int, end: int, room: int) -> tuple[str, int, int]:
    """The part of a line around a site that so many columns have room for, and where the site is in it."""
    if columns(line) <= room:
        return line, start, end
    room -= 2 * len(CUT)
    first = 0
    if columns(line[:end]) > room:
        first = max(0, start - min(room // 3, max(room - (end - start), 0)))
    end_fits = bisect_left(range(len(line)), -room, key=lambda at: -columns(line[at:]))
    first = min(first, end_fits)
    last = first + bisect_right(range(1, len(line) - first + 1), room, key=lambda n: columns(line[first : first + n]))
    head, tail = CUT if first else "", CUT if last < len(line) else ""
    moved = len(head) - first
    return f"{head}{line[first:last]}{tail}", start + moved, min(end, last) + moved


def _facts(finding: Finding) -> str:
    parts = [] if finding.symptom is Symptom.NONE_OBSERVED else [finding.symptom.value]
    facts = ", ".join(f"{name} {value_text(value)}" for name, value in finding.evidence.items())
    return _cut(printable("; ".join([*parts, facts] if facts else parts)))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_LINE else f"{text[: MAX_LINE - 3]}..."


def _repair(patch: Patch, palette: Palette, rival: bool, verbose: bool) -> Iterator[str]:
    kind = WHY_UNSAFE.get(patch.candidate.applicability.value, "for reading only: it is never applied")
    kind += "; to be taken instead of a repair above, not with it" if rival else ""
    yield _ending(patch, f"{printable(patch.candidate.title)} ({kind})", palette)
    yield from diff_lines(patch.diff, palette)
    label = "unproven" if _is_proposed(patch) else "remains" if patch.remains else "proven"
    yield _row(label, verdict_line(patch), palette.yellow if _is_proposed(patch) else palette.cyan, palette)
    for unseen, said in unshown(patch):
        yield _row(unseen, said, palette.yellow, palette)
    if verbose:
        for verdict in patch.verdicts:
            said = f"{verdict.rung}, {verdict.validator}: {verdict.status.value}, {printable(verdict.reason)}"
            yield hanging("    ", 6, said, palette)
    effects = [effect_text(name, value) for name, value in patch.side_effects.items() if not is_unknown(value)]
    if effects:
        yield _row("effects", printable(", ".join(effects)), palette.cyan, palette)
    drawn = _curves(patch, palette)
    if drawn:
        yield _row("curves", drawn, palette.cyan, palette)
    if patch.certificate:
        yield f"  {palette.dim}certificate {printable(patch.certificate)}{palette.off}"


def _curves(patch: Patch, palette: Palette) -> str:
    """The loss of one seed before the patch and with it, or its skill where that is known, each on one scale."""
    sides = [curve for curve in patch.curves if curve.seed == patch.curves[0].seed][:2]
    for name in ("skill", "loss"):
        values = [getattr(curve, name) for curve in sides]
        finite = [value for one in values for value in one if math.isfinite(value)]
        if len(values) == 2 and all(values) and finite:
            before, after = (sparkline(one, CURVE, min(finite), max(finite), palette.levels) for one in values)
            return f"{name} {before} before, {after} after (seed {sides[0].seed})"
    return ""


def _ending(patch: Patch, text: str, palette: Palette) -> str:
    """How the findings of a patch that is offered ended, and what that patch is."""
    if patch.verdict is PatchVerdict.PARTIAL:
        return _row("partial", text, palette.yellow, palette)
    if _is_proposed(patch):
        return _row("proposed", text, palette.yellow, palette)
    return _row("repaired", text, palette.green, palette)


def _is_proposed(patch: Patch) -> bool:
    """Whether a patch was run, and shown as it is by reading alone: the run did not come to it."""
    return patch.verdict is PatchVerdict.UNVALIDATED and bool(patch.not_run and patch.diff)


def diff_lines(diff: str, palette: Palette = PLAIN) -> Iterator[str]:
    """A diff, indented and coloured."""
    lines = diff.replace("\r\n", "\n").split("\n")  # what else ends a line for Python stands in one of these
    for line in lines if lines[-1] else lines[:-1]:
        colour = {"+": palette.green, "-": palette.red, "@": palette.cyan}.get(line[:1], "")
        yield f"    {colour}{printable(line.encode('utf-8', 'replace').decode())}{palette.off if colour else ''}"


TOLD = ("runs", "same-as-before", "learns", "user-tests-pass")
"""Validators whose reasons a reader wants to see; of the others the rungs are named."""


def verdict_line(patch: Patch) -> str:
    """What the ladder said of a patch in one line, behind the language model that wrote it, if one did."""
    author = f"written by the language model {one_line(patch.candidate.author)}; " if patch.candidate.author else ""
    return author + _judgement(patch)


def _judgement(patch: Patch) -> str:
    """What the runs of a patch showed, and the rungs that it passed."""
    if patch.verdict is PatchVerdict.UNVALIDATED:
        return f"not validated: {printable(patch.not_run) or 'nothing was run'}"
    if patch.verdict is PatchVerdict.PARTIAL:
        return printable(f"removes this fault; {patch.remains}")
    refusal = patch.refusal
    if refusal is not None:
        return _cut(printable(f"{refusal.validator} ({refusal.rung}) {refusal.status}: {refusal.reason}"))
    passed = [verdict for verdict in patch.verdicts if verdict.status is Status.PASS]
    told = [verdict.reason for verdict in passed if verdict.validator in TOLD]
    told += [
        v.reason
        for v in patch.verdicts
        if v.status is Status.NOT_APPLICABLE and v.validator in TOLD and "after" in v.measured
    ]
    rungs = ", ".join(dict.fromkeys(verdict.rung for verdict in passed))
    return printable(f"{'; '.join(told)}{'; ' if told else ''}passed {rungs}")


def unshown(patch: Patch) -> tuple[tuple[str, str], ...]:
    """What the runs of a patch did not show, each under its label: parts of it that did not run, and places that are left."""
    not_run = patch.not_run if patch.verdict is not PatchVerdict.UNVALIDATED else ""
    said = (("unproven", not_run), ("left", patch.left))
    return tuple((label, printable(text)) for label, text in said if text)


def _others(patches: list[Patch], best: Patch | None, palette: Palette, verbose: bool) -> Iterator[str]:
    rest = [patch for patch in patches if patch is not best]
    if not rest:
        return
    kinds = ", ".join(
        f"{number} {verdict}" for verdict in PatchVerdict if (number := sum(p.verdict is verdict for p in rest))
    )
    counted = _count(len(rest), "other candidate" if best is not None else "candidate")
    hint = "" if verbose else " (-v shows each)"
    yield _row("also" if best is not None else "tried", f"{counted}: {kinds}{hint}", palette.dim, palette)
    if verbose:
        for patch in rest:
            yield hanging("  - ", 4, f"{patch.id}: {printable(patch.candidate.title)}; {verdict_line(patch)}", palette)
            yield from diff_lines(patch.diff, palette)
