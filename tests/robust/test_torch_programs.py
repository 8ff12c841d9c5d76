"""Programs that use torch in ways of their own: what they do to it neither hides their faults nor stops the call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.robust.calls import contents, dnnfix

TRAINING = """import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 3))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
for step in range(5):
    optimizer.zero_grad()
    loss_fn(model(x), y).backward()
    optimizer.step()
"""
CRASH = "import torch\nfrom torch import nn\n\nnn.Sequential(nn.Linear(5, 3), nn.Linear(3, 2))(torch.randn(2, 4))\n"
LINE = "nn.Sequential(nn.Linear(5, 3), nn.Linear(3, 2))"

PROGRAMS: dict[str, tuple[str, str, str]] = {
    "patches_modules": (
        "import torch\ntorch.nn.Module.__call__ = lambda self, *given: self.forward(*given)\n" + TRAINING,
        "finished",
        "",
    ),
    "needs_a_gpu": (TRAINING.replace("(4, 3))", "(4, 3)).cuda()"), "needs-gpu", ""),
    "is_huge": ("import torch\n\nmodel = torch.nn.Linear(200_000, 200_000)\n", "out-of-memory", "smaller network"),
    "starts_late": (TRAINING.replace("for step", "sum(1 for _ in range(10**10))\nfor step"), "timeout", "at line 8"),
    "is_made_by_exec": (CRASH.replace(LINE, f"eval('{LINE}')"), "crashed", "Linear"),
    "runs_as_main": (
        CRASH.replace("nn.Seq", "if __name__ == '__main__':\n    nn.Seq"),
        "crashed",
        "expects 5 features",
    ),
    "loads_with_workers": (
        "from torch.utils.data import DataLoader, TensorDataset\n"
        + TRAINING.replace(
            "for step in range(5):",
            "for x, y in DataLoader(TensorDataset(x, y), batch_size=2, num_workers=4, persistent_workers=True):",
        ),
        "finished",
        "",
    ),
    "saves_and_loads": (
        TRAINING + "torch.save(model.state_dict(), 'model.pt')\nmodel.load_state_dict(torch.load('model.pt'))\n",
        "finished",
        "",
    ),
}
"""Program, outcome of its run, and words of its report."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs, one file each, and a notebook with magics."""
    place = tmp_path_factory.mktemp("torch") / "work"
    place.mkdir()
    for name, (text, _, _) in PROGRAMS.items():
        (place / f"{name}.py").write_text(text)
    cells = [
        ["!pip install torch\n", "%matplotlib inline\n", "import torch\n", "from torch import nn\n"],
        ["%%time\n", f"model = {LINE}\n", "model(torch.randn(2, 4))\n"],
    ]
    made = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "outputs": [], "source": s} for n, s in enumerate(cells)
    ]
    notebook = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (place / "notebook.ipynb").write_text(json.dumps(notebook, indent=1))
    return place


@pytest.fixture(scope="module")
def document(folder: Path) -> Iterator[dict[str, Any]]:
    """The report of one call over all of them."""
    before = contents(folder)
    flags = ["--isolated", "--budget", "14", "--output-format", "json"]
    said = dnnfix("suggest", *sorted(path.name for path in folder.iterdir()), *flags, folder=folder, seconds=500)
    assert said.code == 1
    yield said.document
    assert contents(folder) == before


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_has_its_outcome(document: dict[str, Any], name: str) -> None:
    _, outcome, words = PROGRAMS[name]
    path = f"{name}.py"
    run = next(run for run in document["runs"] if run["id"].startswith(path))
    told = [text for text in document["unchecked"] if text.startswith(path)]
    found = [finding["message"] for finding in document["findings"] if finding["path"] == path]
    assert run["outcome"] == outcome, told
    assert not words or any(words in text for text in told + found), told + found
    assert bool(found) == (outcome == "crashed"), found


@pytest.mark.slow
def test_notebooks_are_repaired_in_their_cell(document: dict[str, Any]) -> None:
    finding = next(finding for finding in document["findings"] if finding["path"] == "notebook.ipynb")
    assert (finding["cell"], finding["line"], finding["outcome"]) == ("c1", 2, "repaired")
    patch = next(patch for patch in document["patches"] if patch["id"] == finding["patches"][0])
    changed = [line for line in patch["diff"].splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert len(changed) == 2 and "%%time" not in "".join(changed)


def test_arguments_are_given_to_the_program(folder: Path) -> None:
    text = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--width', type=int, required=True)\n"
    text += CRASH.replace("5, 3", "p.parse_args().width, 3")
    own = folder.parent / "arguments"
    own.mkdir()
    (own / "a.py").write_text(text)
    said = dnnfix("suggest", "a.py", "--isolated", "--arguments=--width 7", folder=own)
    assert said.code == 1 and "expects 7 features, got 4" in said.text, said.text
