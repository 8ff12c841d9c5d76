"""A line on a terminal that moves while work goes on, drawn by rich."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Column
from rich.text import Text

from dnnfix.emit.view import columns


class _Clock(TextColumn):
    """The seconds since the work was begun, and those that it may take."""

    def __init__(self, within: float | None) -> None:
        super().__init__("")
        self._within = f" of {within:.0f}" if within else ""

    def render(self, task: object) -> Text:
        """The column for the one task."""
        elapsed = getattr(task, "elapsed", None) or 0.0
        return Text(f"{elapsed:3.0f}{self._within} s", style="dim", no_wrap=True)


@contextmanager
def clock(subject: str, within: float | None, stream: TextIO, coloured: bool) -> Iterator[Callable[[str], None]]:
    """Show the subject, what is done for it, and a clock; the line is gone afterwards. Yields what is told the next step.

    On a narrow terminal the step is cut, and of a long subject the end is shown: the name of the file.
    """
    terminal = Console(file=stream, no_color=not coloured, highlight=False)
    plain = terminal.options.ascii_only
    name = TextColumn("[bold]{task.fields[subject]}", table_column=Column(no_wrap=True))
    step = TextColumn(
        "{task.description}",
        markup=False,
        table_column=Column(no_wrap=True, overflow="crop" if plain else "ellipsis", ratio=1),
    )
    shown = _ending(subject, terminal.width // 3, "..." if plain else "…").replace("[", r"\[")
    drawn = (SpinnerColumn("line" if plain else "dots"), name, _Clock(within), step)
    with Progress(*drawn, console=terminal, transient=True, expand=True) as progress:
        task = progress.add_task("", total=None, subject=shown)
        yield lambda text: progress.update(task, description=text)


def _ending(text: str, width: int, cut: str) -> str:
    """The text, or its end where it is wider than so many columns."""
    if columns(text) <= width:
        return text
    while columns(text) > width - len(cut):
        text = text[1:]
    return f"{cut}{text}"
