"""The bot's settings in a repository, read from `dnnfix.toml` or `.github/dnnfix.toml` at a commit."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from dnnfix.config import BOT
from dnnfix.errors import ConfigError
from dnnfix.forge.git import Git

FILES = ("dnnfix.toml", ".github/dnnfix.toml")
"""Where the bot is asked for, the first that is there."""

ABOUT_ITSELF = (
    "select", "extend-select", "ignore", "fixable", "unfixable", "per-file-ignores", "exclude", "rules", "seed"
)  # fmt: skip
"""Settings that a repository may make about itself: none of them names what is run, or where."""

MOST_OPEN = 2
AN_HOUR = 1
MOST_OF_EITHER = 50
"""No repository can ask for more pull requests than a person reads."""

MOST_NAMES = 10
"""Labels, people or teams that a pull request gets."""

MOST_LABEL = 50
"""Characters of a label."""

NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})(?:/[A-Za-z0-9][\w.-]{0,99})?")
"""A person on a forge, or a team as `owner/team`."""

MOST_BYTES = 64 * 2**10


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
    labels: tuple[str, ...] = ()
    """Labels that its pull requests get."""
    assignees: tuple[str, ...] = ()
    """People that they are assigned to."""
    reviewers: tuple[str, ...] = ()
    """People and teams that are asked to review them."""
    codeowners: bool = True
    """Whether those that CODEOWNERS names for the changed files of a draft are asked too; of what is no draft GitHub asks them itself."""
    dashboard: bool = False
    """Whether an issue is kept that says what was found, with boxes to tick."""
    despite_policy: bool = False
    """Whether the bot is wanted although a file for contributors forbids changes by machines."""
    review: bool = False
    """Whether pull requests of people are reviewed."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the file of a repository says: to the bot, and about the repository; `not_read` are its other settings."""

    bot: BotSettings = field(default_factory=BotSettings)
    itself: Mapping[str, Any] = field(default_factory=dict)
    not_read: tuple[str, ...] = ()
    origin: str = ""
    is_decided: bool = False
    """Whether it says anything to the bot, and be it that it is not wanted."""


def asked(git: Git, commit: str, slug: str) -> Asked:
    """What a repository asks at a commit. Raises `ConfigError` for a file that makes no sense."""
    for path in FILES:
        listed = git.run("ls-tree", "-z", commit, "--", path).split("\0")[0]
        if listed.startswith("100"):
            return told(git.run_bytes("cat-file", "blob", listed.split()[2]), f"{slug}: {path}")
    return Asked()


def heeded(git: Git, commit: str, slug: str, *, by_person: bool) -> BotSettings:
    """How the bot is to behave at a commit; where a person asks for a repository that has not asked itself, by default."""
    settings = asked(git, commit, slug).bot
    return BotSettings(enabled=True, review=True) if by_person and not settings.enabled else settings


def told(text: bytes, origin: str) -> Asked:
    """The settings in the text of such a file. Raises `ConfigError` for an unknown key or a malformed value."""
    if len(text) > MOST_BYTES:
        raise ConfigError(f"{origin}: is too large for settings ({len(text)} bytes; at most {MOST_BYTES}).")
    try:
        table = tomllib.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{origin}: is not TOML ({str(error)[:200]}).") from None
    said = table.pop(BOT, None)
    if said is not None and not isinstance(said, dict):
        raise ConfigError(f"{origin}: [bot] has to be a table. Received: {said!r}")
    bot = BotSettings() if said is None else BotSettings(**{"enabled": True, **dict(_checked(said, origin))})
    named = {key.replace("_", "-"): value for key, value in table.items()}
    itself = {key: value for key, value in named.items() if key in ABOUT_ITSELF}
    return Asked(bot, itself, tuple(key for key in named if key not in itself), origin, said is not None)


def _checked(said: Mapping[str, Any], origin: str) -> list[tuple[str, Any]]:
    forms = {one.name: _FORMS[str(one.type)] for one in fields(BotSettings)}
    found = []
    for key, value in said.items():
        name = key.replace("-", "_")
        if name not in forms:
            known = ", ".join(f"`{one.replace('_', '-')}`" for one in forms)
            raise ConfigError(f"{origin}: unknown setting `{key}` of [bot]. There are: {known}.")
        if not forms[name](value):
            raise ConfigError(f"{origin}: `{key}` of [bot] has another form. Received: {value!r}")
        found.append((name, tuple(value) if isinstance(value, list) else value))
    for name, value in found:
        if name == "assignees" and not all(NAME.fullmatch(one) and "/" not in one for one in value):
            raise ConfigError(f"{origin}: `{name}` of [bot] has to name people. Received: {value!r}")
        if name == "reviewers" and not all(NAME.fullmatch(one) for one in value):
            raise ConfigError(
                f"{origin}: `{name}` of [bot] has to name people, or teams as owner/team. Received: {value!r}"
            )
    return found


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_OF_EITHER


def _is_listed(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= MOST_NAMES
        and all(isinstance(one, str) and 0 < len(one) <= MOST_LABEL and one.isprintable() for one in value)
    )


_FORMS: dict[str, Callable[[Any], bool]] = {"bool": _is_flag, "int": _is_number, "tuple[str, ...]": _is_listed}
"""What the value of a setting has to be, by its type."""
