"""Writes a report in the format that was asked for, file by file where the format allows it, and returns the exit
code.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dnnfix.cli.console import CLEAN, ERROR, FOUND, Console
from dnnfix.cli.told import Told
from dnnfix.emit.choice import chosen
from dnnfix.emit.view import View, view
from dnnfix.errors import InputError
from dnnfix.records import FileReport, Nature, Report

if TYPE_CHECKING:
    from dnnfix.emit.rules import Rule
    from dnnfix.emit.text import Palette

UNNAMED = "no library that dnnfix knows is imported there"


@dataclass
class Output:
    """Takes the reports of files as they come and writes them to standard output or `file`.

    `static` says that nothing was run, `unsafe` whether unsafe patches belong into a diff.
    """

    console: Console
    format: str = "text"
    file: Path | None = None
    static: bool = False
    unsafe: bool = True
    unproven: bool = False
    """Whether migrations of programs that could not be run belong into a diff."""
    templates: tuple[Path, ...] = ()
    applied: int | None = None
    """How many patches were applied, by the command that applies them."""
    unmigrated: list[str] = field(default_factory=list)
    """What of old programs is left, a line for each place."""
    cache: Path | None = None
    """Where what a page is made of is kept from one call to the next."""
    opened: bool = False
    """Whether the page is shown in the browser when it is written."""
    brief: bool = False
    """Whether text is left to the last lines, since the rest was shown already."""
    _files: list[FileReport] = field(default_factory=list)
    _views: dict[str, View] = field(default_factory=dict)
    _errors: list[str] = field(default_factory=list)
    _remarks: list[str] = field(default_factory=list)
    _missed: bool = False
    """Whether a program that the user named could not be run."""
    _patched: set[str] = field(default_factory=set)
    """The files that a diff was written for: a module beside two programs is patched once."""
    _told: Told = field(default_factory=Told)
    _buffer: io.StringIO = field(default_factory=io.StringIO)

    def add(self, report: FileReport, raw: bytes, named: bool = True) -> None:
        """The report of one program, whose bytes are `raw`; `named` by the user, or found in a folder."""
        report = self._told.once(report)
        self._files.append(report if self.format == "html" else replace(report, trace=None))  # traces are large
        self._missed |= report.unrun and named
        made = report.reproduction.steps or report.reproduction.missing
        if not (report.findings or report.notes or report.patches or made or report.through or report.model):
            return
        seen = view(raw, report.path) if report.findings and self.format != "diff" else View()
        if self.format in ("json", "sarif", "html"):
            if report.findings:
                self._views[report.path] = seen
        elif self.format == "text":
            if self.brief:
                return
            from dnnfix.emit.text import file_text

            self._write(lambda: file_text(report, seen, self._palette, self.console.verbose))
        elif self.format == "github":
            from dnnfix.emit.github import commands

            self._write(lambda: "".join(f"{line}\n" for line in commands(report, seen)))
        else:
            self._write(lambda: self._diff(report, raw))

    def problem(self, error: str) -> None:
        """Something that could not be analysed."""
        self._errors.append(error)
        self.console.problem(error)

    def remark(self, text: str) -> None:
        """Why the report is incomplete, where no input is to blame."""
        self._remarks.append(text)
        self.console.problem(text)

    @property
    def failed(self) -> bool:
        """Whether something could not be analysed."""
        return bool(self._errors)

    def finish(self, passed_over: int = 0, exit_zero: bool = False, repaired: Iterable[str] = ()) -> int:
        """Write what is left and return the exit code. `repaired` are ids (path::finding) that no longer count.

        Where nothing was found and a program that was named, or every program of a folder, could not be run, that is an
        error: silence would read as "no problem". Folders hold modules too, which are not meant to be run.
        """
        noun = f"{passed_over} Python file{'' if passed_over == 1 else 's'}: {UNNAMED}"
        missing = (*self._remarks, *([noun] if passed_over else []))
        report = Report(tuple(self._files), tuple(self._errors), missing)
        self._write(lambda: self._closing(report))
        if self.file is not None:
            replace_file(self.file, self._buffer.getvalue())
            if self.opened:
                self._show(self.file)
        gone = set(repaired)
        problems = (
            (file, result.finding)
            for file, result in report.findings()
            if self.static or result.finding.nature is not Nature.ADVICE
        )
        left = any(f"{file.path}::{finding.id}" not in gone for file, finding in problems)
        if self._errors:
            return ERROR
        if left:
            return CLEAN if exit_zero else FOUND
        unrun = [file.unrun for file in report.files]
        return ERROR if self._missed or (unrun and all(unrun)) else CLEAN

    def _show(self, file: Path) -> None:
        """Show a page in the browser, and say where it is."""
        import webbrowser

        self.console.remark(f"the report is in {file}")
        if not webbrowser.open(file.absolute().as_uri()):
            self.console.problem(f"{file}: no browser could be started to open it")

    @property
    def _palette(self) -> Palette:
        from dnnfix.emit.text import PLAIN

        return palette(self.console) if self.file is None else PLAIN

    def _closing(self, report: Report) -> str:
        if self.format == "json":
            from dnnfix.emit import contract

            return contract.text(report, self._views)
        if self.format == "sarif":
            from dnnfix.emit import sarif

            return sarif.text(report, self._views, _rules(report, self.templates))
        if self.format == "html":
            from dnnfix.emit.html.report import page

            return page(report, self._views, self.cache, static=self.static)
        if self.format == "github":
            from dnnfix.emit.contract import sandbox, unchecked
            from dnnfix.emit.github import problem, remark

            said = [problem(error) for error in self._errors]
            if (tier := sandbox(report)) is not None:
                said.append(remark(f"programs were run in the sandbox {tier}"))
            said += [remark(f"not checked: {text}") for text in unchecked(replace(report, errors=()))]
            return "".join(f"{line}\n" for line in said)
        if self.format == "text":
            from dnnfix.emit.text import summary, unmigrated

            return unmigrated(self.unmigrated) + summary(report, self._palette, self.static, self.applied)
        from dnnfix.emit.text import summary, unmigrated  # a diff holds no words, so they go beside it

        self.console.remark(
            (unmigrated(self.unmigrated) + summary(report, static=self.static, applied=self.applied)).rstrip("\n")
        )
        return ""

    def _diff(self, report: FileReport, raw: bytes) -> str:
        from dnnfix.emit.diff import combined

        try:
            patches = chosen(report, self.unsafe, self.static, self.unproven)
            for patch in patches:
                if patch.remains:  # a diff holds no words
                    self.console.remark(f"{report.path}: {patch.id} is partial: {patch.remains}")
            made = combined(raw, report.path, patches)
            new = {name: section for name, section in made.items() if name not in self._patched}
            self._patched |= new.keys()
            return "".join(new.values())
        except InputError as error:
            self.problem(f"{report.path}: {error}")
            return ""

    def _write(self, made: Callable[[], str]) -> None:
        text = made()
        if self.file is not None:
            self._buffer.write(text)
        elif text and self.format in ("diff", "html"):  # a page says that it is in UTF-8, whatever the terminal speaks
            self.console.write_bytes(text.encode("utf-8", "surrogateescape"))
        elif text:
            self.console.write(text)


def palette(console: Console) -> Palette:
    """What standard output can show: colours or none, blocks or marks for curves, and so many columns."""
    from dnnfix.emit.sparkline import BLOCKS, MARKS
    from dnnfix.emit.text import COLOURS, PLAIN

    chosen = COLOURS if console.coloured(console.out) else PLAIN
    if console.out.isatty():
        chosen = replace(chosen, width=shutil.get_terminal_size().columns)
    try:
        BLOCKS.encode(console.out.encoding or "ascii")
    except UnicodeEncodeError:
        return replace(chosen, levels=MARKS)
    return chosen


def _rules(report: Report, templates: tuple[Path, ...]) -> list[Rule]:
    """The rules behind the findings of a report; one of the engine's own has no template."""
    from dnnfix import registry
    from dnnfix.emit.rules import ENGINE_RULES, rule

    codes = {result.finding.code for _, result in report.findings()}
    found = [template for code in sorted(codes) if (template := registry.template(code, templates)) is not None]
    return [*map(rule, found), *(own for code, own in ENGINE_RULES.items() if code in codes)]


def replace_file(path: Path, text: str) -> None:
    """Write a file in one step, so that a reader never meets half of it."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder. Give --output-file the name of a file.")
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
        return
    import tempfile

    handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(text)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
