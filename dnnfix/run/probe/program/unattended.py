"""Makes a program fail rather than wait for a person's input, and turns its warnings into events."""

from __future__ import annotations

import builtins
import logging
import re
import warnings
from typing import Any, Set

from .. import sites, wire

MOST_WARNINGS = 200
"""Warnings that one trace holds at most."""


_FOR_AUTHORS = (DeprecationWarning, PendingDeprecationWarning)
"""Warnings that concern the author of the code they point at; from library code they are of no use here."""

_LOGGING = frozenset(["accelerate", "datasets", "diffusers", "peft", "transformers", "trl"])
"""Libraries that log what others warn of."""

_NUMBERS = re.compile(r"\d+")

_OF_THE_WATCHERS = "run_functions_eagerly"
"""What a warning names that comes of how the program is watched, and not of the program."""


class NeedsInput(EOFError):
    """The program asks for standard input, and nobody answers."""


def install() -> None:
    """Make `input` raise `NeedsInput`. Figures need nothing: with MPLBACKEND=Agg `show` returns at once."""
    builtins.input = _refuse


def _refuse(prompt: Any = "") -> str:
    raise NeedsInput("the program asks for input: %s" % (prompt,))


def catch_warnings() -> None:
    """Report every category of warning once per line, in place of printing it; what is told within a library, and what libraries log, once."""
    seen: Set[Any] = set()

    def show(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        site = sites.line_site(filename, lineno)
        if (site is None and issubclass(category, _FOR_AUTHORS)) or _OF_THE_WATCHERS in str(message):
            return
        # One call of a library, such as one that trains, may warn of several things.
        text = "" if site else _NUMBERS.sub("", str(message))[:80]
        site = site or sites.caller_site()
        key = (category.__name__, str(site), text)
        if key not in seen and len(seen) < MOST_WARNINGS:
            seen.add(key)
            wire.emit("warning", category=category.__name__, message=wire.shorten(str(message), 1000), site=site)

    def handled(logger: logging.Logger, entry: logging.LogRecord) -> None:
        library = entry.name.partition(".")[0]
        if entry.levelno >= logging.WARNING and library in _LOGGING and len(seen) < MOST_WARNINGS:
            message = wire.shorten(str(entry.msg), 1000)
            if message not in seen:
                seen.add(message)
                wire.emit("warning", category="logged", message=message, site=sites.caller_site())
        handle(logger, entry)

    handle = logging.Logger.handle
    logging.Logger.handle = handled  # type: ignore[assignment, method-assign]
    warnings.showwarning = show
    warnings.simplefilter("always", DeprecationWarning)
    # Last in line: what the libraries silence stays silent, everything else is seen wherever it comes up.
    warnings.simplefilter("always", append=True)
