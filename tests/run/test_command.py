"""The user's test command works on a copy, without tokens, and ends with its time."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from dnnfix.run.sandbox import run_command


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "net.py").write_text("SIZE = 3\n")
    (folder / "test_net.py").write_text("import net\nraise SystemExit(0 if net.SIZE == 4 else 5)\n")
    (folder / ".env").write_text("TOKEN=1")
    return folder


def run(command: str, project: Path, program: bytes = b"SIZE = 4\n", seconds: float = 20.0) -> tuple[int, str]:
    return run_command(command, project / "net.py", program, project.parent / "scratch", seconds)


def test_the_command_sees_the_candidate_and_the_folder_does_not(project: Path) -> None:
    assert run(f"{sys.executable} test_net.py", project)[0] == 0
    assert (project / "net.py").read_text() == "SIZE = 3\n"


def test_its_status_and_its_last_lines_come_back(project: Path) -> None:
    assert run(f"{sys.executable} test_net.py; echo status $?; ls -A; exit 7", project, b"SIZE = 3\n") == (
        7,
        "status 5\nnet.py\ntest_net.py\n",
    )


def test_tokens_are_not_passed_on(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "CANARY")
    status, said = run("env", project)
    assert status == 0 and "PATH=" in said and "CANARY" not in said


def test_a_command_that_does_not_end_is_ended(project: Path) -> None:
    begun = time.monotonic()
    assert run("echo begun; sleep 600 & sleep 600", project, seconds=1.0) == (124, "begun\n")
    assert time.monotonic() - begun < 60


def test_the_users_own_files_are_not_written_through_links(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dnnfix.run.project.COPIED", 0)  # as in a folder of many files, where what is left is linked to
    (project / "parts").mkdir()
    (project / "parts" / "sums.py").write_text("ONE = 1\n")
    status, said = run_command(
        "cat net.py parts/sums.py new/one.py",
        project / "net.py",
        b"SIZE = 4\n",
        project.parent / "scratch",
        20.0,
        {"parts/sums.py": b"ONE = 2\n", "new/one.py": b"TWO = 2\n"},
    )
    assert (status, said) == (0, "SIZE = 4\nONE = 2\nTWO = 2\n")
    assert (project / "net.py").read_text() == "SIZE = 3\n"
    assert (project / "parts" / "sums.py").read_text() == "ONE = 1\n"
