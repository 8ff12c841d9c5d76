"""A dense Keras network is told one axis of an image as its width, and then gets the images."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from dnnfix.api import (
    Arrival,
    Candidate,
    Decline,
    Edit,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    Replace,
    StatedInput,
    Subject,
    Symptom,
    arrival,
    change_data,
    declare,
    fit_data,
    layer_facts,
    sibling_inputs,
    stated_keras_input,
)


@dataclass(frozen=True, slots=True)
class Told:
    """What came, where the width is stated, and how many numbers a sample has."""

    came: Arrival
    stated: StatedInput
    width: int


class OneAxisStatedForImages(FixTemplate):
    """A dense Keras network is told one axis of an image as its width, and then gets the images.

    `X.shape[1]` is the number of columns of a table, but the height of an image. A dense network takes the pixels of an
    image in one row: the row has as many numbers as the image has pixels, and the images have to be laid out so.

    Fix safety: unsafe. The first layer gets another number of weights, and the images another shape.

    References: keras.layers.Dense (`input_shape`), keras.layers.Flatten, numpy.reshape.
    """

    code = "DNF117"
    name = "one-axis-stated-for-images"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "images of shape {shape} go into a dense network that is told {stated} numbers per sample"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        told = _told(subject)
        if told is None:
            return
        yield self.finding(
            subject.source.site(told.came.node),
            symptom=Symptom.CRASH,
            confidence=0.85,
            cause="crash",
            evidence={"shape": list(told.came.shape), "stated": list(told.stated.shape)},
            shape=told.came.shape[1:],
            stated=told.stated.shape[0],
        )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        told = _told(subject)
        if told is None:
            yield Decline("where the width is stated is not known")
            return
        rows = change_data(subject, sibling_inputs(subject, told.came.node), "", f".reshape(-1, {told.width})")
        title = "Lay every image out in a row and state its length"
        yield self.candidate(finding, title, *_state(subject, told), *rows, prior=0.8)

    examples = (
        Example(
            "height of the images as the width of the network",
            """\
import numpy as np
from keras.models import Sequential
from keras.layers import Dense
from keras.utils import to_categorical

X_train, Y_train = np.random.rand(20, 8, 8), to_categorical(np.arange(20) % 10, 10)
model = Sequential()
- model.add(Dense(16, activation="relu", input_dim=X_train.shape[1]))
+ model.add(Dense(16, activation="relu", input_dim=X_train.shape[1] * X_train.shape[2]))
model.add(Dense(10, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer="sgd")
- model.fit(X_train, Y_train, epochs=1, verbose=0)
+ model.fit(X_train.reshape(-1, 64), Y_train, epochs=1, verbose=0)
""",
            runs=True,
        ),
        Example(
            "a number in input_shape, and images to test with",
            """\
import numpy as np
import keras
from keras import layers

digits, labels = np.random.rand(12, 6, 6), np.arange(12) % 3
held_out, held_labels = np.random.rand(6, 6, 6), np.arange(6) % 3
- net = keras.Sequential([layers.Dense(8, activation="relu", input_shape=(6,)), layers.Dense(3, activation="softmax")])
+ net = keras.Sequential([layers.Dense(8, activation="relu", input_shape=(36,)), layers.Dense(3, activation="softmax")])
net.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
- net.fit(digits, labels, validation_data=(held_out, held_labels), verbose=0)
+ net.fit(digits.reshape(-1, 36), labels, validation_data=(held_out.reshape(-1, 36), held_labels), verbose=0)
""",
            runs=True,
        ),
        Example(
            "colour images into a functional model",
            """\
import numpy as np
import keras
from keras.layers import Dense, Input

photos = np.random.rand(10, 5, 5, 3)
is_cat = np.arange(10) % 2
- inputs = Input(shape=(photos.shape[1],))
+ inputs = Input(shape=(75,))
hidden = Dense(7, activation="relu")(inputs)
outputs = Dense(1, activation="sigmoid")(hidden)
model = keras.Model(inputs, outputs)
model.compile(optimizer="rmsprop", loss="binary_crossentropy")
- model.fit(photos, is_cat, verbose=0)
+ model.fit(photos.reshape(-1, 75), is_cat, verbose=0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "sequences with a target for every step",
            """\
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(4, input_shape=(6,)), Dense(1)])
model.compile(loss="mse", optimizer="sgd")
model.fit(np.random.rand(10, 6, 6), np.random.rand(10, 6, 1), verbose=0)
""",
            runs=True,
        ),
        Reject(
            "a table of another width",
            """\
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(4, input_shape=(6,)), Dense(1)])
model.compile(loss="mse", optimizer="sgd")
model.fit(np.random.rand(10, 7), np.random.rand(10, 1), verbose=0)
""",
            runs=True,
        ),
        Reject(
            "images where their pixels are stated",
            """\
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(4, input_shape=(36,)), Dense(1)])
model.compile(loss="mse", optimizer="sgd")
model.fit(np.random.rand(10, 6, 6), np.random.rand(10, 1), verbose=0)
""",
            runs=True,
        ),
    )


def _told(subject: Subject) -> Told | None:
    """Square images with one target per sample on their way into a dense network built for one of their axes."""
    came = arrival(subject)
    if came is None or not came.is_keras or came.wanted is None or len(came.wanted) != 2 or not _square(came.shape):
        return None
    sizes, target = came.shape[1:], fit_data(subject)[1]
    if came.wanted[1] not in sizes or target is None or len(target.value.shape or (0, 0, 0)) > 2:
        return None
    stated = stated_keras_input(subject, came.call)
    if stated is None or len(stated.shape) != 1 or not _begins_dense(subject, came):
        return None
    return Told(came, stated, prod(sizes))


def _square(shape: tuple[int, ...]) -> bool:
    """Whether the samples look like images: two neighbouring axes of one length, and at most a third of channels."""
    sizes = shape[1:]
    return len(sizes) in (2, 3) and any(a == b > 1 for a, b in pairwise(sizes))


def _begins_dense(subject: Subject, came: Arrival) -> bool:
    for call in subject.network.calls:
        if call.inputs and call.inputs[0].origin == "symbolic" and call.inputs[0].shape == came.wanted:
            facts = layer_facts(call)
            return facts is not None and facts.kind == "linear"
    return False


def _state(subject: Subject, told: Told) -> tuple[Edit, ...]:
    """The stated width as the number of pixels: by the sizes that it was taken from where it names one, else a number."""
    node, shape = told.stated.node, told.came.shape
    if told.stated.form == "input_dim" and isinstance(node, ast.Subscript) and len(shape) == 3:
        text = subject.source.segment(subject.source.site(node))
        if text.endswith(".shape[1]"):
            return (Replace(subject.source.site(node), f"{text} * {text[: -len('[1]')]}[2]"),)
    return declare(subject, told.stated, (told.width,))
