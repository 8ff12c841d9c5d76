"""Parses webhooks of GitHub: which repositories and pull requests they ask the bot to visit. Unknown events ask for
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dnnfix.bot.app.store import Asked
from dnnfix.bot.dashboard import MARK
from dnnfix.bot.report import is_slug
from dnnfix.forge.protocol import BRANCHES

MOST_AT_ONCE = 10_000
"""Repositories that one webhook may ask for: an installation for a whole organisation."""


def asked(event: str, payload: Any) -> tuple[Asked, ...]:
    """What a webhook of the kind `event` asks for: repositories whose default branch moved, that were given to the App, or in which a
    pull request of the bot was closed, so that there may be room for another one, or a person ticked something in the dashboard; and pull requests of people that are new or have other commits."""
    if not isinstance(payload, dict):
        return ()
    said = _part(payload, "installation").get("id")
    installation = said if isinstance(said, int) and 0 <= said < 2**63 else 0
    found = dict.fromkeys(slug for slug in _slugs(event, payload) if isinstance(slug, str) and is_slug(slug))
    pull = _pull(payload) if event == "pull_request" else 0
    return tuple(Asked(slug, installation, pull) for slug in list(found)[:MOST_AT_ONCE])


def _slugs(event: str, payload: Mapping[str, Any]) -> Iterator[Any]:
    action, repository = payload.get("action"), _part(payload, "repository")
    slug = repository.get("full_name")
    match event:
        case "push" if payload.get("ref") == f"refs/heads/{repository.get('default_branch')}":
            if payload.get("deleted") is not True:
                yield slug
        case "pull_request" if action == "closed" and _is_bots(payload):
            yield slug
        case "pull_request" if action in ("opened", "reopened", "synchronize") and _pull(payload):
            yield slug
        case "issues" if action == "edited":
            issue = _part(payload, "issue")
            is_bots = _part(issue, "user").get("type") == "Bot" and MARK in str(issue.get("body"))
            if is_bots and _part(payload, "sender").get("type") != "Bot":
                yield slug
        case "installation" if action in ("created", "unsuspend"):
            yield from _names(payload.get("repositories"))
        case "installation_repositories" if action == "added":
            yield from _names(payload.get("repositories_added"))


def _is_bots(payload: Mapping[str, Any]) -> bool:
    """Whether a pull request is from a branch that is called as the bot's are."""
    return str(_part(_part(payload, "pull_request"), "head").get("ref", "")).startswith(BRANCHES)


def _pull(payload: Mapping[str, Any]) -> int:
    """The number of a pull request that is to be reviewed; 0 for one of the bot, and for none."""
    number = payload.get("number")
    return 0 if _is_bots(payload) or type(number) is not int or not 0 < number < 2**31 else number


def _names(listed: Any) -> Iterator[Any]:
    for one in listed if isinstance(listed, list) else ():
        yield one.get("full_name") if isinstance(one, dict) else None


def _part(said: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = said.get(name)
    return found if isinstance(found, dict) else {}
