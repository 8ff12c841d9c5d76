"""The bot as an App: how fast a burst of webhooks is answered, and what visits cost: time, requests to GitHub, storage.

    python benchmarks/bot.py [--webhooks 500] [--repositories 12] [--workers 2 4]

`dnnfix bot serve` and `dnnfix bot work` run as they are run by people, with a Redis and an SQLite store of their own on loopback. GitHub
is the stateful fake of the tests, git over HTTP included. Each repository has one program that trains nothing and has one fault, so that what is
counted is the bot and one short analysis; what analyses of real repositories take is in docs/field-trials.md.
The burst comes over 16 connections, from this process, on the same cores. Without redis-server nothing is measured.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from _measure import ROOT, Table, arguments, environment

sys.path.insert(0, str(ROOT))

from tests.bot.people import ASKED, TRAIN, Repository
from tests.forge.github_fake import TOKEN, GitHubFake

CONNECTIONS = 16
SLOWEST = 0.1
"""Seconds in which 99 of 100 answers have to come."""

SECRET = "of the benchmark"
PATIENCE = 3600.0


def main() -> None:
    """Measure, and print."""
    parser = arguments(__doc__)
    parser.add_argument("--webhooks", type=int, default=500)
    parser.add_argument("--repositories", type=int, default=12)
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4])
    given = parser.parse_args()
    table = Table.of(given)
    if shutil.which("redis-server") is None:
        table.title("no redis-server: nothing is measured")
        return
    with tempfile.TemporaryDirectory(prefix="dnnfix-benchmark-") as folder, App(Path(folder)) as app:
        table.title(f"{given.webhooks} webhooks over {CONNECTIONS} connections, nobody at work")
        times = app.burst([f"people/r{number % 50}" for number in range(given.webhooks)])
        for share in (0.5, 0.99):
            at = times[min(len(times) - 1, int(share * len(times)))]
            table.row(f"seconds until {share:.0%} were answered", at, SLOWEST if share > 0.9 else None)
        table.row("the slowest", times[-1])
    for workers in given.workers:
        with tempfile.TemporaryDirectory(prefix="dnnfix-benchmark-") as folder, App(Path(folder)) as app:
            visits(table, app, given.repositories, workers)
    table.end()


class App:
    """A GitHub, a Redis, and what takes webhooks in; all end with it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.github = GitHubFake()
        self.github.begin(root)
        self._port, self._redis = _free_port(), _free_port()
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        """Start all but the workers."""
        words = [
            "redis-server",
            "--port",
            str(self._redis),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            str(self.root),
        ]
        self._started.append(subprocess.Popen(words, stdout=subprocess.DEVNULL))
        self.start("serve", "--port", str(self._port))
        while not self._is_up():
            time.sleep(0.05)
        return self

    def __exit__(self, *ended: object) -> None:
        """End all."""
        for process in reversed(self._started):
            with _gone():
                os.killpg(process.pid, signal.SIGTERM) if process.pid == os.getpgid(
                    process.pid
                ) else process.terminate()
            process.wait()
        self.github.close()

    def start(self, *words: str) -> None:
        """One of the commands of the bot."""
        places = ["--store", f"sqlite:///{self.root}/bot.sqlite", "--broker", f"redis://127.0.0.1:{self._redis}/0"]
        told = {"DNNFIX_WEBHOOK_SECRET": SECRET, "DNNFIX_GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": self.github.address}
        command = [sys.executable, "-m", "dnnfix", "bot", *words, *places]
        with (self.root / f"{words[0]}.log").open("wb") as log:
            self._started.append(
                subprocess.Popen(command, env=environment(**told), stderr=log, cwd=self.root, start_new_session=True)
            )

    def burst(self, slugs: Sequence[str]) -> list[float]:
        """Push webhooks, one for each name, as fast as they are taken; the seconds of the answers, in order of size."""
        with ThreadPoolExecutor(CONNECTIONS) as threads:
            return sorted(threads.map(self._pushed, range(len(slugs)), slugs))

    def metrics(self) -> dict[str, float]:
        """What is counted by the one that takes webhooks in."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[:1] != "#")}

    def _pushed(self, number: int, slug: str) -> float:
        said = {"ref": "refs/heads/main", "repository": {"full_name": slug, "default_branch": "main"}}
        raw = json.dumps(said).encode()
        headers = {
            "X-Hub-Signature-256": "sha256=" + hmac.new(SECRET.encode(), raw, hashlib.sha256).hexdigest(),
            "X-GitHub-Delivery": f"d-{number}",
            "X-GitHub-Event": "push",
            "Content-Type": "application/json",
        }
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        connection.connect()
        begun = time.perf_counter()
        connection.request("POST", "/webhook", raw, headers)
        answer = connection.getresponse()
        answer.read()
        took = time.perf_counter() - begun
        connection.close()
        if answer.status != 202:
            raise SystemExit(f"a webhook was answered with {answer.status}")
        return took

    def _is_up(self) -> bool:
        try:
            return bool(self.metrics())
        except OSError:
            return False


def visits(table: Table, app: App, number: int, workers: int) -> None:
    """Visit so many repositories with so many workers, and visit them once more when nothing is new."""
    table.title(f"{number} repositories, {workers} workers, {os.cpu_count()} cores")
    slugs = [f"people/r{one}" for one in range(number)]
    for slug in slugs:
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(app.root / f"{slug}.git")], check=True)
        repository = Repository(app.root, slug)
        repository.bare.run("config", "http.receivepack", "true")
        repository.commit({"dnnfix.toml": ASKED, "train.py": TRAIN})
        app.github.add(slug)
    app.burst(slugs)
    begun = time.perf_counter()
    app.start("work", "--forge", "github", "--workers", str(workers))
    while app.metrics()['dnnfix_jobs{state="waiting"}'] + app.metrics()['dnnfix_jobs{state="running"}']:
        if time.perf_counter() - begun > PATIENCE:
            raise SystemExit("the visits do not end")
        time.sleep(0.2)
    took = time.perf_counter() - begun
    failed = app.metrics()['dnnfix_jobs{state="failed"}']
    opened = sum(len(app.github.pulls[slug]) for slug in slugs)
    table.row("visits an hour", 3600 * number / took, detail=f"{took:.0f} s")
    table.row("visits an hour for each core", 3600 * number / took / (os.cpu_count() or 1))
    table.row("requests to GitHub for a repository", len(app.github.requests) / number, detail="git is not among them")
    table.row(
        "repositories without exactly one pull request",
        sum(len(app.github.pulls[slug]) != 1 for slug in slugs),
        0,
        f"{opened} opened, {failed:.0f} failed",
    )
    size = sum(path.stat().st_size for path in app.root.glob("bot.sqlite*"))
    table.row("KiB in the store for a repository", size / 1024 / number, detail="with the log that is written before")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _gone() -> Iterator[None]:
    """What is to be ended may have ended."""
    try:
        yield
    except ProcessLookupError:
        pass


if __name__ == "__main__":
    main()
