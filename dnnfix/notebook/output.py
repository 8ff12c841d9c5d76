"""Where a call shows what it does and what it found: one output of the cell, or lines of a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from html import escape
from typing import Any

from IPython.display import display

from dnnfix.notebook.report import NotebookReport, Offer


def in_kernel(shell: Any) -> bool:
    """Whether a front end draws what is shown, rather than a terminal."""
    return hasattr(shell, "kernel")


class Output:
    """One output: what is being done, and in its place what came of it."""

    def __init__(self, shell: Any) -> None:
        self._kernel = in_kernel(shell)
        self._begun = time.monotonic()
        self._handle: Any = None
        self._terminal = ExitStack()

    def tell(self, text: str) -> None:
        """What is being done."""
        line = f"dnnfix: {time.monotonic() - self._begun:.0f} s: {text}"
        if not self._kernel:
            if self._handle is None:
                from rich.console import Console

                self._handle = self._terminal.enter_context(Console(stderr=True).status(line))
            self._handle.update(line)
        elif self._handle is None:
            self._handle = display({"text/plain": line}, raw=True, display_id=True)
        else:
            self._handle.update({"text/plain": line}, raw=True)

    def stop(self) -> None:
        """Nothing came of it."""
        self._terminal.close()
        if self._kernel and self._handle is not None:
            self._handle.update({"text/plain": "dnnfix: stopped."}, raw=True)

    def finish(self, result: NotebookReport | str) -> None:
        """What came of it, in place of what was told."""
        self._terminal.close()
        shown: Any = {"text/plain": result} if isinstance(result, str) else result
        raw = isinstance(result, str)
        if self._kernel and self._handle is not None:
            self._handle.update(shown, raw=raw)
        else:
            display(shown, raw=raw)


def show_buttons(report: NotebookReport, apply: Callable[[Offer], str]) -> None:
    """A button for each patch of a report; `apply` returns what was done. None without ipywidgets."""
    try:
        from ipywidgets import HTML, Button, HBox, Layout, VBox
    except ImportError:
        return

    def row(offer: Offer) -> Any:
        title = offer.patch.candidate.title
        button = Button(description=f"Apply {offer.id}", tooltip=title, layout=Layout(width="auto"))
        said = HTML()

        def clicked(_: Any) -> None:
            said.value = escape(apply(offer))
            button.disabled = True

        button.on_click(clicked)
        return HBox([button, said])

    rows = [row(offer) for offer in report.applicable]
    if rows:
        bundle = VBox(rows)._repr_mimebundle_()
        # Where no widget can be drawn, in a saved notebook say, the commands of the report are enough.
        display({**bundle, "text/plain": "", "text/html": ""}, raw=True)
