"""Windows do not wait and services are not called."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from dnnfix.records import EditStep, RunOutcome, Trace
from dnnfix.reproduce.actions.logs import steps
from dnnfix.reproduce.case import Case, Gap
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
    assert trace.printed == "done True\n"


def test_a_service_keeps_the_settings_of_a_run(run_in: Run) -> None:
    text = """import argparse
import wandb
wandb.init(config=argparse.Namespace(layers=5, rate=0.1))
settings = wandb.config
settings.update({'rate': 0.2}, allow_val_change=True)
print(2 % settings.layers, settings['rate'], wandb.config is settings, dict(settings))
"""
    trace = run_in(text, joined(taken(text)))
    assert trace.printed == "2 0.2 True {'layers': 5, 'rate': 0.2}\n", trace.detail


def test_a_search_of_a_service_runs_once_with_values_to_choose_from(run_in: Run) -> None:
    text = """import wandb
def train():
    run = wandb.init(config={'rate': 0.1, 'size': 1})
    print(run.config.rate, run.config.size, run.config.units, run.config.kind)
parameters = {'rate': {'min': 0.2, 'max': 0.4}, 'units': {'values': [32, 64]}, 'kind': {'value': 'a'}}
wandb.agent(wandb.sweep({'method': 'random', 'parameters': parameters}, project='p'), function=train, count=5)
"""
    trace = run_in(text, joined(taken(text)))
    assert trace.printed.startswith("0.30000000000000004 1 32 a\n"), trace.detail


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
    found = taken("import matplotlib\nmatplotlib.use('TKAgg')\n")
    assert [step.scaffold.literals for step in found] == [(("TKAgg", "Agg"),)]


def test_a_back_end_that_a_module_beside_asks_for_is_another_one() -> None:
    beside = Source.from_bytes(b"import matplotlib\nmatplotlib.use('Qt5Agg')\n", "plots.py")
    program = Source.from_bytes(b"import plots\n", "program.py").along_with([beside])
    found = list(steps(Case(program, (), lambda name: True)))
    assert [step.what for step in found] == ["plots are drawn without a display (asked for in plots.py)"]


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_a_font_that_is_not_there_is_made(run_in: Run) -> None:
    text = (
        "from matplotlib.font_manager import FontProperties\n"
        "print(FontProperties(fname='/Library/Fonts/NanumGothic.otf').get_name())\n"
    )
    printed = run_in(text, joined(taken(text))).printed.splitlines()
    assert printed[-1:] == ["DejaVu Sans"]  # Fontconfig and Matplotlib may say before that they have no cache of fonts


def test_drawing_in_a_window_is_passed_over_where_it_only_shows_and_plots_need_nothing(run_in: Run) -> None:
    text = "import turtle\npen = turtle.Turtle()\npen.forward(3)\nturtle.done()\nprint('on')\n"
    assert run_in(text, joined(taken(text))).printed == "on\n"
    assert [type(one) for one in planned("from turtle import *\nforward(3)\n")] == [Gap]
    assert [type(one) for one in planned("import pygame\npygame.init()\n", installed=False)] == [Gap]
    assert "SDL_VIDEODRIVER" in joined(taken("import pygame\npygame.init()\n")).start
    assert not planned("import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()\n")
    assert not planned("import wandb\nwandb.init()\n", installed=False)  # its import is taken care of elsewhere


WAITING = {
    "a key": ("plt.waitforbuttonpress()", "True"),
    "a key of a figure": ("plt.figure().waitforbuttonpress(timeout=-1)", "True"),
    "clicks": ("len(plt.ginput(3, timeout=0))", "3"),
    "time to pass": ("plt.pause(40)", "None"),
    "an event loop": ("plt.figure().canvas.start_event_loop(40)", "None"),
    "itself": ("time.sleep(40)", "None"),
}


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")
@pytest.mark.parametrize("name", WAITING)
def test_nothing_waits_for(name: str, run_in: Run) -> None:
    call, printed = WAITING[name]
    text = f"import time\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint({call})\n"
    trace = run_in(text, joined(taken(text)))
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed.endswith(printed + "\n")
    assert trace.seconds < 20


def test_pauses_that_nobody_notices_are_left_alone() -> None:
    assert not planned("import time\nfor step in range(3):\n    time.sleep(0.001)\n")


def tqdm_alone(name: str) -> bool:
    return name == "tqdm"


@pytest.mark.skipif(importlib.util.find_spec("tqdm") is None, reason="tqdm is not installed")
@pytest.mark.parametrize(
    "imported",
    [
        "from tqdm import tqdm_notebook as bar",
        "from tqdm.notebook import tqdm as bar",
        "import tqdm\nbar = tqdm.tqdm_notebook",
        "from tqdm import tnrange\nbar = lambda items: tnrange(len(items))",
        "import tqdm.notebook\nbar = tqdm.notebook.tqdm",
    ],
)
def test_progress_bars_of_notebooks_are_those_of_a_terminal(imported: str, run_in: Run) -> None:
    text = f"{imported}\nprint(sum(bar([0, 1, 2])))\n"
    source = Source.from_bytes(text.encode(), "program.py")
    found = [s for s in steps(Case(source, (), tqdm_alone, Path("/nowhere"))) if isinstance(s, EditStep)]
    trace = run_in(text, joined(found))
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed.endswith("3\n")


def test_a_callback_that_writes_for_tensorboard_does_nothing_where_that_is_not_installed(run_in: Run) -> None:
    text = """import keras
from keras.callbacks import TensorBoard
from keras import callbacks
print(isinstance(TensorBoard(log_dir='x', histogram_freq=1), keras.callbacks.Callback), callbacks.TensorBoard('y') is None)
"""
    found = [step for step in planned(text, installed=False) if isinstance(step, EditStep)]
    assert run_in(text, joined(found)).printed == "True False\n"
