"""One layer object is used twice where two layers are needed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Call,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    ReadTemplate,
    Repair,
    Replace,
    Subject,
    Symptom,
    graph,
    layer_facts,
    network_facts,
)

SEQUENTIAL = ("keras.Sequential", "keras.models.Sequential")


class LayerObjectReused(ReadTemplate):
    """A batch normalization is applied after two different layers, or a Keras `Sequential` gets one layer object twice.

    Batch normalization keeps running statistics of its input. Used twice, it mixes the statistics of both inputs, and
    evaluation normalizes each with the wrong ones. A Keras `Sequential` raises for a layer that it already has.

    Two calls after the same layer, as in a siamese network, and shared linear, recurrent or convolution layers are left
    alone.

    Fix safety: unsafe. The second use gets statistics and weights of its own.

    References: torch.nn.BatchNorm2d (`running_mean`); keras.Sequential.add.
    """

    code = "DNF408"
    name = "layer-object-reused"
    formerly = ("one-layer-for-two-places",)
    message = "`{layer}` is used here a second time, and both calls share its weights: expected a separate layer"
    confidence = 0.85
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    triggers = ("Sequential", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "BatchNormalization")
    declined = "the constructor of the layer is not known, or its name has to be unique"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source, crash = subject.source, subject.crash
        line = crash.site.line if crash is not None and crash.site is not None else None
        for node in (*_second_uses(subject), *_second_elements(subject)):
            site = source.site(node)
            repair = _another(subject, node)
            repairs = (repair,) if repair is not None else ()
            yield Fault(
                site, {"layer": subject.text(site)}, repairs, symptom=Symptom.CRASH if line == site.line else None
            )

    programs = """
=== example: one normalization after two convolutions
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3)
        self.conv2 = nn.Conv2d(8, 8, 3)
        self.bn = nn.BatchNorm2d(8)
+         self.bn2 = nn.BatchNorm2d(8)

    def forward(self, x):
        x = torch.relu(self.bn(self.conv1(x)))
-         return torch.relu(self.bn(self.conv2(x)))
+         return torch.relu(self.bn2(self.conv2(x)))

net = Net()
net(torch.randn(2, 3, 8, 8))

=== example: the layers that were made for it
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3)
        self.norm1 = nn.BatchNorm2d(8)
        self.norm2 = nn.BatchNorm2d(8)

    def forward(self, x):
        x = torch.relu(self.norm1(self.conv1(x)))
-         return torch.relu(self.norm1(self.conv2(x)))
+         return torch.relu(self.norm2(self.conv2(x)))

net = Net()
net(torch.randn(2, 3, 8, 8))

=== example: a layer added twice
from keras.layers import Dense, Dropout
from keras.models import Sequential

drop = Dropout(0.3)
model = Sequential()
model.add(Dense(8))
model.add(drop)
model.add(Dense(8))
- model.add(drop)
+ model.add(Dropout(0.3))

=== example: an element that a list repeats
import keras
from keras import layers

hidden = layers.Dense(16, activation="relu")
- model = keras.Sequential([keras.Input((4,)), hidden, hidden, layers.Dense(1)])
+ model = keras.Sequential([keras.Input((4,)), hidden, layers.Dense(16, activation="relu"), layers.Dense(1)])

=== reject: two sides of a siamese network
import torch
from torch import nn

class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 8)
        self.bn = nn.BatchNorm1d(8)

    def forward(self, a, b):
        left = self.bn(self.fc(a))
        right = self.bn(self.fc(b))
        return (left - right).abs().sum(1)

net = Siamese()
net(torch.randn(2, 4), torch.randn(2, 4))

=== reject: a layer in two models
from keras.layers import Dense
from keras.models import Sequential

shared = Dense(8)
first = Sequential()
first.add(shared)
second = Sequential()
second.add(shared)
second.add(Dense(2))
"""


def _another(subject: Subject, node: ast.expr) -> Repair | None:
    """The repair that uses a separate layer."""
    source, site = subject.source, subject.source.site(node)
    made = source.constructor(node)
    if made is None or any(keyword.arg == "name" for keyword in made.keywords):
        return None
    text = source.segment(source.site(made))
    if isinstance(node, ast.Name):
        return f"Create another layer here: {text}", (Replace(site, text),), 0.85
    owner, holder = source.enclosing(made, ast.ClassDef), source.statement_of(made)
    if (
        not isinstance(node, ast.Attribute)
        or owner is None
        or not isinstance(holder, ast.Assign)
        or holder.value is not made
    ):
        return None
    spare = _made_for_it(subject, node, owner, text)
    if spare is not None:
        return f"Use `self.{spare}`, which is created and not used", (Replace(site, f"self.{spare}"),), 0.95
    name = _next_name(node.attr, graph.attributes_of(owner))
    edits = (InsertAfter(source.site(holder), f"self.{name} = {text}"), Replace(site, f"self.{name}"))
    return f"Create another layer, `self.{name}`", edits, 0.85


def _second_uses(subject: Subject) -> Iterator[ast.expr]:
    """The uses of a batch normalization after another layer than its first use."""
    network = subject.network
    for component in network.components:
        if "BatchNorm" not in component.name:
            continue
        first: Call | None = None
        seen = set()
        for call in network.calls_of(component):
            if call.site in seen or call.step != (first.step if first is not None else call.step):
                continue
            seen.add(call.site)
            made_by = network_facts.through(network, call.inputs[0]) if call.inputs else None
            facts = layer_facts(made_by) if made_by is not None else None
            if made_by is None or facts is None or facts.kind not in ("linear", "convolution"):
                continue
            if first is None:
                first = call
                before = made_by
            elif made_by.component != before.component and made_by.made_at != before.made_at:
                node = subject.node(call.site)
                if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
                    yield node.func


def _made_for_it(subject: Subject, node: ast.Attribute, owner: ast.ClassDef, text: str) -> str | None:
    """An unused layer with the same constructor call, one for each use that needs one."""
    used = {each.attr for each in ast.walk(owner) if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Load)}
    alike = (
        name for name, value in graph.kept_in_self(owner) if subject.source.segment(subject.source.site(value)) == text
    )
    spare = [name for name in alike if name not in used]
    places = [
        subject.source.site(each)
        for each in _second_uses(subject)
        if isinstance(each, ast.Attribute) and each.attr == node.attr
    ]
    return dict(zip(sorted(set(places)), spare, strict=False)).get(subject.source.site(node))


def _second_elements(subject: Subject) -> Iterator[ast.expr]:
    """The layers added to a Keras `Sequential` that already has them."""
    source = subject.source
    added: dict[str, set[str]] = {}
    for call in source.all_calls:
        if source.qualified(call.func) in SEQUENTIAL and call.args and isinstance(call.args[0], ast.List):
            yield from _repeated(subject, call.args[0].elts, set())
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "add" and isinstance(call.func.value, ast.Name):
            made = source.constructor(call.func.value)
            if made is not None and source.qualified(made.func) in SEQUENTIAL:
                where = source.enclosing(call, ast.FunctionDef)
                key = f"{call.func.value.id} {where.lineno if where is not None else 0}"
                yield from _repeated(subject, call.args[:1], added.setdefault(key, set()))


def _repeated(subject: Subject, elements: list[ast.expr], seen: set[str]) -> Iterator[ast.expr]:
    for element in elements:
        if not isinstance(element, ast.Name) or len(subject.source.bindings(element)) != 1:
            continue
        made = subject.source.constructor(element)
        if made is None or network_facts.component_kind(subject.source.qualified(made.func) or "") != "layer":
            continue
        if element.id in seen:
            yield element
        seen.add(element.id)


def _next_name(name: str, taken: frozenset[str]) -> str:
    """`bn2` after `bn`, `norm3` after `norm2`: the first free name."""
    stem = re.sub(r"\d+$", "", name)
    number = int(name[len(stem) :] or 1)
    while f"{stem}{number}" in taken or f"{stem}{number}" == name or number < 2:
        number += 1
    return f"{stem}{number}"
