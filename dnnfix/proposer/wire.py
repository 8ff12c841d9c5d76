"""One question to a server by the chat-completions protocol, streamed, within time and size. Imported only when one is asked.

The client is openai's: 71 MB and 16 packages installed, 1.4 s to import. litellm (381 MB, 62 packages, 12 s) fetches a table of prices
from the network when it is imported; any-llm (106 MB, 28 packages, 4.6 s) is built on openai's. What openai's client tells a server of
this machine (system, processor, Python) and its variables for organizations and projects are left out of the requests.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import openai

from dnnfix.endpoint import Endpoint
from dnnfix.proposer.chat import MOST_ANSWERED
from dnnfix.proposer.exchanges import Asked

MOST_BYTES = 4 * 2**20
"""Bytes that are read of one answer: a stream has some hundred for each token."""

MOST_CHARACTERS = 12 * MOST_ANSWERED
"""Characters of an answer: a server that sends more does not keep to what it was asked."""

TRIES = 3
"""Times that a busy server is asked."""

PAUSE = 2.0
"""Seconds between them, where the server names none."""

_TELLING = "Lang Package-Version OS Arch Runtime Runtime-Version Async Retry-Count Read-Timeout Timeout Helper-Method Raw-Response"
"""The headers `X-Stainless-…` by which openai's client tells of this machine and of itself."""

_WITHOUT: Any = openai.Omit()
_HEADERS: dict[str, Any] = {
    **{f"X-Stainless-{name}": _WITHOUT for name in _TELLING.split()},
    "User-Agent": "dnnfix",
    "Accept-Encoding": "identity",
    "OpenAI-Organization": _WITHOUT,
    "OpenAI-Project": _WITHOUT,
}


class NoAnswer(Exception):
    """The server gave no answer; says why, without what was sent and without the key."""


@dataclass(frozen=True, slots=True)
class Received:
    """An answer, and how many tokens (prompt, answer) the server says it took."""

    text: str
    told: tuple[int, int] | None
    remark: str = ""


def ask(endpoint: Endpoint, key: str, asked: Asked) -> Received:
    """The answer to one question. Raises `NoAnswer`."""
    deadline = time.monotonic() + endpoint.timeout
    newer = False
    with _client(endpoint, key, deadline) as client:
        for turn in range(TRIES):
            try:
                return _streamed(client, asked, deadline, newer)
            except openai.RateLimitError as error:
                pause = _pause(error)
                if turn + 1 == TRIES or time.monotonic() + pause >= deadline:
                    raise NoAnswer("the server is too busy, and asks to wait longer than `timeout` allows") from None
                time.sleep(pause)
            except openai.BadRequestError as error:
                if newer:
                    raise NoAnswer(f"the server refused the request (status {error.status_code})") from None
                newer = True  # models that think before they answer take other settings
            except openai.APITimeoutError:
                raise NoAnswer(f"no answer within {endpoint.timeout:g} seconds") from None
            except openai.APIStatusError as error:
                raise NoAnswer(f"the server refused the request (status {error.status_code})") from None
            except (
                openai.OpenAIError,
                httpx2.HTTPError,
                httpx2.StreamError,
                ValueError,
                TypeError,
                AttributeError,
            ) as error:
                raise NoAnswer(_in_words(error)) from None
    raise NoAnswer("the server refused every request")


def _streamed(client: openai.OpenAI, asked: Asked, deadline: float, newer: bool) -> Received:
    settings: dict[str, Any] = (
        {"max_completion_tokens": MOST_ANSWERED}
        if newer
        else {"max_tokens": MOST_ANSWERED, "temperature": asked.temperature, "seed": asked.number}
    )
    stream = client.chat.completions.create(
        model=asked.model,
        messages=[{"role": "system", "content": asked.task}, {"role": "user", "content": asked.text}],
        stream=True,
        stream_options={"include_usage": True},
        timeout=max(1.0, deadline - time.monotonic()),
        **settings,
    )
    text, ended = "", ""
    told: tuple[int, int] | None = None
    with stream:
        for chunk in stream:
            if chunk.usage is not None:
                told = int(chunk.usage.prompt_tokens), int(chunk.usage.completion_tokens)
            for choice in chunk.choices[:1]:
                text += choice.delta.content or ""
                ended = choice.finish_reason or ended
            if len(text) > MOST_CHARACTERS:
                return Received(text[:MOST_CHARACTERS], told, "an answer did not end, and was cut")
    if not ended:
        raise NoAnswer("the server broke its answer off")
    return Received(text, told)


def _client(endpoint: Endpoint, key: str, deadline: float) -> openai.OpenAI:
    """A client that follows no redirects and reads no more than it has to; proxies are for hosts elsewhere."""

    def limited(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("compressed, which was not asked for")
        stream = response.stream
        if isinstance(stream, httpx2.SyncByteStream):
            response.stream = _Limited(stream, deadline)

    web = httpx2.Client(follow_redirects=False, trust_env=not endpoint.is_here, event_hooks={"response": [limited]})
    return openai.OpenAI(
        api_key=key or "none",
        base_url=endpoint.endpoint,
        max_retries=0,
        http_client=web,
        default_headers=_HEADERS,
    )


class _Limited(httpx2.SyncByteStream):
    """A body that ends with an error where it is too large, or comes too slowly."""

    def __init__(self, stream: httpx2.SyncByteStream, deadline: float) -> None:
        self._stream, self._deadline = stream, deadline

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._stream:
            size += len(part)
            if size > MOST_BYTES:
                raise httpx2.ReadError("too large")
            if time.monotonic() > self._deadline:
                raise httpx2.ReadTimeout("too slow")
            yield part

    def close(self) -> None:
        self._stream.close()


def _pause(error: openai.RateLimitError) -> float:
    try:
        return max(0.0, float(error.response.headers.get("retry-after", PAUSE)))
    except ValueError:
        return PAUSE


def _in_words(error: Exception) -> str:
    if isinstance(error, openai.APIConnectionError):
        return "the server cannot be reached, or broke off"
    if isinstance(error, httpx2.HTTPError):
        return f"the answer could not be read ({str(error)[:60] or type(error).__name__})"
    return f"what came is no answer of the chat-completions protocol ({type(error).__name__})"
