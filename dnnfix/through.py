"""Runs a module, which has no program of its own, through the programs of its repository that use it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from dnnfix.emit.hunks import own_section, sections
from dnnfix.errors import InputError
from dnnfix.programs import Finder, Program
from dnnfix.records import FileReport, RunOutcome, Trace
from dnnfix.reproduce.used_by import is_module, programs_using
from dnnfix.run.advice import ending
from dnnfix.run.visible import repository_of
from dnnfix.source.program import Source

TRIED = 2
"""Programs that are run for the sake of one module, until one of them shows something."""


@dataclass
class Through:
    """The reports of programs, those of modules made by the programs that use them.

    `analyse` makes the report of a program, or says that it could not and gives `None`; `tell` is told which program is run, and why.
    """

    finder: Finder
    analyse: Callable[[Program], FileReport | None]
    tell: Callable[[str], None] = lambda text: None
    _made: dict[Path, FileReport | None] = field(default_factory=dict)
    _given: set[Path] = field(default_factory=set)
    """The programs whose reports were given already."""

    def reports(self, programs: Iterable[Program]) -> Iterator[tuple[Program, FileReport]]:
        """The report of each program, once. Before that of a program that was run for a module stands one of the module, which names it."""
        for program in programs:
            file = _file(program)
            if file in self._given:
                continue
            if program.named and program.file is not None:
                yield from self._of(program, file)
            elif (report := self.analyse(program)) is not None:
                yield program, report

    def _of(self, program: Program, file: Path) -> Iterator[tuple[Program, FileReport]]:
        failed = []
        through = ""
        for user in self._programs_for(program, file):
            report = self._report(user, f"{user.path}: is run, since it uses {program.path}")
            place = _place(report, user, file) if report is not None else None
            if report is None or place is None:
                continue
            if report.unrun:
                failed.append(f"how {user.path} uses it: {_why(report)}")
                continue
            through = report.path
            if _is_seen(report.trace, place):
                yield program, FileReport(program.path, through=through)
                yield from self._once(user, report)
                return
            failed.append(f"how {user.path} uses it: nothing of it was seen at work in that run")
            yield from self._once(user, report)
        report = self._report(program, "")
        if report is not None:
            yield from self._once(program, replace(report, through=through, unchecked=(*failed, *report.unchecked)))

    def _programs_for(self, program: Program, file: Path) -> Iterator[Program]:
        """The programs to run for the sake of a module, the best first; none for what is a program itself."""
        try:
            source = Source.from_bytes(program.raw, program.path)
            if not is_module(source):
                return
            others = frozenset(Path(other).resolve() for other in program.suspected_with)
            users = programs_using(source, file, repository_of(file.parent), others)
        except InputError:
            return
        for user in users[:TRIED]:
            path = os.path.relpath(user.path)
            try:
                found = self.finder.read(path) if user.code is None else self.finder.of_text(user.code, path)
                yield replace(found, said=program.said)
            except InputError:
                continue

    def _report(self, program: Program, told: str) -> FileReport | None:
        file = _file(program)
        if file not in self._made:
            if told:
                self.tell(told)
            report = self.analyse(program)
            self._made[file] = report if program.file is not None or report is None else _of_modules(report)
        return self._made[file]

    def _once(self, program: Program, report: FileReport) -> Iterator[tuple[Program, FileReport]]:
        file = _file(program)
        if file not in self._given:
            self._given.add(file)
            yield program, report


def _file(program: Program) -> Path:
    return (program.file or Path(program.path)).resolve()


def _place(report: FileReport, program: Program, module: Path) -> str | None:
    """What a module is called as seen from the program; `None` where it was not among the files that were analysed with it."""
    folder = Path(program.path).resolve().parent
    return next((place for place in report.modules if (folder / place).resolve() == module), None)


def _why(report: FileReport) -> str:
    """Why the run of a program told nothing."""
    trace = report.trace
    if trace is None:
        return "it could not be run"
    if trace.outcome is RunOutcome.CRASHED:
        return f"on what was made up for it, it crashes ({trace.detail})"
    return ending(trace)


def _of_modules(report: FileReport) -> FileReport:
    """What a report says of the modules beside its program: an example in a README is no file that is repaired."""
    own = own_section(report.path)
    patches = tuple(patch for patch in report.patches if own not in sections(patch.diff))
    kept = {patch.id for patch in patches}
    of_modules = (result for result in report.findings if result.finding.site.path)
    findings = tuple(result for result in of_modules if not result.patches or kept.intersection(result.patches))
    return replace(report, findings=findings, patches=patches)


def _is_seen(trace: Trace | None, place: str) -> bool:
    """Whether a run recorded anything that happened in a module."""
    if trace is None:
        return False
    sites = {*trace.cut, *(event.site for event in trace.loop), *(warning.site for warning in trace.warnings)}
    if trace.network is not None:
        sites |= {call.site for call in trace.network.calls}
    if trace.crash is not None:
        sites |= {frame.site for frame in trace.crash.frames}
    return any(site is not None and site.path == place for site in sites)
