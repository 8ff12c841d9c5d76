"""The learning rate is orders of magnitude from the optimizer's usual one, and training diverges or stands still."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dnnfix.api import Family, Fault, FixPattern, ReadTemplate, Replace, Subject, Symptom, Trace, optimizing, words


class LearningRateOffByOrders(ReadTemplate):
    """The loss diverges, is not finite or hardly changes, and the learning rate is far from the usual one.

    With a rate that is too large each step overshoots, until the weights overflow or all units are dead; with one that
    is too small nothing changes. Reported where the run showed either, and the rate is a literal number more than ten
    times the optimizer's usual one or less than a thousandth of it. Its edits compete with those of other settings
    (DNF905).

    Fix safety: unsafe. Training makes other steps, which is the point.

    References: Bengio, "Practical Recommendations for Gradient-Based Training of Deep Architectures", section 3.1.1;
    torch.optim.Adam, keras.optimizers.Adam (default rates).
    """

    code = "DNF331"
    name = "learning-rate-off-by-orders"
    formerly = ("rate-off-by-orders",)
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.OPTIMIZER
    only_hinders = True
    raced = True
    message = "{shown} with a learning rate of {value}, where {usual} is usual"
    triggers = (
        "SGD",
        "Adam",
        "AdamW",
        "Adamax",
        "Nadam",
        "NAdam",
        "RMSprop",
        "Adagrad",
        "AdamOptimizer",
        "GradientDescentOptimizer",
        "MomentumOptimizer",
        "RMSPropOptimizer",
        "AdagradOptimizer",
    )
    needs_run = True

    declined = "the learning rate is not a literal number"

    def read(self, subject: Subject) -> Iterator[Fault]:
        trace = subject.trace
        if trace is None or trace.crash is not None or len(trace.steps) < ENOUGH_STEPS:
            return
        rates = {one.rate: one for one in optimizing.optimizers(subject) if one.rate is not None}
        if len(rates) != 1:
            return
        ((written, one),) = rates.items()
        value, usual = one.value or one.usual, one.usual
        shown = _too_great(trace) if value > 10 * usual else _too_small(trace) if value < usual / 999 else None
        if shown is not None and not (value < usual and subject.source.words & _FINE_TUNED):
            site = subject.source.site(written)
            ways = [("Use the usual learning rate", (Replace(site, f"{usual:g}"),), 0.6)]
            if value > usual:
                ways.append(("Use a tenth of the usual learning rate", (Replace(site, f"{usual / 10:g}"),), 0.4))
            words = {"shown": shown[0], "value": f"{value:g}", "usual": f"{usual:g}"}
            yield Fault(site, words, tuple(ways), confidence=0.7, symptom=shown[1])

    programs = """
=== example: a rate that has a name
import torch
from torch import nn

- RATE = 1e2
+ RATE = 0.01
torch.manual_seed(0)
x = torch.randn(64, 3)
y = 2 * x[:, :1]
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), RATE)
for _ in range(40):
    loss = ((net(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example: a learning rate with which nothing changes
import torch
from torch import nn, optim

torch.manual_seed(0)
x = torch.randn(64, 3)
y = 2 * x[:, :1]
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
- adam = optim.Adam(net.parameters(), lr=1e-9)
+ adam = optim.Adam(net.parameters(), lr=0.001)
for _ in range(12):
    loss = nn.functional.mse_loss(net(x), y)
    adam.zero_grad()
    loss.backward()
    adam.step()

=== reject: a great rate that learns
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 3)
y = (x.sum(1) > 0).long()
net = nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
for _ in range(12):
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== reject: a usual rate and data that run away
import torch
from torch import nn

torch.manual_seed(0)
x = 1000 * torch.randn(64, 3)
y = x.sum(1, keepdim=True)
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(12):
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


ENOUGH_STEPS = 8
"""Steps before which a training says nothing about its rate."""

RUNAWAY = 100.0
"""The factor by which a loss has to grow; a single step that overshoots does not reach it."""

STILL = 0.001
"""Fraction of the loss by which a training that stands still may change."""

_FINE_TUNED = words("load_state_dict from_pretrained pretrained load_model load_weights IMAGENET1K_V1")


def _too_great(trace: Trace) -> tuple[str, Symptom] | None:
    """What a rate that is too large has caused."""
    losses = trace.losses
    if any(not math.isfinite(loss) for loss in losses):
        return "the loss is not finite", Symptom.NON_FINITE
    if losses and losses[0] > 0 and min(losses[-3:]) > RUNAWAY * losses[0]:
        return "the loss diverges", Symptom.NOT_LEARNING
    return None


def _too_small(trace: Trace) -> tuple[str, Symptom] | None:
    """What a rate that is too small has caused: the last losses equal the first ones."""
    losses = trace.losses
    third = len(losses) // 3
    if not third or not all(math.isfinite(loss) for loss in losses):
        return None
    first, last = sum(losses[:third]) / third, sum(losses[-third:]) / third
    moves = [step.update for step in trace.steps if step.update is not None]
    rests = bool(moves) and max(moves) < STILL / 10
    return (
        ("the loss hardly changes", Symptom.NOT_LEARNING) if rests or abs(first - last) <= STILL * abs(first) else None
    )
