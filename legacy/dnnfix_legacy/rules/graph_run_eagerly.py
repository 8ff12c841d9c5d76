"""`tf.compat.v1.placeholder` in a program that does not disable eager execution."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, InsertAfter, Subject, uses_of

V1 = "tensorflow.compat.v1."
SESSIONS = frozenset({"Session", "InteractiveSession"})
SETTLED = frozenset(
    {"disable_v2_behavior", "disable_eager_execution", "as_default", "wrap_function", "executing_eagerly"}
)
"""Words of programs that see to it themselves that a graph is built."""


class GraphRunEagerly(ApiChange):
    """TensorFlow 2 runs operations as they are called, those of `tf.compat.v1` too: a placeholder stops it.

    `tf.placeholder() is not compatible with eager execution`, says the call, or a session finds its graph empty. A program
    that builds a graph has to disable eager execution before its first operation.

    Fix safety: unsafe: from there on nothing of the program runs as it is called.

    References: https://www.tensorflow.org/api_docs/python/tf/compat/v1/disable_eager_execution.
    """

    code = "DNF543"
    name = "graph-run-eagerly"
    message = "a graph is built while eager execution is on, the default since TensorFlow 2.0"
    triggers = ("placeholder",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The first placeholder of a program with a session, where nothing switches eager execution off."""
        source = subject.source
        if "placeholder" not in source.words or source.words & SETTLED or source.words.isdisjoint(SESSIONS):
            return
        if subject.ran and subject.crash is None:
            return
        calls = {call: source.written(call.func) or "" for call in source.all_calls}
        placeholders = [call for call, name in calls.items() if name == f"{V1}placeholder"]
        sessions = [call for call, name in calls.items() if name.removeprefix(V1) in SESSIONS and name.startswith(V1)]
        if not placeholders or not sessions or any(name == "tensorflow.placeholder" for name in calls.values()):
            return
        statement, switch = _switch(subject)
        yield Hit(
            source.site(placeholders[0].func),
            self.message,
            title="disable eager execution",
            edits=(InsertAfter(source.site(statement), switch),) if statement is not None else (),
            decline="" if statement is not None else "TensorFlow is not imported as a module",
            removed={"tensorflow": "2.0"},
        )

    programs = """
=== example: names of compat.v1, one by one
import tensorflow as tf
+ tf.compat.v1.disable_eager_execution()

x = tf.compat.v1.placeholder(tf.float32, [None, 2])
total = tf.reduce_sum(x)
with tf.compat.v1.Session() as sess:
    print(sess.run(total, feed_dict={x: [[1.0, 2.0]]}))

=== example: compat.v1 as a whole
import numpy as np
import tensorflow.compat.v1 as tf
+ tf.disable_eager_execution()

sess = tf.InteractiveSession()
x = tf.placeholder(tf.float32)
print((x * 2).eval({x: np.ones(3)}))

=== example: both modules
import tensorflow as tf
import tensorflow.compat.v1 as tf1
+ tf1.disable_eager_execution()
from tensorflow.keras.layers import Dense

x = tf1.placeholder(tf.float32, [None, 2])
y = Dense(3)(x)
with tf1.Session() as sess:
    sess.run(tf1.global_variables_initializer())
    print(sess.run(y, {x: [[1.0, 2.0]]}))

=== reject: a graph of its own
import tensorflow as tf

with tf.Graph().as_default():
    x = tf.compat.v1.placeholder(tf.float32)
    with tf.compat.v1.Session() as sess:
        print(sess.run(x + 1, {x: 1.0}))

=== reject: the behaviour of version 2 is off
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32)
with tf.Session() as sess:
    print(sess.run(x + 1, {x: 1.0}))

=== reject: a part of a program, which another part may have switched off
import tensorflow.compat.v1 as tf


def inputs(size):
    return tf.placeholder(tf.float32, [None, size])
"""


def _switch(subject: Subject) -> tuple[ast.stmt | None, str]:
    """The import at the top of the program after which the switch stands, and the switch."""
    found: dict[str, tuple[ast.stmt, str]] = {}
    for statement in uses_of(subject.source).imports():
        if isinstance(statement, ast.Import) and statement in subject.source.tree.body:
            for alias in statement.names:
                local = alias.asname or alias.name
                if alias.name == "tensorflow":
                    found["2"] = (statement, f"{local}.compat.v1.disable_eager_execution()")
                elif alias.name == "tensorflow.compat.v1":
                    found["1"] = (statement, f"{local}.disable_eager_execution()")
    return found.get("1") or found.get("2") or (None, "")
