"""The command as a process: what it imports, a closed pipe, Ctrl-C, other locales."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.programs import FAULTY

ROOT = Path(__file__).parents[2]
HEAVY = ("torch", "keras", "tensorflow", "numpy", "libcst", "rich", "pydantic")


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


@pytest.fixture
def many(tmp_path: Path) -> Path:
    for number in range(300):
        (tmp_path / f"m{number}.py").write_text(FAULTY)
    return tmp_path


@pytest.mark.parametrize(
    "argv", [["--help"], ["check", "a.py"], ["check", "a.py", "--output-format", "github"], ["templates"]]
)
def test_light_start(tmp_path: Path, argv: list[str]) -> None:
    (tmp_path / "a.py").write_text(FAULTY)
    code = (
        "import sys; from dnnfix.cli.main import run; run(sys.argv[1:]); "
        f"print('HEAVY', sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    cache = str(tmp_path / "cache")
    done = subprocess.run(
        [sys.executable, "-c", code, *argv],
        cwd=tmp_path,
        env=environment(XDG_CACHE_HOME=cache),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "HEAVY []"


def test_closed_pipe(many: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m dnnfix check . --no-cache | head -n 1; echo ${{PIPESTATUS[0]}}"],
        cwd=many,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "141"
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt(many: Path, jobs: str, number: signal.Signals, code: int) -> None:
    argv = [sys.executable, "-m", "dnnfix", "check", ".", "--no-cache", "--jobs", jobs]
    process = subprocess.Popen(
        argv,
        cwd=many,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert "DNF301" in process.stdout.readline()
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert "interrupted" in err and "Traceback" not in err
    assert "Found " in out
    time.sleep(0.1)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_locale_without_unicode(tmp_path: Path) -> None:
    (tmp_path / "ü.py").write_text(FAULTY.replace("loss =", "größe ="), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "dnnfix", "check", "."],
        cwd=tmp_path,
        env=environment(LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0", XDG_CACHE_HOME=str(tmp_path / "c")),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1 and b"DNF301" in done.stdout and b"Traceback" not in done.stderr


def test_no_colour_in_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(FAULTY)
    argv = [sys.executable, "-m", "dnnfix", "check", "a.py"]
    done = subprocess.run(argv, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert "\033" not in done.stdout


def on_terminal(folder: Path, *words: str, width: int = 80, argv: list[str] | None = None, **variables: str) -> str:
    """What a terminal of so many columns is sent by a call."""
    import fcntl
    import pty
    import struct
    import termios

    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    around = {**environment(XDG_CACHE_HOME=str(folder / "cache")), "TERM": "xterm"}
    around = {name: value for name, value in around.items() if name not in ("NO_COLOR", "COLUMNS")} | variables
    call = argv or [sys.executable, "-m", "dnnfix", *words]
    process = subprocess.Popen(call, cwd=folder, env=around, stdout=side, stderr=side)
    os.close(side)
    text = b""
    try:
        while block := os.read(main, 65536):
            text += block
    except OSError:
        pass
    process.wait(timeout=30)
    os.close(main)
    return text.decode().replace("\r\n", "\n")


def test_colour_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(FAULTY)
    assert "\033[31mDNF301" in on_terminal(tmp_path, "check", "a.py")
    assert "\033[31m" not in on_terminal(tmp_path, "check", "a.py", NO_COLOR="1")


def test_a_terminal_that_cannot_move_gets_plain_lines(many: Path) -> None:
    text = on_terminal(many, "check", ".", TERM="dumb")
    assert "Found 300 problems" in text and "\033" not in text and "\r" not in text


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["check", "--help"],
        ["fix", "--help"],
        ["templates"],
        ["explain", "DNF301", "DNF901"],
        ["check", "a.py"],
    ],
)
def test_lines_fit_a_terminal(tmp_path: Path, words: list[str], width: int) -> None:
    from dnnfix.emit.view import columns

    (tmp_path / "a.py").write_text("'漢字テキスト'; " * 9 + "import torch\n" + FAULTY)
    text = on_terminal(tmp_path, *words, width=width, NO_COLOR="1")
    lines = re.sub("\033\\[[0-9;]*[mK]", "", text).split("\n")
    assert [line for line in lines if columns(line) > width and not line.startswith("    ")] == []
    assert len(lines) > 5


@pytest.mark.parametrize(("closed", "code"), [("<&-", 2), (">&-", 1), ("2>&-", 1)])
def test_closed_streams(tmp_path: Path, closed: str, code: int) -> None:
    (tmp_path / "a.py").write_text(FAULTY)
    path = "-" if closed == "<&-" else "a.py"
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m dnnfix check --no-cache {path} {closed}"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code and "internal error" not in done.stderr, done.stderr


def test_a_working_folder_that_is_gone(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"mkdir gone; cd gone; rmdir ../gone; {sys.executable} -m dnnfix check ../a.py"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and "the working folder is gone" in done.stderr


def test_examples_of_help_go_on_below_their_beginning(tmp_path: Path) -> None:
    text = re.sub("\033\\[[0-9;]*[mK]", "", on_terminal(tmp_path, "check", "--help", width=60))
    examples = text.partition(" Examples ")[2].split("\n")[1:-5]
    assert any("accept what is there today" in line for line in examples)
    assert all(line.startswith("│   ") for line in examples if line.startswith("│")), examples
    assert "names, ALL; with commas ─" in text and "json, sarif, github," in text


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_clock_and_the_name_of_the_file_fit_a_narrow_terminal(tmp_path: Path, encoding: str) -> None:
    code = (
        "import sys; from dnnfix.cli.console import Console; name = 'a/long/folder/' * 5 + 'train.py'\n"
        "with Console().working(name, 30) as told: told('trying: ' + 'to repair the layer ' * 9)"
    )
    around = {"PYTHONIOENCODING": encoding, "NO_COLOR": "1"}
    text = on_terminal(tmp_path, width=60, argv=[sys.executable, "-c", code], **around)
    lines = [re.sub("\033\\[[0-9;?]*[a-zA-Z]", "", line) for line in re.split("[\r\n]", text)]
    shown = [line for line in lines if "trying" in line]
    assert shown and all("train.py   0 of 30 s trying: to" in line and len(line) <= 60 for line in shown), lines
    assert encoding != "ascii" or text.isascii() and "\\u" not in text
