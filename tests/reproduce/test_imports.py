"""Missing imports, packages and modules: what custom tells is supplied, faults of the program are not."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dnnfix.records import Crash, EditStep, RunOutcome, Trace
from dnnfix.reproduce.actions import imports
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.plan import joined
from dnnfix.source.program import Source

Run = Callable[..., Trace]
HERE = frozenset(
    [
        "keras",
        "numpy",
        "torch",
        "sys",
        "os",
        "time",
        "random",
        "math",
        "pandas",
        "datetime",
        "sklearn",
        "torchvision",
        "pathlib",
    ]
)


def case_of(text: str, folder: Path | None = None, here: frozenset[str] = HERE) -> Case:
    return Case(Source.from_bytes(textwrap.dedent(text).encode(), "program.py"), (), here.__contains__, folder)


def steps_of(text: str, folder: Path | None = None, here: frozenset[str] = HERE) -> list[EditStep | Gap]:
    return list(imports.steps(case_of(text, folder, here)))


def ran(run_in: Run, text: str) -> Trace:
    program = textwrap.dedent(text)
    return run_in(program, joined([step for step in steps_of(program) if isinstance(step, EditStep)]))


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("x = np.zeros(3)", "import numpy as np"),
        ("import torch\nnet = nn.Linear(1, 1)", "from torch import nn"),
        ("import torch\nF.relu(x)", "from torch.nn import functional as F"),
        ("import keras\nm = Sequential()", "from keras.models import Sequential"),
        ("import tensorflow as tf\nm = tf.keras.Sequential([Dense(1)])", "from tensorflow.keras.layers import Dense"),
        ("import torch\nd = DataLoader(x)", "from torch.utils.data import DataLoader"),
        ("a, b = train_test_split(x)", "from sklearn.model_selection import train_test_split"),
        ("t = time.time()", "import time"),
        ("t = time()", "from time import time"),
        ("m = Sequential()\nm.add(Dense(1))\nm.compile()", "from keras.models import Sequential"),
        ("import torch\nx = Variable(torch.zeros(1))", "from torch.autograd import Variable"),
        ("import torch\nt = transforms.ToTensor()", "from torchvision import transforms"),
    ],
)
def test_names_that_mean_one_thing_are_imported(text: str, statement: str) -> None:
    found = steps_of(text, here=HERE | {"tensorflow"})
    assert any(isinstance(step, EditStep) and step.what.endswith(": " + statement) for step in found), found


@pytest.mark.parametrize(
    "text",
    [
        "import numpy as np\nnumpyy = np.zeros(3)\nprint(numpyy)",
        "for i in xrange(3):\n    print(i)",
        "import keras\nx = keras.layers.Input((3,))\ny = merge([x, x], mode='sum')",
        "import keras\ny = np_utils.to_categorical([1])",
        "from keras.layers import *\nDense(3)",
        "from mine import *\nDense(3)\n",
        "model = 3\nprint(modle)",
        "try:\n    import cPickle as pickle\nexcept ImportError:\n    import pickle",
        "import cPickle, urllib2",
        "import tensorflow.contrib.slim as slim",
        "import os, sys\nprint(os.name, sys.path)",
    ],
    ids=["bound", "python-2", "removed", "removed-module", "star", "unknown-star", "misspelt", "handled", "old-modules",
         "removed-part", "all-there"],
)  # fmt: skip
def test_faults_and_what_is_there_are_left_alone(text: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("from keras.layers import Dense\n")
    assert steps_of(text, tmp_path, HERE | {"tensorflow"}) == []


def test_a_name_of_two_frameworks_is_not_guessed() -> None:
    (gap,) = steps_of("import torch, keras\nlayer = Dropout(0.5)")
    assert isinstance(gap, Gap) and "torch.nn.Dropout or keras.layers.Dropout" in gap.what


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import cv2\ncv2.imread('a.png')", "pip install opencv-python-headless"),
        ("from utils import load_data, accuracy\nx = load_data()", "accuracy, load_data"),
        ("import no_such_package\nno_such_package.run()", "no package that dnnfix knows"),
        ("from models.net import Net\nnet = Net()", "the module 'models'"),
        ("from datasets import PartDataset\nd = PartDataset()", "the module 'datasets'"),
    ],
)
def test_what_computes_something_is_told_as_missing(text: str, said: str) -> None:
    (gap,) = steps_of(text)
    assert isinstance(gap, Gap) and said in gap.what and gap.line == 1


def test_modules_beside_the_program_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "utils.py").write_text("")
    (tmp_path / "models").mkdir()
    assert steps_of("import utils\nfrom models.net import Net\n", tmp_path) == []


def test_modules_of_the_repository_are_found_wherever_they_lie(tmp_path: Path) -> None:
    deep = tmp_path / "own" / "nets" / "parts" / "deep"
    for folder in (deep, tmp_path / "lib" / "tools", tmp_path / "one" / "twice", tmp_path / "two" / "twice"):
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("import torch\n")
    (tmp_path / ".git").mkdir()
    text = "import own.nets.parts.deep\nimport tools\nimport twice\nx = twice.f(tools)\n"
    found, gap = steps_of(text, deep)
    assert isinstance(found, EditStep) and found.what == "the module 'tools' is found in ../../../../lib"
    assert isinstance(gap, Gap) and "'twice'" in gap.what
    on_the_path = (
        "import os, sys\nsys.path.append(os.path.join(os.path.dirname(__file__), '..', 'other'))\nimport more\n"
    )
    (deep.parent / "other").mkdir()
    (deep.parent / "other" / "more.py").write_text("")
    assert steps_of(on_the_path, deep) == []


def test_a_module_that_only_a_branch_imports_is_missing_where_a_run_came_to_it() -> None:
    text = "if False:\n    import fast_thing\ndef f():\n    import other_thing\nprint(fast_thing, other_thing)\n"
    assert steps_of(text) == []
    crash = Crash("ModuleNotFoundError", "No module named 'other_thing'")
    case = replace(case_of(text), traces=(Trace(RunOutcome.CRASHED, crash=crash),))
    (gap,) = imports.steps(case)
    assert isinstance(gap, Gap) and "'other_thing'" in gap.what
    (gap,) = steps_of("if __name__ == '__main__':\n    import fast_thing\n    fast_thing.go()\n")
    assert isinstance(gap, Gap)


NOTHING_THAT_SHOWS = """
    import sys
    from importlib.machinery import PathFinder

    missing = {"matplotlib", "tqdm", "tensorboardX", "termcolor", "colorama", "wandb", "visdom"}
    found = PathFinder.find_spec
    PathFinder.find_spec = lambda name, *where: None if name.partition(".")[0] in missing else found(name, *where)
    for name in [name for name in sys.modules if name.partition(".")[0] in missing]:
        del sys.modules[name]
"""
"""The packages are not there for what follows, though they may be installed."""
SILENT = """
    import matplotlib.pyplot as plt
    from tqdm import tqdm, trange
    from tensorboardX import SummaryWriter
    from termcolor import colored
    from colorama import Fore
    import wandb
    from google.colab import drive
    from visdom import Visdom
    import numpy
    drive.mount("/content")
    run = wandb.init(config={"rate": 0.5})
    figure, axes = plt.subplots(2, 3)
    axes[1, 2].imshow(numpy.zeros((2, 2)))
    n, bins, patches = plt.hist([1, 2, 2])
    writer = SummaryWriter("runs")
    total = 0
    with tqdm(range(4), desc="x") as bar:
        for item in bar:
            total += item
            bar.set_postfix(total=total)
            writer.add_scalar("total", total, item)
    for item in trange(3):
        total += item
    plt.plot([1, 2])[0].set_label("a")
    plt.show()
    print(total, colored("text", "red"), Fore.RED + "plain", wandb.config.rate, int(n.sum()), Visdom().line([1]) is not None)
"""


def test_packages_that_only_show_do_nothing_and_values_pass(run_in: Run) -> None:
    trace = ran(run_in, NOTHING_THAT_SHOWS + SILENT)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed == "9 text plain 0.5 3 True\n"


def test_modules_whose_members_tell_what_they_do(run_in: Run) -> None:
    program = """
        import torch
        from helpers.meters import AverageMeter, accuracy
        from helpers import mkdir_p
        import input_data
        mkdir_p("made/out")
        meter = AverageMeter()
        meter.update(2.0, 3)
        print(meter.avg, accuracy(torch.eye(3), torch.tensor([0, 1, 0]), topk=(1, 2))[0].item() > 60)
        mnist = input_data.read_data_sets("MNIST_data/", one_hot=True)
        x, y = mnist.train.next_batch(50)
        print(x.shape, x.dtype, y.shape, mnist.train.num_examples, mnist.test.images.shape)
        plt_style()
    """
    trace = ran(run_in, program)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed.splitlines() == ["2.0 True", "(50, 784) float32 (50, 10) 55000 (10000, 784)"]


def test_pages_of_which_only_the_text_is_asked_for(run_in: Run) -> None:
    code = "from bs4 import BeautifulSoup\nprint(BeautifulSoup('<p>so <b>good</b>.<br/></p>', 'lxml').get_text())"
    assert ran(run_in, code).printed == "so good.\n"
    assert any(
        isinstance(found, Gap) for found in steps_of("from bs4 import BeautifulSoup\nBeautifulSoup('').find_all('a')")
    )


def test_a_module_with_a_member_that_nobody_knows_is_not_made() -> None:
    (gap,) = steps_of("from helpers import AverageMeter, build_network\nnet = build_network(AverageMeter())")
    assert isinstance(gap, Gap) and "AverageMeter, build_network" in gap.what


def test_an_imported_name_reaches_the_program_and_a_fault_still_shows(run_in: Run) -> None:
    trace = ran(run_in, "import torch\nnet = nn.Linear(4, 2)\nprint(F.relu(net(torch.zeros(1, WIDTH))).shape)".replace(
        "WIDTH", "4"))  # fmt: skip
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    trace = ran(run_in, "import torch\nnet = nn.Linear(4, 2)\nnet(torch.zeros(1, 5))\n")
    assert trace.outcome is RunOutcome.CRASHED and "1x5 and 4x2" in trace.detail


@pytest.mark.parametrize(
    ("drawing", "name"),
    [
        ("from keras.utils import plot_model\nplot_model(model, to_file='net.png', show_shapes=True)", "plot_model"),
        ("import keras\nkeras.utils.plot_model(model)", "plot_model"),
        ("from keras.utils.vis_utils import plot_model\nplot_model(model)", "plot_model"),
        ("from keras.utils.visualize_util import plot\nplot(model)", "plot_model"),
        ("from tensorflow.keras.utils import plot_model as draw\ndraw(model)", "plot_model"),
        ("from keras.utils.vis_utils import model_to_dot\nmodel_to_dot(model).create(prog='dot')", "model_to_dot"),
    ],
)
def test_networks_are_not_drawn_without_the_programs_for_it(drawing: str, name: str) -> None:
    found = [step for step in steps_of(drawing) if isinstance(step, EditStep)]
    assert [(step.what, step.line) for step in found] == [(f"{name} draws nothing", 2)]
    assert f"'keras.utils.{name}'" in found[0].scaffold.start


def test_a_network_that_is_not_drawn_lets_the_program_go_on(run_in: Run) -> None:
    text = """
        import keras
        from keras.utils import plot_model, model_to_dot
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        plot_model(model, to_file="net.png")
        model_to_dot(model).create(prog="dot", format="svg")
        print("on")
    """
    assert ran(run_in, text).printed == "on\n"


@pytest.mark.parametrize(
    "imported",
    ["import theano as th\nimport theano.tensor as T", "from theano import tensor as T", "import lasagne, theano"],
)
def test_a_package_of_which_nothing_is_used_is_not_missed(imported: str, run_in: Run) -> None:
    trace = ran(run_in, imported + "\nprint('on')\n")
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed == "on\n"


def test_a_package_that_is_used_or_that_names_environments_is_missed() -> None:
    for program in (
        "import theano.tensor as T\nx = T.matrix()\n",
        "from lasagne import *\n",
        "import gym\nimport pybullet_envs\nenv = gym.make('AntBulletEnv-v0')\n",
        "import tensorflow\n",
        "import theano\nprint(theano.config.gcc.cxxflags)\n",
        "from theano import config\nconfig.dnn.enabled = 'True'\nprint(config.floatX)\n",
    ):
        assert all(isinstance(one, Gap) for one in steps_of(program)) and steps_of(program)


def test_the_type_of_theanos_floats_is_known(run_in: Run) -> None:
    program = "import numpy as np\nimport theano\nprint(np.zeros(2, dtype=theano.config.floatX).dtype)\n"
    assert ran(run_in, program).printed == "float32\n"


def test_a_report_tells_which_framework_is_meant() -> None:
    snippet = case_of("model = Sequential()\nmodel.add(LSTM(4))\n")
    assert any(isinstance(step, Gap) for step in imports.steps(snippet))
    told = [
        step.what
        for step in imports.steps(replace(snippet, said="With Keras I stack layers."))
        if isinstance(step, EditStep)
    ]
    assert told == [
        "Sequential is imported: from keras.models import Sequential",
        "LSTM is imported: from keras.layers import LSTM",
    ]
