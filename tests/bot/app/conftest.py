"""A store in a folder, and a Redis on a free port of loopback."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from dnnfix.bot.app.store import Store

SECONDS = 20.0


class Redis:
    """A Redis that keeps nothing on disk: what it carried is gone once it is killed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        words = [
            "redis-server",
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            str(self._folder),
        ]
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        end = time.monotonic() + SECONDS
        while True:
            try:
                with redis.Redis(port=self.port) as asked:
                    asked.ping()
                return
            except redis.ConnectionError:
                assert time.monotonic() < end, "redis-server does not answer"
                time.sleep(0.02)

    def kill(self) -> None:
        """End it as a lost machine would."""
        self._process.kill()
        self._process.wait()


@pytest.fixture
def broker_place(tmp_path: Path) -> Iterator[Redis]:
    """A Redis of its own."""
    if shutil.which("redis-server") is None:
        pytest.skip("needs Redis: apt install redis-server")
    made = Redis(tmp_path)
    yield made
    made.kill()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store in a file."""
    made = Store(f"sqlite:///{tmp_path}/bot.sqlite")
    yield made
    made.close()
