"""One question to a server, whatever it does: an answer, or the reason why there is none, in time, and the key nowhere else."""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dnnfix.proposer.chat import Chat, Silent
from dnnfix.proposer.exchanges import Exchanged, Exchanges
from dnnfix.proposer.ledger import Ledger
from dnnfix.testing import Reply, Request, ScriptedModel

pytest.importorskip("openai", reason="the client of the protocol: pip install 'dnnfix[model]'")

from tests.proposer.asking import endpoint

SECRET = "zq-telling-secret-7c1f"
ROOT = Path(__file__).parents[2]


def chat_with(address: str, folder: Path, **settings: object) -> Chat:
    return Chat(endpoint(address, **settings), Exchanges(folder / "exchanges"), Ledger(folder / "calls.sqlite"))


def asked(reply: Reply | str, folder: Path, **settings: object) -> Exchanged:
    """What a model is understood to answer that replies so."""
    with ScriptedModel([reply]) as model:
        return chat_with(model.endpoint, folder, **settings).ask("the task", "the text")


def why_silent(reply: Reply, folder: Path, **settings: object) -> str:
    with pytest.raises(Silent) as raised:
        asked(reply, folder, **settings)
    said = str(raised.value)
    assert said and "\n" not in said and "the text" not in said
    assert not [*folder.glob("exchanges/*")]
    return said


def events(*chunks: object) -> bytes:
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode()


def chunk(content: object, finish: object = None, **more: object) -> dict[str, object]:
    return {
        "id": "1",
        "object": "c",
        "choices": [{"index": 0, "delta": {"content": content}, "finish_reason": finish}],
        **more,
    }


# --- what is sent


def test_only_the_question_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, f"telling-{name}")
    with ScriptedModel(["größe"]) as model:
        answer = chat_with(model.endpoint, tmp_path, temperature=0.3).ask("the task", "the text", 2)
        (request,) = model.asked
    assert answer.answer == "größe" and not answer.cached
    assert (request.task, request.text) == ("the task", "the text")
    sent = {name: value for name, value in request.settings.items() if name != "messages"}
    assert sent == {
        "model": "scripted",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 1_500,
        "temperature": 0.3,
        "seed": 2,
    }
    assert "telling" not in str(request)
    headers = request.headers
    assert headers["user-agent"] == "dnnfix" and headers["accept-encoding"] == "identity"
    assert not [name for name in headers if name.startswith(("x-stainless", "openai-"))]
    assert headers["authorization"] == "Bearer none"


def test_the_same_question_is_asked_once(tmp_path: Path) -> None:
    with ScriptedModel(["one", "two"]) as model:
        chat = chat_with(model.endpoint, tmp_path)
        assert [chat.ask("task", "text").answer for _ in range(3)] == ["one"] * 3
        assert chat.ask("task", "text", 1).answer == "two"
        assert len(model.asked) == 2
    assert chat.ask("task", "text").cached


def test_no_proxy_hears_of_a_model_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedModel(["evil"]) as proxy, ScriptedModel(["good"]) as model:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.endpoint.removesuffix("/v1"))
        assert chat_with(model.endpoint, tmp_path).ask("task", "text").answer == "good"
        assert not proxy.asked


# --- what comes back


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (Reply(status=401, raw=b"{}"), r"status 401: the key is missing or wrong"),
        (Reply(status=403, raw=b"{}"), r"status 403"),
        (Reply(status=404, raw=b"{}"), r"status 404: it does not know the address or the model"),
        (Reply(status=500, raw=b"{}"), r"status 500"),
        (Reply(status=503, raw=b"<html>"), r"status 503"),
        (Reply(status=500, raw=b"x" * 10_000_000), r"status 500|too large"),
        (Reply(status=400, raw=b'{"error": {"message": "no"}}'), r"status 400"),
        (Reply(status=429, raw=b"{}", headers={"Retry-After": "10000"}), "asks to wait longer than `timeout` allows"),
        (Reply(status=429, raw=b"{}", headers={"Retry-After": "inf"}), "asks to wait longer than `timeout` allows"),
        (Reply(status=429, raw=b"{}", headers={"Retry-After": "0"}), "the server is too busy"),
        (Reply(status=429, raw=b"{}", headers={"Retry-After": "-3"}), "the server is too busy"),
        (Reply(status=429, raw=b"{}", headers={"Retry-After": "nan"}), "the server is too busy"),
        (Reply("CAUSE: a long answer that ends in its middle", breaks_off=True), "broke its answer off"),
        (Reply(raw=b""), "no answer of the chat-completions protocol"),
        (Reply(raw=b"<!doctype html><html>", headers={"Content-Type": "text/html"}), "no answer of the chat-completions protocol"),
        (Reply(raw=b"data: {not json}\n\n"), "no answer of the chat-completions protocol"),
        (Reply(raw=b'data: "text"\n\n'), "no answer of the chat-completions protocol"),
        (Reply(raw=b"data: []\n\n"), "no answer of the chat-completions protocol"),
        (Reply(raw=b"data: 3\n\n"), "no answer of the chat-completions protocol"),
        (Reply(raw=events({"choices": None})), "no answer of the chat-completions protocol"),
        (Reply(raw=events({"choices": {}})), "no answer of the chat-completions protocol"),
        (Reply(raw=events({"choices": [{"delta": None}]})), "no answer of the chat-completions protocol"),
        (Reply(raw=events(chunk({"a": 1}))), "no answer of the chat-completions protocol"),
        (Reply(raw=events(chunk(["a"]))), "no answer of the chat-completions protocol"),
        (Reply(raw=events({"error": {"message": SECRET}})), "no answer of the chat-completions protocol"),
        (Reply(raw=b"data: " + b"[" * 200_000 + b"\n\n"), "no answer of the chat-completions protocol"),
        (Reply(raw=b"data: " + b"1" * 9_000 + b"\n\n"), "no answer of the chat-completions protocol"),
        (Reply(raw=b"\xff\xfe data: {}\n\n"), "no answer of the chat-completions protocol"),
        (Reply(raw=b'{"object": "chat.completion", "choices": []}', headers={"Content-Type": "application/json"}), "no answer"),
        (Reply(raw=b"x" * 10_000_000), "too large"),
        (Reply(raw=b": no news\n\n" * 1_000_000), "too large"),
        (Reply(raw=gzip.compress(b"0" * 100_000_000), headers={"Content-Encoding": "gzip"}), "compressed"),
        (Reply(raw=gzip.compress(b"0" * 9_000), headers={"Content-Encoding": "identity, gzip"}), "compressed"),
        (Reply(raw=b"", headers={"Content-Encoding": "br"}), "compressed"),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_told_in_words(reply: Reply, says: str, tmp_path: Path) -> None:
    began = time.monotonic()
    said = why_silent(reply, tmp_path)
    assert re.search(says, said), said
    assert SECRET not in said and time.monotonic() - began < 8


def test_a_busy_server_is_asked_again_as_it_wishes(tmp_path: Path) -> None:
    replies: list[Reply | str] = [Reply(status=429, raw=b"{}", headers={"Retry-After": "1"}), "an answer"]
    began = time.monotonic()
    with ScriptedModel(replies) as model:
        assert chat_with(model.endpoint, tmp_path).ask("task", "text").answer == "an answer"
        assert len(model.asked) == 2
    assert time.monotonic() - began >= 1


def test_a_busy_server_that_names_no_time_is_asked_a_few_times(tmp_path: Path) -> None:
    with ScriptedModel([Reply(status=429, raw=b"{}", headers={"Retry-After": "soon"})]) as model:
        with pytest.raises(Silent, match="too busy"):
            chat_with(model.endpoint, tmp_path, timeout=3.0).ask("task", "text")
        assert len(model.asked) == 2  # 0 s, 2 s, and no third time after 4 s


def test_models_with_other_settings_are_asked_with_these(tmp_path: Path) -> None:
    def picky(request: Request) -> Reply | str:
        old = "max_tokens" in request.settings or "temperature" in request.settings
        return (
            Reply(status=400, raw=b'{"error": {"message": "max_tokens: use max_completion_tokens"}}')
            if old
            else "an answer"
        )

    with ScriptedModel(picky) as model:
        assert chat_with(model.endpoint, tmp_path).ask("task", "text").answer == "an answer"
        assert [request.settings.get("max_completion_tokens") for request in model.asked] == [None, 1_500]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(tmp_path: Path, status: int) -> None:
    with ScriptedModel(["evil"]) as other:
        location = f"{other.endpoint}/chat/completions"
        assert f"status {status}" in why_silent(Reply(status=status, raw=b"", headers={"Location": location}), tmp_path)
        assert not other.asked


def test_an_answer_without_end_is_cut(tmp_path: Path) -> None:
    answer = asked(Reply("word " * 100_000), tmp_path)
    assert len(answer.answer) == 18_000 and answer.remark == "an answer did not end, and was cut"


def test_no_server_is_told_in_words(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(Silent, match="cannot be reached"):
        chat_with(address, tmp_path).ask("task", "text")
    with pytest.raises(Silent, match="cannot be reached"):
        chat_with("http://no-such-host.invalid/v1", tmp_path).ask("task", "text")


# --- time


@contextmanager
def socket_server(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """The address of a server that says what it is told to, byte by byte."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                    connection.recv(65_536)
                    serve(connection)
                    connection.close()
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"


def silence(connection: socket.socket) -> None:
    time.sleep(30)


def drip_of_headers(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    for number in range(300):
        connection.sendall(f"X-{number}: a\r\n".encode())
        time.sleep(0.1)


def drip_of_body(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
    for piece in [events(chunk("a"))] * 300:
        connection.sendall(piece)
        time.sleep(0.1)


def drip_of_a_line(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ")
    for _ in range(300):
        connection.sendall(b"a")
        time.sleep(0.1)


def a_last_long_pause(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
    time.sleep(0.8)
    connection.sendall(events(chunk("a")))
    time.sleep(30)


@pytest.mark.parametrize("serve", [silence, drip_of_headers, drip_of_body, drip_of_a_line, a_last_long_pause])
def test_the_time_for_an_answer_holds(serve: Callable[[socket.socket], None], tmp_path: Path) -> None:
    began = time.monotonic()
    with socket_server(serve) as address, pytest.raises(Silent, match="no answer within 1 seconds|too slow"):
        chat_with(address, tmp_path, timeout=1.0).ask("task", "text")
    assert time.monotonic() - began < 3


def test_a_slow_answer_that_is_in_time_is_taken(tmp_path: Path) -> None:
    assert (
        asked(Reply("a slow answer of some words", delay=0.3, pause=0.05), tmp_path).answer
        == "a slow answer of some words"
    )


def cut_in_a_chunk(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n")
    body = events(chunk("the first half"))
    connection.sendall(f"{len(body) + 500:x}\r\n".encode() + body)


def reset(connection: socket.socket) -> None:
    connection.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\nContent-Type: text/event-stream\r\n\r\n" + events(chunk("a"))
    )
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def no_http(connection: socket.socket) -> None:
    connection.sendall(b"SSH-2.0-OpenSSH_9.0\r\n")


def nothing(connection: socket.socket) -> None:
    connection.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("serve", [cut_in_a_chunk, reset, no_http, nothing])
def test_a_connection_that_breaks_is_no_answer(serve: Callable[[socket.socket], None], tmp_path: Path) -> None:
    with socket_server(serve) as address, pytest.raises(Silent, match="broke"):
        chat_with(address, tmp_path).ask("task", "text")
    assert not [*tmp_path.glob("exchanges/*")]


# --- what it costs


@pytest.mark.parametrize(
    "usage",
    [(0, 0), (-1, -1), (-(10**6), 5), (10**15, 10**15), (10**15, 0), ("800", "20"), (None, None), (1e300, 1), ([], {})],
)
def test_a_server_that_lies_about_tokens_is_not_believed(usage: tuple[object, object], tmp_path: Path) -> None:
    told = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": 0}
    raw = events(chunk("words " * 200), chunk("", "stop"), {"id": "1", "choices": [], "usage": told})
    with ScriptedModel([Reply(raw=raw)]) as model:
        chat = chat_with(model.endpoint, tmp_path, prices=(1000.0, 1000.0), max_cost=100.0)
        answer = chat.ask("task", "text " * 400)
    assert answer.answer == "words " * 200
    assert 400 <= answer.asked_tokens <= 5_000 and 200 <= answer.answered_tokens <= 2_000
    assert ("the server tells of" in answer.remark) == all(isinstance(each, int | str) for each in usage)
    number, spent = chat.ledger.spent()
    assert number == 1 and spent == pytest.approx(answer.cost) and 0.5 < answer.cost < 10


@pytest.mark.parametrize("usage", ["5", 5, [], {"prompt_tokens": 1}, True])
def test_an_odd_form_of_usage_loses_no_answer(usage: object, tmp_path: Path) -> None:
    raw = events(chunk("an answer"), chunk("", "stop"), {"id": "1", "choices": [], "usage": usage})
    assert asked(Reply(raw=raw), tmp_path).answer == "an answer"


def test_a_server_that_tells_the_truth_is_believed(tmp_path: Path) -> None:
    answer = asked(Reply("words " * 200, usage=(17, 230)), tmp_path, prices=(1.0, 2.0))
    assert (answer.asked_tokens, answer.answered_tokens) == (17, 230) and answer.remark == ""
    assert answer.cost == pytest.approx((17 + 2 * 230) / 1e6)


def test_a_cap_ends_the_calls_and_not_what_is_kept(tmp_path: Path) -> None:
    with ScriptedModel(["one"]) as model:
        chat = chat_with(model.endpoint, tmp_path, max_calls=1)
        chat.ask("task", "text")
        with pytest.raises(Silent, match="`max-calls` is 1 a day"):
            chat.ask("task", "another text")
        assert chat.ask("task", "text").answer == "one" and len(model.asked) == 1


# --- the key


def test_the_key_is_sent_and_written_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELLING_KEY", SECRET)
    with ScriptedModel(lambda request: f"you sent {request.headers['authorization']}") as model:
        answer = chat_with(model.endpoint, tmp_path, key_env="TELLING_KEY").ask("task", "text")
        assert model.asked[0].headers["authorization"] == f"Bearer {SECRET}"
    assert answer.answer == "you sent Bearer …"
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


@pytest.mark.parametrize("key", [f"{SECRET}\nX-Evil: 1", f"{SECRET}\x00", f"größe{SECRET}", f"\u5b57{SECRET}", "\r\n"])
def test_a_key_that_cannot_be_sent_is_in_no_message(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {**os.environ, "TELLING_KEY": key})
    with ScriptedModel(["an answer"]) as model:
        with pytest.raises(Silent) as raised:
            chat_with(model.endpoint, tmp_path, key_env="TELLING_KEY").ask("task", "text")
        assert not model.asked
    assert SECRET not in str(raised.value)


def test_what_stands_around_a_key_is_no_part_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELLING_KEY", f" {SECRET}\r\n")
    with ScriptedModel(["an answer"]) as model:
        chat_with(model.endpoint, tmp_path, key_env="TELLING_KEY").ask("task", "text")
        assert model.asked[0].headers["authorization"] == f"Bearer {SECRET}"


def test_a_word_that_serves_as_a_key_stays_in_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELLING_KEY", "a")
    with ScriptedModel(["FILE: train.py"]) as model:
        answer = chat_with(model.endpoint, tmp_path, key_env="TELLING_KEY").ask("task", "text")
    assert answer.answer == "FILE: train.py"


@pytest.mark.parametrize(
    ("reply", "calls"),
    [
        (Reply(status=404, raw=b"{}"), 0),
        (Reply(status=429, raw=b"{}", headers={"Retry-After": "0"}), 0),
        (Reply(status=500, raw=b"{}"), 1),
        (Reply("CAUSE: a long answer that ends in its middle", breaks_off=True), 1),
    ],
)
def test_what_no_server_took_is_not_counted(reply: Reply, calls: int, tmp_path: Path) -> None:
    why_silent(reply, tmp_path, prices=(3.0, 15.0))
    ledger = Ledger(tmp_path / "calls.sqlite")
    assert ledger.spent()[0] == calls
    with pytest.raises(Silent, match="cannot be reached"):
        chat_with("http://127.0.0.1:1/v1", tmp_path).ask("the task", "the text")
    assert ledger.spent()[0] == calls


def test_a_model_that_thinks_first_refuses_once(tmp_path: Path) -> None:
    def reply(request: Request) -> Reply:
        return Reply("an answer") if "max_completion_tokens" in request.settings else Reply(status=400, raw=b"{}")

    with ScriptedModel(reply) as model:
        chat = chat_with(model.endpoint, tmp_path)
        assert [chat.ask("task", "text", number).answer for number in range(3)] == ["an answer"] * 3
        assert len(model.asked) == 4


def test_a_client_that_cannot_be_imported_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dnnfix.proposer.wire", None)
    with pytest.raises(Silent, match="the client of the protocol cannot be imported"):
        chat_with("http://127.0.0.1:1/v1", tmp_path).ask("task", "text")


def test_a_key_that_is_not_set_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TELLING_KEY", raising=False)
    with ScriptedModel(["an answer"]) as model:
        with pytest.raises(Silent, match="the variable TELLING_KEY, which `key-env` names, is not set"):
            chat_with(model.endpoint, tmp_path, key_env="TELLING_KEY").ask("task", "text")
        assert not model.asked


def test_the_log_of_the_client_has_no_key(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]);"
        "from tests.proposer.test_wire import chat_with; from dnnfix.testing import ScriptedModel\n"
        "with ScriptedModel(['an answer']) as model:\n"
        "    print(chat_with(model.endpoint, Path(sys.argv[2]), key_env='TELLING_KEY').ask('task', 'text').answer)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT), str(tmp_path)],
        env={**os.environ, "TELLING_KEY": SECRET, "OPENAI_LOG": "debug", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "an answer\n", done.stderr
    assert SECRET not in done.stderr
