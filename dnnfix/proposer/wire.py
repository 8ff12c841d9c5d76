"""One question to a server by the chat-completions protocol, streamed, within time and size. Imported only when one is asked.

The client is openai's: 71 MB and 16 packages installed, 1.4 s to import. litellm (381 MB, 62 packages, 12 s) fetches a table of prices
from the network when it is imported; any-llm (106 MB, 28 packages, 4.6 s) is built on openai's. What openai's client tells a server of
this machine (system, processor, Python) and its variables for organizations and projects are left out of the requests.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import httpx2
import openai

from dnnfix.endpoint import Endpoint
from dnnfix.proposer.exchanges import CUT, Asked

MOST_BYTES, BYTES = 4 * 2**20, 1_000
"""Bytes that are read of one answer in any case, and for each token that it may have: a stream has some hundred."""

CHARACTERS = 12
"""Characters for each token: a server that sends more does not keep to what it was asked."""

TRIES = 3
"""Times that a busy server is asked."""

PAUSE = 2.0
"""Seconds between them, where the server names none."""

TELLING = ("x-stainless-", "openai-")
"""How headers begin by which openai's client tells of this machine, of itself, and of the user's account there."""

HEADERS = {"User-Agent": "dnnfix", "Accept-Encoding": "identity"}


_HINTS = {
    401: "the key is missing or wrong",
    403: "the key may not do that",
    404: "it does not know the address or the model",
}


_NEWER: set[tuple[str, str]] = set()
"""Endpoints and models that take the settings of models which think before they answer; each refused the others once."""


class NoAnswer(Exception):
    """The server gave no answer; says why, without what was sent and without the key. `may_cost` says whether it may have begun with one."""

    def __init__(self, why: str, may_cost: bool = True) -> None:
        super().__init__(why)
        self.may_cost = may_cost


@dataclass(frozen=True, slots=True)
class Received:
    """An answer, and how many tokens (prompt, answer) the server says it took."""

    text: str
    told: tuple[int, int] | None
    remark: str = ""


def ask(endpoint: Endpoint, key: str, asked: Asked) -> Received:
    """The answer to one question, within the time that it may take. Raises `NoAnswer`.

    It is asked in a thread of its own, which is left alone when the time is over: looking up a name, and reading what a server
    sends byte by byte, have no end of their own.
    """
    deadline = time.monotonic() + endpoint.timeout
    heard: SimpleQueue[Received | NoAnswer] = SimpleQueue()
    Thread(target=_hear, args=(heard, endpoint, key, asked, deadline), daemon=True, name="model").start()
    try:
        said = heard.get(timeout=endpoint.timeout)
    except Empty:
        raise _late(endpoint) from None
    if isinstance(said, NoAnswer):
        raise said
    return said


def _hear(heard: SimpleQueue[Received | NoAnswer], endpoint: Endpoint, key: str, asked: Asked, deadline: float) -> None:
    try:
        with _client(endpoint, key, deadline) as client:
            heard.put(_answered(client, endpoint, asked, deadline))
    except NoAnswer as error:
        heard.put(error)
    except Exception as error:  # noqa: BLE001 - what a server sends may break its client in any way, and is no answer then
        heard.put(NoAnswer(_in_words(error), not isinstance(error.__cause__, httpx2.ConnectError)))


def _answered(client: openai.OpenAI, endpoint: Endpoint, asked: Asked, deadline: float) -> Received:
    newer = (endpoint.endpoint, asked.model) in _NEWER
    for turn in range(TRIES):
        try:
            received = _streamed(client, asked, deadline, newer)
            if newer:
                _NEWER.add((endpoint.endpoint, asked.model))
            return received
        except openai.RateLimitError as error:
            pause = _pause(error)
            if time.monotonic() + pause >= deadline:
                raise NoAnswer(
                    "the server is too busy, and asks to wait longer than `timeout` allows", may_cost=False
                ) from None
            if turn + 1 < TRIES:
                time.sleep(pause)
        except openai.BadRequestError as error:
            if newer:
                raise NoAnswer(_refused(error), may_cost=False) from None
            newer = True  # models that think before they answer take other settings
        except openai.APITimeoutError:
            raise _late(endpoint) from None
        except openai.APIStatusError as error:
            raise NoAnswer(_refused(error), may_cost=error.status_code >= 500) from None
    raise NoAnswer("the server is too busy", may_cost=False)


def _streamed(client: openai.OpenAI, asked: Asked, deadline: float, newer: bool) -> Received:
    settings: dict[str, Any] = (
        {"max_completion_tokens": asked.max_tokens}
        if newer
        else {"max_tokens": asked.max_tokens, "temperature": asked.temperature, "seed": asked.number}
    )
    stream = client.chat.completions.create(
        model=asked.model,
        messages=[{"role": "system", "content": asked.task}, {"role": "user", "content": asked.text}],
        stream=True,
        stream_options={"include_usage": True},
        timeout=max(1.0, deadline - time.monotonic()),
        **settings,
    )
    text, ended, began = "", "", False
    told: tuple[int, int] | None = None
    with stream:
        for chunk in stream:
            began = True
            told = _told(chunk.usage) or told
            for choice in chunk.choices[:1]:
                text += choice.delta.content or ""
                ended = choice.finish_reason or ended
            if len(text) > CHARACTERS * asked.max_tokens:
                return Received(text[: CHARACTERS * asked.max_tokens], told, CUT)
    if not began:
        raise NoAnswer("what came is no answer of the chat-completions protocol")
    if not ended:
        raise NoAnswer("the server broke its answer off")
    return Received(text, told, CUT if ended == "length" else "")


def _told(usage: object) -> tuple[int, int] | None:
    """The tokens of prompt and answer that a server tells of, where it tells of numbers."""
    asked, answered = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    return (asked, answered) if isinstance(asked, int) and isinstance(answered, int) else None


def _client(endpoint: Endpoint, key: str, deadline: float) -> openai.OpenAI:
    """A client that follows no redirects and reads no more than it has to; proxies are for hosts elsewhere."""

    def silent(request: httpx2.Request) -> None:
        for name in [name for name in request.headers if name.lower().startswith(TELLING)]:
            del request.headers[name]

    def limited(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise _Unwanted("compressed, which was not asked for")
        stream = response.stream
        if isinstance(stream, httpx2.SyncByteStream):
            response.stream = _Limited(stream, deadline, max(MOST_BYTES, BYTES * endpoint.max_tokens))

    hooks: dict[str, list[Any]] = {"request": [silent], "response": [limited]}
    web = httpx2.Client(follow_redirects=False, trust_env=not endpoint.is_here, event_hooks=hooks)
    return openai.OpenAI(
        api_key=key or "none",
        base_url=endpoint.endpoint,
        max_retries=0,
        http_client=web,
        default_headers=HEADERS,
    )


class _Unwanted(httpx2.TransportError):
    """An answer that is not read; says what it is."""


class _Limited(httpx2.SyncByteStream):
    """A body that ends with an error where it is too large, or comes too slowly."""

    def __init__(self, stream: httpx2.SyncByteStream, deadline: float, most: int) -> None:
        self._stream, self._deadline, self._most = stream, deadline, most

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._stream:
            size += len(part)
            if size > self._most:
                raise _Unwanted("too large")
            if time.monotonic() > self._deadline:
                raise _Unwanted("too slow")
            yield part

    def close(self) -> None:
        self._stream.close()


def _pause(error: openai.RateLimitError) -> float:
    try:
        return max(0.0, float(error.response.headers.get("retry-after", PAUSE)))
    except ValueError:
        return PAUSE


def _late(endpoint: Endpoint) -> NoAnswer:
    return NoAnswer(f"no answer within {endpoint.timeout:g} seconds")


def _refused(error: openai.APIStatusError) -> str:
    hint = _HINTS.get(error.status_code, "")
    return f"the server refused the request (status {error.status_code}{f': {hint}' if hint else ''})"


def _in_words(error: Exception) -> str:
    """What went wrong; what libraries say is left out, since it may have what was sent in it."""
    for one in (error, error.__cause__):
        if isinstance(one, _Unwanted):
            return f"the answer was not read to its end, as it is {one}"
    if isinstance(error, (openai.APIConnectionError, httpx2.TransportError)):
        return "the server cannot be reached, or broke off"
    return f"what came is no answer of the chat-completions protocol ({type(error).__name__})"
