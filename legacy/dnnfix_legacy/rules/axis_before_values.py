"""`tf.concat(1, values)`: arguments in the order of TensorFlow before 1.0."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    ApiChange,
    Example,
    Hit,
    Reject,
    Replace,
    Subject,
    uses_of,
)
from dnnfix_legacy.graphs.first_releases import boolean_axes, is_older, reordered
from dnnfix_legacy.graphs.programs import graph_of

REMOVED = {"tensorflow": "1.0"}


class AxisBeforeValues(ApiChange):
    """A call of TensorFlow whose arguments changed places with version 1.0: the axis of `concat` and `split` came first.

    `tf.concat(1, [a, b])` is `tf.concat([a, b], axis=1)` today, `tf.split(1, 2, x)` is `tf.split(x, 2, axis=1)`,
    `tf.reverse` takes the numbers of axes and no truth values, `batch_matmul` is `matmul` with `adjoint_a`, and
    `nce_loss` takes labels before inputs. A literal axis in front of values tells the old order; cross entropies, whose
    old order means something else today, are only changed in programs that call what version 1.0 took away, and nothing
    that came later.
    Programs of graphs and sessions are migrated as a whole (`DNF540`).

    Fix safety: safe: version 1.0 and later refuse the old order, or a program that uses `tf.mul` and its like was never
    run with them.

    References: https://github.com/tensorflow/tensorflow/releases/tag/v1.0.0 (breaking changes to the API).
    """

    code = "DNF548"
    name = "axis-before-values"
    triggers = ("tensorflow",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The calls in the old order."""
        source = subject.source
        if "tensorflow" not in source.frameworks or graph_of(source) is not None:
            return
        uses = uses_of(source)
        older = is_older(uses)
        for call in source.all_calls:
            written = source.written(call.func) or ""
            if not written.startswith("tensorflow."):
                continue
            if marks := boolean_axes(call, written):
                edits = (Replace(source.site(marks[0]), marks[1]),)
                what = f"{written} takes the numbers of axes since TensorFlow 1.0"
                yield Hit(source.site(call), what, title="number the axes", edits=edits, safe=True, removed=REMOVED)
                continue
            changed = reordered(source, call, written, older)
            if changed is not None and not written.endswith("_summary"):
                yield Hit(
                    source.site(call),
                    changed.what,
                    title="put the arguments in today's order",
                    edits=tuple(changed.edits(source)),
                    safe=True,
                    removed=REMOVED,
                )

    examples = (
        Example(
            "values that are joined",
            """\
import tensorflow as tf


def grid(points, ones):
-     both = tf.concat(2, [ones, points])
-     return tf.concat(concat_dim=1, values=[both, both])
+     both = tf.concat([ones, points], axis=2)
+     return tf.concat(axis=1, values=[both, both])
""",
        ),
        Example(
            "values that are split and turned round",
            """\
import tensorflow as tf


def halves(x):
-     left, right = tf.split(1, 2, x)
-     first, last = tf.split(split_dim=0, num_split=2, value=left)
-     return tf.reverse(right, [False, True]), first, last
+     left, right = tf.split(x, axis=1, num_or_size_splits=2)
+     first, last = tf.split(axis=0, num_or_size_splits=2, value=left)
+     return tf.reverse(right, [1]), first, last
""",
        ),
        Example(
            "a cross entropy, in a program of that time",
            """\
import tensorflow as tf


def cost(logits, labels, weights):
-     loss = tf.nn.softmax_cross_entropy_with_logits(logits, labels)
-     return tf.reduce_mean(tf.mul(loss, weights)) + tf.reduce_sum(tf.batch_matmul(logits, labels, adj_x=True))
+     loss = tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=labels)
+     return tf.reduce_mean(tf.multiply(loss, weights)) + tf.reduce_sum(tf.matmul(logits, labels, adjoint_a=True))
""",
        ),
    )
    rejects = (
        Reject(
            "the order of today",
            """\
import tensorflow as tf


def network(x, logits, labels):
    left, right = tf.split(x, 2, 1)
    loss = tf.nn.softmax_cross_entropy_with_logits(labels, logits)
    return tf.concat([left, right], 1), tf.reverse(x, [1]), loss
""",
        ),
        Reject(
            "a name of old in a program of today, which has today's order",
            """\
import tensorflow as tf


def cost(network, pictures, labels):
    with tf.GradientTape() as tape:
        whitened = tf.image.per_image_whitening(tf.reshape(pictures, tf.pack([-1, 8])))
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, network(whitened))
    return tape.gradient(loss, network.variables)
""",
        ),
        Reject(
            "an axis that is not known to be one",
            """\
import tensorflow as tf


def join(first, second):
    return tf.concat(first, second)
""",
        ),
        Reject(
            "functions of the program's own",
            """\
import tensorflow as tf
from shapes import concat


def join(x):
    return concat(1, [x, tf.ones_like(x)])
""",
        ),
    )
