"""Output for a person, shared by the commands: streams, colour, progress and exit codes."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TextIO

from dnnfix.emit.view import columns, printable

CLEAN = 0
FOUND = 1
ERROR = 2
INTERRUPTED = 130
BROKEN_PIPE = 141

QUIET_SECONDS = 10.0
"""Seconds between lines of progress where standard error is no terminal."""


@dataclass
class Console:
    """Standard output and error of one call. Results go to the first, progress and problems to the second."""

    quiet: bool = False
    verbose: bool = False
    colour: bool = True
    out: TextIO = field(default_factory=lambda: sys.stdout)
    err: TextIO = field(default_factory=lambda: sys.stderr)
    _status: bool = False
    _said: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Let no character of a program or path break the output, whatever the locale."""
        for stream in (self.out, self.err):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")

    def coloured(self, stream: TextIO) -> bool:
        """Whether colour is wanted on that stream: a terminal, and neither --no-color nor NO_COLOR."""
        return self.colour and not os.environ.get("NO_COLOR") and stream.isatty() and os.environ.get("TERM") != "dumb"

    @property
    def _moves(self) -> bool:
        """Whether standard error is a terminal on which a line can be written anew."""
        return self.err.isatty() and os.environ.get("TERM") != "dumb"

    def write(self, text: str) -> None:
        """Results, as they are."""
        self.clear()
        self.out.write(text)
        self.out.flush()

    def write_bytes(self, raw: bytes) -> None:
        """Results that are bytes: diffs and programs, whose encoding is their own."""
        self.clear()
        self.out.flush()
        self.out.buffer.write(raw)
        self.out.buffer.flush()

    def problem(self, text: str) -> None:
        """What went wrong; shown even when quiet."""
        self.clear()
        print(f"dnnfix: {printable(text)}", file=self.err, flush=True)

    def remark(self, text: str) -> None:
        """Something to know that is not a result."""
        if not self.quiet:
            self.clear()
            print(printable(text), file=self.err, flush=True)

    def progress(self, text: str) -> None:
        """What is being done: one line that changes on a terminal, an occasional line elsewhere."""
        if self.quiet:
            return
        if self._moves:
            self.err.write(f"\r\033[K{_fitting(printable(text), max(20, _columns() - 1))}")
            self.err.flush()
            self._status = True
        elif time.monotonic() - self._said >= QUIET_SECONDS:
            print(printable(text), file=self.err, flush=True)
            self._said = time.monotonic()

    def asked(self, question: str) -> bool:
        """Whether the person at the terminal says yes; anything else is a no."""
        self.clear()
        self.err.write(f"{printable(question)} [y/N] ")
        self.err.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    @contextlib.contextmanager
    def working(self, subject: str, within: float | None = None) -> Iterator[Callable[[str], None]]:
        """Show what is done for a subject while it is done: on a terminal beside a clock, and the seconds that it may take.

        Yields the function that is called with each new step.
        """
        if self.quiet or not self._moves:
            yield lambda text: self.progress(f"{subject}: {text}")
            return
        from dnnfix.cli.live import clock

        self.clear()
        with clock(printable(subject), within, self.err, self.coloured(self.err)) as told:
            yield lambda text: told(printable(text))

    def clear(self) -> None:
        """Take the line of progress away."""
        if self._status:
            self.err.write("\r\033[K")
            self.err.flush()
            self._status = False


def _fitting(text: str, width: int) -> str:
    """The beginning of a text that is at most so many columns wide."""
    text = text[:width]
    while columns(text) > width:
        text = text[:-1]
    return text


def _columns() -> int:
    with contextlib.suppress(OSError, ValueError):
        return os.get_terminal_size(2).columns
    return 80
