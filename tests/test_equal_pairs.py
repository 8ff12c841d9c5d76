"""The command that runs programs with old releases and, migrated, with those of today: its parts, without an environment."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools import equal_pairs
from tools.equal_pairs import Pair, PairError, accepted, code_cells, compare, migrated, pairs, releases, said

RUNNER = Path(equal_pairs.__file__).with_name("same_start.py")
PROGRAM = """\
import torch

model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 2))
{}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
draw = torch.multinomial(torch.ones(2, 3), 1)
for step in range(9):
    loss = model(torch.rand(2, 3)).square().mean() + draw.sum() * 0
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def side(losses: list[float], outputs: list[list[float] | None], **versions: str) -> dict[str, object]:
    return {"losses": losses, "outputs": outputs, "error": "", "versions": versions}


def test_what_is_compared_and_what_is_said_of_it() -> None:
    pair = Pair("one", "then", Path("one.py"))
    old = side([1.0, 0.5], [[0.1, 0.2], None])
    same = compare(old, side([1.0, 0.500001], [[0.1, 0.200001], None]))
    assert same.is_none and said(same, pair) == "same"
    later = compare(old, side([1.0, 0.6], [[0.1, 0.2], None]))
    assert not later.is_none and later.starts_from_none and said(later, pair) == "differs"
    known = Pair("one", "then", Path("one.py"), apart="another optimizer")
    assert said(later, known) == "the first is the same (0.0e+00); another optimizer"
    assert not compare(old, side([1.1, 0.6], [[0.1, 0.2], None])).starts_from_none
    with pytest.raises(PairError, match="2 losses and 1"):
        compare(old, side([1.0], [[0.1, 0.2]]))
    with pytest.raises(PairError, match="shapes"):
        compare(old, side([1.0, 0.5], [[0.1], None]))
    assert not compare(side([], []), side([], [])).is_none


def test_the_patch_that_is_taken_was_accepted_or_at_least_partial() -> None:
    def patch(verdict: str) -> dict[str, str]:
        return {"verdict": verdict, "diff": verdict}

    assert accepted({"patches": [patch("rejected"), patch("partial"), patch("accepted")]}) == "accepted"
    assert accepted({"patches": [patch("rejected"), patch("partial")]}) == "partial"
    with pytest.raises(PairError, match="rejected"):
        accepted({"patches": [patch("rejected")]})


def test_the_releases_of_a_row_are_those_that_differ() -> None:
    old = side([], [], torch="1.12.1+cu102", numpy="1.21", transformers="3.5.1", gym="0.23")
    new = side([], [], torch="2.13", numpy="2.4", transformers="5.24.0", gym="0.23")
    assert releases(old, new) == "transformers 3.5.1, torch 1.12.1"


def test_a_notebook_is_run_without_what_is_meant_for_its_shell() -> None:
    cells = [
        {"cell_type": "code", "source": ["!pip install x\n", "%matplotlib inline\n", "a = 1"]},
        {"cell_type": "markdown", "source": []},
    ]
    assert code_cells(json.dumps({"cells": cells})) == "a = 1\n"


def test_every_program_has_an_environment_and_is_listed() -> None:
    environments, found = pairs(equal_pairs.PROGRAMS)
    assert {pair.environment for pair in found} <= {one.name for one in environments}
    assert {pair.program for pair in found} == set(equal_pairs.PROGRAMS.glob("*.py"))
    for pair in found:
        compile(pair.program.read_text(encoding="utf-8"), pair.name, "exec")


def test_a_report_that_is_there_is_put_into_the_program(tmp_path: Path) -> None:
    program = tmp_path / "one.py"
    program.write_text("a = 1\n", encoding="utf-8")
    diff = "--- a/one.py\n+++ b/one.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"patches": [{"verdict": "accepted", "diff": diff}]}), encoding="utf-8")
    folder = tmp_path / "new"
    folder.mkdir()
    found = migrated(Pair("one", "then", program, report=str(report)), folder, Path(sys.executable))
    assert found.read_text(encoding="utf-8") == "a = 2\n" and program.read_text(encoding="utf-8") == "a = 1\n"


def test_both_sides_start_from_the_same_weights_and_draw_the_same(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "weights").mkdir()
    found = []
    for number, before in enumerate(["", "torch.rand(5); torch.nn.init.ones_(model[0].weight)"]):
        program = tmp_path / f"program{number}.py"
        program.write_text(PROGRAM.format(before), encoding="utf-8")
        result = tmp_path / f"{number}.json"
        command = [sys.executable, str(RUNNER), str(result), str(tmp_path / "weights"), "-", str(program)]
        subprocess.run(command, check=True, cwd=tmp_path)
        found.append(json.loads(result.read_text(encoding="utf-8")))
    assert len(found[0]["losses"]) == 5 and found[0]["losses"] == found[1]["losses"]
    assert found[0]["outputs"] == found[1]["outputs"] and len(found[0]["outputs"][0]) == 4
    assert "torch" in found[0]["versions"]
