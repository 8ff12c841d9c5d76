"""Data has another shape than the layer or model expects."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt, prod
from typing import NamedTuple

from dnnfix.api import (
    Crash,
    Edit,
    Family,
    Fault,
    FixPattern,
    Json,
    Repairs,
    Replace,
    ShapeTemplate,
    Subject,
    crashes,
    data_edits,
    graph,
    held_values,
    layer_facts,
    network_facts,
    raised_errors,
    short,
    tensor_axes,
    tensor_shapes,
)

GIVEN_BY_OWN = 0.2
"""Prior if the sample comes from a function of the program that adds axes itself: one is missing there."""

OF_AXES = frozenset({"expand_dims", "newaxis", "reshape", "unsqueeze", "view"})

FEW = 4
"""The largest number of channels of an image file."""

METHODS = frozenset({"predict", "predict_on_batch"})

REFUSED = (
    re.compile(r"expected shape=\(([^)]*)\), found shape=\(([^)]*)\)"),
    re.compile(r"Expected shape \(([^)]*)\), but input has incompatible shape (?:torch\.Size\(\[|\()([^)\]]*)"),
)
"""Messages of Keras for an input of another shape than the model was built for: the expected and the received shape."""

Shape = Sequence[int | None]


class DataOfWrongShape(ShapeTemplate):
    """Data has another shape than the layer or model expects, and the right number of values.

    The first axis is the batch: a single sample does not have it, or its first axis is read as one. Convolutions need a
    channel axis even for one channel, second in torch and last in Keras. Recurrent layers expect `(batch, steps,
    features)`, where a table has two axes. Images are passed to dense layers, or flat rows to convolutions. An axis is
    added, moved or merged with others, in the data and where its shape is stated.

    Fix safety: unsafe. The data is laid out in another way; its values stay.

    References: torch.nn.Conv2d, torch.nn.LSTM (shapes of the input), keras.layers.Conv2D (`data_format`),
    keras.layers.LSTM (input shape), keras.Model.predict, torch.Tensor.view, numpy.reshape.
    """

    code = "DNF104"
    name = "data-of-wrong-shape"
    formerly = (
        "DNF101",
        "missing-batch-axis",
        "DNF102",
        "missing-channel-axis",
        "DNF103",
        "channels-in-wrong-place",
        "DNF105",
        "missing-time-axis",
        "DNF117",
        "one-axis-stated-for-images",
        "DNF142",
        "sample-where-batch-is-taken",
    )
    message = "the data has the wrong shape: {what}"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION

    def explain(self, subject: Subject) -> Iterator[Fault]:
        came, stated = tensor_axes.arrival(subject), tensor_axes.declared(subject)
        if came is not None:
            site = subject.source.site(came.node)
            for reading, what, ways, confidence in _of_arrival(subject, came):
                yield Fault(
                    site,
                    what,
                    tuple(ways),
                    {"shape": list(came.shape), "layer": came.call.name},
                    confidence=confidence,
                    reading=reading,
                )
        layouts = _stated_otherwise(stated) if stated is not None else ()
        if stated is not None and layouts:
            what = f"{short(stated.call.name)} does not accept samples of {tensor_shapes.by(stated.shape)}, the stated input shape"
            ways = _restated(subject, stated, layouts)
            evidence: dict[str, Json] = {"shape": list(stated.shape), "layer": stated.call.name}
            yield Fault(subject.source.site(stated.stated.node), what, tuple(ways), evidence, reading="stated")
        yield from _one_sample(subject)

    programs = """
=== example: an image through convolution and batch normalization
import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5))
image = torch.rand(3, 8, 8)
- scores = model(image)
+ scores = model(image.unsqueeze(0))

=== example: softmax over the classes of one row
import torch
import torch.nn as nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(6, 8)
        self.out = nn.Linear(8, 3)

    def forward(self, x):
        x = torch.relu(self.hidden(x))
        return torch.softmax(self.out(x), dim=1)


table = torch.rand(10, 6)
clf = Classifier()
- print(clf(table[0]))
+ print(clf(table[0].unsqueeze(0)))

=== example: grey images into Conv2d
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

=== example: Keras input shape without the channel
import keras
from keras import layers

model = keras.Sequential()
- model.add(layers.Conv2D(4, (3, 3), activation="relu", input_shape=(8, 8)))
+ model.add(layers.Conv2D(4, (3, 3), activation="relu", input_shape=(8, 8, 1)))
model.add(layers.Flatten())
model.add(layers.Dense(2))

=== example: Keras table into Conv1D
import numpy as np
import keras
from keras import layers

X, y = np.random.rand(16, 9), np.random.rand(16)
model = keras.Sequential([layers.Conv1D(4, 3), layers.Flatten(), layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
+ X = np.expand_dims(X, axis=-1)
model.fit(X, y, epochs=1, verbose=0)
print(model.predict(X, verbose=0)[0])

=== example: Keras table into LSTM
import numpy as np
import keras
from keras import layers

series, target = np.random.rand(12, 6), np.random.rand(12, 1)
model = keras.Sequential([layers.LSTM(3), layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
- model.fit(series, target, epochs=1, verbose=0)
+ model.fit(np.expand_dims(series, axis=-1), target, epochs=1, verbose=0)

=== example: Keras input shape of a table before GRU
import numpy as np
from keras.models import Sequential
from keras.layers import GRU, Dense

x_train, x_test = np.random.rand(12, 6), np.random.rand(4, 6)
y_train, y_test = np.random.rand(12), np.random.rand(4)
model = Sequential()
- model.add(GRU(4, input_shape=(6,)))
+ model.add(GRU(4, input_shape=(1, 6)))
model.add(Dense(1))
model.compile(optimizer="adam", loss="mse")
- model.fit(x_train, y_train, validation_data=(x_test, y_test), verbose=0)
+ model.fit(np.expand_dims(x_train, axis=1), y_train, validation_data=(np.expand_dims(x_test, axis=1), y_test), verbose=0)

=== example: one step of a functional model
import numpy as np
import keras
from keras import layers

readings, level = np.random.rand(10, 4), np.random.rand(10, 1)
inputs = keras.Input(shape=(1, 4))
outputs = layers.Dense(1)(layers.GRU(5)(inputs))
model = keras.Model(inputs, outputs)
model.compile("adam", "mse")
+ readings = np.expand_dims(readings, axis=1)
model.fit(readings, level, verbose=0)
print(model.predict(readings))

=== example: a torch table whose columns are steps
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(1, 8, batch_first=True)
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[:, -1])


- Net()(torch.rand(5, 12))
+ Net()(torch.rand(5, 12).unsqueeze(2))

=== example: sequences of vectors into Conv1d
import torch
import torch.nn as nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(6, 8, 3, padding=1)

    def forward(self, words):
        return self.conv(words)


- Tagger()(torch.randn(4, 10, 6))
+ Tagger()(torch.randn(4, 10, 6).permute(0, 2, 1))

=== example: Keras data with channels first
import numpy as np
import keras
from keras import layers

images = np.random.rand(6, 3, 8, 10)
model = keras.Sequential([keras.Input((8, 10, 3)), layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(2)])
- model.predict(images, verbose=0)
+ model.predict(np.transpose(images, (0, 2, 3, 1)), verbose=0)

=== example: Keras input shape with channels first, data with channels last
import numpy as np
import keras
from keras import layers

images = np.random.rand(6, 8, 8, 3)
- model = keras.Sequential([keras.Input(shape=(3, 8, 8)), layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(2)])
+ model = keras.Sequential([keras.Input(shape=(8, 8, 3)), layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(2)])
model.predict(images, verbose=0)

=== example: images into a linear network
import torch
from torch import nn

net = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))
images = torch.rand(5, 1, 8, 8)
labels = torch.randint(0, 10, (5,))
- loss = nn.functional.cross_entropy(net(images), labels)
+ loss = nn.functional.cross_entropy(net(images.flatten(1)), labels)

=== example: numbers in a row into a layer of one input
import torch
from torch import nn

x = torch.linspace(-1, 1, 20)
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
- y = net(x)
+ y = net(x.unsqueeze(1))

=== example: flat rows into a convolution
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)

    def forward(self, x):
        return self.conv(x)


- Net()(torch.rand(5, 784))
+ Net()(torch.rand(5, 784).view(-1, 1, 28, 28))

=== example: all samples in one row
import numpy as np
import keras

x, y = np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([[2.0, 4.0, 6.0, 8.0]])
model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
- model.fit(x, y, epochs=1, verbose=0)
+ model.fit(x.reshape(-1, 1), y.reshape(-1, 1), epochs=1, verbose=0)

=== example: height of the images as the width of the network
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

=== example: a number in input_shape, and images to test with
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

=== example: one picture judged in a function
import keras
import numpy as np

model = keras.Sequential([keras.Input((6, 6, 3)), keras.layers.Conv2D(2, 3), keras.layers.GlobalMaxPooling2D()])


def judge(picture):
-     return model.predict(picture, verbose=0)[0]
+     return model.predict(np.expand_dims(picture, axis=0), verbose=0)[0]


print(judge(np.random.rand(6, 6, 3)))

=== reject: an unbatched image where every layer accepts one
import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())
scores = model(torch.rand(3, 8, 8))

=== reject: Keras images with their channel
import keras
from keras import layers

model = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(2)])

=== reject: one sequence without a batch axis
import torch
import torch.nn as nn

out, state = nn.GRU(4, 8)(torch.rand(5, 4))

=== reject: sequences into Keras
import keras
from keras import layers

model = keras.Sequential([keras.Input((6, 1)), layers.LSTM(3), layers.Dense(1)])

=== reject: channels on the right axis, another size elsewhere
import torch
from torch import nn

nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(10, 2))(torch.rand(2, 3, 8, 8))

=== reject: images of another number of channels
import torch
from torch import nn

nn.Conv2d(3, 4, 3)(torch.rand(2, 1, 8, 8))

=== reject: a table of another width
import torch
from torch import nn

nn.Linear(64, 16)(torch.rand(5, 8))

=== reject: another number of features in Keras
import numpy as np
import keras

model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
model.predict(np.random.rand(4, 5), verbose=0)

=== reject: sequences with a target for every step
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(4, input_shape=(6,)), Dense(1)])
model.compile(loss="mse", optimizer="sgd")
model.fit(np.random.rand(10, 6, 6), np.random.rand(10, 6, 1), verbose=0)

=== reject: a table of another width for Keras
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(4, input_shape=(6,)), Dense(1)])
model.compile(loss="mse", optimizer="sgd")
model.fit(np.random.rand(10, 7), np.random.rand(10, 1), verbose=0)

=== reject: a batch of one
import keras
import numpy as np

model = keras.Sequential([keras.Input((6, 6, 3)), keras.layers.Conv2D(2, 3)])
model.predict(np.random.rand(6, 6, 3)[None], verbose=0)

=== reject: images of another size
import keras
import numpy as np

model = keras.Sequential([keras.Input((6, 6, 3)), keras.layers.Conv2D(2, 3), keras.layers.Flatten(), keras.layers.Dense(2)])
images = np.random.rand(4, 8, 8, 3)
model.predict(images, verbose=0)
"""


Arrived = tuple[str, str, Repairs, float]
"""The name of a reading, its message, the repairs, and the confidence."""


def _of_arrival(subject: Subject, came: tensor_axes.Arrival) -> Iterator[Arrived]:
    """The faults that the shape of the data that crashed may be due to."""
    shape, layer = (
        tensor_shapes.by(came.shape),
        "the network" if came.call.name.startswith("keras.models.") else short(came.call.name),
    )
    batch = _batch_of(came)
    if batch is not None and not _sizes_explain(subject, came) and not _counts_samples(subject, came):
        what = f"expected {batch}, got a single sample of shape {shape}"
        yield "batch", what, _batch_given(subject, came), 0.9
    if _lacks_channel(came):
        rows = not came.is_keras and _are_flat_images(came.shape)
        what = f"{layer} receives {shape}, without a channel axis"
        yield "channel", what, _channel_given(subject, came), 0.5 if rows else 0.9
    if _flat(came) or _is_one_step(subject, came):
        what = f"{layer} expects (batch, steps, features), got {shape}"
        yield "time", what, _time_given(subject, came), 0.9
    order = _order(came)
    if order is not None:
        what = f"{layer} receives {shape}, whose channels are on another axis than it expects"
        yield "order", what, _moved(subject, came, order), 0.85
    wanted = _batched(came)
    if wanted is not None and _changes(subject, came, wanted):
        what = f"expected (batch, {', '.join(map(str, wanted[1:]))}), got {shape}"
        yield "shape", what, _laid_out_anew(subject, came, wanted), 0.85
    told = _told(subject, came)
    if told is not None:
        what = f"images of {tensor_shapes.by(came.shape[1:])} go into a dense network that expects {told.shape[0]} values per sample"
        yield "rows", what, _as_rows(subject, came, told), 0.85


def _with_axis(subject: Subject, came: tensor_axes.Arrival, data: Sequence[ast.expr], axis: int) -> tuple[Edit, ...]:
    """Edits that add an axis of size one to the data."""
    if not came.is_keras:
        return data_edits.change_data(subject, data, "", f".unsqueeze({axis})")
    function, imports = data_edits.with_numpy(subject, "expand_dims")
    return (*data_edits.change_data(subject, data, f"{function}(", f", axis={axis})"), *imports)


# --- the batch


def _batch_given(subject: Subject, came: tensor_axes.Arrival) -> Repairs:
    prior = GIVEN_BY_OWN if _gives_axes(subject, came.node) else 0.9
    yield "Add a batch axis of size one to the sample", _with_axis(subject, came, (came.node,), 0), prior


def _sizes_explain(subject: Subject, came: tensor_axes.Arrival) -> bool:
    """Whether a size mismatch explains the crash: a missing batch axis does so only where a flatten went wrong."""
    conflict = crashes.size_conflict(subject)
    if conflict is None:
        return False
    return conflict.facts.kind != "linear" or came.facts is None or came.facts.kind == "linear"


def _counts_samples(subject: Subject, came: tensor_axes.Arrival) -> bool:
    """Whether the first axis is the batch already: training data with one target per row."""
    for call in reversed(subject.network.calls):
        if call.name.startswith("keras.Model.") and call.inputs and call.inputs[0].site == came.value.site:
            rows = [value.shape[0] if value.shape else None for value in call.inputs[:2]]
            return len(rows) == 2 and rows[0] == rows[1] and (rows[0] or 0) > 1
    return False


def _gives_axes(subject: Subject, node: ast.expr) -> bool:
    """Whether a value is the result of a function of the program that adds or changes axes."""
    source = subject.source
    function: ast.AST | None
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
            owner = source.enclosing(node, ast.ClassDef)
            function = graph.method(owner, name) if isinstance(owner, ast.ClassDef) else None
        case ast.Call(func=called):
            function = source.definition(called)
        case _:
            return False
    return function is not None and any(
        isinstance(each, ast.Attribute) and each.attr in OF_AXES for each in ast.walk(function)
    )


def _batch_of(came: tensor_axes.Arrival) -> str | None:
    """The expected shape as a string, if the data has exactly that without its first axis."""
    shape = came.shape
    if came.wanted is not None:
        return str(came.wanted) if shape and tensor_axes.meets((None, *shape), came.wanted) else None
    facts = came.facts
    if came.is_keras or facts is None or not shape:
        return None
    stated, axis = network_facts.stated_input(came.call), facts.takes_axis
    if stated is None or axis is None or not -len(shape) <= axis < 0 or shape[axis] != stated:
        return None
    if facts.kind == "linear":
        return f"(batch, {stated})" if len(shape) == 1 else None
    if facts.kind == "convolution" and len(shape) == facts.spatial + 1:
        return f"(batch, {', '.join(str(size) for size in shape)})"
    if facts.kind == "recurrent" and facts.ranks and len(shape) == facts.ranks[0] and len(facts.ranks) > 1:
        return (
            f"(batch, {', '.join(str(size) for size in shape)})" if came.call.args.get("batch_first") is True else None
        )
    return None


def _one_sample(subject: Subject) -> Iterator[Fault]:
    """A Keras model called with one sample, whose first axis it reads as the batch."""
    crash = subject.crash
    node = subject.node(crash.site) if crash is not None else None
    met = _met(subject, crash) if crash is not None else None
    first = tensor_axes.first_argument(node) if isinstance(node, ast.Call) else None
    if met is None or first is None or not isinstance(node, ast.Call):
        return
    given = held_values.shape_of(subject, first)
    asked = not isinstance(node.func, ast.Attribute) or node.func.attr in METHODS
    if asked and given is not None and _is_one(given, met):
        function, imports = data_edits.with_numpy(subject, "expand_dims")
        edits = (data_edits.wrapped(subject, first, f"{function}(", ", axis=0)"), *imports)
        what = f"the model expects batches of shape {tensor_shapes.by(met)}, got one sample of shape {tensor_shapes.by(given)}"
        ways = iter([("Add a batch axis of size one to the sample", edits, 0.95)])
        yield Fault(
            subject.source.site(first),
            what,
            tuple(ways),
            {"given": list(given), "wanted": list(met)},
            confidence=0.95,
            reading="sample",
        )


def _met(subject: Subject, crash: Crash) -> Shape | None:
    """The shape that the model was built for, from the message or the run."""
    said = next(filter(None, (one.search(crash.message) for one in REFUSED)), None)
    if said is not None:
        return raised_errors.shape_said(said[1])
    built = {
        value.shape
        for call in subject.network.calls
        for value in call.inputs
        if value.origin == "symbolic" and value.producer is None and value.shape is not None
    }
    return built.pop() if len(built) == 1 else None


def _is_one(given: Shape, wanted: Shape) -> bool:
    """Whether a shape is that of one sample of such a batch; unknown sizes match."""
    if not given or len(given) + 1 != len(wanted):
        return False
    return all(a is None or b is None or a == b for a, b in zip(given, wanted[1:], strict=True))


# --- the channels


def _channel_given(subject: Subject, came: tensor_axes.Arrival) -> Repairs:
    title, everywhere = "Add a channel axis to the data", tensor_axes.sibling_inputs(subject, came.node)
    if came.is_keras:
        yield title, _with_axis(subject, came, everywhere, -1), 0.9
        return
    single = came.facts is not None and len(came.shape) == came.facts.spatial
    code = ".unsqueeze(0).unsqueeze(0)" if single else ".unsqueeze(1)"
    yield title, data_edits.change_data(subject, everywhere, "", code), 0.9
    if len(everywhere) > 1:
        yield title, data_edits.change_data(subject, (came.node,), "", code), 0.6


def _lacks_channel(came: tensor_axes.Arrival) -> bool:
    facts, shape = came.facts, came.shape
    if facts is None or facts.kind != "convolution":
        return False
    if came.is_keras:
        return len(shape) == facts.spatial + 1
    if network_facts.stated_input(came.call) != 1:
        return False
    return len(shape) == facts.spatial or (len(shape) == facts.spatial + 1 and shape[0] != 1)


def _are_flat_images(shape: tuple[int, ...]) -> bool:
    """Whether a table is a batch of flattened square images rather than one image without a channel axis."""
    return len(shape) == 2 and shape[0] != shape[1] and isqrt(shape[1]) ** 2 == shape[1]


def _moved(subject: Subject, came: tensor_axes.Arrival, order: tuple[int, ...]) -> Repairs:
    everywhere, axes = tensor_axes.sibling_inputs(subject, came.node), ", ".join(map(str, order))
    title = "Move the channels of the data to the expected axis"
    if not came.is_keras:
        batch = ".unsqueeze(0)" if len(order) == 3 and came.facts is not None and came.facts.spatial == 2 else ""
        code = f".permute({axes}){batch}"
        # An axis of one channel was added on purpose: more likely the layer is wrong.
        yield (
            title,
            data_edits.change_data(subject, everywhere, "", code),
            0.2 if order[0] == 0 and came.shape[1] == 1 else 0.9,
        )
        if len(everywhere) > 1:
            yield title, data_edits.change_data(subject, (came.node,), "", code), 0.6
        return
    function, imports = data_edits.with_numpy(subject, "transpose")
    last = came.shape[-1] <= FEW < came.shape[1]
    yield (
        title,
        (*data_edits.change_data(subject, everywhere, f"{function}(", f", ({axes}))"), *imports),
        0.5 if last else 0.9,
    )
    where = tensor_shapes.stated_keras_input(subject, came.call)
    if where is not None:
        change = tensor_axes.declare(subject, where, came.shape[1:])
        yield "State the input shape as the data has it", change, 0.9 if last else 0.3


def _order(came: tensor_axes.Arrival) -> tuple[int, ...] | None:
    """The order of axes in which the data would be right."""
    shape, facts = came.shape, came.facts
    rank = len(shape)
    if came.wanted is not None:
        if rank not in (3, 4, 5) or tensor_axes.meets(shape, came.wanted):
            return None
        to_last, to_first = (0, *range(2, rank), 1), (0, rank - 1, *range(1, rank - 1))
        fitting = [o for o in (to_last, to_first) if tensor_axes.meets(tuple(shape[axis] for axis in o), came.wanted)]
        return fitting[0] if fitting else None
    if came.is_keras or facts is None or facts.kind != "convolution":
        return None
    stated = network_facts.stated_input(came.call)
    if rank not in (facts.spatial + 1, facts.spatial + 2) or shape[-1] != stated or shape[-1 - facts.spatial] == stated:
        return None
    if rank == facts.spatial + 1:
        return (rank - 1, *range(rank - 1)) if facts.spatial == 2 and shape[0] > FEW else None
    return (0, rank - 1, *range(1, rank - 1))


# --- the steps


def _time_given(subject: Subject, came: tensor_axes.Arrival) -> Repairs:
    data = tensor_axes.sibling_inputs(subject, came.node)
    if not came.is_keras:
        axis = 2 if network_facts.stated_input(came.call) == 1 else 1
        yield f"Reshape the data to {_said(axis)}", _with_axis(subject, came, data, axis), 0.8
        return
    as_feature, as_step = _with_axis(subject, came, data, -1), _with_axis(subject, came, data, 1)
    if came.wanted is None:
        yield f"Reshape the data to {_said(2)}", as_feature, 0.7
        yield f"Reshape the data to {_said(1)}", as_step, 0.6
        return
    # The stated `(steps, features)` has as many features as the table has columns.
    yield f"Reshape the data to {_said(1)}", as_step, 0.7
    stated = tensor_shapes.stated_keras_input(subject, came.call)
    if stated is not None:
        edits = (*tensor_axes.declare(subject, stated, (came.shape[1], 1)), *as_feature)
        yield f"State the input shape and reshape the data: {_said(2)}", edits, 0.6


def _flat(came: tensor_axes.Arrival) -> bool:
    facts, shape = came.facts, came.shape
    if facts is None or facts.kind != "recurrent" or len(shape) != 2:
        return False
    if came.is_keras:
        return came.wanted is None
    return facts.ranks == (2, 3) and network_facts.stated_input(came.call) == 1 != shape[1]


def _is_one_step(subject: Subject, came: tensor_axes.Arrival) -> bool:
    """Whether a table is one step per sample for a built Keras model that begins with a recurrent layer."""
    wanted, shape = came.wanted, came.shape
    if not came.is_keras or wanted is None or len(wanted) != 3 or len(shape) != 2:
        return False
    return wanted[1] in (None, 1) and wanted[2] == shape[1] and _begins_with(subject, came, "recurrent")


def _begins_with(subject: Subject, came: tensor_axes.Arrival, kind: str) -> bool:
    """Whether the first layer of a built Keras model is of a kind."""
    entrances = [
        call for call in subject.network.calls
        if call.inputs and call.inputs[0].origin == "symbolic" and call.inputs[0].shape == came.wanted
    ]  # fmt: skip
    return any((facts := layer_facts(call)) is not None and facts.kind == kind for call in entrances)


def _said(axis: int) -> str:
    return "one feature per step" if axis == 2 else "one step per sample"


# --- the shape of a sample


@dataclass(frozen=True, slots=True)
class Change:
    """A way to reshape the data: the code appended, a title, a prior, and whether the targets need it too."""

    code: str
    title: str
    prior: float
    targets: bool = False


def _laid_out_anew(subject: Subject, came: tensor_axes.Arrival, wanted: tuple[int | None, ...]) -> Repairs:
    for change in _changes(subject, came, wanted):
        edits: tuple[Edit, ...] = data_edits.change_data(
            subject, tensor_axes.sibling_inputs(subject, came.node), "", change.code
        )
        if change.targets:
            target = tensor_shapes.fit_data(subject)[1]
            node = subject.node(target.value.site) if target is not None else None
            if not isinstance(node, ast.expr):
                continue
            edits += data_edits.change_data(subject, tensor_axes.sibling_targets(subject, node), "", change.code)
        yield change.title, edits, change.prior


def _batched(came: tensor_axes.Arrival) -> tuple[int | None, ...] | None:
    """The batched shape that the network expects, if the data has another one."""
    shape, facts = came.shape, came.facts
    if came.wanted is not None:
        return came.wanted if not tensor_axes.meets(shape, came.wanted) and None not in came.wanted[1:] else None
    stated = network_facts.stated_input(came.call)
    if came.is_keras and facts is not None and facts.kind == "linear" and len(shape) == 1:
        return (None, 1)
    if came.is_keras or facts is None or stated is None or not shape:
        return None
    if facts.kind == "linear" and shape[-1] != stated:
        return (None, stated)
    if facts.kind == "convolution" and facts.spatial == 2 and len(shape) == 2:
        side = isqrt(shape[1] // stated)
        return (None, stated, side, side) if stated * side * side == shape[1] and side > 1 else None
    return None


def _changes(subject: Subject, came: tensor_axes.Arrival, wanted: tuple[int | None, ...]) -> list[Change]:
    """The ways to reshape the data that keep all values of each sample together."""
    shape, sizes = came.shape, tuple(size for size in wanted[1:] if size is not None)
    sample = prod(sizes)
    found: list[Change] = []
    if not shape or sample == 0 or prod(shape) == 0:
        return found
    if len(shape) == 2 and len(sizes) == 1 and shape[0] == sample != shape[1]:
        few = shape[1] < shape[0]
        found.append(Change(".T", "Transpose the table", 0.85 if few else 0.6))
    if len(shape) > 1 and prod(shape[1:]) == sample and shape[1:] != sizes:
        found.append(Change(_laid_out(came, sizes), f"Reshape every sample to {sizes}", 0.8))
    elif prod(shape) == sample and shape != sizes and len(shape) != len(sizes) + 1:
        code = f"(1, {', '.join(str(size) for size in sizes)})"
        method = "reshape" if came.is_keras else "view"
        found.append(Change(f".{method}{code}", f"Reshape the sample to {sizes} and add a batch axis", 0.7))
    if sample == 1 and len(shape) == 1 and shape[0] > 1:
        code = ".reshape(-1, 1)" if came.is_keras else ".unsqueeze(1)"
        found.append(Change(code, "Make every value a separate sample", 0.9))
    if sample == 1 and shape[0] == 1 and len(shape) == 2 and shape[1] > 1 and came.is_keras:
        target = tensor_shapes.fit_data(subject)[1]
        same = target is not None and target.value.shape == shape
        found.append(Change(".reshape(-1, 1)", "Make every value a separate sample", 0.9, targets=same))
    return sorted(found, key=lambda change: -change.prior)


def _laid_out(came: tensor_axes.Arrival, sizes: tuple[int, ...]) -> str:
    if not came.is_keras and len(sizes) == 1:
        return ".flatten(1)"
    method = "reshape" if came.is_keras else "view"
    return f".{method}(-1, {', '.join(str(size) for size in sizes)})"


def _as_rows(subject: Subject, came: tensor_axes.Arrival, stated: tensor_shapes.StatedInput) -> Repairs:
    width = prod(came.shape[1:])
    rows = data_edits.change_data(subject, tensor_axes.sibling_inputs(subject, came.node), "", f".reshape(-1, {width})")
    edits = (*_row_stated(subject, came, stated, width), *rows)
    yield "Flatten every image and state its length", edits, 0.8


def _told(subject: Subject, came: tensor_axes.Arrival) -> tensor_shapes.StatedInput | None:
    """The input shape of a dense network that states one axis of the square images it gets, with one target each."""
    if not came.is_keras or came.wanted is None or len(came.wanted) != 2 or not _square(came.shape):
        return None
    target = tensor_shapes.fit_data(subject)[1]
    if came.wanted[1] not in came.shape[1:] or target is None or len(target.value.shape or (0, 0, 0)) > 2:
        return None
    stated = tensor_shapes.stated_keras_input(subject, came.call)
    one_axis = stated is not None and len(stated.shape) == 1
    return stated if one_axis and _begins_with(subject, came, "linear") else None


def _square(shape: tuple[int, ...]) -> bool:
    """Whether the samples look like images: two adjacent axes of one size, and at most a third for channels."""
    sizes = shape[1:]
    return len(sizes) in (2, 3) and any(a == b > 1 for a, b in pairwise(sizes))


def _row_stated(
    subject: Subject, came: tensor_axes.Arrival, stated: tensor_shapes.StatedInput, width: int
) -> tuple[Edit, ...]:
    """Edits of the stated width to the number of pixels: as a product of sizes if it reads one, else a number."""
    node = stated.node
    if stated.form == "input_dim" and isinstance(node, ast.Subscript) and len(came.shape) == 3:
        text = subject.source.segment(subject.source.site(node))
        if text.endswith(".shape[1]"):
            return (Replace(subject.source.site(node), f"{text} * {text[: -len('[1]')]}[2]"),)
    return tensor_axes.declare(subject, stated, (width,))


# --- where a Keras program states the shape before any data comes


class _Layout(NamedTuple):
    """Another input shape, what it adds, the function that reshapes the data, and the priors with and without that."""

    shape: Shape
    has: str
    function: str
    axes: str
    together: float
    alone: float


def _stated_otherwise(stated: tensor_axes.Declared) -> tuple[_Layout, ...]:
    """The input shapes that the layer accepts instead of the stated one."""
    shape, facts = stated.shape, stated.facts
    if facts.kind == "convolution" and len(shape) == facts.spatial:
        return (_Layout((*shape, 1), "the channel", "expand_dims", "axis=-1", 0.7, 0.85),)
    if facts.kind == "recurrent" and len(shape) == 1:
        return (
            _Layout((shape[0], 1), _said(2), "expand_dims", "axis=-1", 0.75, 0.5),
            _Layout((1, shape[0]), _said(1), "expand_dims", "axis=1", 0.65, 0.0),
        )
    if _first(stated):
        return (_Layout((*shape[1:], shape[0]), "the channels last", "moveaxis", "1, -1", 0.7, 0.6),)
    return ()


def _restated(subject: Subject, stated: tensor_axes.Declared, layouts: Sequence[_Layout]) -> Repairs:
    data = tensor_axes.fitted_inputs(subject)
    for layout in layouts:
        edits = tensor_axes.declare(subject, stated.stated, layout.shape)
        if data:
            function, imports = data_edits.with_numpy(subject, layout.function)
            both = (*edits, *data_edits.change_data(subject, data, f"{function}(", f", {layout.axes})"), *imports)
            yield f"State the input shape with {layout.has}, and reshape the data", both, layout.together
        if layout.alone:
            yield f"State the input shape with {layout.has}", edits, layout.alone


def _first(stated: tensor_axes.Declared) -> bool:
    """Whether the stated shape has its channels first, in a layer that expects them last."""
    shape = stated.shape
    if stated.facts.kind != "convolution" or len(shape) != stated.facts.spatial + 1 or stated.facts.spatial < 2:
        return False
    if stated.call.args.get("data_format") == "channels_first" or None in shape:
        return False
    first, last = shape[0] or 0, shape[-1] or 0
    return first in (1, 3, FEW) and last > FEW
