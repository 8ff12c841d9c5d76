"""Resolves strings that Keras accepts for objects (`"mse"`, `"adam"`), and finds the kind of a component's name.

The strings are those of `keras.losses.get`, `keras.metrics.get`, `keras.optimizers.get` of Keras 3.15, with the ones
that Keras 1 and 2 took as well.
"""

from __future__ import annotations

from dnnfix.network.losses import LOSSES, snake
from dnnfix.source.public_names import KERAS_OPTIMIZERS

_SHORT = {
    "mse": "MeanSquaredError", "mae": "MeanAbsoluteError", "mape": "MeanAbsolutePercentageError",
    "msle": "MeanSquaredLogarithmicError", "bce": "BinaryCrossentropy", "kld": "KLDivergence",
}  # fmt: skip
_OLD_LOSSES = {
    "kullback_leibler_divergence": "KLDivergence", "cosine": "CosineSimilarity", "cosine_proximity": "CosineSimilarity",
    "logcosh": "LogCosh", "huber_loss": "Huber",
}  # fmt: skip

OLD_LOSS_STRINGS = frozenset(_OLD_LOSSES)
"""Those of `LOSS_STRINGS` that Keras of today does not know any more."""

LOSS_STRINGS: dict[str, str] = (
    {
        f.name.rpartition(".")[2]: f.twin
        for f in LOSSES.values()
        if f.name.startswith("keras.losses") and f.function and f.twin
    }
    | {
        f.name.rpartition(".")[2]: f.name
        for f in LOSSES.values()
        if f.name.startswith("keras.losses") and not f.function
    }
    | {k: f"keras.losses.{v}" for s, v in _SHORT.items() for k in (s, s.upper())}
    | {k: f"keras.losses.{v}" for k, v in _OLD_LOSSES.items()}
)
"""The loss class for each string that `compile(loss=...)` takes."""

_METRIC_CLASSES = (
    "Accuracy", "BinaryAccuracy", "CategoricalAccuracy", "SparseCategoricalAccuracy", "TopKCategoricalAccuracy",
    "SparseTopKCategoricalAccuracy", "BinaryCrossentropy", "CategoricalCrossentropy", "SparseCategoricalCrossentropy",
    "KLDivergence", "Poisson", "MeanSquaredError", "RootMeanSquaredError", "MeanAbsoluteError",
    "MeanAbsolutePercentageError", "MeanSquaredLogarithmicError", "CosineSimilarity", "LogCoshError", "R2Score", "AUC",
    "FalseNegatives", "FalsePositives", "Precision", "Recall", "TrueNegatives", "TruePositives", "PrecisionAtRecall",
    "RecallAtPrecision", "SensitivityAtSpecificity", "SpecificityAtSensitivity", "Hinge", "SquaredHinge",
    "CategoricalHinge", "F1Score", "FBetaScore", "IoU", "BinaryIoU", "MeanIoU", "OneHotIoU", "OneHotMeanIoU", "Mean",
    "Sum", "ConcordanceCorrelation", "PearsonCorrelation",
)  # fmt: skip


METRIC_ALIASES = {short: snake(name) for short, name in _SHORT.items()}
"""The long name of each metric and loss that has a short one (`mae`: `mean_absolute_error`)."""

METRIC_STRINGS: dict[str, str] = (
    {k: f"keras.metrics.{v}" for v in _METRIC_CLASSES for k in (v, snake(v))}
    | {k: f"keras.metrics.{v}" for s, v in _SHORT.items() if s != "kld" for k in (s, s.upper())}
    | {"acc": "keras.metrics.Accuracy", "AUC": "keras.metrics.AUC"}
)
"""The metric class for each string that `compile(metrics=[...])` takes; `accuracy` is left as `Accuracy`, whose kind
Keras chooses from the loss and the shapes."""

_NO_OPTIMIZERS = ("Optimizer", "TFOptimizer", "schedules")

OPTIMIZER_STRINGS: dict[str, str] = {
    name.lower(): f"keras.optimizers.{name}" for name in sorted(KERAS_OPTIMIZERS.difference(_NO_OPTIMIZERS))
}
"""The optimizer class for each string that `compile(optimizer=...)` takes, in lower case as Keras compares them."""


def loss_name(given: str) -> str | None:
    """The canonical class of a Keras loss given as a string or as the canonical name of a function or class."""
    if given in LOSSES:
        facts = LOSSES[given]
        return facts.twin if facts.function and facts.twin else given
    if given.startswith(("keras.losses.", "keras.metrics.")):
        return LOSS_STRINGS.get(given.rpartition(".")[2])
    return LOSS_STRINGS.get(given)


def metric_name(given: str) -> str | None:
    """The canonical class of a Keras metric given as a string or as the canonical name of a function or class."""
    last = given.rpartition(".")[2] if given.startswith(("keras.metrics.", "keras.losses.")) else given
    return METRIC_STRINGS.get(last)


def optimizer_name(given: str) -> str | None:
    """The canonical class of a Keras optimizer given as a string, whatever its case."""
    return OPTIMIZER_STRINGS.get(given.lower())


_LOADERS = ("torch.utils.data.DataLoader", "keras.utils.PyDataset", "keras.utils.Sequence",
            "keras.preprocessing.image.ImageDataGenerator")  # fmt: skip
_MODELS = ("torchvision.models.", "torch.hub.load", "timm.create_model", "keras.applications.")

KERAS_SEQUENTIALS = ("keras.Sequential", "keras.models.Sequential")
"""The class of Keras models that are a list of layers, by its canonical names."""

KERAS_FUNCTIONAL = ("keras.Model", "keras.models.Model")
"""The class of Keras models that have inputs and outputs, or that the program derives from."""


def component_kind(name: str) -> str | None:
    """The kind of component that calling this canonical name makes, or `None` where it makes none.

    Kinds: layer, model, loss, optimizer, metric, loader, scheduler, callback.
    """
    if name in LOSSES:
        return None if LOSSES[name].function else "loss"
    if name in _LOADERS:
        return "loader"
    if name.startswith(_MODELS) or name in KERAS_SEQUENTIALS + KERAS_FUNCTIONAL:
        return "model"
    area, _, last = name.rpartition(".")
    if not last[:1].isupper():
        return None
    kinds = {
        "torch.nn": "layer", "torch.optim": "optimizer", "torch.optim.lr_scheduler": "scheduler",
        "keras.layers": "layer", "keras.losses": "loss", "keras.optimizers": "optimizer", "keras.metrics": "metric",
        "keras.callbacks": "callback", "keras.optimizers.schedules": "scheduler", "keras.optimizers.legacy": "optimizer",
    }  # fmt: skip
    if name in ("torch.nn.Parameter", "torch.nn.Module", "keras.layers.Layer", "keras.layers.Input"):
        return None
    return kinds.get(area)
