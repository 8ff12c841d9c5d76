"""Keeps a program from waiting for a person: no windows, no questions."""

from __future__ import annotations

import builtins
from typing import Any


class NeedsInput(EOFError):
    """The program asks a question on its standard input, which nobody answers."""


def install() -> None:
    """Make `input` fail by name, and figures go nowhere. Where figures are drawn is set by MPLBACKEND=Agg."""
    builtins.input = _refuse  # type: ignore[assignment]


def _refuse(prompt: Any = "") -> str:
    raise NeedsInput("the program asks for input: %s" % (prompt,))
