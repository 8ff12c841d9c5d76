"""A real kernel of IPython, spoken to as a front end speaks to it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@dataclass
class Ran:
    """What running a cell gave: its reply, and what a front end shows below it."""

    reply: dict[str, Any]
    outputs: list[dict[str, Any]] = field(default_factory=list)
    """Mimebundles, each in its last version."""
    stderr: str = ""
    stdout: str = ""
    error: str = ""
    """The traceback."""
    told: list[str] = field(default_factory=list)
    """Texts that were replaced by others."""
    widgets: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The states of widgets by their ids."""

    @property
    def text(self) -> str:
        return "\n".join(output.get("text/plain", "") for output in self.outputs)

    @property
    def html(self) -> str:
        return "\n".join(output.get("text/html", "") for output in self.outputs)

    @property
    def ok(self) -> bool:
        return bool(self.reply["status"] == "ok")

    def button(self) -> str:
        """The widget of the one button."""
        (found,) = (id for id, state in self.widgets.items() if state.get("description", "").startswith("Apply patch-"))
        return found


class Kernel:
    """A kernel in a folder, with dnnfix loaded."""

    def __init__(self, folder: Path, **environment: str) -> None:
        pytest.importorskip("ipykernel", reason="ipykernel is not installed")
        from jupyter_client.manager import start_new_kernel

        cache = folder.parent / "cache"
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "XDG_CACHE_HOME": str(cache), **environment}
        env["IPYTHONDIR"] = str(folder.parent / "ipython")
        self.manager, self.client = start_new_kernel(kernel_name="python3", cwd=str(folder), env=env)

    @property
    def pid(self) -> int:
        return int(self.manager.provisioner.pid)

    def start(self, code: str, id: str | None = None) -> str:
        """Have a cell run; its message's id. `id` is the cell's, as JupyterLab and VS Code send it."""
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        metadata = {"cellId": id} if id else {}
        message = self.client.session.msg("execute_request", content, metadata=metadata)
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def run(self, code: str, id: str | None = None) -> Ran:
        """Run a cell and wait for its end."""
        return self.wait(self.start(code, id))

    def wait(self, message: str) -> Ran:
        """What came of a message that was sent."""
        ran = Ran({})
        handles: dict[str, int] = {}
        while True:
            heard = self.client.get_iopub_msg(timeout=120)
            if heard["parent_header"].get("msg_id") != message:
                continue
            kind, content = heard["msg_type"], heard["content"]
            if kind == "stream":
                name = content["name"]
                setattr(ran, name, getattr(ran, name) + content["text"])
            elif kind in ("display_data", "execute_result"):
                if handle := content.get("transient", {}).get("display_id"):
                    handles[handle] = len(ran.outputs)
                ran.outputs.append(content["data"])
            elif kind == "update_display_data":
                place = handles[content["transient"]["display_id"]]
                ran.told.append(ran.outputs[place]["text/plain"])
                ran.outputs[place] = content["data"]
            elif kind == "error":
                ran.error = "\n".join(content["traceback"])
            elif kind == "comm_open":
                ran.widgets[content["comm_id"]] = content["data"]["state"]
            elif kind == "comm_msg" and content["data"].get("method") == "update":
                ran.widgets.setdefault(content["comm_id"], {}).update(content["data"]["state"])
            elif kind == "status" and content["execution_state"] == "idle":
                break
        while not ran.reply:
            reply = self.client.get_shell_msg(timeout=30)
            if reply["parent_header"].get("msg_id") == message:
                ran.reply = reply["content"]
        return ran

    def click(self, widget: str) -> Ran:
        """Press a button, as a front end says that it was pressed."""
        content = {"comm_id": widget, "data": {"method": "custom", "content": {"event": "click"}}}
        message = self.client.session.msg("comm_msg", content)
        self.client.shell_channel.send(message)
        ran = Ran({"status": "ok"})
        while True:
            heard = self.client.get_iopub_msg(timeout=30)
            if heard["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                continue
            content = heard["content"]
            if heard["msg_type"] == "comm_msg":
                ran.widgets.setdefault(content["comm_id"], {}).update(content["data"].get("state", {}))
            elif heard["msg_type"] == "status" and content["execution_state"] == "idle":
                return ran

    def children(self) -> list[int]:
        """The processes below the kernel's."""
        found: list[int] = []
        waiting = [self.pid]
        while waiting:
            parent = waiting.pop()
            try:
                tasks = list(Path(f"/proc/{parent}/task").iterdir())
                below = [int(n) for task in tasks for n in (task / "children").read_text().split()]
            except OSError:
                continue
            found += below
            waiting += below
        return found

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def until(true: Callable[[], bool], seconds: float = 60) -> bool:
    """Wait until something holds; whether it came to hold."""
    deadline = time.monotonic() + seconds
    while not (held := true()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return held


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "Kurs Ü"
    place.mkdir()
    return place


@pytest.fixture
def kernels(folder: Path) -> Iterator[Callable[..., Kernel]]:
    """Starts kernels in the folder, with these variables in their environment."""
    started: list[Kernel] = []

    def start(**environment: str) -> Kernel:
        started.append(Kernel(folder, **environment))
        assert started[-1].run("%load_ext dnnfix", "load").ok
        return started[-1]

    yield start
    for kernel in started:
        kernel.close()


@pytest.fixture
def kernel(kernels: Callable[..., Kernel]) -> Kernel:
    return kernels()
