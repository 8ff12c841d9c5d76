"""`K.learning_phase()` in the `feed_dict` of a session: Keras 3 has no learning phase."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, Subject
from dnnfix.detect.versioning.migration import NO_CLAIMS, Claims
from dnnfix_legacy.graphs.learning_phase import phase_of

NAMES = frozenset(
    f"{keras}.backend.{name}" for keras in ("keras", "tensorflow.keras") for name in ("learning_phase", "set_session")
)


class PhaseOfKerasInGraph(ApiChange):
    """Layers of Keras 2 on the placeholders of TensorFlow 1 took part in its session, and were told when it trained.

    Keras 3 has no session to be given and no phase that is fed: `K.set_session` and `K.learning_phase` are gone. Its layers
    still build a graph under `tensorflow.compat.v1`, but a Dropout that nobody tells does nothing. The phase becomes a
    placeholder of the program's own, and Dropout is TensorFlow's where that placeholder is true.

    Fix safety: unsafe: the names of the weights and the order in which random numbers are drawn change.

    References: https://keras.io/guides/migrating_to_keras_3/,
    https://www.tensorflow.org/api_docs/python/tf/compat/v1/placeholder_with_default.
    """

    code = "DNF549"
    name = "phase-of-keras-in-graph"
    message = "Keras 3 has neither a session nor a learning phase that is fed to one"
    triggers = ("learning_phase", "set_session")

    def claims(self, subject: Subject) -> Claims:
        """The names of the phase, in a program that builds a graph."""
        return Claims(NAMES) if phase_of(subject.source) is not None else NO_CLAIMS

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """Each place where the program speaks of Keras' session or phase."""
        phase = phase_of(subject.source)
        for place in phase.places if phase is not None else ():
            yield Hit(
                subject.source.site(place),
                self.message,
                title="make the phase a placeholder",
                edits=phase.edits if phase is not None else (),
                decline=phase.decline if phase is not None else "",
                removed={"keras": "3.0"},
            )

    programs = """
=== example: dropout that is fed its phase
- import tensorflow as tf
- from keras import backend as K
- from keras.layers import Dense, Dropout
+ import tensorflow.compat.v1 as tf
+ tf.disable_v2_behavior()
+ from keras.layers import Dense
+
+
+ learning_phase = tf.placeholder_with_default(False, [])
+

sess = tf.Session()
- K.set_session(sess)
x = tf.placeholder(tf.float32, [None, 4])
h = Dense(8, activation="relu")(x)
- h = Dropout(0.5)(h)
+ h = tf.cond(learning_phase, lambda: tf.nn.dropout(h, rate=0.5), lambda: h)
loss = tf.reduce_mean(tf.square(Dense(1)(h)))
train = tf.train.AdamOptimizer().minimize(loss)
sess.run(tf.global_variables_initializer())
- sess.run(train, {x: [[1, 2, 3, 4]], K.learning_phase(): 1})
- print(sess.run(loss, {x: [[1, 2, 3, 4]], K.learning_phase(): 0}))
+ sess.run(train, {x: [[1, 2, 3, 4]], learning_phase: 1})
+ print(sess.run(loss, {x: [[1, 2, 3, 4]], learning_phase: 0}))

=== example: a session alone
- import tensorflow as tf
+ import tensorflow.compat.v1 as tf
+ tf.disable_v2_behavior()
import keras

session = tf.InteractiveSession()
- keras.backend.set_session(session)
x = tf.placeholder(tf.float32, [None, 4])
print(keras.layers.Dense(2)(x))

=== example: the Keras within TensorFlow
- import tensorflow as tf
+ import tensorflow.compat.v1 as tf
+ tf.disable_v2_behavior()
+
+
+ learning_phase = tf.placeholder_with_default(False, [])
+

x = tf.placeholder(tf.float32, [None, 4])
- x = tf.keras.layers.Dropout(rate=0.3)(x)
+ x = tf.cond(learning_phase, lambda: tf.nn.dropout(x, rate=0.3), lambda: x)
with tf.Session() as sess:
-     tf.keras.backend.set_session(sess)
-     print(sess.run(x, feed_dict={x: [[1, 2, 3, 4]], tf.keras.backend.learning_phase(): True}))
+     print(sess.run(x, feed_dict={x: [[1, 2, 3, 4]], learning_phase: True}))

=== reject: a session for the settings of models that Keras trains
import tensorflow.compat.v1 as tf
import tf_keras

tf_keras.backend.set_session(tf.Session())
model = tf_keras.Sequential([tf_keras.layers.Dense(1)])
model.compile(loss="mse")

=== reject: a phase of the program's own
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
learning_phase = tf.placeholder_with_default(False, [])
x = tf.placeholder(tf.float32, [None, 4])
h = tf.cond(learning_phase, lambda: tf.nn.dropout(x, rate=0.3), lambda: x)
"""
