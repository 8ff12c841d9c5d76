"""Modules are run through the programs that use them; the reports of these are made by a stand-in for the pipeline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dnnfix.programs import Finder, Program, SettingsByFolder
from dnnfix.records import (
    Candidate,
    CodeWarning,
    Family,
    FileReport,
    Finding,
    FindingOutcome,
    FindingResult,
    FixPattern,
    Patch,
    PatchVerdict,
    RunOutcome,
    Site,
    Trace,
)
from dnnfix.through import Through

NET = "from torch import nn\n\n\nclass Net(nn.Module):\n    pass\n"
LOSS = "from torch import nn\n\n\ndef error(x):\n    return nn.functional.relu(x)\n"
TRAIN = "from net import Net\nfrom loss import error\n\nerror(Net()).backward()\n"
SEEN = Trace(
    RunOutcome.FINISHED, warnings=tuple(CodeWarning("", "", Site(1, 1, 1, 2, one)) for one in ("net.py", "loss.py"))
)
MODULES = {"net.py": NET.encode(), "loss.py": LOSS.encode()}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "work"
    (place / ".git").mkdir(parents=True)
    for name, text in {"net.py": NET, "loss.py": LOSS, "train.py": TRAIN}.items():
        (place / name).write_text(text)
    monkeypatch.chdir(place)
    return place


def through(
    paths: list[str], program: FileReport, told: Callable[[str], None] = lambda text: None
) -> tuple[list[tuple[str, str]], list[FileReport]]:
    """The (path, program run for it) of each report, and the reports; `program` is that of `train.py`."""
    analysed: list[str] = []

    def analyse(one: Program) -> FileReport:
        assert one.path not in analysed, "a program is run once"
        analysed.append(one.path)
        return program if one.path == "train.py" else FileReport(one.path)

    finder = Finder(SettingsByFolder({}, isolated=True), pytest.fail)
    reports = list(Through(finder, analyse, told).reports(finder.programs(paths, "")))
    assert [one.path for one, _ in reports] == [report.path for _, report in reports]
    return [(report.path, report.through) for _, report in reports], [report for _, report in reports]


def test_a_module_is_run_in_the_program_that_uses_it_and_that_is_told() -> None:
    told: list[str] = []
    named, _ = through(["net.py"], FileReport("train.py", modules=MODULES, trace=SEEN), told.append)
    assert named == [("net.py", "train.py"), ("train.py", "")]
    assert told == ["train.py: is run, since it uses net.py"]


@pytest.mark.parametrize("paths", [["net.py", "loss.py", "train.py"], ["train.py", "net.py", "loss.py"]])
def test_a_program_of_two_modules_is_run_and_reported_once(paths: list[str]) -> None:
    named, _ = through(paths, FileReport("train.py", modules=MODULES, trace=SEEN))
    assert sorted(named) == [("loss.py", "train.py"), ("net.py", "train.py"), ("train.py", "")]


def test_a_module_whose_program_cannot_be_run_is_run_by_itself_and_says_why() -> None:
    lacks = FileReport("train.py", modules=MODULES, unrun=True, trace=Trace(RunOutcome.NEEDS_DATA, detail="a.csv"))
    named, (own,) = through(["net.py"], lacks)
    assert named == [("net.py", "")]
    assert own.unchecked[0].startswith("how train.py uses it: it could not be run: it needs data (a.csv)")
    assert through(["net.py", "train.py"], lacks)[0] == [("net.py", ""), ("train.py", "")]


def test_a_module_of_which_the_run_shows_nothing_is_run_by_itself_as_well() -> None:
    named, (_, own) = through(["net.py"], FileReport("train.py", modules=MODULES, trace=Trace(RunOutcome.FINISHED)))
    assert named == [("train.py", ""), ("net.py", "train.py")]
    assert own.unchecked == ("how train.py uses it: nothing of it was seen at work in that run",)


def test_files_of_a_folder_are_run_by_themselves() -> None:
    named, _ = through(["."], FileReport("train.py", modules=MODULES, trace=SEEN))
    assert named == [("loss.py", ""), ("net.py", ""), ("train.py", "")]


def test_a_module_that_nobody_uses_is_run_by_itself(folder: Path) -> None:
    (folder / "train.py").write_text("import torch\n")
    assert through(["net.py"], FileReport("train.py"))[0] == [("net.py", "")]


def test_an_example_of_a_readme_is_run_for_a_module_and_only_the_module_is_repaired(folder: Path) -> None:
    (folder / "train.py").unlink()
    (folder / "README.md").write_text("```python\nfrom net import Net\n\nNet().fit()\n```\n")
    own, of_net = (
        FindingResult(Finding("DNF1", "", Family.VERSIONING, site, ""), FindingOutcome.REPAIRED, "", (name,))
        for site, name in ((Site(1, 1, 1, 2), "own"), (Site(1, 1, 1, 2, "net.py"), "net"))
    )
    patches = tuple(
        Patch(name, Candidate("DNF1", "", FixPattern.LAYER_DIMENSION, (), ()), diff, PatchVerdict.ACCEPTED)
        for name, diff in (
            ("own", "diff --git a/README.md:1 b/README.md:1\n+++ b/README.md:1\n"),
            ("net", "diff --git a/net.py b/net.py\n+++ b/net.py\n"),
        )
    )
    ran: list[Program] = []

    def analyse(program: Program) -> FileReport:
        ran.append(program)
        return FileReport(program.path, (own, of_net), patches, modules=MODULES, trace=SEEN)

    finder = Finder(SettingsByFolder({}, isolated=True), pytest.fail)
    found = [report for _, report in Through(finder, analyse).reports(finder.programs(["net.py"], ""))]
    assert [(program.path, program.raw) for program in ran] == [
        ("README.md:1", b"from net import Net\n\nNet().fit()\n")
    ]
    assert [(report.path, report.through) for report in found] == [("net.py", "README.md:1"), ("README.md:1", "")]
    assert (found[1].findings, [patch.id for patch in found[1].patches]) == ((of_net,), ["net"])
