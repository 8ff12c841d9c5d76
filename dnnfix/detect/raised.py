"""Where in the program an exception came up: the expression of its own that was under way."""

from __future__ import annotations

import ast
import re

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
