"""Facts about the losses of torch, Keras and TensorFlow: the task, and which prediction and target each expects.

They are kept as data, because many rules are one look-up here. Sources: the reference pages of `torch.nn` (loss
functions) and `torch.nn.functional` for torch 2.13, `keras.losses` for Keras 3.15, and `tf.nn` for TensorFlow 2. Where
torch and Keras have a loss as a class and as a function, both forms have an entry and `twin` names the other one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from typing import TypeAlias

from dnnfix.records.record import record


class Task(StrEnum):
    """The kind of task that a loss is made for."""

    CLASSES = "classes"
    """One class out of several."""
    LABELS = "labels"
    """Yes or no, for one or for several independent labels."""
    REGRESSION = "regression"
    DISTRIBUTION = "distribution"
    """The distance of two distributions."""
    RANKING = "ranking"
    """Margins between scores, or distances between embeddings."""
    SEQUENCE = "sequence"


class Prediction(StrEnum):
    """The form of the prediction that a loss expects."""

    LOGITS = "logits"
    PROBABILITIES = "probabilities"
    LOG_PROBABILITIES = "log-probabilities"
    REAL = "real"
    EMBEDDINGS = "embeddings"


class Target(StrEnum):
    """The form of the target that a loss expects."""

    INDICES = "indices"
    """Integers in `[0, classes)`, without the class axis."""
    ONE_HOT = "one-hot"
    """One row of the prediction's shape per sample, that sums to one."""
    BINARY = "binary"
    """0 or 1 (or a probability), in the prediction's shape."""
    REAL = "real"
    SIGNS = "signs"
    """-1 or 1."""
    PROBABILITIES = "probabilities"
    NONE = "none"
    """No target: the loss compares predictions with one another."""


@record
class LossFacts:
    """What one loss expects.

    `prediction` is `None` where an argument that is not a plain value decides it. `class_axis` is the axis of the
    prediction that holds the classes (`None` where there is none); targets of kind `indices` lack that axis.
    `soft_targets` says that probabilities of the prediction's shape are taken as targets as well. `same_shape` says
    that target and prediction must agree in shape (and would broadcast silently, or be refused, where they do not).
    `has_from_logits` tells whether there is a `from_logits` argument. `prediction_argument` and `target_argument` are
    the names of the parameters of the call, in whose order `prediction_first` says which comes first.
    """

    name: str
    framework: str
    task: Task
    prediction: Prediction | None
    target: Target
    class_axis: int | None = None
    soft_targets: bool = False
    same_shape: bool = True
    has_from_logits: bool = False
    prediction_first: bool = True
    prediction_argument: str = "input"
    target_argument: str = "target"
    function: bool = False
    twin: str | None = None


T, P, Y = Task, Prediction, Target

_BY_CLASS: dict[str, object] = {"class_axis": 1, "same_shape": False}
_LAST: dict[str, object] = {"class_axis": -1}
_LAST_BY_CLASS: dict[str, object] = {"class_axis": -1, "same_shape": False}
_LOGITS: dict[str, object] = {"has_from_logits": True}

_Row: TypeAlias = tuple[Task, Prediction, Target, dict[str, object], str]
"""What losses want, whatever else differs from the rule, and the names of the losses."""

_TORCH: tuple[_Row, ...] = (
    (T.REGRESSION, P.REAL, Y.REAL, {}, "L1Loss MSELoss SmoothL1Loss HuberLoss PoissonNLLLoss GaussianNLLLoss"),
    (T.CLASSES, P.LOGITS, Y.INDICES, {**_BY_CLASS, "soft_targets": True}, "CrossEntropyLoss"),
    (T.CLASSES, P.LOG_PROBABILITIES, Y.INDICES, _BY_CLASS, "NLLLoss NLLLoss2d"),
    (T.CLASSES, P.LOGITS, Y.INDICES, _BY_CLASS, "MultiMarginLoss"),
    (
        T.CLASSES,
        P.EMBEDDINGS,
        Y.INDICES,
        {"same_shape": False, "prediction_argument": "input_", "target_argument": "target_"},
        "AdaptiveLogSoftmaxWithLoss",
    ),
    (T.LABELS, P.PROBABILITIES, Y.BINARY, {}, "BCELoss"),
    (T.LABELS, P.LOGITS, Y.BINARY, {}, "BCEWithLogitsLoss"),
    (T.LABELS, P.LOGITS, Y.BINARY, {"class_axis": 1}, "MultiLabelSoftMarginLoss"),
    (T.LABELS, P.LOGITS, Y.INDICES, {"class_axis": 1}, "MultiLabelMarginLoss"),
    (T.LABELS, P.LOGITS, Y.SIGNS, {}, "SoftMarginLoss"),
    (T.RANKING, P.REAL, Y.SIGNS, {}, "HingeEmbeddingLoss"),
    (T.RANKING, P.REAL, Y.SIGNS, {"prediction_argument": "input1"}, "MarginRankingLoss"),
    (T.RANKING, P.EMBEDDINGS, Y.SIGNS, {"prediction_argument": "input1", "same_shape": False}, "CosineEmbeddingLoss"),
    (
        T.RANKING,
        P.EMBEDDINGS,
        Y.NONE,
        {"prediction_argument": "anchor"},
        "TripletMarginLoss TripletMarginWithDistanceLoss",
    ),
    (T.DISTRIBUTION, P.LOG_PROBABILITIES, Y.PROBABILITIES, {}, "KLDivLoss"),
    (
        T.SEQUENCE,
        P.LOG_PROBABILITIES,
        Y.INDICES,
        {"class_axis": 2, "same_shape": False, "prediction_argument": "log_probs", "target_argument": "targets"},
        "CTCLoss",
    ),
)

_TORCH_FUNCTIONS = {
    "CrossEntropyLoss": "cross_entropy",
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "MultiLabelSoftMarginLoss": "multilabel_soft_margin_loss",
    "MultiLabelMarginLoss": "multilabel_margin_loss",
    "KLDivLoss": "kl_div",
    "SmoothL1Loss": "smooth_l1_loss",
    "NLLLoss2d": "",
    "AdaptiveLogSoftmaxWithLoss": "",
}
"""The functions of torch that are not called as their classes, and the classes without one."""

_KERAS: tuple[_Row, ...] = (
    (T.REGRESSION, P.REAL, Y.REAL, {}, "MeanSquaredError MeanAbsoluteError MeanAbsolutePercentageError"),
    (T.REGRESSION, P.REAL, Y.REAL, {}, "MeanSquaredLogarithmicError LogCosh Huber CosineSimilarity Poisson"),
    (T.DISTRIBUTION, P.PROBABILITIES, Y.PROBABILITIES, _LAST, "KLDivergence"),
    (T.LABELS, P.PROBABILITIES, Y.BINARY, _LOGITS, "BinaryCrossentropy BinaryFocalCrossentropy"),
    (
        T.CLASSES,
        P.PROBABILITIES,
        Y.ONE_HOT,
        {**_LAST, **_LOGITS, "soft_targets": True},
        "CategoricalCrossentropy CategoricalFocalCrossentropy",
    ),
    (T.CLASSES, P.PROBABILITIES, Y.INDICES, {**_LAST_BY_CLASS, **_LOGITS}, "SparseCategoricalCrossentropy"),
    (T.CLASSES, P.PROBABILITIES, Y.INDICES, _LAST_BY_CLASS, "CategoricalGeneralizedCrossEntropy"),
    (T.LABELS, P.REAL, Y.SIGNS, {}, "Hinge SquaredHinge"),
    (T.CLASSES, P.REAL, Y.ONE_HOT, _LAST, "CategoricalHinge"),
    (T.LABELS, P.PROBABILITIES, Y.BINARY, {}, "Dice Tversky"),
    (T.SEQUENCE, P.LOGITS, Y.INDICES, _LAST_BY_CLASS, "CTC"),
    (T.RANKING, P.EMBEDDINGS, Y.INDICES, {"same_shape": False}, "Circle"),
)

_TENSORFLOW: tuple[_Row, ...] = (
    (
        T.CLASSES,
        P.LOGITS,
        Y.ONE_HOT,
        {**_LAST, "soft_targets": True},
        "softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2",
    ),
    (T.CLASSES, P.LOGITS, Y.INDICES, _LAST_BY_CLASS, "sparse_softmax_cross_entropy_with_logits"),
    (
        T.LABELS,
        P.LOGITS,
        Y.BINARY,
        {},
        "sigmoid_cross_entropy_with_logits weighted_cross_entropy_with_logits",
    ),
)


def snake(name: str) -> str:
    """The function name of a class in the style of Keras: `MSELoss` as `mse_loss`, `MeanIoU` as `mean_io_u`."""
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)).lower()


def _facts(rows: tuple[_Row, ...], home: str, framework: str, **all_of: object) -> Iterator[tuple[str, LossFacts]]:
    for task, prediction, target, more, names in rows:
        for short in names.split():
            facts = LossFacts(f"{home}.{short}", framework, task, prediction, target)
            yield short, replace(facts, **all_of, **more)  # type: ignore[arg-type]


def _torch() -> Iterator[LossFacts]:
    for short, facts in _facts(_TORCH, "torch.nn", "torch"):
        function = _TORCH_FUNCTIONS.get(short, snake(short))
        twin = f"torch.nn.functional.{function}" if function else None
        yield replace(facts, twin=twin)
        if twin:
            yield replace(facts, name=twin, function=True, twin=facts.name)


def _keras() -> Iterator[LossFacts]:
    second = {"prediction_first": False, "prediction_argument": "y_pred", "target_argument": "y_true"}
    for short, facts in _facts(_KERAS, "keras.losses", "keras", **second):
        function = snake(short)
        as_function = replace(facts, name=f"keras.losses.{function}", function=True, twin=facts.name)
        yield replace(facts, twin=as_function.name)
        yield as_function
        if short in ("BinaryCrossentropy", "CategoricalCrossentropy", "SparseCategoricalCrossentropy"):
            for home in ("backend", "ops"):
                name = f"keras.{home}.{function}"
                yield replace(as_function, name=name, prediction_argument="output", target_argument="target")


def _tensorflow() -> Iterator[LossFacts]:
    second = {"prediction_first": False, "prediction_argument": "logits", "target_argument": "labels", "function": True}
    for _, facts in _facts(_TENSORFLOW, "tensorflow.nn", "tensorflow", **second):
        yield facts


LOSSES: dict[str, LossFacts] = {f.name: f for make in (_torch, _keras, _tensorflow) for f in make()}
"""Every known loss by canonical name, classes and functions alike."""
