"""Programs of several files: faults of versions in the modules that a program imports are found and repaired along."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dnnfix import pipeline
from dnnfix.config import Settings, load
from dnnfix.emit.text import file_text
from dnnfix.emit.view import View
from dnnfix.errors import CertificateError
from dnnfix.records import FileReport, PatchVerdict
from dnnfix.reproduce.actions import input_data
from dnnfix.reproduce.beside import modules_beside
from dnnfix.reproduce.case import Case
from dnnfix.reproduce.data.followed import flow_of
from dnnfix.source.program import Source
from tests.robust.calls import dnnfix

PROGRAM = """\
import torch
from parts.nets import Net, error

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    x = torch.randn(16, 3)
    loss = error(net(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.data[0])
"""
NETS = """\
import torch.nn as nn
from .sums import mean_of


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x):
        return self.layer(x)


def error(output, target):
    loss = nn.functional.mse_loss(output, target)
    print("error", loss.data[0], mean_of(output))
    return loss
"""
SUMS = """\
def mean_of(values):
    total = 0
    for value in values:
        total += value.sum().item()
    return total
"""

FLAT = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scores = nn.Linear(12, 2)

    def forward(self, x):
        return self.scores(x.flatten(1))
"""
ENGINE = """\
import torch


def train(model):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    measure = torch.nn.BCEWithLogitsLoss()
    x = torch.randn(64, 1, 3, 4)
    wanted = torch.stack([x[:, 0, 0, 0] > 0, x[:, 0, 1, 1] > 0], 1).float()
    for _ in range(200):
        optimizer.zero_grad()
        measure(model(x), wanted).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(((model(x) > 0.5).float() == wanted).float().mean().item())
"""
USE = """\
import torch
from parts.nets import Net

net = Net()
optimizer = torch.optim.Adam(net.parameters())
for _ in range(4):
    loss = net(torch.randn(8, 1, 3, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "parts").mkdir(parents=True)
    (folder / "train.py").write_text(PROGRAM)
    (folder / "parts" / "nets.py").write_text(NETS)
    (folder / "parts" / "sums.py").write_text(SUMS)
    (folder / "other.py").write_text("import torch\n")
    return folder


def settings_in(folder: Path) -> Settings:
    return load(folder, {"budget": 90.0, "cache-dir": str(folder.parent / "cache")}, isolated=True)


def suggested(folder: Path) -> FileReport:
    path = folder / "train.py"
    return pipeline.suggest_file(path.read_bytes(), str(path), settings_in(folder), lambda words: None)


def test_the_modules_that_a_program_imports_are_known_by_their_paths(project: Path) -> None:
    source = Source.from_bytes(PROGRAM.encode(), "somewhere/train.py")
    assert [module.path for module in modules_beside(source, project)] == ["parts/nets.py", "parts/sums.py"]


@pytest.mark.slow
def test_modules_of_the_repository_outside_of_the_programs_folder_are_repaired_along_with_it(project: Path) -> None:
    (project / "src").mkdir()
    (project / ".git").mkdir()
    (project / "train.py").rename(project / "src" / "train.py")
    report = suggested(project / "src")
    found = {(r.finding.code, r.finding.site.path, r.finding.site.line) for r in report.findings}
    assert found == {("DNF504", "", 12), ("DNF504", "../parts/nets.py", 16)}
    certificate = str(next(patch.certificate for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED))
    assert pipeline.verify_certificate(certificate, settings_in(project)) == (True, ())
    assert "parts/nets.py:16:" in file_text(report, View())
    shown = dnnfix("suggest", "--isolated", "--output-format", "diff", "src/train.py", folder=project).text
    assert "+++ b/parts/nets.py" in shown and "+++ b/src/train.py" in shown
    dnnfix("fix", "--unsafe", "--isolated", "train.py", folder=project / "src")
    assert (project / "src" / "train.py").read_text() == PROGRAM.replace("loss.data[0]", "loss.item()")
    assert (project / "parts" / "nets.py").read_text() == NETS.replace("loss.data[0]", "loss.item()")


def test_modules_above_the_program_and_in_folders_that_it_puts_on_the_path_are_its_own(project: Path) -> None:
    scripts = project / "scripts"
    (scripts / "tools").mkdir(parents=True)
    (scripts / "tools" / "plots.py").write_text("import torch\n")
    (project / "src").mkdir()
    (project / "src" / "losses.py").write_text("import torch\n")
    text = 'import sys\nsys.path.append("tools")\nsys.path.insert(0, "/elsewhere")\nimport plots, losses, parts.sums\n'
    source = Source.from_bytes(text.encode(), "train.py")
    found = [module.path for module in modules_beside(source, scripts, project)]
    assert found == ["tools/plots.py", "../src/losses.py", "../parts/sums.py"]
    assert [module.path for module in modules_beside(source, scripts)] == ["tools/plots.py"]
    whole = source.along_with(modules_beside(source, scripts, project))
    assert whole.module_named("losses") is not None and whole.module_named("parts.sums") is not None


def test_folders_of_the_repository_that_a_program_writes_into_are_not_made(project: Path) -> None:
    (project / "src").mkdir()
    text = b"import torch\nnet = torch.nn.Linear(2, 2)\ntorch.save(net, '../weights/net.pt')\n"

    def made() -> set[str]:
        case = Case(Source.from_bytes(text, "train.py"), (), lambda name: True, project / "src")
        return {found.what for found in input_data.steps(case)}

    (project / "weights").mkdir()
    assert made() == {"the folder `made/weights`, empty"}
    (project / ".git").mkdir()
    assert made() == set()


def test_what_a_run_does_not_get_to_see_is_no_module_of_the_program(project: Path) -> None:
    (project.parent / "elsewhere.py").write_text("OUTSIDE = 1\n")
    (project / "linked.py").symlink_to(project.parent / "elsewhere.py")
    (project / "above").symlink_to(project.parent)
    (project / "credentials.py").write_text("TOKEN = 1\n")
    text = "import linked, credentials, above.elsewhere\nfrom .. import elsewhere\nfrom ..project.parts import sums\n"
    found = modules_beside(Source.from_bytes(text.encode(), "train.py"), project)
    assert [module.path for module in found] == ["parts/sums.py"]


def test_one_patch_repairs_the_program_and_its_modules(project: Path) -> None:
    report = suggested(project)
    places = {(r.finding.code, r.finding.site.path, r.finding.site.line) for r in report.findings}
    assert places == {("DNF504", "", 12), ("DNF504", "parts/nets.py", 16)}
    accepted = [patch for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED]
    assert accepted and all(r.outcome.value == "repaired" for r in report.findings)
    assert "+    print(loss.item())" in accepted[0].diff
    assert '+    print("error", loss.item(), mean_of(output))' in accepted[0].diff and "sums" not in accepted[0].diff
    certificate = Path(accepted[0].certificate or "")
    holds, differences = pipeline.verify_certificate(str(certificate), settings_in(project))
    assert holds, differences
    text = certificate.read_text()
    for outside in ("../other.py", str(project / "other.py")):
        certificate.write_text(text.replace('"parts/sums.py"', json.dumps(outside)))
        with pytest.raises(CertificateError, match="outside of the program's repository"):
            pipeline.verify_certificate(str(certificate), settings_in(project))


@pytest.mark.slow
def test_fix_writes_every_file_and_the_diff_of_a_folder_has_each_file_once(project: Path) -> None:
    (project / "again.py").write_text(PROGRAM)
    whole = dnnfix("suggest", "--isolated", "--output-format", "diff", ".", folder=project)
    assert whole.text.count("+++ b/parts/nets.py") == 1 and whole.text.count("+++ b/train.py") == 1
    (project / "parts" / "nets.py").chmod(0o444)
    assert "nets.py: is read-only" in dnnfix("fix", "--unsafe", "--isolated", "train.py", folder=project).err
    assert (project / "train.py").read_text() == PROGRAM
    (project / "parts" / "nets.py").chmod(0o644)
    dnnfix("fix", "--unsafe", "--isolated", "train.py", folder=project)
    assert (project / "train.py").read_text() == PROGRAM.replace("loss.data[0]", "loss.item()")
    assert (project / "parts" / "nets.py").read_text() == NETS.replace("loss.data[0]", "loss.item()")
    assert (project / "parts" / "sums.py").read_text() == SUMS
    assert dnnfix("fix", "--isolated", "train.py", folder=project).code == 0


@pytest.mark.parametrize(
    ("given", "rule", "written"),
    [
        pytest.param("x", "DNF104", "self.scores(x.flatten(1))", id="an axis too many"),
        pytest.param("x.flatten(1).long()", "DNF601", "self.scores(x.flatten(1).long().float())", id="another type"),
        pytest.param("x.reshape(8, 13)", "DNF145", "self.scores(x.reshape(x.size(0), -1))", id="another size"),
        pytest.param("x.flaten(1)", "DNF609", "self.scores(x.flatten(1))", id="a name that is not there"),
    ],
)
def test_a_rule_repairs_a_crash_in_a_module_as_in_the_program(
    project: Path, given: str, rule: str, written: str
) -> None:
    (project / "parts" / "nets.py").write_text(FLAT.replace("x.flatten(1)", given))
    (project / "train.py").write_text(USE)
    report = suggested(project)
    found = {result.finding.code: result.finding.site.path for result in report.findings}
    assert found[rule] == "parts/nets.py"
    (diff,) = [patch.diff for patch in report.patches if f"+        return {written}\n" in patch.diff]
    assert "+++ b/" in diff and diff.count("parts/nets.py") == 4


def test_a_rule_finds_in_a_module_what_the_network_shows_and_not_what_the_program_does(project: Path) -> None:
    (project / "parts" / "nets.py").write_text(
        FLAT.replace("return self.scores(x.flatten(1))", "return torch.softmax(self.scores(x.flatten(1)), dim=1)")
    )
    (project / "train.py").write_text(
        USE.replace(
            "net(torch.randn(8, 1, 3, 4)).pow(2).mean()", "measure(net(x), (x.sum((1, 2, 3)) > 0).long())"
        ).replace(
            "for _ in range(4):",
            "x = torch.randn(64, 1, 3, 4)\nmeasure = torch.nn.CrossEntropyLoss()\nfor _ in range(200):",
        )
    )
    report = suggested(project)
    assert [(r.finding.code, r.finding.site.path) for r in report.findings] == [("DNF301", "parts/nets.py")]
    (patch,) = [patch for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED]
    assert "+        return self.scores(x.flatten(1))\n" in patch.diff and "train.py" not in patch.diff


def test_what_one_module_leaves_to_another_is_no_fault_of_it(project: Path) -> None:
    squashed = FLAT.replace(
        "return self.scores(x.flatten(1))",
        "x = self.scores(x.flatten(1))\n        return x if self.training else torch.sigmoid(x)",
    )
    (project / "parts" / "nets.py").write_text(squashed)
    (project / "parts" / "engine.py").write_text(ENGINE)
    (project / "train.py").write_text("from parts.engine import train\nfrom parts.nets import Net\n\ntrain(Net())\n")
    assert suggested(project).findings == ()


@pytest.mark.slow
def test_what_a_comment_in_a_module_silences_stays(project: Path) -> None:
    silenced = NETS.replace("mean_of(output))", "mean_of(output))  # noqa: DNF504")
    (project / "parts" / "nets.py").write_text(silenced)
    report = suggested(project)
    assert {r.finding.site.path for r in report.findings if r.finding.code == "DNF504"} == {""}
    assert not any("parts/nets.py" in patch.diff for patch in report.patches)


@pytest.mark.slow
def test_a_baseline_knows_the_findings_of_a_module_by_its_file(project: Path) -> None:
    dnnfix("check", "--isolated", "--write-baseline", "known.json", ".", folder=project)
    said = dnnfix("suggest", "--isolated", "--baseline", "known.json", "train.py", folder=project)
    assert "DNF901" in said.text and "DNF504" not in said.text


def test_a_table_of_numbers_that_a_module_reads_is_planned(tmp_path: Path) -> None:
    (tmp_path / "tables.py").write_text(
        "import numpy as np\n\n\ndef load(path='inputs.csv'):\n    inputs = np.genfromtxt(path, delimiter=',')\n"
        "    return inputs\n"
    )
    (tmp_path / "train.py").write_text(
        "import torch\nfrom tables import load\n\nlayer = torch.nn.Linear(4, 2)\n"
        "print(layer(torch.tensor(load()).float()).shape)\n"
    )
    path = tmp_path / "train.py"
    found = pipeline.reproduce_file(path.read_bytes(), str(path), settings_in(tmp_path), lambda words: None)
    assert found.traces[-1].outcome.value == "finished"


def test_files_that_a_module_reads_are_made_by_what_the_program_gives_it(tmp_path: Path) -> None:
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "tables.py").write_text(
        "import pandas as pd\n\n\nclass Reader:\n    def __init__(self, folder):\n        self.folder = folder\n\n"
        "    def read(self, name='train'):\n        frame = pd.read_csv(self.folder + '/' + name + '.csv')\n"
        "        return frame['age'], frame['price']\n\n\nif __name__ == '__main__':\n    Reader('elsewhere').read()\n"
    )
    (tmp_path / "train.py").write_text(
        "import helpers.tables as tables\nfrom helpers.tables import Reader\n\nreader = Reader('data')\n"
        "ages, prices = reader.read()\nmore, _ = tables.Reader('data').read('test')\nprint(len(ages), len(more))\n"
    )
    path = tmp_path / "train.py"
    found = pipeline.reproduce_file(path.read_bytes(), str(path), settings_in(tmp_path), lambda words: None)
    made = [step.what.split(":")[0] for step in found.reproduction.steps]
    assert made == ["`data/train.csv` (read in helpers/tables.py)", "`data/test.csv` (read in helpers/tables.py)"]
    assert found.traces[-1].outcome.value == "finished"


def test_words_by_their_place_and_functions_of_a_star_import_are_followed() -> None:
    module = Source.from_bytes(b"def read(name):\n    return open(name).read()\n", "helpers.py")
    text = (
        "import argparse\nfrom helpers import *\nparser = argparse.ArgumentParser()\nparser.add_argument('-q', action="
        "'store_true')\nparser.add_argument('--size')\nparser.add_argument('filename')\nargs = parser.parse_args()\n"
        "text = read(args.filename)\n"
    )
    program = Source.from_bytes(text.encode(), "program.py").along_with([module])
    found = flow_of(program, (), ("-q", "--size", "3", "made/text"))
    assert [datum.path for datum in found.data] == ["made/text"]
