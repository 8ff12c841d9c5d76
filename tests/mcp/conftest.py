"""A client that speaks to a real `dnnfix mcp`, in a process of its own, over its streams."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="mcp is not installed: pip install 'dnnfix[mcp]'")

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, ListRootsResult, Root

PATIENCE = 180.0
"""Seconds after which a busy machine is no excuse."""

CRASHING = """import numpy as np
import torch

labels = torch.from_numpy(np.array([0, 1], dtype=np.int)).long()
print(torch.nn.CrossEntropyLoss()(torch.zeros(2, 2), labels))
"""
"""A program that stops at a name which NumPy has no more."""

Started = Callable[..., AbstractContextManager["Agent"]]


class Agent:
    """A coding agent, as far as it calls tools."""

    def __init__(self, portal: BlockingPortal, client: Client, folder: Path) -> None:
        self.portal, self.client, self.folder = portal, client, folder
        self.told: list[str] = []
        """The messages of progress of all calls."""

    def call(self, tool: str, /, **arguments: Any) -> CallToolResult:
        """The result of a call."""
        return self.portal.call(partial(self._call, tool, arguments))

    def answer(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """What a call answers; it has to be one, and the same as text and as data."""
        result = self.call(tool, **arguments)
        assert not result.is_error, result.content
        content: dict[str, Any] = result.structured_content
        return content

    def refusal(self, tool: str, /, **arguments: Any) -> str:
        """What a call is refused with: one message, for whoever has to do something about it."""
        result = self.call(tool, **arguments)
        assert result.is_error and result.structured_content is None, result
        (said,) = result.content
        text = str(getattr(said, "text", ""))
        assert text and "Traceback" not in text and "internal error" not in text and len(text) < 1500, text
        return text

    async def _call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        return await self.client.call_tool(tool, arguments, progress_callback=self._hear, read_timeout_seconds=PATIENCE)

    async def _hear(self, progress: float, total: float | None, message: str | None) -> None:
        self.told.append(message or "")


@contextmanager
def started(
    folder: Path, *flags: str, roots: list[Path] | None = None, mode: str = "auto", **environment: str
) -> Iterator[Agent]:
    """An agent with a server that is started in a folder, and ended as the protocol has it."""
    command = ["-m", "dnnfix", "mcp", "--cache-dir", str(folder.parent / "cache"), *flags]
    parameters = StdioServerParameters(
        command=sys.executable,
        args=command,
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )

    async def told(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=one.as_uri()) for one in roots or []])  # type: ignore[arg-type]

    client = Client(parameters, mode=mode, list_roots_callback=told if roots is not None else None)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
        yield Agent(portal, client, folder)


@pytest.fixture(name="started")
def _started() -> Started:
    """`with started(folder) as agent` starts a server there."""
    return started


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """An agent that works in an empty folder; the tests of a module share it."""
    folder = tmp_path_factory.mktemp("mcp") / "a project"
    folder.mkdir()
    with started(folder) as made:
        yield made


def descendants(pid: int) -> set[int]:
    """The processes that a process has started, and those that these have, but for the one that Python starts for shared memory."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if b"resource_tracker" not in (entry / "cmdline").read_bytes():
                    parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def until(holds: Callable[[], Any]) -> Any:
    """Wait for something to hold and return it."""
    end = time.monotonic() + PATIENCE
    while not (found := holds()):
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.02)
    return found
