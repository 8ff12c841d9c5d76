"""What the tools do, each in a process of its own whose working folder is the one that the named path is in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dnnfix import pipeline
from dnnfix.emit.view import view
from dnnfix.errors import BudgetExceeded, CertificateError, EditError, InputError
from dnnfix.mcp import answers, brief
from dnnfix.mcp.guard import Guard
from dnnfix.mcp.places import admits, placed
from dnnfix.pipeline.check import NOT_RUN
from dnnfix.programs import MAX_SOURCE, SUFFIXES, UNNAMED_SOURCE, Finder, Program, read
from dnnfix.records import FileReport
from dnnfix.selectors import verify as verify_settings

if TYPE_CHECKING:
    from dnnfix.validate.certificate import Certificate

Progress = Callable[[str], None]

UNRUN = "nothing was run: `suggest` does that"

PROGRAMS = 10
"""Programs of a folder that one call runs."""
SCRIPT_LINES = 300
"""Lines of a script that an answer holds."""
REPORTS = (".md", ".markdown")


@dataclass
class _Programs:
    """The programs at a path, and what could not be looked at."""

    guard: Guard
    folders: tuple[Path, ...]
    path: str
    budget: float | None = None
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.finder = Finder(self.guard.settings(self.budget), self.problems.append)

    def found(self) -> Iterator[Program]:
        """The programs. Raises `InputError` where the path names a file of another kind."""
        if not os.path.isdir(self.path) and not self.path.endswith(SUFFIXES):
            raise InputError(f"{self.path}: is no program. Name a Python file (.py), a notebook (.ipynb) or a folder.")
        return self.finder.programs([self.path], UNNAMED_SOURCE)

    def report(self, program: Program, analyse: Callable[[Program], FileReport]) -> FileReport | None:
        """The report of a program; where there can be none, the reason is a problem."""
        try:
            if program.file is not None and not admits(program.file, self.folders):
                raise InputError(f"{program.path}: lies outside of the folders that this client works in.")
            verify_settings(program.settings)
            return analyse(program)
        except (InputError, BudgetExceeded, EditError) as error:
            text = str(error)
            self.problems.append(text if text.startswith(program.path) else f"{program.path}: {text}")
            return None

    def require(self, count: int) -> None:
        """Raise `InputError` where no program at all could be looked at."""
        if count:
            return
        if self.problems:
            more = f" And {len(self.problems) - 1} further problems." if len(self.problems) > 1 else ""
            raise InputError(f"{brief.line(self.problems[0])}{more}")
        none = f"none of its {self.finder.passed_over} Python files imports a library of deep learning"
        raise InputError(f"{self.path}: {none}. Name a file, or another folder.")


def check(guard: Guard, folders: tuple[Path, ...], path: str, progress: Progress) -> answers.Checked:
    """The static part alone on the programs at a path. Raises `InputError` where none can be looked at."""
    programs, room = _Programs(guard, folders, path), brief.Room()
    findings: list[answers.Found] = []
    unchecked: list[str] = []
    count = 0
    for program in programs.found():
        progress(f"reading {program.path}")
        with pipeline.collecting_at_the_end():
            report = programs.report(program, lambda one: pipeline.check_file(one.raw, one.path, one.settings, False))
        if report is None:
            continue
        count += 1
        if NOT_RUN in report.unchecked:
            unchecked.append(UNRUN)
        own = [one for one in report.unchecked if one != NOT_RUN]
        unchecked += [f"{program.path}: {one}" for one in own] if os.path.isdir(path) else own
        if told := room.told(report.findings):
            seen = view(program.raw, program.path)
            findings += [brief.found(report, result.finding, seen) for result in told]
    programs.require(count)
    return answers.Checked(
        folder=os.getcwd(),
        programs=count,
        findings=tuple(findings),
        unchecked=room.lines(unchecked, "what was not checked"),
        problems=room.lines(programs.problems, "problems"),
        left_out=room.left_out,
    )


def suggest(
    guard: Guard, folders: tuple[Path, ...], path: str, budget: float | None, progress: Progress
) -> answers.Suggested:
    """The whole path on the programs at a path, of a folder the first ten. Raises `InputError` where none can be looked at."""
    from dnnfix.through import Through

    programs, room = _Programs(guard, folders, path, budget), brief.Room()
    found = list(programs.found())
    if len(found) > PROGRAMS:
        room.leave_out(
            f"{len(found) - PROGRAMS} programs of {path}, which were not run: name them, or a smaller folder"
        )

    def analyse(program: Program) -> FileReport | None:
        def told(text: str) -> None:
            progress(f"{program.path}: {text}")

        return programs.report(program, lambda one: pipeline.suggest_file(one.raw, one.path, one.settings, told))

    made = [
        brief.repaired(report, view(program.raw, program.path), room)
        for program, report in Through(programs.finder, analyse, progress).reports(found[:PROGRAMS])
    ]
    programs.require(len(made))
    return answers.Suggested(
        folder=os.getcwd(),
        programs=tuple(made),
        problems=room.lines(programs.problems, "problems"),
        left_out=room.left_out,
    )


def reproduce(
    guard: Guard, path: str, budget: float | None, with_script: bool, progress: Progress
) -> answers.Reproduced:
    """A program, or that of a bug report, made to run. Raises `InputError` where it cannot be read."""
    from dnnfix.reproduce import script

    suffix = Path(path).suffix.lower()
    if suffix not in (*SUFFIXES, *REPORTS):
        raise InputError(f"{path}: is neither a program (.py, .ipynb) nor a report (.md). Name one.")
    raw, _ = read(path)
    settings = guard.settings(budget).of(Path.cwd() / Path(path).parent)
    verify_settings(settings)
    made = pipeline.reproduce_report if suffix in REPORTS else pipeline.reproduce_file
    result = made(raw, path, settings, progress)
    room = brief.Room()
    text = script.script(result.program, result.reproduction) if with_script else ""
    if text.count("\n") > SCRIPT_LINES or len(text) > brief.DIFF_SIZE:
        room.leave_out(f"the script: `dnnfix reproduce {path} --output SCRIPT` writes it")
        text = ""
    steps = result.reproduction.steps
    if len(steps) > brief.FINDINGS:
        room.leave_out(f"{len(steps) - brief.FINDINGS} further steps: the script has all of them")
    return answers.Reproduced(
        folder=os.getcwd(),
        path=brief.line(path),
        succeeded=result.succeeded,
        outcome=brief.line(result.outcome),
        as_it_is=brief.line(result.as_it_is),
        kind=result.typed.kind.value if result.typed.reasons else None,
        steps=tuple(
            answers.Made(
                brief.line(f"line {step.line}: {step.what}" if step.line is not None else step.what),
                brief.line(step.evidence),
                step.invented,
            )
            for step in steps[: brief.FINDINGS]
        ),
        missing=room.lines(result.reproduction.missing, "what is missing"),
        ask_for=tuple(asked.information.value for asked in result.asked),
        script=brief.whole(text),
        left_out=room.left_out,
    )


def verify(guard: Guard, folders: tuple[Path, ...], certificate: str, progress: Progress) -> answers.Verified:
    """A proof run again. Raises `CertificateError` and `InputError` where certificate or program cannot be used."""
    from dnnfix.validate import certificate as certificates

    file = _certificate(guard, folders, certificate)
    written = certificates.read(file)
    folder, program = _certified(written, folders)
    os.chdir(folder)
    settings = guard.settings().of((folder / program).parent)
    verify_settings(settings)
    progress("running the proof again")
    applied = certificates.digest((folder / program).read_bytes()) != written.program_hash
    holds, differences = pipeline.verify_certificate(str(file), settings)
    return answers.Verified(
        certificate=str(file),
        folder=str(folder),
        program=brief.line(program),
        holds=holds,
        applied=applied,
        differences=tuple(brief.line(text) for text in differences[: brief.FINDINGS]),
    )


def _certified(written: Certificate, folders: tuple[Path, ...]) -> tuple[Path, str]:
    """Where the program of a certificate lies: of several folders that have one of that name the one where it is what was certified.

    Raises `InputError` where it lies in none.
    """
    for start in folders:
        with suppress(InputError):
            folder, below = placed(str(start / written.path), folders)
            if pipeline.is_certified(written, folder / below):
                return folder, below
    return placed(written.path, folders)


def _certificate(guard: Guard, folders: tuple[Path, ...], path: str) -> Path:
    """The file of a certificate: where certificates are kept, or in the folders of the client."""
    kept = {guard.settings().of(folder).certificates for folder in folders}
    folder, below = placed(path, (*folders, *kept))
    file = folder / below
    if not file.is_file() or file.stat().st_size > MAX_SOURCE:
        raise CertificateError(f"{file}: is no certificate. Name the file that `suggest` gave under `certificate`.")
    return file
