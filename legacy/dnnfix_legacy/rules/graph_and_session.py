"""`tf.placeholder`, `tf.Session`: a program that builds a graph and runs it in sessions."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    ApiChange,
    Candidate,
    Decline,
    Finding,
    Hit,
    Subject,
)
from dnnfix.detect.versioning.graphs import MAKES_GRAPH
from dnnfix.detect.versioning.migration import Claims, migration
from dnnfix_legacy.eager.program import eager_edits
from dnnfix_legacy.graphs.programs import graph_of, is_of_graph
from dnnfix_legacy.graphs.statements import InTheWay

KEPT = "keep the graph under tensorflow.compat.v1"


class GraphAndSession(ApiChange):
    """TensorFlow 2 runs operations as they are called; graphs, placeholders and sessions live on in `tf.compat.v1`.

    Where the program is one straight line of placeholders, variables, tensors, training and runs, it is written as
    functions: placeholders become specifications of inputs, a run the call of a function, `minimize` a step under
    `GradientTape` with an optimizer of equal settings. Otherwise, and as the safer choice, the graph is kept:
    TensorFlow is imported as `tensorflow.compat.v1` with the behaviour of version 2 switched off, so that every
    function is the old one. What went away before version 1 gets its later name, calls with the argument order of that
    time name their arguments, and functions of `tf.layers` become layers of Keras, since they are gone along with Keras
    2. Where Keras has no such layer (weights that are found by scope, updates and penalties in collections, the
    recurrent cells, `tf.contrib.layers`), the program gets a function of the old name that does the same, with weights
    of the same names. What has no replacement (estimators, most of `tf.contrib`) is named with its place.

    Fix safety: the kept graph is safe where every name is the old function itself; unsafe are functions in its place, a
    graph in which layers of Keras take a function's place, whose weights have other names, and one with functions of the
    program's own, which know the common arguments alone.

    References: https://www.tensorflow.org/guide/migrate/tf1_vs_tf2,
    https://www.tensorflow.org/api_docs/python/tf/compat/v1/disable_v2_behavior.
    """

    code = "DNF540"
    name = "graph-and-session"
    message = "the program builds a graph and runs it in sessions, which TensorFlow 2 has only under tf.compat.v1"
    triggers = tuple(sorted(MAKES_GRAPH))

    def claims(self, subject: Subject) -> Claims:
        """The program's graph, and every name of TensorFlow where the graph is kept as a whole."""
        graph = graph_of(subject.source)
        if graph is None:
            return Claims(graph="")
        return Claims(covers=is_of_graph, graph="migrated") if graph.edits else Claims(graph="made")

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The program as a whole, and each name in it that nothing replaces."""
        graph = graph_of(subject.source)
        if graph is None:
            return
        crash = subject.crash
        lines = {frame.site.line for frame in crash.frames if not frame.site.path} if crash is not None else set()
        felt = next((site for site in graph.places if site.line in lines), None)
        safe = graph.exact and not graph.left
        yield Hit(
            graph.places[0],
            self.message,
            title=KEPT,
            edits=graph.edits,
            decline="" if graph.edits else "TensorFlow is not imported as a module",
            safe=safe,
            removed={"tensorflow": "2.0"},
            felt=felt,
        )
        if graph.edits:
            for site, what in graph.changed:
                yield Hit(site, what, title=KEPT, edits=graph.edits, safe=safe, removed={"tensorflow": "1.0"})
        for left in graph.left:
            yield Hit(
                left.site,
                f"{left.name} has no replacement in TensorFlow 2",
                decline=left.reason,
                removed={"tensorflow": "2.0"},
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        """The program as functions that TensorFlow 2 runs, where that is certain; then the graph as it is."""
        kept = list(super().propose(finding, subject))
        alone = not finding.site.path and not any(migration(file) for path, file in subject.files.items() if path)
        if alone and any(isinstance(each, Candidate) for each in kept):
            others = [hit for hit in migration(subject) if hit.edits and hit.title != KEPT]
            try:
                edits = eager_edits(subject.source, others)
            except InTheWay as reason:
                kept.append(Decline(f"it is not written as functions of TensorFlow 2: {reason.reason}"))
            else:
                yield self.candidate(finding, "call functions instead of the session", *edits, prior=0.97)
        yield from kept

    programs = '''
=== example: a line fitted to points
import numpy as np
- import tensorflow as tf
+ import tensorflow.compat.v1 as tf
+ tf.disable_v2_behavior()

x_data = np.linspace(-1, 1, 20)
x = tf.placeholder(tf.float32)
y = tf.placeholder(tf.float32)
w = tf.Variable(0.0)
- loss = tf.reduce_mean(tf.square(y - tf.mul(x, w)))
+ loss = tf.reduce_mean(tf.square(y - tf.multiply(x, w)))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.initialize_all_variables())
    for step in range(10):
        sess.run(train, feed_dict={x: x_data, y: 2 * x_data})
    print(sess.run(w))

=== example: a regression as functions
import numpy as np
import tensorflow as tf

x_data = np.linspace(-1, 1, 20).reshape(-1, 1)
- x = tf.placeholder(tf.float32, [None, 1])
- y = tf.placeholder(tf.float32, [None, 1])
- w = tf.Variable(tf.random_normal([1, 1]))
+ x = tf.TensorSpec([None, 1], tf.float32)
+ y = tf.TensorSpec([None, 1], tf.float32)
+ w = tf.Variable(tf.random.normal([1, 1]))
b = tf.Variable(tf.zeros([1]))
- # the model is a line
- predicted = tf.matmul(x, w) + b
- loss = tf.reduce_mean(tf.square(y - predicted), reduction_indices=[0, 1])
- train = tf.train.AdamOptimizer(0.1).minimize(loss)
+ optimizer = tf.keras.optimizers.Adam(0.1, epsilon=1e-08)

- init = tf.global_variables_initializer()
- with tf.Session() as sess:
-     sess.run(init)
-     for step in range(10):
-         _, error = sess.run([train, loss], feed_dict={x: x_data, y: 2 * x_data})
-         print(step, error)
-     # what it has learned
-     print(sess.run(predicted, feed_dict={x: x_data}), sess.run([w, b]))
+
+ @tf.function(input_signature=[x])
+ def compute_predicted(x):
+     # the model is a line
+     predicted = tf.matmul(x, w) + b
+     return predicted
+
+
+ @tf.function(input_signature=[x, y])
+ def train_step(x, y):
+     with tf.GradientTape() as tape:
+         predicted = compute_predicted(x)
+         loss = tf.reduce_mean(tf.square(y - predicted), axis=[0, 1])
+     variables = tape.watched_variables()
+     optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
+     return loss
+
+
+ for step in range(10):
+     error = train_step(x_data, 2 * x_data).numpy()
+     print(step, error)
+ # what it has learned
+ print(compute_predicted(x_data).numpy(), [w.numpy(), b.numpy()])

=== example: dropout, and a session that is not a block
import numpy as np
import tensorflow as tf

data, labels = np.random.rand(60, 4), np.random.randint(0, 2, 60)
- x = tf.placeholder("float", [None, 4], name="x")
- y = tf.placeholder(tf.int64, [None])
- keep = tf.placeholder("float")
- w = tf.get_variable("w", shape=[4, 8], initializer=tf.truncated_normal_initializer(stddev=0.1))
- w_out = tf.get_variable("w_out", shape=[8, 2])
- with tf.name_scope("hidden"):
-     hidden = tf.nn.relu(tf.matmul(x, w))
-     hidden = tf.nn.dropout(hidden, keep)
- logits = tf.matmul(hidden, w_out)
- cost = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
- optimizer = tf.train.RMSPropOptimizer(0.01, 0.9)
- train_step = optimizer.minimize(cost)
- right = tf.equal(tf.argmax(logits, 1), y)
- accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
+ x = tf.TensorSpec([None, 4], "float")
+ y = tf.TensorSpec([None], tf.int64)
+ keep = tf.TensorSpec(None, "float")
+ w = tf.Variable(tf.compat.v1.truncated_normal_initializer(stddev=0.1)([4, 8]), name="w")
+ w_out = tf.Variable(tf.initializers.GlorotUniform()([8, 2]), name="w_out")
+ optimizer = tf.compat.v1.train.RMSPropOptimizer(0.01, decay=0.9)

- sess = tf.InteractiveSession()
- tf.global_variables_initializer().run()
+
+ def network(x, keep):
+     with tf.name_scope("hidden"):
+         hidden = tf.nn.relu(tf.matmul(x, w))
+         hidden = tf.nn.dropout(hidden, rate=1 - keep)
+     logits = tf.matmul(hidden, w_out)
+     return logits
+
+
+ @tf.function(input_signature=[x, y, keep])
+ def train_step(x, y, keep):
+     with tf.GradientTape() as tape:
+         logits = network(x, keep)
+         cost = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
+     variables = tape.watched_variables()
+     optimizer.apply_gradients(zip(tape.gradient(cost, variables), variables))
+
+
+ @tf.function(input_signature=[x, y, keep])
+ def compute_accuracy(x, y, keep):
+     logits = network(x, keep)
+     right = tf.equal(tf.argmax(logits, 1), y)
+     accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
+     return accuracy
+
+
for epoch in range(5):
-     train_step.run(feed_dict={x: data, y: labels, keep: 0.5})
-     print(accuracy.eval(feed_dict={x: data, y: labels, keep: 1.0}))
- sess.close()
+     train_step(data, labels, 0.5)
+     print(compute_accuracy(data, labels, 1.0).numpy())

=== example: arguments in the order of the first releases
- import tensorflow as tf
+ import tensorflow.compat.v1 as tf
+ tf.disable_v2_behavior()


def network(x):
-     left, right = tf.split(1, 2, x)
-     both = tf.concat(1, [left, tf.nn.relu(right)])
+     left, right = tf.split(x, 2, 1)
+     both = tf.concat([left, tf.nn.relu(right)], 1)
    return tf.matmul(both, tf.get_variable("w", [4, 2]))


x = tf.placeholder("float", [None, 4])
y = tf.placeholder("float", [None, 2])
- cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(network(x), y))
- tf.scalar_summary("cost", cost)
- merged = tf.merge_all_summaries()
+ cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=network(x), labels=y))
+ tf.summary.scalar("cost", cost)
+ merged = tf.summary.merge_all()

=== example: layers that were functions
- import tensorflow as tf
- from tensorflow.contrib import layers
+ import tensorflow.compat.v1 as tf
+ tf.disable_v2_behavior()


class Agent:
    def __init__(self):
        self.x = tf.placeholder(tf.float32, [None, 8])
-         hidden = tf.layers.dense(inputs=self.x, units=16, activation=tf.nn.relu,
-                                  kernel_initializer=tf.contrib.layers.xavier_initializer())
-         self.out = tf.layers.dense(layers.flatten(hidden), 2)
+         hidden = tf.keras.layers.Dense(units=16,
+                                        activation=tf.nn.relu,
+                                        kernel_initializer=tf.glorot_uniform_initializer())(self.x)
+         self.out = tf.keras.layers.Dense(2)(tf.keras.layers.Flatten()(hidden))
        self.sess = tf.Session()
        self.sess.run(tf.global_variables_initializer())

=== example: a recurrent cell
- import tensorflow as tf
- from tensorflow.contrib import rnn
+ import tensorflow.compat.v1 as tf
+ tf.disable_v2_behavior()
+
+
+ class RNNCell:
+     """The base of recurrent cells in TensorFlow 1: weights are made at the first call and kept."""
+
+     name = "rnn_cell"
+     reuse = None
+
+     def __call__(self, inputs, state, scope=None):
+         scope = self.name if scope is None and self.reuse else scope
+         with tf.variable_scope(scope, self.name, reuse=self.reuse):
+             return self.call(inputs, state)
+
+     def get_weight(self, name, shape, initializer=None):
+         kept = vars(self).setdefault("weights_by_name", {})
+         if name not in kept:
+             kept[name] = tf.get_variable(name, shape, initializer=initializer)
+         return kept[name]
+
+     def zero_state(self, batch_size, dtype):
+         return tf.nest.map_structure(lambda size: tf.zeros([batch_size, size], dtype), self.state_size)
+
+
+ class GRUCell(RNNCell):
+     """`tf.nn.rnn_cell.GRUCell` of TensorFlow 1."""
+
+     def __init__(
+         self, num_units, activation=None, reuse=None, kernel_initializer=None, bias_initializer=None, name="gru_cell"
+     ):
+         self.state_size = self.output_size = num_units
+         self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
+         self.activation, self.reuse, self.name = activation or tf.tanh, reuse, name
+
+     def call(self, inputs, state):
+         gates = tf.sigmoid(self.linear("gates", inputs, state, 2 * self.output_size, tf.ones_initializer()))
+         r, u = tf.split(gates, 2, 1)
+         c = self.activation(self.linear("candidate", inputs, r * state, self.output_size, tf.zeros_initializer()))
+         state = u * state + (1 - u) * c
+         return state, state
+
+     def linear(self, name, inputs, state, size, bias):
+         both = tf.concat([inputs, state], 1)
+         kernel = self.get_weight(name + "/kernel", [both.shape[1], size], self.kernel_initializer)
+         return tf.matmul(both, kernel) + self.get_weight(name + "/bias", [size], self.bias_initializer or bias)
+

x = tf.placeholder(tf.float32, [None, 10, 3])
- cell = rnn.GRUCell(num_units=8)
+ cell = GRUCell(num_units=8)
outputs, state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)

=== example: a layer that is used twice
- import tensorflow as tf
+ import tensorflow.compat.v1 as tf
+ tf.disable_v2_behavior()
+
+
+ def dense(
+     inputs,
+     units,
+     activation=None,
+     use_bias=True,
+     kernel_initializer=None,
+     bias_initializer=tf.zeros_initializer(),
+     kernel_regularizer=None,
+     bias_regularizer=None,
+     *,
+     trainable=True,
+     name=None,
+     reuse=None,
+ ):
+     """`tf.layers.dense` of TensorFlow 1."""
+     inputs = tf.convert_to_tensor(inputs)
+     with tf.variable_scope(name, "dense", reuse=reuse):
+         shape = [inputs.shape[-1], units]
+         kernel = tf.get_variable("kernel", shape, inputs.dtype, kernel_initializer, kernel_regularizer, trainable)
+         outputs = tf.tensordot(inputs, kernel, 1)
+         if use_bias:
+             outputs += tf.get_variable("bias", [units], inputs.dtype, bias_initializer, bias_regularizer, trainable)
+         return activation(outputs) if activation else outputs


def score(images):
    with tf.variable_scope("score", reuse=tf.AUTO_REUSE):
-         return tf.layers.dense(images, 1, activation=tf.nn.sigmoid)
+         return dense(images, 1, activation=tf.nn.sigmoid)


real = tf.placeholder(tf.float32, [None, 8])
made = tf.placeholder(tf.float32, [None, 8])
loss = tf.reduce_mean(score(real) - score(made))

=== reject: the graph is under compat.v1 already
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()

x = tf.placeholder(tf.float32)
with tf.Session() as sess:
    print(sess.run(x + 1, {x: 1.0}))

=== reject: a program of version 2
import tensorflow as tf

w = tf.Variable(1.0)
optimizer = tf.keras.optimizers.SGD(0.1)
with tf.GradientTape() as tape:
    loss = tf.square(w)
optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w]))

=== reject: a session of another library
import tensorflow as tf
from requests import Session

with Session() as session:
    print(session, tf.constant(1.0))
'''
