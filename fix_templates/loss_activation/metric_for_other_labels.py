"""A metric compares labels and predictions of another form than the model's."""

from __future__ import annotations

import ast
from typing import NamedTuple

from dnnfix.api import (
    Decline,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    LossUse,
    Reject,
    Repairs,
    Site,
    Subject,
    Symptom,
    Target,
    Task,
    compiled_losses,
    is_compile,
    rename,
    reword,
)


class Misfit(NamedTuple):
    """A metric, named or made at `node`, with the loss it is reported for and the metric that goes with that loss."""

    node: ast.expr | ast.stmt
    metric: str
    use: LossUse
    right: str


class MetricForOtherLabels(FaultTemplate[Misfit]):
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

    declined = "the metric is not found again"

    def faults(self, subject: Subject) -> Faults[Misfit]:
        for component in subject.network.components:
            short = component.name.rpartition(".")[2]
            if component.kind != "metric" or component.name != f"keras.metrics.{short}" or short not in _TAKES:
                continue
            node = subject.node(component.site)
            compiled = subject.source.enclosing(node, ast.Call) if node is not None else None
            if node is None or compiled is None or not is_compile(compiled):
                continue
            own = compiled_losses(subject, compiled)
            if (short == "Accuracy" and not isinstance(node, ast.Call)) or len(own) != 1:
                continue
            right = _right(own[0], short)
            if right is not None:
                yield component.site, Misfit(node, short, own[0], right)

    def report(self, site: Site, fault: Misfit) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.VIOLATION,
            confidence=0.9,
            evidence={"metric": fault.metric, "loss": fault.use.name},
            metric=fault.metric,
            loss=fault.use.name,
            what=_TAKES[fault.metric],
        )

    def repairs(self, subject: Subject, fault: Misfit) -> Repairs:
        node, right = fault.node, fault.right
        if isinstance(node, ast.Constant):
            yield f"Report {_SNAKE[right]}", (reword(subject, node, _SNAKE[right]),), 0.85
        elif isinstance(node, ast.Call):
            yield f"Report {right}", rename(subject, node.func, f"keras.metrics.{right}"), 0.85
        yield Decline("the metric is not made at one place")

    examples = (
        Example(
            "binary accuracy over classes",
            """\
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(5, activation='softmax', input_shape=(4,))])
- model.compile(loss='categorical_crossentropy', optimizer='adam', metrics=['binary_accuracy'])
+ model.compile(loss='categorical_crossentropy', optimizer='adam', metrics=['categorical_accuracy'])
""",
        ),
        Example(
            "one-hot metric for class indices",
            """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3)])
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
- model.compile(optimizer="adam", loss=loss, metrics=[tf.keras.metrics.CategoricalAccuracy()])
+ model.compile(optimizer="adam", loss=loss, metrics=[tf.keras.metrics.SparseCategoricalAccuracy()])
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


def _right(use: LossUse, metric: str) -> str | None:
    """The accuracy that goes with a loss, where it is another one than `metric`, which says nothing of that loss."""
    if use.facts.task not in (Task.CLASSES, Task.LABELS) or use.crashed:
        return None
    right = _RIGHT.get(use.facts.target)
    several = right == "BinaryAccuracy" and metric in ("CategoricalAccuracy", "SparseCategoricalAccuracy")
    return None if right == metric or (several and use.width != 1) else right
