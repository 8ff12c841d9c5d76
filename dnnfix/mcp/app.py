"""The server: lists the tools, carries calls out one process each, tells how far they are, and stops them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)

from dnnfix import __version__
from dnnfix.apart import apart
from dnnfix.errors import DnnfixError
from dnnfix.mcp.clients import folders_of
from dnnfix.mcp.guard import Guard
from dnnfix.mcp.tools import BY_NAME, INSTRUCTIONS, TOOLS

EVERY = 5.0
"""Seconds after which progress is told again where nothing new is to be told: clients give up on what is silent."""

Context = ServerRequestContext[Any, Any]


def server(guard: Guard) -> Server[Any]:
    """A server for one client, which is not connected yet."""
    running = asyncio.Lock()
    """Held by the call that runs programs: two at once would take each other's time."""

    async def listed(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[tool.listed() for tool in TOOLS])

    async def called(context: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        tool = BY_NAME.get(params.name)
        if tool is None:
            raise MCPError(code=INVALID_PARAMS, message=f"no such tool. There are: {', '.join(BY_NAME)}")
        try:
            given = tool.taken(params.arguments or {})
            folders = await folders_of(context, params)
            if isinstance(folders, InputRequiredResult):
                return folders
            task = tool.begin(guard, folders, given)
            async with _telling(context) as tell:
                if tool.runs and running.locked():
                    tell("waiting for another call to end")
                async with running if tool.runs else nullcontext():
                    answer = await apart(task.work, task.folder, tell, f"dnnfix {tool.name}")
        except DnnfixError as error:
            return CallToolResult(content=[TextContent(text=str(error))], is_error=True)
        content = tool.given(answer)
        return CallToolResult(content=[TextContent(text=json.dumps(content))], structured_content=content)

    return Server(
        "dnnfix",
        version=__version__,
        title="dnnfix",
        instructions=INSTRUCTIONS,
        on_list_tools=listed,
        on_call_tool=called,
    )


async def serve(guard: Guard) -> None:
    """Serve the client at the standard streams until it goes. A signal to end stops what runs, and ends the process as signals do."""
    made = server(guard)
    told: asyncio.Queue[signal.Signals] = asyncio.Queue()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told.put_nowait, number)
    async with stdio_server() as (read, write):
        serving = asyncio.create_task(made.run(read, write, made.create_initialization_options()))
        ending = asyncio.create_task(told.get())
        await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
        if ending.done():
            serving.cancel()
            await asyncio.wait({serving})
            # Not by leaving here: a thread waits for the next line of the client, and nothing could end that wait.
            signal.signal(ending.result(), signal.SIG_DFL)
            os.kill(os.getpid(), ending.result())
        ending.cancel()
        await serving


@asynccontextmanager
async def _telling(context: Context) -> AsyncIterator[Callable[[str], None]]:
    """A function that tells the client what is being done; in between, it is told for how long that takes."""
    begun = time.monotonic()
    news: asyncio.Queue[str] = asyncio.Queue()

    async def tell() -> None:
        said = "starting"
        while True:
            await context.session.report_progress(time.monotonic() - begun, message=said)
            try:
                said = await asyncio.wait_for(news.get(), EVERY)
            except TimeoutError:
                continue

    teller = asyncio.create_task(tell())
    try:
        yield news.put_nowait
    finally:
        teller.cancel()
