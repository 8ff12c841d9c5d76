"""The HTTP endpoints of the App: webhooks are checked and stored, never worked on, so that the answer takes
milliseconds.

Starlette rather than a larger framework: three addresses, a body read with a limit, nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from collections.abc import Awaitable, Callable

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dnnfix.bot.app.events import asked
from dnnfix.bot.app.store import Store
from dnnfix.errors import EnvironmentProblem

MOST_BODY = 25 * 2**20
"""Bytes of a webhook; GitHub sends none that is larger."""

SIGNATURE, DELIVERY, EVENT = "x-hub-signature-256", "x-github-delivery", "x-github-event"

_DELIVERY = re.compile(r"[0-9A-Za-z-]{1,64}")
_EVENT = re.compile(r"[a-z_]{1,40}")

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
"""Seconds by which the times of answers are counted."""

log = structlog.get_logger()


class Refused(Exception):
    """A webhook that is not taken: the status of the answer, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def application(store: Store, secret: str, broker_answers: Callable[[], bool], bell: Callable[[], None]) -> Starlette:
    """The ASGI application. `secret` is what GitHub signs webhooks with; `bell` is rung when there is something to be carried."""
    registry = CollectorRegistry()
    hooks = Counter(
        "dnnfix_webhooks", "Webhooks by kind and by what became of them", ["event", "became"], registry=registry
    )
    times = Histogram("dnnfix_webhook_seconds", "What an answer to a webhook takes", buckets=BOUNDS, registry=registry)
    jobs = Gauge("dnnfix_jobs", "Repositories that are to be visited", ["state"], registry=registry)

    async def webhook(request: Request) -> Response:
        began = time.perf_counter()
        event = request.headers.get(EVENT, "")
        kind = event if _EVENT.fullmatch(event) else "none"
        try:
            became, slugs = await _taken(request, store, secret.encode())
        except Refused as error:
            hooks.labels("none" if error.status == 401 else kind, "refused").inc()
            log.warning("webhook refused", kind=kind, status=error.status, why=str(error))
            return JSONResponse({"refused": str(error)}, error.status)
        except EnvironmentProblem as error:
            hooks.labels(kind, "failed").inc()
            log.error("webhook not kept", kind=kind, why=str(error))
            return JSONResponse({"failed": "the store does not answer; send it again later"}, 503)
        hooks.labels(kind, became).inc()
        if became == "kept":
            bell()
            log.info("webhook kept", kind=kind, delivery=request.headers[DELIVERY], repositories=slugs)
        times.observe(time.perf_counter() - began)
        return JSONResponse({became: slugs}, 202 if became == "kept" else 200)

    async def health(request: Request) -> Response:
        told = {"store": store.answers, "broker": broker_answers}
        found = {name: await run_in_threadpool(answers) for name, answers in told.items()}
        return JSONResponse(
            {name: "ok" if is_well else "no answer" for name, is_well in found.items()},
            200 if all(found.values()) else 503,
        )

    async def metrics(request: Request) -> Response:
        try:
            counts = await run_in_threadpool(store.counts)
        except EnvironmentProblem:
            jobs.clear()
        else:
            for state in ("waiting", "running", "failed"):
                jobs.labels(state).set(getattr(counts, state))
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    routes: dict[str, tuple[str, Callable[[Request], Awaitable[Response]]]] = {
        "/webhook": ("POST", webhook),
        "/healthz": ("GET", health),
        "/metrics": ("GET", metrics),
    }
    return Starlette(routes=[Route(path, answer, methods=[method]) for path, (method, answer) in routes.items()])


async def _taken(request: Request, store: Store, secret: bytes) -> tuple[str, list[str]]:
    """What became of a webhook, and the repositories that it asks for. Raises `Refused` for one that is not GitHub's."""
    raw = await _body(request)
    signed = "sha256=" + hmac.new(secret, raw, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(signed.encode(), request.headers.get(SIGNATURE, "").encode("utf-8", "replace")):
        raise Refused(401, f"the signature ({SIGNATURE}) is not of this secret")
    delivery = request.headers.get(DELIVERY, "")
    if not _DELIVERY.fullmatch(delivery):
        raise Refused(400, f"{DELIVERY} is lacking or malformed")
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise Refused(415, "the content type of the webhook has to be application/json")
    try:
        payload = json.loads(raw)
    except (ValueError, RecursionError):
        raise Refused(400, "is not JSON") from None
    wanted = asked(request.headers.get(EVENT, ""), payload)
    if not wanted:
        return "ignored", []
    is_new = await run_in_threadpool(store.accept, delivery, wanted)
    return ("kept" if is_new else "known"), [one.name for one in wanted]


async def _body(request: Request) -> bytes:
    raw = bytearray()
    try:
        async for part in request.stream():
            raw += part
            if len(raw) > MOST_BODY:
                raise Refused(413, f"is larger than {MOST_BODY} bytes")
    except ClientDisconnect:
        raise Refused(400, "ended before its end") from None
    return bytes(raw)
