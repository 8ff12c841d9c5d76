"""What an emitter tells of the rules behind its findings."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    help = inspect.cleandoc(template.__doc__ or template.message)
    summary = " ".join(help.split("\n\n", 1)[0].split())
    return Rule(template.code, template.name, template.family.value, template.fix_pattern.value, summary, help)
