"""A layer's kernel, embedding rows, groups or weight shape does not fit its input."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from math import gcd

from dnnfix.api import (
    Call,
    Component,
    Decline,
    Edit,
    Family,
    Fault,
    FixPattern,
    Json,
    Repairs,
    Replace,
    SetArgument,
    ShapeTemplate,
    Site,
    Subject,
    arithmetic,
    call_arguments,
    crashes,
    held_values,
    layer_facts,
    network_facts,
    origins,
    recipes,
    short,
    size_edits,
    tensor_shapes,
)

WINDOWS = {"convolution": "kernel_size", "pooling": "kernel_size"}

MOST_CHANNELS = 4
"""The most channels of an image: gray, colour, colour with transparency; no image is that few pixels high."""

FUNCTIONS = {f"torch.nn.functional.{kind}_pool{n}d": n for kind in ("max", "avg") for n in (1, 2, 3)}
"""Pooling functions and their number of spatial axes; the window is their second parameter."""

CONVOLUTIONS = {
    "tensorflow.nn.conv1d": 1,
    "tensorflow.nn.conv2d": 2,
    "tensorflow.nn.conv3d": 3,
    "tensorflow.nn.convolution": None,
}
"""Convolutions of TensorFlow and their number of spatial axes; `None` for any number."""

PRODUCTS = frozenset({"tensorflow.matmul", "tensorflow.linalg.matmul"})

LATER = ("filter", "channel", "feature", "unit", "out", "depth", "kernels", "maps")
"""Words in the name of a size that counts filters, which are the last axis."""


class LayerNotMadeForInput(ShapeTemplate):
    """A size that a layer is created with does not fit its input.

    - A kernel or pooling window is larger than the image that reaches it: after too many poolings, with small images in
      a network for large ones, or with the axes of the input shape in the wrong order.
    - An embedding has fewer rows than its indices need: words numbered from 1 to n, with 0 for padding, need n + 1
      rows.
    - The number of groups or heads does not divide the channels or the width.
    - The weight of a TensorFlow operation has its sizes in another order than `(height, width, channels, filters)` or
      `(inputs, outputs)`, or another size than its input.

    Fix safety: unsafe. The layer gets another number of weights, or the network computes something else from the same
    image.

    References: torch.nn.Conv2d (shape of the output; "in_channels and out_channels must both be divisible by groups"),
    torch.nn.MaxPool2d, keras.layers.Conv2D (`padding`), torch.nn.Embedding (`num_embeddings`), keras.layers.Embedding
    (`input_dim`: "maximum integer index + 1"), torch.nn.GroupNorm, torch.nn.MultiheadAttention ("embed_dim //
    num_heads"), keras.layers.GroupNormalization, tf.nn.conv1d, tf.nn.conv2d (`filters`), tf.matmul.
    """

    code = "DNF211"
    name = "layer-not-made-for-input"
    formerly = (
        "kernel-larger-than-input",
        "DNF212",
        "embedding-too-small",
        "DNF215",
        "groups-do-not-divide",
        "DNF240",
        "filter-does-not-fit",
    )
    message = "the sizes of the layer do not fit its input: {what}"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION

    def explain(self, subject: Subject) -> Iterator[Fault]:
        evidence: dict[str, Json]
        found = _window(subject)
        if found is not None:
            site, layer = found.call.made_at or found.call.site, short(found.call.name)
            what = f"{layer} has a window of {tensor_shapes.by(found.window)}, larger than its input of {tensor_shapes.by(found.size)}"
            evidence = {"window": list(found.window), "input": list(found.size)}
            yield Fault(site, what, tuple(_with_room(subject, found)), evidence, reading="window")
        beyond = _beyond(subject)
        if beyond is not None:
            call, rows, wanted = beyond
            what = f"{short(call.name)} has {rows} rows and receives the index {wanted - 1}"
            ways = _more_rows(subject, *beyond)
            yield Fault(
                call.made_at, what, tuple(ways), {"rows": rows, "wanted": wanted}, confidence=0.95, reading="rows"
            )
        shares = _shares(subject)
        if shares is not None:
            what = f"{short(shares.name)} cannot divide {' and '.join(map(str, shares.sizes))} by {shares.parts}"
            evidence = {"parts": shares.parts, "sizes": list(shares.sizes)}
            yield Fault(shares.site, what, tuple(_other_parts(shares)), evidence, confidence=0.95, reading="groups")
        node = subject.node(subject.crash.site) if subject.crash is not None else None
        weight = _weight(subject, node) if node is not None else None
        if weight is not None:
            what = f"a weight of shape {weight.sizes} does not match its input of {weight.wanted} values per position"
            evidence = {"shape": list(weight.sizes), "wanted": weight.wanted}
            yield Fault(
                subject.source.site(weight.stated),
                what,
                tuple(_other_weight(subject, weight)),
                evidence,
                reading="weight",
            )

    programs = """
=== example: convolution after two poolings
import torch
import torch.nn as nn

net = nn.Sequential(
    nn.Conv2d(1, 4, 3),
    nn.MaxPool2d(2),
    nn.Conv2d(4, 4, 3),
    nn.MaxPool2d(2),
-     nn.Conv2d(4, 8, 5),
+     nn.Conv2d(4, 8, 5, padding=2),
)
print(net(torch.rand(2, 1, 14, 14)).shape)

=== example: pooling function over a small image
import torch
import torch.nn as nn
import torch.nn.functional as F


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
-         return F.max_pool2d(self.conv(x), 8)
+         return F.max_pool2d(self.conv(x), 2)


print(Small()(torch.rand(2, 3, 8, 8)).shape)

=== example: Keras model with one pooling too many
import keras
from keras import layers

model = keras.Sequential([
    keras.Input((10, 10, 1)),
    layers.Conv2D(4, 3),
    layers.MaxPooling2D(4),
-     layers.Conv2D(8, 3),
+     layers.Conv2D(8, 3, padding="same"),
    layers.Flatten(),
])

=== example: Keras axes of the input shape swapped
from keras.models import Sequential
from keras.layers import Conv1D, Flatten, Dense

net = Sequential()
- net.add(Conv1D(4, 10, input_shape=(1, 40)))
+ net.add(Conv1D(4, 10, input_shape=(40, 1)))
net.add(Flatten())
net.add(Dense(2))

=== example: Keras images with their channels first
from keras.layers import Conv2D, MaxPooling2D
from keras.models import Sequential

model = Sequential()
- model.add(Conv2D(8, (3, 3), padding="valid", activation="relu", input_shape=(3, 32, 32)))
+ model.add(Conv2D(8, (3, 3), padding="valid", activation="relu", input_shape=(32, 32, 3)))
model.add(Conv2D(8, (3, 3), activation="relu"))
model.add(MaxPooling2D(pool_size=(2, 2)))

=== example: a gray image stated by Input, rows and columns in variables
import keras
from keras import layers

rows, columns = 28, 28
- inputs = keras.Input(shape=(1, rows, columns))
+ inputs = keras.Input(shape=(rows, columns, 1))
x = layers.Conv2D(4, 5)(inputs)
x = layers.Flatten()(layers.MaxPooling2D()(x))
model = keras.Model(inputs, layers.Dense(10)(x))

=== example: words counted from 1
import torch
import torch.nn as nn


class Words(nn.Module):
    def __init__(self, num_words, width):
        super().__init__()
        self.num_words = num_words
-         self.embedding = nn.Embedding(self.num_words, width, padding_idx=0)
+         self.embedding = nn.Embedding(self.num_words + 1, width, padding_idx=0)

    def forward(self, x):
        return self.embedding(x)


net = Words(30, 4)
print(net(torch.arange(1, 31).view(3, 10)).shape)

=== example: Keras vocabulary
import numpy as np
import keras
from keras import layers

x = np.arange(40).reshape(8, 5)
model = keras.Sequential([
    keras.Input((5,)),
-     layers.Embedding(input_dim=20, output_dim=2),
+     layers.Embedding(input_dim=40, output_dim=2),
    layers.Flatten(),
    layers.Dense(1),
])
model.compile(optimizer="sgd", loss="mse")
model.fit(x, np.random.rand(8, 1), verbose=0)

=== example: groups of a convolution
import torch
import torch.nn as nn

- conv = nn.Conv2d(10, 20, 3, groups=4)
+ conv = nn.Conv2d(10, 20, 3, groups=5)
print(conv(torch.randn(1, 10, 5, 5)).shape)

=== example: Keras groups
import keras
from keras import layers

model = keras.Sequential([
    keras.Input((8, 8, 10)),
-     layers.GroupNormalization(4),
+     layers.GroupNormalization(5),
])

=== example: filters first in a convolution over time
import tensorflow as tf

STEPS, CHANNELS, WIDTH, FILTERS = 30, 2, 5, 8
signal = tf.random.normal([4, STEPS, CHANNELS])
- kernel = tf.Variable(tf.random.normal([FILTERS, CHANNELS, WIDTH]))
+ kernel = tf.Variable(tf.random.normal([WIDTH, CHANNELS, FILTERS]))
bias = tf.Variable(tf.zeros([FILTERS]))
print((tf.nn.conv1d(signal, kernel, stride=1, padding="SAME") + bias).shape)

=== example: colour images for filters of grey ones
import tensorflow as tf

images = tf.zeros([2, 12, 12, 3])
- w = tf.Variable(tf.random.truncated_normal([5, 5, 1, 16], stddev=0.1))
+ w = tf.Variable(tf.random.truncated_normal([5, 5, 3, 16], stddev=0.1))


def features(x):
    return tf.nn.relu(tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME"))


features(images)

=== example: a product with a weight on its side, in a class
import tensorflow as tf


class Readout:
    def __init__(self, inputs, classes):
-         self.w = tf.Variable(tf.ones([classes, inputs]))
+         self.w = tf.Variable(tf.ones([inputs, classes]))

    def __call__(self, x):
        return tf.matmul(x, self.w)


print(Readout(6, 3)(tf.ones([4, 6])))

=== reject: windows that fit
import torch
import torch.nn as nn

nn.Sequential(nn.Conv2d(1, 4, 5), nn.MaxPool2d(2))(torch.rand(2, 1, 9, 9))

=== reject: a kernel made to fit by its padding
import keras
from keras import layers

keras.Sequential([keras.Input((2, 2, 1)), layers.Conv2D(4, 5, padding="same")])

=== reject: rows for every index
import torch
import torch.nn as nn

nn.Embedding(10, 3)(torch.arange(10))

=== reject: an index below zero
import torch
import torch.nn as nn

nn.Embedding(10, 3)(torch.tensor([1, -2, 3]))

=== reject: groups that divide
import torch
import torch.nn as nn

nn.Sequential(nn.Conv2d(8, 16, 3, groups=4), nn.GroupNorm(4, 16))(torch.randn(2, 8, 6, 6))

=== reject: a layer refused for another reason
import torch
import torch.nn as nn

nn.Conv2d(8, -16, 3, groups=4)

=== reject: weights that fit, groups of channels among them
import tensorflow as tf

x = tf.zeros([2, 8, 8, 6])
tf.nn.conv2d(x, tf.Variable(tf.ones([3, 3, 3, 4])), 1, "SAME")
tf.matmul(tf.ones([4, 6]), tf.Variable(tf.ones([6, 3])))

=== reject: a crash in a product of data alone
import tensorflow as tf

a, b = tf.ones([4, 6]), tf.ones([5, 2])
tf.matmul(a, b)
"""


# --- windows ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Window:
    """A call whose window does not fit; `window` includes dilation and `size` padding; `argument` is its parameter."""

    call: Call
    window: tuple[int, ...]
    size: tuple[int, ...]
    argument: str


def _window(subject: Subject) -> _Window | None:
    call = subject.crash.call if subject.crash is not None else None
    shape = call.inputs[0].shape if call is not None and call.inputs else None
    if call is None or shape is None:
        return None
    if call.name in FUNCTIONS:
        return _fitting(call, shape, FUNCTIONS[call.name], _written_window(subject, call), "kernel_size")
    facts = layer_facts(call)
    if facts is None or facts.kind not in WINDOWS or not facts.spatial or not facts.accepts_rank(len(shape)):
        return None
    argument = "pool_size" if facts.kind == "pooling" and call.name.startswith("keras.") else "kernel_size"
    return _fitting(call, shape, facts.spatial, crashes.sizes(call.args.get(argument), facts.spatial), argument)


def _written_window(subject: Subject, call: Call) -> tuple[int, ...] | None:
    node = subject.call_node(call)
    given = node.args[1] if node is not None and len(node.args) > 1 else None
    size = arithmetic.number(given)
    return (size,) * FUNCTIONS[call.name] if size is not None else None


def _fitting(
    call: Call, shape: tuple[int | None, ...], spatial: int, window: tuple[int, ...] | None, argument: str
) -> _Window | None:
    keras = call.name.startswith("keras.")
    if keras and (call.args.get("padding") != "valid" or call.args.get("data_format") == "channels_first"):
        return None
    if "Transpose" in call.name or window is None:
        return None
    axes = shape[1 : 1 + spatial] if keras else shape[len(shape) - spatial :]
    padding = crashes.sizes(call.args.get("padding", 0), spatial) if not keras else (0,) * spatial
    dilation = crashes.sizes(call.args.get("dilation_rate" if keras else "dilation", 1), spatial) or (1,) * spatial
    if padding is None or any(size is None for size in axes):
        return None
    size = tuple((n or 0) + 2 * p for n, p in zip(axes, padding, strict=True))
    reach = tuple(d * (k - 1) + 1 for k, d in zip(window, dilation, strict=True))
    return _Window(call, reach, size, argument) if any(k > n for k, n in zip(reach, size, strict=True)) else None


def _with_room(subject: Subject, found: _Window) -> Repairs:
    yield Decline("neither the window nor a pooling before it is written in one place")
    yield from _axes_swapped(subject, found)
    yield from _channels_last(subject, found)
    yield from _padded(subject, found)
    yield from _smaller(subject, found)
    yield from _one_pooling_less(subject, found)


def _axes_swapped(subject: Subject, found: _Window) -> Repairs:
    """Swap the two axes of a Keras input shape, where that leaves room for the window."""
    stated = tensor_shapes.stated_keras_input(subject, found.call) if found.call.name.startswith("keras.") else None
    first = bool(found.call.inputs) and found.call.inputs[0].producer is None
    if stated is None or not first or len(stated.shape) != 2:
        return
    length = stated.shape[1]
    if length is not None and length >= found.window[0]:
        yield from _in_order(subject, stated, (1, 0), "State the length before the channels", 0.85)


def _channels_last(subject: Subject, found: _Window) -> Repairs:
    """Move the channels of a Keras input shape last, where they are first as in Keras 1 on Theano."""
    if not found.call.name.startswith("keras.") or not found.call.inputs:
        return
    path = [found.call, *tensor_shapes.way_back(subject, found.call.inputs[0])]
    stated = tensor_shapes.stated_keras_input(subject, path[-1])
    if stated is None or any(call.args.get("data_format") == "channels_first" for call in path):
        return
    sizes = tensor_shapes.known(stated.shape)
    if sizes is not None and len(sizes) == 3 and sizes[0] <= MOST_CHANNELS < min(sizes[1:]):
        yield from _in_order(subject, stated, (1, 2, 0), "State the channels last", 0.8)


def _in_order(
    subject: Subject, stated: tensor_shapes.StatedInput, order: tuple[int, ...], title: str, prior: float
) -> Repairs:
    """Reorder the sizes of an input shape that is written out."""
    node = stated.node
    if not isinstance(node, (ast.Tuple, ast.List)) or len(node.elts) != len(order):
        return
    inner = ", ".join(subject.text(subject.source.site(node.elts[place])) for place in order)
    written = f"({inner})" if isinstance(node, ast.Tuple) else f"[{inner}]"
    yield f"{title}: {written}", (Replace(subject.source.site(node), written),), prior


def _padded(subject: Subject, found: _Window) -> Repairs:
    """Pad the convolution, or all convolutions up to the window, so that only poolings make the image smaller."""
    facts = layer_facts(found.call)
    if facts is not None and facts.kind == "convolution" and any(size > 1 for size in found.size):
        border = _border(found.call, found.window)
        edits = recipes.set_constructor_argument(subject, found.call, "padding", border)
        yield f"Pad the input of {short(found.call.name)} ({border})".replace('"', "'"), edits, 0.6
    every: dict[Edit, None] = {}
    for call in (found.call, *(tensor_shapes.way_back(subject, found.call.inputs[0]) if found.call.inputs else ())):
        facts = layer_facts(call)
        if facts is None or facts.kind != "convolution" or call.args.get("padding", 0) not in (0, "valid", "VALID"):
            continue
        window = crashes.sizes(call.args.get("kernel_size"), facts.spatial)
        if window is not None and max(window) > 1:
            edits = recipes.set_constructor_argument(subject, call, "padding", _border(call, window))
            every |= dict.fromkeys(edits or ())
    if len(every) > 1:
        yield "Pad the input of every convolution", tuple(every), 0.58


def _border(call: Call, window: tuple[int, ...]) -> str:
    """The `padding` argument that keeps the size of an image."""
    return '"same"' if call.name.startswith("keras.") else str(max(window) // 2)


def _smaller(subject: Subject, found: _Window) -> Repairs:
    room = min(found.size)
    facts = layer_facts(found.call)
    fits = min(2, room) if facts is None or facts.kind == "pooling" else room - 1 + room % 2
    node = subject.constructor_node(found.call) if found.call.made_at is not None else subject.call_node(found.call)
    if fits < 2 or node is None:
        return  # a window of one element does nothing
    place = 1 if found.call.name in FUNCTIONS else network_facts.argument_position(found.call.name, found.argument)
    edit = SetArgument(subject.source.site(node), found.argument, str(fits), place)
    yield f"Reduce the window of {short(found.call.name)} to {fits}", (edit,), 0.55


def _one_pooling_less(subject: Subject, found: _Window) -> Repairs:
    """Remove the last pooling before the window, where its input is large enough."""
    for call in tensor_shapes.way_back(subject, found.call.inputs[0]) if found.call.inputs else ():
        facts = layer_facts(call)
        if (facts is not None and facts.kind == "pooling") or call.name in FUNCTIONS:
            title = f"Remove the {short(call.name)} before {short(found.call.name)}"
            yield title, recipes.bypass(subject, call), 0.4
            return


# --- rows of an embedding ---------------------------------------------------------------------------------------------


def _more_rows(subject: Subject, call: Call, rows: int, wanted: int) -> Repairs:
    yield Decline("the number of rows is not written in one place")
    name = _rows_argument(call)
    text = size_edits.made_as(subject, call, name)
    if text is not None and wanted == rows + 1:
        one_more = recipes.set_constructor_argument(subject, call, name, f"{text} + 1")
        yield f"Give the embedding {text} + 1 rows", one_more, 0.9
    for change in size_edits.size_changes(subject, call, name, wanted):
        yield f"Give the embedding {change.written} rows", change.edits, 0.8 * change.prior


def _rows_argument(call: Call) -> str:
    return "input_dim" if call.name.startswith("keras.") else "num_embeddings"


def _beyond(subject: Subject) -> tuple[Call, int, int] | None:
    """The embedding that crashed, its rows, and how many rows the indices need."""
    found = crashes.crashed_layer(subject)
    if found is None or found[1].kind != "embedding":
        return None
    call, _, value = found
    rows, wanted = call.args.get(_rows_argument(call)), tensor_shapes.label_count(subject, value)
    if not isinstance(rows, int) or wanted is None or wanted <= rows:
        return None
    return call, rows, wanted


# --- groups and heads -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Shares:
    """A constructor whose number of parts does not divide all of the sizes."""

    site: Site
    name: str
    argument: str
    parts: int
    sizes: tuple[int, ...]


def _other_parts(found: _Shares) -> Repairs:
    common = gcd(*found.sizes)
    near = sorted((d for d in range(1, common + 1) if common % d == 0), key=lambda d: (abs(d - found.parts), -d))
    for place, parts in enumerate(near[:2]):
        edit = SetArgument(
            found.site, found.argument, str(parts), network_facts.argument_position(found.name, found.argument)
        )
        yield f"Set {found.argument} to {parts}", (edit,), 0.7 - 0.2 * place
    yield Decline("the sizes have no common divisor")


def _shares(subject: Subject) -> _Shares | None:
    refused = crashes.refused_constructor(subject)
    if refused is not None and refused.site is not None:
        node = subject.node(refused.site)
        return _shares_written(subject, refused.name, node) if isinstance(node, ast.Call) else None
    call = subject.crash.call if subject.crash is not None else None
    if call is None or call.made_at is None or not call.inputs or not call.inputs[0].shape:
        return None
    return _shares_received(call, call.made_at)


ASKED: dict[str, tuple[str, tuple[str, ...]]] = {
    "MultiheadAttention": ("num_heads", ("embed_dim",)),
    "GroupNorm": ("num_groups", ("num_channels",)),
    **{
        f"{kind}{n}d": ("groups", ("in_channels", "out_channels"))
        for kind in ("Conv", "ConvTranspose")
        for n in (1, 2, 3)
    },
    **{f"Transformer{kind}Layer": ("nhead", ("d_model",)) for kind in ("Encoder", "Decoder")},
}
"""Layers of torch that divide sizes: the parameter for the number of parts, and those for the sizes."""


def _shares_written(subject: Subject, name: str, node: ast.Call) -> _Shares | None:
    parts_name, size_names = ASKED.get(short(name), ("", ()))
    parts = _number_of(subject, call_arguments.argument(subject, node, name, parts_name)) if parts_name else None
    sizes = [_number_of(subject, call_arguments.argument(subject, node, name, one)) for one in size_names]
    numbers = tuple(size for size in sizes if size is not None)
    if not parts or parts < 1 or not numbers or len(numbers) != len(sizes) or min(numbers) < 1:
        return None
    site = subject.source.site(node)
    return _Shares(site, name, parts_name, parts, numbers) if any(size % parts for size in numbers) else None


def _number_of(subject: Subject, given: ast.expr | None) -> int | None:
    if given is None or arithmetic.number(given) is not None:
        return arithmetic.number(given)
    bound = subject.source.bindings(given, given)
    return arithmetic.number(bound[0]) if len(bound) == 1 else None


def _shares_received(call: Call | Component, site: Site) -> _Shares | None:
    """A Keras layer whose groups do not divide the channels it receives."""
    shape = call.inputs[0].shape if isinstance(call, Call) and call.inputs else None
    parts = call.args.get("groups")
    if not shape or not isinstance(parts, int) or parts < 2 or not call.name.startswith("keras."):
        return None
    channels, filters = shape[-1], call.args.get("filters")
    sizes = tuple(size for size in (channels, filters) if isinstance(size, int))
    return _Shares(site, call.name, "groups", parts, sizes) if any(size % parts for size in sizes) else None


# --- weights that a TensorFlow program creates ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Weight:
    """The list that states a weight's shape, its sizes, the axis that needs `wanted`, and the outputs, if known."""

    stated: ast.List | ast.Tuple
    sizes: tuple[int, ...]
    axis: int
    wanted: int
    gives: int | None


def _other_weight(subject: Subject, fault: _Weight) -> Repairs:
    texts = [subject.source.segment(subject.source.site(one)) for one in fault.stated.elts]
    orders = list(_orders(fault, texts))
    for order in orders[:2]:
        edits = tuple(
            Replace(subject.source.site(one), texts[place])
            for one, place in zip(fault.stated.elts, order, strict=True)
            if texts[place] != subject.source.segment(subject.source.site(one))
        )
        yield f"Order the sizes as ({', '.join(texts[place] for place in order)})", edits, 0.9
    if not orders:
        one = fault.stated.elts[fault.axis]
        yield (
            f"Set the input size of the weight to {fault.wanted}",
            (Replace(subject.source.site(one), str(fault.wanted)),),
            0.8,
        )


def _weight(subject: Subject, node: ast.expr | ast.stmt) -> _Weight | None:
    gives: int | None = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        added = held_values.shape_of(subject, node.right)
        gives = added[-1] if added is not None and len(added) == 1 else None
        if gives is None:
            return None
        node = node.left
    used = _use(subject, node)
    if used is None:
        return None
    given, weight, spatial = used
    came, shape = held_values.shape_of(subject, given), held_values.shape_of(subject, weight)
    if came is None or shape is None or not came or came[-1] is None or None in shape or len(shape) < 2:
        return None
    sizes = tuple(size for size in shape if size is not None)
    if spatial is not None and len(sizes) != spatial + 2:
        return None
    axis = len(sizes) - 2
    grouped = spatial != 0 and _in_groups(came[-1], sizes[axis], sizes[-1])
    if (sizes[-1] == gives) if gives is not None else (sizes[axis] == came[-1] or grouped):
        return None
    stated = _listed(subject, weight, sizes)
    if stated is None:
        return None
    gives = gives if gives is not None else _added(subject, node)
    found = _Weight(stated, sizes, axis, came[-1], gives)
    meets = sizes[axis] == came[-1]
    return None if meets and not any(_orders(found, [ast.unparse(one) for one in stated.elts])) else found


def _in_groups(channels: int, taken: int, filters: int) -> bool:
    """Whether the convolution is grouped: the groups divide both channels and filters."""
    return taken > 0 and channels % taken == 0 and filters % (channels // taken) == 0


def _use(subject: Subject, node: ast.expr | ast.stmt) -> tuple[ast.expr, ast.expr, int | None] | None:
    """The input of a weight, the weight, and its number of spatial axes (0 for a product)."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left, node.right, 0
    if not isinstance(node, ast.Call):
        return None
    name = subject.source.qualified(node.func) or ""
    if name in PRODUCTS and len(node.args) == 2 and not node.keywords:
        return node.args[0], node.args[1], 0
    if name not in CONVOLUTIONS:
        return None
    given: list[ast.expr | None] = list(node.args[:2])
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    if "data_format" in named:
        return None
    first = given[0] if given else named.get("input")
    second = given[1] if len(given) > 1 else named.get("filters", named.get("filter"))
    return (first, second, CONVOLUTIONS[name]) if first is not None and second is not None else None


def _listed(subject: Subject, weight: ast.expr, sizes: tuple[int, ...]) -> ast.List | ast.Tuple | None:
    """The list of these sizes in the expression that created a variable."""
    for made in origins.origins(subject, weight):
        name = subject.source.qualified(made.func) or "" if isinstance(made, ast.Call) else ""
        if not name.startswith("tensorflow.") or name.rpartition(".")[2] not in ("Variable", "get_variable"):
            continue
        lists = [
            one for one in ast.walk(made) if isinstance(one, (ast.List, ast.Tuple)) and _states(subject, one, sizes)
        ]
        return lists[0] if len(lists) == 1 and isinstance(lists[0], (ast.List, ast.Tuple)) else None
    return None


def _states(subject: Subject, listed: ast.List | ast.Tuple, sizes: tuple[int, ...]) -> bool:
    """Whether a list has as many elements as there are sizes, and none is known to differ."""
    if len(listed.elts) != len(sizes):
        return False
    known = [held_values.size_of(subject, one) for one in listed.elts]
    return all(one in (None, size) for one, size in zip(known, sizes, strict=True))


def _added(subject: Subject, node: ast.expr | ast.stmt) -> int | None:
    """The size of the bias added to the result: the number of outputs."""
    around = subject.source.parent(node)
    if not isinstance(around, ast.BinOp) or not isinstance(around.op, ast.Add):
        return None
    shape = held_values.shape_of(subject, around.right if around.left is node else around.left)
    return shape[-1] if shape is not None and len(shape) == 1 else None


def _orders(fault: _Weight, texts: list[str]) -> Iterator[tuple[int, ...]]:
    """The orders of the sizes in which the weight fits, the likeliest first."""
    places = range(len(texts))
    fits = []
    for order in permutations(places):
        last = fault.sizes[order[-1]]
        if fault.sizes[order[fault.axis]] != fault.wanted or (fault.gives is not None and last != fault.gives):
            continue
        if fault.gives is None and order[fault.axis] != len(places) - 1 and any(text.isdigit() for text in texts):
            continue  # the side of a window that happens to equal the number of channels
        named = any(word in texts[order[-1]].lower() for word in LATER)
        moved = sum(place != now for place, now in zip(order, places, strict=True))
        fits.append(((not named, moved, order), order))
    found: set[tuple[str, ...]] = set()
    for _, order in sorted(fits):
        written = tuple(texts[place] for place in order)
        if written not in found:
            found.add(written)
            yield order
