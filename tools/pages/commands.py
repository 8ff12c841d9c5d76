"""A page for each command, from what `--help` is made of."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from dnnfix.cli import main


def _module(words: str) -> ModuleType:
    return import_module(".".join(("dnnfix.cli", *words.split()))) if words else main


def is_group(words: str) -> bool:
    """Whether the command has commands of its own."""
    return hasattr(_module(words), "COMMANDS")


def names(group: str = "") -> list[str]:
    """The commands of a group; of `dnnfix` itself where none is named."""
    return list(_module(group).COMMANDS)


@cache
def _built(words: str) -> Any:
    module, name = _module(words), words.split()[-1]
    return module.group() if is_group(words) else module.run.built(name)


def overview() -> str:
    """The page with all commands, one line each."""
    return "\n".join(["# Commands", "", main.ABOUT, *_list(""), "", *_below(main.EXAMPLES, main.EXIT_CODES), ""])


def writer(words: str) -> Callable[[], str]:
    """What makes the page of a command."""
    return lambda: "\n".join(_group(words) if is_group(words) else _command(words))


def _group(words: str) -> Iterator[str]:
    module = _module(words)
    yield from (f"# dnnfix {words}", "", module.ABOUT, *_list(words), "", *_below(module.EXAMPLES, ""), "")


def _list(group: str) -> Iterator[str]:
    """The commands of a group, in tables by panel."""
    panel = None
    for name, listed in _module(group).COMMANDS.items():
        title = listed.panel or "Commands"
        if title != panel:
            yield from ("", f"## {title}", "", "| command | what it does |", "|---|---|")
        panel = title
        words = f"{group} {name}".strip()
        yield f"| [`dnnfix {words}`]({words.replace(' ', '-')}.md) | {_cell(listed.about)} |"


def _command(words: str) -> Iterator[str]:
    command, declared = _built(words), _module(words).run
    context = command.context_class(command, info_name=f"dnnfix {words}")
    yield from (f"# dnnfix {words}", "", inspect.cleandoc(declared.function.__doc__ or ""), "")
    usage = " ".join(command.collect_usage_pieces(context))
    yield from ("```text", f"dnnfix {words} {usage}", "```", "", *_below(declared.examples, declared.exit_codes))
    for title, rows in _panels(command, context).items():
        name, _, about = title.partition(": ")
        yield from (
            "",
            f"## {name}",
            "",
            *((f"{_marked(about[:1].upper() + about[1:])}.", "") if about else ()),
            "| | |",
            "|---|---|",
        )
        for flags, help in rows:
            yield f"| {_flags(flags)} | {_cell(help)} |"
    yield ""


def _panels(command: Any, context: Any) -> dict[str, list[tuple[str, str]]]:
    """The flags with their help, under the titles that `--help` shows them under."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
        if record := parameter.get_help_record(context):
            panels.setdefault(getattr(parameter, "rich_help_panel", None) or usual, []).append(record)
    return panels


def _below(examples: str, exit_codes: str) -> Iterator[str]:
    yield from ("## Examples", "", "```console", *map(_example, examples.rstrip("\n").splitlines()), "```")
    if exit_codes:
        yield from ("", "## Exit codes", "", *(f"- {_code(one)}" for one in re.split(r", (?=\d)", exit_codes)))


def _example(line: str) -> str:
    """A line of the examples as a shell has it: what is said about a command becomes a comment."""
    command, gap, said = re.fullmatch(r"  (\S.*?)(?:(\s{2,})(\S.*))?", line).groups()  # type: ignore[union-attr]
    return f"$ {command}{gap}# {said}" if said else f"$ {command}"


def _code(one: str) -> str:
    """What an exit code means: `0 nothing found` with its number as code."""
    number, _, meaning = one.partition(" ")
    return f"`{number}` {meaning or 'otherwise'}"


def _flags(flags: str) -> str:
    return "<br>".join(f"`{flag}`" for flag in flags.replace(" <list[str]>", "").replace("|", "\u2223").split(", "))


def _cell(words: str) -> str:
    return _marked(words).replace("|", "\\|").replace("\n", " ")


def _marked(words: str) -> str:
    """A help text whose flags stand out as code, and whose brackets and stars stay what they are."""
    kept = re.split(r"(`[^`]*`)", words)
    return "".join(part if part.startswith("`") else re.sub(r"([*_<\[])", r"\\\1", part) for part in kept)
