"""A server that stays: editors and hooks connect to it, and find the rules loaded.

Each connection is one of its own. What takes the processor is done one after another, for all of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

from pygls.io_ import run_async

from dnnfix import pipeline
from dnnfix.emit.view import printable
from dnnfix.errors import DnnfixError
from dnnfix.programs import read
from dnnfix.server.app import Server
from dnnfix.server.features import server
from dnnfix.server.settings import EditorSettings
from dnnfix.source.program import Source

LOOPBACK = "127.0.0.1"
CHECK_FILES = "dnnfix/check"
"""A request of our own: the findings of files on the disk, as lines of text. See `dnnfix.cli.ask`."""


async def serve(settings: Callable[[], EditorSettings], port: int, listening: Callable[[], None]) -> None:
    """Serve every connection to a port of this machine until the process is told to end. Raises `OSError` for a port that is taken."""
    connected = _connections(settings)
    accepting = await asyncio.start_server(connected, LOOPBACK, port)
    end = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    listening()
    async with accepting:
        await end.wait()


def _connections(settings: Callable[[], EditorSettings]) -> Callable[..., Any]:
    first = _of_files(server(settings()))
    warm = asyncio.get_running_loop().create_task(first.warm_up())

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made = _of_files(server(settings(), first.schedule.worker))
        made.protocol.set_writer(writer)
        try:
            with contextlib.suppress(SystemExit, ConnectionError):  # `exit` ends the connection, not the process
                await run_async(Event(), reader, made.protocol, error_handler=made.report_server_error)
        finally:
            made.stop()
            writer.close()
            warm.done()  # which keeps it from being collected before it has ended

    return connected


def _of_files(made: Server) -> Server:
    """The server, which answers for files on the disk too."""

    @made.feature(CHECK_FILES)
    async def check_files(ls: Server, params: Any) -> dict[str, Any]:
        folder, paths = Path(str(params.folder)), [str(path) for path in params.paths]
        ls.settings.forget()
        return await ls.schedule.work(lambda go_on: _looked_at(ls.settings, folder, paths, go_on))

    return made


def _looked_at(
    settings: EditorSettings, folder: Path, paths: list[str], before_each: Callable[[], None]
) -> dict[str, Any]:
    """The findings of files by their paths from a folder, and what could not be looked at."""
    lines: list[str] = []
    errors: list[str] = []
    for path in paths:
        place = str(folder / path)
        try:
            raw, _ = read(place)
            with pipeline.collecting_at_the_end():
                source = Source.from_bytes(raw, place)
                report = pipeline.check_source(source, settings.of(place, folder), False, before_each)
        except DnnfixError as error:
            errors.append(str(error).replace(place, path))
            continue
        for result in report.findings:
            finding = result.finding
            cell, line = source.locate(finding.site.line)
            where = f"{path}:cell {source.cell_number(cell)}" if cell is not None else path
            lines.append(printable(f"{where}:{line}:{finding.site.column}: {finding.code} {finding.message}"))
    return {"lines": lines, "errors": errors}
