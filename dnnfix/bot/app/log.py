"""Configures the log of the App: one JSON object per line, with secrets removed.

structlog rather than a formatter of our own for `logging`: messages come with their values, and its processors have
the place where secrets are taken out of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, MutableMapping
from typing import Any, TextIO

import structlog

from dnnfix.run.secret import looks_secret

HIDDEN = "…"

_TOKEN = re.compile(
    r"gh[a-z]_\w{10,}|github_pat_\w{10,}|(?<=://)[^/@\s]+:[^/@\s]+(?=@)|-----BEGIN[\s\S]+?-----END[^-]*-----"
)
"""Tokens of GitHub, credentials in addresses, and keys."""


def begin(stream: TextIO, secrets: Iterable[str]) -> None:
    """Write the log to `stream` as JSON from now on; `secrets` are strings that are removed from it."""
    known = tuple(one for one in secrets if one)

    def hidden(logger: object, name: str, said: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        return {key: HIDDEN if looks_secret(key) else _without(value, known) for key, value in said.items()}

    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            hidden,
            structlog.processors.JSONRenderer(sort_keys=True),
        ],
        logger_factory=structlog.PrintLoggerFactory(stream),
    )


def _without(value: Any, known: tuple[str, ...]) -> Any:
    if not isinstance(value, str):
        return value
    for secret in known:
        value = value.replace(secret, HIDDEN)
    return _TOKEN.sub(HIDDEN, value)
