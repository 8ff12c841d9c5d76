"""The functions of `import dnnfix`: `check`, `suggest` and `fix`, for programs that are files, folders or source text.

They write nothing to the terminal, never end the process, and change no file unless they are asked to.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from dnnfix.config import DeviceName, SandboxName
from dnnfix.emit.choice import chosen
from dnnfix.emit.diff import taken
from dnnfix.emit.hunks import apply, own_section, replacements, sections
from dnnfix.errors import BudgetExceeded, EditError, InputError
from dnnfix.programs import UNNAMED_SOURCE, Finder, Program, SettingsByFolder
from dnnfix.records import FileReport, Patch, Report
from dnnfix.rewrite import Rewrite, replace_files
from dnnfix.selectors import verify
from dnnfix.source.diff import module_path

if TYPE_CHECKING:
    from os import PathLike

Progress = Callable[[str], None]
"""Is called with a line about what is being done, a few times in a second at most."""


class Options(TypedDict, total=False):
    """Settings by the names that they have in `dnnfix.toml`, with underscores; those that are left out come from there."""

    select: Sequence[str]
    extend_select: Sequence[str]
    ignore: Sequence[str]
    fixable: Sequence[str]
    unfixable: Sequence[str]
    exclude: Sequence[str]
    baseline: str
    budget: float
    """Seconds of wall time for one file."""
    seed: int
    jobs: int
    python: str
    """The interpreter that has the program's packages."""
    baseline_python: str
    sandbox: SandboxName
    device: DeviceName
    trust: bool
    arguments: str
    test_command: str
    cache_dir: str


@dataclass(frozen=True)
class Fixed:
    """What `fix` made: the report, the patches that were taken, and the files as they are with them."""

    report: Report
    applied: tuple[Patch, ...]
    files: dict[str, bytes]
    """The new bytes of each file that changes, by its path; source text is called `stdin.py`."""

    @property
    def source(self) -> str:
        """The new source where exactly one file changes. Raises `ValueError` for another number."""
        if len(self.files) != 1:
            raise ValueError(f"{len(self.files)} files changed; read `files`")
        return next(iter(self.files.values())).decode()


def check(
    program: str | PathLike[str],
    *,
    name: str = UNNAMED_SOURCE,
    config: str | None = None,
    isolated: bool = False,
    **options: Unpack[Options],
) -> Report:
    """Look for faults in the source alone, as `dnnfix check` does; nothing is run and no framework is imported.

    Args:
        program: a path of a file (.py, .ipynb) or folder, or source text: a string with a line break.
        name: what source text is called; its settings are those of the folder that this path is in.
        config: take the settings from this file.
        isolated: take no settings from files.
        options: settings, see `Options`.

    Raises:
        ConfigError: a setting is unknown or makes no sense.
    """
    from dnnfix import pipeline

    return _report(
        program, name, config, isolated, options, lambda one: pipeline.check_file(one.raw, one.path, one.settings)
    )


def suggest(
    program: str | PathLike[str],
    *,
    name: str = UNNAMED_SOURCE,
    progress: Progress | None = None,
    log: str | PathLike[str] | None = None,
    config: str | None = None,
    isolated: bool = False,
    **options: Unpack[Options],
) -> Report:
    """Find faults, write patches and prove each by running the program in a sandbox, as `dnnfix suggest` does.

    Takes at most `budget` seconds for a file (60), and twice that again where made-up data take too long. For a file
    that is a module, a program of its repository that uses it is run; the report names it (`FileReport.through`).

    Args:
        program: a path of a file (.py, .ipynb) or folder, or source text: a string with a line break.
        name: what source text is called; its settings are those of the folder that this path is in, and it runs there.
        progress: is called with what is being done.
        log: the log of symptoms that `watch` wrote in a long run of this program, which is one file then. One that
            cannot be read, or is of another program, is an error of the report.
        config: take the settings from this file.
        isolated: take no settings from files.
        options: settings, see `Options`.

    Raises:
        ConfigError: a setting is unknown or makes no sense.
        EnvironmentProblem: nothing can be run: no sandbox, no interpreter.
    """
    return _report(program, name, config, isolated, options, _proving(progress, log), modules_through=log is None)


def fix(
    program: str | PathLike[str],
    *,
    unsafe: bool = False,
    write: bool = False,
    progress: Progress | None = None,
    log: str | PathLike[str] | None = None,
    config: str | None = None,
    isolated: bool = False,
    **options: Unpack[Options],
) -> Fixed:
    """Find and prove patches as `suggest` does, and apply those that were proven.

    Args:
        program: a path of a file (.py, .ipynb) or folder, or source text: a string with a line break.
        unsafe: also apply patches that change what is trained, as most repairs do.
        write: write the files, all of a patch or none; otherwise they are only returned.
        progress: is called with what is being done.
        log: the log of symptoms that `watch` wrote in a long run of this program, which is one file then. One that
            cannot be read, or is of another program, is an error of the report.
        config: take the settings from this file.
        isolated: take no settings from files.
        options: settings, see `Options`.

    Raises:
        ConfigError: a setting is unknown or makes no sense.
        EnvironmentProblem: nothing can be run: no sandbox, no interpreter.
        InputError: `write`, and a file changed meanwhile or cannot be written; none of its patch's files was.
    """
    analysed = _proving(progress, log)
    applied: list[Patch] = []
    files: dict[str, bytes] = {}

    def repaired(one: Program) -> FileReport:
        report = analysed(one)
        patches = chosen(report, unsafe)
        rewrites = list(_rewrites(one, report, patches))
        if write and one.file is not None:
            replace_files(rewrites)
        applied.extend(patches)
        files.update({os.fspath(rewrite.file): rewrite.after for rewrite in rewrites})
        return report

    report = _report(program, UNNAMED_SOURCE, config, isolated, options, repaired)
    return Fixed(report, tuple(applied), files)


def _proving(progress: Progress | None, log: str | PathLike[str] | None) -> Callable[[Program], FileReport]:
    """What `suggest` and `fix` do with each program."""
    from dnnfix import pipeline
    from dnnfix.watching.log import read_log

    told = progress or (lambda text: None)

    def proven(one: Program) -> FileReport:
        seen = read_log(log, one.path) if log is not None else None
        return pipeline.suggest_file(one.raw, one.path, one.settings, told, log=seen)

    return proven


def _report(
    program: str | PathLike[str],
    name: str,
    config: str | None,
    isolated: bool,
    options: Options,
    analyse: Callable[[Program], FileReport],
    *,
    modules_through: bool = False,
) -> Report:
    """The reports of all programs that are meant; what goes wrong with one is an error in it.

    `modules_through` says whether modules are run through the programs that use them.
    """
    errors: list[str] = []

    def analysed(one: Program) -> FileReport | None:
        verify(one.settings)
        try:
            return analyse(one)
        except (InputError, BudgetExceeded, EditError) as error:
            text = str(error)
            errors.append(text if text.startswith(one.path) else f"{one.path}: {text}")
            return None

    finder = Finder(SettingsByFolder(options, Path(config) if config else None, isolated), errors.append)
    programs = _programs(program, name, finder)
    if modules_through:
        from dnnfix.through import Through

        files = [report for _, report in Through(finder, analysed).reports(programs)]
    else:
        files = [report for report in map(analysed, programs) if report is not None]
    return Report(tuple(files), tuple(errors))


def _programs(program: str | PathLike[str], name: str, finder: Finder) -> Iterator[Program]:
    text = os.fspath(program)
    if "\n" in text:
        try:
            yield finder.of_text(text.encode(), name)
        except InputError as error:
            finder.problem(str(error))
    else:
        yield from finder.programs([text], name)


def _rewrites(one: Program, report: FileReport, patches: tuple[Patch, ...]) -> Iterator[Rewrite]:
    """What patches make of a program and of the modules beside it."""
    yield from rewritten_program(one.file or Path(one.path), one.raw, one.path, patches)
    yield from rewritten_modules(one.path, report, patches)


def rewritten_program(file: Path, raw: bytes, path: str, patches: Sequence[Patch]) -> Iterator[Rewrite]:
    """What patches make of the program that reports call `path`, if they change it. Raises `InputError`."""
    after = taken(raw, path, patches)
    if after != raw:
        yield Rewrite(file, raw, after)


def rewritten_modules(path: str, report: FileReport, patches: Sequence[Patch]) -> Iterator[Rewrite]:
    """What patches make of the modules beside the program at `path`. Raises `InputError`."""
    own = own_section(path)
    changed = {name: section for patch in patches for name, section in sections(patch.diff).items() if name != own}
    for place, before in report.modules.items():
        module = module_path(path, place)
        if section := changed.get(own_section(module)):
            yield Rewrite(Path(path).parent / place, before, apply(before, replacements(section)))
