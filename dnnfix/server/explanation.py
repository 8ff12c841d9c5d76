"""The story of a rule in Markdown, as `dnnfix explain` tells it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

from dnnfix import registry
from dnnfix.emit.earned import in_words
from dnnfix.emit.rules import engine_rule, rule
from dnnfix.template import FixTemplate


def explanation(code: str, templates: tuple[Path, ...] = (), *, whole: bool = True) -> str:
    """The story of the rule with that code or name; with its first example alone unless `whole`. Empty for no rule."""
    found = registry.template(code, templates)
    if found is not None:
        return "\n\n".join(_paragraphs(found, whole))
    own = engine_rule(code)
    return f"### {own.code} {own.name}\n\n{own.help}" if own is not None else ""


def _paragraphs(template: type[FixTemplate], whole: bool) -> Iterator[str]:
    about = rule(template)
    yield f"### {about.code} {about.name}"
    seen = "seen in a run only" if template.needs_run else "seen in the source"
    yield f"{about.family}; fix pattern `{about.fix_pattern}`; {seen}"
    yield about.help
    if earned := in_words(about.code):
        yield earned
    for example in template.examples if whole else template.examples[:1]:
        before, after = example.before.splitlines(), example.after.splitlines()
        diff = list(difflib.unified_diff(before, after, lineterm="", n=len(before) if whole else 2))
        yield f"**Example: {example.name}**"
        yield "\n".join(["```diff", *diff[3 if whole else 2 :], "```"])
    for reject in template.rejects if whole else ():
        yield f"**Left alone: {reject.name}**"
        yield f"```python\n{reject.source.rstrip()}\n```"
