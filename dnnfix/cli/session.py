"""One call of a command that works on programs: its settings, its programs and its report."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dnnfix.cli import options
from dnnfix.cli.console import CLEAN, ERROR, INTERRUPTED, Console
from dnnfix.cli.guard import internal
from dnnfix.cli.output import Output
from dnnfix.cli.reported import Reported, programs_of
from dnnfix.emit.view import view
from dnnfix.errors import BudgetExceeded, ConfigError, DnnfixError, EditError, InputError
from dnnfix.programs import Finder, Program, SettingsByFolder
from dnnfix.records import FileReport
from dnnfix.suppress import BaselineWriter, load_baseline


class Session:
    """The programs that the flags name, and the output for their reports; `given` are settings of other flags.

    `settings` are those of the working folder; each program brings its own. Raises `ConfigError` for settings that make
    no sense and `InputError` where no path was given.
    """

    def __init__(
        self,
        console: Console,
        inputs: options.Inputs,
        configuration: options.Configuration,
        results: options.Results,
        given: Mapping[str, Any],
        *,
        static: bool = False,
        write_baseline: str | None = None,
        needs_path: bool = True,
    ) -> None:
        if needs_path and not inputs.paths:
            raise InputError("no path was given. Name files or folders, or - for standard input.")
        self.console = console
        self._inputs, self._exit_zero = inputs, results.exit_zero
        config = Path(configuration.config) if configuration.config else None
        if config is not None and not config.is_file():
            raise InputError(f"{config}: no such file. Check what you gave to --config.")
        for made in filter(None, (results.output_file, write_baseline)):
            if not Path(made).absolute().parent.is_dir():
                raise InputError(f"{made}: there is no such folder to write it into. Make it first.")
        overrides = {**options.overrides(inputs, configuration, results), **given}
        if results.open:
            if results.output_format not in (None, "html"):
                raise ConfigError(f"--open shows a page. Received: --output-format {results.output_format}")
            overrides["output_format"] = "html"
        if write_baseline:
            overrides["baseline"] = None
        self._by_folder = SettingsByFolder(overrides, config, configuration.isolated)
        self.settings = self._by_folder.of(Path.cwd())
        if self.settings.baseline is not None:
            load_baseline(self.settings.baseline)
        file = Path(results.output_file) if results.output_file else None
        if self.settings.output_format == "html":
            from dnnfix.emit.html.page import require

            require()  # before minutes are spent on runs
            if file is None and not results.open and console.out.isatty():
                raise ConfigError(
                    "a page is nothing for a terminal: --open shows it in the browser, --output-file keeps it."
                )
            if results.open and file is None:
                file = Path(tempfile.mkdtemp(prefix="dnnfix-")) / "report.html"
        self.output = Output(
            console,
            self.settings.output_format,
            file,
            static=static,
            unsafe=not static,
            templates=self.settings.own_rules,
            cache=self.settings.cache,
            opened=results.open,
        )
        self.finder = Finder(self._by_folder, self.output.problem, _standard_input)
        self._baseline = BaselineWriter(Path(write_baseline)) if write_baseline else None
        self.repaired: list[str] = []

    @property
    def asked(self) -> Callable[[str], bool] | None:
        """Puts a question to the person at the terminal; `None` where there is none."""
        inputs = self._inputs.paths or ()
        return self.console.asked if "-" not in inputs and sys.stdin.isatty() and sys.stderr.isatty() else None

    def programs(self) -> Iterator[Program]:
        """The programs to work on, in order; what cannot be read goes to the report."""
        for number, program in enumerate(self.finder.programs(self._inputs.paths or (), self._inputs.stdin_filename)):
            if self._baseline is not None and program.settings.baseline is not None:
                program = replace(program, settings=replace(program.settings, baseline=None))
            if number:
                self.console.progress(f"{program.path} (number {number + 1})")
            yield program

    def reported(self, report: Reported) -> Iterator[Program]:
        """The programs that a report is about; the repository is the folder that was named, if one was."""
        paths = self._inputs.paths or ()
        if len(paths) > 1:
            raise InputError(f"a report is about one repository. Received: {', '.join(paths)}")
        yield from programs_of(report, Path(paths[0]) if paths else None, self.finder, self.console)

    @contextlib.contextmanager
    def guarding(self, program: Program) -> Iterator[None]:
        """Turns what goes wrong with one program into an entry of the report, so that the others go on."""
        try:
            yield
        except InputError as error:
            text = str(error)
            self.output.problem(text if text.startswith(program.path) else f"{program.path}: {text}")
        except (BudgetExceeded, EditError) as error:
            self.output.problem(f"{program.path}: {error}")
        except (DnnfixError, BrokenPipeError):
            raise
        except Exception as error:  # noqa: BLE001 - one program must not end the report of the others
            self.output.problem(f"{program.path}: {internal(error, self.console.verbose)}")

    def add(self, program: Program, report: FileReport) -> None:
        """Take the report of a program."""
        if self._baseline is not None and report.findings:
            lines = view(program.raw, program.path).lines
            self._baseline.add(program.path, [result.finding for result in report.findings], "\n".join(lines))
        elif self._baseline is None:
            self.output.add(report, program.raw, program.named)

    def work(self, reports: Iterator[tuple[Program, FileReport]]) -> int:
        """Take reports as they come, then finish. Stopped by Ctrl-C, it still writes what is known so far."""
        try:
            for program, report in reports:
                self.add(program, report)
        except KeyboardInterrupt:
            if self._baseline is not None:
                self.console.problem("interrupted: no baseline was written.")
                return INTERRUPTED
            self.output.remark("interrupted: programs that are not named here were not looked at.")
            self.finish()
            return INTERRUPTED
        return self.finish()

    def finish(self) -> int:
        """Write what is left and return the exit code."""
        if self._baseline is not None:
            self._baseline.path.write_text(self._baseline.text(), encoding="ascii")
            number = self._baseline.count
            noun = "finding" if number == 1 else "findings"
            self.console.remark(f"{number} {noun} recorded in {os.fspath(self._baseline.path)}")
            return ERROR if self.output.failed else CLEAN
        return self.output.finish(self.finder.passed_over, self._exit_zero, self.repaired)


def _standard_input(most: int) -> bytes:
    return sys.stdin.buffer.read(most)
