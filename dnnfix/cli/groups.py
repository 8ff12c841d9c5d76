"""Groups of commands: `dnnfix` itself, `dnnfix bench` and `dnnfix bot`. A command is imported when it is called."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from dnnfix.cli.command import HELP, is_rich, shown, with_examples, write_panels


@dataclass(frozen=True)
class Listed:
    """A command as the list of its group shows it."""

    about: str
    panel: str | None = None


class Commands(TyperGroup):
    """Commands that are imported when they are called, listed without being imported."""

    listed: Mapping[str, Listed]
    package: str
    examples: str
    exit_codes: str = ""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.listed)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command as the list shows it."""
        if (listed := self.listed.get(cmd_name)) is None:
            return None
        return TyperCommand(cmd_name, help=listed.about, short_help=listed.about, rich_help_panel=listed.panel)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {}
        for name, listed in self.listed.items():
            panels.setdefault(listed.panel or "Commands", []).append((name, listed.about))
        write_panels(formatter, panels)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called."""
        name, *rest = args
        if name in self.listed:
            module = importlib.import_module(f"{self.package}.{name}")
            return name, module.group() if hasattr(module, "group") else module.run.built(name), rest
        if not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(self.unknown(name, ctx.command_path))
        return super().resolve_command(ctx, args)

    def unknown(self, word: str, name: str) -> str:
        """What to say of a word that is not a command."""
        near = difflib.get_close_matches(word, self.listed, n=1)
        hint = f"Did you mean `{name} {near[0]}`?" if near else f"Commands are: {', '.join(self.listed)}."
        return f"`{word}` is not a command of {name}. {hint}"

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with_examples(
            lambda: super(Commands, self).format_help(ctx, formatter), formatter, self.examples, self.exit_codes
        )


def _nothing() -> None:
    """A group that has no options of its own."""


def built(group: type[Commands], about: str, options: Callable[..., None] = _nothing) -> Any:
    """A group of commands as typer reads it; `options` are those of the group."""
    app = typer.Typer(add_completion=options is not _nothing, rich_markup_mode="rich" if is_rich() else None)
    app.callback(cls=group, help=shown(about), context_settings=HELP, no_args_is_help=True)(options)
    return typer.main.get_command(app)
