"""Labels count from one, or are -1 and 1, where classes are counted from zero."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
    change_data,
    loss_uses,
    lowest,
    same_targets,
    target_site,
    whole,
)


@dataclass(frozen=True, slots=True)
class Shift:
    """What takes the labels to the classes: code around them, and what it does in words."""

    before: str
    after: str
    title: str
    wanted: str
    prior: float


class LabelsOutsideClasses(FaultTemplate[tuple[LossUse, Shift]]):
    """Labels count from one, or are -1 and 1, where classes are counted from zero.

    A loss over `n` classes takes the numbers from 0 to `n - 1`, a binary loss takes 0 and 1. Labels from 1 to `n` reach
    outside: torch stops, other backends give numbers that are not finite. Labels -1 and 1 make a binary cross-entropy
    that has no least value.

    Fix safety: unsafe. The labels get other numbers; whatever prints or stores predicted classes has to take that back.

    References: torch.nn.CrossEntropyLoss ("class indices in the range [0, C)"), torch.nn.BCEWithLogitsLoss ("targets
    are numbers between 0 and 1"), keras.losses.SparseCategoricalCrossentropy.
    """

    code = "DNF109"
    name = "labels-outside-classes"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_WRANGLING
    in_modules = True
    message = "{loss} takes {wanted} and gets labels from {low:g} to {high:g}"
    needs_run = True
    declined = "the labels are not handed over at one place"

    def faults(self, subject: Subject) -> Faults[tuple[LossUse, Shift]]:
        for use, shift in _shifted(subject):
            yield target_site(subject, use), (use, shift)

    def report(self, site: Site, fault: tuple[LossUse, Shift]) -> Finding:
        use, shift = fault
        low, high = (use.target.low, use.target.high) if use.target is not None else (None, None)
        return self.finding(
            site,
            symptom=use.symptom,
            confidence=0.85,
            cause=use.cause,
            evidence={"low": low, "high": high, "classes": use.width},
            loss=use.name,
            wanted=shift.wanted,
            low=low,
            high=high,
        )

    def repairs(self, subject: Subject, fault: tuple[LossUse, Shift]) -> Repairs:
        use, shift = fault
        edits = change_data(subject, same_targets(subject, use), shift.before, shift.after)
        yield shift.title, edits, shift.prior

    examples = (
        Example(
            "signs for a binary loss",
            """\
import torch
import torch.nn.functional as F

net = torch.nn.Linear(2, 1)
x = torch.rand(6, 2)
y = torch.tensor([-1.0, 1.0, 1.0, -1.0, 1.0, -1.0]).unsqueeze(1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
-     loss = F.binary_cross_entropy_with_logits(net(x), y)
+     loss = F.binary_cross_entropy_with_logits(net(x), (y + 1) / 2)
    loss.backward()
    optimizer.step()
""",
            runs=True,
        ),
        Example(
            "Keras classes counted from one",
            """\
import numpy as np
import keras

x, y = np.random.rand(21, 4), np.arange(21) % 3 + 1
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
+ y = y - 1
model.fit(x, y, epochs=1, verbose=0)
model.evaluate(x, y, verbose=0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "labels counted from zero",
            """\
import torch
from torch import nn

loss = nn.CrossEntropyLoss()(nn.Linear(4, 3)(torch.rand(5, 4)), torch.tensor([0, 2, 1, 1, 0]))
""",
            runs=True,
        ),
        Reject(
            "one class more than outputs",
            """\
import torch
from torch import nn

loss = nn.CrossEntropyLoss()(nn.Linear(4, 3)(torch.rand(5, 4)), torch.tensor([0, 3, 1, 1, 0]))
""",
            runs=True,
        ),
        Reject(
            "a batch without the first class",
            """\
import torch
from torch import nn

loss = nn.CrossEntropyLoss()(nn.Linear(4, 3)(torch.rand(5, 4)), torch.tensor([1, 2, 1, 1, 2]))
""",
            runs=True,
        ),
    )


def _shifted(subject: Subject) -> Iterator[tuple[LossUse, Shift]]:
    for use in loss_uses(subject):
        target, low = use.target, lowest(subject, use)
        if subject.trace is None or target is None or low is None or target.high is None or not whole(target):
            continue
        if use.facts.target is Target.INDICES and use.width is not None and use.facts.class_axis is not None:
            if low == 1 and target.high == use.width > 1:
                wanted = f"class numbers from 0 to {use.width - 1}"
                yield use, Shift("", " - 1", "Count the classes from zero", wanted, 0.85)
        elif use.facts.target is Target.BINARY and target.distinct == 2:
            wanted = "labels 0 and 1"
            if low == -1 and target.high == 1:
                yield use, Shift("(", " + 1) / 2", "Turn the labels -1 and 1 into 0 and 1", wanted, 0.85)
            elif low == 1 and target.high == 2:
                yield use, Shift("", " - 1", "Turn the labels 1 and 2 into 0 and 1", wanted, 0.85)
