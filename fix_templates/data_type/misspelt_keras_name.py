"""A loss, an optimizer, a metric or another setting is named to Keras by a text that it does not know."""

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
"""The metrics that Keras knows by name, without those that are too short to be what a slip was meant for."""


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
"""The names that Keras takes as text, by what its message calls them."""

OF_OTHERS = words(
    """median_absolute_error mean_absolute_scaled_error adabelief adabound adahessian adamod adamp adan asgd crelu lamb lars log_loss madgrad mbe mpe mre nag nll prelu
    qhadam radam rmse rprop rrelu sgdm sgdp sgdw smape softmin wmape yogi"""
)
"""Names of losses, optimizers and activations that other libraries have: they are no slip of a name that is like them."""

IDENTIFIER = re.compile(r"Could not interpret ([\w ]+?) identifier: (.+)", re.DOTALL)

ONE_OF = re.compile(r"one of:? [\[({](?P<known>[^\])}]*)[\])}]")

RECEIVED = re.compile(r"Received:? (?:\w+=)?(['\"]?)(?P<text>\w[\w -]*)\1(?:[.\s]|$)")

MONITOR = re.compile(r"callback received monitor=(.+?), but Keras isn't able")


class MisspeltKerasName(CrashTemplate):
    """A loss, an optimizer, a metric or another setting is named to Keras by a text that it does not know.

    Keras finds what it is told by a text under exactly this text: `categorial_crossentropy`, `Binary Crossentropy` and
    `rleu` are names of nothing. The message says of which kind the name should have been, and where one name of that
    kind is near, and no other, it is written in its place, wherever the program says it. A metric that a callback
    monitors is one of those that `compile` lists.

    Fix safety: unsafe. The program could not run before.

    References: keras.losses.get, keras.optimizers.get, keras.metrics.get, keras.activations.get.
    """

    code = "DNF631"
    name = "misspelt-keras-name"
    message = "Keras does not know {wrong!r}, it knows {right!r}"
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
    """The name that a message complains of, and the one that it stands for."""
    said = IDENTIFIER.search(message)
    if said is not None:
        wrong, known = said[2].rstrip("\n"), KNOWN.get(said[1], frozenset())
    elif (said := MONITOR.search(message)) is not None:
        wrong, known = said[1], _logged(source)
        if wrong.removeprefix("val_") in METRICS:
            return None  # another metric, which nothing asks for
    else:
        listed, said = ONE_OF.search(message), RECEIVED.search(message)
        if listed is None or said is None:
            return None
        wrong, known = said["text"], frozenset(re.findall(r"['\"]([^'\"]+)['\"]", listed["known"]))
    right = spelling.nearest(wrong, known) if wrong.strip().lower() not in OF_OTHERS else None
    return (wrong, right) if right is not None and right != wrong else None


def _logged(source: Source) -> frozenset[str]:
    """The names under which a program's `fit` logs its loss and the metrics that `compile` lists as text."""
    names = {"loss"}
    for call in source.all_calls:
        metrics = keyword_value(call, "metrics") if compile_calls.is_compile(call) else None
        if metrics is not None:
            names |= {one.value for one in within(metrics, ast.Constant) if isinstance(one.value, str)}
    return frozenset(names | {f"val_{name}" for name in names})


def _says(source: Source, node: ast.Constant, wrong: str) -> bool:
    """Whether a text is the name, or the same one in other letters where Keras took them for small ones."""
    if not isinstance(node.value, str) or isinstance(source.parent(node), (ast.Expr, ast.JoinedStr)):
        return False
    if node.value == wrong or _is_validated(node, wrong):
        return True
    return wrong.islower() and node.value.lower() == wrong and isinstance(source.parent(node), ast.keyword)


def _is_validated(node: ast.Constant, wrong: str) -> bool:
    return isinstance(node.value, str) and node.value == f"val_{wrong}"
