"""A Keras loss for one-hot labels meets class indices, or the reverse."""

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
    Target,
    Task,
    change_loss,
    loss_uses,
)


class LossForOtherLabels(FaultTemplate[LossUse]):
    """`categorical_crossentropy` gets class indices, or `sparse_categorical_crossentropy` gets one-hot rows.

    The two losses compute the same from labels of different form. The shapes do not meet, and the program stops, or with
    some shapes compares what does not belong together. This rule changes the loss; the labels are the other end.

    Fix safety: unsafe. The loss is computed as the labels' form asks; nothing else changes.

    References: keras.losses.CategoricalCrossentropy ("we expect labels to be provided in a one_hot representation"),
    keras.losses.SparseCategoricalCrossentropy ("labels to be provided as integers").
    """

    code = "DNF309"
    name = "loss-for-other-labels"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.LOSS_FUNCTION
    in_modules = True
    message = "{loss} is made for {wanted}, and the labels are {given}"
    triggers = (
        "categorical_crossentropy",
        "CategoricalCrossentropy",
        "sparse_categorical_crossentropy",
        "SparseCategoricalCrossentropy",
    )
    declined = "the loss is not chosen at one place"

    def faults(self, subject: Subject) -> Faults[LossUse]:
        for use in loss_uses(subject):
            if not use.call.name.startswith("keras.losses.") or use.facts.task is not Task.CLASSES:
                continue
            if use.width is None or use.width < 2:
                continue
            high = use.target.high if use.target is not None else None
            fits = high is None or high < use.width
            indices = use.facts.target is Target.ONE_HOT and use.target_is_indices and fits
            if indices or (use.facts.target is Target.INDICES and use.target_is_one_hot):
                yield use.site, use

    def report(self, site: Site, use: LossUse) -> Finding:
        sparse = use.facts.target is Target.INDICES
        target = use.target.shape if use.target is not None else None
        return self.finding(
            site,
            symptom=use.symptom,
            confidence=0.9,
            evidence={"loss": use.name, "output": use.prediction.shape, "labels": target},
            cause=use.cause,
            loss=use.name,
            wanted="class indices" if sparse else "one-hot rows",
            given="one-hot rows" if sparse else "class indices",
        )

    def repairs(self, subject: Subject, use: LossUse) -> Repairs:
        if use.facts.target is Target.INDICES:
            edits = change_loss(subject, use.call, "keras.losses.CategoricalCrossentropy")
            yield "Use the loss for one-hot rows", edits, 0.8
        else:
            edits = change_loss(subject, use.call, "keras.losses.SparseCategoricalCrossentropy")
            yield "Use the loss for class indices", edits, 0.8

    examples = (
        Example(
            "indices with the loss for one-hot rows",
            """\
import numpy as np
import keras

x, y = np.random.rand(12, 4), np.random.randint(0, 3, 12)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
- model.compile(optimizer="sgd", loss="categorical_crossentropy")
+ model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
model.fit(x, y, epochs=1, verbose=0)
""",
            runs=True,
        ),
        Example(
            "one-hot rows with the loss for indices",
            """\
import numpy as np
import keras
from keras import layers

x, y = np.random.rand(12, 4), keras.utils.to_categorical(np.arange(12) % 3)
model = keras.Sequential([keras.Input((4,)), layers.Dense(8, activation="relu"), layers.Dense(3, activation="softmax")])
- model.compile(optimizer="sgd", loss=keras.losses.SparseCategoricalCrossentropy())
+ model.compile(optimizer="sgd", loss=keras.losses.CategoricalCrossentropy())
model.fit(x, y, epochs=1, verbose=0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "indices with the loss for indices",
            """\
import numpy as np
import keras
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
model.fit(np.random.rand(12, 4), np.random.randint(0, 3, 12), epochs=1, verbose=0)
""",
            runs=True,
        ),
        Reject(
            "one-hot rows with the loss for them",
            """\
import numpy as np
import keras
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="sgd", loss="categorical_crossentropy")
model.fit(np.random.rand(12, 4), np.eye(3)[np.arange(12) % 3], epochs=1, verbose=0)
""",
            runs=True,
        ),
    )
