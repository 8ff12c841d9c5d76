"""What a repository asks of the bot: the table `[bot]` of `dnnfix.toml` or `.github/dnnfix.toml` in its default branch."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from dnnfix.config import BOT
from dnnfix.errors import ConfigError

FILES = ("dnnfix.toml", ".github/dnnfix.toml")
"""Where the bot is asked for, the first that is there."""

MOST_OPEN = 2
AN_HOUR = 1
MOST_OF_EITHER = 50
"""No repository can ask for more pull requests than a person reads."""


@dataclass(frozen=True, slots=True)
class BotSettings:
    """How the bot is to behave in a repository; a repository that says nothing has not asked for it."""

    enabled: bool = False
    most_open: int = MOST_OPEN
    """Pull requests of the bot that are open at a time."""
    an_hour: int = AN_HOUR
    """New ones in an hour."""
    draft: bool = True
    partial: bool = False
    """Whether steps towards a program that runs are proposed too, where its end is not reached."""
    unsafe: bool = True
    """Whether patches that change what is trained are proposed; each is proven by training."""


def settings_of(text: bytes | None, origin: str) -> BotSettings:
    """The settings that a file tells. Raises `ConfigError` for a key that is unknown or a value of another form."""
    if text is None:
        return BotSettings()
    try:
        table = tomllib.loads(text.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{origin}: is not TOML ({error}).") from None
    asked = table.get(BOT)
    if asked is None:
        return BotSettings()
    if not isinstance(asked, dict):
        raise ConfigError(f"{origin}: [bot] has to be a table. Received: {asked!r}")
    return BotSettings(**{"enabled": True, **dict(_checked(asked, origin))})


def _checked(asked: Mapping[str, Any], origin: str) -> list[tuple[str, Any]]:
    forms: dict[str, Callable[[Any], bool]] = {
        field.name: _is_flag if field.type == "bool" else _is_number for field in fields(BotSettings)
    }
    found = []
    for key, value in asked.items():
        name = key.replace("-", "_")
        if name not in forms:
            known = ", ".join(f"`{one.replace('_', '-')}`" for one in forms)
            raise ConfigError(f"{origin}: unknown setting `{key}` of [bot]. There are: {known}.")
        if not forms[name](value):
            raise ConfigError(f"{origin}: `{key}` of [bot] has another form. Received: {value!r}")
        found.append((name, value))
    return found


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_OF_EITHER
