"""What each loss of torch, Keras and TensorFlow wants: kept as data, because many fault patterns are one look-up here.

Sources: the reference pages of `torch.nn` (loss functions) and `torch.nn.functional` for torch 2.13, `keras.losses` for
Keras 3.15, and `tf.nn` for TensorFlow 2. Where torch and Keras give a loss as a class and as a function, both forms
have an entry and `twin` names the other one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum


class Task(StrEnum):
    """What kind of question a loss is made for."""

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
    """What a loss takes as the prediction."""

    LOGITS = "logits"
    PROBABILITIES = "probabilities"
    LOG_PROBABILITIES = "log-probabilities"
    REAL = "real"
    EMBEDDINGS = "embeddings"


class Target(StrEnum):
    """What a loss takes as the target."""

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


@dataclass(frozen=True, slots=True)
class LossFacts:
    """What one loss wants.

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

_ADAPTIVE: dict[str, object] = {
    "same_shape": False,
    "prediction_argument": "input_",
    "target_argument": "target_",
}
_TORCH: dict[str, tuple[str | None, Task, Prediction, Target, dict[str, object]]] = {
    "L1Loss": ("l1_loss", T.REGRESSION, P.REAL, Y.REAL, {}),
    "MSELoss": ("mse_loss", T.REGRESSION, P.REAL, Y.REAL, {}),
    "SmoothL1Loss": ("smooth_l1_loss", T.REGRESSION, P.REAL, Y.REAL, {}),
    "HuberLoss": ("huber_loss", T.REGRESSION, P.REAL, Y.REAL, {}),
    "PoissonNLLLoss": ("poisson_nll_loss", T.REGRESSION, P.REAL, Y.REAL, {}),
    "GaussianNLLLoss": ("gaussian_nll_loss", T.REGRESSION, P.REAL, Y.REAL, {}),
    "CrossEntropyLoss": (
        "cross_entropy",
        T.CLASSES,
        P.LOGITS,
        Y.INDICES,
        {"class_axis": 1, "soft_targets": True, "same_shape": False},
    ),
    "NLLLoss": ("nll_loss", T.CLASSES, P.LOG_PROBABILITIES, Y.INDICES, {"class_axis": 1, "same_shape": False}),
    "NLLLoss2d": (None, T.CLASSES, P.LOG_PROBABILITIES, Y.INDICES, {"class_axis": 1, "same_shape": False}),
    "MultiMarginLoss": ("multi_margin_loss", T.CLASSES, P.LOGITS, Y.INDICES, {"class_axis": 1, "same_shape": False}),
    "AdaptiveLogSoftmaxWithLoss": (None, T.CLASSES, P.EMBEDDINGS, Y.INDICES, _ADAPTIVE),
    "BCELoss": ("binary_cross_entropy", T.LABELS, P.PROBABILITIES, Y.BINARY, {}),
    "BCEWithLogitsLoss": ("binary_cross_entropy_with_logits", T.LABELS, P.LOGITS, Y.BINARY, {}),
    "MultiLabelSoftMarginLoss": ("multilabel_soft_margin_loss", T.LABELS, P.LOGITS, Y.BINARY, {"class_axis": 1}),
    "MultiLabelMarginLoss": ("multilabel_margin_loss", T.LABELS, P.LOGITS, Y.INDICES, {"class_axis": 1}),
    "SoftMarginLoss": ("soft_margin_loss", T.LABELS, P.LOGITS, Y.SIGNS, {}),
    "HingeEmbeddingLoss": ("hinge_embedding_loss", T.RANKING, P.REAL, Y.SIGNS, {}),
    "MarginRankingLoss": ("margin_ranking_loss", T.RANKING, P.REAL, Y.SIGNS, {"prediction_argument": "input1"}),
    "CosineEmbeddingLoss": (
        "cosine_embedding_loss",
        T.RANKING,
        P.EMBEDDINGS,
        Y.SIGNS,
        {"prediction_argument": "input1", "same_shape": False},
    ),
    "TripletMarginLoss": ("triplet_margin_loss", T.RANKING, P.EMBEDDINGS, Y.NONE, {"prediction_argument": "anchor"}),
    "TripletMarginWithDistanceLoss": (
        "triplet_margin_with_distance_loss",
        T.RANKING,
        P.EMBEDDINGS,
        Y.NONE,
        {"prediction_argument": "anchor"},
    ),
    "KLDivLoss": ("kl_div", T.DISTRIBUTION, P.LOG_PROBABILITIES, Y.PROBABILITIES, {}),
    "CTCLoss": (
        "ctc_loss",
        T.SEQUENCE,
        P.LOG_PROBABILITIES,
        Y.INDICES,
        {"class_axis": 2, "same_shape": False, "prediction_argument": "log_probs", "target_argument": "targets"},
    ),
}

_KERAS: dict[str, tuple[str, Task, Prediction, Target, dict[str, object]]] = {
    "MeanSquaredError": ("mean_squared_error", T.REGRESSION, P.REAL, Y.REAL, {}),
    "MeanAbsoluteError": ("mean_absolute_error", T.REGRESSION, P.REAL, Y.REAL, {}),
    "MeanAbsolutePercentageError": ("mean_absolute_percentage_error", T.REGRESSION, P.REAL, Y.REAL, {}),
    "MeanSquaredLogarithmicError": ("mean_squared_logarithmic_error", T.REGRESSION, P.REAL, Y.REAL, {}),
    "LogCosh": ("log_cosh", T.REGRESSION, P.REAL, Y.REAL, {}),
    "Huber": ("huber", T.REGRESSION, P.REAL, Y.REAL, {}),
    "CosineSimilarity": ("cosine_similarity", T.REGRESSION, P.REAL, Y.REAL, {}),
    "Poisson": ("poisson", T.REGRESSION, P.REAL, Y.REAL, {}),
    "KLDivergence": ("kl_divergence", T.DISTRIBUTION, P.PROBABILITIES, Y.PROBABILITIES, {"class_axis": -1}),
    "BinaryCrossentropy": ("binary_crossentropy", T.LABELS, P.PROBABILITIES, Y.BINARY, {"has_from_logits": True}),
    "BinaryFocalCrossentropy": (
        "binary_focal_crossentropy",
        T.LABELS,
        P.PROBABILITIES,
        Y.BINARY,
        {"has_from_logits": True},
    ),
    "CategoricalCrossentropy": (
        "categorical_crossentropy",
        T.CLASSES,
        P.PROBABILITIES,
        Y.ONE_HOT,
        {"class_axis": -1, "soft_targets": True, "has_from_logits": True},
    ),
    "CategoricalFocalCrossentropy": (
        "categorical_focal_crossentropy",
        T.CLASSES,
        P.PROBABILITIES,
        Y.ONE_HOT,
        {"class_axis": -1, "soft_targets": True, "has_from_logits": True},
    ),
    "SparseCategoricalCrossentropy": (
        "sparse_categorical_crossentropy",
        T.CLASSES,
        P.PROBABILITIES,
        Y.INDICES,
        {"class_axis": -1, "same_shape": False, "has_from_logits": True},
    ),
    "CategoricalGeneralizedCrossEntropy": (
        "categorical_generalized_cross_entropy",
        T.CLASSES,
        P.PROBABILITIES,
        Y.INDICES,
        {"class_axis": -1, "same_shape": False},
    ),
    "Hinge": ("hinge", T.LABELS, P.REAL, Y.SIGNS, {}),
    "SquaredHinge": ("squared_hinge", T.LABELS, P.REAL, Y.SIGNS, {}),
    "CategoricalHinge": ("categorical_hinge", T.CLASSES, P.REAL, Y.ONE_HOT, {"class_axis": -1}),
    "Dice": ("dice", T.LABELS, P.PROBABILITIES, Y.BINARY, {}),
    "Tversky": ("tversky", T.LABELS, P.PROBABILITIES, Y.BINARY, {}),
    "CTC": ("ctc", T.SEQUENCE, P.LOGITS, Y.INDICES, {"class_axis": -1, "same_shape": False}),
    "Circle": ("circle", T.RANKING, P.EMBEDDINGS, Y.INDICES, {"same_shape": False}),
}

_TENSORFLOW: dict[str, tuple[Task, Prediction, Target, dict[str, object]]] = {
    "softmax_cross_entropy_with_logits": (T.CLASSES, P.LOGITS, Y.ONE_HOT, {"class_axis": -1, "soft_targets": True}),
    "softmax_cross_entropy_with_logits_v2": (T.CLASSES, P.LOGITS, Y.ONE_HOT, {"class_axis": -1, "soft_targets": True}),
    "sparse_softmax_cross_entropy_with_logits": (
        T.CLASSES,
        P.LOGITS,
        Y.INDICES,
        {"class_axis": -1, "same_shape": False},
    ),
    "sigmoid_cross_entropy_with_logits": (T.LABELS, P.LOGITS, Y.BINARY, {}),
    "weighted_cross_entropy_with_logits": (T.LABELS, P.LOGITS, Y.BINARY, {}),
}


def _torch() -> Iterator[LossFacts]:
    for short, (function, task, prediction, target, more) in _TORCH.items():
        twin = f"torch.nn.functional.{function}" if function else None
        facts = replace(LossFacts(f"torch.nn.{short}", "torch", task, prediction, target, twin=twin), **more)  # type: ignore[arg-type]
        yield facts
        if twin:
            yield replace(facts, name=twin, function=True, twin=facts.name)


def _keras() -> Iterator[LossFacts]:
    order: dict[str, object] = {
        "prediction_first": False,
        "prediction_argument": "y_pred",
        "target_argument": "y_true",
    }
    for short, (function, task, prediction, target, more) in _KERAS.items():
        facts = LossFacts(f"keras.losses.{short}", "keras", task, prediction, target)
        facts = replace(facts, **order, **more)  # type: ignore[arg-type]
        facts = replace(facts, twin=f"keras.losses.{function}")
        yield facts
        as_function = replace(facts, name=f"keras.losses.{function}", function=True, twin=facts.name)
        yield as_function
        if short in ("BinaryCrossentropy", "CategoricalCrossentropy", "SparseCategoricalCrossentropy"):
            names = {"prediction_argument": "output", "target_argument": "target"}
            yield replace(as_function, name=f"keras.backend.{function}", **names)  # type: ignore[arg-type]
            yield replace(as_function, name=f"keras.ops.{function}", **names)  # type: ignore[arg-type]


def _tensorflow() -> Iterator[LossFacts]:
    order: dict[str, object] = {
        "prediction_first": False,
        "prediction_argument": "logits",
        "target_argument": "labels",
        "function": True,
    }
    for short, (task, prediction, target, more) in _TENSORFLOW.items():
        facts = LossFacts(f"tensorflow.nn.{short}", "tensorflow", task, prediction, target)
        yield replace(facts, **order, **more)  # type: ignore[arg-type]


LOSSES: dict[str, LossFacts] = {f.name: f for make in (_torch, _keras, _tensorflow) for f in make()}
"""Every known loss by canonical name, classes and functions alike."""
