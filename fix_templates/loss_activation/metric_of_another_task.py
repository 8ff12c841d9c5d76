"""A Keras accuracy does not fit the labels and predictions of its model, or is reported for a regression."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Decline,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Repair,
    Subject,
    compile_calls,
    loss_edits,
    network_facts,
    recipes,
    tensor_values,
)

TAKES = {
    "Accuracy": "counts exact equality",
    "BinaryAccuracy": "counts each class by itself",
    "CategoricalAccuracy": "expects one-hot rows",
    "SparseCategoricalAccuracy": "expects class indices",
}
"""The accuracies of Keras, and what each expects or counts."""

RIGHT = {
    network_facts.Target.INDICES: "SparseCategoricalAccuracy",
    network_facts.Target.ONE_HOT: "CategoricalAccuracy",
    network_facts.Target.BINARY: "BinaryAccuracy",
}
"""The accuracy for each kind of target."""


class MetricOfAnotherTask(ReadTemplate):
    """A Keras accuracy of one kind is reported for labels of another, or for a regression.

    `keras.metrics.Accuracy()` counts predictions that equal labels exactly: probabilities and real numbers hardly ever
    do, so it stays at 0 while the model improves; a regression needs the mean absolute or squared error.
    `BinaryAccuracy` over several exclusive classes counts every class that was rightly not chosen.
    `CategoricalAccuracy` expects one-hot rows and `SparseCategoricalAccuracy` class indices. The string `"accuracy"`
    lets Keras choose.

    Fix safety: unsafe. Training is the same; the metric counts something else, and its name in logs and histories may
    change. Where it becomes an error, subscripts in the same file that read the old name are changed with it.

    References: keras.metrics.Accuracy ("calculates how often predictions equal labels"), keras.metrics.BinaryAccuracy,
    keras.metrics.SparseCategoricalAccuracy, keras.metrics.MeanAbsoluteError.
    """

    code = "DNF319"
    name = "metric-of-another-task"
    formerly = ("accuracy-on-regression", "DNF321", "metric-for-other-labels")
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACCURACY_METRIC
    message = "the metric does not fit the task: {what}"
    triggers = (
        "accuracy",
        "acc",
        "Accuracy",
        "BinaryAccuracy",
        "CategoricalAccuracy",
        "SparseCategoricalAccuracy",
        "binary_accuracy",
        "categorical_accuracy",
        "sparse_categorical_accuracy",
    )
    declined = "the metric cannot be changed in one place"

    def read(self, subject: Subject) -> Iterator[Fault]:
        for component in subject.network.components:
            short = component.name.rpartition(".")[2]
            node = subject.node(component.site) if component.name == f"keras.metrics.{short}" else None
            if component.kind != "metric" or short not in TAKES or node is None:
                continue
            around = compiled = subject.source.enclosing(node, ast.Call)
            while compiled is not None and not compile_calls.is_compile(compiled):
                compiled = subject.source.enclosing(compiled, ast.Call)
            own = compile_calls.compiled_losses(subject, compiled) if compiled is not None else []
            if own and all(_is_regression(use) for use in own):
                what = f"accuracy does not measure a regression with {own[0].name}"
                ways, declined = _as_errors(subject, node)
                yield Fault(component.site, what, (*ways, Decline(declined)), {"metric": short}, confidence=0.85)
            elif len(own) == 1 and compiled is around and (short != "Accuracy" or isinstance(node, ast.Call)):
                right = _right(own[0], short)
                if right is not None:
                    what = f"{short} does not measure what {own[0].name} trains: it {TAKES[short]}"
                    yield Fault(component.site, what, _as_right(subject, node, right), {"right": right})

    programs = """
=== example: the history reads the name
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(8, activation="tanh"), keras.layers.Dense(1)])
- model.compile(optimizer="sgd", loss="mean_squared_error", metrics=["accuracy"])
+ model.compile(optimizer="sgd", loss="mean_squared_error", metrics=["mse"])
history = model.fit([[1.0], [2.0]], [[0.3], [0.7]], epochs=2, validation_split=0.5)
- print(history.history["accuracy"], history.history["val_accuracy"])
+ print(history.history["mse"], history.history["val_mse"])

=== example: binary accuracy over classes
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(5, activation='softmax', input_shape=(4,))])
- model.compile(loss='categorical_crossentropy', optimizer='adam', metrics=['binary_accuracy'])
+ model.compile(loss='categorical_crossentropy', optimizer='adam', metrics=['categorical_accuracy'])

=== example: one-hot metric for class indices
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3)])
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
- model.compile(optimizer="adam", loss=loss, metrics=[tf.keras.metrics.CategoricalAccuracy()])
+ model.compile(optimizer="adam", loss=loss, metrics=[tf.keras.metrics.SparseCategoricalAccuracy()])

=== reject: classification with a squared error
import keras
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="softmax")])
model.compile(loss="mse", metrics=["accuracy"])

=== reject: classification
import keras
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, activation="sigmoid")])
model.compile(loss="binary_crossentropy", metrics=["accuracy"])

=== reject: regression with its own metric
import keras
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile(loss="mse", metrics=["mae"])

=== reject: Keras chooses
import keras
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile(loss="sparse_categorical_crossentropy", metrics=["accuracy"])

=== reject: matching kinds
import keras
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
model.compile(loss="binary_crossentropy", metrics=["binary_accuracy"])
"""


def _right(use: tensor_values.LossUse, metric: str) -> str | None:
    """The accuracy that fits a loss, if `metric` does not."""
    if use.facts.task not in (network_facts.Task.CLASSES, network_facts.Task.LABELS) or use.crashed:
        return None
    right = RIGHT.get(use.facts.target)
    several = right == "BinaryAccuracy" and metric in ("CategoricalAccuracy", "SparseCategoricalAccuracy")
    return None if right == metric or (several and use.width != 1) else right


def _as_right(subject: Subject, node: ast.AST, right: str) -> tuple[Repair, ...]:
    """The repair to the accuracy that fits, written in the same form as the old one."""
    if isinstance(node, ast.Constant):
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", right).lower()
        return ((f"Report {name}", (recipes.reword(subject, node, name),), 0.85),)
    edits = loss_edits.rename(subject, node.func, f"keras.metrics.{right}") if isinstance(node, ast.Call) else None
    return ((f"Report {right}", edits, 0.85),)


def _is_regression(use: tensor_values.LossUse) -> bool:
    target, activation = use.target, use.activation
    if use.facts.task is not network_facts.Task.REGRESSION or activation is None:
        return False
    if target is not None and target.integral and target.distinct is not None and target.distinct <= 2:
        return False
    if target is not None and target.row_sums_to_one and target.shape and (target.shape[-1] or 0) > 1:
        return False
    return activation.name in ("linear", "relu", "leaky_relu", "elu", "softplus", "selu")


def _as_errors(subject: Subject, node: ast.AST) -> tuple[tuple[Repair, ...], str]:
    """The repairs to an error for regressions that is not reported yet; else the reason why there is none."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return (), "the metric is not written as a string"
    others = _readers(subject, node)
    if others is None:
        return (), "the metric's name is read elsewhere, where accuracy is expected to rise"
    listed = subject.source.parent(node)
    given = {e.value for e in listed.elts if isinstance(e, ast.Constant)} if isinstance(listed, ast.List) else set()
    ways = [
        (
            f"Report the mean {title} error",
            tuple(recipes.reword(subject, each, str(each.value).replace(node.value, name)) for each in (node, *others)),
            prior,
        )
        for name, title, prior in (("mae", "absolute", 0.7), ("mse", "squared", 0.6))
        if name not in given
        and network_facts.metric_name(name) not in {network_facts.metric_name(str(g)) for g in given}
    ]
    return tuple(ways), ""


def _readers(subject: Subject, metric: ast.Constant) -> list[ast.Constant] | None:
    """Subscripts that read the metric by its name; `None` where a monitor depends on it being an accuracy."""
    found: list[ast.Constant] = []
    for node in ast.walk(subject.source.tree):
        if not isinstance(node, ast.Constant) or node is metric or not isinstance(node.value, str):
            continue
        if node.value.removeprefix("val_") != metric.value:
            continue
        parent = subject.source.parent(node)
        if isinstance(parent, ast.Subscript):
            found.append(node)
        elif isinstance(parent, ast.keyword) and parent.arg == "monitor":
            return None
    return found
