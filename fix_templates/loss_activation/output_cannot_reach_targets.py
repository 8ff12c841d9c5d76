"""The output's activation cannot give values as large or as small as the targets."""

from __future__ import annotations

from dnnfix.api import (
    ActivationFacts,
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
    Symptom,
    Task,
    bypass,
    extent,
    loss_uses,
    outside,
)


class OutputCannotReachTargets(FaultTemplate[tuple[LossUse, ActivationFacts]]):
    """A regression ends in a sigmoid, tanh, softmax or ReLU whose range does not hold the targets.

    The network can only push such outputs against the bound, where gradients vanish (a ReLU that should give a negative
    number gives 0 and learns nothing from it). A regression's last layer has no activation, or the targets are scaled
    into the activation's range.

    Fix safety: unsafe. The model's output is no longer bounded.

    References: ranges of torch.nn.Sigmoid, Tanh, ReLU; keras.activations.
    """

    code = "DNF312"
    name = "output-cannot-reach-targets"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACTIVATION
    in_modules = True
    message = "the output of {activation} lies in {range}, and the targets go from {targets}"
    declined = "the activation cannot be taken out at one place"

    def faults(self, subject: Subject) -> Faults[tuple[LossUse, ActivationFacts]]:
        for use in loss_uses(subject):
            activation, target = use.activation, use.target
            if use.facts.task is not Task.REGRESSION or activation is None or target is None:
                continue
            facts = activation.facts
            if facts.low == float("-inf") and facts.high == float("inf") or facts.log:
                continue
            if facts.rows_sum_to_one and use.width in (1, None):
                continue
            if use.target_is_indices and use.width not in (1, None):
                continue
            if target.requires_grad or (target.producer is not None and target.origin is None and _made(subject, use)):
                continue
            if len(target.shape or ()) > 2 and _is_reconstruction(subject, use):
                continue
            if outside(target, facts.low, facts.high, share=0.05):
                yield use.output_site, (use, facts)

    def report(self, site: Site, fault: tuple[LossUse, ActivationFacts]) -> Finding:
        use, facts = fault
        return self.finding(
            site,
            symptom=Symptom.VIOLATION,
            confidence=0.85,
            evidence={"activation": facts.name, "targets": extent(use.target), "loss": use.name},
            cause=use.cause,
            activation=facts.name,
            range=f"[{facts.low:g}, {facts.high:g}]",
            targets=extent(use.target),
        )

    def repairs(self, subject: Subject, fault: tuple[LossUse, ActivationFacts]) -> Repairs:
        use, _ = fault
        if use.producer is not None:
            yield "Leave the output without activation", bypass(subject, use.producer), 0.8

    examples = (
        Example(
            "Keras sigmoid and targets up to 20",
            """\
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

x = np.array([[1.0], [2.0], [3.0], [4.0]])
y = np.array([[5.0], [10.0], [15.0], [20.0]])
- model = Sequential([Dense(8, activation="relu", input_shape=(1,)), Dense(1, activation="sigmoid")])
+ model = Sequential([Dense(8, activation="relu", input_shape=(1,)), Dense(1)])
model.compile(loss="mse", optimizer="adam")
model.fit(x, y, epochs=2, verbose=0)
""",
        ),
        Example(
            "ReLU and negative targets, seen in a run",
            """\
import torch
from torch import nn
import torch.nn.functional as F

class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 8)
        self.b = nn.Linear(8, 1)

    def forward(self, x):
        x = F.relu(self.a(x))
-         x = F.relu(self.b(x))
+         x = self.b(x)
        return x

torch.manual_seed(0)
x = torch.randn(32, 2)
loss = nn.MSELoss()(Regressor()(x), 3 * x[:, :1])
loss.backward()
""",
            runs=True,
        ),
        Example(
            "tanh at the end of a sequence, seen in a run",
            """\
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(32, 2)
- model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1), nn.Tanh())
+ model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
loss = nn.functional.l1_loss(model(x), 10 + 3 * x[:, :1])
loss.backward()
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "targets within the sigmoid's range",
            """\
import torch
from torch import nn
model = nn.Sequential(nn.Linear(2, 1), nn.Sigmoid())
loss = nn.MSELoss()(model(torch.randn(32, 2)), torch.rand(32, 1))
loss.backward()
""",
            runs=True,
        ),
        Reject(
            "no activation at the end",
            """\
import torch
from torch import nn
model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
loss = nn.MSELoss()(model(torch.randn(32, 2)), torch.randn(32, 1))
loss.backward()
""",
            runs=True,
        ),
    )


def _is_reconstruction(subject: Subject, use: LossUse) -> bool:
    """Whether the target is what the network was given: an image out of range is then to be scaled, not the output."""
    target = use.target
    if target is None or target.id is None:
        return False
    layers = [c for c in subject.network.calls if c.component is not None and c.component != use.call.component]
    return any(value.id == target.id for call in layers for value in call.inputs)


def _made(subject: Subject, use: LossUse) -> bool:
    """Whether the target comes out of a layer: what another network says is no data to be reached."""
    network = subject.network
    call = network.producer(use.target) if use.target is not None else None
    for _ in range(24):
        if call is None:
            return False
        if call.component is not None:
            return True
        call = next((network.producer(v) for v in call.inputs if v.producer is not None), None)
    return True
