"""A second value is read from `evaluate` of a Keras model that was compiled without metrics."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Family,
    Fault,
    FixPattern,
    SetArgument,
    Source,
    Subject,
    argument_value,
    compile_calls,
    keyword_value,
    within,
    words,
)

UNREADABLE = re.compile(
    r"cannot unpack non-iterable (?:numpy\.)?float|'(?:numpy\.)?float\d*' object is not (?:subscriptable|iterable)"
    r"|invalid index to scalar variable"
)

GIVING = words("evaluate train_on_batch test_on_batch")
"""Methods of a model that return its loss, or a list of the loss and the metrics."""

CLASSES = re.compile(r"crossentropy", re.IGNORECASE)
LOGITS = re.compile(r"binary.*from_logits", re.IGNORECASE | re.DOTALL)
"""A binary loss of logits: Keras's accuracy would compare them with one half instead of zero."""

NAMED = ((r"acc", "accuracy"), (r"(?<![a-z])mae(?![a-z])", "mae"), (r"(?<![a-z])mse(?![a-z])", "mse"))
"""Part of a value's name, and the metric it stands for; `rmse` is not `mse`."""

OTHERS = re.compile(r"\b(?:auc|auroc|roc|precision|recall|f1|iou|dice|mae|mse|rmse|r2|top)\b", re.IGNORECASE)
"""Other metrics that a program may name beside the value."""


class MetricNotCompiled(CrashTemplate):
    """`loss, accuracy = model.evaluate(x, y)` fails where the model was compiled with a loss and no metrics.

    Without metrics, `evaluate`, `train_on_batch` and `test_on_batch` return the loss alone; with metrics, a list. The
    metric to compile is the one that the second name says, or accuracy where index 1 is read next to a classification
    loss.

    Reported where the run crashed there and the only `compile` of that model has no metrics.

    Fix safety: unsafe. The training is the same; a metric is computed beside it.

    References: keras.Model.evaluate; keras.Model.compile.
    """

    code = "DNF730"
    name = "metric-not-compiled"
    formerly = ("measure-read-but-not-taken",)
    message = "the model is compiled without metrics, so evaluate returns the loss alone, and a second value is read"
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"TypeError", "IndexError"})
    confidence = 0.9

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        node, source = subject.node(crash.site), subject.source
        if node is None or UNREADABLE.search(crash.message) is None:
            return
        compiled = _compiled(source, node)
        if len(compiled) != 1 or not _without_metrics(compiled[0]):
            return
        metric = _metric(source, node, compiled[0])
        if metric is not None:
            edit = SetArgument(source.site(compiled[0]), "metrics", f'["{metric}"]')
            yield Fault(source.site(compiled[0]), {}, ((f"Measure {metric}", (edit,), 0.9),))

    programs = """
=== example: index 1 of the result
import keras
import numpy as np


def build():
    net = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3, activation="softmax")])
-     net.compile("sgd", keras.losses.SparseCategoricalCrossentropy())
+     net.compile("sgd", keras.losses.SparseCategoricalCrossentropy(), metrics=["accuracy"])
    return net


net = build()
x, y = np.random.randn(9, 4), np.arange(9) % 3
net.fit(x, y, epochs=1, verbose=0)
score = net.evaluate(x, y, verbose=0)
print("loss:", score[0])
print("accuracy:", score[1])

=== example: the mean absolute error of a regression
import keras
import numpy as np

x, y = np.random.randn(8, 4), np.random.randn(8, 1)
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
- model.compile(optimizer="sgd", loss="mse")
+ model.compile(optimizer="sgd", loss="mse", metrics=["mae"])
model.fit(x, y, epochs=1, verbose=0)
_, mae = model.evaluate(x, y, verbose=0)
print(mae)

=== reject: another measure than the name's end says
import keras
import numpy as np

x, y = np.random.randn(8, 4), np.random.randn(8, 1)
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
loss, rmse = model.evaluate(x, y, verbose=0)
print(rmse)

=== reject: a place that the program calls another measure
import keras
import numpy as np

x, y = np.random.randn(8, 4), np.arange(8) % 2
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
model.compile("sgd", "binary_crossentropy")
scores = model.evaluate(x, y, verbose=0)
print("AUC:", scores[1])

=== reject: logits, which accuracy would compare with 0.5
import keras
import numpy as np

x, y = np.random.randn(8, 4), np.arange(8) % 2
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", keras.losses.BinaryCrossentropy(from_logits=True))
loss, acc = model.evaluate(x, y, verbose=0)
print(acc)

=== reject: the metric is compiled
import keras
import numpy as np

x, y = np.random.randn(8, 4), np.arange(8) % 2
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="sgd", loss="binary_crossentropy", metrics=["accuracy"])
loss, acc = model.evaluate(x, y, verbose=0)
print(loss, acc)

=== reject: a second value of a regression with an unknown metric
import keras
import numpy as np

x, y = np.random.randn(8, 4), np.random.randn(8, 1)
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
first, second = model.evaluate(x, y, verbose=0)
print(first, second)

=== reject: a regression whose accuracy is asked for
import keras
import numpy as np

x, y = np.random.randn(8, 4), np.random.randn(8, 1)
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
loss, acc = model.evaluate(x, y, verbose=0)
print(loss, acc)
"""


def _compiled(source: Source, node: ast.AST) -> list[ast.Call]:
    """The `compile` calls of the model that is evaluated where they are known, else all of them."""
    every = [call for call in source.all_calls if compile_calls.is_compile(call)]
    asked = [
        call.func.value
        for call in within(source.statement_of(node), ast.Call)
        if isinstance(call.func, ast.Attribute) and _evaluates(call)
    ]
    models = {ast.unparse(model) for model in asked}
    same = [call for call in every if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in models]
    return same or every


def _without_metrics(call: ast.Call) -> bool:
    given = keyword_value(call, "metrics")
    plain = len(call.args) <= 2 and all(keyword.arg is not None for keyword in call.keywords)
    return plain and (given is None or isinstance(given, (ast.List, ast.Tuple)) and not given.elts)


def _metric(source: Source, node: ast.AST, compiled: ast.Call) -> str | None:
    """The metric that the program expects beside the loss."""
    classes = _of_classes(compiled)
    statement = source.statement_of(node)
    if isinstance(statement, ast.Assign) and _evaluates(statement.value):
        target = statement.targets[0]
        if not isinstance(target, (ast.Tuple, ast.List)) or len(target.elts) != 2:
            return None
        return _named(ast.unparse(target.elts[1]), classes)
    scores = node if isinstance(node, ast.Subscript) else None
    if scores is None:
        return None
    if _evaluates(scores.value):
        second = [scores]
    else:
        bound = source.bindings(scores.value)
        if not bound or not all(_evaluates(one) for one in bound):
            return None
        second = [one for one in source.nodes(ast.Subscript) if ast.unparse(one.value) == ast.unparse(scores.value)]
    places = {ast.unparse(one.slice) for one in second}
    told = [source.statement_of(one) for one in second if ast.unparse(one.slice) == "1"]
    if any(OTHERS.search(ast.unparse(one).replace("_", " ")) for one in told):
        return None
    return "accuracy" if classes and "1" in places and places <= {"0", "1"} else None


def _named(name: str, classes: bool) -> str | None:
    """The metric that a name stands for; accuracy only for classification losses."""
    metric = next((metric for part, metric in NAMED if re.search(part, name.lower())), None)
    return metric if metric is not None and (metric == "accuracy") <= classes else None


def _evaluates(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in GIVING


def _of_classes(compiled: ast.Call) -> bool:
    loss = argument_value(compiled, "loss", 1)
    written = ast.unparse(loss) if loss is not None else ""
    return CLASSES.search(written) is not None and LOGITS.search(written) is None
