"""The cells that a kernel executed, and the notebook that they are together."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from dnnfix.records.record import record


@record
class Cell:
    """A cell as it was executed last. `number` is that of `In [number]`, `id` the notebook's, where the front end tells it."""

    number: int
    source: str
    id: str = ""
    failed: bool = False

    @property
    def key(self) -> str:
        """What tells cells apart: two runs of one cell, edited or not, where its id is known, else of one source."""
        return self.id or self.source


class Executed:
    """The cells that a shell executed, from its events; those before it was made come from its history, without ids."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._running: list[Cell] = []
        failed = getattr(shell.history_manager, "exceptions", {})  # IPython 9
        past = enumerate(shell.history_manager.input_hist_raw[:-1])  # the last is the cell that loads us
        self._cells = [Cell(number, source, failed=number in failed) for number, source in past if source.strip()]

    def begins(self, source: str, id: str | None) -> None:
        """A cell is about to be executed, maybe from within another."""
        # Not by `execution_count`, which versions of IPython move on at different times.
        number = self._running[-1].number if self._running else len(self._shell.history_manager.input_hist_raw)
        self._running.append(Cell(number, source, id or ""))

    def ended(self, result: Any) -> None:
        """A cell was executed; `result` is IPython's, `None` where it was cancelled."""
        info = None if result is None else result.info
        if info is not None and not info.raw_cell.strip():
            return  # of an empty cell IPython does not tell the beginning
        cell = self._running.pop() if self._running else None
        if info is None or not info.store_history:
            return
        cell = cell or Cell(0, info.raw_cell, getattr(info, "cell_id", None) or "")  # the one that loaded us
        self._cells.append(replace(cell, number=result.execution_count, failed=not result.success))

    @property
    def current(self) -> Cell | None:
        """The cell that is being executed."""
        return self._running[-1] if self._running else None

    def program(self) -> tuple[Cell, ...]:
        """The cells that made the present state, each once in its last version, in the order of their first runs.

        The one being executed is the last. One that failed counts where its id says that it is still that cell; without
        ids, it is taken for an attempt that another cell took the place of.
        """
        last: dict[str, Cell] = {}
        for cell in self._cells:
            last[cell.key] = cell
        now = self.current
        earlier = [
            cell
            for key, cell in last.items()
            if (cell.id or not cell.failed) and (now is None or (key != now.key and cell.number != now.number))
        ]
        return (*earlier, *([now] if now is not None else []))


def as_notebook(cells: Iterable[Cell]) -> bytes:
    """The notebook of these cells, each with its number as its id."""
    written = [
        {
            "cell_type": "code",
            "id": str(cell.number),
            "metadata": {},
            "execution_count": cell.number,
            "outputs": [],
            "source": cell.source,
        }
        for cell in cells
    ]
    metadata = {"language_info": {"name": "python"}}
    return json.dumps({"cells": written, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()
