"""Programs of torch that stop at one fault behind another: steps towards a program that runs, and what is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dnnfix.config import Settings
from dnnfix.pipeline import suggest_file
from dnnfix.records import FileReport, PatchVerdict

CHAINED = """\
import numpy as np
import torch
import torch.nn as nn

inputs = torch.from_numpy(np.random.rand(20, 10).astype(np.float)).float()
targets = torch.randint(2, (20,))
net = nn.Linear(12, 2)
weights = {"first": 1.0}
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(inputs), targets)
    loss.backward()
    optimizer.step()
print(weights["second"])
"""

SAME_LINE = """\
import numpy as np
import torch

weights = {"first": 1.0}
inputs = torch.from_numpy(np.random.rand(20, 10).astype(np.float)) * weights["second"]
net = torch.nn.Linear(10, 2)
print(net(inputs))
"""

OF_NAMES = SAME_LINE.replace('* weights["second"]', "* weights.nothing_like_it")
"""Here another name may be what the second stop comes of, for all that can be told from what it says."""


def suggested(program: str, folder: Path) -> FileReport:
    path = folder / "program.py"
    path.write_text(program)
    settings = Settings(budget=120.0, python=sys.executable, cache_dir=folder / "cache")
    return suggest_file(path.read_bytes(), str(path), settings, lambda words: None)


def test_the_furthest_step_is_offered_and_says_what_remains(tmp_path: Path) -> None:
    report = suggested(CHAINED, tmp_path)
    steps = [patch for patch in report.patches if patch.verdict is PatchVerdict.PARTIAL]
    assert not any(patch.verdict is PatchVerdict.ACCEPTED for patch in report.patches)
    assert len(steps) == 1 and report.patches[0] is steps[0]
    assert "astype(float)" in steps[0].diff and "+net = nn.Linear(10, 2)" in steps[0].diff
    assert steps[0].remains == "the program then stops at line 15: KeyError: 'second'"


def test_a_later_part_of_the_line_that_was_migrated_is_further(tmp_path: Path) -> None:
    report = suggested(SAME_LINE, tmp_path)
    (step,) = [patch for patch in report.patches if patch.verdict is PatchVerdict.PARTIAL]
    assert "astype(float)" in step.diff
    assert step.remains == "the program then stops at line 5: KeyError: 'second'"


@pytest.mark.slow
def test_a_stop_in_the_line_that_was_migrated_which_a_name_may_have_caused_is_no_step(tmp_path: Path) -> None:
    report = suggested(OF_NAMES, tmp_path)
    assert {patch.verdict for patch in report.patches} == {PatchVerdict.REJECTED}
