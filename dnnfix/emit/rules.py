"""The descriptions of rules for emitters: the name, summary and help of each code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dnnfix.records import (
    MISLEADING_CODE,
    MISLEADING_RULE,
    UNEXPLAINED_CODE,
    UNEXPLAINED_RULE,
    UNLEARNED_CODE,
    UNLEARNED_RULE,
    Family,
    FixPattern,
)
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
    """The description of a template's rule, from its metadata and docstring."""
    from inspect import cleandoc

    help = cleandoc(template.__doc__ or template.message)
    summary = " ".join(help.split("\n\n", 1)[0].split())
    return Rule(template.code, template.name, template.family.value, template.fix_pattern.value, summary, help)


def unless_selected(template: type[FixTemplate]) -> str:
    """How a rule is off that nobody has selected; empty for one that is on."""
    if template.default:
        return ""
    if template.default_in_check:
        return "in `check` only, unless selected"
    return "off unless selected, as by `--select silent`" if template.silent else "off unless selected"


_UNUSED = Rule(
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

_UNEXPLAINED = Rule(
    UNEXPLAINED_CODE,
    UNEXPLAINED_RULE,
    Family.OPINIONATED.value,
    FixPattern.API_CONTRACT.value,
    "The program crashes, and no template explains why.",
    """The program crashes, and no template explains why.

The run of the program ended with an exception that no rule of the catalogue has a finding for. The place and the message
are those of the exception. It is reported because a crash is never "no problem".

Fix safety: nothing is changed by dnnfix.""",
)

_UNLEARNED = Rule(
    UNLEARNED_CODE,
    UNLEARNED_RULE,
    Family.OPINIONATED.value,
    FixPattern.OPTIMIZER.value,
    "The training learns nothing, although there is something to learn.",
    """The training learns nothing, although there is something to learn.

The loss leaves the finite numbers or runs away, or after some hundreds of steps the network is no better than a guess, where a
linear model or the nearest neighbours of the program's own rows are. Settings that may be at fault are set otherwise, one by
one and in pairs, and the programs are trained beside one another; what makes the symptom go away is proven on further seeds.
`docs/symptoms.md` has the symptoms with their thresholds.

Fix safety: unsafe. Training takes another course, which is the point.""",
)

_MISLEADING = Rule(
    MISLEADING_CODE,
    MISLEADING_RULE,
    Family.OPINIONATED.value,
    FixPattern.API_CONTRACT.value,
    "The training looks better than it is.",
    """The training looks better than it is.

Rows that the program evaluates on are among those that it trains on, the target is one of the columns of the inputs, or the
network knows the rows that it trains on and of new ones less than a linear model or the nearest neighbours do that are fitted
on the same rows. Evaluations of the training part, which programs make on purpose, and rows that data hold twice by nature, do
not count. `docs/symptoms.md` has the thresholds.

Fix safety: nothing is changed by dnnfix. Which data to hold back, and how, is for a person to say.""",
)

ENGINE_RULES = {rule.code: rule for rule in (_UNUSED, _UNEXPLAINED, _UNLEARNED, _MISLEADING)}
"""The engine's own rules, which have no template: one judges comments, the others speak of symptoms that no template explains."""


def engine_rule(word: str) -> Rule | None:
    """The engine's own rule with that code (in any case) or name."""
    return next((own for own in ENGINE_RULES.values() if word.upper() == own.code or word == own.name), None)
