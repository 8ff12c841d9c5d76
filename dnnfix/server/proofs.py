"""Proving patches in the background: `suggest` in a process of its own, which tells how far it is and can be stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from dnnfix.config import Settings
from dnnfix.errors import DnnfixError, EnvironmentProblem, UserError
from dnnfix.records import FileReport

GRACE = 5.0
"""Seconds that a stopped process has to end its trials."""


@dataclass(frozen=True)
class Task:
    """What is to be proven: a program, its settings, and the folder that programs of its workspace are run from."""

    raw: bytes
    path: str
    settings: Settings
    folder: Path


async def proven(task: Task, progress: Callable[[str], None]) -> FileReport:
    """The report of `suggest` on a program. Cancelling it ends the process and its trials.

    Raises:
        UserError: the program cannot be analysed, or a setting makes no sense.
        EnvironmentProblem: nothing can be run here, or the process died.
    """
    context = get_context("spawn")  # a fork would take the threads' locks along
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_prove, args=(theirs, task), daemon=True, name="dnnfix suggest")
    process.start()
    theirs.close()
    try:
        return await _heard(ours, progress)
    finally:
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, _end, process))
        ours.close()


async def _heard(ours: Connection, progress: Callable[[str], None]) -> FileReport:
    """What the process says in the end."""
    loop = asyncio.get_running_loop()
    said: asyncio.Queue[Any] = asyncio.Queue()

    def listen() -> None:
        with suppress(EOFError, OSError):
            while True:
                loop.call_soon_threadsafe(said.put_nowait, ours.recv())
        with suppress(RuntimeError):  # the loop may be gone
            loop.call_soon_threadsafe(said.put_nowait, EnvironmentProblem("the process that ran the program ended."))

    threading.Thread(target=listen, daemon=True, name="proof").start()
    while True:
        message = await said.get()
        if isinstance(message, FileReport):
            return message
        if isinstance(message, DnnfixError):
            raise message
        progress(str(message))


def _end(process: Any) -> None:
    process.join(0.1)
    if process.is_alive():
        process.terminate()
        process.join(GRACE)
    if process.is_alive():
        process.kill()
        process.join()


def _prove(theirs: Connection, task: Task) -> None:
    """The work of the process: messages of progress, then the report or the error."""
    from dnnfix import pipeline

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # trials are ended by whoever began them
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(KeyboardInterrupt, BrokenPipeError):
        try:
            os.chdir(task.folder)
            theirs.send(pipeline.suggest_file(task.raw, task.path, task.settings, theirs.send))
        except DnnfixError as error:
            theirs.send(error if isinstance(error, (UserError, EnvironmentProblem)) else EnvironmentProblem(str(error)))
        except Exception as error:  # noqa: BLE001 - the editor shows a message, and the server goes on
            theirs.send(EnvironmentProblem(f"internal error: {type(error).__name__}: {error}"))


def _end_with_parent() -> None:
    """Stop as if asked to where the server is gone, however it ended."""
    server = parent_process()
    if server is not None:
        connection.wait([server.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
