"""A scripted language model: a server on loopback that speaks the chat-completions protocol and answers what it is told to.

    with ScriptedModel(["CAUSE: …"]) as model:
        settings = {"endpoint": model.endpoint, "model": model.name}

It speaks the real protocol, streaming and all, so that everything in between is tried as well; a `Reply` says what goes wrong.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

WORDS = 12
"""Characters of one piece of a stream."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the model was asked: the prompt, and the request as it came."""

    task: str
    text: str
    settings: Mapping[str, Any]
    headers: Mapping[str, str]
    """By their names in small letters."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with all that can be odd about it."""

    text: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    usage: tuple[int, int] | None = None
    """Tokens that the server says it took; by default none are told."""
    delay: float = 0.0
    """Seconds before it begins."""
    pause: float = 0.0
    """Seconds before each piece."""
    breaks_off: bool = False
    """Whether the stream ends in its middle."""
    raw: bytes | None = None
    """What is sent in place of a stream."""


POLL = 0.02
"""Seconds after which it sees that it is to end."""

Script = Callable[[Request], "Reply | str"]


class ScriptedModel:
    """A model that answers by a function of what it is asked, or by texts in turn, the last one for ever. To be used by `with`."""

    name = "scripted"

    def __init__(self, script: Script | Sequence[Reply | str]) -> None:
        self._script = script
        self.asked: list[Request] = []
        """What it was asked so far."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(POLL,), daemon=True)

    @property
    def endpoint(self) -> str:
        """The address for `[tool.dnnfix.model]`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reply(self, request: Request) -> Reply:
        """What is answered to a request."""
        number = len(self.asked)
        self.asked.append(request)
        said = self._script(request) if callable(self._script) else self._script[min(number, len(self._script) - 1)]
        return Reply(said) if isinstance(said, str) else said


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = {message["role"]: message["content"] for message in body["messages"]}
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = model.reply(Request(said.get("system", ""), said.get("user", ""), body, headers))
            time.sleep(reply.delay)
            self.send_response(reply.status)
            for name, value in {"Content-Type": "text/event-stream", **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                for piece in [reply.raw] if reply.raw is not None else _stream(model.name, reply):
                    time.sleep(reply.pause)
                    self.wfile.write(piece)
                    self.wfile.flush()
            except OSError:
                return  # the client has heard enough

        def log_message(self, format: str, *args: object) -> None:
            return

    return Handler


def _stream(name: str, reply: Reply) -> Iterator[bytes]:
    pieces = [reply.text[place : place + WORDS] for place in range(0, len(reply.text), WORDS)]
    if reply.breaks_off:
        pieces = pieces[: max(1, len(pieces) // 2)]
    for piece in pieces:
        yield _event(name, [{"index": 0, "delta": {"role": "assistant", "content": piece}, "finish_reason": None}])
    if reply.breaks_off:
        return
    yield _event(name, [{"index": 0, "delta": {}, "finish_reason": "stop"}])
    if reply.usage is not None:
        asked, answered = reply.usage
        tokens = {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}
        yield _event(name, [], tokens)
    yield b"data: [DONE]\n\n"


def _event(name: str, choices: list[dict[str, Any]], usage: Mapping[str, int] | None = None) -> bytes:
    chunk = {
        "id": "chatcmpl-0",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": name,
        "choices": choices,
        "usage": usage,
    }
    return f"data: {json.dumps(chunk)}\n\n".encode()
