"""Metrics of classification that ask for their task: `Accuracy()` is `Accuracy(task="multiclass", num_classes=10)` since torchmetrics 0.11.

Before, a metric told from what it was given whether one of two classes, one of several, or any number of labels was meant. Here that is told
from the loss that the program trains with, and the number of classes from the layer that the network ends in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.detect.versioning.migration import Hit
from dnnfix.detect.versioning.names import Uses
from dnnfix.records import Edit, RemoveArgument, SetArgument
from dnnfix.source.arguments import argument_value
from dnnfix.source.program import Source
from dnnfix.source.public_names import words

METRICS = words(
    "AUROC Accuracy AveragePrecision CalibrationError CohenKappa ConfusionMatrix F1 F1Score FBeta FBetaScore HammingDistance "
    "HingeLoss IoU JaccardIndex MatthewsCorrCoef Precision PrecisionRecallCurve ROC Recall Specificity StatScores"
)
"""The classes that ask for a task, under the names of today and of before."""

FUNCTIONS = words(
    "accuracy auroc average_precision calibration_error cohen_kappa confusion_matrix f1 f1_score fbeta fbeta_score "
    "hamming_distance hinge_loss iou jaccard_index matthews_corrcoef precision precision_recall_curve recall roc specificity "
    "stat_scores"
)
"""The functions that do; they are given predictions and targets first."""

PACKAGES = ("torchmetrics.", "pytorch_lightning.metrics.")

IGNORED = ("compute_on_step",)
"""Keywords that did not change what is computed, and are gone."""

GONE = frozenset(
    ["mdmc_average", "multiclass", "subset_accuracy", "is_multiclass", "multilabel", "class_reduction", "pos_label"]
)
"""Keywords that said of a task what is said otherwise today."""

ONE_OF_SEVERAL = frozenset(
    [
        "torch.nn.CrossEntropyLoss",
        "torch.nn.NLLLoss",
        "torch.nn.functional.cross_entropy",
        "torch.nn.functional.nll_loss",
    ]
)
YES_OR_NO = frozenset(
    [
        "torch.nn.BCELoss",
        "torch.nn.BCEWithLogitsLoss",
        "torch.nn.functional.binary_cross_entropy",
        "torch.nn.functional.binary_cross_entropy_with_logits",
    ]
)
"""The losses of classes that exclude one another, and of those that do not."""

GUIDE = "https://github.com/Lightning-AI/torchmetrics/releases/tag/v0.11.0"


def outdated_metrics(uses: Uses) -> Iterator[Hit]:
    """The metrics of classification that are made or called without a task."""
    source = uses.source
    if source.words.isdisjoint(METRICS | FUNCTIONS):
        return
    for call in uses.calls():
        name = source.written(call.func) or ""
        last = name.rpartition(".")[2]
        if not name.startswith(PACKAGES) or last not in METRICS | FUNCTIONS:
            continue
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        if "task" in given or None in given or _may_be_given_first(call, last) or _is_for_older(source, call):
            continue
        told = _told(source, call, last)
        decline = told if isinstance(told, str) else ""
        edits: list[Edit] = []
        if not isinstance(told, str):
            site = source.site(call)
            edits = [RemoveArgument(site, name) for name in (*told.dropped, *IGNORED) if name in given]
            edits += [SetArgument(site, name, code) for name, code in told.given.items()]
        yield Hit(
            source.site(call),
            f"{last} takes a task since torchmetrics 0.11",
            title=f"tell {last} its task",
            edits=() if decline else tuple(edits),
            decline=decline,
            removed={"torchmetrics": "0.11"},
            evidence={"old": last, "reference": GUIDE},
            confidence=0.9,
        )


def _is_for_older(source: Source, call: ast.Call) -> bool:
    """Whether a condition chooses between the call and one with a task, as programs do that know of both versions."""
    node: ast.AST = call
    while (above := source.parent(node)) is not None and not isinstance(above, (ast.FunctionDef, ast.ClassDef)):
        if isinstance(above, (ast.If, ast.IfExp)):
            calls = (each for each in ast.walk(above) if isinstance(each, ast.Call))
            names = (each.name for each in ast.walk(above) if isinstance(each, ast.alias))
            if any(keyword.arg == "task" for each in calls for keyword in each.keywords):
                return True
            if any(name.startswith(("Binary", "Multiclass", "Multilabel")) for name in names):
                return True
        node = above
    return False


@dataclass(frozen=True)
class _Told:
    """What a metric is to be given, as code, and what it is no longer."""

    given: dict[str, str]
    dropped: tuple[str, ...] = ()


def _may_be_given_first(call: ast.Call, last: str) -> bool:
    """Whether the task may be given by its place: numbers, which stood there before, are none."""
    place = 0 if last in METRICS else 2
    if any(isinstance(one, ast.Starred) for one in call.args):
        return True
    found = call.args[place] if len(call.args) > place else None
    return found is not None and not (isinstance(found, ast.Constant) and isinstance(found.value, (int, float)))


def _told(source: Source, call: ast.Call, last: str) -> _Told | str:
    """The task of a metric and its number of classes, or why they cannot be told."""
    given = {str(keyword.arg): keyword.value for keyword in call.keywords}
    gone = sorted(GONE & given.keys())
    if gone:
        return f"give task, and what {' and '.join(gone)} meant otherwise"
    if len(call.args) > (0 if last in METRICS else 2):
        return "its arguments were in another order: give them by their names, and task"
    task = _task(source, call)
    if "num_classes" in given:
        number = given["num_classes"]
        if isinstance(number, ast.Constant) and number.value == 1:
            return _Told({"task": '"binary"'}, ("num_classes",)) if task != "multiclass" else "one class is not several"
        if task == "multilabel" and isinstance(number, ast.Constant) and number.value == 2:
            return "whether two classes or two labels are meant cannot be seen: give task"
        if task == "multilabel":
            return _Told({"num_labels": source.segment(source.site(number)), "task": '"multilabel"'}, ("num_classes",))
        return _Told({"task": '"multiclass"'})
    if not task:
        return "no loss of the program tells whether its classes exclude one another: give task and num_classes"
    number_of = _classes(source, call)
    if number_of is None:
        return "the number of classes cannot be seen: give task and num_classes"
    if task == "multiclass":
        return (
            _Told({"task": '"multiclass"', "num_classes": number_of})
            if number_of != "1"
            else "one class is not several"
        )
    return _Told({"task": '"binary"'} if number_of == "1" else {"task": '"multilabel"', "num_labels": number_of})


def _task(source: Source, call: ast.Call) -> str:
    """What the losses of the class that has the metric say of its classes, or those of the program; empty where they differ."""
    owner = source.enclosing(call, ast.ClassDef)
    named = {source.qualified(one.func): one for one in source.all_calls}
    own = {source.qualified(one.func) for one in source.all_calls if source.enclosing(one, ast.ClassDef) is owner}
    for losses in (own, set(named)):
        several, either = bool(losses & ONE_OF_SEVERAL), bool(losses & YES_OR_NO)
        if several != either:
            return "multiclass" if several else "multilabel"
        if several:
            return ""
    return ""


def _classes(source: Source, call: ast.Call) -> str | None:
    """The code of the number of outputs of the layer that the network ends in, as it is known where a metric is made."""
    owner = source.enclosing(call, ast.ClassDef)
    layers = _layers(source, owner)
    if not layers:
        made = (source.definition(one.func) for one in source.all_calls if source.enclosing(one, ast.ClassDef) is owner)
        found = [each for one in made if isinstance(one, ast.ClassDef) and (each := _layers(source, one))]
        layers = found[-1] if len(found) == 1 else []
        owner = None
    if not layers:
        return None
    width = argument_value(layers[-1], "out_features", 1)
    values = source.bindings(width) if isinstance(width, (ast.Name, ast.Attribute)) else (width,)
    if isinstance(width, ast.Constant) and isinstance(width.value, int):
        return str(width.value)
    if len(values) == 1 and isinstance(values[0], ast.Constant) and isinstance(values[0].value, int):
        return str(values[0].value)
    function = source.enclosing(call, ast.FunctionDef)
    if isinstance(width, (ast.Name, ast.Attribute)) and function is source.enclosing(layers[-1], ast.FunctionDef):
        return source.segment(source.site(width))
    held = source.parent(layers[-1])
    target = held.targets[0] if isinstance(held, ast.Assign) and len(held.targets) == 1 and owner is not None else None
    if isinstance(target, ast.Attribute) and function is not None and function.name != "__init__":
        return f"{ast.unparse(target)}.out_features"
    return None


def _layers(source: Source, owner: ast.ClassDef | None) -> list[ast.Call]:
    """The linear layers that a class makes, in source order."""
    return [one for one in source.calls("torch.nn.Linear") if source.enclosing(one, ast.ClassDef) is owner]
