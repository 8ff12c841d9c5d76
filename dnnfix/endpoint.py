"""The language model that may propose patches: where it is served, and what it may cost (`[tool.dnnfix.model]`).

Nothing here speaks to it (`dnnfix.proposer` does): settings are read for every program, and most ask no model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dnnfix.records.record import record

if TYPE_CHECKING:
    from urllib.parse import SplitResult

MOST_CALLS = 1_000_000
MOST_SAMPLES = 20
LEAST_TOKENS, MOST_TOKENS = 200, 100_000
LONGEST_WAIT = 3_600.0
MILLION = 1_000_000
"""Tokens that prices are for."""


@record
class Endpoint:
    """A model behind the chat-completions protocol. Caps hold for all processes with one cache folder, over a day."""

    endpoint: str = ""
    """The address of the protocol, such as `http://127.0.0.1:11434/v1`."""
    model: str = ""
    """The name that the server knows the model by."""
    key_env: str = ""
    """The environment variable that has the key; it is read when the model is called, and kept nowhere."""
    max_cost: float | None = None
    """US dollars that calls may cost in a day; needs `prices`."""
    max_calls: int = 200
    """Calls in a day."""
    timeout: float = 120.0
    """Seconds that one answer may take, to its last word."""
    max_tokens: int = 1_500
    """Tokens that one answer may have; a model that thinks before it answers takes some thousands."""
    samples: int = 4
    """Answers that are asked for at first."""
    temperature: float = 0.7
    """How much answers may differ, from 0 to 2."""
    prices: tuple[float, float] | None = None
    """US dollars for a million tokens of the prompt, and for a million of the answer."""
    mask: bool = False
    """Whether names, strings and paths of the program are replaced in what is sent, and put back in the answer."""

    @property
    def host(self) -> str:
        """The machine that is asked, without port."""
        from urllib.parse import urlsplit  # settings are read for every program, and most name no host

        return urlsplit(self.endpoint).hostname or ""

    @property
    def is_here(self) -> bool:
        """Whether what is sent stays on this machine."""
        import ipaddress

        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def cost(self, asked: int, answered: int) -> float:
        """US dollars for so many tokens of a prompt and of its answer; 0 where no prices are known. An answer has at most `max_tokens`."""
        of_prompt, of_answer = self.prices or (0.0, 0.0)
        return (asked * of_prompt + answered * of_answer) / MILLION

    @property
    def named(self) -> str:
        """The model with what its answers depend on, in one word for results that are kept."""
        return f"{self.model} ({self.samples} answers of {self.max_tokens} tokens at {self.temperature:g}{', masked' if self.mask else ''})"

    @property
    def lacks(self) -> str:
        """What has to be set before the model can be asked, in words; empty where nothing is missing."""
        if not self.endpoint:
            return "`endpoint` has to name a server of the chat-completions protocol, as in http://127.0.0.1:11434/v1"
        if not self.model:
            return "`model` has to name the model that the server is asked for"
        if self.key_env and not self.is_here and not self.endpoint.lower().startswith("https:"):
            return "`endpoint` has to begin with https:// where a key is sent to another machine"
        if self.max_cost is not None and self.prices is None:
            return "`max-cost` can be kept only where `prices` says what tokens cost: prices = [3.0, 15.0]"
        return ""


def read_endpoint(value: Any) -> Endpoint:
    """The table of settings. Raises `TypeError` and `ValueError`, with what is wrong in words behind the table's name."""
    if not isinstance(value, Mapping):
        raise TypeError('has to be a table such as {endpoint = "http://127.0.0.1:11434/v1", model = "qwen"}')
    values: dict[str, Any] = {}
    for key, given in value.items():
        name = str(key).replace("-", "_")
        if name not in _FORMS:
            raise ValueError(f"has no setting `{key}`; there are {', '.join(_keys())}")
        wrong = _FORMS[name](given)
        if wrong:
            received = "" if name in _UNSAID else f" (received: {given!r})"
            raise ValueError(f"has a `{key}` that {wrong}{received}")
        values[name] = given
    if "prices" in values:
        values["prices"] = tuple(map(float, values["prices"]))
    return replace(Endpoint(), **values)


def _keys() -> list[str]:
    return [f"`{name.replace('_', '-')}`" for name in _FORMS]


def _address(value: Any) -> str:
    from urllib.parse import urlsplit

    if not isinstance(value, str):
        return "is no text"
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        return "is no address"
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not value.isprintable():
        return "is no address that begins with http:// or https://"
    return _unwanted(parts)


def _unwanted(parts: SplitResult) -> str:
    if parts.username is not None or parts.password is not None:
        return "has a name or password in it; `key-env` names the variable that has the key"
    return "has more than an address in it: leave out what begins with ? or #" if parts.query or parts.fragment else ""


def _word(value: Any) -> str:
    return "" if isinstance(value, str) and value.isprintable() and value.strip() else "is no text in one line"


def _variable(value: Any) -> str:
    is_name = isinstance(value, str) and value.isidentifier() and value.isascii() and value == value.upper()
    return "" if is_name else "is no name of an environment variable in capitals; the key itself belongs into no file"


def _flag(value: Any) -> str:
    return "" if isinstance(value, bool) else "is neither true nor false"


def _number(least: float, most: float, kind: tuple[type, ...] = (int, float)) -> Callable[[Any], str]:
    def wrong(value: Any) -> str:
        is_one = isinstance(value, kind) and not isinstance(value, bool)
        return "" if is_one and least <= value <= most else f"is no number from {least:g} to {most:g}"

    return wrong


def _prices(value: Any) -> str:
    are = isinstance(value, (list, tuple)) and len(value) == 2 and not any(_number(0, 1e6)(each) for each in value)
    return "" if are else "is not two numbers: dollars for a million tokens sent, and for a million received"


_FORMS: dict[str, Callable[[Any], str]] = {
    "endpoint": _address,
    "model": _word,
    "key_env": _variable,
    "max_cost": _number(0, 1e6),
    "max_calls": _number(0, MOST_CALLS, (int,)),
    "timeout": _number(1, LONGEST_WAIT),
    "max_tokens": _number(LEAST_TOKENS, MOST_TOKENS, (int,)),
    "samples": _number(1, MOST_SAMPLES, (int,)),
    "temperature": _number(0, 2),
    "prices": _prices,
    "mask": _flag,
}
"""What is wrong with a value, in words; empty where nothing is."""

_UNSAID = frozenset({"endpoint", "key_env"})
"""Settings whose wrong values are not repeated: someone may have written a key or a password there."""
