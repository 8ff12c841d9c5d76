"""Asks a model a question: from what is kept, within caps, and else from its server."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass

from dnnfix.endpoint import Endpoint
from dnnfix.errors import ConfigError
from dnnfix.proposer.exchanges import Asked, Exchanged, Exchanges
from dnnfix.proposer.ledger import CapReached, Ledger
from dnnfix.proposer.tokens import tokens

LIES = 4.0
"""How many times more or fewer tokens than were counted here a server may tell of; beyond that it is not believed. An answer may
have taken all that it was allowed: what a model thinks before it answers counts, and is not shown.
"""

FEWER, MORE = 5, 50
"""Tokens that it may tell of less or more in any case."""

SECRET = 12
"""Characters from which on a key is one that has to be kept: servers of one's own take any word for one."""


class Silent(Exception):
    """The model gave no answer, or may not be asked any more; says why, without what was sent and without the key."""


def require() -> None:
    """Raises `ConfigError` where the client of the protocol is not installed, or is of another time."""
    missing = [name for name in ("openai", "httpx2") if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"--proposer model needs a client of the protocol, and {' and '.join(missing)} cannot be imported: pip install -U 'dnnfix[model]'"
        )


@dataclass(frozen=True)
class Chat:
    """A model that is asked, and what it answered before. No client is imported until it is asked something new."""

    endpoint: Endpoint
    exchanges: Exchanges
    ledger: Ledger
    offline: bool = False

    def ask(self, task: str, text: str, number: int = 0) -> Exchanged:
        """The answer, from what is kept where it is known. Raises `Silent`."""
        asked = Asked(task, text, self.endpoint.model, self.endpoint.temperature, number, self.endpoint.max_tokens)
        known = self.exchanges.known(asked)
        if known is not None:
            return known
        if self.offline:
            raise Silent(f"--offline, and no answer to this prompt is kept ({asked.key})")
        key = os.environ.get(self.endpoint.key_env, "").strip() if self.endpoint.key_env else ""
        if self.endpoint.key_env and not (key and key.isascii() and key.isprintable()):
            raise Silent(f"the variable {self.endpoint.key_env}, which `key-env` names, is not set, or holds no key")
        answered = self._answered(asked, key)
        self.exchanges.keep(asked, answered)
        return answered

    def _answered(self, asked: Asked, key: str) -> Exchanged:
        try:
            from dnnfix.proposer.wire import NoAnswer, ask
        except ImportError as error:
            raise Silent(
                f"the client of the protocol cannot be imported ({error}): pip install -U 'dnnfix[model]'"
            ) from None

        size = tokens(asked.task) + tokens(asked.text)
        try:
            with self.ledger.call(self.endpoint, self.endpoint.cost(size, self.endpoint.max_tokens)) as entry:
                try:
                    received = ask(self.endpoint, key, asked)
                except NoAnswer as error:
                    entry.counts = error.may_cost
                    raise
                # A server may send the key back; a short one is no secret, and may be any word.
                text = received.text.replace(key, "…") if len(key) >= SECRET else received.text
                charged, remark = _charged((size, tokens(received.text)), received.told, self.endpoint.max_tokens)
                entry.cost = self.endpoint.cost(*charged)
        except (CapReached, OSError, NoAnswer) as error:
            raise Silent(str(error)) from None
        return Exchanged(text, *charged, entry.cost, remark=received.remark or remark)


def _charged(counted: tuple[int, int], told: tuple[int, int] | None, most: int) -> tuple[tuple[int, int], str]:
    """The tokens that count against the caps: what the server tells, unless it cannot be true; then the greater number."""
    if told is None:
        return counted, ""
    tops = (int(counted[0] * LIES), max(int(counted[1] * LIES), most))
    ranges = [*zip(counted, told, tops, strict=True)]
    if all(said >= 0 and own / LIES <= said + FEWER and said <= top + MORE for own, said, top in ranges):
        return told, ""
    asked, answered = (max(own, min(said, top)) for own, said, top in ranges)
    return (asked, answered), "the server tells of numbers of tokens that cannot be true"
