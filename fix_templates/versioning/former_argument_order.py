"""`tf.concat(1, [a, b])`: a call with the argument order from before TensorFlow 1.0."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, Subject, changed_forms


class FormerArgumentOrder(ApiChange):
    """TensorFlow 1.0 moved values before axes (`tf.concat(1, [a, b])`), and `tf.reverse` expects indices of axes since.

    Cross-entropies, whose old order means something else today, are changed only in programs that call functions that
    1.0 removed and nothing newer. Programs that build a graph are migrated as a whole, by another rule.

    Fix safety: safe: the arguments are the same, in today's order or as keyword arguments.

    References: https://github.com/tensorflow/tensorflow/releases/tag/v1.0.0.
    """

    code = "DNF548"
    name = "former-argument-order"
    message = "{function} is called with the argument order from before TensorFlow 1.0"
    formerly = ("axis-before-values",)
    triggers = ("tensorflow",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        yield from changed_forms.former_order(subject)

    programs = """
=== example: values that are joined
import tensorflow as tf


def grid(points, ones):
-     both = tf.concat(2, [ones, points])
-     return tf.concat(concat_dim=1, values=[both, both])
+     both = tf.concat([ones, points], axis=2)
+     return tf.concat(axis=1, values=[both, both])

=== example: values that are split and turned round
import tensorflow as tf


def halves(x):
-     left, right = tf.split(1, 2, x)
-     first, last = tf.split(split_dim=0, num_split=2, value=left)
-     return tf.reverse(right, [False, True]), first, last
+     left, right = tf.split(x, axis=1, num_or_size_splits=2)
+     first, last = tf.split(axis=0, num_or_size_splits=2, value=left)
+     return tf.reverse(right, [1]), first, last

=== example: a cross entropy, in a program of that time
import tensorflow as tf


def cost(logits, labels, weights):
-     loss = tf.nn.softmax_cross_entropy_with_logits(logits, labels)
-     return tf.reduce_mean(tf.mul(loss, weights)) + tf.reduce_sum(tf.batch_matmul(logits, labels, adj_x=True))
+     loss = tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=labels)
+     return tf.reduce_mean(tf.multiply(loss, weights)) + tf.reduce_sum(tf.matmul(logits, labels, adjoint_a=True))

=== reject: the order of today
import tensorflow as tf


def network(x, logits, labels):
    left, right = tf.split(x, 2, 1)
    loss = tf.nn.softmax_cross_entropy_with_logits(labels, logits)
    return tf.concat([left, right], 1), tf.reverse(x, [1]), loss

=== reject: a name of old in a program of today, which has today's order
import tensorflow as tf


def cost(network, pictures, labels):
    with tf.GradientTape() as tape:
        whitened = tf.image.per_image_whitening(tf.reshape(pictures, tf.pack([-1, 8])))
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, network(whitened))
    return tape.gradient(loss, network.variables)

=== reject: an axis that is not known to be one
import tensorflow as tf


def join(first, second):
    return tf.concat(first, second)
"""
