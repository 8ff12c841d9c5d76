"""What an emitter tells of the rules behind its findings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dnnfix.records import Family, FixPattern
from dnnfix.suppress import UNUSED_CODE, UNUSED_RULE

if TYPE_CHECKING:
    from dnnfix.template import FixTemplate


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `summary` is a sentence, `help` the whole explanation."""

    code: str
    name: str
    family: str
    fix_pattern: str
    summary: str
    help: str


def rule(template: type[FixTemplate]) -> Rule:
    """The rule that a template stands for, from its metadata and docstring."""
    from inspect import cleandoc

    help = cleandoc(template.__doc__ or template.message)
    summary = " ".join(help.split("\n\n", 1)[0].split())
    return Rule(template.code, template.name, template.family.value, template.fix_pattern.value, summary, help)


UNUSED = Rule(
    UNUSED_CODE,
    UNUSED_RULE,
    Family.OPINIONATED.value,
    FixPattern.API_CONTRACT.value,
    "A `# noqa: DNF...` comment that suppresses nothing.",
    """A `# noqa: DNF...` comment that suppresses nothing.

What it named was looked for and is not there (any more). The comment would hide the next real finding on its line, so
take it away. Comments without a code, and codes of other tools, are never reported.

Fix safety: nothing is changed by dnnfix.""",
)
"""The engine's own rule: it judges comments, not programs, and so has no template."""
