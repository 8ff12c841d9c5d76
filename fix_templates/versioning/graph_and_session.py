"""`tf.placeholder`, `tf.Session`: a program that builds a graph and runs it in sessions."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import ApiChange, Example, Hit, Reject, Subject, graph_of

WHAT = "the program builds a graph and runs it in sessions, which TensorFlow 2 has only under tf.compat.v1"


class GraphAndSession(ApiChange):
    """TensorFlow 2 runs operations as they are called; graphs, placeholders and sessions live on in `tf.compat.v1`.

    The graph is kept: TensorFlow is imported as `tensorflow.compat.v1` with the behaviour of version 2 switched off, so
    that every function is the old one. What went away before version 1 gets its later name, calls with the argument
    order of that time name their arguments, and functions of `tf.layers` become layers of Keras, since they are gone
    along with Keras 2. What has no replacement (recurrent cells, estimators, most of `tf.contrib`) is named with its place.

    Fix safety: safe where every name is the old function itself; unsafe where layers of Keras take a function's place,
    whose weights have other names.

    References: https://www.tensorflow.org/guide/migrate/tf1_vs_tf2,
    https://www.tensorflow.org/api_docs/python/tf/compat/v1/disable_v2_behavior.
    """

    code = "DNF540"
    name = "graph-and-session"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The program as a whole, and each name in it that nothing replaces."""
        graph = graph_of(subject.source)
        if graph is None:
            return
        crash = subject.crash
        lines = {frame.site.line for frame in crash.frames if not frame.site.path} if crash is not None else set()
        felt = next((site for site in graph.places if site.line in lines), None)
        yield Hit(
            graph.places[0],
            WHAT,
            title="keep the graph under tensorflow.compat.v1",
            edits=graph.edits,
            decline="" if graph.edits else "TensorFlow is imported piece by piece",
            safe=graph.exact and not graph.left,
            removed={"tensorflow": "2.0"},
            felt=felt,
        )
        for left in graph.left:
            yield Hit(
                left.site,
                f"{left.name}: nothing takes its place in TensorFlow 2",
                decline=left.reason,
                removed={"tensorflow": "2.0"},
            )

    examples = (
        Example(
            "a line fitted to points",
            """\
import numpy as np
import tensorflow as tf

x_data = np.linspace(-1, 1, 20)
x = tf.placeholder(tf.float32)
y = tf.placeholder(tf.float32)
w = tf.Variable(0.0)
loss = tf.reduce_mean(tf.square(y - tf.mul(x, w)))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.initialize_all_variables())
    for step in range(10):
        sess.run(train, feed_dict={x: x_data, y: 2 * x_data})
    print(sess.run(w))
""",
            """\
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()

x_data = np.linspace(-1, 1, 20)
x = tf.placeholder(tf.float32)
y = tf.placeholder(tf.float32)
w = tf.Variable(0.0)
loss = tf.reduce_mean(tf.square(y - tf.multiply(x, w)))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.initialize_all_variables())
    for step in range(10):
        sess.run(train, feed_dict={x: x_data, y: 2 * x_data})
    print(sess.run(w))
""",
        ),
        Example(
            "arguments in the order of the first releases",
            """\
import tensorflow as tf


def network(x):
    left, right = tf.split(1, 2, x)
    both = tf.concat(1, [left, tf.nn.relu(right)])
    return tf.matmul(both, tf.get_variable("w", [4, 2]))


x = tf.placeholder("float", [None, 4])
y = tf.placeholder("float", [None, 2])
cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(network(x), y))
tf.scalar_summary("cost", cost)
merged = tf.merge_all_summaries()
""",
            """\
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()


def network(x):
    left, right = tf.split(x, 2, 1)
    both = tf.concat([left, tf.nn.relu(right)], 1)
    return tf.matmul(both, tf.get_variable("w", [4, 2]))


x = tf.placeholder("float", [None, 4])
y = tf.placeholder("float", [None, 2])
cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=network(x), labels=y))
tf.summary.scalar("cost", cost)
merged = tf.summary.merge_all()
""",
        ),
        Example(
            "layers that were functions",
            """\
import tensorflow as tf
from tensorflow.contrib import layers


class Agent:
    def __init__(self):
        self.x = tf.placeholder(tf.float32, [None, 8])
        hidden = tf.layers.dense(inputs=self.x, units=16, activation=tf.nn.relu,
                                 kernel_initializer=tf.contrib.layers.xavier_initializer())
        self.out = tf.layers.dense(layers.flatten(hidden), 2)
        self.sess = tf.Session()
        self.sess.run(tf.global_variables_initializer())
""",
            """\
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()


class Agent:
    def __init__(self):
        self.x = tf.placeholder(tf.float32, [None, 8])
        hidden = tf.keras.layers.Dense(units=16, activation=tf.nn.relu, kernel_initializer=tf.glorot_uniform_initializer())(self.x)
        self.out = tf.keras.layers.Dense(2)(tf.keras.layers.Flatten()(hidden))
        self.sess = tf.Session()
        self.sess.run(tf.global_variables_initializer())
""",
        ),
    )
    rejects = (
        Reject(
            "the graph is under compat.v1 already",
            """\
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()

x = tf.placeholder(tf.float32)
with tf.Session() as sess:
    print(sess.run(x + 1, {x: 1.0}))
""",
        ),
        Reject(
            "a program of version 2",
            """\
import tensorflow as tf

w = tf.Variable(1.0)
optimizer = tf.keras.optimizers.SGD(0.1)
with tf.GradientTape() as tape:
    loss = tf.square(w)
optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w]))
""",
        ),
        Reject(
            "a session of another library",
            """\
import tensorflow as tf
from requests import Session

with Session() as session:
    print(session, tf.constant(1.0))
""",
        ),
    )
