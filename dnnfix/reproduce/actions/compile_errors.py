"""Edit action: compiler error resolution. Reports what was changed so that a pasted, old or notebook program parses.

Reading the source does that (`dnnfix.source`), with every line kept in its place; here it is reported step by step.
Names that only a notebook defines are defined for programs outside of one. A syntax error that a report is about is its
fault and is kept.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.records import EditAction, EditStep, Scaffold
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.syntax import bound_names

ACTION = EditAction.COMPILER_ERRORS

_REPORTED = re.compile(r"\b(?:SyntaxError|IndentationError|TabError)\b")
_LINES = re.compile(r"\(lines? (?P<first>\d+)")
_CELL = re.compile(r"cell (?P<cell>\S+): ")

_NOTEBOOK = ("display", "get_ipython")


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """A step for each thing that was done to read the text, and the names that a notebook's shell defines."""
    if case.source.recoveries and _REPORTED.search(case.said):
        yield Gap(
            "the report is about an error of syntax; dnnfix reads around it and does not repair it "
            f"({'; '.join(case.source.recoveries)})"
        )
    else:
        for note in case.source.recoveries:
            yield EditStep(ACTION, note, "Python does not read the text as it stands", _line(note), invented=False)
    used = [name for name in _NOTEBOOK if name in case.source.words and _is_free(case, name)]
    if used:
        yield EditStep(
            ACTION,
            f"{' and '.join(used)} of the notebook {'does' if len(used) == 1 else 'do'} what plain Python can",
            "a notebook's shell defines them: to display is to print, and magics do nothing",
            scaffold=Scaffold(start="made_shell(globals())"),
            invented=False,
        )
    yield from _imported_shell(case)


_SHELLS = ("IPython.get_ipython", "IPython.core.getipython.get_ipython")


def _imported_shell(case: Case) -> Iterator[EditStep]:
    """The shell of the notebook where the program imports it: outside of one there is none."""
    call = next(case.source.calls(*_SHELLS), None)
    if call is not None and case.installed("IPython"):
        yield EditStep(
            ACTION,
            "get_ipython gives a shell whose magics do nothing",
            "there is none outside of a notebook",
            call.lineno,
            scaffold=Scaffold(start="\n".join(f"made_in_place_of({p!r}, made_shell_at_hand)" for p in _SHELLS)),
            invented=False,
        )


def _is_free(case: Case, name: str) -> bool:
    """Whether the program uses a name of the notebook and does not bind it."""
    return name not in bound_names(case.source) and any(node.id == name for node in case.source.nodes(ast.Name))


def _line(note: str) -> int | None:
    """The first line that a note speaks of; the lines of cells are not those of the text."""
    match = _LINES.search(note)
    return int(match["first"]) if match and not _CELL.match(note) else None
