"""Scores the static part of dnnfix on originals: findings on lines that people changed, patches equal to their
repairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dnnfix.bench.originals.cache import Original
from dnnfix.bench.originals.questions import code_blocks
from dnnfix.bench.scoring import changed_lines
from dnnfix.config import Settings
from dnnfix.emit.hunks import replacements
from dnnfix.errors import DnnfixError
from dnnfix.pipeline import check_file
from dnnfix.records import FileReport
from dnnfix.source.diff import unified_diff

PROGRAMS = (".py", ".ipynb")


@dataclass(frozen=True, slots=True)
class Scored:
    """What the static part said of an original. `skipped` says why it could not be asked."""

    id: str
    skipped: str = ""
    findings: tuple[str, ...] = ()
    """The findings, as file, line and code."""
    at_change: int = 0
    """How many of them lie on a line that people changed; questions name none."""
    patches: int = 0
    equal: int = 0
    """How many patches write what people wrote."""


def score(original: Original, settings: Settings) -> Scored:
    """The score of one original."""
    if original.gone:
        return Scored(original.id, f"gone: {original.gone}")
    before, after = original.before or {}, original.after or {}
    if "question.html" in before:
        return _question(original.id, before["question.html"], after, settings)
    files = [path for path in before if path.endswith(PROGRAMS)]
    if not files:
        return Scored(original.id, "no Python before the change")
    return _sum(original.id, [_file(path, before[path], after.get(path, ""), settings) for path in files])


def _question(id: str, body: str, answers: Mapping[str, str], settings: Settings) -> Scored:
    program = "\n".join(code_blocks(body))
    if not program.strip():
        return Scored(id, "the question has no code")
    written = {
        "".join(line.split()) for text in answers.values() for block in code_blocks(text) for line in block.splitlines()
    }
    report = _checked("question.py", program, settings)
    if isinstance(report, str):
        return Scored(id, report)
    equal = 0
    for patch in report.patches:
        new = {"".join(line.decode().split()) for change in replacements(patch.diff) for line in change.new}
        equal += bool(new) and new <= written
    return Scored(id, "", tuple(_named(report)), 0, len(report.patches), equal)


def _file(path: str, before: str, after: str, settings: Settings) -> Scored:
    report = _checked(path, before, settings)
    if isinstance(report, str):
        return Scored(path, report)
    diff = unified_diff(before.encode(), after.encode(), path)
    lines = changed_lines(diff)
    human = dict(_by_line(diff))
    sites = [result.finding.site for result in report.findings]
    at_change = sum(bool(lines & set(range(site.line, site.end_line + 1))) for site in sites)
    equal = 0
    for patch in report.patches:
        mine = dict(_by_line(patch.diff))
        equal += bool(mine) and all(human.get(line) == new for line, new in mine.items())
    return Scored(path, "", tuple(_named(report)), at_change, len(report.patches), equal)


def _checked(path: str, program: str, settings: Settings) -> FileReport | str:
    try:
        return check_file(program.encode("utf-8", "replace"), path, settings)
    except DnnfixError as error:
        return str(error)


def _named(report: FileReport) -> Iterator[str]:
    for result in report.findings:
        yield f"{report.path}:{result.finding.site.line}: {result.finding.code}"


def _by_line(diff: str) -> Iterator[tuple[int, str]]:
    """What a diff writes in place of each line, blanks apart; an insertion stands at the line after it."""
    for change in replacements(diff):
        new = ["".join(line.decode("utf-8", "replace").split()) for line in change.new]
        if len(new) == len(change.old):
            yield from ((change.first + n, line) for n, line in enumerate(new))
        else:
            yield change.first, "\n".join(new)


def _sum(id: str, scores: list[Scored]) -> Scored:
    read = [one for one in scores if not one.skipped]
    return Scored(
        id,
        "" if read else scores[0].skipped,
        tuple(said for one in read for said in one.findings),
        sum(one.at_change for one in read),
        sum(one.patches for one in read),
        sum(one.equal for one in read),
    )
