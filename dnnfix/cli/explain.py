"""`dnnfix explain`: explains rules, by their docstrings and examples."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument

from dnnfix import registry
from dnnfix.cli import options
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, ERROR, Console
from dnnfix.cli.output import palette
from dnnfix.emit.earned import in_words
from dnnfix.emit.rules import engine_rule, rule, unless_selected
from dnnfix.emit.text import Palette, diff_lines, hanging, paragraphs
from dnnfix.selectors import near

if TYPE_CHECKING:
    from dnnfix.template import FixTemplate


EXAMPLES = """  dnnfix explain DNF302
  dnnfix explain output-unfit-for-loss
"""

EXIT_CODES = "0, or 2 where a rule is not known"


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    rules: Annotated[
        list[str], Argument(metavar="CODE|NAME", help="the codes or names of rules", autocompletion=options.named)
    ],
    catalogue: options.Catalogue,
) -> int:
    """What a rule finds, why that is a fault, how it is repaired and how safe the repair is, with examples."""
    extra = catalogue.settings().own_rules
    code = CLEAN
    for word in rules:
        found = registry.template(word, extra)
        if found is not None:
            console.write("\n".join(explained(found, palette(console))) + "\n")
        elif (own := engine_rule(word)) is not None:
            console.write(f"{own.code} {own.name}\n\n{paragraphs(own.help, palette(console))}\n")
        else:
            console.problem(_unknown(word, extra))
            code = ERROR
    return code


def _unknown(word: str, extra: tuple[Path, ...]) -> str:
    """What to say of a word that names no rule; a prefix of codes names many."""
    listed = registry.templates(extra)
    many = [template.code for template in listed if word and template.code.startswith(word.upper())]
    if many:
        return f"`{word}` means {len(many)} rules; give one of them: {', '.join(many)}. See: dnnfix templates"
    known = [(template.code, template.name) for template in listed]
    return f"no rule has the code or name `{word}`.{near(word, known)} See: dnnfix templates"


def explained(template: type[FixTemplate], colours: Palette) -> Iterator[str]:
    """The lines of one rule's explanation."""
    about = rule(template)
    yield f"{colours.bold}{about.code} {about.name}{colours.off}"
    seen = "seen in a run only (`suggest`)" if template.needs_run else "seen in the source (`check` and `suggest`)"
    on = f"; {off}" if (off := unless_selected(template)) else ""
    yield hanging("", 0, f"{about.family}; fix pattern {about.fix_pattern}; {seen}{on}", colours)
    if template.formerly:
        yield hanging("", 0, f"formerly {', '.join(template.formerly)}", colours)
    yield f"\n{paragraphs(about.help, colours)}"
    if earned := in_words(about.code):
        yield f"\n{paragraphs(earned, colours)}"
    for example in template.examples:
        yield "\n" + hanging(colours.bold, 0, f"Example: {example.name}{colours.off}", colours)
        before, after = example.before.splitlines(), example.after.splitlines()
        yield from diff_lines("\n".join(difflib.unified_diff(before, after, "before", "after", lineterm="")), colours)
    shown = [("Found", one.name, one.source) for one in template.finds]
    shown += [("Left alone", one.name, one.source) for one in template.rejects]
    for what, name, source in shown:
        yield "\n" + hanging(colours.bold, 0, f"{what}: {name}{colours.off}", colours)
        yield from (f"    {line}" for line in source.rstrip().splitlines())
