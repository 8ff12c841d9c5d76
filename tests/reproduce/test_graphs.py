"""Functions and classes of TensorFlow that nobody calls: with what they are called, and that what they build is run."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from dnnfix.records import EditStep, RunOutcome, Trace
from dnnfix.reproduce.actions.network import steps
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.plan import joined
from dnnfix.source.program import Source

Run = Callable[..., Trace]
NEW = "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\n"

FACTORS = """
def inference(user_batch, item_batch, user_num, item_num, dim=5):
    users = tf.get_variable("users", shape=[user_num, dim])
    items = tf.get_variable("items", shape=[item_num, dim])
    rows, columns = tf.nn.embedding_lookup(users, user_batch), tf.nn.embedding_lookup(items, item_batch)
    infer = tf.reduce_sum(tf.multiply(rows, columns), 1)
    regularizer = tf.add(tf.nn.l2_loss(rows), tf.nn.l2_loss(columns))
    return infer, regularizer

def optimization(infer, regularizer, rates, learning_rate=0.1):
    global_step = tf.train.get_global_step()
    assert global_step is not None
    cost = tf.nn.l2_loss(tf.subtract(infer, rates)) + 0.1 * regularizer
    train_op = tf.train.AdamOptimizer(learning_rate).minimize(cost, global_step=global_step)
    return cost, train_op
"""

TUTORIAL = """
def training(loss, learning_rate):
    return tf.train.GradientDescentOptimizer(learning_rate).minimize(loss)

def loss(logits, labels):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.to_int64(labels), logits=logits))

def inference(images, hidden1_units):
    hidden = tf.nn.relu(tf.matmul(images, tf.Variable(tf.random_normal([8, hidden1_units]))))
    logits = tf.matmul(hidden, tf.Variable(tf.zeros([hidden1_units, 10])))
    return logits
"""

CLASS = """
class Network(object):
    def __init__(self, sequence_length, num_classes, vocab_size, filter_sizes):
        self.input_x = tf.placeholder(tf.int32, [None, sequence_length], name="input_x")
        self.input_y = tf.placeholder(tf.float32, [None, num_classes], name="input_y")
        self.keep = tf.placeholder(tf.float32, name="dropout_keep_prob")
        self.build(vocab_size, num_classes)

    def build(self, vocab_size, num_classes):
        words = tf.nn.embedding_lookup(tf.Variable(tf.random_uniform([vocab_size, 8], -1.0, 1.0)), self.input_x)
        rows = tf.nn.dropout(tf.reduce_mean(words, 1), rate=1 - self.keep)
        self.scores = tf.matmul(rows, tf.Variable(tf.truncated_normal([8, num_classes], stddev=0.1)))
        self.loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(logits=self.scores, labels=self.input_y))
"""

WARP = '''
def warp(U, coord, out_size):
    """Moves pictures.

    U : float Tensor [num_batch, height, width, num_channels].
      Input.
    coord : float Tensor [num_batch, num_point, 2]
    out_size: tuple of two integers [height, width]
    """
    batch, height, width, channels = U.get_shape().as_list()
    print(batch, height, width, channels, coord.get_shape().as_list(), out_size)
    return tf.reduce_sum(U[:, :, :, 0]) + tf.reduce_sum(coord)
'''


def found(program: str) -> list[EditStep | Gap]:
    source = Source.from_bytes(program.encode(), "program.py")
    return list(steps(Case(source, (), lambda name: True, Path("/nowhere"))))


def taken(program: str) -> list[EditStep]:
    return [step for step in found(program) if isinstance(step, EditStep)]


def test_functions_are_called_in_the_order_of_their_results_with_arguments_of_their_kinds() -> None:
    first, second = taken("import tensorflow as tf\n" + FACTORS)
    assert first.what.startswith("inference(user_batch, item_batch, user_num, item_num)")
    assert "'user_batch': ('tensor', [4], 'ids'), 'item_batch': ('tensor', [4], 'ids')" in first.scaffold.end
    assert "'user_num': ('value', 100)" in first.scaffold.end
    assert "'infer': ('result', 'infer')" in second.scaffold.end and "('tensor', None, 'floats')" in second.scaffold.end
    assert "line 3: infer is what inference gives" in second.evidence
    assert [step.what.partition("(")[0] for step in taken("import tensorflow as tf\n" + TUTORIAL)] == [
        "inference",
        "loss",
        "training",
    ]


def test_the_docstring_tells_shapes_before_anything_else() -> None:
    (step,) = taken("import tensorflow as tf\n" + WARP)
    assert "'U': ('tensor', [4, 16, 16, 3], 'floats')" in step.scaffold.end
    assert "'coord': ('tensor', [4, 5, 2], 'floats'), 'out_size': ('value', (16, 16))" in step.scaffold.end
    assert "docstring" in step.evidence


def test_a_setting_that_is_compared_with_words_is_one_of_them() -> None:
    program = """import tensorflow as tf
class Model():
    def __init__(self, args):
        if args.model == "rnn":
            size = 1
        elif args.model == "lstm":
            size = args.rnn_size
        else:
            raise ValueError(args.model)
        self.x = tf.placeholder(tf.float32, [args.batch_size, size])
"""
    (step,) = taken(program)
    assert "SimpleNamespace(batch_size=32, model='lstm', rnn_size=32)" in step.scaffold.end
    assert step.scaffold.end.endswith(", 2)")


def test_an_argument_that_nothing_tells_is_a_gap() -> None:
    program = "import tensorflow as tf\ndef layer(x, mystery):\n    return tf.nn.relu(x) + mystery(x)\n"
    assert [one.what for one in found(program) if isinstance(one, Gap)] == [
        "layer is never called, and what its `mystery` is is not told: add a call of it"
    ]


def test_a_program_that_runs_its_graph_itself_needs_no_harness() -> None:
    used = "x = inference([0], [1], 10, 10)\nwith tf.Session() as s:\n    s.run(x)\n"
    assert not found("import tensorflow as tf\n" + FACTORS + used)


@pytest.mark.skipif(find_spec("tensorflow") is None, reason="tensorflow is not installed")
@pytest.mark.parametrize(("program", "trains"), [(FACTORS, True), (TUTORIAL, True), (CLASS, True), (WARP, False)])
def test_what_is_built_is_run(program: str, trains: bool, run_in: Run) -> None:
    text = NEW + textwrap.dedent(program)
    trace = run_in(text, joined(taken(text)))
    assert trace.outcome in (RunOutcome.FINISHED, RunOutcome.BUDGET), trace.detail
    assert "dnnfix reproduce:" not in trace.printed
    assert bool(trace.steps) == trains


@pytest.mark.skipif(find_spec("tensorflow") is None, reason="tensorflow is not installed")
def test_what_a_release_took_away_shows(run_in: Run) -> None:
    text = "import tensorflow as tf\n" + FACTORS.replace("tf.multiply", "tf.mul").replace("tf.get_variable", "tf.Variable if 0 else tf.compat.v1.get_variable")  # fmt: skip
    trace = run_in(text, joined(taken(text)))
    assert trace.crash is not None and "'mul'" in trace.crash.message
