"""`tf.nn.softmax_cross_entropy_with_logits(logits, labels)`: the order of TensorFlow before version 1."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    Replace,
    Subject,
    Symptom,
)

LOSSES = (
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "sparse_softmax_cross_entropy_with_logits",
    "sigmoid_cross_entropy_with_logits",
)
MODULES = ("tensorflow.nn.", "tensorflow.compat.v1.nn.")
SCORES = ("logit", "score", "output", "pred", "pre_activ")
TARGETS = ("label", "target", "y_true", "true_", "truth", "onehot", "one_hot", "gold")


class CrossEntropyByPlace(FixTemplate):
    """A cross entropy of TensorFlow is given logits and labels by their places, in the order of before.

    TensorFlow before version 1 took `(logits, labels)`, version 1 their names only, and today the labels come first:
    depending on the function the call stops, no gradient flows, or the wrong one of the two is taken for probabilities.
    Named, the order no longer matters. Which is which is read from what the program calls them; where that does not say it
    of both, or says that the labels come first, the call is left alone.

    Fix safety: unsafe. Another loss is computed, which is the point.

    References: https://github.com/tensorflow/tensorflow/releases/tag/v1.0.0 (breaking changes to the API);
    https://www.tensorflow.org/api_docs/python/tf/nn/softmax_cross_entropy_with_logits.
    """

    code = "DNF553"
    name = "cross-entropy-by-place"
    family = Family.VERSIONING
    fix_pattern = FixPattern.LOSS_FUNCTION
    message = "`{function}` takes labels before logits, and here `{first}` comes first"
    triggers = LOSSES

    def detect(self, subject: Subject) -> Iterator[Finding]:
        """The calls whose first two arguments are given by place, logits first."""
        source = subject.source
        names = tuple(f"{module}{loss}" for module in MODULES for loss in LOSSES)
        for call in source.all_calls:
            if source.written(call.func) not in names or len(call.args) != 2:
                continue
            first, second = call.args
            if any(each.arg in (None, "labels", "logits") for each in call.keywords) or _kind(first) != "logits":
                continue
            if _kind(second) == "labels":
                site = source.site(call)
                crashed = subject.crash is not None
                yield self.finding(
                    site,
                    symptom=Symptom.CRASH if crashed else Symptom.NONE_OBSERVED,
                    cause="crash" if crashed else "",
                    function=subject.text(source.site(call.func)),
                    first=subject.text(source.site(first)),
                )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        """Both arguments by their names."""
        call = subject.node(finding.site)
        if not isinstance(call, ast.Call):
            yield Decline("the call is not in this file")
            return
        function, first, second = (subject.text(subject.source.site(each)) for each in (call.func, *call.args))
        whole = subject.text(finding.site)
        place = whole.index(first, len(function))
        after = whole.index(second, place + len(first))
        text = f"{whole[:place]}logits={whole[place:after]}labels={whole[after:]}"
        yield self.candidate(finding, "Name logits and labels", Replace(finding.site, text), prior=0.9)

    examples = (
        Example(
            "logits first",
            """\
import tensorflow.compat.v1 as tf

targets = tf.placeholder(tf.float32, [None, 3])
logits = tf.layers.dense(tf.placeholder(tf.float32, [None, 4]), 3)
- loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits, targets, name="loss"))
+ loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=targets, name="loss"))
""",
        ),
    )
    rejects = (
        Reject(
            "the order of today",
            """\
import tensorflow as tf

loss = tf.nn.softmax_cross_entropy_with_logits(labels, logits)
same = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
""",
        ),
        Reject(
            "names that do not tell which is which",
            """\
import tensorflow as tf

loss = tf.nn.softmax_cross_entropy_with_logits(a, b)
other = tf.nn.softmax_cross_entropy_with_logits(y_pred_labels, y_)
""",
        ),
    )


def _kind(expr: ast.expr) -> str | None:
    """Whether an expression is named as the scores of a network or as its labels."""
    node = expr
    while isinstance(node, (ast.Call, ast.Subscript)):
        inner = node.args[0] if isinstance(node, ast.Call) and node.args else getattr(node, "value", None)
        if not isinstance(inner, ast.expr):
            return None
        node = inner
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    scores = any(word in name.lower() for word in SCORES)
    targets = any(word in name.lower() for word in TARGETS)
    return None if scores == targets else "logits" if scores else "labels"
