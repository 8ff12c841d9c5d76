"""Tells whether the code of a report is a program, or a part of one that means nothing without the rest."""

from __future__ import annotations

from dnnfix.detect.crashes.undefined import undefined_names
from dnnfix.reproduce.conventions import NAMES
from dnnfix.source.parse import Unparsable, parse
from dnnfix.source.program import Source


def lacking_names(program: str) -> tuple[str, ...] | None:
    """The names that the code uses and that neither it nor a convention (`np`, `nn`) defines; `None` where it is not Python."""
    try:
        parse(program)
    except Unparsable:
        return None
    source = Source.from_bytes(program.encode("utf-8", "replace"), "report.py")
    return tuple(name.name for name in undefined_names(source) if name.name not in NAMES)
