"""A tensor or array is reshaped to sizes that do not fit it, or that mix samples in a row."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt, prod

from dnnfix.api import (
    Call,
    Component,
    Decline,
    Edit,
    Family,
    Fault,
    FixPattern,
    Json,
    Network,
    Repairs,
    Replace,
    ShapeTemplate,
    Subject,
    arithmetic,
    call_arguments,
    crashes,
    flattening,
    held_values,
    layer_facts,
    recipes,
    size_edits,
    tensor_shapes,
)

REFUSED = (
    re.compile(r"cannot reshape array of size (\d+) into shape"),
    re.compile(r"Input to reshape is a tensor with (\d+) values, but the requested shape"),
)
"""The messages of NumPy and TensorFlow, with the number of values of the array."""

CHANNELS = (1, 3, 4)
"""Usual numbers of channels: grayscale, RGB, RGBA."""

FUNCTIONS = frozenset({"numpy.reshape", "tensorflow.reshape"})

MOST_OFF = 16
"""How many times larger than the stated size the input may be; beyond that, a layer before it is probably missing."""

Change = tuple[tuple[int, str], ...]
"""Indices in the shape and the new sizes."""


class ReshapeSizeMismatch(ShapeTemplate):
    """A tensor or array is reshaped to sizes that do not fit its values, or that mix the values of samples in a row.

    The last batch of a loader is often smaller, and a convolution with a stride returns a smaller image: a view with
    the configured batch size, or the sizes of the input, does not fit. `x_test.reshape(x_train.shape[0], 28, 28, 1)`
    has the rows of another array, `reshape(-1, 28, 28, 3)` the channels of other images, `tf.reshape(h, [-1, 7 * 7 *
    64])` the features of another image size. And `x.view(-1, n)`, where a sample does not have `n` values, returns rows
    that are parts of samples or span two of them. One size is changed so that every sample keeps its values; if several
    could be, nothing is proposed. If an image is flattened to a literal size (`x.view(-1, 16 * 5 * 5)`) and the linear
    layer after it states the same number, both change together.

    Fix safety: unsafe. The program did not run before; the rows are the samples, and the linear layer may get another
    number of weights.

    References: torch.Tensor.view, torch.Tensor.size, torch.flatten (`start_dim`), torch.utils.data.DataLoader
    (`drop_last`), numpy.reshape, tf.reshape, torch.nn.Linear (`in_features`), keras.layers.Reshape.
    """

    code = "DNF145"
    name = "reshape-size-mismatch"
    formerly = (
        "reshaped-to-foreign-sizes",
        "DNF113",
        "view-of-stale-sizes",
        "DNF128",
        "view-cuts-samples",
        "DNF207",
        "flattened-size-wrong",
    )
    message = "cannot reshape to these sizes: {what}"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION

    def explain(self, subject: Subject) -> Iterator[Fault]:
        stale = next(_own_sizes(subject), None)
        if stale is not None:
            what = f"a view as {stale.asked} does not fit a tensor of shape {tensor_shapes.by(stale.shape)}"
            evidence: dict[str, Json] = {"asked": list(stale.asked), "shape": list(stale.shape)}
            yield Fault(
                subject.source.site(stale.node),
                what,
                tuple(_with_own_sizes(subject)),
                evidence,
                confidence=0.85,
                reading="sizes",
            )
        cut = _cut(subject)
        if cut is not None:
            what = f"a view of {tensor_shapes.by(cut.shape)} as {cut.asked} does not keep the samples of {cut.taken} values apart"
            evidence = {"shape": list(cut.shape), "asked": list(cut.asked), "taken": cut.taken}
            yield Fault(
                subject.source.site(cut.node),
                what,
                tuple(_whole_samples(subject, cut)),
                evidence,
                confidence=0.95,
                reading="rows",
            )
        flat, target = _flattening(subject), _target_shape(subject)
        either = target or flat
        if either is not None:
            site, sizes = either.call.site or either.call.made_at, tensor_shapes.by(either.sizes)
            ways = _reshaped(subject, target) if target is not None else _flattened(subject, either)
            evidence = {"stated": either.stated, "sizes": list(either.sizes)}
            what = f"samples of {sizes} values are flattened to {either.stated}"
            yield Fault(site, what, tuple(ways), evidence, confidence=0.95, reading="flat", at_either_end=True)
        fault = _refused(subject)
        if fault is not None:
            what = f"an array of {tensor_shapes.by(fault.shape)} is reshaped to {fault.sizes}"
            evidence = {"shape": list(fault.shape), "sizes": list(fault.sizes)}
            yield Fault(
                subject.source.site(fault.node),
                what,
                tuple(_one_size(subject, fault)),
                evidence,
                confidence=0.95,
                reading="refused",
            )

    programs = """
=== example: the rows of another array
import numpy as np
import torch

train, test = np.random.rand(60, 16), np.random.rand(25, 16)
train = train.reshape(train.shape[0], 4, 4, 1)
- test = test.reshape(train.shape[0], 4, 4, 1)
+ test = test.reshape(test.shape[0], 4, 4, 1)
torch.from_numpy(test)

=== example: channels that grey images have not
import numpy as np
import torch

HEIGHT, WIDTH, CHANNELS = 8, 10, 3


def prepare(images):
-     return torch.from_numpy(np.reshape(images, (-1, HEIGHT, WIDTH, CHANNELS)))
+     return torch.from_numpy(np.reshape(images, (-1, HEIGHT, WIDTH, 1)))


prepare(np.zeros((5, 8, 10)))

=== example: rows of larger square images
import numpy as np
import torch

pixels = np.random.rand(7, 3072)
- images = pixels.reshape((len(pixels), 28, 28, 3))
+ images = pixels.reshape((len(pixels), 32, 32, 3))
x = torch.from_numpy(images)

=== example: the flattened size of another image
import tensorflow as tf

h = tf.zeros([6, 5, 5, 8])
w = tf.Variable(tf.ones([200, 3]))
- flat = tf.reshape(h, [-1, 7 * 7 * 8])
+ flat = tf.reshape(h, [-1, 200])
print(tf.matmul(flat, w))

=== example: a batch size written into forward
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.fc = nn.Linear(72, 3)

    def forward(self, x):
        x = torch.relu(self.conv(x))
-         x = x.view(8, 72)
+         x = x.view(x.size(0), 72)
        return self.fc(x)


print(Net()(torch.rand(5, 1, 8, 8)).shape)

=== example: a batch size in a view of the output of a layer
import torch
import torch.nn as nn

size, conv, fc = 32, nn.Conv2d(1, 2, 3), nn.Linear(72, 3)
for images in torch.rand(40, 1, 8, 8).split(size):
-     scores = fc(torch.relu(conv(images)).view(size, 72))
+     scores = fc(torch.relu(conv(images)).view(-1, 72))

=== example: a factor of the size is missing
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(4 * 6 * 6, 10)

    def forward(self, x):
        x = F.relu(self.conv(x))
-         x = x.view(-1, 4 * 6)
+         x = x.view(-1, 4 * 6 * 6)
        return self.fc(x)


Net()(torch.rand(5, 1, 8, 8))

=== example: as many rows as channels
import torch
from torch import nn

conv, fc = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(256, 10)
features = torch.relu(conv(torch.rand(5, 3, 8, 8)))
- rows = features.view(features.size(1), -1)
+ rows = features.view(features.size(0), -1)
scores = fc(torch.dropout(rows, 0.5, True))

=== example: all samples in one row
import torch


class Flat(torch.nn.Module):
    def __init__(self, side):
        super().__init__()
        self.fc = torch.nn.Linear(side * side, 2)

    def forward(self, images):
-         return self.fc(images.reshape(1, -1))
+         return self.fc(images.reshape(images.size(0), -1))


Flat(6)(torch.rand(5, 6, 6))

=== example: size that divides the batch by accident
import torch
import torch.nn as nn

conv = nn.Conv2d(3, 16, 3)
- fc = nn.Linear(288, 10)
+ fc = nn.Linear(576, 10)
x, y = torch.randn(8, 3, 8, 8), torch.randint(0, 10, (8,))
- h = torch.relu(conv(x)).view(-1, 288)
+ h = torch.relu(conv(x)).view(-1, 576)
loss = nn.CrossEntropyLoss()(fc(h), y)

=== example: reshape in a model with a dropout before the linear layer
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(2, 8, 3), nn.MaxPool1d(2))
-         self.classifier = nn.Sequential(nn.Dropout(0.1), nn.Linear(8 * 10, classes))
+         self.classifier = nn.Sequential(nn.Dropout(0.1), nn.Linear(8 * 9, classes))

    def forward(self, signal):
        signal = self.features(signal)
-         signal = signal.reshape(-1, 80)
+         signal = signal.reshape(signal.size(0), -1)
        return self.classifier(signal)


Net()(torch.randn(5, 2, 20))

=== example: Keras Reshape to another number of values
import keras
from keras import layers

model = keras.Sequential([
    keras.Input((12,)),
-     layers.Reshape((5, 3)),
+     layers.Reshape((4, 3)),
    layers.Conv1D(2, 2),
])

=== reject: reshapes that hold
import numpy as np
import torch

x = np.zeros((6, 28, 28))
torch.from_numpy(x.reshape(6, 784)), torch.from_numpy(np.reshape(x, (-1, 28, 28, 1)))

=== reject: an array of unknown making
import numpy as np
import torch

torch.from_numpy(np.array([row for row in range(10)]).reshape(3, 4))

=== reject: another number of features
import torch

x = torch.rand(4, 6).view(4, 7)

=== reject: a view that fits
import torch

x = torch.rand(4, 6).view(2, 12)

=== reject: rows that are samples, and steps that are rows
import torch
from torch import nn

x = torch.rand(5, 6, 4)
nn.Linear(24, 2)(x.view(-1, 24))
nn.Linear(4, 2)(x.view(-1, 4))

=== reject: a layer of another size
import torch

torch.nn.Linear(25, 2)(torch.rand(5, 6, 4).view(5, -1))

=== reject: a view that fits the image
import torch
import torch.nn as nn

h = nn.Conv2d(3, 16, 3)(torch.randn(8, 3, 8, 8)).view(-1, 16 * 6 * 6)
nn.CrossEntropyLoss()(nn.Linear(576, 10)(h), torch.randint(0, 10, (8,)))

=== reject: sequences whose steps become rows on purpose
import torch
import torch.nn as nn

out = nn.Linear(6, 5)(torch.randn(4, 7, 6))
nn.CrossEntropyLoss()(out.view(-1, 5), torch.randint(0, 5, (28,)))
"""


# --- a view that fails


@dataclass(frozen=True, slots=True)
class _Stale:
    """A view that failed, and its tensor; `places` pairs the index of an argument with the axis whose size fits."""

    node: ast.Call
    base: ast.expr
    arguments: tuple[ast.expr, ...]
    shape: tuple[int, ...]
    asked: tuple[int, ...]
    places: tuple[tuple[int, int], ...]


def _own_sizes(subject: Subject) -> Iterator[_Stale]:
    """Ways in which sizes of the tensor itself make the view fit: its first size, or its last ones."""
    call = subject.crash.call if subject.crash is not None else None
    if call is None or call.name not in flattening.VIEWS or not call.inputs:
        return
    shape, node = tensor_shapes.known(call.inputs[0].shape), subject.call_node(call)
    asked = _numbers(call.args.get("size") or call.args.get("shape"))
    if shape is None or not shape or asked is None or node is None or not isinstance(node.func, ast.Attribute):
        return
    arguments = tuple(node.args)
    if len(arguments) == 1 and isinstance(arguments[0], (ast.Tuple, ast.List)):
        arguments = tuple(arguments[0].elts)
    base = node.func.value
    if len(arguments) != len(asked) or any(isinstance(one, ast.Starred) for one in arguments):
        return
    named = isinstance(base, (ast.Name, ast.Attribute))
    if len(asked) < 2:
        return
    ways: list[tuple[tuple[int, int], ...]] = [((0, 0),)]
    for count in (1, 2, 3):
        if count < min(len(asked), len(shape)):
            ways.append(tuple((len(asked) - back, len(shape) - back) for back in range(count, 0, -1)))
    for way in ways:
        places = tuple((place, axis) for place, axis in way if asked[place] != shape[axis])
        right = list(asked)
        for place, axis in places:
            right[place] = shape[axis]
        if not named and (places != ((0, 0),) or asked[1:] != (-1,) and -1 in asked):
            continue
        if places and -1 not in (asked[place] for place, _ in places) and _fits(right, prod(shape)):
            yield _Stale(node, base, arguments, shape, asked, places)


def _with_own_sizes(subject: Subject) -> Repairs:
    for prior, stale in zip((0.85, 0.7), _own_sizes(subject), strict=False):
        if not isinstance(stale.base, (ast.Name, ast.Attribute)):
            title, edit = _unnamed(subject, stale)
            yield title, (edit,), prior
            continue
        name = subject.text(subject.source.site(stale.base))
        edits = tuple(
            Replace(
                subject.source.site(stale.arguments[place]),
                f"{name}.size({axis if axis == 0 else axis - len(stale.shape)})",
            )
            for place, axis in stale.places
        )
        yield "Use the sizes of the tensor", edits, prior


def _unnamed(subject: Subject, stale: _Stale) -> tuple[str, Edit]:
    """The repair for a tensor that is not bound to a name whose size could be read."""
    if stale.asked[1:] == (-1,):
        base = subject.text(subject.source.site(stale.base))
        return "Flatten each sample", Replace(subject.source.site(stale.node), f"{base}.flatten(1)")
    return "Let view infer the size (-1)", Replace(subject.source.site(stale.arguments[0]), "-1")


def _fits(sizes: list[int], numbers: int) -> bool:
    rest = prod(size for size in sizes if size != -1)
    if -1 not in sizes:
        return rest == numbers
    return rest > 0 and numbers % rest == 0


def _numbers(value: object) -> tuple[int, ...] | None:
    if isinstance(value, (list, tuple)) and all(isinstance(one, int) and not isinstance(one, bool) for one in value):
        return tuple(value)
    return None


# --- rows that mix samples


@dataclass(frozen=True, slots=True)
class _Cut:
    """A view to rows of another size than that of a sample, which the linear layer after it expects."""

    linear: Call
    node: ast.Call
    base: ast.expr
    sizes: tuple[ast.expr, ast.expr]
    asked: tuple[int, int]
    shape: tuple[int, ...]
    taken: int


def _cut(subject: Subject) -> _Cut | None:
    conflict = crashes.size_conflict(subject)
    if conflict is None or conflict.facts.kind != "linear" or len(conflict.value.shape or ()) != 2:
        return None
    view = subject.network.producer(conflict.value)
    while view is not None and view.name not in flattening.VIEWS and tensor_shapes.keeps_shape(view):
        view = subject.network.producer(view.inputs[0])
    node = subject.call_node(view) if view is not None and view.name in flattening.VIEWS and view.inputs else None
    if view is None or node is None or not isinstance(node.func, ast.Attribute):
        return None
    shape, given = tensor_shapes.known(view.inputs[0].shape), view.args.get("size", view.args.get("shape"))
    asked = tuple(one for one in given if isinstance(one, int)) if isinstance(given, (list, tuple)) else ()
    sizes = node.args[0].elts if len(node.args) == 1 and isinstance(node.args[0], (ast.Tuple, ast.List)) else node.args
    if shape is None or len(asked) != 2 or len(sizes) != 2 or len(shape) < 3 or prod(shape[1:]) != conflict.stated:
        return None
    rows = (view.outputs[0].shape or (None,))[0] if view.outputs else None
    if rows == shape[0]:
        return None
    pair = (sizes[0], sizes[1])
    return _Cut(conflict.call, node, node.func.value, pair, (asked[0], asked[1]), shape, conflict.stated)


def _whole_samples(subject: Subject, found: _Cut) -> Repairs:
    rows, values = found.sizes
    if found.asked[1] == -1:
        yield "Flatten each sample to a row", (_of_first_axis(subject, found, rows),), 0.9
    elif found.asked[0] == -1:
        text = _stated(subject, found)
        yield f"Make rows of {text} values", (Replace(subject.source.site(values), text),), 0.9
    else:
        yield Decline("the sizes of the view are not known from the source")


def _of_first_axis(subject: Subject, found: _Cut, rows: ast.expr) -> Edit:
    """The edit that sets the number of rows to the number of samples."""
    match rows:
        case ast.Call(func=ast.Attribute(value=thing, attr="size"), args=[axis]) if _same(thing, found.base):
            return Replace(subject.source.site(axis), "0")
        case ast.Subscript(value=ast.Attribute(value=thing, attr="shape"), slice=axis) if _same(thing, found.base):
            return Replace(subject.source.site(axis), "0")
    if isinstance(found.base, (ast.Name, ast.Attribute)):
        return Replace(subject.source.site(rows), f"{subject.text(subject.source.site(found.base))}.size(0)")
    base = subject.text(subject.source.site(found.base))
    return Replace(subject.source.site(found.node), f"{base}.flatten(1)")


def _same(one: ast.expr, other: ast.expr) -> bool:
    return ast.dump(one) == ast.dump(other)


def _stated(subject: Subject, found: _Cut) -> str:
    """The number of values of a sample, as the layer states it if that is a literal."""
    constructor = subject.constructor_node(found.linear)
    given = (
        call_arguments.argument(subject, constructor, found.linear.name, "in_features")
        if constructor is not None
        else None
    )
    return (
        subject.text(subject.source.site(given))
        if given is not None and arithmetic.number(given) is not None
        else str(found.taken)
    )


# --- an array whose reshape NumPy or TensorFlow refuses


@dataclass(frozen=True, slots=True)
class _Reshape:
    """A reshape that failed: the array, its shape, and the new sizes as written and as numbers."""

    node: ast.Call
    array: ast.expr
    shape: tuple[int, ...]
    stated: tuple[ast.expr, ...]
    sizes: tuple[int, ...]


def _refused(subject: Subject) -> _Reshape | None:
    crash = subject.crash
    said = next(filter(None, (one.search(crash.message) for one in REFUSED)), None) if crash is not None else None
    node = subject.node(crash.site) if crash is not None and said is not None else None
    fault = _read(subject, node) if isinstance(node, ast.Call) else None
    return fault if fault is not None and said is not None and prod(fault.shape) == int(said[1]) else None


def _one_size(subject: Subject, fault: _Reshape) -> Repairs:
    rows = _rows(subject, fault)
    changes = [rows] if rows else list(_sizes(fault))
    colours = [change for change in changes if _is_channels(fault, change)]
    changes = colours if len(colours) == 1 else changes
    if len(changes) != 1:
        yield Decline("several sizes, or none, could be changed to fit the array")
        return
    edits = tuple(Replace(subject.source.site(fault.stated[place]), text) for place, text in changes[0])
    yield f"Reshape with {' and '.join(text for _, text in changes[0])}", edits, 0.9


def _read(subject: Subject, node: ast.Call) -> _Reshape | None:
    if subject.source.qualified(node.func) in FUNCTIONS:
        given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg in ("shape", "newshape"))]
        array, stated = (given[0], given[1:]) if given else (None, [])
    elif isinstance(node.func, ast.Attribute) and node.func.attr == "reshape" and not node.keywords:
        array, stated = node.func.value, list(node.args)
    else:
        return None
    if len(stated) == 1 and isinstance(stated[0], (ast.Tuple, ast.List)):
        stated = stated[0].elts
    shape = tensor_shapes.known(held_values.shape_of(subject, array)) if array is not None else None
    sizes = [held_values.size_of(subject, one) for one in stated]
    if array is None or not shape or not stated or None in sizes or sizes.count(-1) > 1:
        return None
    return _Reshape(node, array, shape, tuple(stated), tuple(size for size in sizes if size is not None))


def _rows(subject: Subject, fault: _Reshape) -> Change:
    """The number of the array's own rows instead of that of another array, if nothing else is wrong."""
    if fault.sizes[0] < 0 or fault.sizes[0] == fault.shape[0] or prod(fault.sizes[1:]) != prod(fault.shape[1:]):
        return ()
    own, first = subject.source.segment(subject.source.site(fault.array)), fault.stated[0]
    if not isinstance(fault.array, ast.Name):
        return ((0, "-1"),)
    match first:
        case ast.Subscript(value=ast.Attribute(attr="shape", value=ast.Name())):
            return ((0, f"{own}.shape[0]"),)
        case ast.Call(func=ast.Name(id="len")):
            return ((0, f"len({own})"),)
    return ((0, "-1"),)


def _is_channels(fault: _Reshape, change: Change) -> bool:
    """Whether the change replaces one number of channels by another at the end of an image shape."""
    place, text = change[0]
    last = len(fault.sizes) - 1
    return len(change) == 1 and place == last >= 3 and fault.sizes[last] in CHANNELS and int(text) in CHANNELS


def _sizes(fault: _Reshape) -> Iterator[Change]:
    """Changes of one size, or of two equal adjacent ones, with which each sample keeps its values."""
    if fault.sizes[0] not in (-1, fault.shape[0]) or -1 in fault.sizes[1:]:
        return
    values, sizes = prod(fault.shape[1:]), fault.sizes
    for place in range(1, len(sizes)):
        others = prod(sizes[1:place]) * prod(sizes[place + 1 :])
        if others and values % others == 0 and values // others != sizes[place]:
            yield ((place, str(values // others)),)
    for place in range(1, len(sizes) - 1):
        others = prod(sizes[1:place]) * prod(sizes[place + 2 :])
        side = isqrt(values // others) if others else 0
        if side > 1 and sizes[place] == sizes[place + 1] != side and side * side * others == values:
            yield ((place, str(side)), (place + 1, str(side)))


# --- a size that the linear layer after it states too


@dataclass(frozen=True, slots=True)
class _Flattening:
    """A call that flattens samples of these sizes to rows of `stated` values."""

    call: Call
    stated: int
    sizes: tuple[int, ...]


def _flattened(subject: Subject, found: _Flattening) -> Repairs:
    yield Decline("the flattening is not written as `view(batch, size)`")
    node, linear = subject.call_node(found.call), _linear_behind(subject, found)
    if node is None or len(node.args) != 2 or not isinstance(node.func, ast.Attribute):
        return
    wanted = prod(found.sizes)
    changes = (
        size_edits.size_changes(subject, linear, "in_features", wanted, factors=found.sizes)
        if linear is not None
        else []
    )
    if linear is not None and not changes:
        yield Decline("the size of the linear layer after it is not written in one expression")
        return
    layer = changes[0].edits if changes else ()
    together = f" and make the linear layer expect {changes[0].written}" if changes else ""
    rows, values = map(subject.source.site, node.args)
    if arithmetic.number(node.args[1]) is not None:
        written = size_edits.spelled(subject, node.args[1], wanted, found.sizes)
        yield f"Flatten to {written}{together}", (Replace(values, written), *layer), 0.9
    owner = subject.text(subject.source.site(node.func.value))
    if owner.isidentifier():
        edits = (Replace(rows, f"{owner}.size(0)"), Replace(values, "-1"), *layer)
        yield f"Flatten each sample to a row{together}", edits, 0.7


def _reshaped(subject: Subject, found: _Flattening) -> Repairs:
    """A Keras `Reshape`, with one size of its target changed so that the number of values fits."""
    yield Decline("no single size makes the shapes hold the same number of values")
    given = found.call.args.get("target_shape")
    target = [size for size in given if isinstance(size, int)] if isinstance(given, (list, tuple)) else []
    total = prod(found.sizes)
    for place, size in enumerate(target):
        others = prod(target) // size if size else 0
        if others and total % others == 0:
            shape = [*target[:place], total // others, *target[place + 1 :]]
            written = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
            edits = recipes.set_constructor_argument(subject, found.call, "target_shape", written)
            yield f"Reshape to {written}", edits, 0.2 if total // others > MOST_OFF * size else 0.6


def _flattening(subject: Subject) -> _Flattening | None:
    crash = subject.crash
    if crash is None or crash.call is None:
        return None
    if crash.call.name in flattening.VIEWS:
        return _of_view(crash.call)
    conflict = crashes.loss_conflict(subject)
    if conflict is None or not conflict.prediction.shape or not conflict.target.shape:
        return None
    if conflict.prediction.shape[0] == conflict.target.shape[0]:
        return None
    for call in reversed(subject.network.calls):
        shape = call.inputs[0].shape if call.name in flattening.VIEWS and call.inputs else None
        if shape and shape[0] == conflict.target.shape[0] and call.outputs and call.outputs[0].shape:
            read = _of_view(call)
            if read is not None and call.outputs[0].shape[0] == conflict.prediction.shape[0]:
                return read
    return None


def _of_view(call: Call) -> _Flattening | None:
    found = flattening.stated_rows(call)
    if found is None:
        return None
    stated, sizes = found
    plain = len(sizes) < 2 or stated in (prod(sizes), sizes[-1])
    return None if plain else _Flattening(call, stated, sizes)


def _target_shape(subject: Subject) -> _Flattening | None:
    call = subject.crash.call if subject.crash is not None else None
    if call is None or call.name != "keras.layers.Reshape" or not call.inputs or call.made_at is None:
        return None
    sizes, given = tensor_shapes.known((call.inputs[0].shape or ())[1:]), call.args.get("target_shape")
    numbers = [size for size in given if isinstance(size, int)] if isinstance(given, (list, tuple)) else []
    return _Flattening(call, prod(numbers), sizes) if sizes and numbers and prod(sizes) != prod(numbers) else None


def _linear_behind(subject: Subject, found: _Flattening) -> Component | None:
    """The linear layer that the rows go into, and that states the same size."""
    for network in (subject.network, subject.source_network):
        start = next(
            (call for call in network.calls if call.site == found.call.site and call.name == found.call.name), None
        )
        if start is None or not start.outputs:
            continue
        linear = _next_linear(network, start)
        for component in subject.network.components if linear is not None else ():
            same = linear is not None and component.site == linear.made_at
            if same and component.args.get("in_features") == found.stated:
                return component
    made = [one for one in subject.network.components if one.args.get("in_features") == found.stated]
    return made[0] if len(made) == 1 else None


def _next_linear(network: Network, call: Call) -> Call | None:
    for _ in range(8):
        users = network.users(call.outputs[0]) if call.outputs else ()
        if len(users) != 1:
            return None
        call = users[0]
        facts = layer_facts(call)
        if facts is not None and facts.kind == "linear":
            return call
    return None
