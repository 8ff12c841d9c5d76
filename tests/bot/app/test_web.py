"""What the App answers: GitHub's webhooks are kept once, nobody else's are, and no secret is said."""

from __future__ import annotations

import hashlib
import hmac
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from starlette.testclient import TestClient

from dnnfix.bot.app import log, web
from dnnfix.bot.app.store import Counts, Store
from dnnfix.errors import EnvironmentProblem

SECRET = "what only GitHub knows"
PUSH = {
    "ref": "refs/heads/main",
    "repository": {"full_name": "people/digits", "default_branch": "main"},
    "installation": {"id": 7},
}


@pytest.fixture
def rung() -> list[int]:
    return []


@pytest.fixture
def client(store: Store, rung: list[int]) -> TestClient:
    return TestClient(web.application(store, SECRET, lambda: True, lambda: rung.append(1)))


def signed(raw: bytes, secret: str = SECRET, **changed: str) -> dict[bytes, bytes]:
    told = {
        "X-Hub-Signature-256": "sha256=" + hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest(),
        "X-GitHub-Delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
        "X-GitHub-Event": "push",
        "Content-Type": "application/json",
    }
    return {name.encode(): value.encode() for name, value in {**told, **changed}.items()}


def sent(client: TestClient, payload: Any = PUSH, secret: str = SECRET, **changed: str) -> Any:
    raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return client.post("/webhook", content=raw, headers=signed(raw, secret, **changed))


def test_a_webhook_is_kept_and_asks_for_a_visit(client: TestClient, store: Store, rung: list[int]) -> None:
    answer = sent(client)
    assert answer.status_code == 202 and answer.json() == {"kept": ["people/digits"]}
    assert store.counts() == Counts(1, 0, 0) and rung == [1]


def test_the_same_delivery_is_kept_once(client: TestClient, store: Store, rung: list[int]) -> None:
    sent(client)
    job = store.take("people/digits", "one")
    assert job is not None and store.finish(job)
    answer = sent(client)
    assert answer.status_code == 200 and "known" in answer.json()
    assert store.counts() == Counts(0, 0, 0) and rung == [1]


@pytest.mark.parametrize(
    ("payload", "secret", "changed", "status"),
    [
        (PUSH, "another secret", {}, 401),
        (PUSH, SECRET, {"X-Hub-Signature-256": ""}, 401),
        (PUSH, SECRET, {"X-Hub-Signature-256": "sha256=ä"}, 401),
        (PUSH, SECRET, {"X-GitHub-Delivery": ""}, 400),
        (PUSH, SECRET, {"X-GitHub-Delivery": "x" * 65}, 400),
        (PUSH, SECRET, {"X-GitHub-Delivery": "a' OR 1"}, 400),
        (PUSH, SECRET, {"Content-Type": "application/x-www-form-urlencoded"}, 415),
        (b"{", SECRET, {}, 400),
        (b"\xff\xfe", SECRET, {}, 400),
        (b"[" * 100_000, SECRET, {}, 400),
    ],
)
def test_what_is_not_githubs_or_no_webhook_is_refused(
    client: TestClient, store: Store, payload: Any, secret: str, changed: dict[str, str], status: int
) -> None:
    answer = sent(client, payload, secret, **changed)
    assert answer.status_code == status and answer.json()["refused"]
    assert store.counts() == Counts(0, 0, 0)


def test_a_body_is_read_to_a_limit_and_no_further(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "MOST_BODY", 1000)
    read = []

    def parts() -> Iterator[bytes]:
        for number in range(100):
            read.append(number)
            yield b"x" * 100

    assert client.post("/webhook", content=parts(), headers=signed(b"")).status_code == 413
    assert sent(client, b"x" * 1001).status_code == 413


def test_what_asks_for_nothing_is_not_even_remembered(client: TestClient, store: Store, rung: list[int]) -> None:
    answer = sent(client, **{"X-GitHub-Event": "ping"})
    assert answer.status_code == 200 and answer.json() == {"ignored": []} and rung == []
    assert sent(client).status_code == 202


def test_a_store_that_does_not_answer_is_github_s_to_try_again(
    client: TestClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*given: object) -> bool:
        raise EnvironmentProblem("the store does not answer")

    monkeypatch.setattr(store, "accept", fails)
    assert sent(client).status_code == 503


def test_health_says_what_does_not_answer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(is_well: bool) -> Any:
        return TestClient(web.application(store, SECRET, lambda: is_well, lambda: None)).get("/healthz")

    assert (asked(True).status_code, asked(True).json()) == (200, {"store": "ok", "broker": "ok"})
    assert (asked(False).status_code, asked(False).json()) == (503, {"store": "ok", "broker": "no answer"})
    monkeypatch.setattr(store, "answers", lambda: False)
    assert asked(True).json() == {"store": "no answer", "broker": "ok"}


def test_metrics_count_webhooks_and_jobs(client: TestClient, store: Store) -> None:
    sent(client)
    sent(client, secret="another secret", **{"X-GitHub-Event": "made up"})
    told = client.get("/metrics").text
    assert 'dnnfix_webhooks_total{became="kept",event="push"} 1.0' in told
    assert 'dnnfix_webhooks_total{became="refused",event="none"} 1.0' in told
    assert 'dnnfix_jobs{state="waiting"} 1.0' in told and 'dnnfix_webhook_seconds_bucket{le="0.1"} 1.0' in told


def test_there_is_nothing_else(client: TestClient) -> None:
    assert client.get("/webhook").status_code == 405 and client.get("/").status_code == 404


def test_the_log_is_json_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    before = structlog.get_config()
    try:
        log.begin(sys.stderr, [SECRET, ""])
        said = structlog.get_logger()
        said.info(
            "x",
            why=f"git said {SECRET}",
            token="t",
            url="https://x-access-token:abc@host/r",
            other="ghs_0123456789abcdef",
        )
        said.info("y", key="-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----", number=3)
    finally:
        structlog.configure(**before)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["event"] for line in lines] == ["x", "y"] and lines[1]["number"] == 3
    whole = json.dumps(lines)
    assert not any(secret in whole for secret in (SECRET, "abc@", "0123456789abcdef", "MII"))
    assert lines[0]["token"] == log.HIDDEN
