"""Programs of the old world where the package with their rules is not installed: one line says which it is, and no crash is hidden."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dnnfix import config, index, registry
from dnnfix.detect.versioning import migration
from dnnfix.errors import ConfigError
from dnnfix.pipeline import old_world
from dnnfix.pipeline.check import check_file
from dnnfix.records import FileReport
from dnnfix.selectors import near, verify

INSTALL = "dnnfix-legacy has the rules (pip install ./legacy in a checkout of dnnfix)"


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No installed package has rules."""
    kept = (index.installed, index._former, migration._listed)
    monkeypatch.setattr(index, "entry_points", lambda: ())
    monkeypatch.setattr(old_world, "entry_points", lambda: ())
    for each in kept:
        each.cache_clear()
    yield
    for each in kept:
        each.cache_clear()


def checked(text: str, tmp_path: Path) -> FileReport:
    return check_file(text.encode(), "program.py", config.load(tmp_path, {}, isolated=True))


@pytest.mark.parametrize(
    ("text", "worlds"),
    [
        ("import tensorflow as tf\nx = tf.placeholder(tf.float32)\n", "TensorFlow 1"),
        ("import tensorflow as tf\nwith tf.Session() as session:\n    session.run(x)\n", "TensorFlow 1"),
        ("import tensorflow.contrib.slim as slim\n", "TensorFlow 1"),
        ("from tensorflow.contrib import rnn\nimport keras\n", "TensorFlow 1"),
        ("from keras.layers.core import Dense\n", "Keras 1"),
        ("import keras\njoined = keras.layers.Merge([a, b], mode='concat')\n", "Keras 1"),
        ("import theano\nimport keras\n", "Theano"),
        ("import torch\nprint 'loss', 3\n", "Python 2"),
        ("import torch\nfor epoch in xrange(3):\n    print(epoch)\n", "Python 2"),
        ("import torch\nfor name, value in {'a': 1}.iteritems():\n    print(name)\n", "Python 2"),
        ("import tensorflow.compat.v1 as tf\nx = tf.placeholder(tf.float32)\n", "TensorFlow 1"),
        ("import tensorflow as tf\nx = tf.placeholder(tf.float32)\nprint 'loss'\n", "Python 2 and TensorFlow 1"),
    ],
)
@pytest.mark.usefixtures("without_package")
def test_a_program_that_needs_the_package_names_it_once(text: str, worlds: str, tmp_path: Path) -> None:
    told = [line for line in checked(text, tmp_path).unchecked if old_world.PACKAGE in line]
    assert told == [f"what is to be repaired in programs of {worlds}: {INSTALL}"]


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nprint(torch.ones(2), 'tensorflow.contrib', 'tf.Session')\n",
        "import tensorflow as tf\nprint(tf.keras.layers.Dense(2), tf.compat.v1.logging)\n",
        "import tensorflow as tf\nx = tf.nn.dropout(x, keep_prob=0.5)\nlog = tf.summary.FileWriter('logs')\n",
        "import keras\nfrom keras.layers.merging import add\ncore = keras.layers.Dense\n",
        "import torch\nfrom mylib.layers.core import Session\nprint(Session.placeholder)\n",
    ],
)
@pytest.mark.usefixtures("without_package")
def test_programs_of_today_hear_nothing_of_it(text: str, tmp_path: Path) -> None:
    assert not any(old_world.PACKAGE in line for line in checked(text, tmp_path).unchecked)


GRAPH = """\
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 4])
left, right = tf.split(1, 2, x)
hidden = tf.nn.dropout(tf.concat(1, [left, right]), keep_prob=0.5)
writer = tf.summary.FileWriter("logs")
with tf.Session() as session:
    session.run(hidden, {x: [[1, 2, 3, 4]]})
"""

INITIALIZERS = """\
from keras import initializations
from keras.layers import Dense


def small(shape, name=None):
    return initializations.normal(shape, scale=0.01, name=name)


layer = Dense(10, init=small)
"""


@pytest.mark.usefixtures("without_package")
def test_the_calls_of_a_graph_that_no_rule_migrates_are_left_alone(tmp_path: Path) -> None:
    report = checked(GRAPH, tmp_path)
    assert {result.finding.code for result in report.findings} == {"DNF501"}
    assert not report.patches


@pytest.mark.usefixtures("without_package")
def test_functions_that_are_classes_today_keep_their_names_where_no_rule_rewrites_the_call(tmp_path: Path) -> None:
    report = checked(INITIALIZERS, tmp_path)
    assert any("keras.initializations.normal" in result.finding.message for result in report.findings)
    assert "kernel_initializer=small" in "".join(patch.diff for patch in report.patches)
    assert not any("RandomNormal" in patch.diff or "initializers" in patch.diff for patch in report.patches)


@pytest.mark.parametrize("lines", ["\nprint 'loss', 3\n", "if torch:\n\tx = 1\n        print(x)\n"])
@pytest.mark.usefixtures("without_package")
def test_what_python_3_does_not_read_is_no_sound_program(lines: str, tmp_path: Path) -> None:
    (result,) = checked(f"import torch\n{lines}", tmp_path).findings
    assert result.finding.site.line >= 3 and "Python does not read the program" in result.finding.message
    assert INSTALL in result.reason


@pytest.mark.usefixtures("without_package")
def test_whoever_asks_for_one_of_its_rules_hears_where_it_is(tmp_path: Path) -> None:
    assert registry.template("DNF540") is None
    with pytest.raises(ConfigError, match="DNF540`. It is a rule of the package dnnfix-legacy: pip install ./legacy"):
        verify(config.load(tmp_path, {"ignore": ["DNF540"]}, isolated=True))
    assert "dnnfix-legacy" in near("dnf516", []) and not near("DNF999", [])
