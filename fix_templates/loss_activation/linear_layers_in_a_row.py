"""A network of linear layers has no activation between them."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Call,
    Family,
    Fault,
    FixPattern,
    Network,
    ReadTemplate,
    Subject,
    layer_facts,
    loss_edits,
    network_facts,
    recipes,
    tensor_values,
)


class LinearLayersInARow(ReadTemplate):
    """All hidden layers of a network are linear, with no activation between them.

    Consecutive linear layers compute what one linear layer could: depth and width only add parameters. Reported where
    everything from the data to the loss is such a chain; narrow middle layers (a factorization, a linear autoencoder,
    word vectors) are left alone.

    Fix safety: unsafe. The network can represent other functions than before; weights trained before do not fit.

    References: Goodfellow, Bengio, Courville, "Deep Learning", section 6.1 (why a non-linear function is needed).
    """

    code = "DNF313"
    name = "linear-layers-in-a-row"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACTIVATION
    in_modules = True
    only_hinders = True
    message = "{count} consecutive linear layers have no activation between them and are equivalent to one"
    triggers = ("Linear", "Dense", "LazyLinear")

    declined = "an activation cannot be added after each hidden layer"

    def read(self, subject: Subject) -> Iterator[Fault]:
        for use in tensor_values.loss_uses(subject):
            chain = _chain(subject.network, use)
            if len(chain) < 2 or _narrows(chain):
                continue
            ways = [
                (
                    f"Add a {activation} after each hidden layer",
                    recipes.together(*(loss_edits.add_activation(subject, call, activation) for call in chain[:-1])),
                    prior,
                )
                for activation, prior in (("relu", 0.8), ("tanh", 0.35))
            ]
            widths = tuple(network_facts.stated_output(call) for call in chain)
            yield Fault(chain[0].made_at, {"count": len(chain)}, tuple(ways), {"widths": widths}, confidence=0.7)

    programs = """
=== example: Keras chain
from keras.models import Sequential
from keras.layers import Dense

model = Sequential()
- model.add(Dense(64, input_dim=8))
- model.add(Dense(32))
+ model.add(Dense(64, input_dim=8, activation="relu"))
+ model.add(Dense(32, activation="relu"))
model.add(Dense(1, activation='sigmoid'))
model.compile(loss='binary_crossentropy', optimizer='adam')

=== example: torch sequence
import torch
from torch import nn

model = nn.Sequential(
    nn.Linear(8, 64),
+     nn.ReLU(),
    nn.Linear(64, 32),
+     nn.ReLU(),
    nn.Linear(32, 3),
)
loss = nn.CrossEntropyLoss()(model(torch.rand(4, 8)), torch.tensor([0, 1, 2, 0]))

=== example: torch module
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(8, 20)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(20, 1)

    def forward(self, x):
-         x = self.drop(self.hidden(x))
+         x = self.drop(torch.relu(self.hidden(x)))
        return self.out(x)

loss = nn.functional.mse_loss(Net()(torch.rand(4, 8)), torch.rand(4, 1))

=== reject: activations between
import torch
from torch import nn
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 3))
loss = nn.CrossEntropyLoss()(model(torch.rand(4, 8)), torch.tensor([0, 1, 2, 0]))

=== reject: linear autoencoder
import torch
from torch import nn
model = nn.Sequential(nn.Linear(64, 4), nn.Linear(4, 64))
x = torch.rand(4, 64)
loss = nn.MSELoss()(model(x), x)

=== reject: low-rank head of a deeper network
import torch
from torch import nn
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2), nn.Linear(2, 30))
loss = nn.CrossEntropyLoss()(model(torch.rand(4, 8)), torch.tensor([0, 1, 2, 0]))
"""


_PASSING = network_facts.KEEPS_VALUES | {"torch.nn.Dropout", "torch.nn.functional.dropout", "keras.layers.Dropout"}


def _chain(network: Network, use: tensor_values.LossUse) -> tuple[Call, ...]:
    """The linear layers between data and loss, in order; empty where anything else is between them."""
    found: list[Call] = []
    value = use.prediction
    last = True
    for _ in range(64):
        call = network.producer(value)
        if call is None:
            return (
                tuple(reversed(found)) if value.origin in ("data", "symbolic") or _model_input(network, found) else ()
            )
        if len(network.users(call.outputs[0])) > 1 and not last:
            return ()
        facts, activation = layer_facts(call), network_facts.activation_of(call)
        flat = activation is None or activation.facts.linear
        if facts is not None and facts.kind == "linear":
            if not flat and found or not flat and not last:
                return ()
            if call.name.startswith("keras.") and activation is None:
                return ()
            found.append(call)
            last = False
        elif not (call.name in _PASSING or (last and not found and activation is not None)):
            return ()
        if not call.inputs:
            return ()
        value = call.inputs[0]
    return ()


def _model_input(network: Network, found: list[Call]) -> bool:
    """Whether the first layer of the chain is the first layer that the program calls."""
    layers = [call for call in network.calls if call.component is not None and layer_facts(call) is not None]
    return bool(found) and bool(layers) and layers[0].made_at == found[-1].made_at


def _narrows(chain: tuple[Call, ...]) -> bool:
    """Whether a hidden layer is narrower than both input and output (a factorization), or sizes are unknown."""
    widths = [network_facts.stated_output(call) for call in chain]
    if any(width is None for width in widths):
        return True
    known = [width for width in widths if width is not None]
    first = chain[0]
    entering = network_facts.stated_input(first)
    if entering is None and first.inputs and first.inputs[0].shape:
        entering = first.inputs[0].shape[-1]
    hidden, leaving = min(known[:-1]), known[-1]
    return hidden <= leaving and (entering is None or hidden <= entering) or max(known[:-1]) < 4
