"""`dnnfix fix --guard` leaves a test that fails where a repaired fault comes back, and never writes over one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dnnfix.cli.guard_tests import write_guard
from dnnfix.config import Settings
from dnnfix.emit import guard
from dnnfix.records import (
    Candidate,
    Family,
    FileReport,
    Finding,
    FindingOutcome,
    FindingResult,
    FixPattern,
    Patch,
    PatchVerdict,
    Site,
    Symptom,
)

FAULTY = b"""import torch

net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    loss = (net(x) - y).pow(2).mean()
    loss.backward()
    optimizer.step()
"""
REPAIRED = FAULTY.replace(b"    loss.backward()", b"    optimizer.zero_grad()\n    loss.backward()")


def report_of(code: str, rule: str, symptom: Symptom = Symptom.VIOLATION) -> tuple[FileReport, Patch]:
    """The report of a program with one finding that one accepted patch settles."""
    finding = Finding(code, rule, Family.TRAINING, Site(8, 5, 8, 21), "it is so", symptom)
    candidate = Candidate(code, "mend it", FixPattern.API_CONTRACT, (), (finding,))
    patch = Patch("patch-1", candidate, "diff", PatchVerdict.ACCEPTED)
    result = FindingResult(finding, FindingOutcome.REPAIRED, "proven", ("patch-1",))
    return FileReport("train.py", (result,), (patch,)), patch


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_bytes(REPAIRED)
    return tmp_path


def written(project: Path, code: str = "DNF701", rule: str = "gradients-never-cleared") -> str:
    report, patch = report_of(code, rule)
    return write_guard(project / "src" / "train.py", FAULTY, report, [patch], Settings())


def ran(project: Path, *command: str) -> int:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=project, env=env, capture_output=True, check=False
    ).returncode


@pytest.mark.parametrize("style", ["pytest", "unittest"])
def test_the_guard_fails_before_and_passes_after(project: Path, style: str) -> None:
    (project / "tests").mkdir()
    if style == "unittest":
        (project / "tests" / "test_old.py").write_text("import unittest\n\nclass Old(unittest.TestCase):\n    pass\n")
    said = written(project)
    test = project / "tests" / "test_train_dnf701.py"
    assert said.startswith(str(test))
    command = ("pytest", "-q", "tests") if style == "pytest" else ("unittest", "discover", "-s", "tests")
    assert ("import pytest" in test.read_text()) is (style == "pytest")
    assert ran(project, *command) == 0
    (project / "src" / "train.py").write_bytes(FAULTY)
    assert ran(project, *command) == 1


def test_nothing_is_written_over(project: Path) -> None:
    written(project)
    test = project / "tests" / "test_train_dnf701.py"
    test.write_text("mine")
    assert "is there already" in written(project) and test.read_text() == "mine"


def test_tests_lie_where_pytest_is_told(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.pytest.ini_options]\ntestpaths = ["checks/unit"]\n')
    written(project)
    (test,) = project.glob("checks/unit/*.py")
    assert "parents[2]" in test.read_text() and ran(project, "pytest", "-q", "checks") == 0


def test_no_guard_where_the_source_still_shows_the_fault(project: Path) -> None:
    (project / "src" / "train.py").write_bytes(FAULTY)
    assert "still shows" in written(project) and not list(project.glob("tests/*"))


def test_a_fault_that_only_a_run_shows_is_guarded_by_a_run() -> None:
    text = guard.text("train.py", 1, [("DNF905", "does-not-learn")], reads_only=False, as_class=False)
    assert 'dnnfix.suggest(PROGRAM, select=["DNF905"], unfixable=["ALL"]' in text and "could not be run" in text
    compile(text, "test.py", "exec")
    compile(
        guard.text("a/train.py", 2, [("DNF905", "does-not-learn")], reads_only=False, as_class=True), "test.py", "exec"
    )
