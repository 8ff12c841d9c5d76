"""The replacements of functions that TensorFlow removed with version 1 have the same weights, by name, and compute the
same.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from graph_programs import candidates
from tests.slow import slow_after

pytestmark = pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow 2 is not installed")

HEAD = """\
import json
import numpy as np
import tensorflow as tf

draw = np.random.RandomState(4)
rows = tf.placeholder(tf.float32, [None, 6])
images = tf.placeholder(tf.float32, [None, 8, 8, 3])
series = tf.placeholder(tf.float32, [None, 5, 3])
words = tf.placeholder(tf.int32, [None, 5])
training = tf.placeholder(tf.bool)
"""

TAIL = """
loss = tf.reduce_mean(tf.square(out))
penalties = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
if penalties:
    loss = loss + tf.add_n(penalties)
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
said = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for variable in tf.trainable_variables():
        start = draw.uniform(-0.5, 0.5, variable.get_shape().as_list())
        variable.load(start, sess)
        said.append(variable.name)
    given = {rows: draw.rand(4, 6), images: draw.rand(4, 8, 8, 3), series: draw.rand(4, 5, 3)}
    given[words] = draw.randint(0, 7, (4, 5))
    for step in range(3):
        _, now = sess.run([train, loss], dict(given, **{training: True}) if False else {**given, training: True})
        said.append(float(now))
    for variable in tf.global_variables():
        said += [variable.name, float(np.abs(sess.run(variable)).sum())]
    said += [float(each) for each in sess.run(out, {**given, training: False}).ravel()[:20]]
    said.append(list(sess.run(out, {**given, training: False}).shape))
print("SAID" + json.dumps(said))
"""

PROGRAMS = {
    "dense by scope": """
def network(x, reuse):
    with tf.variable_scope("net", reuse=reuse):
        x = tf.layers.dense(x, 5, tf.nn.relu, kernel_regularizer=tf.contrib.layers.l2_regularizer(0.1))
        return tf.layers.dense(x, 6, use_bias=False, name="last")


out = network(network(rows, False), True)
""",
    "dense over time": """
out = tf.layers.dense(tf.layers.dense(series, 4, reuse=False, name="a"), 3, tf.nn.tanh, reuse=tf.AUTO_REUSE, name="b")
""",
    "convolutions": """
with tf.variable_scope("d", reuse=tf.AUTO_REUSE):
    maps = tf.layers.conv2d(images, 4, 3, strides=2, padding="same", activation=tf.nn.leaky_relu)
    maps = tf.layers.conv2d(maps, 4, (2, 2), dilation_rate=(2, 2), padding="SAME", use_bias=False)
    maps = tf.layers.conv2d_transpose(maps, 5, 3, 2, "valid")
    maps = tf.layers.conv2d_transpose(maps, 2, [5, 5], strides=(2, 2), padding="same", activation=tf.nn.tanh)
    maps = tf.layers.max_pooling2d(maps, 2, 2)
    lines = tf.layers.conv1d(series, 2, 3, padding="same")
out = tf.concat([tf.layers.flatten(maps), tf.layers.flatten(lines)], 1)
""",
    "batch normalization": """
maps = tf.layers.conv2d(images, 4, 3)
maps = tf.nn.relu(tf.layers.batch_normalization(maps, training=training))
flat = tf.layers.dense(tf.layers.flatten(maps), 5)
flat = tf.layers.batch_normalization(flat, momentum=0.8, epsilon=1e-5, training=True)
out = tf.layers.batch_normalization(flat, scale=False)
""",
    "contrib layers": """
from tensorflow.contrib import layers

maps = layers.conv2d(images, 4, 3, normalizer_fn=layers.batch_norm, normalizer_params={"is_training": training})
maps = layers.conv2d(maps, 3, [2, 2], stride=2, padding="VALID", activation_fn=None, scope="second")
maps = layers.instance_norm(layers.max_pool2d(maps, 2))
wide = tf.contrib.layers.conv2d_transpose(maps, 2, 3, 2, weights_regularizer=layers.l2_regularizer(0.01))
flat = tf.contrib.layers.fully_connected(layers.flatten(wide), 6, biases_initializer=None)
flat = tf.contrib.layers.layer_norm(flat)
flat = tf.contrib.layers.batch_norm(flat, decay=0.9, scale=True, is_training=training)
out = layers.fully_connected(flat, 3, activation_fn=tf.nn.sigmoid, scope="out")
""",
    "contrib normalization at once": """
flat = tf.contrib.layers.batch_norm(rows, updates_collections=None, is_training=training, activation_fn=tf.nn.relu)
maps = tf.contrib.layers.batch_norm(images, center=False, updates_collections=None)
out = tf.concat([flat, tf.contrib.layers.flatten(maps)], 1)
""",
    "dropout that is told by a tensor": """
net = tf.layers.dropout(rows, 0.0, training=training)
net = tf.layers.dropout(inputs=net, rate=tf.constant(0.5), training=tf.equal(tf.constant(1), 2))
out = tf.layers.dense(net, 3, name="last", reuse=tf.AUTO_REUSE)
""",
    "slim": """
import tensorflow.contrib.slim as slim

net = slim.conv2d(images, 4, [3, 3], scope="conv")
net = slim.avg_pool2d(net, [2, 2], scope="pool")
net = slim.dropout(slim.flatten(net), 1.0, is_training=training)
out = slim.fully_connected(net, 3, activation_fn=None, scope="fc", reuse=tf.AUTO_REUSE)
""",
    "embedding": """
embedded = tf.contrib.layers.embed_sequence(words, vocab_size=7, embed_dim=4)
hot = tf.contrib.layers.one_hot_encoding(words[:, 0], 7)
out = tf.concat([embedded[:, -1], hot], 1)
""",
    "dynamic LSTM": """
cell = tf.nn.rnn_cell.BasicLSTMCell(4, state_is_tuple=True)
outputs, state = tf.nn.dynamic_rnn(cell, series, dtype=tf.float32)
out = tf.concat([outputs[:, -1], state.c, state.h, state[0]], 1)
""",
    "layers of cells": """
from tensorflow.contrib import rnn


def cell(size):
    made = rnn.LSTMCell(size, initializer=tf.random_uniform_initializer(-0.1, 0.1), forget_bias=0.5, num_proj=3)
    return rnn.DropoutWrapper(made, input_keep_prob=1.0, output_keep_prob=1.0)


stacked = rnn.MultiRNNCell([cell(4), cell(6)], state_is_tuple=True)
start = stacked.zero_state(tf.shape(series)[0], tf.float32)
outputs, state = tf.nn.dynamic_rnn(stacked, series, initial_state=start, sequence_length=tf.fill([4], 3))
out = tf.concat([outputs[:, -1], outputs[:, 2], state[-1].h], 1)
""",
    "both directions": """
forward, backward = tf.contrib.rnn.GRUCell(3), tf.contrib.rnn.GRUCell(4, activation=tf.nn.relu)
outputs, states = tf.nn.bidirectional_dynamic_rnn(forward, backward, series, dtype=tf.float32)
out = tf.concat(list(outputs) + [tf.stack([s] * 5, 1) for s in states], 2)
""",
    "lists over time": """
steps = tf.unstack(series, 5, 1)
one, last = tf.contrib.rnn.static_rnn(tf.contrib.rnn.BasicLSTMCell(4), steps, dtype=tf.float32)
both, _, _ = tf.contrib.rnn.static_bidirectional_rnn(
    tf.nn.rnn_cell.BasicRNNCell(3), tf.nn.rnn_cell.BasicRNNCell(3), steps, dtype=tf.float32
)
out = tf.concat([one[-1], both[-1], last.h], 1)
""",
    "loop of the program": """
cells = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(4) for _ in range(2)])
state = cells.zero_state(4, tf.float32)
with tf.variable_scope("loop"):
    for step in range(5):
        if step > 0:
            tf.get_variable_scope().reuse_variables()
        output, state = cells(series[:, step], state)
out = output
""",
    "stacks of both directions": """
forward = [tf.contrib.rnn.BasicLSTMCell(3) for _ in range(2)]
backward = [tf.contrib.rnn.BasicLSTMCell(2) for _ in range(2)]
out, _, _ = tf.contrib.rnn.stack_bidirectional_dynamic_rnn(forward, backward, series, dtype=tf.float32)
""",
    "projections": """
cell = tf.contrib.rnn.InputProjectionWrapper(tf.contrib.rnn.GRUCell(4), 3)
cell = tf.contrib.rnn.OutputProjectionWrapper(cell, 2)
read, _ = tf.nn.dynamic_rnn(cell, series, dtype=tf.float32)
cell = tf.contrib.rnn.EmbeddingWrapper(tf.contrib.rnn.GRUCell(4), embedding_classes=7, embedding_size=3)
told, _ = tf.contrib.rnn.static_rnn(cell, tf.unstack(words, 5, 1), dtype=tf.float32, scope="told")
out = tf.concat([read[:, -1], told[-1]], 1)
""",
    "a cell of the program's own": """
class Scaled(tf.nn.rnn_cell.RNNCell):
    def __init__(self, size):
        super(Scaled, self).__init__()
        self.size = size

    @property
    def state_size(self):
        return self.size

    @property
    def output_size(self):
        return self.size

    def __call__(self, inputs, state, scope=None):
        with tf.variable_scope(scope or "scaled"):
            w = tf.get_variable("w", [3, self.size])
            state = 0.5 * state + tf.matmul(inputs, w)
        return state, state


outputs, _ = tf.nn.dynamic_rnn(Scaled(2), series, dtype=tf.float32)
out = outputs[:, -1]
""",
    "losses of sequences": """
outputs, _ = tf.nn.dynamic_rnn(tf.contrib.rnn.ResidualWrapper(tf.contrib.rnn.GRUCell(3)), series, dtype=tf.float32)
targets = tf.minimum(words, 2)
one = tf.contrib.seq2seq.sequence_loss(outputs, targets, tf.ones([4, 5]))
each = tf.contrib.seq2seq.sequence_loss(outputs, targets, tf.ones([4, 5]), average_across_batch=False)
steps = tf.unstack(outputs, 5, 1)
old = tf.contrib.legacy_seq2seq.sequence_loss_by_example(steps, tf.unstack(targets, 5, 1), [tf.ones([4])] * 5)
out = tf.concat([[one], each, old], 0)
""",
    "one cell for both sides": """
steps = tf.unstack(series, 5, 1)
cell = tf.contrib.rnn.GRUCell(3)
tied, _ = tf.contrib.legacy_seq2seq.tied_rnn_seq2seq(steps, steps, cell)
apart, _ = tf.contrib.legacy_seq2seq.basic_rnn_seq2seq(steps, steps, tf.contrib.rnn.GRUCell(3))
out = tf.concat([tied[-1], apart[-1]], 1)
""",
    "a name for a part": """
slim = tf.contrib.slim
out = slim.fully_connected(rows, 3, scope="a", reuse=False)
""",
    "optimize_loss": """
step = tf.train.get_or_create_global_step()
fitted = tf.matmul(rows, tf.get_variable("w", [6, 1]))
other = tf.contrib.layers.optimize_loss(
    tf.reduce_mean(tf.square(fitted - 1.0)), step, learning_rate=0.05, optimizer="SGD", clip_gradients=0.5
)
out = tf.concat([fitted, tf.fill([4, 1], other)], 1)
""",
    "normal draws": """
w = tf.get_variable("w", [6, 4], initializer=tf.contrib.layers.variance_scaling_initializer())
v = tf.get_variable("v", [4, 4], initializer=tf.contrib.layers.xavier_initializer(uniform=False))
tf.contrib.layers.apply_regularization(tf.contrib.layers.l1_regularizer(0.1), [w])
out = tf.matmul(tf.matmul(rows, w), v)
other = tf.contrib.losses.softmax_cross_entropy(out, tf.one_hot(words[:, 0] % 4, 4))
other += tf.contrib.losses.mean_squared_error(out, tf.zeros_like(out), weights=2.0)
out = tf.concat([out, tf.fill([4, 1], other)], 1)
""",
}


def said(interpreter: str, text: str, folder: Path) -> list[object]:
    """What the program says of its weights and losses."""
    path = folder / "program.py"
    path.write_text(text)
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": ""}
    environment["KERAS_BACKEND"] = "tensorflow"
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [interpreter, str(path)], capture_output=True, text=True, timeout=300, cwd=folder, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    import json

    found: list[object] = json.loads(next(line[4:] for line in done.stdout.splitlines() if line.startswith("SAID")))
    return found


@pytest.mark.parametrize("name", slow_after(2, PROGRAMS))
def test_the_weights_and_losses_are_those_of_version_1(name: str, baseline: str, tmp_path: Path) -> None:
    old = HEAD + PROGRAMS[name] + TAIL
    new = candidates(old)[-1]
    assert "contrib." not in new.split("draw = ", 1)[1] and "tf.layers." not in new.split("draw = ", 1)[1]
    wanted, got = said(baseline, old, tmp_path), said(sys.executable, new, tmp_path)
    names = [[each for each in one if isinstance(each, (str, list))] for one in (wanted, got)]
    numbers = [[each for each in one if isinstance(each, float)] for one in (wanted, got)]
    assert names[0] == names[1]
    assert numbers[1] == pytest.approx(numbers[0], rel=2e-4, abs=1e-5)
