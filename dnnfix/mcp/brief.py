"""Reports in few words: the answers that agents read, bounded in size, with what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

from dnnfix.emit import hunks
from dnnfix.emit.choice import applicable
from dnnfix.emit.text import unshown, verdict_line
from dnnfix.emit.view import View, place, plain
from dnnfix.mcp.answers import Found, Offered, Repaired, Settled
from dnnfix.records import FileReport, Finding, FindingOutcome, FindingResult, Patch, PatchVerdict

FINDINGS = 20
"""Findings of one answer."""
DIFF_LINES, DIFF_SIZE = 200, 20_000
"""Lines of all diffs of one answer, and their characters."""
CHOICES = 3
"""Patches of one program of which the intention decides."""
LINES, LINE = 10, 400
"""Entries of a list of sentences, and the characters of a sentence."""

_FIRST = (FindingOutcome.REPAIRED, FindingOutcome.PARTIAL, FindingOutcome.UNDECIDED)
_BEST = (PatchVerdict.ACCEPTED, PatchVerdict.PARTIAL, PatchVerdict.CHOICE, PatchVerdict.UNVALIDATED)


def whole(text: str) -> str:
    """A text in characters that JSON has: what programs hold may be none."""
    return str(plain(text))


def line(text: str, most: int = LINE) -> str:
    """A sentence that is not too long, in characters that JSON has."""
    shown = whole(text)
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."


@dataclass
class Room:
    """What an answer still has room for, and what it had none for."""

    findings: int = FINDINGS
    diff_lines: int = DIFF_LINES
    diff_size: int = DIFF_SIZE
    not_told: int = 0
    """How many findings there was no room for."""
    _left: list[str] = field(default_factory=list)

    @property
    def left_out(self) -> tuple[str, ...]:
        """What the answer leaves out, and how to get it."""
        narrower = "name a file or a smaller folder, or run dnnfix in a terminal"
        return (*([f"{self.not_told} findings: {narrower}"] if self.not_told else []), *self._left)

    def leave_out(self, what: str) -> None:
        """Say that something has no place in the answer."""
        self._left.append(line(what))

    def lines(self, texts: Iterable[str], of: str) -> tuple[str, ...]:
        """The first sentences, each once."""
        every = list(dict.fromkeys(texts))
        if len(every) > LINES:
            self.leave_out(f"{len(every) - LINES} further entries of {of}")
        return tuple(line(text) for text in every[:LINES])

    def told(self, results: Sequence[FindingResult]) -> Sequence[FindingResult]:
        """As many findings as there is room for."""
        taken = results[: self.findings]
        self.findings -= len(taken)
        self.not_told += len(results) - len(taken)
        return taken

    def diff(self, patch: Patch, path: str) -> str:
        """The diff, whole or not at all: a part of one could not be applied."""
        text = whole(patch.diff)
        lines = text.count("\n")
        if text != patch.diff:
            self.leave_out(
                f"the diff of {path}, which has bytes that are not UTF-8: `dnnfix suggest {path} --output-format diff` prints it"
            )
            return ""
        if lines > self.diff_lines or len(text) > self.diff_size:
            where = f"it stands in {patch.certificate} under patch.diff, and" if patch.certificate else "it"
            self.leave_out(
                f"the diff of {path} ({lines} lines, {len(text)} characters): {where} "
                f"is printed by `dnnfix suggest {path} --output-format diff`"
            )
            return ""
        self.diff_lines -= lines
        self.diff_size -= len(text)
        return text


def repaired(report: FileReport, seen: View, room: Room) -> Repaired:
    """What came of one program."""
    order = sorted(report.findings, key=lambda result: result.outcome not in _FIRST)
    every = list(_offered(report))
    offered = [patch for patch in every if not _leads_out(patch)]
    if len(offered) < len(every):
        room.leave_out(f"patches of modules of {report.path} that lie outside of the folder")
    shown = offered[: CHOICES if offered and offered[0].verdict is PatchVerdict.CHOICE else 1]
    if len(offered) > len(shown):
        room.leave_out(
            f"{len(offered) - len(shown)} further patches of {report.path}, for the same or other findings: apply one, then ask again"
        )
    return Repaired(
        path=line(report.path),
        through=line(report.through),
        ran=bool(report.runs) and not report.unrun,
        sandbox=report.sandbox,
        findings=tuple(_settled(report, result, seen) for result in room.told(order)),
        patches=tuple(_patch(patch, report.path, room) for patch in shown),
        made_up=room.lines((str(step) for step in report.reproduction.steps), f"what was made up for {report.path}"),
        unchecked=room.lines(report.unchecked, f"what was not checked of {report.path}"),
    )


def found(report: FileReport, finding: Finding, seen: View) -> Found:
    """A finding with its place."""
    at = place(report, finding.site, seen)
    return Found(
        code=finding.code,
        rule=finding.rule,
        path=line(at.path),
        line=at.line,
        cell=at.cell_number or None,
        nature=finding.nature,
        message=line(finding.message),
    )


def _settled(report: FileReport, result: FindingResult, seen: View) -> Settled:
    facts = asdict(found(report, result.finding, seen))
    return Settled(**facts, outcome=result.outcome, reason=line(result.reason))


def _offered(report: FileReport) -> Iterator[Patch]:
    """The patches that may be applied: those of the best verdict that there is, best first."""
    allowed = list(applicable(report, unproven=True, choices=True))
    for verdict in _BEST:
        if own := [patch for patch in allowed if patch.verdict is verdict]:
            yield from own
            return


def _leads_out(patch: Patch) -> bool:
    """Whether a patch changes a file that is not below the folder of the answer."""
    return any(name.startswith("../") for name in hunks.sections(patch.diff))


def _patch(patch: Patch, path: str, room: Room) -> Offered:
    is_choice = patch.verdict is PatchVerdict.CHOICE
    return Offered(
        verdict=patch.verdict,
        applicability=patch.candidate.applicability,
        title=line(patch.candidate.title),
        repairs=tuple(dict.fromkeys(finding.code for finding in patch.candidate.findings)),
        diff=room.diff(patch, path),
        proof=line(patch.refusal.reason if is_choice and patch.refusal is not None else verdict_line(patch)),
        not_shown=tuple(line(f"{label}: {said}") for label, said in unshown(patch)),
        certificate=whole(patch.certificate) if patch.certificate else None,
    )
