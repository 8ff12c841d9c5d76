"""Keras is passed an unknown name of a loss, an optimizer, a metric or another setting."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Fault,
    FixPattern,
    Source,
    Subject,
    compile_calls,
    keyword_value,
    network_facts,
    recipes,
    spelling,
    within,
    words,
)

METRICS = frozenset(network_facts.METRIC_STRINGS) - words("Mean Sum mean sum")
"""The metrics that Keras knows by name, without those too short to compare."""


def _both(text: str) -> frozenset[str]:
    """The names of classes, each also in the spelling of a function."""
    return frozenset(spelled for name in words(text) for spelled in (name, network_facts.snake(name)))


KNOWN = {
    "loss": frozenset(network_facts.LOSS_STRINGS) - network_facts.OLD_LOSS_STRINGS,
    "metric": METRICS,
    "optimizer": frozenset(network_facts.OPTIMIZER_STRINGS) - {"lamb"},
    "activation function": frozenset(
        form.rpartition(".")[2] for form in network_facts.ACTIVATION_FORMS if form.startswith("keras.activations.")
    )
    | {"sparsemax"},
    "initializer": words("normal uniform")
    | _both(
        """GlorotNormal GlorotUniform HeNormal HeUniform Identity LecunNormal LecunUniform Ones Orthogonal RandomNormal
        RandomUniform TruncatedNormal VarianceScaling Zeros"""
    ),
    "regularizer": words("L1 L2 L1L2 l1 l2 l1l2"),
    "constraint": _both("MaxNorm MinMaxNorm NonNeg UnitNorm"),
}
"""The names that Keras accepts as strings, by their kind in its message."""

OF_OTHERS = words(
    """median_absolute_error mean_absolute_scaled_error adabelief adabound adahessian adamod adamp adan asgd crelu lamb lars log_loss madgrad mbe mpe mre nag nll prelu
    qhadam radam rmse rprop rrelu sgdm sgdp sgdw smape softmin wmape yogi"""
)
"""Losses, optimizers and activations of other libraries, which are not misspellings."""

IDENTIFIER = re.compile(r"Could not interpret ([\w ]+?) identifier: (.+)", re.DOTALL)

ONE_OF = re.compile(r"one of:? [\[({](?P<known>[^\])}]*)[\])}]")

RECEIVED = re.compile(r"Received:? (?:\w+=)?(['\"]?)(?P<text>\w[\w -]*)\1(?:[.\s]|$)")

MONITOR = re.compile(r"callback received monitor=(.+?), but Keras isn't able")


class MisspeltKerasName(CrashTemplate):
    """Keras is passed an unknown name of a loss, an optimizer, a metric or another setting.

    `categorial_crossentropy`, `Binary Crossentropy` and `rleu` are not names that Keras knows. The message shows the
    kind of name; if exactly one name of that kind is close, it replaces the wrong one everywhere in the program. A
    metric monitored by a callback is one of those passed to `compile`.

    Fix safety: unsafe. The program could not run before.

    References: keras.losses.get, keras.optimizers.get, keras.metrics.get, keras.activations.get.
    """

    code = "DNF631"
    name = "misspelt-keras-name"
    message = "Keras does not know {wrong!r}: did you mean {right!r}?"
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"ValueError"})
    confidence = 0.9

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        read = _read(subject.source, crash.message)
        if read is None:
            return
        wrong, right = read
        nodes = [node for node in subject.source.nodes(ast.Constant) if _says(subject.source, node, wrong)]
        if not nodes:
            return
        edits: tuple[Edit, ...] = tuple(
            recipes.reword(subject, node, f"{'val_' if _is_validated(node, wrong) else ''}{right}") for node in nodes
        )
        site = subject.source.site(nodes[0])
        yield Fault(site, {"wrong": wrong, "right": right}, ((f"Rename it to {right!r}", edits, 0.9),))

    programs = """
=== example: a loss without one of its letters
import keras
import numpy as np

x, y = np.random.rand(12, 4), np.eye(3)[np.arange(12) % 3]
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
- net.compile(optimizer="sgd", loss="categorial_crossentropy")
+ net.compile(optimizer="sgd", loss="categorical_crossentropy")
net.fit(x, y, verbose=0)

=== example: a padding
import keras
import numpy as np

- net = keras.Sequential([keras.Input((6, 6, 1)), keras.layers.Conv2D(2, 3, padding="Sane")])
+ net = keras.Sequential([keras.Input((6, 6, 1)), keras.layers.Conv2D(2, 3, padding="same")])
print(net.predict(np.ones((2, 6, 6, 1)), verbose=0).shape)

=== example: what a callback monitors
import keras
import numpy as np

x, y = np.random.rand(12, 4), np.arange(12) % 2
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
net.compile("adam", "binary_crossentropy", metrics=["accuracy"])
- stop = keras.callbacks.EarlyStopping(monitor="val_accurracy", patience=2)
+ stop = keras.callbacks.EarlyStopping(monitor="val_accuracy", patience=2)
net.fit(x, y, validation_split=0.25, callbacks=[stop], verbose=0)

=== reject: a callback that monitors another metric, which is written alike
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", "mse", metrics=["mae"])
stop = keras.callbacks.EarlyStopping(monitor="val_mape")
net.fit(np.ones((8, 4)), np.ones(8), validation_split=0.25, callbacks=[stop], verbose=0)

=== reject: an optimizer of another library
import keras

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("radam", "mse")

=== reject: a name that two known ones are as near to
import keras

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, activation="xelu")])

=== reject: names that Keras knows
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, activation="relu", kernel_initializer="he_normal")])
net.compile("sgd", "mean_squared_error", metrics=["mae"])
net.fit(np.ones((8, 4)), np.ones(8), verbose=0)
"""


def _read(source: Source, message: str) -> tuple[str, str] | None:
    """The unknown name in a message, and the name that is meant."""
    said = IDENTIFIER.search(message)
    if said is not None:
        wrong, known = said[2].rstrip("\n"), KNOWN.get(said[1], frozenset())
    elif (said := MONITOR.search(message)) is not None:
        wrong, known = said[1], _logged(source)
        if wrong.removeprefix("val_") in METRICS:
            return None  # a metric that is not compiled
    else:
        listed, said = ONE_OF.search(message), RECEIVED.search(message)
        if listed is None or said is None:
            return None
        wrong, known = said["text"], frozenset(re.findall(r"['\"]([^'\"]+)['\"]", listed["known"]))
    right = spelling.nearest(wrong, known) if wrong.strip().lower() not in OF_OTHERS else None
    return (wrong, right) if right is not None and right != wrong else None


def _logged(source: Source) -> frozenset[str]:
    """The names of the loss and the metrics that `fit` logs."""
    names = {"loss"}
    for call in source.all_calls:
        metrics = keyword_value(call, "metrics") if compile_calls.is_compile(call) else None
        if metrics is not None:
            names |= {one.value for one in within(metrics, ast.Constant) if isinstance(one.value, str)}
    return frozenset(names | {f"val_{name}" for name in names})


def _says(source: Source, node: ast.Constant, wrong: str) -> bool:
    """Whether a string is the name, also in other capitals if Keras lowered it."""
    if not isinstance(node.value, str) or isinstance(source.parent(node), (ast.Expr, ast.JoinedStr)):
        return False
    if node.value == wrong or _is_validated(node, wrong):
        return True
    return wrong.islower() and node.value.lower() == wrong and isinstance(source.parent(node), ast.keyword)


def _is_validated(node: ast.Constant, wrong: str) -> bool:
    return isinstance(node.value, str) and node.value == f"val_{wrong}"
