"""The process: its streams, its extra, what it loads, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.programs import FAULTY
from tests.mcp.conftest import PATIENCE, Started

SERVER = (sys.executable, "-m", "dnnfix", "mcp")
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}},
}
CHECK = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "check", "arguments": {"path": "a.py"}}}


def framed(*messages: Any) -> bytes:
    return b"".join((m if isinstance(m, bytes) else json.dumps(m).encode()) + b"\n" for m in messages)


def test_nonsense_ends_nothing_and_it_ends_with_its_input(tmp_path: Path) -> None:
    said = framed(INITIALIZE, b"{", b"[1]", b'"\xff"', {"jsonrpc": "2.0", "id": 3, "method": "no/such"}, {"id": 4})
    server = subprocess.Popen(
        SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path, stderr=subprocess.PIPE
    )
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(said)
    server.stdin.flush()
    heard = [json.loads(server.stdout.readline())]
    while heard[-1].get("id") != 3:
        heard.append(json.loads(server.stdout.readline()))
    out, _ = server.communicate(timeout=PATIENCE)
    assert server.returncode == 0 and b"Traceback" not in out
    assert heard[0]["result"]["serverInfo"]["name"] == "dnnfix" and "error" in heard[-1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_it_is_told_to(tmp_path: Path, number: signal.Signals) -> None:
    server = subprocess.Popen(
        SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path, stderr=subprocess.PIPE
    )
    assert server.stdin is not None and server.stdout is not None
    try:
        server.stdin.write(framed(INITIALIZE))
        server.stdin.flush()
        assert server.stdout.readline()
        server.send_signal(number)
        assert server.wait(10) == -number
    finally:
        server.kill()
        _, err = server.communicate()
    assert b"Traceback" not in err


def test_what_is_printed_is_not_in_the_protocol(started: Started, tmp_path: Path) -> None:
    """A rule of one's own that prints."""
    folder = tmp_path / "project"
    (folder / "rules").mkdir(parents=True)
    (folder / "rules" / "mine.py").write_text("import os\nprint('printed')\nos.system('echo written > seen; cat')\n")
    (folder / "dnnfix.toml").write_text('templates = ["rules"]\n')
    (folder / "a.py").write_text(FAULTY)
    with started(folder, "--local-rules") as agent:
        agent.call("check", path="a.py")
        assert (folder / "seen").exists()
        assert agent.answer("explain", rule="DNF301")


def test_isolated_takes_no_settings_of_files(started: Started, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "dnnfix.toml").write_text('ignore = ["DNF301"]\n')
    (folder / "a.py").write_text(FAULTY)
    with started(folder, "--isolated") as agent:
        assert agent.answer("check", path="a.py")["findings"]


@pytest.mark.parametrize("flags", [("--config", "no.toml"), ("a.py",), ("--sandbox", "none"), ("--sandbox", "no")])
def test_flags_that_make_no_sense(tmp_path: Path, flags: tuple[str, ...]) -> None:
    done = subprocess.run(
        (*SERVER, *flags), check=False, stdin=subprocess.DEVNULL, capture_output=True, cwd=tmp_path, timeout=PATIENCE
    )
    assert done.returncode == 2 and done.stdout == b"" and done.stderr and b"Traceback" not in done.stderr


@pytest.mark.parametrize("missing", ["mcp", "mcp_types", "pydantic"])
def test_without_its_extra_it_says_which_to_install(tmp_path: Path, missing: str) -> None:
    code = f"import sys\nsys.modules['{missing}'] = None\nfrom dnnfix.cli.main import run\nsys.exit(run(['mcp']))"
    done = subprocess.run(
        (sys.executable, "-c", code), check=False, stdin=subprocess.DEVNULL, capture_output=True, cwd=tmp_path
    )
    assert done.returncode == 2 and b"pip install 'dnnfix[mcp]'" in done.stderr and b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("words", [["--help"], ["check", "a.py", "--quiet", "--no-cache"], ["mcp", "--help"]])
def test_no_other_command_loads_it(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "a.py").write_text(FAULTY)
    code = f"import sys\nfrom dnnfix.cli.main import run\nrun({words!r})\nassert not {{'mcp', 'mcp_types', 'pydantic', 'anyio', 'dnnfix.mcp', 'dnnfix.apart'}} & set(sys.modules)"
    done = subprocess.run(
        (sys.executable, "-c", code), check=False, capture_output=True, cwd=tmp_path, env={**os.environ}
    )
    assert done.returncode == 0, done.stderr
