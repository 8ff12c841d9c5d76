"""`dnnfix explain`: explains rules, by their docstrings and examples."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dnnfix import config, registry
from dnnfix.cli import options
from dnnfix.cli.console import CLEAN, ERROR, Console
from dnnfix.cli.output import palette
from dnnfix.cli.selectors import near
from dnnfix.emit.earned import in_words
from dnnfix.emit.rules import engine_rule, rule
from dnnfix.emit.text import Palette, diff_lines

if TYPE_CHECKING:
    from dnnfix.template import FixTemplate

OPERANDS = "CODE|NAME ..."

DESCRIPTION = (
    """What a rule finds, why that is a fault, how it is repaired and how safe the repair is, with examples."""
)

EXAMPLES = """  dnnfix explain DNF302
  dnnfix explain output-unfit-for-loss
"""

EXIT_CODES = "0, or 2 where a rule is not known"


def configure(parser: argparse.ArgumentParser) -> None:
    """The flags of `explain`."""
    parser.add_argument("rules", nargs="+", metavar="CODE|NAME", help="the codes or names of rules")
    add_catalogue(parser)
    options.add_talking(parser)


def add_catalogue(parser: argparse.ArgumentParser) -> None:
    """Where templates of the user's own come from."""
    parser.add_argument("--config", metavar="FILE", help="take the settings, with folders of templates, from this file")
    parser.add_argument("--isolated", action="store_true", help="the built-in rules only, no settings from files")


def folders(arguments: argparse.Namespace) -> tuple[Path, ...]:
    """The folders of local templates that the settings name. Raises `ConfigError`."""
    file = Path(arguments.config) if arguments.config else None
    return config.load(Path.cwd(), {}, file=file, isolated=arguments.isolated).templates


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Explain each rule; unknown ones make the exit code 2."""
    extra = folders(arguments)
    code = CLEAN
    for word in arguments.rules:
        found = registry.template(word, extra)
        if found is not None:
            console.write("\n".join(explained(found, palette(console))) + "\n")
        elif (own := engine_rule(word)) is not None:
            console.write(f"{own.code} {own.name}\n\n{own.help}\n")
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
    on = "" if template.default else "; off unless selected"
    yield f"{about.family}; fix pattern {about.fix_pattern}; {seen}{on}"
    if template.formerly:
        yield f"formerly {', '.join(template.formerly)}"
    yield f"\n{about.help}"
    if earned := in_words(about.code):
        yield f"\n{earned}"
    for example in template.examples:
        yield f"\n{colours.bold}Example: {example.name}{colours.off}"
        before, after = example.before.splitlines(), example.after.splitlines()
        yield from diff_lines("\n".join(difflib.unified_diff(before, after, "before", "after", lineterm="")), colours)
    for reject in template.rejects:
        yield f"\n{colours.bold}Left alone: {reject.name}{colours.off}"
        yield from (f"    {line}" for line in reject.source.rstrip().splitlines())
