"""Tools that run programs: a crash that is repaired and its proof, a sound program, a module, a report, and stopping."""

from __future__ import annotations

import asyncio
import os
import subprocess
from functools import partial
from pathlib import Path

import pytest

from tests.mcp.conftest import CRASHING, Agent, Started, descendants, until

pytest.importorskip("torch", reason="torch is not installed")

ENDLESS = "import time\nimport torch\n\nwhile True:\n    time.sleep(0.1)\n"

MODULE = """import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)
"""

REPORT = """# Shapes do not fit

```python
import torch
from torch import nn

print(nn.Linear(3, 2)(torch.zeros(4, 5)))
```

```
Traceback (most recent call last):
  File "a.py", line 4, in <module>
RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x5 and 3x2)
```
"""


def files(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_call_is_stopped_and_leaves_nothing_running(started: Started, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "endless.py").write_text(ENDLESS)
    nobody = descendants(os.getpid())
    with started(folder) as agent:
        server = descendants(os.getpid())
        running = agent.portal.start_task_soon(partial(agent._call, "suggest", {"path": "endless.py"}))
        until(lambda: "endless.py: running the program" in agent.told)
        begun = until(lambda: len(more := descendants(os.getpid()) - server) > 1 and more)
        # Another call waits its turn, and one that runs nothing does not.
        agent.portal.start_task_soon(partial(agent._call, "reproduce", {"path": "endless.py"}))
        until(lambda: "waiting for another call to end" in agent.told)
        assert agent.answer("check", path="endless.py")["programs"] == 1
        assert begun & descendants(os.getpid())
        running.cancel()
        until(lambda: not begun & descendants(os.getpid()))
        # Now the other call runs, and its client goes.
        until(lambda: "running the program as it stands" in agent.told)
    until(lambda: descendants(os.getpid()) <= nobody)


@pytest.mark.slow
def test_a_crash_is_repaired_and_its_proof_holds(agent: Agent) -> None:
    program = agent.folder / "crash.py"
    program.write_text(CRASHING)
    before = files(agent.folder)
    made = agent.answer("suggest", path="crash.py", budget=60)
    (one,) = made["programs"]
    assert one["path"] == "crash.py" and one["ran"] and one["findings"][0]["outcome"] == "repaired"
    (patch,) = one["patches"]
    assert patch["verdict"] == "accepted" and "passed parse, run" in patch["proof"]
    assert "crash.py: running the program" in agent.told and len(set(agent.told)) > 3
    assert files(agent.folder) == before
    apply = subprocess.run(["git", "apply"], input=patch["diff"].encode(), cwd=made["folder"], check=False)
    assert apply.returncode == 0 and "dtype=int)" in program.read_text()
    again = agent.answer("verify", certificate=patch["certificate"])
    assert again["holds"] and again["program"] == "crash.py", again


@pytest.mark.slow
def test_a_sound_program_and_a_module(agent: Agent) -> None:
    folder = agent.folder / "package"
    folder.mkdir()
    (folder / "net.py").write_text(MODULE)
    (folder / "main.py").write_text("import torch\nfrom net import Net\n\nprint(Net()(torch.zeros(3, 4)).shape)\n")
    made = agent.answer("suggest", path="package/net.py")
    assert [(one["path"], one["through"]) for one in made["programs"]] == [
        ("package/net.py", "package/main.py"),
        ("package/main.py", ""),
    ]
    for one in made["programs"]:
        assert not one["findings"] and not one["patches"]
    assert made["programs"][1]["ran"] and made["programs"][1]["unchecked"]


@pytest.mark.slow
def test_the_symptom_of_a_report_is_reproduced(agent: Agent) -> None:
    (agent.folder / "issue.md").write_text(REPORT)
    made = agent.answer("reproduce", path="issue.md", script=True)
    assert made["succeeded"] and "reproduced" in made["outcome"] and "nn.Linear(3, 2)" in made["script"], made


def test_progress_is_told_while_nothing_new_happens() -> None:
    from dnnfix.mcp import app

    told: list[tuple[float, str]] = []

    class Session:
        async def report_progress(self, progress: float, message: str) -> None:
            told.append((progress, message))

    class Context:
        session = Session()

    async def main() -> None:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(app, "EVERY", 0.02)
            async with app._telling(Context()) as tell:  # type: ignore[arg-type]
                tell("working")
                await asyncio.sleep(0.2)

    asyncio.run(main())
    numbers = [number for number, _ in told]
    assert numbers == sorted(set(numbers)) and [text for _, text in told].count("working") > 2
