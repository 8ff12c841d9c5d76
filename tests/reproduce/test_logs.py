"""Windows do not wait and services are not called."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from dnnfix.records import EditStep, RunOutcome, Trace
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.logs import steps
from dnnfix.reproduce.plan import joined
from dnnfix.source.program import Source

Run = Callable[..., Trace]


def planned(text: str, installed: bool = True) -> list[EditStep | Gap]:
    source = Source.from_bytes(text.encode(), "program.py")
    return list(steps(Case(source, (), lambda name: installed, Path("/nowhere"))))


def taken(text: str) -> list[EditStep]:
    return [step for step in planned(text) if isinstance(step, EditStep)]


def test_a_service_takes_everything_and_sends_nothing(run_in: Run) -> None:
    text = """import wandb
from wandb.integration.keras import WandbMetricsLogger
run = wandb.init(project='p', config={'lr': 1})
with run:
    wandb.log({'loss': 1.0})
wandb.config.lr = 3
class Mine(WandbMetricsLogger):
    pass
print('done', bool(run))
"""
    found = taken(text)
    assert "recorded anyway" in found[0].evidence
    trace = run_in(text, joined(found))
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed == "done False\n"


def test_a_writer_of_tensorboard_that_is_not_installed_is_left_out(run_in: Run) -> None:
    text = """import torch
from torch.utils.tensorboard import SummaryWriter
writer = SummaryWriter('runs')
writer.add_scalar('loss', 1.0, 1)
writer.close()
print(torch.zeros(1).item())
"""
    found = [step for step in planned(text, installed=False) if isinstance(step, EditStep)]
    trace = run_in(text, joined(found))
    assert trace.printed == "0.0\n", trace.detail


@pytest.mark.skipif(importlib.util.find_spec("cv2") is None, reason="OpenCV is not installed")
def test_windows_of_opencv_are_not_opened(run_in: Run) -> None:
    text = (
        "import cv2\nimport numpy as np\ncv2.imshow('a', np.zeros((3, 3)))\nprint(cv2.waitKey(0) & 0xFF == ord('q'))\n"
    )
    assert run_in(text, joined(taken(text))).printed == "True\n"


def test_a_back_end_that_needs_a_display_is_another_one() -> None:
    found = taken("import matplotlib\nmatplotlib.use('TkAgg')\n")
    assert [step.scaffold.literals for step in found] == [(("TkAgg", "Agg"),)]


def test_drawing_in_a_window_is_a_gap_and_plots_need_nothing() -> None:
    assert [type(one) for one in planned("import turtle\nturtle.forward(3)\n")] == [Gap]
    assert not planned("import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()\n")
    assert not planned("import wandb\nwandb.init()\n", installed=False)  # its import is taken care of elsewhere
