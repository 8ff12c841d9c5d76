"""TensorFlow 1 programs that build a graph: how they are rewritten, what is left over, and what keeps one a graph."""

from __future__ import annotations

import pytest

from dnnfix.api import Candidate, Decline
from dnnfix.detect.versioning.migration import migration
from dnnfix.records import Applicability
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix_legacy.eager.program import eager_edits
from dnnfix_legacy.graphs.statements import InTheWay
from dnnfix_legacy.rules.graph_and_session import KEPT, GraphAndSession

HEAD = "import numpy as np\nimport tensorflow as tf\n\nx = tf.placeholder(tf.float32, [None, 2])\n"
WEIGHT = "w = tf.Variable(tf.ones([2, 1]))\n"
TAIL = """\
loss = tf.reduce_mean(tf.matmul(x, w))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run([train, loss], {x: np.ones((3, 2))})[1:])
"""


def subject(text: str) -> Subject:
    return Subject(Source.from_bytes(text.encode(), "program.py"))


def proposals(text: str) -> list[Candidate | Decline]:
    of = subject(text)
    return [
        each
        for finding in GraphAndSession().detect(of)
        if finding.message == GraphAndSession.message
        for each in GraphAndSession().propose(finding, of)
    ]


def kept(text: str) -> str:
    """The program with the graph that it has."""
    of = subject(text)
    edits = [edit for hit in migration(of) for edit in hit.edits]
    return apply_edits(of.source, edits).decode()


def functions(text: str) -> str:
    """The program as functions."""
    of = subject(text)
    others = [hit for hit in migration(of) if hit.edits and hit.title != KEPT]
    return apply_edits(of.source, eager_edits(of.source, others)).decode()


def reason(text: str) -> str:
    with pytest.raises(InTheWay) as caught:
        functions(text)
    return caught.value.reason


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tf.concat(1, [x, x])", "tf.concat([x, x], 1)"),
        ("tf.concat(concat_dim=0, values=[x, tf.mul(x, x)])", "tf.concat([x, tf.multiply(x, x)], 0)"),
        ("tf.concat([x, x], 1)", "tf.concat([x, x], 1)"),
        ("tf.concat(values=[x, x], axis=1)", "tf.concat(values=[x, x], axis=1)"),
        ("tf.split(1, 2, x)", "tf.split(x, 2, 1)"),
        ("tf.split(x, 2, 1)", "tf.split(x, 2, 1)"),
        (
            "tf.nn.sigmoid_cross_entropy_with_logits(x, targets=x)",
            "tf.nn.sigmoid_cross_entropy_with_logits(logits=x, labels=x)",
        ),
        (
            "tf.nn.softmax_cross_entropy_with_logits(x, x)",
            "tf.nn.softmax_cross_entropy_with_logits(logits=x, labels=x)",
        ),
        ("tf.reverse(x, [False, True])", "tf.reverse(x, [1])"),
        ("tf.batch_matmul(x, x, adj_y=True)", "tf.matmul(x, x, adjoint_b=True)"),
        ("tf.image_summary('i', x, max_images=3)", "tf.summary.image('i', x, 3)"),
        (
            "tf.nn.nce_loss(x, tf.neg(x), x, x, 3, 10)",
            "tf.nn.nce_loss(x, tf.negative(x), x, x, num_sampled=3, num_classes=10)",
        ),
        ("tf.nn.nce_loss(x, x, x, x, 3, 10)", "tf.nn.nce_loss(x, x, x, x, 3, 10)"),
        ("tf.contrib.losses.log_loss(x, 1 - x)", "tf.losses.log_loss(predictions=x, labels=1 - x)"),
        ("tf.contrib.layers.xavier_initializer(uniform=False)", "tf.glorot_normal_initializer()"),
        ("tf.contrib.layers.variance_scaling_initializer()", "tf.variance_scaling_initializer(2.0)"),
        ("tf.train.SummaryWriter('logs')", "tf.summary.FileWriter('logs')"),
        ("tf.pack([x, x])", "tf.stack([x, x])"),
        ("tf.layers.dense(x, 3, name='out')", "tf.keras.layers.Dense(3, name='out')(x)"),
        (
            "tf.layers.max_pooling2d(tf.layers.conv2d(x, 8, 3, padding='same'), 2, 2)",
            "tf.keras.layers.MaxPooling2D(2, 2)(tf.keras.layers.Conv2D(8, 3, padding='same')(x))",
        ),
        (
            "tf.get_variable('v', [2], regularizer=tf.contrib.layers.l2_regularizer(0.1))",
            "tf.get_variable('v', [2], regularizer=lambda weights: 0.1 * tf.nn.l2_loss(weights))",
        ),
        ("tf.layers.dropout(x, 0.4, training=True)", "tf.nn.dropout(x, rate=0.4)"),
        ("tf.layers.dropout(x, rate=0.4)", "tf.identity(x)"),
        (
            "tf.layers.dropout(x, training=tf.placeholder(tf.bool))",
            "tf.cond(tf.placeholder(tf.bool), lambda: tf.nn.dropout(x, rate=0.5), lambda: x)",
        ),
        ("tf.contrib.layers.fully_connected(x, 4)", 'tf.keras.layers.Dense(4, activation="relu")(x)'),
        ("tf.contrib.layers.fully_connected(x, 4, None)", "tf.keras.layers.Dense(4, activation=None)(x)"),
        (
            "tf.contrib.layers.fully_connected(x, num_outputs=4, activation_fn=None)",
            "tf.keras.layers.Dense(units=4, activation=None)(x)",
        ),
        ("tf.reduce_sum(x, keep_dims=True)", "tf.reduce_sum(x, keep_dims=True)"),
        ("tf.app.flags.FLAGS", "tf.app.flags.FLAGS"),
    ],
)
def test_a_graph_is_kept_under_the_names_of_version_1(before: str, after: str) -> None:
    head = HEAD.replace("import tensorflow as tf", "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()")
    assert kept(f"{HEAD}y = {before}\n") == f"{head}y = {after}\n"


def test_weights_that_are_not_to_be_trained_are_those_of_functions() -> None:
    found = kept(f"{HEAD}y = tf.layers.dense(tf.layers.dense(x, 4), 2, trainable=False)\n")
    assert found.endswith("y = dense(dense(x, 4), 2, trainable=False)\n") and "keras" not in found


def test_a_module_that_only_fills_queues_is_one_of_a_graph() -> None:
    found = kept("import tensorflow as tf\nparts = tf.train.slice_input_producer([[1.0]])\n")
    assert found.startswith("import tensorflow.compat.v1 as tf\n")


def test_a_function_has_another_name_where_the_program_has_one_of_the_same_name() -> None:
    text = f"{HEAD}def dense(x):\n    return tf.layers.dense(x, 2, reuse=tf.AUTO_REUSE, name='d')\n\n\ny = dense(x)\n"
    assert "    return dense_v1(x, 2, reuse=tf.AUTO_REUSE, name='d')" in kept(text)
    assert kept(text).count("def dense(") == kept(text).count("def dense_v1(") == 1


def test_what_a_cell_was_given_for_nothing_goes() -> None:
    text = f"from tensorflow.models.rnn import rnn_cell\n{HEAD}cell = rnn_cell.LSTMCell(8, size, state_is_tuple=True)\n"
    assert kept(text).endswith("\ncell = LSTMCell(8)\n") and "models.rnn" not in kept(text)
    assert "rnn_cell.LSTMCell(8, True)" in kept(text.replace("size, state_is_tuple=True", "True"))


def test_each_name_that_went_before_version_2_is_a_finding_at_its_line() -> None:
    hits = migration(
        subject(f"{HEAD}y = tf.mul(x, x)\nz = tf.concat(1, [x, tf.layers.dense(y, 2, reuse=False, name='d')])\n")
    )
    assert [hit.site.line for hit in hits if hit.edits] == [4, 5, 6, 6]
    hits = migration(subject(f"{HEAD}cell = tf.contrib.rnn.GRUCell(4)\n"))
    assert [(hit.site.line, bool(hit.edits)) for hit in hits] == [(4, True), (5, True)]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("cell = tf.nn.rnn_cell.LSTMCell(4, use_peepholes=True)", "tensorflow.nn.rnn_cell.LSTMCell"),
        ("cell = tf.contrib.rnn.NASCell(4)", "tensorflow.contrib.rnn.NASCell"),
        ("y = tf.layers.conv3d(x, 2, 3, reuse=True)", "tensorflow.layers.conv3d"),
        ("y = tf.layers.batch_normalization(x, renorm=True)", "tensorflow.layers.batch_normalization"),
        ("from tensorflow.contrib import learn\nlearn.run(x)", "tensorflow.contrib.learn"),
        ("e = tf.estimator.DNNClassifier([2])", "tensorflow.estimator.DNNClassifier"),
    ],
)
def test_what_nothing_replaces_is_named_with_its_place(line: str, name: str) -> None:
    hits = [hit for hit in migration(subject(f"{HEAD}{line}\n")) if not hit.edits]
    assert hits and all(hit.decline and hit.site.line >= 5 for hit in hits)
    assert hits[0].what.startswith(name)


def test_a_graph_with_something_left_is_not_called_safe() -> None:
    whole, broken = (proposals(f"{HEAD}{line}\n")[0] for line in ("y = tf.log(x)", "c = tf.contrib.rnn.GRUCell(2)"))
    assert isinstance(whole, Candidate) and whole.applicability is Applicability.SAFE
    assert isinstance(broken, Candidate) and broken.applicability is Applicability.UNSAFE


@pytest.mark.parametrize(
    ("line", "safe"),
    [
        ("y = tf.nn.relu(x)", True),
        ("(a, b), (c, d) = tf.keras.datasets.mnist.load_data()", True),
        ("y = tf.keras.layers.Dense(3)(x)", False),
        ("y = tf.layers.dense(x, 3)", False),
        ("from keras.layers import Dense\ny = Dense(3)(x)", False),
    ],
)
def test_a_graph_with_another_keras_is_not_called_safe(line: str, safe: bool) -> None:
    graph = proposals(f"{HEAD}{line}\n")[0]
    assert isinstance(graph, Candidate) and (graph.applicability is Applicability.SAFE) is safe


def test_a_program_of_keras_models_is_no_graph() -> None:
    text = """\
import tensorflow as tf
from keras.models import Sequential

tf.Session(config=tf.ConfigProto())
model = Sequential()
model.compile("sgd", "mse")
model.fit(x, y)
"""
    assert not proposals(text)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("saver = tf.train.Saver()", "saved and restored"),
        ("writer = tf.summary.FileWriter('logs')", "FileWriter"),
        ("g = tf.get_default_graph()", "reads its graph"),
        ("for i in range(2):\n    v = tf.Variable(1.0)", "variables are created in a loop"),
        ("def shift():\n    return x + 1", "takes a tensor"),
        ("y = tf.nn.in_top_k(x, [1, 2, 3], 1)", "in_top_k"),
        ("y = tf.layers.dense(x, 2)", "tensorflow.layers.dense"),
        ("print(x)", "not an assignment"),
        ("y = x + np.random.rand()", "may return another"),
        ("def late():\n    return loss + 1", "takes a tensor"),
        ("other = tf.Session()", "more than one session"),
        ("tf.reset_default_graph()", "more than one graph"),
    ],
)
def test_a_graph_stays_one_where_functions_might_differ(line: str, why: str) -> None:
    text = f"{HEAD}{WEIGHT}{line}\n{TAIL.replace('[1:]', '')}"
    assert why in reason(text)
    said = proposals(text)
    assert [type(each) for each in said] == [Candidate, Decline]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("print(sess.run([train, loss], {x: np.ones((3, 2))})[1:])", "feed = {x: 1}\n    sess.run(train, feed)", "fed"),
        ("{x: np.ones((3, 2))}", "{}", "x is not fed"),
        (
            "    print(sess.run([train, loss], {x: np.ones((3, 2))})[1:])",
            "    result = sess.run([train, loss], {x: 1})",
            "unpacked",
        ),
        (
            "    print(sess.run([train, loss], {x: np.ones((3, 2))})[1:])",
            "    _, v = sess.run([train, w], {x: 1})",
            "along with",
        ),
        ("tf.train.GradientDescentOptimizer(0.1)", "tf.train.ProximalAdagradOptimizer(0.1)", "not known"),
        ("with tf.Session() as sess:\n", "def main(sess):\n", "no session"),
    ],
)
def test_runs_and_training_that_cannot_be_calls(old: str, new: str, why: str) -> None:
    assert old in TAIL
    assert why in reason(HEAD + WEIGHT + TAIL.replace(old, new))


def test_a_name_that_changes_between_runs_is_not_read_by_a_function() -> None:
    text = HEAD + "scale = 2.0\n" + WEIGHT + TAIL.replace("tf.matmul(x, w)", "tf.matmul(x, w) * scale")
    text = text.replace("    print(sess.run([train, loss], {x: np.ones((3, 2))})[1:])", "    sess.run(train, {x: 1})")
    assert "* scale" in functions(text)
    assert reason(text + "    scale = 3.0\n    sess.run(train, {x: 1})\n") == "scale changes while the graph is run"


def test_variables_that_begin_anew_between_runs_keep_the_graph() -> None:
    text = (
        HEAD
        + WEIGHT
        + TAIL.replace("    print(sess.run([train, loss], {x: np.ones((3, 2))})[1:])", "    sess.run(train, {x: 1})")
    )
    again = "    sess.run(tf.global_variables_initializer())\n    sess.run(train, {x: 1})\n"
    assert reason(text + again) == "variables are initialized again between runs"
    assert "GradientTape" in functions("import tensorflow as tf\ntf.reset_default_graph()\n" + text)


def test_noise_is_drawn_in_each_call() -> None:
    text = HEAD + WEIGHT + "noise = tf.random_normal([1])\n"
    text += TAIL.replace("tf.matmul(x, w)", "tf.matmul(x, w) + noise")
    text = text.replace("    print(sess.run([train, loss], {x: np.ones((3, 2))})[1:])", "    sess.run(train, {x: 1})")
    after = functions(text)
    assert "        noise = tf.random.normal([1])\n" in after and "\nnoise" not in after


def test_lines_end_as_they_ended_and_texts_over_several_lines_keep_their_left() -> None:
    text = (
        HEAD
        + WEIGHT
        + TAIL.replace(
            "    print(sess.run([train, loss], {x: np.ones((3, 2))})[1:])", "    _, v = sess.run([train, loss], {x: 1})"
        )
    )
    text += '    print("""loss:\n    """, v)\n'
    note = 'NOTE = """one\n\n\n\nfar below"""\n\n\n\n\n'
    assert note in functions(text.replace("x = tf.placeholder", f"{note}x = tf.placeholder"))
    after = functions(text)
    assert after.endswith('print("""loss:\n    """, v)\n')
    windows = functions(text.replace("\n", "\r\n"))
    assert windows == after.replace("\n", "\r\n")


def test_a_program_of_python_2_comes_out_as_one_of_python_3() -> None:
    text = (
        HEAD
        + WEIGHT
        + TAIL.replace("print(sess.run([train, loss], {x: np.ones((3, 2))})[1:])", "print sess.run(loss, {x: 1})")
    )
    after = functions(text)
    assert "print(compute_loss(1).numpy())" in after
    compile(after, "after.py", "exec")
