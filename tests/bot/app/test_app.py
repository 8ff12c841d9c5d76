"""The App as it is run: processes that take webhooks in and do them, and that are killed while they do."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dnnfix.bot.app.store import Counts, Store
from tests.bot.app.conftest import Redis
from tests.bot.app.test_broker import until
from tests.bot.app.test_web import SECRET, signed
from tests.bot.people import ASKED, TRAIN, Repository

SLUGS = [f"people/{name}" for name in ("digits", "letters", "sounds")]
WEBHOOKS = 500
AT_A_TIME = 8


class App:
    """`dnnfix bot serve` and its workers, on loopback."""

    def __init__(self, root: Path, broker: str) -> None:
        self.root = root
        self.store = Store(f"sqlite:///{root}/bot.sqlite", lease=4.0)
        self._places = ["--store", f"sqlite:///{root}/bot.sqlite", "--broker", broker, "--lease", "4"]
        self._started: list[subprocess.Popen[bytes]] = []
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "DNNFIX_WEBHOOK_SECRET": SECRET, "TMPDIR": str(self.root)}
        command = [sys.executable, "-m", "dnnfix", "bot", *words, *self._places]
        with Path(self.root, f"{words[0]}.log").open("ab") as log:
            made = subprocess.Popen(command, env=environment, stderr=log, start_new_session=True)
        self._started.append(made)
        return made

    def work(self) -> subprocess.Popen[bytes]:
        return self.start("work", "--forge", f"local:{self.root}", "--budget", "200")

    def asked(self, method: str, path: str, raw: bytes = b"", **changed: str) -> tuple[int, float]:
        """The status of an answer, and the seconds until it was there."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {name.decode(): value.decode() for name, value in signed(raw, **changed).items()}
        began = time.perf_counter()
        connection.request(method, path, raw, headers)
        status = connection.getresponse().status
        connection.close()
        return status, time.perf_counter() - began

    def is_up(self) -> bool:
        try:
            return self.asked("GET", "/healthz")[0] == 200
        except OSError:
            return False

    def said(self, command: str) -> str:
        return Path(self.root, f"{command}.log").read_text()

    def end(self) -> None:
        for process in self._started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.store.close()


@pytest.fixture
def app(tmp_path: Path, broker_place: Redis) -> Iterator[App]:
    made = App(tmp_path, broker_place.address)
    yield made
    made.end()


def push(slug: str) -> bytes:
    said = {"ref": "refs/heads/main", "repository": {"full_name": slug, "default_branch": "main"}}
    return json.dumps(said).encode()


def repositories_in(root: Path) -> dict[str, Repository]:
    made = {}
    for slug in SLUGS:
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(root / f"{slug}.git")], check=True)
        made[slug] = Repository(root, slug)
        made[slug].commit({"dnnfix.toml": ASKED, "train.py": TRAIN})
    return made


def running(app: App, number: int) -> Callable[[], bool]:
    return lambda: app.said("work").count("visit begins") >= number


@pytest.mark.slow
def test_a_burst_is_answered_at_once_and_nothing_is_lost_over_three_kills(app: App, broker_place: Redis) -> None:
    repositories = repositories_in(app.root)
    app.start("serve", "--port", str(app.port))
    until(app.is_up)
    workers = [app.work(), app.work()]
    began = time.perf_counter()
    with ThreadPoolExecutor(AT_A_TIME) as threads:
        answers = list(
            threads.map(
                lambda n: app.asked("POST", "/webhook", push(SLUGS[n % 3]), **{"X-GitHub-Delivery": f"d-{n}"}),
                range(WEBHOOKS),
            )
        )
    assert {status for status, _ in answers} == {202}
    until(running(app, 1), 60.0)
    os.killpg(workers[0].pid, signal.SIGKILL)
    workers.append(app.work())
    until(running(app, 2), 60.0)
    broker_place.kill()
    broker_place.start()
    until(running(app, 3), 60.0)
    os.killpg(workers[1].pid, signal.SIGKILL)
    workers.append(app.work())
    until(lambda: app.store.counts() == Counts(0, 0, 0), 240.0)
    whole = time.perf_counter() - began
    for slug, repository in repositories.items():
        (pull,) = repository.forge.pulls(slug)
        assert b'reduction="mean"' in repository.text("train.py", pull.branch)
    assert app.store.problems() == {} and SECRET not in app.said("serve") + app.said("work")
    times = sorted(seconds for _, seconds in answers)
    # A busy machine stretches both; benchmarks/bot.py has the goal, on an idle one.
    assert times[int(0.99 * len(times))] < whole / 20, "answers wait for work"


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_a_worker_that_ends_leaves_no_process_and_its_job_to_another(app: App, ending: signal.Signals) -> None:
    repositories_in(app.root)
    app.start("serve", "--port", str(app.port))
    until(app.is_up)
    worker = app.work()
    assert app.asked("POST", "/webhook", push(SLUGS[0]))[0] == 202
    until(running(app, 1), 60.0)
    until(lambda: len(processes(app)) > 2)
    worker.send_signal(ending)
    assert worker.wait(60) == (0 if ending is signal.SIGTERM else -ending)
    if ending is signal.SIGTERM:
        assert app.store.counts() == Counts(1, 0, 0), "given back before it ended"
    until(lambda: len(processes(app)) == 1)  # the one that serves
    until(lambda: app.store.counts() == Counts(1, 0, 0))  # at the latest when its lease is over


def processes(app: App) -> list[Path]:
    """What runs for this App."""
    found = []
    for place in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            words = (place / "cmdline").read_bytes() if place.name.isdigit() else b""
            if b"dnnfix" in words and str(app.root).encode() in words:
                found.append(place)
    return found
