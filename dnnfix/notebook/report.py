"""The report on a notebook as a cell shows it: an object that Jupyter draws, and terminals print."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from dnnfix.emit.choice import applicable
from dnnfix.emit.contract import sandbox, unchecked
from dnnfix.emit.text import diff_lines, frame, verdict_line
from dnnfix.emit.view import place, printable, view
from dnnfix.notebook.changes import diff
from dnnfix.notebook.target import Target
from dnnfix.records import FileReport, Finding, FindingOutcome, FindingResult, Patch, PatchVerdict, Report
from dnnfix.records.record import record

if TYPE_CHECKING:
    from dnnfix.notebook.code import Row

MAX_PLACES = 5
"""Places of findings in other cells that are named."""

_KINDS = {
    "safe": "safe: the meaning is kept",
    "unsafe": "changes what is trained",
    "display-only": "for reading only",
}
_VERDICTS = {
    PatchVerdict.CHOICE: "a choice: not proven to be what was meant",
    PatchVerdict.PARTIAL: "partial",
    PatchVerdict.UNVALIDATED: "not proven: `suggest` runs it",
}

_MAGICS = re.compile(r"\bcell (\d+): notebook magics and shell commands were left out")


@record
class Offer:
    """A patch as it is offered with a finding; `again` says that it was shown in full further up."""

    patch: Patch
    kind: str
    proof: str
    diff: tuple[str, ...]
    applies: bool
    again: bool

    @property
    def id(self) -> str:
        """What the patch is called in this session, where patches of several reports are at hand: by what it changes."""
        return f"patch-{hashlib.sha256(self.patch.diff.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"

    @property
    def command(self) -> str:
        """What applies it."""
        return f"%dnnfix apply {self.id}"


@record
class Entry:
    """A finding with the patches that are offered for it. `reason` says why there are none."""

    finding: Finding
    where: str
    outcome: str
    reason: str
    offers: tuple[Offer, ...]


class NotebookReport:
    """What was found in a notebook, or in one of its cells. `repr` is text, and Jupyter shows HTML."""

    def __init__(self, target: Target, report: Report, static: bool) -> None:
        self.target = target
        self.report = report
        self.static = static
        self.file = report.files[0] if report.files else FileReport(target.path)
        self._seen = view(target.raw, target.path)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The findings to show: those of the cell that asks, if one does and nothing was run; else all."""
        shown: set[str] = set()
        return tuple(self._entry(result, shown) for result in self.file.findings if self._concerns(result))

    @cached_property
    def elsewhere(self) -> tuple[str, ...]:
        """The places of findings that are left out, since they are those of earlier cells."""
        results = (result for result in self.file.findings if not self._concerns(result))
        return tuple(dict.fromkeys(self._where(result.finding) for result in results))

    @cached_property
    def applicable(self) -> tuple[Offer, ...]:
        """The patches that are shown and can be applied."""
        return tuple(offer for entry in self.entries for offer in entry.offers if offer.applies and not offer.again)

    @property
    def headline(self) -> str:
        """How much was found."""
        where = self.target.path if self.target.is_file else "the cells executed so far"
        where = "this cell" if self.target.current and self.static else where
        number = len(self.entries)
        if not number:
            return f"No problems found in {where}, as far as was checked."
        return f"{number} {'problem' if number == 1 else 'problems'} in {where}."

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader has to know beside the findings."""
        said = [self.words(note) for note in self.file.notes if not _MAGICS.search(note)]
        if self.target.edited:
            cells = ", ".join(self.target.edited)
            said.insert(0, f"Looked at as it was saved: {cells} was run in another version. Save the notebook first.")
        if self.elsewhere:
            places = [*self.elsewhere[:MAX_PLACES], *(["and others"] if len(self.elsewhere) > MAX_PLACES else [])]
            said.insert(0, f"More in cells before it ({'; '.join(places)}): `%dnnfix check` shows it.")
        if (tier := sandbox(self.report)) is not None:
            said.append(f"Sandbox: {tier}.")
        return tuple(said)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """What was not checked, with all magics in one line: most notebooks have some."""
        texts = [text.replace("`dnnfix ", "`%dnnfix ") for text in unchecked(self.report) if not _MAGICS.search(text)]
        magics = [found[1] for text in unchecked(self.report) if (found := _MAGICS.search(text))]
        if magics:
            cells = ", ".join(map(self.target.called, magics))
            texts.append(f"magics and shell commands, which are left out: {cells}")
        return tuple(map(self.words, texts))

    def rows(self, finding: Finding) -> tuple[Row, ...]:
        """The code at a finding, as the HTML page needs it."""
        from dnnfix.notebook.code import rows

        return () if finding.site.path else tuple(rows(finding.site, self._seen))

    def words(self, text: str) -> str:
        """A text of the engine, with cells called as people call them rather than by their numbers alone."""
        called = re.sub(r"\bcell (\d+)", lambda found: self.target.called(found[1]), text)
        return printable(called)

    def __repr__(self) -> str:
        parts = ["\n".join(self._lines(entry)) for entry in self.entries]
        closing = [self.headline, *self.remarks, *(f"Not checked: {text}" for text in self.unchecked)]
        return "\n\n".join([*parts, "\n".join(closing)])

    def _repr_html_(self) -> str:
        from jinja2 import Environment, PackageLoader

        pages = Environment(loader=PackageLoader("dnnfix.notebook", ""), autoescape=True, trim_blocks=True)
        return pages.get_template("report.html").render(report=self)

    def _lines(self, entry: Entry) -> Iterator[str]:
        yield f"{entry.where}: {entry.finding.code} {entry.finding.rule}"
        yield f"  {self.words(entry.finding.message)}"
        if not entry.finding.site.path:
            yield from frame(entry.finding, self._seen)
        if entry.reason:
            yield f"  {entry.outcome:<10} {entry.reason}"
        for offer in entry.offers:
            if offer.again:
                yield f"  {entry.outcome:<10} by {offer.id}, shown above"
                continue
            yield f"  {entry.outcome:<10} {printable(offer.patch.candidate.title)} ({offer.kind})"
            yield from diff_lines("\n".join(offer.diff))
            if offer.proof:
                yield f"  {'proven':<10} {offer.proof}"
            if offer.applies:
                yield f"  {'apply':<10} {offer.command}"

    def _concerns(self, result: FindingResult) -> bool:
        if not (self.target.current and self.static):
            return True
        site = result.finding.site
        return not site.path and self._seen.locate(site.line)[0] == self.target.current

    def _where(self, finding: Finding) -> str:
        at = place(self.file, finding.site, self._seen)
        return f"{printable(at.path if at.cell is None else self.target.labels.get(at.cell, at.cell))}, line {at.line}"

    def _entry(self, result: FindingResult, shown: set[str]) -> Entry:
        offers = tuple(self._offer(patch, shown) for patch in self._offered(result))
        static = self.static or result.reason in self.file.unchecked  # what is said of all findings at once
        reason = "" if offers or static else self.words(result.reason)
        outcome = "proposed" if self.static else str(result.outcome)
        return Entry(result.finding, self._where(result.finding), outcome, reason, offers)

    def _offered(self, result: FindingResult) -> list[Patch]:
        """The patch that repairs a finding, or those that may: choices, or else the first that was not run."""
        by_id = {patch.id: patch for patch in self.file.patches}
        patches = [by_id[id] for id in result.patches if id in by_id]
        if result.outcome in (FindingOutcome.REPAIRED, FindingOutcome.PARTIAL):
            return patches[:1]
        choices = [patch for patch in patches if patch.verdict is PatchVerdict.CHOICE]
        return choices or [p for p in patches if p.verdict is PatchVerdict.UNVALIDATED and p.diff][:1]

    def _offer(self, patch: Patch, shown: set[str]) -> Offer:
        again = patch.diff in shown  # a migration is one patch for each of its findings
        shown.add(patch.diff)
        unproven = "not proven: the run did not come to it" if patch.not_run else _VERDICTS[PatchVerdict.UNVALIDATED]
        verdict = unproven if patch.verdict is PatchVerdict.UNVALIDATED else _VERDICTS.get(patch.verdict, "")
        kinds = [_KINDS[patch.candidate.applicability], verdict]
        proven = patch.verdict not in (PatchVerdict.UNVALIDATED, PatchVerdict.CHOICE)
        return Offer(
            patch=patch,
            kind="; ".join(filter(None, kinds)),
            proof=self.words(verdict_line(patch)) if proven or patch.not_run else "",
            diff=() if again else tuple(map(printable, diff(self.target, patch))),
            applies=patch in applicable(self.file, drafts=True, unproven=True, choices=True),
            again=again,
        )
