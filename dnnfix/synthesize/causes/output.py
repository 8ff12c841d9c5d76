"""The cause "output and loss": the last activation and the loss that fit the targets, changed together."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.detect.tensors.values import LossUse, binary, loss_uses, whole
from dnnfix.network.facts import Prediction, Target, Task
from dnnfix.records import Edit, FixPattern
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.synthesize.edits.losses import add_activation, change_activation, change_loss, without_activation
from dnnfix.synthesize.edits.recipes import together
from dnnfix.validate.reading import Reading

KERAS = {
    Target.INDICES: ("softmax", "keras.losses.SparseCategoricalCrossentropy"),
    Target.ONE_HOT: ("softmax", "keras.losses.CategoricalCrossentropy"),
    Target.BINARY: ("sigmoid", "keras.losses.BinaryCrossentropy"),
    Target.REAL: ("linear", "keras.losses.MeanSquaredError"),
}
TORCH = {
    Target.INDICES: ("linear", "torch.nn.CrossEntropyLoss"),
    Target.BINARY: ("linear", "torch.nn.BCEWithLogitsLoss"),
    Target.REAL: ("linear", "torch.nn.MSELoss"),
}
"""By kind of target the activation of the output, and the loss, that belong together."""


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """What makes output and loss those of the targets, for each loss that is taken in training."""
    for use in loss_uses(subject):
        asked = asked_for(use)
        belongs = (KERAS if use.in_keras else TORCH).get(asked) if asked is not None else None
        if belongs is None or use.call.phase == "eval":
            continue
        activation, loss = belongs
        right_loss = _same_loss(use, loss)
        if right_loss and (use.activation_name or "linear") == activation:
            continue
        shown: tuple[Edit, ...] | None = () if right_loss else change_loss(subject, use.call, loss)
        made = together(_activated(subject, use, activation), shown)
        if made:
            ends = f"{'no activation' if activation == 'linear' else activation} and {loss.rpartition('.')[2]}"
            pattern = FixPattern.ACTIVATION if right_loss else FixPattern.LOSS_FUNCTION
            yield Cause("output", f"End in {ends}, as the targets ask for", pattern, made, 0.7)


def asked_for(use: LossUse) -> Target | None:
    """What kind of target a loss is given; `None` where that is not clear."""
    target = use.target
    if target is None or target.low is None or target.high is None:
        return None
    if use.target_is_indices and (use.width or 0) > 1:
        return Target.INDICES
    if use.target_is_one_hot and (use.width or 0) > 1:
        return Target.ONE_HOT
    if binary(target) and use.width == 1:
        return Target.BINARY
    if use.target_is_multi_hot:
        return Target.BINARY
    if not whole(target) and (target.low < 0.0 or target.high > 1.0):
        return Target.REAL
    return None


def _same_loss(use: LossUse, wanted: str) -> bool:
    name = use.facts.name if not use.facts.function else use.facts.twin
    if name == wanted:
        return True
    if use.in_torch and use.facts.prediction is Prediction.LOG_PROBABILITIES:
        return use.facts.task is Task.CLASSES and wanted.endswith("CrossEntropyLoss")
    return wanted.endswith(("MSELoss", "MeanSquaredError")) and use.facts.task is Task.REGRESSION


def _activated(subject: Subject, use: LossUse, activation: str) -> tuple[Edit, ...] | None:
    now = use.activation_name or "linear"
    if now == activation or (use.in_torch and use.facts.prediction is Prediction.LOG_PROBABILITIES):
        return ()
    if use.producer is None:
        return None
    if activation == "linear":
        return without_activation(subject, use)
    if use.bare:
        return add_activation(subject, use.producer, activation)
    return change_activation(subject, use.producer, activation)
