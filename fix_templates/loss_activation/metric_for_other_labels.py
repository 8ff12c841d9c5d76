"""A metric compares labels and predictions of another form than the model's."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Component,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    LossUse,
    Reject,
    Replace,
    Site,
    Subject,
    Symptom,
    Target,
    Task,
    loss_uses,
    rename,
)


class MetricForOtherLabels(FixTemplate):
    """A Keras accuracy of one kind is reported for labels of another.

    `keras.metrics.Accuracy()` counts where predictions equal labels exactly: probabilities never do. `BinaryAccuracy`
    over several exclusive classes counts every class that was rightly not chosen. `CategoricalAccuracy` takes one-hot
    rows and `SparseCategoricalAccuracy` class indices. The string `"accuracy"` lets Keras choose by itself.

    Fix safety: unsafe. Training is the same; the metric counts something else, and its name in the logs may change.

    References: keras.metrics.Accuracy ("calculates how often predictions equal labels"), keras.metrics.BinaryAccuracy,
    keras.metrics.SparseCategoricalAccuracy.
    """

    code = "DNF321"
    name = "metric-for-other-labels"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACCURACY_METRIC
    message = "{metric} does not count what {loss} trains: it {what}"
    triggers = (
        "Accuracy",
        "BinaryAccuracy",
        "CategoricalAccuracy",
        "SparseCategoricalAccuracy",
        "binary_accuracy",
        "categorical_accuracy",
        "sparse_categorical_accuracy",
    )

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for site, component, use, what, _ in _misfits(subject):
            short = component.name.rpartition(".")[2]
            yield self.finding(
                site,
                symptom=Symptom.VIOLATION,
                confidence=0.9,
                evidence={"metric": short, "loss": use.name},
                metric=short,
                loss=use.name,
                what=what,
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        found = next((item for item in _misfits(subject) if item[0] == finding.site), None)
        node = subject.node(finding.site)
        if found is None or node is None:
            yield Decline("the metric is not found again")
            return
        right = found[4]
        if isinstance(node, ast.Constant):
            quote = subject.source.segment(finding.site)[-1]
            edit = Replace(finding.site, f"{quote}{_SNAKE[right]}{quote}")
            yield self.candidate(finding, f"Report {_SNAKE[right]}", edit, prior=0.85)
            return
        edits = rename(subject, node.func, f"keras.metrics.{right}") if isinstance(node, ast.Call) else None
        if edits is None:
            yield Decline("the metric is not made at one place")
            return
        yield self.candidate(finding, f"Report {right}", *edits, prior=0.85)

    examples = (
        Example(
            "Accuracy object on probabilities",
            before="""\
import keras

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile(loss="sparse_categorical_crossentropy", metrics=[keras.metrics.Accuracy()])
""",
            after="""\
import keras

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile(loss="sparse_categorical_crossentropy", metrics=[keras.metrics.SparseCategoricalAccuracy()])
""",
        ),
        Example(
            "binary accuracy over classes",
            before="""\
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(5, activation='softmax', input_shape=(4,))])
model.compile(loss='categorical_crossentropy', optimizer='adam', metrics=['binary_accuracy'])
""",
            after="""\
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(5, activation='softmax', input_shape=(4,))])
model.compile(loss='categorical_crossentropy', optimizer='adam', metrics=['categorical_accuracy'])
""",
        ),
        Example(
            "one-hot metric for class indices",
            before="""\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3)])
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer="adam", loss=loss, metrics=[tf.keras.metrics.CategoricalAccuracy()])
""",
            after="""\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3)])
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer="adam", loss=loss, metrics=[tf.keras.metrics.SparseCategoricalAccuracy()])
""",
        ),
    )
    rejects = (
        Reject(
            "Keras chooses",
            """\
import keras
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile(loss="sparse_categorical_crossentropy", metrics=["accuracy"])
""",
        ),
        Reject(
            "matching kinds",
            """\
import keras
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
model.compile(loss="binary_crossentropy", metrics=["binary_accuracy"])
""",
        ),
    )


_SNAKE = {
    "BinaryAccuracy": "binary_accuracy",
    "CategoricalAccuracy": "categorical_accuracy",
    "SparseCategoricalAccuracy": "sparse_categorical_accuracy",
}
_TAKES = {
    "Accuracy": "counts exact equality",
    "BinaryAccuracy": "counts each class by itself",
    "CategoricalAccuracy": "takes one-hot rows",
    "SparseCategoricalAccuracy": "takes class indices",
}
_RIGHT = {
    Target.INDICES: "SparseCategoricalAccuracy",
    Target.ONE_HOT: "CategoricalAccuracy",
    Target.BINARY: "BinaryAccuracy",
}

Misfit = tuple[Site, Component, LossUse, str, str]


def _misfits(subject: Subject) -> Iterator[Misfit]:
    uses = [use for use in loss_uses(subject) if use.call.name.startswith("keras.losses.")]
    for component in subject.network.components:
        short = component.name.rpartition(".")[2]
        if component.kind != "metric" or component.name != f"keras.metrics.{short}" or short not in _TAKES:
            continue
        node = subject.node(component.site)
        if component.site is None or component.site.path or (short == "Accuracy" and not isinstance(node, ast.Call)):
            continue
        compiled = subject.source.enclosing(node, ast.Call) if node is not None else None
        if compiled is None or not isinstance(compiled.func, ast.Attribute) or compiled.func.attr != "compile":
            continue
        own = [use for use in uses if _belongs(subject, use, compiled)]
        if len(own) != 1 or own[0].facts.task not in (Task.CLASSES, Task.LABELS) or own[0].crashed:
            continue
        right = _RIGHT.get(own[0].facts.target)
        binary = right == "BinaryAccuracy" and short in ("CategoricalAccuracy", "SparseCategoricalAccuracy")
        if right is not None and right != short and not (binary and own[0].width != 1):
            yield component.site, component, own[0], _TAKES[short], right


def _belongs(subject: Subject, use: LossUse, compiled: ast.Call) -> bool:
    """Whether the loss is chosen in this `compile` call, or in the one place that its `loss` argument names."""
    chosen = subject.node(use.call.made_at)
    if chosen is None:
        return False
    if subject.source.site(compiled).encloses(subject.source.site(chosen)):
        return True
    given = next((k.value for k in compiled.keywords if k.arg == "loss"), None)
    return given is not None and subject.source.bindings(given) == (chosen,)
