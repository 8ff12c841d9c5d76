"""All weights of a hidden layer start with the same value."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Call,
    Component,
    Delete,
    Family,
    Fault,
    FixPattern,
    Network,
    ReadTemplate,
    RemoveArgument,
    Repair,
    Replace,
    Subject,
    graph,
    layer_facts,
    spell,
    words,
)

KINDS = frozenset({"linear", "convolution", "recurrent"})
CONSTANT = words("torch.nn.init.constant_ torch.nn.init.zeros_ torch.nn.init.ones_ torch.nn.init.constant")
FILLS = words("fill_ zero_")
SUMS = words("torch.Tensor.add torch.Tensor.add_ torch.add torch.Tensor.sub keras.layers.Add keras.layers.Average")
INITIALIZERS = ("kernel_initializer", "init", "embeddings_initializer")


class ConstantInitialization(ReadTemplate):
    """All weights of a hidden layer start with the same value: zeros, ones or another constant.

    Units that start equal receive equal gradients and stay equal: the layer works like a single unit, and with zeros no
    gradient flows through it. Biases, normalization, the last layer and the last layer of a residual branch may start
    with zeros.

    Fix safety: unsafe. Training starts from other weights.

    References: torch.nn.init; keras.initializers.
    """

    code = "DNF409"
    name = "constant-initialization"
    message = "all weights of {layer} start with the same value, so that its units compute and learn the same"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    only_hinders = True
    triggers = (*INITIALIZERS, "constant_", "zeros_", "ones_", "constant", *FILLS)
    needs_run = True
    confidence = 0.9
    declined = "the weights are set within another expression"

    def read(self, subject: Subject) -> Iterator[Fault]:
        network = subject.network
        said = set()
        for parameter in network.parameters if subject.trace is not None else ():
            layer = network.component(parameter.component)
            if parameter.constant is not True or not parameter.trainable or layer is None:
                continue
            facts = layer_facts(layer)
            if not _many(parameter.shape, layer) or "bias" in parameter.name.rpartition("/")[2]:
                continue
            if facts is None or facts.kind not in KINDS or not _is_hidden(network, layer):
                continue
            place = _initialized(subject, layer)
            if place is not None and place not in said:
                said.add(place)
                shown = f"{layer.name.rpartition('.')[2]} ({parameter.name})"
                yield Fault(subject.source.site(place), {"layer": shown}, tuple(_at_random(subject, place)))

    programs = """
=== example: zeros in a Keras layer
import keras
import numpy as np
from keras.layers import Dense

model = keras.Sequential([
    keras.Input((4,)),
-     Dense(8, activation="relu", kernel_initializer="zeros"),
+     Dense(8, activation="relu"),
    Dense(1),
])
model.compile(loss="mse", optimizer="sgd")
model.fit(np.random.rand(8, 4), np.random.rand(8), epochs=1, verbose=0)

=== example: a function that sets the weights of every layer
import torch
from torch import nn

def init_weights(m):
    if isinstance(m, nn.Linear):
-         nn.init.constant_(m.weight, 0.1)
+         nn.init.xavier_uniform_(m.weight)
        nn.init.zeros_(m.bias)

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
net.apply(init_weights)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
optimizer.step()

=== example: the data of one weight filled
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 1)
-         self.fc1.weight.data.fill_(0.5)
+         nn.init.xavier_uniform_(self.fc1.weight)
        self.fc2.weight.data.zero_()  # the output begins at zero

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(8, 4)).pow(2).mean().backward()
optimizer.step()

=== reject: the last layer and a bias begin with zeros
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
nn.init.zeros_(net[2].weight)
nn.init.constant_(net[0].bias, 0.1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
optimizer.step()

=== reject: the two rows of biases of a recurrent layer
import numpy as np
import keras

model = keras.Sequential()
model.add(keras.layers.GRU(5, kernel_initializer="glorot_normal", recurrent_initializer="orthogonal"))
model.add(keras.layers.Dense(1))
model.compile(optimizer="adam", loss="mse")
model.fit(np.random.rand(16, 4, 2), np.random.rand(16, 1), epochs=1, verbose=0)

=== reject: the last layer of a residual branch
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.head = nn.Linear(4, 8), nn.Linear(8, 4), nn.Linear(4, 1)
        nn.init.zeros_(self.b.weight)

    def forward(self, x):
        return self.head(x + self.b(torch.relu(self.a(x))))

net = Block()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(8, 4)).pow(2).mean().backward()
optimizer.step()
"""


def _at_random(subject: Subject, made: ast.Call) -> Iterator[Repair]:
    """The repairs that initialize the weights at random."""
    source, site = subject.source, subject.source.site(made)
    for name in INITIALIZERS:
        if any(keyword.arg == name for keyword in made.keywords):
            yield f"Initialize the weights at random: remove `{name}`", (RemoveArgument(site, name),), 0.9
            return
    weight = _weight(subject, made)
    if weight is not None and isinstance(source.parent(made), ast.Expr):
        spelled = spell(subject, "torch.nn.init.xavier_uniform_")
        text = f"{spelled.code}({weight})"
        yield f"Initialize the weights with {text}", (Replace(site, text), *spelled.imports), 0.8
        yield "Keep the default initialization of the layer", (Delete(source.site(source.statement_of(made))),), 0.6


def _many(shape: tuple[int, ...], layer: Component) -> bool:
    """Whether the weight belongs to several units."""
    if len(shape) < 2:
        return False
    return (shape[-1] if layer.name.startswith("keras.") else shape[0]) > 1


def _is_hidden(network: Network, layer: Component) -> bool:
    """Whether another layer with weights uses this output, and it is not added to another tensor first."""
    own = next((call for call in network.calls if call.component == layer.id and call.outputs), None)
    if own is None or _summed(network, own):
        return False
    for call in network.calls:
        facts = layer_facts(call)
        other = call.id > own.id and call.step == own.step and call.component != layer.id
        if other and facts is not None and facts.kind in KINDS and own.id in graph.upstream(network, call):
            return True
    return False


def _summed(network: Network, call: Call) -> bool:
    """Whether the output is added to another tensor before the next layer with weights."""
    waiting, seen = [call], set()
    while waiting:
        current = waiting.pop()
        if current.id in seen:
            continue
        seen.add(current.id)
        for user in (user for value in current.outputs for user in network.users(value)):
            facts = layer_facts(user)
            if user.name in SUMS and len(user.inputs) > 1:
                return True
            if facts is None or facts.kind not in KINDS:
                waiting.append(user)
    return False


def _initialized(subject: Subject, layer: Component) -> ast.Call | None:
    """The call that sets the weights: the constructor of the layer, or an initializer called on its weight."""
    constructor = subject.call_node(layer)
    if constructor is not None and any(keyword.arg in INITIALIZERS for keyword in constructor.keywords):
        return constructor
    if layer.name.startswith("keras."):
        return None
    own = (layer.attribute or "").rpartition(".")[2]
    general: list[ast.Call] = []
    for call in subject.source.all_calls:
        weight = _weight(subject, call)
        if weight is None:
            continue
        holder = weight.rpartition(".weight")[0]
        last = holder.rpartition(".")[2]
        if own and (last == own or holder.endswith(f"[{own}]")):
            return call
        if "." not in holder and "[" not in holder:
            general.append(call)
    return general[0] if len(general) == 1 else None


def _weight(subject: Subject, call: ast.Call) -> str | None:
    """The source text of the weight that a call fills with one value."""
    target: ast.expr | None = None
    if subject.source.qualified(call.func) in CONSTANT:
        target = call.args[0] if call.args else None
    elif isinstance(call.func, ast.Attribute) and call.func.attr in FILLS:
        target = call.func.value
    if isinstance(target, ast.Attribute) and target.attr == "data":
        target = target.value
    if isinstance(target, ast.Attribute) and target.attr == "weight":
        return subject.text(subject.source.site(target))
    return None
