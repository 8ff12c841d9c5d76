"""A loss over classes gets one value per sample."""

from __future__ import annotations

from dnnfix.api import (
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    LossUse,
    Reject,
    Repairs,
    Site,
    Subject,
    Task,
    for_one_unit,
    loss_uses,
    stated_output,
)


class OneUnitForClasses(FaultTemplate[LossUse]):
    """Categorical cross-entropy is computed over a single output unit.

    Over one class the loss is 0 whatever the network says, and any label but 0 is out of range. A single unit can only
    say how likely the second of two classes is, for which there is binary cross-entropy; more classes need one unit
    each. A softmax on that unit is reported by `softmax-over-one-unit`.

    Fix safety: unsafe. The loss or the width of the output changes, and with it whatever reads the output.

    References: keras.losses.BinaryCrossentropy, torch.nn.BCEWithLogitsLoss, torch.nn.CrossEntropyLoss.
    """

    code = "DNF308"
    name = "one-unit-for-classes"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.LOSS_FUNCTION
    in_modules = True
    message = "{loss} is taken over a single output unit"
    triggers = (
        "categorical_crossentropy",
        "CategoricalCrossentropy",
        "sparse_categorical_crossentropy",
        "SparseCategoricalCrossentropy",
        "CrossEntropyLoss",
        "cross_entropy",
        "NLLLoss",
        "nll_loss",
    )
    declined = "neither the loss nor the width of the output can be changed at one place"

    def faults(self, subject: Subject) -> Faults[LossUse]:
        for use in loss_uses(subject):
            maker, target = use.producer, use.target
            if use.facts.task is not Task.CLASSES or maker is None:
                continue
            if use.activation is not None and (use.rows_sum_to_one or use.activation.facts.log):
                continue
            if stated_output(maker) not in (1, None) or use.width != 1 or (use.rank is not None and use.rank < 2):
                continue
            amounts = target is not None and target.dtype in ("float32", "float64") and target.integral is False
            if not amounts:
                yield use.site, use

    def report(self, site: Site, use: LossUse) -> Finding:
        return self.finding(
            site,
            symptom=use.symptom,
            confidence=0.95,
            evidence={"loss": use.name, "units": 1, "classes": _classes(use)},
            cause=use.cause,
            loss=use.name,
        )

    def repairs(self, subject: Subject, use: LossUse) -> Repairs:
        yield from for_one_unit(subject, use)

    examples = (
        Example(
            "sigmoid unit with sparse cross-entropy",
            """\
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(8, activation="relu", input_shape=(5,)), Dense(1, activation="sigmoid")])
- model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
+ model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
""",
        ),
        Example(
            "one raw score for two classes, seen in a run",
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
- criterion = nn.CrossEntropyLoss()
+ criterion = nn.BCEWithLogitsLoss()
labels = torch.tensor([0, 1, 1, 0, 1, 0])
- loss = criterion(model(torch.rand(6, 4)), labels)
+ loss = criterion(model(torch.rand(6, 4)), labels.float().unsqueeze(1))
loss.backward()
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "one sigmoid unit with its loss",
            """\
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(8, activation="relu", input_shape=(5,)), Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy")
""",
        ),
        Reject(
            "a score per class",
            """\
import torch
from torch import nn

model = nn.Linear(4, 2)
loss = nn.CrossEntropyLoss()(model(torch.rand(6, 4)), torch.tensor([0, 1, 1, 0, 1, 0]))
""",
            runs=True,
        ),
    )


def _classes(use: LossUse) -> int | None:
    high = use.target.high if use.target is not None else None
    return int(high) + 1 if high is not None and 0 <= high < 1e6 else None
