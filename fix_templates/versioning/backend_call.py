"""`K.argmax(x)`, `K.batch_dot(x, y)`: functions of `keras.backend` whose successors have other arguments."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, Subject, keras_backend, uses_of


class BackendCall(ApiChange):
    """Keras 3 removed most functions of `keras.backend`; some successors have other arguments or are not functions.

    `K.argmax` used the last axis by default, and `keras.ops.argmax` flattens; `K.gather` is `ops.take` along axis 0,
    `K.int_shape(x)` is `x.shape`, `K.in_train_phase(a, b)` depends on the argument `training`. Calls that depend on the
    rank of a tensor, on a session or on symbolic gradients are declined with a reason. `tf.keras.backend` still has all
    of them. Where only the name changed, `DNF501` changes it.

    Fix safety: unsafe: the successors were compared with Keras 2.3.1, but not on every backend.

    References: https://keras.io/api/ops/, https://keras.io/guides/migrating_to_keras_3/.
    """

    code = "DNF531"
    name = "backend-call"
    message = "{function} was removed in Keras 3.0"
    triggers = ("backend",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        yield from keras_backend.backend_calls(uses_of(subject.source))

    programs = """
=== example: axes that were understood
- from keras import backend as K
+ from keras import ops


def accuracy(y_true, y_pred):
-     joined = K.concatenate([y_true, y_pred])
-     wide = K.expand_dims(K.cumsum(joined))
-     return K.mean(K.equal(K.argmax(y_true), K.argmax(y_pred, axis=1))), wide, K.gather(joined, 0)
+     joined = ops.concatenate([y_true, y_pred], axis=-1)
+     wide = ops.expand_dims(ops.cumsum(joined, axis=0), axis=-1)
+     return ops.mean(ops.equal(ops.argmax(y_true, axis=-1), ops.argmax(y_pred, axis=1))), wide, ops.take(joined, 0, axis=0)

=== example: products of batches, and the shape of a tensor
- import keras.backend as K
+ from keras import ops
+ from keras import layers
from keras.layers import Lambda


def attend(tensors):
    query, key = tensors
-     turned = K.permute_dimensions(key, pattern=(0, 2, 1))
-     scores = K.batch_dot(query, turned, axes=[2, 1])
-     return K.batch_dot(scores, key, [2, 1]) / K.int_shape(key)[-1] ** 0.5
+     turned = ops.transpose(key, axes=(0, 2, 1))
+     scores = layers.dot([query, turned], axes=[2, 1])
+     return layers.dot([scores, key], axes=[2, 1]) / key.shape[-1] ** 0.5


layer = Lambda(attend)

=== example: products with a matrix, which may be sparse, and with what is not known
- from keras import backend as K
- from keras.engine import Layer
+ from keras import ops
+ from keras.layers import Layer


class Spread(Layer):
    def build(self, input_shapes):
        shape = input_shapes[0]
        assert len(shape) == 2
        self.W = self.add_weight((shape[1], 4), initializer="uniform", name="W")
        self.u = self.add_weight((4,), initializer="uniform", name="u")

    def call(self, inputs, mask=None):
        features = inputs[0]
-         spread = K.dot(inputs[1], features)
-         return K.dot(K.dot(x=spread, y=self.W), self.u)
+         spread = ops.matmul(inputs[1], features)
+         return ops.dot(ops.matmul(x1=spread, x2=self.W), self.u)

=== example: a variable that is set, and the phase of training
- from keras import backend
+ from keras import random
+ from keras import ops
from keras.layers import Layer


class Noise(Layer):
    def call(self, inputs, training=None):
        def noised():
-             return inputs + backend.random_normal(backend.shape(inputs), mean=0.0, stddev=0.1)
+             return inputs + random.normal(ops.shape(inputs), mean=0.0, stddev=0.1)

-         return backend.in_train_phase(noised, inputs, training=training)
+         return noised() if training else inputs


def halve(model):
-     rate = backend.get_value(model.optimizer.learning_rate)
-     backend.set_value(model.optimizer.lr, rate / 2)
+     rate = ops.convert_to_numpy(model.optimizer.learning_rate)
+     model.optimizer.learning_rate.assign(rate / 2)

=== reject: functions of today
from keras import backend as K
from keras import ops


def scaled(x):
    return ops.argmax(x) / K.epsilon()

=== reject: TensorFlow's Keras has them still
from tensorflow.keras import backend as K


def best(x):
    return K.argmax(K.concatenate([x, x]))

=== reject: a module of the program's own
import keras
from mylib import backend as K


def best(x):
    return K.argmax(x)
"""
