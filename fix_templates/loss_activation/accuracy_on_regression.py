"""Accuracy is reported for a regression."""

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
    LossUse,
    Reject,
    Site,
    Subject,
    Symptom,
    Task,
    compiled_losses,
    is_compile,
    metric_name,
    reword,
)


class AccuracyOnRegression(FixTemplate):
    """A Keras model with a regression loss and a plain output is compiled with `accuracy`.

    Accuracy counts predictions that equal their targets; real numbers hardly ever do, so it stays at 0 (or at the share
    of targets that happen to be hit) while the model improves. The mean absolute or squared error says how far off the
    predictions are.

    Fix safety: unsafe. Training is the same; the metric's name changes in logs and histories, and places in the same
    file that read the old name are changed with it.

    References: keras.metrics.Accuracy, keras.metrics.MeanAbsoluteError.
    """

    code = "DNF319"
    name = "accuracy-on-regression"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACCURACY_METRIC
    message = "accuracy says nothing about a regression with {loss}"
    triggers = ("accuracy", "acc", "Accuracy", "BinaryAccuracy", "CategoricalAccuracy")

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for site, use in _metrics(subject):
            yield self.finding(
                site,
                symptom=Symptom.VIOLATION,
                confidence=0.85,
                evidence={"metric": "accuracy", "loss": use.name},
                loss=use.name,
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        node = subject.node(finding.site)
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            yield Decline("the metric is not given as a string")
            return
        others = _readers(subject, node)
        if others is None:
            yield Decline("the metric's name is read elsewhere, where accuracy is expected to rise")
            return
        listed = subject.source.parent(node)
        given = {e.value for e in listed.elts if isinstance(e, ast.Constant)} if isinstance(listed, ast.List) else set()
        for name, title, prior in (("mae", "absolute", 0.7), ("mse", "squared", 0.6)):
            if name not in given and not {metric_name(str(g)) for g in given} & {metric_name(name)}:
                edits = [reword(subject, each, str(each.value).replace(node.value, name)) for each in (node, *others)]
                yield self.candidate(finding, f"Report the mean {title} error", *edits, prior=prior)

    examples = (
        Example(
            "the history reads the name",
            """\
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(8, activation="tanh"), keras.layers.Dense(1)])
- model.compile(optimizer="sgd", loss="mean_squared_error", metrics=["accuracy"])
+ model.compile(optimizer="sgd", loss="mean_squared_error", metrics=["mse"])
history = model.fit([[1.0], [2.0]], [[0.3], [0.7]], epochs=2, validation_split=0.5)
- print(history.history["accuracy"], history.history["val_accuracy"])
+ print(history.history["mse"], history.history["val_mse"])
""",
        ),
    )
    rejects = (
        Reject(
            "classification with a squared error",
            """\
import keras
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="softmax")])
model.compile(loss="mse", metrics=["accuracy"])
""",
        ),
        Reject(
            "classification",
            """\
import keras
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, activation="sigmoid")])
model.compile(loss="binary_crossentropy", metrics=["accuracy"])
""",
        ),
        Reject(
            "regression with its own metric",
            """\
import keras
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile(loss="mse", metrics=["mae"])
""",
        ),
    )


ACCURACIES = frozenset(f"keras.metrics.{kind}Accuracy" for kind in ("", "Binary", "Categorical", "SparseCategorical"))


def _metrics(subject: Subject) -> Iterator[tuple[Site, LossUse]]:
    """Accuracy metrics in the `compile` call that chooses a regression loss for a plain output."""
    for component in subject.network.components:
        if component.kind != "metric" or component.name not in ACCURACIES or component.site is None:
            continue
        compiled = _compile(subject, component.site)
        own = compiled_losses(subject, compiled) if compiled is not None else []
        if own and all(_is_regression(use) for use in own):
            yield component.site, own[0]


def _compile(subject: Subject, site: Site) -> ast.Call | None:
    node = subject.node(site)
    call = subject.source.enclosing(node, ast.Call) if node is not None else None
    while call is not None and not is_compile(call):
        call = subject.source.enclosing(call, ast.Call)
    return call


def _is_regression(use: LossUse) -> bool:
    target, activation = use.target, use.activation
    if use.facts.task is not Task.REGRESSION or activation is None:
        return False
    if target is not None and target.integral and target.distinct is not None and target.distinct <= 2:
        return False
    if target is not None and target.row_sums_to_one and target.shape and (target.shape[-1] or 0) > 1:
        return False
    return activation.name in ("linear", "relu", "leaky_relu", "elu", "softplus", "selu")


def _readers(subject: Subject, metric: ast.Constant) -> list[ast.Constant] | None:
    """The other places that name the metric as a key; `None` where one of them counts on accuracy as such."""
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
