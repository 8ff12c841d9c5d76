"""Stopping a call at any moment, and several calls at once: nothing is left behind, and what is known is told."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.robust.calls import COMMAND, children, environment
from tests.slow import slow_after

SLOW = "import time\n\nprint('started')\ntime.sleep(900)\n"
FAULTY = "import torch\nfrom torch import nn\n\nnn.Sequential(nn.Linear(5, 3), nn.Linear(3, 2))(torch.randn(2, 4))\n"


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for temporary files, which is empty again afterwards."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    yield place
    deadline = time.monotonic() + 60
    while (left := os.listdir(place)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left


def started(folder: Path, *argv: str, terminal: int | None = None) -> subprocess.Popen[bytes]:
    """A call under way, in a session of its own; its streams are pipes or the `terminal`."""
    stream = subprocess.PIPE if terminal is None else terminal
    return subprocess.Popen(
        [*COMMAND, *argv],
        cwd=folder,
        env=environment(folder.parent / "cache"),
        stdin=terminal,
        stdout=stream,
        stderr=stream,
        start_new_session=True,
    )


def wait_for_a_trial(process: subprocess.Popen[bytes], processes: int = 4) -> None:
    """Until the program is running: the warm process, the supervisor and the trial are there, and bubblewrap's own."""
    deadline = time.monotonic() + 60
    while len(children(process.pid)) < processes and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(0.3)


@pytest.mark.parametrize("tier", slow_after(1, ["bubblewrap", "limits"]))
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_ended_in_the_middle(folder: Path, scratch: Path, tier: str, number: signal.Signals) -> None:
    (folder / "a.py").write_text(SLOW)
    argv = ("suggest", "a.py", "--isolated", "--sandbox", tier)
    process = started(folder, *argv)
    wait_for_a_trial(process, 4 if tier == "bubblewrap" else 3)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)  # of the 60 seconds that the program would still be given
    assert b"Traceback" not in err, err
    if number is signal.SIGINT:
        assert process.returncode == 130
        assert b"interrupted" in err and b"Nothing was checked" in out
    else:
        assert process.returncode == -number
        assert number is signal.SIGKILL or b"Nothing was checked" in out
    assert os.listdir(folder) == ["a.py"]


def test_control_c_leaves_a_terminal_as_it_was(folder: Path, scratch: Path) -> None:
    (folder / "a.py").write_text(SLOW)
    main, side = pty.openpty()
    before = termios.tcgetattr(side)
    process = started(folder, "suggest", "a.py", "--isolated", terminal=side)
    wait_for_a_trial(process)
    assert termios.tcgetattr(side) == before
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=30) == 130
    assert termios.tcgetattr(side) == before
    os.close(side)
    text = b""
    try:
        while block := os.read(main, 65536):
            text += block
    except OSError:
        pass
    os.close(main)
    assert b"interrupted" in text and b"Traceback" not in text
    assert text.endswith(b"\n") and text.rpartition(b"interrupted")[2].count(b"\033[?25l") == 0


@pytest.mark.slow
def test_what_was_found_before_is_told(folder: Path, scratch: Path) -> None:
    (folder / "a.py").write_text("raise ValueError('first')\n")
    (folder / "b.py").write_text(SLOW)
    process = started(folder, "suggest", "a.py", "b.py", "--isolated")
    assert process.stdout is not None
    first = process.stdout.readline()
    wait_for_a_trial(process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130 and b"a.py:1:1" in first
    assert b"Found 1 problem in 1 file" in out and b"programs that are not named here were not looked at" in err


@pytest.mark.slow
def test_two_at_the_same_time(folder: Path, scratch: Path) -> None:
    (folder / "a.py").write_text(FAULTY)
    argv = ("suggest", "a.py", "--isolated", "--output-format", "json")
    both = [started(folder, *argv) for _ in range(2)]
    said = [process.communicate(timeout=200) for process in both]
    assert [process.returncode for process in both] == [1, 1], said
    first, second = (json.loads(out) for out, _ in said)
    assert [patch["verdict"] for patch in first["patches"]].count("accepted") >= 1
    assert [(p["diff"], p["verdict"]) for p in first["patches"]] == [
        (p["diff"], p["verdict"]) for p in second["patches"]
    ]
    for patch in first["patches"]:
        if patch["certificate"]:
            json.loads(Path(patch["certificate"]).read_text())
