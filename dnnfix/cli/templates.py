"""`dnnfix templates`: lists every rule, as a table, as JSON, or as the documentation's catalogue page."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Option

from dnnfix import registry
from dnnfix.cli import options
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, Console
from dnnfix.cli.output import palette
from dnnfix.emit import noise
from dnnfix.emit.earned import in_words
from dnnfix.emit.rules import Rule, rule, unless_selected
from dnnfix.emit.text import Palette, hanging
from dnnfix.records import Family, Nature

if TYPE_CHECKING:
    from dnnfix.template import FixTemplate


EXAMPLES = """  dnnfix templates
  dnnfix templates --family data-type
  dnnfix templates --new rules/no-print-in-loop.toml     a rule of your own, which needs no Python: docs/rules.md
  dnnfix templates --test rules/no-print-in-loop.toml    and whether it keeps what its examples promise
  dnnfix templates --output-format markdown > docs/templates.md
"""

EXIT_CODES = "0, 1 where a tested rule does not keep its promises, or 2 after an error"

LEAST = 40
"""Columns that a summary has beside the name of its rule; where there are fewer, it stands below it."""

HEAD = """# The catalogue

Every fault that dnnfix knows, made by `dnnfix templates --output-format markdown` from the templates themselves. Rules
marked *run* need the program to run (`suggest`); the others are also found by `check`. What a rule has earned is counted over the
open half of the benchmark, whose faults people repaired, and over sound programs: those repairs and the trainings of `docs/field-trials.md`. Many rules were written
with those faults at hand: that one has fired in none of them says more than that it was right in one. How often it fires was counted in public files (`tools/noise.py`); where findings of it were
read, that was before it was tightened on what was wrong. A *risk* is a fault under conditions that the code does not show; *advice* is about code that works.
"""


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    catalogue: options.Catalogue,
    family: Annotated[Family | None, Option(help="the rules of this family only")] = None,
    output_format: Annotated[Literal["text", "json", "markdown"], Option(help="how they are written (text)")] = "text",
    new: Annotated[Path | None, Option(metavar="FILE", help="write a rule to start from, and list nothing")] = None,
    test: Annotated[
        list[Path] | None,
        Option(metavar="FILE", help="try a rule file on its own examples and rejects, and list nothing"),
    ] = None,
) -> int:
    """List every rule: its code, its name, and what it says. `dnnfix explain CODE` tells the whole story."""
    if new is not None:
        from dnnfix.cli.own_rules import write_new

        return write_new(console, new)
    if test:
        from dnnfix.cli.own_rules import try_rules

        return try_rules(console, test)
    listed = [t for t in registry.templates(catalogue.settings().own_rules) if family in (None, t.family)]
    if output_format == "json":
        console.write(json.dumps([_plain(template) for template in listed], indent=2) + "\n")
    elif output_format == "markdown":
        console.write("\n".join(page(listed)) + "\n")
    else:
        console.write("".join(f"{line}\n" for line in _table(listed, palette(console))))
    return CLEAN


def _plain(template: type[FixTemplate]) -> dict[str, object]:
    about = rule(template)
    return {
        "code": about.code,
        "rule": about.name,
        "family": about.family,
        "fix_pattern": about.fix_pattern,
        "summary": about.summary,
        "needs_run": template.needs_run,
        "nature": template.nature.value,
        "silent": template.silent,
        "default": template.default,
        "default_in_check": not template.needs_run and (template.default or template.default_in_check),
    }


def _table(listed: list[type[FixTemplate]], colours: Palette) -> Iterator[str]:
    width = max((len(template.name) for template in listed), default=0)
    for family, group in groupby(listed, key=lambda template: template.family.value):
        yield family
        for template in group:
            marks = "" if template.default else " (check)" if template.default_in_check else " (off)"
            marks += " (run)" if template.needs_run else ""
            marks += "" if template.nature is Nature.FAULT else f" ({template.nature})"
            head, indent = f"  {template.code}  {template.name:<{width}}  ", width + 12
            if 0 < colours.width < indent + LEAST:
                head, indent = f"  {template.code}  {template.name}\n{' ' * 10}", 10
            yield hanging(head, indent, f"{rule(template).summary}{marks}", colours)
    counted = f"{len(listed)} rule{'' if len(listed) == 1 else 's'}"
    yield hanging(
        "",
        0,
        f"{counted}. (run): needs a run; (check): by `check` only, unless selected; (off): only when selected.",
        colours,
    )


def page(listed: list[type[FixTemplate]]) -> Iterator[str]:
    """The lines of the catalogue's page in Markdown."""
    yield HEAD
    for family, group in groupby(listed, key=lambda template: template.family.value):
        yield f"## {family}\n"
        for template in group:
            yield from _section(template, rule(template))


def _section(template: type[FixTemplate], about: Rule) -> Iterator[str]:
    said = (
        template.nature.value if template.nature is not Nature.FAULT else "",
        f"silent pattern {template.silent}" if template.silent else "",
        unless_selected(template),
        "*run*" if template.needs_run else "",
    )
    marks = "".join(f", {mark}" for mark in said if mark)
    yield f"### {about.code} {about.name}\n"
    yield f"Fix pattern `{about.fix_pattern}`{marks}.\n"
    if template.formerly:
        yield f"Formerly {', '.join(template.formerly)}; settings and comments with these go on to mean it.\n"
    if earned := in_words(about.code):
        heard = "" if template.needs_run else f" {noise.in_words(about.code)}"
        yield f"{earned}{heard}\n"
    yield f"{about.help}\n"
    for example in template.examples[:1]:
        before, after = example.before.splitlines(), example.after.splitlines()
        diff = list(difflib.unified_diff(before, after, "before", "after", lineterm="", n=2))
        yield "\n".join(["```diff", *diff[2:], "```\n"])
