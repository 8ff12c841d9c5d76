"""`tf.nn.dropout(x, keep_prob=p)`: the share that is kept, where today's function takes the share that is dropped."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    ApiChange,
    Example,
    Hit,
    Reject,
    RenameArgument,
    SetArgument,
    Subject,
    uses_of,
)
from dnnfix.detect.versioning.migration import Claims
from dnnfix_legacy.graphs.dropped_share import dropped_share
from dnnfix_legacy.graphs.programs import graph_of

FUNCTIONS = frozenset({"tensorflow.nn.dropout", "tensorflow.keras.backend.dropout"})


class DropoutShareKept(ApiChange):
    """TensorFlow 1 was told which share of the units dropout keeps, TensorFlow 2 which share it drops.

    The call stops with an unexpected `keep_prob`; `rate` is one minus it. A share given by place is not touched: in a
    program of TensorFlow 2 it is the rate already.

    Fix safety: safe: the same units are dropped.

    References: https://www.tensorflow.org/api_docs/python/tf/nn/dropout.
    """

    code = "DNF542"
    name = "dropout-share-kept"
    triggers = ("keep_prob",)

    def claims(self, subject: Subject) -> Claims:
        """The keyword, whichever function it is given to."""
        return Claims(frozenset({"keep_prob"}))

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The keywords, where no graph is kept that takes them."""
        source = subject.source
        graph = graph_of(source)
        if "keep_prob" not in source.words or graph is not None and graph.edits:
            return
        for call in uses_of(source).calls():
            keyword = next((k for k in call.keywords if k.arg == "keep_prob"), None)
            if keyword is None or source.written(call.func) not in FUNCTIONS:
                continue
            site = source.site(call)
            rate = dropped_share(keyword.value, source.segment(source.site(keyword.value)))
            given = any(k.arg == "rate" for k in call.keywords)
            yield Hit(
                source.site(keyword),
                "dropout is told the share that it drops since TensorFlow 2.0, rate, and not keep_prob",
                title="give the rate that is dropped",
                edits=()
                if given
                else (SetArgument(site, "keep_prob", rate), RenameArgument(site, "keep_prob", "rate")),
                decline="rate is given too" if given else "",
                safe=True,
                removed={"tensorflow": "2.0"},
                within=site,
            )

    examples = (
        Example(
            "a number",
            """\
import tensorflow as tf

- hidden = tf.nn.dropout(tf.ones([2, 8]), keep_prob=0.8)
+ hidden = tf.nn.dropout(tf.ones([2, 8]), rate=0.2)
""",
        ),
        Example(
            "an argument of a function",
            """\
import tensorflow as tf


@tf.function
def network(x, keep_prob):
-     return tf.nn.dropout(tf.nn.relu(x), keep_prob=keep_prob, seed=1)
+     return tf.nn.dropout(tf.nn.relu(x), rate=1 - keep_prob, seed=1)
""",
        ),
    )
    rejects = (
        Reject(
            "the rate by place",
            """\
import tensorflow as tf

hidden = tf.nn.dropout(tf.ones([2, 8]), 0.2)
""",
        ),
        Reject(
            "a graph under compat.v1",
            """\
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32)
hidden = tf.nn.dropout(x, keep_prob=0.8)
""",
        ),
        Reject(
            "a keyword of the program's own",
            """\
import tensorflow as tf


def build(keep_prob):
    return tf.keras.layers.Dropout(1 - keep_prob)


layer = build(keep_prob=0.5)
""",
        ),
    )
