"""Images have another height or width than the network was built for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Call,
    Candidate,
    Decline,
    Edit,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    InsertElement,
    Json,
    Subject,
    Symptom,
    call_arguments,
    crashes,
    data_edits,
    flattening,
    spell,
    tensor_axes,
    tensor_shapes,
)


class ImageSizeMismatch(FixTemplate):
    """Images have another height or width than the network was built for.

    A convolution accepts images of any size; the linear layer after the flattening has a number of features for one
    size. So the network crashes at or after the flattening, and a Keras model at its input. The images are resized
    where they are passed, or the features are pooled to the size that was meant.

    Several sizes near the observed ratio are proposed, and the run decides.

    Fix safety: unsafe. Resizing changes the values that the network sees, and pooling its features. Saved weights fit.

    References: torch.nn.functional.interpolate, torch.nn.AdaptiveAvgPool2d, keras.ops.image.resize,
    keras.layers.Resizing.
    """

    code = "DNF115"
    name = "image-size-mismatch"
    formerly = ("image-size-other-than-networks",)
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "images of size {received} are passed to a network built for {meant}"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        given = _keras_images(subject)
        if given is not None:
            node, received, (height, width) = given
            evidence: dict[str, Json] = {"received": received, "wanted": (height, width)}
            confidence, meant = 0.85, f"{height} x {width}"
        else:
            came, flat = tensor_axes.arrival(subject), flattening.features(subject)
            if came is None or flat is None or came.is_keras or len(came.shape) != 4:
                return
            node, received = came.node, (came.shape[2], came.shape[3])
            evidence = {"received": received, "features": flat.sizes, "stated": flat.stated}
            confidence, meant = 0.6, f"features of {' or '.join(f'{h} x {w}' for h, w in flat.wanted)}"
        yield self.finding(
            subject.source.site(node),
            symptom=Symptom.CRASH,
            confidence=confidence,
            cause="crash",
            evidence=evidence,
            received=f"{received[0]} x {received[1]}",
            meant=meant,
        )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        given = _keras_images(subject)
        if given is not None:
            node, _, size = given
            edits = _keras_resize(subject, node, size)
            yield self.candidate(finding, f"Resize the images to {size[0]} x {size[1]}", *edits, prior=0.6)
            return
        came, flat = tensor_axes.arrival(subject), flattening.features(subject)
        if came is None or flat is None:
            yield Decline("the size of the features before the flattening is not known")
            return
        sizes = flattening.image_sizes(came, flat)
        for image, prior in zip(sizes, (0.5, 0.4, 0.35), strict=False):
            edits = _torch_resize(subject, came, image)
            yield self.candidate(finding, f"Resize the images to {image[0]} x {image[1]}", *edits, prior=prior)
        meant = flat.wanted[0]
        pool = _pooled(subject, flat.call, meant)
        if pool is not None:
            smaller = meant[0] <= flat.sizes[1] and meant[1] <= flat.sizes[2]
            title = f"Pool the features to {meant[0]} x {meant[1]} before they are flattened"
            yield self.candidate(finding, title, *pool, prior=0.45 if smaller else 0.3)
        elif not sizes:
            yield Decline("no image size near the observed ratio results in these features")

    programs = """
=== example: images of 28 pixels into a network for 32
import torch
import torch.nn as nn
import torch.nn.functional as F


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc = nn.Linear(16 * 5 * 5, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(torch.flatten(x, 1))


images, labels = torch.rand(4, 1, 28, 28), torch.randint(0, 10, (4,))
- loss = F.cross_entropy(LeNet()(images), labels)
+ loss = F.cross_entropy(LeNet()(F.interpolate(images, size=(32, 32), mode="bilinear")), labels)

=== example: features of a larger image in a sequential model
import torch
from torch import nn

model = nn.Sequential(
    nn.Conv2d(3, 4, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(4),
+     nn.AdaptiveAvgPool2d((4, 4)),
    nn.Flatten(),
    nn.Linear(4 * 4 * 4, 2),
)
for batch in torch.rand(2, 5, 3, 32, 32):
    model(batch).sum().backward()

=== example: a view of rectangular images
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.down = torch.nn.Conv2d(1, 8, 2, stride=2)
        self.head = torch.nn.Linear(8 * 6 * 12, 3)

    def forward(self, photo):
        h = torch.relu(self.down(photo))
        return self.head(h.view(-1, 8 * 6 * 12))


net = Net()
photos = torch.rand(7, 1, 10, 20)
- print(net(photos).shape)
+ print(net(torch.nn.functional.interpolate(photos, size=(12, 24), mode="bilinear")).shape)

=== example: images of another size than a Keras input
import numpy as np
import keras
from keras import layers

model = keras.Sequential([
    keras.Input((16, 16, 1)),
    layers.Conv2D(2, 3, activation="relu"),
    layers.Flatten(),
    layers.Dense(1),
])
model.compile(optimizer="adam", loss="mse")
photos, ages = np.random.rand(6, 12, 20, 1), np.random.rand(6, 1)
- model.fit(photos, ages, epochs=1, verbose=0)
+ model.fit(keras.ops.image.resize(photos, (16, 16)), ages, epochs=1, verbose=0)

=== reject: a layer whose features match no image with these channels
import torch
from torch import nn

net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(50, 2))
net(torch.rand(3, 1, 8, 8))

=== reject: images of any size into a network that pools them to one
import torch
from torch import nn

net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.AdaptiveAvgPool2d((2, 2)), nn.Flatten(), nn.Linear(4 * 2 * 2, 2))
for side in (8, 11):
    net(torch.rand(3, 1, side, side))

=== reject: Keras images with another number of channels
import numpy as np
import keras

model = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Conv2D(2, 3), keras.layers.Flatten()])
model.predict(np.random.rand(2, 9, 9, 3), verbose=0)
"""


def _torch_resize(subject: Subject, came: tensor_axes.Arrival, size: flattening.Size) -> tuple[Edit, ...]:
    function = spell(subject, "torch.nn.functional.interpolate")
    nodes, after = tensor_axes.sibling_inputs(subject, came.node), f', size=({size[0]}, {size[1]}), mode="bilinear")'
    return (*data_edits.change_data(subject, nodes, f"{function.code}(", after), *function.imports)


def _pooled(subject: Subject, call: Call, size: flattening.Size) -> tuple[Edit, ...] | None:
    """Edits that pool the input of the flattening: by a layer in a container, else by a function."""
    constructor = subject.constructor_node(call)
    element = call_arguments.element_of(subject, constructor) if constructor is not None else None
    if element is not None:
        layer = spell(subject, "torch.nn.AdaptiveAvgPool2d")
        return (InsertElement(*element, f"{layer.code}(({size[0]}, {size[1]}))"), *layer.imports)
    node = call_arguments.input_expression(subject, call)
    if node is None:
        return None
    function = spell(subject, "torch.nn.functional.adaptive_avg_pool2d")
    return (data_edits.wrapped(subject, node, f"{function.code}(", f", ({size[0]}, {size[1]}))"), *function.imports)


def _keras_images(subject: Subject) -> tuple[ast.expr, flattening.Size, flattening.Size] | None:
    """The images passed to a Keras model when it crashed: their expression, their size, and the size it was built for.

    `None` unless only height and width differ, and the program has one input shape.
    """
    given = [call for call in subject.network.calls if call.name.startswith("keras.Model.") and call.inputs]
    value = given[-1].inputs[0] if given else None
    node = subject.node(value.site) if value is not None else None
    if (
        subject.crash is None
        or value is None
        or not isinstance(node, ast.expr)
        or crashes.loss_conflict(subject) is not None
    ):
        return None
    place = subject.source.site(node)
    if not any(frame.site.encloses(place) for frame in subject.crash.frames):
        return None
    built = {one.shape for call in subject.network.calls for one in call.inputs if one.origin == "symbolic"}
    shape, wanted = (
        tensor_shapes.known(value.shape),
        tensor_shapes.known((built.pop() or ())[1:]) if len(built) == 1 else None,
    )
    if shape is None or wanted is None or len(shape) != 4 or len(wanted) != 3 or shape[3] != wanted[2]:
        return None
    if shape[1] * shape[2] == wanted[0] * wanted[1]:
        return None
    return node, (shape[1], shape[2]), (wanted[0], wanted[1])


def _keras_resize(subject: Subject, node: ast.expr, size: flattening.Size) -> tuple[Edit, ...]:
    nodes = tensor_axes.sibling_inputs(subject, node)
    if "tensorflow" in subject.source.frameworks:
        layer = spell(subject, "keras.layers.Resizing")
        return (*data_edits.change_data(subject, nodes, f"{layer.code}({size[0]}, {size[1]})(", ")"), *layer.imports)
    function = spell(subject, "keras.ops.image.resize")
    return (
        *data_edits.change_data(subject, nodes, f"{function.code}(", f", ({size[0]}, {size[1]}))"),
        *function.imports,
    )
