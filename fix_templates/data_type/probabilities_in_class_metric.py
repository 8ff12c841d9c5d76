"""A metric that compares classes is called with logits, probabilities or one-hot rows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import CrashTemplate, Edit, Failure, Fault, Source, Subject, Wrap, argument_value, reads, spell, words

METRICS = words(
    """accuracy_score balanced_accuracy_score classification_report cohen_kappa_score confusion_matrix f1_score
    fbeta_score hamming_loss jaccard_score matthews_corrcoef multilabel_confusion_matrix precision_recall_fscore_support
    precision_score recall_score zero_one_loss"""
)
"""Functions of `sklearn.metrics` whose labels and predictions are classes."""

CLASSES = words("binary multiclass")
SCORES = "continuous-multioutput"
ROWS = "multilabel-indicator"

BINARY = re.compile(r"(?<!\w)(?:BCE\w*|binary_cross_?entropy\w*|BinaryCrossentropy|MultiLabel\w+)\b")
"""Losses on each class separately."""

PLAIN = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
"""Expressions on which a method can be called without parentheses."""


@reads("ValueError", r"can't handle a mix of ([\w-]+) and ([\w-]+) targets", ast.Call)
def _scores_as_classes(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """The labels and the predictions that are not class indices are converted."""
    node, source, (on_left, on_right) = failure.node, failure.source, failure.said.groups()
    true, predicted = argument_value(node, "y_true", 0), argument_value(node, "y_pred", 1)
    if not _is_metric(source, node) or true is None or predicted is None:
        return
    changes: list[tuple[ast.expr, str]] = []
    if on_left == ROWS and (on_right in CLASSES or (on_right == SCORES and _one_class_per_row(source))):
        changes.append((true, "class"))
    elif on_left not in CLASSES:
        return
    if on_right == SCORES:
        if not changes and re.search(r"\bget_dummies\b|\bLabelBinarizer\b|\bOneHotEncoder\b", source.text):
            return
        changes.append((predicted, "class"))
    elif on_right == "continuous" and on_left == "binary":
        threshold = _threshold(source)
        if threshold is None:
            return
        changes.append((predicted, threshold))
    if changes:
        edits = tuple(edit for each, how in changes for edit in _made_classes(failure, each, how))
        named = {"metric": failure.code(node.func), "labels": on_left, "predictions": on_right}
        yield Fault(failure.site(changes[-1][0]), named, (("Convert the predictions to classes", edits, 0.9),))


class ProbabilitiesInClassMetric(CrashTemplate):
    """A scikit-learn metric that compares classes is called with logits, probabilities or one-hot rows.

    `confusion_matrix(y_test, model.predict(x_test))` compares classes with the output of the network. A row of logits
    or probabilities, or a one-hot row, becomes its argmax; a single probability is compared with 0.5, a logit with 0.
    Every metric with the same variable is changed. Nothing is proposed if neither a sigmoid nor a loss on logits shows
    the threshold, or if there are several classes and one output. Categorical cross-entropy or a softmax, without
    binary cross-entropy, shows that a row has one class. If rows were made from classes with numbers of their own
    (`pandas.get_dummies`), the argmax is not the class, and nothing is proposed.

    Fix safety: unsafe. The program could not run before.

    References: sklearn.metrics.confusion_matrix, sklearn.utils.multiclass.type_of_target.
    """

    code = "DNF645"
    name = "probabilities-in-class-metric"
    formerly = ("scores-in-class-metric", "scores-given-as-classes")
    message = "{metric} compares class labels, and is called with {labels} labels and {predictions} predictions"
    confidence = 0.9
    readings = (_scores_as_classes,)

    programs = """
=== example: scores of three classes
import torch
from sklearn.metrics import accuracy_score, confusion_matrix

net = torch.nn.Linear(4, 3)
x, y = torch.randn(30, 4), torch.arange(30) % 3
with torch.no_grad():
    outputs = net(x)
- print(accuracy_score(y.numpy(), outputs.numpy()))
+ print(accuracy_score(y.numpy(), outputs.numpy().argmax(axis=1)))

=== example: probabilities of a sigmoid, in two measures
import keras
import numpy as np
from sklearn.metrics import classification_report, confusion_matrix

x = np.random.randn(16, 4).astype("float32")
y = np.arange(16) % 2
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="sgd", loss="binary_crossentropy")
model.fit(x, y, epochs=1, verbose=0)
y_pred = model.predict(x, verbose=0)
- print(confusion_matrix(y, y_pred))
- print(classification_report(y, y_pred, zero_division=0))
+ print(confusion_matrix(y, (y_pred > 0.5).astype(int)))
+ print(classification_report(y, (y_pred > 0.5).astype(int), zero_division=0))

=== example: rows with a one on both sides
import numpy as np
import torch
from sklearn import metrics

labels = np.eye(3)[np.arange(12) % 3]
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Softmax(dim=1))
scores = net(torch.randn(12, 2)).detach().numpy()
- print(metrics.f1_score(labels, scores, average="macro"))
+ print(metrics.f1_score(labels.argmax(axis=1), scores.argmax(axis=1), average="macro"))

=== reject: several classes and one score
import torch
from sklearn.metrics import accuracy_score

y = torch.arange(6) % 3
print(accuracy_score(y.numpy(), torch.sigmoid(torch.randn(6)).numpy()))

=== reject: two classes and a score of unknown scale
import torch
from sklearn.metrics import accuracy_score

y = torch.arange(6) % 2
print(accuracy_score(y.numpy(), torch.nn.Linear(2, 1)(torch.randn(6, 2)).detach().numpy()))
"""


def _is_metric(source: Source, call: ast.Call) -> bool:
    module, _, name = (source.qualified(call.func) or "").rpartition(".")
    return module.startswith("sklearn.metrics") and name in METRICS


def _one_class_per_row(source: Source) -> bool:
    """Whether the program shows that each sample belongs to one class only."""
    softmax = {"softmax", "Softmax", "log_softmax", "LogSoftmax", "CrossEntropyLoss", "CategoricalCrossentropy"}
    if BINARY.search(source.text):
        return False
    return bool(source.words & softmax) or "categorical_crossentropy" in source.text


def _threshold(source: Source) -> str | None:
    """The least output of the positive class; `None` if the program does not show it."""
    probabilities = source.words & {"sigmoid", "Sigmoid"} or re.search(r"""['"]sigmoid['"]""", source.text)
    logits = source.words & {"BCEWithLogitsLoss", "binary_cross_entropy_with_logits"} or re.search(
        r"from_logits\s*=\s*True", source.text
    )
    if bool(probabilities) == bool(logits):
        return None
    if probabilities and source.words & {"tanh", "Tanh", "sign"} and not BINARY.search(source.text):
        return None  # the sigmoid may be in a hidden layer
    return "0.5" if probabilities else "0"


def _made_classes(failure: Failure[ast.Call], value: ast.expr, how: str) -> Iterator[Edit]:
    """The edits of a value wherever a metric in the same function is called with it."""
    source, call, held = failure.source, failure.node, failure.held(value)
    kind = held.kind if held is not None else _made_by(value)
    around = source.enclosing(call, ast.FunctionDef)
    text, place = ast.unparse(value), 0 if value is argument_value(call, "y_true", 0) else 1
    for metric in source.all_calls:
        given = argument_value(metric, ("y_true", "y_pred")[place], place)
        same = metric is call or isinstance(value, ast.Name)
        if given is None or not same or not _is_metric(source, metric) or ast.unparse(given) != text:
            continue
        if source.enclosing(metric, ast.FunctionDef) is around:
            yield from _around(failure.subject, given, kind, how)


def _around(subject: Subject, value: ast.expr, kind: str, how: str) -> Iterator[Edit]:
    site = subject.source.site(value)
    before, after = ("", "") if isinstance(value, PLAIN) else ("(", ")")
    if how == "class" and kind != "list":
        yield Wrap(site, before, f"{after}.argmax(axis=1)")
    elif how == "class":
        spelling = spell(subject, "numpy.argmax")
        yield from spelling.imports
        yield Wrap(site, f"{spelling.code}(", ", axis=1)")
    elif kind == "list":
        spelling = spell(subject, "numpy.array")
        yield from spelling.imports
        yield Wrap(site, f"({spelling.code}(", f") > {how}).astype(int)")
    else:
        whole = "int()" if kind == "torch.Tensor" else "astype(int)"
        yield Wrap(site, f"({before}", f"{after} > {how}).{whole}")


def _made_by(value: ast.expr) -> str:
    """The type that a call returns, by its last method."""
    method = value.func.attr if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else ""
    return {"tolist": "list", "cpu": "torch.Tensor", "detach": "torch.Tensor"}.get(method, "numpy.ndarray")
