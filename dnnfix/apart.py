"""Work in a process of its own, which tells how far it is and can be stopped: what the servers do in the background."""

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
from typing import Any, TypeVar

from dnnfix.errors import DnnfixError, EnvironmentProblem, UserError

GRACE = 5.0
"""Seconds that a stopped process has to end its trials."""

Progress = Callable[[str], None]
"""Is called with a line about what is being done."""
Result = TypeVar("Result")


@dataclass(frozen=True)
class _Done:
    """The last message of a process: what its work came to."""

    result: Any


async def apart(work: Callable[[Progress], Result], folder: Path, progress: Progress, name: str = "dnnfix") -> Result:
    """What the work comes to, done with that working folder. Cancelling it ends the process and its trials.

    Work and result travel between processes: a function of a module, or a `partial` of one, and plain records.

    Raises:
        UserError: the work raised it.
        EnvironmentProblem: the work raised it or failed otherwise, or the process died.
    """
    context = get_context("spawn")  # a fork would take the threads' locks along
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(theirs, work, folder), daemon=True, name=name)
    process.start()
    theirs.close()
    try:
        result: Result = await _heard(ours, progress)
        return result
    finally:
        # In a thread, which comes to its end also where the wait for it is cancelled once more.
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, _end, process, ours))


async def _heard(ours: Connection, progress: Progress) -> Any:
    """What the process says in the end."""
    loop = asyncio.get_running_loop()
    said: asyncio.Queue[Any] = asyncio.Queue()

    def listen() -> None:
        with suppress(EOFError, OSError):
            while True:
                loop.call_soon_threadsafe(said.put_nowait, ours.recv())
        with suppress(RuntimeError):  # the loop may be gone
            loop.call_soon_threadsafe(said.put_nowait, EnvironmentProblem("the process that ran the program ended."))

    threading.Thread(target=listen, daemon=True, name="apart").start()
    while True:
        message = await said.get()
        if isinstance(message, _Done):
            return message.result
        if isinstance(message, DnnfixError):
            raise message
        progress(str(message))


def _end(process: Any, ours: Connection) -> None:
    process.join(0.1)
    if process.is_alive():
        process.terminate()
        process.join(GRACE)
    if process.is_alive():
        process.kill()
        process.join()
    ours.close()


def _work(theirs: Connection, work: Callable[[Progress], Any], folder: Path) -> None:
    """The work of the process: messages of progress, then the result or the error."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # trials are ended by whoever began them
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(KeyboardInterrupt, BrokenPipeError):
        try:
            os.chdir(folder)
            theirs.send(_Done(work(theirs.send)))
        except DnnfixError as error:
            theirs.send(error if isinstance(error, (UserError, EnvironmentProblem)) else EnvironmentProblem(str(error)))
        except Exception as error:  # noqa: BLE001 - whoever asked is told, and the server goes on
            theirs.send(EnvironmentProblem(f"internal error: {type(error).__name__}: {error}"))


def _end_with_parent() -> None:
    """Stop as if asked to where the server is gone, however it ended."""
    server = parent_process()
    if server is not None:
        connection.wait([server.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
