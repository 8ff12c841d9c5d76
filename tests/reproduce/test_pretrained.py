"""Weights that are nowhere: the real architecture with its initial weights, and faults that still show."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from dnnfix.records import EditStep, RunOutcome, Scaffold, Trace
from dnnfix.reproduce.actions import pretrained
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.plan import joined
from dnnfix.source.program import Source

Run = Callable[..., Trace]


def case_of(text: str, folder: Path | None = None) -> Case:
    return Case(Source.from_bytes(textwrap.dedent(text).encode(), "program.py"), (), lambda _name: True, folder)


def steps_of(text: str, folder: Path | None = None) -> list[EditStep | Gap]:
    return list(pretrained.steps(case_of(text, folder)))


def scaffold_of(text: str) -> Scaffold:
    return joined([step for step in steps_of(text) if isinstance(step, EditStep)])


def ran(run_in: Run, text: str) -> Trace:
    program = textwrap.dedent(text)
    return run_in(program, scaffold_of(program))


@pytest.mark.parametrize(
    "text",
    [
        "from keras.applications import VGG16\nmodel = VGG16(weights=None)",
        "import torchvision\nmodel = torchvision.models.resnet18(pretrained=False)",
        "import torchvision\nmodel = torchvision.models.resnet18()",
        "import torch\ntorch.save(m.state_dict(), 'best.pt')\nm.load_state_dict(torch.load('best.pt'))",
        "import torch\ntorch.save(m.state_dict(), 'best_model.pt')\nm.load_state_dict(torch.load('best_modle.pt'))",
        "import os, keras\nif os.path.exists('w.h5'):\n    model.load_weights('w.h5')",
        "import keras\nmodel.save('a.keras')\nmodel = keras.models.load_model('a.keras')",
        "import keras\nmodel.fit(x, y, callbacks=[keras.callbacks.ModelCheckpoint('w.h5')])\nmodel.load_weights('w.h5')",
        "import tensorflow as tf\nsaver = tf.train.Saver()\nif path and FLAGS.restores:\n    saver.restore(sess, path)",
        "import tensorflow as tf\nsaver = tf.train.Saver()\nsaver.save(sess, 'my_model')\nsaver.restore(sess, 'my_modle')",
        "from store import Saver\nimport tensorflow as tf\nsaver = Saver()\nsaver.restore(sess, 'm')",
    ],
    ids=[
        *("random", "false", "default", "saved", "misspelt", "looked-for", "own-model", "checkpoint"),
        *("asked-for", "misspelt-checkpoint", "another-saver"),
    ],
)
def test_what_needs_no_weights_from_elsewhere_gets_no_step(text: str) -> None:
    assert steps_of(text) == []


def test_weights_that_are_there_are_left_alone(tmp_path: Path) -> None:
    text = "import torch\nnet.load_state_dict(torch.load('best.pt'))"
    assert len(steps_of(text, tmp_path)) == 1
    (tmp_path / "best.pt").write_bytes(b"")
    assert steps_of(text, tmp_path) == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("from keras.models import load_model\nmodel = load_model('net.h5')", "'net.h5'"),
        ("import torch\nmodel = torch.load('net.pth')\nmodel.eval()", "'net.pth'"),
        ("import torch\nmodel = torch.hub.load('someone/else', 'net')", "'someone/else'"),
        ("import spacy\nnlp = spacy.load('en_core_web_sm')", "'en_core_web_sm'"),
    ],
    ids=["keras", "torch", "hub", "spacy"],
)
def test_what_is_in_a_file_only_is_told_as_missing(text: str, named: str) -> None:
    (gap,) = steps_of(text)
    assert isinstance(gap, Gap) and named in gap.what


APPLICATION = """
    import keras, numpy
    from keras.applications import MobileNetV2
    from keras.applications.mobilenet_v2 import decode_predictions
    base = MobileNetV2(weights="imagenet", input_shape=(96, 96, 3)TOP)
    print(base.count_params(), base.output_shape)
"""


def test_networks_of_keras_have_their_architecture(run_in: Run) -> None:
    program = APPLICATION.replace("TOP", ", include_top=False") + (
        "    best = decode_predictions(numpy.eye(1000)[:2], top=3)\n    print(best[1][0][1:])\n"
    )
    trace = ran(run_in, program)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed.splitlines() == ["2257984 (None, 3, 3, 1280)", "('class_1', np.float64(1.0))"]


def test_what_keras_refuses_of_pretrained_networks_is_refused(run_in: Run) -> None:
    program = APPLICATION.replace("TOP", ", include_top=True, classes=7")
    trace = ran(run_in, program)
    assert trace.outcome is RunOutcome.CRASHED and "classes" in trace.detail


STATE = """
    import torch
    from torch import nn
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.Adam(net.parameters())
    before = net[0].weight.clone()
    checkpoint = torch.load("checkpoint.pth", map_location="cpu")
    net.load_state_dict(checkpoint["state_dict"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    start = checkpoint["epoch"]
    print(bool((net[0].weight == before).all()), start)
    for epoch in range(start, start + 3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(torch.randn(8, WIDTH)), torch.randint(0, 3, (8,))).backward()
        optimizer.step()
    WRONG
"""


def test_a_checkpoint_that_nobody_has(run_in: Run) -> None:
    trace = ran(run_in, STATE.replace("WIDTH", "4").replace("WRONG", ""))
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed == "True 0\n" and len(trace.steps) == 3


def test_faults_beside_made_weights_still_show(run_in: Run) -> None:
    trace = ran(run_in, STATE.replace("WIDTH", "5").replace("WRONG", ""))
    assert trace.outcome is RunOutcome.CRASHED and "8x5 and 4x8" in trace.detail
    wrong = "net.load_state_dict(nn.Linear(4, 8).state_dict())"
    trace = ran(run_in, STATE.replace("WIDTH", "4").replace("WRONG", wrong))
    assert trace.outcome is RunOutcome.CRASHED and "Missing key(s)" in trace.detail
    assert trace.crash is not None and trace.crash.site is not None and trace.crash.site.line == 16


def test_weights_of_a_keras_model_that_nobody_has(run_in: Run) -> None:
    program = """
        import keras, numpy
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
        before = model.get_weights()[0].copy()
        model.load_weights("weights.h5")
        print((model.get_weights()[0] == before).all())
        model.load_weights("other" + ".h5")
    """
    trace = ran(run_in, program)
    assert trace.printed == "True\n"
    assert trace.outcome is RunOutcome.NEEDS_DATA and "other.h5" in trace.detail


def test_a_saved_network_is_made_for_who_only_asks_it_for_predictions(run_in: Run) -> None:
    head = "import argparse\nimport numpy as np\nfrom keras.models import load_model\n"
    asks = head + (
        "parser = argparse.ArgumentParser()\nparser.add_argument('--net', default='nowhere.h5')\n"
        "args = parser.parse_args()\nmodel = load_model(args.net)\nmodel.summary()\n"
        "print(model.predict(np.zeros((5, 8, 8, 3)), verbose=0).shape)\n"
    )
    (step,) = [found for found in steps_of(asks) if isinstance(found, EditStep)]
    assert step.invented and "'nowhere.h5'" in step.what and "a guess" in step.evidence
    trace = ran(run_in, asks)
    assert trace.outcome is RunOutcome.FINISHED and trace.printed.endswith("(5, 2)\n"), trace.detail
    trains = head + "model = load_model('nowhere.h5')\nmodel.layers[-1].trainable = False\n"
    (gap,) = steps_of(trains)
    assert isinstance(gap, Gap) and "only in that file" in gap.what


@pytest.mark.parametrize("path", ["'model/a.ckpt'", "tf.train.latest_checkpoint('model')"])
def test_a_checkpoint_of_a_graph_that_nobody_has(path: str) -> None:
    text = f"import tensorflow as tf\nsaver = tf.train.Saver()\nwith tf.Session() as s:\n    saver.restore(s, {path})\n"
    assert "made_checkpoint_left" in scaffold_of(text).start
