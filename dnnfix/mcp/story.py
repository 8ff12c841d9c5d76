"""The story of a rule, as long as an agent reads it."""

from __future__ import annotations

from pathlib import Path

from dnnfix import registry
from dnnfix.emit.rules import engine_rule
from dnnfix.errors import InputError
from dnnfix.mcp.answers import Explained
from dnnfix.mcp.brief import line, whole
from dnnfix.mcp.guard import Guard
from dnnfix.mcp.work import Progress
from dnnfix.selectors import near
from dnnfix.server.explanation import explanation

MOST = 6000
"""Characters of a story."""


def explain(guard: Guard, word: str, progress: Progress) -> Explained:
    """What a rule finds, and why that is a fault. Raises `InputError` where none has that code or name."""
    extra = guard.settings().of(Path.cwd()).own_rules
    found = registry.template(word, extra)
    own = engine_rule(word)
    if found is not None:
        code, name = found.code, found.name
    elif own is not None:
        code, name = own.code, own.name
    else:
        known = [(template.code, template.name) for template in registry.templates(extra)]
        raise InputError(f"no rule has the code or name `{line(word, 80)}`.{near(word, known)} `check` gives codes.")
    parts = explanation(code, extra).split("\n\n")
    taken = len(parts)
    while taken > 1 and len("\n\n".join(parts[:taken])) > MOST:
        taken -= 1
    left = (f"examples: `dnnfix explain {code}` shows all",) if taken < len(parts) else ()
    return Explained(code, name, whole("\n\n".join(parts[:taken])), left)
