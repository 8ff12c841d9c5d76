"""Images with values from 0 to 255 are passed to the network unscaled."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.api import (
    Call,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Repairs,
    Site,
    Subject,
    Symptom,
    Value,
    data_edits,
    layer_facts,
    network_facts,
    tensor_axes,
)

FLAT_IMAGES = frozenset({784, 1024, 3072, 4096, 12288})
"""Sizes of flattened images of common small datasets (28², 32², 3x32², 64², 3x64²)."""

LEAST_HIGH, MOST_HIGH = 128, 255
"""The range of the largest value; below it the images would be nearly black."""

LEAST_VALUES = 32
"""The least number of different values; below it the numbers are counts or categories."""

LEARNED = 0.5
"""The skill (1 for perfect, about 0 for guessing) from which a network is said to learn."""


@dataclass(frozen=True, slots=True)
class Bytes:
    """Unscaled images: the first layer, its input, and the expression passed to the network."""

    call: Call
    value: Value
    node: ast.expr
    symptom: Symptom


class UnscaledImages(FaultTemplate[Bytes]):
    """Images with values from 0 to 255 are passed to the network unscaled.

    Weights are initialized for inputs of about unit size. Inputs a hundred times larger make the first outputs and
    gradients that much larger: training starts with a huge loss, is unstable, or ends early with dead units.

    Fix safety: unsafe. The network is trained on other values; images for prediction have to be scaled too.

    References: the tutorials of Keras and torchvision (`x / 255`, `ToTensor`), LeCun et al., Efficient BackProp (1998).
    """

    code = "DNF606"
    name = "unscaled-images"
    formerly = ("unscaled-bytes",)
    family = Family.DATA_TYPE
    fix_pattern = FixPattern.DATA_WRANGLING
    silent = 8
    only_hinders = True
    message = "{layer} expects scaled values, got images with values from {low:g} to {high:g}"
    needs_run = True

    declined = "the images are not passed as one expression"

    def faults(self, subject: Subject) -> Faults[Bytes]:
        found = _bytes(subject)
        if found is not None:
            yield subject.source.site(found.node), found

    def report(self, site: Site, found: Bytes) -> Finding:
        value = found.value
        return self.finding(
            site,
            symptom=found.symptom,
            confidence=0.7,
            evidence={"low": value.low, "high": value.high, "shape": list(value.shape or ())},
            low=value.low,
            high=value.high,
            layer=found.call.name.rpartition(".")[2],
        )

    def repairs(self, subject: Subject, found: Bytes) -> Repairs:
        keras = found.call.name.startswith("keras.")
        nodes = tensor_axes.sibling_inputs(subject, found.node) if keras else _torch_uses(subject, found)
        yield "Scale the images to [0, 1]", data_edits.change_data(subject, nodes, "", " / 255.0"), 0.8

    programs = """
=== example: Keras images into a convolution
import numpy as np
import keras
from keras import layers

x = np.random.default_rng(0).integers(0, 256, (24, 8, 8, 1))
y = np.arange(24) % 3
model = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(3)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
+ x = x / 255.0
model.fit(x, y, epochs=1, verbose=0)
model.evaluate(x, y, verbose=0)

=== example: Keras images, flattened by the network
import numpy as np
import keras

pictures = np.random.default_rng(0).integers(0, 256, (30, 12, 12)).astype("uint8")
classes = np.eye(2)[np.arange(30) % 2]
model = keras.Sequential([keras.Input((12, 12)), keras.layers.Flatten(), keras.layers.Dense(2, activation="softmax")])
model.compile(optimizer="sgd", loss="categorical_crossentropy")
- model.fit(pictures, classes, verbose=0)
+ model.fit(pictures / 255.0, classes, verbose=0)

=== example: torch images of bytes
import torch
from torch import nn

images = torch.randint(0, 256, (16, 3, 8, 8)).float()
labels = torch.arange(16) % 2
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(3):
    optimizer.zero_grad()
-     loss = nn.functional.cross_entropy(net(images), labels)
+     loss = nn.functional.cross_entropy(net(images / 255.0), labels)
    loss.backward()
    optimizer.step()

=== reject: a network that scales its images
import numpy as np
import keras
from keras import layers

x = np.random.default_rng(0).integers(0, 256, (24, 8, 8, 1))
model = keras.Sequential([keras.Input((8, 8, 1)), layers.Rescaling(1 / 255), layers.Flatten(), layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, np.arange(24) % 2, verbose=0)

=== reject: a table of integers, and images scaled by the model
import torch
from torch import nn

out = nn.Linear(8, 2)(torch.randint(0, 200, (16, 8)).float())
images = torch.randint(0, 256, (16, 3, 8, 8))
out = nn.Conv2d(3, 4, 3)(images / 255)
"""


def _bytes(subject: Subject) -> Bytes | None:
    """The unscaled images that the first layer with weights gets, in a program that trains."""
    network = subject.network
    if subject.trace is None or network.known_from != "trace" or subject.crash is not None:
        return None
    for call in network.calls:
        facts = layer_facts(call)
        if facts is None or facts.kind not in ("convolution", "linear") or not call.inputs:
            continue
        value = call.inputs[0]
        if network_facts.through(network, value) is not None or (value.producer is None and value.origin != "data"):
            continue
        images = _measured(subject, call)
        keras = call.name.startswith("keras.")
        if images is None or not _like_images(images, keras or facts.kind == "linear", facts.kind):
            continue
        node = subject.node(images.site) if keras else _given(subject, call)
        if isinstance(node, ast.expr) and (not keras or not _normalizes(subject)):
            return Bytes(call, images, node, Symptom.NOT_LEARNING if _learns_little(subject) else Symptom.VIOLATION)
    return None


def _measured(subject: Subject, call: Call) -> Value | None:
    """The input as last measured, before it was flattened or cast."""
    value: Value | None = call.inputs[0]
    while value is not None and value.low is None:
        maker = subject.network.producer(value)
        value = maker.inputs[0] if maker is not None and maker.inputs else None
    return value


def _like_images(value: Value, may_be_flat: bool, kind: str) -> bool:
    shape = value.shape
    if shape is None or value.low is None or value.high is None or value.integral is not True:
        return False
    if value.low < 0 or not LEAST_HIGH < value.high <= MOST_HIGH:
        return False
    if value.distinct is not None and value.distinct < LEAST_VALUES:
        return False
    if len(shape) == 4:
        return True
    if len(shape) == 3:
        return shape[1] == shape[2] or (shape[1] or 0) > 4 < (shape[2] or 0) and kind == "convolution"
    return len(shape) == 2 and may_be_flat and shape[1] in FLAT_IMAGES


def _normalizes(subject: Subject) -> bool:
    """Whether a layer of the model normalizes its input."""
    names = {component.name.rpartition(".")[2] for component in subject.network.components}
    return bool(names & {"Rescaling", "Normalization"})


def _given(subject: Subject, call: Call) -> ast.expr | None:
    """The expression of the images passed to a torch model, outside of the model's class."""
    node = subject.node(call.site)
    given = tensor_axes.first_argument(node) if isinstance(node, ast.Call) else None
    if given is None or subject.source.enclosing(given, ast.ClassDef) is None:
        return given
    owner = subject.source.enclosing(given, ast.ClassDef)
    for other in subject.source.all_calls:
        if not isinstance(other.func, ast.Name) or owner is None:
            continue
        made = subject.source.constructor(other.func)
        if made is not None and isinstance(made.func, ast.Name) and made.func.id == owner.name:
            return tensor_axes.first_argument(other)
    return None


def _torch_uses(subject: Subject, found: Bytes) -> tuple[ast.expr, ...]:
    """The images in all calls of the same model."""
    parent = subject.source.parent(found.node)
    if not isinstance(parent, ast.Call):
        return (found.node,)
    others = [call for call in subject.source.all_calls if ast.dump(call.func) == ast.dump(parent.func)]
    return (
        found.node,
        *(given for call in others if (given := tensor_axes.first_argument(call)) is not None and call is not parent),
    )


def _learns_little(subject: Subject) -> bool:
    skills = [step.skill for step in subject.trace.steps if step.skill is not None] if subject.trace else []
    return bool(skills) and max(skills[-3:]) < LEARNED
