"""What a call of the magic is about: the cells executed so far, or a notebook file; and where that file is."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dnnfix.errors import InputError
from dnnfix.notebook.cells import Cell, as_notebook
from dnnfix.programs import read, shown
from dnnfix.records.record import record

UNNAMED = "notebook.ipynb"
"""How cells are called whose notebook's file is not known."""


@record
class Target:
    """A notebook to look at: its bytes, how its cells are called, and those of them that were executed, by name.

    `current` is the name of the cell that asks about itself; empty where the whole notebook is meant.
    """

    path: str
    raw: bytes
    file: Path | None
    labels: Mapping[str, str]
    """By the cells' names, in their order: what people call them. Cells that are no code have one, too."""
    executed: Mapping[str, Cell]
    current: str = ""
    edited: tuple[str, ...] = ()
    """The cells of a file that were run in another version than it has."""

    def called(self, number: str) -> str:
        """What people call the cell of that number among all, from 1."""
        every = list(self.labels.values())
        return every[int(number) - 1] if 0 < int(number) <= len(every) else f"cell {number}"

    @property
    def is_file(self) -> bool:
        """Whether the bytes are those of the file, rather than of cells that were executed."""
        return not self.executed


def of_cells(cells: Sequence[Cell], file: Path | None, current: str = "") -> Target:
    """The cells that were executed, as the notebook of that file."""
    path = UNNAMED if file is None else shown(os.fspath(file))
    executed = {str(cell.number): cell for cell in cells}
    return Target(path, as_notebook(cells), file, {name: f"In [{name}]" for name in executed}, executed, current)


def of_file(file: Path, executed: Sequence[Cell] = ()) -> Target:
    """A notebook as it was saved, after these cells were run. Raises `InputError` where it cannot be read."""
    raw, _ = read(os.fspath(file))
    labels, sources = _cells(raw)
    edited = tuple(labels[cell.id] for cell in executed if sources.get(cell.id, cell.source) != cell.source)
    return Target(shown(os.fspath(file)), raw, file, labels, {}, edited=edited)


def notebook_file(shell: Any, given: str | None) -> Path | None:
    """The file of the running notebook: the one given, else what VS Code or Jupyter says; `None` where neither does.

    Raises `InputError` where the one given is not there.
    """
    if given:
        path = Path(given).expanduser()
        if path.suffix != ".ipynb":
            raise InputError(f"{given}: not a notebook. Give --file the path of an .ipynb file.")
        if not path.is_file():
            raise InputError(f"{given}: no such file in {os.getcwd()}. Give --file the path of the notebook.")
        return path
    for known in (shell.user_ns.get("__vsc_ipynb_file__"), os.environ.get("JPY_SESSION_NAME")):
        if isinstance(known, str) and known.endswith(".ipynb") and os.path.isfile(known):
            return Path(known)
    return None


def _cells(raw: bytes) -> tuple[dict[str, str], dict[str, str]]:
    """What people call the cells of a notebook (their number among all, from 1, and their `In [n]`), and their sources."""
    try:
        cells = {str(cell.get("id") or n): (n + 1, cell) for n, cell in enumerate(json.loads(raw)["cells"])}
        labels = {id: f"cell {place}{_prompt(cell.get('execution_count'))}" for id, (place, cell) in cells.items()}
        return labels, {id: "".join(cell["source"]) for id, (_, cell) in cells.items()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}, {}  # its reader says what is wrong with it


def _prompt(count: object) -> str:
    return f" (In [{count}])" if isinstance(count, int) else ""
