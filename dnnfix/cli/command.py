"""What a command is: a function whose parameters are flags, read by typer.

A parameter is a flag of its own (`Annotated[int, Option(…)]`), or a group of them: a dataclass of `options`, whose fields
become flags. `console` is made of `options.Talking`. The docstring is the command's help; what it returns is the exit code.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import partial
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperArgument, TyperCommand
from typer.models import ParameterInfo

from dnnfix.cli.console import Console
from dnnfix.cli.guard import guarded
from dnnfix.cli.options import Talking


@dataclass(frozen=True)
class Declared:
    """A command as its module declares it."""

    function: Callable[..., int]
    examples: str
    exit_codes: str

    def __call__(self, *groups: Any, **flags: Any) -> int:
        """Carry the command out with these flags."""
        return self.function(*groups, **flags)

    def built(self, name: str) -> Any:
        """The command as typer reads it."""
        app = typer.Typer(add_completion=False, rich_markup_mode="rich" if is_rich() else None)
        made: Any = partial(_Command, examples=self.examples, exit_codes=self.exit_codes)
        about = inspect.cleandoc(self.function.__doc__ or "")
        app.command(name, cls=made, help=shown(about), context_settings=HELP)(_flat(self.function))
        return typer.main.get_command(app)


HELP = {"help_option_names": ["-h", "--help"]}


def command(examples: str, exit_codes: str) -> Callable[[Callable[..., int]], Declared]:
    """Declare a function as a command, with what `--help` says below its flags."""
    return lambda function: Declared(function, examples, exit_codes)


def is_rich() -> bool:
    """Whether help and errors of usage are drawn in boxes: on terminals alone, so that what is piped stays plain."""
    return sys.stdout.isatty() and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def shown(text: str) -> str:
    """A text of help such that its brackets stay brackets where rich reads markup."""
    return text.replace("[", r"\[") if is_rich() else text


def with_examples(draw: Callable[[], None], formatter: Any, examples: str, exit_codes: str) -> None:
    """Draw the help of a command, and below it how it is used."""
    draw()
    codes = f"Exit codes: {exit_codes}\n" if exit_codes else ""
    below = f"\nExamples:\n\n{examples}\n{codes}"
    if not is_rich():
        formatter.write(below)
        return
    from rich.console import Console as Terminal
    from rich.panel import Panel
    from rich.text import Text

    room = Terminal().width - 4
    text = Text("\n".join(line for example in examples.rstrip("\n").split("\n") for line in _fitted(example, room)))
    text.highlight_regex(r"(?m)^  (?:  )?\S.*?(?=  +|$)", "bold cyan")
    Terminal().print(Panel(text, title="Examples", title_align="left", border_style="dim"))
    Terminal().print(Text(f" {codes}", style="dim"))


def _fitted(example: str, room: int) -> Iterator[str]:
    """An example on as many lines as it takes: the command, and below it what is said of it."""
    if len(example) <= room:
        yield example
        return
    import textwrap  # where terminals are narrow, and only there

    call, _, said = example.strip().partition("  ")
    yield from textwrap.wrap(
        call, room, initial_indent="  ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
    yield from textwrap.wrap(said.strip(), room, initial_indent=" " * 6, subsequent_indent=" " * 6)


def write_panels(formatter: Any, panels: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """Write the rows of each panel under its title, as rich draws them in boxes."""
    for title, rows in panels.items():
        with formatter.section(title):
            formatter.write_dl(rows)


class _Command(TyperCommand):
    """A command whose help ends with examples and exit codes."""

    def __init__(self, *given: Any, examples: str, exit_codes: str, **attributes: Any) -> None:
        super().__init__(*given, **attributes)
        self._below = examples, exit_codes

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if unknown := getattr(error, "option_name", None) if type(error).__name__ == "NoSuchOption" else None:
                from dnnfix.cli.main import commands_with

                if names := commands_with(unknown):
                    taking: Any = error
                    taking.message += f": it is one of {' and '.join(f'`dnnfix {name}`' for name in names)}"
                    taking.possibilities = None
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[Any]] = {}
        for parameter in self.get_params(ctx):
            usual = "Arguments" if isinstance(parameter, TyperArgument) else "Options"
            if record := parameter.get_help_record(ctx):
                panels.setdefault(getattr(parameter, "rich_help_panel", None) or usual, []).append(record)
        write_panels(formatter, panels)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with_examples(lambda: super(_Command, self).format_help(ctx, formatter), formatter, *self._below)


def _flat(function: Callable[..., int]) -> Callable[..., None]:
    """The function with a keyword argument for each flag of its groups, as typer calls it; it ends in `typer.Exit`."""
    hints = get_type_hints(function, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if is_dataclass(hint) and hint is not Console}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in groups:
            parameters += _parameters(groups[name])
        elif hints[name] is not Console:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=_told(hints[name])))
    parameters += _parameters(Talking)

    def called(**values: Any) -> None:
        def taken(group: Any) -> Any:
            return group(**{field.name: values.pop(field.name) for field in fields(group)})

        talking = taken(Talking)
        console = Console(quiet=talking.quiet, verbose=talking.verbose, colour=not talking.no_color)
        given = {name: taken(group) for name, group in groups.items()}
        raise typer.Exit(guarded(lambda: function(console=console, **given, **values), console))

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def _parameters(group: Any) -> Iterator[inspect.Parameter]:
    """The flags of a group, as parameters of a function."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        kind = inspect.Parameter.KEYWORD_ONLY
        yield inspect.Parameter(field.name, kind, default=_default(field), annotation=_told(hints[field.name]))


def _default(field: Field[Any]) -> Any:
    return inspect.Parameter.empty if field.default is MISSING else field.default


def _told(hint: Any) -> Any:
    """The type of a flag, whose help names its default itself and keeps its brackets."""
    if get_origin(hint) is not Annotated:
        return hint
    kind, *extras = get_args(hint)
    infos = [copy(one) for one in extras]
    for info in infos:
        if isinstance(info, ParameterInfo):
            info.show_default = False
            info.help = shown(info.help or "")
    return Annotated[kind, *infos]
