"""A key is read from the history of a Keras training that `fit` does not log."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Family,
    Fault,
    FixPattern,
    SetArgument,
    Source,
    Subject,
    argument_value,
    compile_calls,
    held_values,
    keyword_value,
    network_facts,
    origins,
    recipes,
    spelling,
    words,
)

MEANINGS = (
    words("acc accuracy binary_accuracy categorical_accuracy sparse_categorical_accuracy"),
    words("f1 f1_score"),
    *map(frozenset, network_facts.METRIC_ALIASES.items()),
)
"""Names of one metric."""

ERRORS = frozenset(
    name for pair in network_facts.METRIC_ALIASES.items() if pair[0] in ("mae", "mse", "mape") for name in pair
)

MEASURES = frozenset(map(str.lower, network_facts.METRIC_STRINGS)).difference(MEANINGS[0]) | words(
    "auroc roc_auc f1 iou mean_iou rmse r2 kld median_absolute_error"
)
"""Metrics in their own right: never taken for a misspelling of a similar name (`auc`, `acc`)."""

WATCHERS = ("ReduceLROnPlateau", "LearningRateScheduler")
"""Callbacks that log the learning rate, in Keras 3 as `learning_rate`."""

TRAINING = re.compile(r"train(?:ing)?|tr|trn", re.IGNORECASE)

HELD_OUT = ("val", "valid", "validation", "dev", "test", "testing")
"""Words in names of held-out data, the likeliest to be meant for validation first."""

PRE = "val_"


@dataclass(frozen=True, slots=True)
class Training:
    """The `fit` and the `compile` behind a history, and the logged metrics; `None` where they are not known."""

    fit: ast.Call
    compiled: ast.Call
    logged: frozenset[str] | None


class HistoryLacksKey(CrashTemplate):
    """`history.history["val_acc"]` raises `KeyError`: `fit` logs only the loss and the compiled metrics.

    Each is logged again as `val_…` where `fit` has validation data. The missing key has one of three causes:

    - A logged metric has another name: the key becomes that name.
    - There is no validation: `fit` gets the held-out data whose names match the training data (`x_train`, `x_test`),
      else `validation_split=0.2`.
    - The metric is not compiled: `compile` gets accuracy for a cross-entropy, or the error that the key names for other
      losses.

    Fix safety: unsafe. A validation leaves the weights alone, but `validation_split` takes a fifth of the training
    data.

    References: keras.Model.fit (`validation_data`, `validation_split`), keras.Model.compile (`metrics`).
    """

    code = "DNF722"
    name = "history-lacks-key"
    message = "the history has no key {key!r}: this training does not log it"
    family = Family.TRAINING
    fix_pattern = FixPattern.MONITOR
    kinds = frozenset({"KeyError"})
    confidence = 0.9

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        node = subject.node(crash.site)
        key = re.fullmatch(r"'(\w+)'", crash.message.strip())
        if not isinstance(node, ast.Subscript) or key is None:
            return
        training = _training(subject, node.value)
        if training is None:
            return
        title, edits = _repair(subject, training, key[1]) or ("", ())
        if edits:
            yield Fault(subject.source.site(node), {"key": key[1]}, ((title, edits, 0.9),))

    programs = """
=== example: a validation that the training has no data for
import keras
import numpy as np

x, y = np.random.rand(20, 4), np.arange(20) % 2
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
net.compile("adam", "binary_crossentropy", metrics=["accuracy"])
- past = net.fit(x, y, verbose=0)
+ past = net.fit(x, y, verbose=0, validation_split=0.2)
print(past.history["val_accuracy"])

=== example: data that are kept for a test
import keras
import numpy as np


def curves(log):
    for name in ("loss", "val_loss"):
        print(name, log[name])


def train(x_train, y_train, x_test, y_test):
    net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    net.compile("adam", "mse")
-     past = net.fit(x_train, y_train, verbose=0)
+     past = net.fit(x_train, y_train, verbose=0, validation_data=(x_test, y_test))
    print(net.evaluate(x_test, y_test, verbose=0))
    return past


data = np.random.rand(24, 4)
answers = data.sum(1)
curves(train(data[:16], answers[:16], data[16:], answers[16:]).history)

=== example: a metric that is not compiled
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
- net.compile(optimizer="sgd", loss=keras.losses.SparseCategoricalCrossentropy())
+ net.compile(optimizer="sgd", loss=keras.losses.SparseCategoricalCrossentropy(), metrics=["accuracy"])
log = net.fit(np.random.rand(12, 4), np.arange(12) % 3, verbose=0).history
print(log["accuracy"][-1])

=== example: a metric under another of its names
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
net.compile("sgd", "sparse_categorical_crossentropy", metrics=[keras.metrics.SparseCategoricalAccuracy()])
past = net.fit(np.random.rand(12, 4), np.arange(12) % 3, validation_split=0.25, verbose=0)
- print(past.history["accuracy"], past.history["val_accuracy"])
+ print(past.history["sparse_categorical_accuracy"], past.history["val_sparse_categorical_accuracy"])

=== reject: another metric that is written alike
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
net.compile("adam", "binary_crossentropy", metrics=["acc"])
past = net.fit(np.ones((8, 4)), np.ones(8), verbose=0)
print(past.history["auc"])

=== reject: accuracy of logits, which should not be compared with 0.5
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
past = net.fit(np.ones((8, 4)), np.ones(8), verbose=0)
print(past.history["accuracy"])

=== reject: a dictionary of the program
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
net.fit(np.ones((8, 4)), np.ones(8), verbose=0)
results = {"loss": 1.0}
print(results["val_loss"])

=== reject: accuracy of a regression
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
past = net.fit(np.ones((8, 4)), np.ones(8), verbose=0)
print(past.history["accuracy"])

=== reject: everything is logged
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", "mse", metrics=["mae"])
past = net.fit(np.ones((8, 4)), np.ones(8), validation_split=0.25, verbose=0)
print(past.history["val_mae"])
"""


def _training(subject: Subject, history: ast.expr) -> Training | None:
    """The training that an expression is the history of."""
    source = subject.source
    behind = list(origins.origins(subject, history))
    behind += [one for call in behind if isinstance(call, ast.Call) for one in call.args]
    of_history = [one for one in behind if isinstance(one, ast.Attribute) and one.attr == "history"]
    if not of_history:
        return None
    roots = [root for one in of_history for root in origins.origins(subject, one.value)]
    fits = [one for one in roots if _is_fit(source, one)]
    if not fits:
        fits = [one for one in source.all_calls if _is_fit(source, one)]
    compiled = [
        call
        for call in source.all_calls
        if compile_calls.is_compile(call) and source.qualified(call.func) != "re.compile"
    ]
    if len(set(fits)) != 1 or len(compiled) != 1 or not isinstance(fits[0], ast.Call):
        return None
    if any(keyword.arg is None for call in (fits[0], compiled[0]) for keyword in call.keywords):
        return None
    return Training(fits[0], compiled[0], _logged(source, compiled[0]))


def _is_fit(source: Source, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "fit":
        return False
    made = source.constructor(node.func.value)
    name = source.qualified(made.func) if made is not None else None
    return name is None or name.startswith(("keras.", "tensorflow.")) or "." not in name


def _logged(source: Source, compiled: ast.Call) -> frozenset[str] | None:
    """The names of the metrics in `compile`; `None` where one of them is not known."""
    metrics = argument_value(compiled, "metrics", 3)
    if metrics is None:
        return frozenset()
    if not isinstance(metrics, (ast.List, ast.Tuple)):
        return None
    names = [_metric_name(source, one) for one in metrics.elts]
    return frozenset(name for name in names if name is not None) if None not in names else None


def _metric_name(source: Source, metric: ast.expr) -> str | None:
    if isinstance(metric, ast.Constant):
        return metric.value if isinstance(metric.value, str) else None
    made = metric if isinstance(metric, ast.Call) else source.constructor(metric)
    if made is None:
        return None
    named = keyword_value(made, "name")
    if named is not None:
        return named.value if isinstance(named, ast.Constant) and isinstance(named.value, str) else None
    last = (source.qualified(made.func) or "").rpartition(".")[2]
    return network_facts.snake(last) or None


def _repair(subject: Subject, training: Training, key: str) -> tuple[str, tuple[Edit, ...]] | None:
    base = key.removeprefix(PRE)
    logged = training.logged
    validates = keyword_value(training.fit, "validation_data") is not None or _is_split(training.fit)
    known = None if logged is None else logged | {"loss"}
    if known is not None and base not in known:
        other = _other_name(subject.source, base, known)
        if other is not None:
            return f"Read {other!r}", _reworded(subject, base, other)
    edits: list[Edit] = []
    titles: list[str] = []
    if logged is not None and base != "loss" and base not in logged:
        if argument_value(training.compiled, "metrics", 3) is not None or not _suits(subject, training.compiled, base):
            return None
        edits.append(SetArgument(subject.source.site(training.compiled), "metrics", f'["{base}"]', 3))
        titles.append(f"log {base}")
    if key != base and not validates:
        given = _validation(subject, training.fit)
        if given is None:
            return None
        edits.append(SetArgument(subject.source.site(training.fit), *given))
        titles.append("validate after each epoch")
    title = " and ".join(titles)
    return (title[:1].upper() + title[1:], tuple(edits)) if edits else None


def _is_split(fit: ast.Call) -> bool:
    return keyword_value(fit, "validation_split") is not None or len(fit.args) > 6


def _other_name(source: Source, base: str, known: frozenset[str]) -> str | None:
    """The logged name of the metric that is meant."""
    if base == "lr" and any((source.qualified(c.func) or "").endswith(WATCHERS) for c in source.all_calls):
        return "learning_rate"
    same = [name for meaning in MEANINGS if base in meaning for name in known if name in meaning]
    return same[0] if len(same) == 1 else None if base in MEASURES else spelling.nearest(base, known)


def _reworded(subject: Subject, base: str, other: str) -> tuple[Edit, ...]:
    """Edits of every key with the wrong name; keys that are computed are left alone."""
    edits: list[Edit] = []
    for node in subject.source.nodes(ast.Subscript):
        match node.slice:
            case ast.Constant(value=str() as said) if said.removeprefix(PRE) == base:
                edits.append(recipes.reword(subject, node.slice, said[: len(said) - len(base)] + other))
    return tuple(edits)


def _suits(subject: Subject, compiled: ast.Call, metric: str) -> bool:
    """Whether a metric fits the compiled loss."""
    loss = argument_value(compiled, "loss", 1)
    written = ast.unparse(loss).lower() if loss is not None else ""
    if isinstance(loss, ast.Name):
        written = " ".join(ast.unparse(one).lower() for one in subject.source.bindings(loss))
    if metric in ("accuracy", "acc"):
        # for logits, Keras would still compare with one half
        return "crossentropy" in written and not ("binary" in written and "from_logits" in written)
    return metric in ERRORS and bool(written) and "entropy" not in written


def _validation(subject: Subject, fit: ast.Call) -> tuple[str, str] | None:
    """The keyword argument for `fit` that provides validation data, and its value."""
    inputs, targets = argument_value(fit, "x", 0), argument_value(fit, "y", 1)
    if inputs is None or any(isinstance(one, ast.Starred) for one in fit.args):
        return None
    data = [one for one in (inputs, targets) if one is not None]
    for word in HELD_OUT:
        names = [_in_place_of_training(subject, one, word, fit) for one in data]
        if None not in names and all(map(_alike_seen, (subject,) * len(data), data, names)):
            shown = ", ".join(name or "" for name in names)
            return "validation_data", f"({shown})" if len(data) > 1 else shown
    # a generator or a dataset contains its targets, and cannot be split
    return ("validation_split", "0.2") if targets is not None else None


def _in_place_of_training(subject: Subject, data: ast.expr, word: str, fit: ast.Call) -> str | None:
    """The name of the training data with its word for training replaced, where that name is bound before `fit`."""
    if not isinstance(data, ast.Name):
        return None
    parts = re.split(r"(_)|(?<=[a-z])(?=[A-Z])", data.id)
    told = [part or "" for part in parts]
    places = [place for place, part in enumerate(told) if TRAINING.fullmatch(part)]
    if len(places) != 1:
        return None
    part = told[places[0]]
    told[places[0]] = word.upper() if part.isupper() else word.capitalize() if part[0].isupper() else word
    name = "".join(told)
    function = subject.source.enclosing(fit, ast.FunctionDef)
    return name if name in _bound(subject.source, function, fit) else None


def _bound(source: Source, function: ast.FunctionDef | None, fit: ast.Call) -> set[str]:
    """The names that hold data ready for validation when `fit` is called.

    Names that are assigned again later, as by a scaling, are not ready.
    """
    scope: ast.AST = source.tree if function is None else function
    stored = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and source.enclosing(node, ast.FunctionDef) is function
    ]
    before = {node.id for node in stored if node.lineno < fit.lineno}
    after = {node.id for node in stored if node.lineno > fit.lineno}
    return before - after | ({arg.arg for arg in function.args.args} if function is not None else set())


def _alike_seen(subject: Subject, data: ast.expr, name: str | None) -> bool:
    """Whether the data under a name have the sample shape of the training data, as far as the run recorded them."""
    shape = held_values.shape_of(subject, data)
    if shape is None or held_values.held(subject, data) is None:
        return True
    beside = next((f.names.get(name or "") for f in (subject.crash.frames if subject.crash else ())), None)
    sizes = beside.get("shape") if isinstance(beside, dict) else None
    return not isinstance(sizes, list) or sizes[1:] == list(shape[1:])
