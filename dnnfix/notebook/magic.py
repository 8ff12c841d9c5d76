"""The magic: what `%dnnfix` and `%%dnnfix` do, in the shell that they were loaded into."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError
from IPython.core.inputtransformer2 import cell_magic

from dnnfix import library
from dnnfix.errors import DnnfixError, InputError, in_words
from dnnfix.notebook import changes, options, target
from dnnfix.notebook.cells import Executed
from dnnfix.notebook.output import Output, in_kernel, show_buttons
from dnnfix.notebook.report import NotebookReport, Offer
from dnnfix.notebook.target import Target
from dnnfix.records import Patch, Report
from dnnfix.rewrite import Rewrite, replace_files

KEPT = 20
"""Reports whose patches can still be applied."""
_HEAD = re.compile(r"%%dnnfix(?!\S)[ \t]*(.*)")


class Interrupted(KeyboardInterrupt):
    """The kernel was interrupted while dnnfix worked. Shown in one line."""

    def _render_traceback_(self) -> list[str]:
        return [f"dnnfix: {self}"]


class Magic:
    """The magic of one shell: the cells that it saw executed, its reports, and the patches that wait for their cells.

    A kernel can replace the source of a cell only while it executes that cell. So a patch that is applied waits until its
    cell is run again: then the repaired source takes its place, and is what runs.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._executed = Executed(shell)
        self._reports: list[NotebookReport] = []
        self._waiting: dict[str, str] = {}
        """Repaired sources, by the sources that they replace."""

    # --- what the shell calls

    def run(self, line: str, cell: str | None = None) -> None:
        """`%dnnfix LINE`, or `%%dnnfix LINE` with a cell where another magic calls it."""
        if cell is not None:
            self._shell.run_cell(f"%%dnnfix {line}\n{cell}")
            return
        if {"-h", "--help"} & set(line.split()):
            Output(self._shell).finish(options.parser().format_help())
            return
        given = options.parsed(line)
        try:
            if given.action == "apply":
                Output(self._shell).finish(self._apply(*self._find(given.id)))
            else:
                self._look(given.action == options.CELL, given.suggest, given.file, options.settings(given))
        except DnnfixError as error:
            raise UsageError(f"dnnfix: {error}") from None
        except Exception as error:  # noqa: BLE001 - a fault of ours must not keep a cell from being run
            Output(self._shell).finish(f"dnnfix: internal error: {in_words(error)}. Please report it.")

    def transform(self, lines: list[str]) -> list[str]:
        """A cell as IPython is to run it: `%%dnnfix` is a line of its own, so that the rest runs as it would without."""
        source = "".join(lines)
        repaired = self._waiting.get(source.strip())
        if repaired is not None:
            lines = repaired.strip("\n").splitlines(keepends=True)
        head = _HEAD.match(lines[0]) if lines else None
        if head is None:
            return lines
        body = [] if "--no-run" in head[1].split() else cell_magic(lines[1:])
        call = f"{options.CELL} {head[1].strip()}"
        look = f"get_ipython().run_line_magic('dnnfix', {call!r})\n"
        return ["\n" if repaired is not None else look, *body]  # what was repaired need not be looked at again

    def begins(self, info: Any) -> None:
        """A cell is about to be executed."""
        source = info.raw_cell
        repaired = self._waiting.pop(source.strip(), None)
        if repaired is not None:
            self._shell.set_next_input(repaired, replace=True)
        self._executed.begins(repaired or source, getattr(info, "cell_id", None))

    def ended(self, result: Any) -> None:
        """A cell was executed."""
        self._executed.ended(result)

    # --- looking

    def _look(self, cell: bool, suggest: bool, given: str | None, settings: dict[str, Any]) -> None:
        file = target.notebook_file(self._shell, given)
        looked = self._target(cell, file)
        output = Output(self._shell)
        try:
            report = NotebookReport(looked, self._report(looked, suggest, settings, output), static=not suggest)
        except KeyboardInterrupt:
            output.finish("dnnfix: interrupted.")
            raise Interrupted("interrupted; nothing is left running, and the cell was not run.") from None
        except DnnfixError:
            output.stop()
            raise
        output.finish(report)
        self._reports = [*self._reports[-KEPT:], report]
        if in_kernel(self._shell):
            show_buttons(report, lambda offer: self._clicked(report, offer))

    def _target(self, cell: bool, file: Path | None) -> Target:
        now = self._executed.current
        if cell and now is not None:
            return target.of_cells(self._executed.program(), file, str(now.number))
        ran = self._executed.program()
        return target.of_cells(ran, None) if file is None else target.of_file(file, ran)

    def _report(self, looked: Target, suggest: bool, settings: dict[str, Any], output: Output) -> Report:
        program = str(looked.file) if looked.is_file else looked.raw.decode()
        if suggest:
            output.tell("starting")
            report = library.suggest(program, name=looked.path, progress=output.tell, **settings)
        else:
            report = library.check(program, name=looked.path, **settings)
        if report.errors:
            raise InputError("; ".join(report.errors))
        return report

    # --- applying

    def _clicked(self, report: NotebookReport, offer: Offer) -> str:
        try:
            return self._apply(report, offer)
        except DnnfixError as error:
            return str(error)

    def _apply(self, report: NotebookReport, offer: Offer) -> str:
        """Apply a patch of a report and return what was done, and what there is to do."""
        looked, patch = report.target, offer.patch
        made = changes.changes(looked, patch)
        modules = list(library.rewritten_modules(looked.path, report.file, [patch]))
        rewrites, written = self._rewrites(report, patch, made)
        replace_files([*rewrites, *modules])
        said = [f"{offer.id} is applied."]
        if modules:
            names = ", ".join(str(module.file) for module in modules)
            said.append(f"Changed: {names}. Restart the kernel to import it anew.")
        if written:
            cells = ", ".join(looked.labels[change.name] for change in written)
            said.append(f"{looked.path} has it in {cells}: reload the notebook from disk to see it there.")
        if made and in_kernel(self._shell):
            self._waiting |= {change.before.strip(): change.after for change in made}
            cells = ", ".join(looked.labels[change.name] for change in made)
            said.append(f"Run {cells} again: the repaired source takes the cell's place, and is what runs.")
        elif made:
            self._shell.set_next_input("\n".join(change.after for change in made))
        return " ".join(said)

    def _rewrites(
        self, report: NotebookReport, patch: Patch, made: Sequence[changes.Change]
    ) -> tuple[list[Rewrite], Sequence[changes.Change]]:
        """The notebook's file with a patch, and which changes it then has.

        The cell that asked is left to its next run: a file under a notebook that is being worked on is changed only for
        cells that are not at hand.
        """
        looked = report.target
        if looked.file is None:
            return [], ()
        if looked.is_file:
            return list(library.rewritten_program(looked.file, looked.raw, looked.path, [patch])), made
        others = [(looked.executed[c.name], c) for c in made if c.name != looked.current]
        rewrite, written = changes.rewrite(looked.file, others)
        return ([] if rewrite is None else [rewrite]), written

    def _find(self, id: str) -> tuple[NotebookReport, Offer]:
        """The latest report with a patch of that id, or whose id begins so, with or without `patch-`."""
        for report in reversed(self._reports):
            found = [offer for offer in report.applicable if offer.id.startswith((id, f"patch-{id}"))]
            if len(found) > 1:
                raise InputError(f"{id}: {', '.join(offer.id for offer in found)} begin so. Give more of the id.")
            if found:
                return report, found[0]
        known = ", ".join(offer.id for report in self._reports[-1:] for offer in report.applicable)
        raise InputError(f"{id}: no such patch. {f'There is {known}.' if known else 'Run `%dnnfix suggest` first.'}")
