"""The expression of the program that raised an exception, and the shape that an exception's message quotes."""

from __future__ import annotations

import ast
import re

from dnnfix.detect.crashes.held_values import Shape
from dnnfix.subject import Subject


def raised_at(subject: Subject, kinds: str, message: str) -> ast.expr | ast.stmt | None:
    """The innermost expression of the program itself that was under way when the run ended with such an exception.

    `kinds` has the names of exceptions, `message` is a pattern that is searched for in what the exception says.
    """
    crash = subject.crash
    if crash is None or crash.kind not in kinds.split() or re.search(message, crash.message) is None:
        return None
    own = [frame.site for frame in crash.frames if not frame.site.path]
    return subject.node(own[-1]) if own else None


def shape_said(text: str) -> Shape:
    """The shape whose sizes a message lists; anything but an integer (`None`, `?`) is an unknown size."""
    sizes = [size.strip() for size in text.split(",") if size.strip()]
    return tuple(int(size) if size.isdigit() else None for size in sizes)
