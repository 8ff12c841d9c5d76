"""`dnnfix suggest --log`: what a long run showed is looked for, and is evidence; a patch is proven by short runs alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dnnfix.cli.main import run
from dnnfix.config import Settings
from dnnfix.pipeline import suggest_file
from dnnfix.records import FileReport, FindingOutcome, PatchVerdict, Symptom
from dnnfix.validate.reading import Reading
from dnnfix.watching.log import LogWriter, Seen, read_log

SOUND = """\
import dnnfix
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(640, 6)
y = (x[:, 0] + x[:, 1] > 0).long() + (x[:, 2] > 0).long()
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(net.parameters(), lr={rate})
with dnnfix.watch(net):
    for epoch in range(40):
        for start in range(0, 640, 32):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x[start : start + 32]), y[start : start + 32])
            loss.backward()
            optimizer.step()
"""
LOST = Seen(
    5200, Reading("non-finite", "the loss leaves the finite numbers", Symptom.NON_FINITE, {}), "0.weight", "train.py", 8
)
STUCK = Seen(2000, Reading("at-chance", "no better than a guess", Symptom.NOT_LEARNING, {"skill": 0.0}))


def reported(tmp_path: Path, text: str, *seen: Seen, budget: float = 90.0) -> FileReport:
    pytest.importorskip("torch")
    program = tmp_path / "train.py"
    program.write_text(text)
    writer = LogWriter(tmp_path / "symptoms.jsonl", str(program), "torch", "Sequential")
    for one in seen:
        writer.add(one)
    writer.end(9000, 0.01)
    settings = Settings(budget=budget, python=sys.executable, cache_dir=tmp_path / "cache")
    log = read_log(tmp_path / "symptoms.jsonl")
    return suggest_file(text.encode(), str(program), settings, lambda said: None, log=log)


def test_what_short_runs_do_not_show_is_reported_without_a_patch(tmp_path: Path) -> None:
    report = reported(tmp_path, SOUND.format(rate=0.01), LOST)
    (result,) = [one for one in report.findings if one.finding.code == "DNF905"]
    assert result.outcome is FindingOutcome.DECLINED and result.finding.site.line == 8
    assert "seen at step 5200 of the long run; the short runs do not show it" in result.reason
    assert "step 5200" in result.finding.message
    assert not [patch for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED]
    assert report.runs and not report.unrun, "the program watches itself, for which it needs nothing in a trial"


@pytest.mark.slow
def test_what_short_runs_show_too_names_the_log_and_is_repaired(tmp_path: Path) -> None:
    report = reported(tmp_path, SOUND.format(rate=1e-7), STUCK, budget=240.0)
    (result,) = [one for one in report.findings if one.finding.code == "DNF905"]
    assert result.outcome is FindingOutcome.REPAIRED
    assert result.finding.evidence["log"] == [{"step": 2000, "symptom": "at-chance", "said": "no better than a guess"}]
    assert "seen in the log at step 2000" in result.finding.message


@pytest.mark.parametrize("fault", ["another", "changed", "broken", "missing"])
def test_a_log_that_cannot_be_used_is_an_error(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "train.py").write_text("train()\n")
    if fault != "missing":
        LogWriter("symptoms.jsonl", str(tmp_path / "train.py"), "torch", "Net").add(STUCK)
    if fault == "broken":
        (tmp_path / "symptoms.jsonl").write_text((tmp_path / "symptoms.jsonl").read_text() + '{"step": 3')
    if fault == "another":
        (tmp_path / "other.py").write_text("other()\n")
    if fault == "changed":
        (tmp_path / "train.py").write_text("train(1)\n")
    program = "other.py" if fault == "another" else "train.py"
    try:
        code = run(["suggest", program, "--log", "symptoms.jsonl", "--isolated"])
    except SystemExit as stop:
        code = int(stop.code or 0)
    said = "".join(capsys.readouterr())
    wanted = {
        "another": "not of other.py",
        "changed": "was changed since that run",
        "broken": "symptoms.jsonl:3: broken line",
        "missing": "symptoms.jsonl: the log of symptoms cannot be read",
    }
    assert code == 2 and wanted[fault] in said and "Traceback" not in said
