"""An image or a sequence reaches a linear layer, or the loss, without being flattened."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod

from dnnfix.api import (
    Call,
    Candidate,
    Decline,
    Edit,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Subject,
    Symptom,
    Unwrap,
    Value,
    Wrap,
    call_arguments,
    crashes,
    layer_facts,
    network_facts,
    recipes,
    short,
    size_edits,
    spelling_edits,
    tensor_shapes,
)

MOST_WEIGHTS = 20_000_000
"""More weights than a linear layer after a flatten plausibly has (80 MB in float32)."""


class MissingFlatten(FixTemplate):
    """An image or a sequence reaches a linear layer without being flattened.

    Linear layers only use the last axis. In torch the sizes then do not match and the program crashes. In Keras the
    layer accepts any rank and every position gets its own prediction, which the loss cannot compare with one label per
    sample, or broadcasts.

    Fix safety: unsafe. The layer after the flatten gets other weights, which is the point.

    References: torch.nn.Flatten, torch.flatten (`start_dim=1` keeps the batch), keras.layers.Flatten, keras.layers.LSTM
    (`return_sequences`).
    """

    code = "DNF206"
    name = "missing-flatten"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.ADD_LAYER
    message = "{what} with {rank} axes reaches {where} without being flattened"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        found = _linear(subject)
        if found is not None:
            call, value = found
            site = call.made_at or call.site
            if site is not None:
                fits = prod(tensor_shapes.known((value.shape or ())[1:]) or (0,)) == call.args.get("in_features")
                confidence = 0.95 if fits else 0.85
                rank = len(value.shape or ())
                yield self.finding(
                    site,
                    symptom=Symptom.CRASH,
                    confidence=confidence,
                    cause="crash",
                    evidence={"received": value.shape, "fits": fits},
                    what="an image" if rank == 4 else "a tensor",
                    rank=rank,
                    where=short(call.name),
                )
            return
        for conflict, crashed in _losses(subject):
            last = _last_layer(subject, conflict)
            if last is not None and last.made_at is not None:
                yield self.finding(
                    last.made_at,
                    symptom=Symptom.CRASH if crashed else Symptom.VIOLATION,
                    confidence=0.85,
                    cause="crash" if crashed else "",
                    evidence={"prediction": conflict.prediction.shape, "target": conflict.target.shape},
                    what="an output",
                    rank=len(conflict.prediction.shape or ()),
                    where=f"{short(conflict.call.name)}, whose targets have {len(conflict.target.shape or ())}",
                )
                return

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        found = _linear(subject)
        if found is not None:
            yield from self._before_linear(finding, subject, *found)
            return
        conflict = next((conflict for conflict, _ in _losses(subject)), None)
        if conflict is not None:
            yield from self._in_graph(finding, subject, conflict)

    def _before_linear(
        self, finding: Finding, subject: Subject, call: Call, value: Value
    ) -> Iterator[Candidate | Decline]:
        edits = _flatten_before(subject, call)
        sizes = tensor_shapes.known((value.shape or ())[1:])
        if edits is None or sizes is None:
            yield Decline("the input of the linear layer is not written in one place")
            return
        if prod(sizes) == call.args.get("in_features"):
            yield self.candidate(finding, f"Flatten before {short(call.name)}", *edits, prior=0.95)
            return
        for change in size_edits.size_changes(subject, call, "in_features", prod(sizes), factors=sizes):
            title = f"Flatten before {short(call.name)} and set its in_features to {change.written}"
            yield self.candidate(finding, title, *edits, *change.edits, prior=0.8 * change.prior)

    def _in_graph(
        self, finding: Finding, subject: Subject, conflict: crashes.LossConflict
    ) -> Iterator[Candidate | Decline]:
        head = _head(subject, conflict)
        behind = _behind(subject, head)
        none = True
        if behind is not None and _returns_sequences(behind):
            edits = recipes.set_constructor_argument(subject, behind, "return_sequences", "False")
            steps = [unwrap for call in head if (unwrap := _for_every_step(subject, call)) is not None]
            if edits is not None and behind.args.get("return_sequences") is True:
                none = False
                yield self.candidate(
                    finding, f"Make {short(behind.name)} return only its last output", *edits, *steps, prior=0.8
                )
        places = [
            call for call in reversed(head)
            if _weights(call) <= MOST_WEIGHTS and call.name != "keras.layers.TimeDistributed"
        ]  # fmt: skip
        ends = places if len(places) < 2 else [places[0], places[-1]]
        for prior, call in zip((0.75, 0.5), ends, strict=False):
            flatten = _flatten_before(subject, call)
            if flatten is not None:
                none = False
                weaker = 0.5 if behind is not None and _returns_sequences(behind) else 1.0
                yield self.candidate(finding, f"Flatten before {short(call.name)}", *flatten, prior=prior * weaker)
        if none:
            yield Decline("no layer before which to flatten is written out")

    programs = """
=== example: torch sequential without Flatten
import torch
import torch.nn as nn

model = nn.Sequential(
    nn.Conv2d(1, 4, 3),
    nn.ReLU(),
    nn.MaxPool2d(2),
+     nn.Flatten(),
    nn.Linear(4 * 3 * 3, 10),
)
print(model(torch.randn(2, 1, 8, 8)).shape)

=== example: torch forward without flatten
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3)
-         self.fc = nn.Linear(6, 2)
+         self.fc = nn.Linear(150, 2)

    def forward(self, x):
        x = torch.relu(self.conv(x))
-         return self.fc(x)
+         return self.fc(torch.flatten(x, 1))


loss = nn.CrossEntropyLoss()(Net()(torch.randn(4, 3, 7, 7)), torch.randint(0, 2, (4,)))

=== example: Keras convolution before dense
import numpy as np
import keras
from keras import layers

model = keras.Sequential([
    keras.Input((8, 8, 3)),
    layers.Conv2D(4, 3, activation="relu"),
+     layers.Flatten(),
    layers.Dense(10, activation="softmax"),
])
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
model.fit(np.random.rand(8, 8, 8, 3), np.random.randint(0, 10, 8), verbose=0)

=== example: Keras layers added one by one, with one-hot targets
import numpy as np
from keras.models import Sequential
from keras.layers import Dense, Conv1D, Input
from keras.utils import to_categorical
+ from keras.layers import Flatten

model = Sequential()
model.add(Input((12, 2)))
model.add(Conv1D(3, 3))
+ model.add(Flatten())
model.add(Dense(4, activation="softmax"))
model.compile(optimizer="sgd", loss="categorical_crossentropy")
labels = to_categorical(np.arange(8) % 4, 4)
model.fit(np.random.rand(8, 12, 2), labels, verbose=0)

=== example: Keras LSTM that returns all its steps
import numpy as np
import keras
from keras import layers

inputs = keras.Input((6, 3))
- h = layers.LSTM(4, return_sequences=True)(inputs)
+ h = layers.LSTM(4, return_sequences=False)(inputs)
outputs = layers.Dense(5, activation="softmax")(h)
model = keras.Model(inputs, outputs)
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
model.fit(np.random.rand(8, 6, 3), np.random.randint(0, 5, 8), verbose=0)

=== example: a prediction for every step, and one label per sequence
import numpy as np
from keras.models import Sequential
from keras.layers import LSTM, Activation, Dense, Dropout, TimeDistributed
from keras.utils import to_categorical

x, y = np.random.rand(8, 6, 2), to_categorical(np.arange(8) % 3, 3)
model = Sequential()
- model.add(LSTM(4, input_shape=(6, 2), return_sequences=True))
+ model.add(LSTM(4, input_shape=(6, 2), return_sequences=False))
model.add(Dropout(0.2))
- model.add(TimeDistributed(Dense(3)))
+ model.add(Dense(3))
model.add(Activation('softmax'))
model.compile(loss='categorical_crossentropy', optimizer='rmsprop')
model.fit(x, y, verbose=0)

=== reject: a label for every step
import numpy as np
import keras
from keras import layers

model = keras.Sequential([
    keras.Input((6, 2)), layers.LSTM(4, return_sequences=True), layers.TimeDistributed(layers.Dense(1))
])
model.compile("sgd", "mse")
model.fit(np.random.rand(8, 6, 2), np.random.rand(8, 6, 1), verbose=0)

=== reject: flattened in both frameworks' usual way
import torch
import torch.nn as nn

model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(144, 10))
model(torch.randn(2, 1, 8, 8))

=== reject: a label for every step of a sequence
import numpy as np
import keras
from keras import layers

model = keras.Sequential([keras.Input((6, 3)), layers.LSTM(4, return_sequences=True), layers.Dense(5)])
model.compile(optimizer="sgd", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(np.random.rand(8, 6, 3), np.random.randint(0, 5, (8, 6)), verbose=0)

=== reject: a linear layer over the steps of a sequence
import torch
import torch.nn as nn

nn.Linear(5, 2)(torch.randn(3, 7, 4))
"""


def _linear(subject: Subject) -> tuple[Call, Value] | None:
    """The linear layer that crashed on an image that nothing flattens, with its input."""
    found = crashes.crashed_layer(subject)
    if found is None or found[1].kind != "linear" or not found[0].name.startswith("torch."):
        return None
    call, _, value = found
    image = tensor_shapes.image_behind(subject, value)
    shape = tensor_shapes.known((value.shape or ())[1:])
    if image is None or shape is None or len(shape) < 2 or shape[-1] == call.args.get("in_features"):
        return None
    facts = layer_facts(image)
    return (call, value) if facts is None or len(shape) == facts.spatial + 1 else None


def _flatten_before(subject: Subject, call: Call) -> tuple[Edit, ...] | None:
    """Edits that flatten a layer's input: a layer of the container, or a function around the input expression."""
    constructor = subject.constructor_node(call)
    if constructor is None:
        return None
    listed = call_arguments.element_of(subject, constructor) is not None
    if listed or call.name.startswith("keras."):
        spelling = spelling_edits.sibling(subject, constructor.func, "Flatten")
        if spelling is None:
            return None
        edits = recipes.insert_layer_before(subject, call, f"{spelling[0]}()")
        return (*spelling[1], *edits) if edits is not None else None
    given = call_arguments.input_expression(subject, call)
    if given is None:
        return None
    site = subject.source.site(given)
    return (
        Wrap(site, "torch.flatten(", ", 1)")
        if spelling_edits.imports(subject, "torch")
        else Wrap(site, "", ".flatten(1)"),
    )


def _losses(subject: Subject) -> Iterator[tuple[crashes.LossConflict, bool]]:
    """Losses of Keras whose predictions have three or more axes and whose targets have fewer; whether each crashed."""
    crashed = crashes.loss_conflict(subject)
    if crashed is not None and _unflattened(crashed):
        yield crashed, True
    if subject.crash is None and subject.ran:
        for call, facts in network_facts.loss_calls(subject.network):
            if len(call.inputs) > 1 and call.inputs[0].shape is not None and call.inputs[1].shape is not None:
                conflict = crashes.LossConflict(call, facts, call.inputs[0], call.inputs[1])
                if _unflattened(conflict):
                    yield conflict, False


def _unflattened(conflict: crashes.LossConflict) -> bool:
    prediction, target = conflict.prediction.shape or (), conflict.target.shape or ()
    wanted = 2 if len(target) == 2 and target[-1] == prediction[-1] else 1
    if not conflict.call.name.startswith("keras.") or len(prediction) < 3 or prediction[:1] != target[:1]:
        return False
    if conflict.facts.name.endswith("SparseCategoricalCrossentropy"):
        return len(target) == 1 or (len(target) == 2 and target[1] == 1)
    return len(target) == wanted


def _head(subject: Subject, conflict: crashes.LossConflict) -> list[Call]:
    """The linear layers at the end of the model, the last one first."""
    head: list[Call] = []
    for call in tensor_shapes.way_back(subject, tensor_shapes.model_output(subject, conflict.prediction)):
        facts = layer_facts(call)
        if (facts is not None and facts.kind == "linear") or _for_every_step(subject, call) is not None:
            head.append(call)
        elif network_facts.activation_of(call) is None and (
            facts is None or facts.kind not in ("dropout", "normalization")
        ):
            break
    return head


def _for_every_step(subject: Subject, call: Call) -> Unwrap | None:
    """The edit that removes the `TimeDistributed` around a linear layer."""
    made = subject.constructor_node(call) if call.name == "keras.layers.TimeDistributed" else None
    inner = made.args[0] if made is not None and len(made.args) == 1 and not made.keywords else None
    if made is None or not isinstance(inner, ast.Call) or subject.source.qualified(inner.func) != "keras.layers.Dense":
        return None
    return Unwrap(subject.source.site(made), subject.source.site(inner))


def _last_layer(subject: Subject, conflict: crashes.LossConflict) -> Call | None:
    return next(iter(_head(subject, conflict)), None)


def _behind(subject: Subject, head: list[Call]) -> Call | None:
    """The last layer before the linear ones that is not an activation, dropout or normalization."""
    for call in tensor_shapes.way_back(subject, head[-1].inputs[0]) if head and head[-1].inputs else ():
        facts = layer_facts(call)
        passed = (
            network_facts.activation_of(call) is not None
            if facts is None
            else facts.kind in ("dropout", "normalization")
        )
        if not passed:
            return call
    return None


def _returns_sequences(call: Call) -> bool:
    facts = layer_facts(call)
    return facts is not None and facts.kind == "recurrent" and call.args.get("return_sequences") is True


def _weights(call: Call) -> int:
    units, shape = call.args.get("units"), call.inputs[0].shape if call.inputs else None
    sizes = tensor_shapes.known((shape or ())[1:])
    return prod(sizes) * units if sizes and isinstance(units, int) else 0
