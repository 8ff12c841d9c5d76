"""Images or signals without a channel axis are given to a convolution."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

from dnnfix.api import (
    Arrival,
    Candidate,
    Declared,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    Subject,
    Symptom,
    arrival,
    change_data,
    declare,
    declared,
    fitted_inputs,
    sibling_inputs,
    stated_input,
    with_numpy,
)


class MissingChannelAxis(FixTemplate):
    """Images or signals without a channel axis are given to a convolution.

    Convolutions take a channel axis also where there is one channel only: `(batch, 1, height, width)` in torch and
    `(batch, height, width, 1)` in Keras. Grey images and plain signals come without it, and their batch axis is then
    read as channels, or the layer refuses them.

    Fix safety: unsafe. The data gets an axis of size one; its values stay.

    References: torch.nn.Conv2d (shape of the input), keras.layers.Conv2D (input shape).
    """

    code = "DNF102"
    name = "missing-channel-axis"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "{layer} takes {wanted} and {what} {shape}, without an axis for the channel"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        came, stated = arrival(subject), declared(subject)
        if came is not None and _lacks_channel(came):
            site, shape, call, what = subject.source.site(came.node), came.shape, came.call, "receives"
        elif stated is not None and _states_none(stated):
            site, shape, call = subject.source.site(stated.stated.node), stated.shape, stated.call  # type: ignore[assignment]
            what = "its input is stated as"
        else:
            return
        keras = call.name.startswith("keras.")
        rows = came is not None and not keras and _are_flat_images(shape)
        yield self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.5 if rows else 0.9,
            cause="crash",
            evidence={"shape": list(shape), "layer": call.name},
            layer=call.name.rpartition(".")[2],
            wanted="(batch, …, channels)" if keras else "(batch, channels, …)",
            what=what,
            shape=tuple(shape),
        )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        came, stated = arrival(subject), declared(subject)
        if stated is not None:
            edits = declare(subject, stated.stated, (*stated.shape, 1))
            yield self.candidate(finding, "State the channel in the input shape", *edits, prior=0.85)
            data = fitted_inputs(subject)
            if data:
                function, imports = with_numpy(subject, "expand_dims")
                both = (*edits, *change_data(subject, data, f"{function}(", ", axis=-1)"), *imports)
                yield self.candidate(finding, "State the channel and give the data an axis for it", *both, prior=0.7)
        elif came is not None and came.is_keras:
            function, imports = with_numpy(subject, "expand_dims")
            edits = change_data(subject, sibling_inputs(subject, came.node), f"{function}(", ", axis=-1)")
            yield self.candidate(finding, "Give the data an axis for the channel", *edits, *imports, prior=0.9)
        elif came is not None:
            spatial = came.facts.spatial if came.facts is not None else 0
            single = len(came.shape) == spatial
            code = ".unsqueeze(0).unsqueeze(0)" if single else ".unsqueeze(1)"
            title = "Give the data an axis for the channel"
            everywhere = sibling_inputs(subject, came.node)
            yield self.candidate(finding, title, *change_data(subject, everywhere, "", code), prior=0.9)
            if len(everywhere) > 1:
                yield self.candidate(finding, title, *change_data(subject, (came.node,), "", code), prior=0.6)

    examples = (
        Example(
            "grey images into Conv2d",
            """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(4 * 6 * 6, 3)

    def forward(self, x):
        x = torch.relu(self.conv(x))
        return self.fc(x.flatten(1))


net = Net()
images = torch.rand(5, 8, 8)
- out = net(images)
+ out = net(images.unsqueeze(1))
""",
            runs=True,
        ),
        Example(
            "Keras input shape without the channel",
            """\
import keras
from keras import layers

model = keras.Sequential()
- model.add(layers.Conv2D(4, (3, 3), activation="relu", input_shape=(8, 8)))
+ model.add(layers.Conv2D(4, (3, 3), activation="relu", input_shape=(8, 8, 1)))
model.add(layers.Flatten())
model.add(layers.Dense(2))
""",
            runs=True,
        ),
        Example(
            "Keras table into Conv1D",
            """\
import numpy as np
import keras
from keras import layers

X, y = np.random.rand(16, 9), np.random.rand(16)
model = keras.Sequential([layers.Conv1D(4, 3), layers.Flatten(), layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
+ X = np.expand_dims(X, axis=-1)
model.fit(X, y, epochs=1, verbose=0)
print(model.predict(X, verbose=0)[0])
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "one image of several channels",
            """\
import torch
from torch import nn

scores = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))(torch.rand(3, 8, 8))
""",
            runs=True,
        ),
        Reject(
            "Keras images with their channel",
            """\
import keras
from keras import layers

model = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(2)])
""",
            runs=True,
        ),
    )


def _lacks_channel(came: Arrival) -> bool:
    facts, shape = came.facts, came.shape
    if facts is None or facts.kind != "convolution":
        return False
    if came.is_keras:
        return len(shape) == facts.spatial + 1
    if stated_input(came.call) != 1:
        return False
    return len(shape) == facts.spatial or (len(shape) == facts.spatial + 1 and shape[0] != 1)


def _are_flat_images(shape: tuple[int, ...]) -> bool:
    """Whether a table is one of flattened square images rather than one image without a channel."""
    return len(shape) == 2 and shape[0] != shape[1] and isqrt(shape[1]) ** 2 == shape[1]


def _states_none(stated: Declared) -> bool:
    return stated.facts.kind == "convolution" and len(stated.shape) == stated.facts.spatial
