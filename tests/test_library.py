"""`import dnnfix`: the functions that programs call, beside the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dnnfix
from tests.cli.programs import FAULTY, HEALTHY

CRASHING = """import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(64, 4), torch.randint(0, 3, (64,)).float()
for step in range(30):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_all_names_are_there_and_nothing_else_is_promised() -> None:
    assert all(getattr(dnnfix, name) is not None for name in dnnfix.__all__)
    assert dir(dnnfix) == sorted(dnnfix.__all__)
    with pytest.raises(AttributeError, match="no attribute 'sugest'"):
        dnnfix.sugest  # type: ignore[attr-defined]  # noqa: B018


def test_importing_is_light() -> None:
    code = "import sys, dnnfix; print([name for name in sys.modules if name.startswith('dnnfix.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_check_takes_text_a_file_and_a_folder(place: Path) -> None:
    (place / "model.py").write_text(FAULTY)
    (place / "fine.py").write_text(HEALTHY)
    for program, paths in ((FAULTY, ["stdin.py"]), ("model.py", ["model.py"]), (place, ["fine.py", "model.py"])):
        report = dnnfix.check(program)
        assert [Path(file.path).name for file in report.files] == paths
        assert [result.finding.code for _, result in report.findings()] == ["DNF301"]
        assert report.errors == ()


def test_settings_are_those_of_the_folder_and_of_the_call(place: Path) -> None:
    (place / "model.py").write_text(FAULTY)
    (place / "dnnfix.toml").write_text('ignore = ["DNF301"]\n')
    assert not list(dnnfix.check("model.py").findings())
    assert list(dnnfix.check("model.py", isolated=True).findings())
    assert not list(dnnfix.check("model.py", isolated=True, select=["DNF4"]).findings())
    with pytest.raises(dnnfix.ConfigError, match="Did you mean `ignore`"):
        dnnfix.check("model.py", ignored=["DNF3"])  # type: ignore[call-arg]
    with pytest.raises(dnnfix.ConfigError, match="no rule is meant by `DNF3999`"):
        dnnfix.check("model.py", select=["DNF3999"])


def test_what_cannot_be_read_is_an_error_of_the_report(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert dnnfix.check("missing.py").errors == ("missing.py: no such file or folder. Check the path.",)
    assert "empty" in dnnfix.check("\n").errors[0]
    assert capfd.readouterr() == ("", "")


def test_suggest_and_fix_prove_by_running(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told: list[str] = []
    report = dnnfix.suggest(CRASHING, progress=told.append, isolated=True, jobs=1)
    (accepted,) = [patch for _, patch in report.patches() if patch.verdict is dnnfix.PatchVerdict.ACCEPTED][:1]
    assert told and accepted.diff.startswith("diff a/stdin.py")
    (place / "train.py").write_text(CRASHING)
    fixed = dnnfix.fix("train.py", unsafe=True, isolated=True, jobs=1)
    assert fixed.source != CRASHING and fixed.applied
    assert (place / "train.py").read_text() == CRASHING
    dnnfix.fix("train.py", unsafe=True, write=True, isolated=True, jobs=1)
    assert (place / "train.py").read_text() == fixed.source
    assert capfd.readouterr() == ("", "")
