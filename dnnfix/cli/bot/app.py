"""Flags and objects that `bot serve` and `bot work` share: the store, the broker and the forges of the App's
installations.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

from typer import Option

from dnnfix.cli.bot import choosing
from dnnfix.cli.console import Console
from dnnfix.errors import InputError
from dnnfix.forge.protocol import Forge

if TYPE_CHECKING:
    from dnnfix.bot.app.broker import Broker
    from dnnfix.bot.app.store import Store

SECRET = "DNNFIX_WEBHOOK_SECRET"
APP, KEY_FILE = "DNNFIX_APP_ID", "DNNFIX_APP_KEY_FILE"

STORE, BROKER = "sqlite:///dnnfix-bot.sqlite", "redis://127.0.0.1:6379/0"

LACKING = "is not installed. Install dnnfix[app]."


@dataclass(frozen=True)
class Places:
    """Where what is to be done is kept and carried."""

    store: Annotated[str, Option(metavar="ADDRESS", help=f"sqlite:///FILE or postgresql+psycopg://… ({STORE})")] = STORE
    lease: Annotated[
        float, Option(metavar="SECONDS", help="after which a worker that says nothing counts as dead (60)")
    ] = 60.0
    broker: Annotated[str, Option(metavar="ADDRESS", help=f"the Redis ({BROKER})")] = BROKER

    @contextmanager
    def opened(self, console: Console) -> Iterator[tuple[Store, Broker]]:
        """The store and the broker; the log is JSON from now on. Raises `InputError` where the extra is not installed."""
        try:
            from dnnfix.bot.app import log
            from dnnfix.bot.app.broker import Broker
            from dnnfix.bot.app.store import Store
        except ImportError as error:
            raise InputError(f"{error.name} {LACKING}") from None
        log.begin(console.err, [os.environ.get(name, "") for name in (SECRET, *choosing.TOKENS)])
        store, broker = Store(self.store, lease=self.lease), Broker(self.broker)
        try:
            yield store, broker
        finally:
            broker.close()
            store.close()


def forges(target: choosing.Target, console: Console) -> Callable[[int], Forge]:
    """The forge for an installation of the App; the same for all where there is a token, or a folder, in place of an App."""
    app, file = os.environ.get(APP, ""), os.environ.get(KEY_FILE, "")
    if target.where != choosing.GITHUB or not app:
        only = target.forge(console)
        return lambda installation: only
    try:
        from github.Auth import AppAuth, AppInstallationAuth
        from jwt import PyJWTError

        from dnnfix.forge.github import GitHubForge
    except ImportError:
        raise InputError(f"--forge github: PyGithub {LACKING}") from None
    try:
        auth = AppAuth(app, Path(file).read_text(encoding="ascii"))
        auth.create_jwt()  # a key that is none is told at the start, not at the first visit
    except (OSError, ValueError, PyJWTError):
        raise InputError(
            f"{KEY_FILE}: has to name the file with the private key of the App. Received: {file!r}"
        ) from None
    return lambda installation: GitHubForge(AppInstallationAuth(auth, installation), api=choosing.api())


@contextmanager
def until_signalled() -> Iterator[Event]:
    """Set once the process is asked to end."""
    stopped = Event()
    before = {one: signal.signal(one, lambda number, frame: stopped.set()) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
