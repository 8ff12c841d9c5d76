"""The prediction and the target of a loss are swapped."""

from __future__ import annotations

import ast

from dnnfix.api import (
    Call,
    Disagreement,
    Family,
    FixPattern,
    LossTemplate,
    Network,
    Repairs,
    Replace,
    Subject,
    Value,
    layer_facts,
    network_facts,
    tensor_values,
)

_TASKS = frozenset({network_facts.Task.CLASSES, network_facts.Task.LABELS})


def _swapped(subject: Subject, use: tensor_values.LossUse) -> bool:
    if use.facts.task not in _TASKS or use.target is None or use.call.site is None or use.call.site.path:
        return False
    if not isinstance(subject.node(use.call.site), ast.Call) or use.call.site == use.call.made_at:
        return False
    return _from_layer(subject.network, use.target) and _is_data(subject.network, use.prediction)


def _exchanged(subject: Subject, use: tensor_values.LossUse) -> Repairs:
    node, source = subject.node(use.call.site), subject.source
    if isinstance(node, ast.Call) and len(node.args) >= 2 and not any(isinstance(a, ast.Starred) for a in node.args):
        sites = [source.site(each) for each in node.args[:2]]
        first, second = (source.segment(site) for site in sites)
        yield "Swap the two arguments", (Replace(sites[0], second), Replace(sites[1], first)), 0.95


def _is_data(network: Network, value: Value, depth: int = 12) -> bool:
    """Whether the value came from outside, possibly transformed by functions without weights."""
    if value.requires_grad or depth == 0:
        return False
    maker = network.producer(value)
    if maker is None:
        return value.origin in ("data", "constant")
    return maker.component is None and bool(maker.inputs) and all(_is_data(network, v, depth - 1) for v in maker.inputs)


def _from_layer(network: Network, value: Value) -> bool:
    """Whether a layer of the network computed the value."""
    if value.requires_grad is False:
        return False
    pending: list[tuple[Call | None, int]] = [(network.producer(value), 12)]
    while pending:
        call, depth = pending.pop()
        if call is None or depth == 0:
            continue
        if call.component is not None and layer_facts(call) is not None:
            return True
        pending += [(network.producer(v), depth - 1) for v in call.inputs]
    return False


class SwappedLossArguments(LossTemplate):
    """A loss that is not symmetric gets the data as its prediction and the network's output as its target.

    torch expects the prediction first, Keras the target. Swapped, cross-entropy computes the logarithm of the labels
    weighted by the outputs, or raises because of the dtypes. Squared and absolute errors are symmetric and not
    reported.

    Fix safety: unsafe. The loss has another value and gradient, which is the point.

    References: torch.nn.functional.cross_entropy (input, target), keras.losses (y_true, y_pred).
    """

    code = "DNF318"
    name = "swapped-loss-arguments"
    message = "the arguments of the loss are swapped: {what}"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.API_CONTRACT

    declined = "the two are not the first positional arguments of the call"
    disagreements = (
        Disagreement(
            _swapped,
            lambda use: f"{use.name} gets the data as its prediction and the output of the network as its target",
            _exchanged,
            confidence=0.95,
            place=lambda _, use: use.call.site,
        ),
    )

    programs = """
=== example: labels first in torch
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
criterion = nn.BCELoss()
x, y = torch.rand(8, 4), torch.ones(8, 1)
- loss = criterion(y, model(x))  # per batch
+ loss = criterion(model(x), y)  # per batch

=== example (runs): class indices first, which stops the program
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 3)
labels = torch.tensor([0, 1, 2, 1])
out = model(torch.rand(4, 4))
- loss = F.cross_entropy(labels, out)
+ loss = F.cross_entropy(out, labels)
loss.backward()

=== example: prediction first in Keras
import numpy as np
import keras

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
loss_fn = keras.losses.CategoricalCrossentropy()
x, y = np.random.rand(8, 4), np.eye(3)[np.arange(8) % 3]
- loss = loss_fn(model(x), y)
+ loss = loss_fn(y, model(x))

=== example (runs): in a training loop, seen in a run
import torch
from torch import nn

model = nn.Linear(4, 1)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    x = torch.rand(8, 4)
    y = (x[:, :1] > 0.5).float()
    pred = model(x)
-     loss = criterion(y, pred)
+     loss = criterion(pred, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== reject (runs): prediction first
import torch
from torch import nn
model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
loss = nn.BCELoss()(model(torch.rand(8, 4)), torch.ones(8, 1))
loss.backward()

=== reject (runs): a function of Keras, which expects the target first, in a layer that adds a loss
import numpy as np
import keras


class Reconstruction(keras.layers.Layer):
    def call(self, outputs, inputs):
        self.add_loss(keras.ops.mean(keras.losses.binary_crossentropy(inputs, outputs)))
        return outputs


x = keras.Input((6,))
decoded = keras.layers.Dense(6, activation="sigmoid")(x)
model = keras.Model(x, Reconstruction()(decoded, x))
model.compile("sgd")
model.fit(np.random.rand(32, 6), epochs=1)

=== reject (runs): symmetric loss
import torch
from torch import nn
model = nn.Linear(4, 1)
loss = nn.MSELoss()(torch.ones(8, 1), model(torch.rand(8, 4)))
loss.backward()

=== reject (runs): scores of a fixed input are learnt
import torch
import torch.nn.functional as F
logits = torch.zeros(4, 3, requires_grad=True)
loss = F.cross_entropy(logits, torch.tensor([0, 1, 2, 1]))
loss.backward()
"""
