"""What `check` found in a program of an editor, and where in its documents that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from lsprotocol.types import Range
from pygls.workspace import PositionCodec

from dnnfix import pipeline
from dnnfix.config import Settings
from dnnfix.records import FileReport, FindingResult, Patch, Site
from dnnfix.server.programs import Part, Program
from dnnfix.server.texts import Ruler, overlap
from dnnfix.source.program import Source


@dataclass(frozen=True)
class Checked:
    """A program with what was found in it. Patches are written when they are asked for: most texts are typed on before."""

    program: Program
    settings: Settings
    source: Source
    report: FileReport
    codec: PositionCodec

    @classmethod
    def of(cls, program: Program, settings: Settings, codec: PositionCodec, before_each: Callable[[], None]) -> Checked:
        """Check a program; `before_each` is called before each rule. Raises `InputError` where its text cannot be analysed."""
        with pipeline.collecting_at_the_end():
            source = Source.from_bytes(program.raw, program.path)
            report = pipeline.check_source(source, settings, patches=False, before_each=before_each)
        return cls(program, settings, source, report, codec)

    @cached_property
    def with_patches(self) -> FileReport:
        """The same report with unproven patches."""
        with pipeline.collecting_at_the_end():
            return pipeline.check_source(self.source, self.settings)

    def ruler(self, part: Part) -> Ruler:
        """Measures a document."""
        if part.uri not in self._rulers:
            self._rulers[part.uri] = Ruler.of(part.text, self.codec)
        return self._rulers[part.uri]

    @cached_property
    def _rulers(self) -> dict[str, Ruler]:
        return {}

    def place(self, site: Site) -> tuple[Part, Range] | None:
        """The document and the range in it of a site; `None` for one in another file."""
        cell, line = self.source.locate(site.line)
        part = self.program.parts.get(cell)
        if site.path or part is None:
            return None
        start = line - 1, self._column(site.line, site.column, end=False)
        last_cell, last = self.source.locate(site.end_line)
        end = (
            (last - 1, self._column(site.end_line, site.end_column, end=True)) if last_cell == cell else (line, 0)
        )  # what begins in one cell and ends in another is shown where it begins
        return part, self.ruler(part).range(start, end)

    def at(self, uri: str, wanted: Range) -> Iterator[tuple[FindingResult, Range]]:
        """The findings in a document that have to do with a range."""
        for result in self.report.findings:
            placed = self.place(result.finding.site)
            if placed is not None and placed[0].uri == uri and overlap(placed[1], wanted):
                yield result, placed[1]

    def patches_of(self, result: FindingResult) -> list[Patch]:
        """The unproven patches for a finding, best first."""
        report = self.with_patches
        named = next((r.patches for r in report.findings if r.finding.id == result.finding.id), ())
        return sorted((patch for patch in report.patches if patch.id in named), key=lambda patch: patch.rank)

    def _column(self, line: int, column: int, *, end: bool) -> int:
        """The column from 0 in the document of a column from 1 in the analysed text."""
        document = self.source.document
        rewritten = document.rewritten.get(line)
        if rewritten is None:
            return column - 1
        found = rewritten.to_raw(column - 1, end=end)
        return found if found is not None else len(document.own_lines[line - 1]) if end else 0
