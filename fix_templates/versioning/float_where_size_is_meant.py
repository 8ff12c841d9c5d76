"""`nn.Linear(n / 2, 10)`, `Dense(np.max(y) + 1)`: a float or a number of NumPy where only integers of Python are taken."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    ApiChange,
    Edit,
    Hit,
    Replace,
    Site,
    Source,
    Subject,
    Wrap,
    origins,
    uses_of,
    words,
)

_LEADING = {
    "torch.nn": {
        1: "BatchNorm1d BatchNorm2d BatchNorm3d",
        2: "Linear Embedding LSTMCell GRUCell GroupNorm",
        3: "LSTM GRU RNN MaxPool1d MaxPool2d AvgPool2d",
        5: "Conv1d Conv2d Conv3d",
        6: "ConvTranspose1d ConvTranspose2d ConvTranspose3d",
    },
    "keras.layers": {
        1: """
            Dense LSTM GRU SimpleRNN LSTMCell GRUCell SimpleRNNCell ZeroPadding1D ZeroPadding2D ZeroPadding3D
            Cropping1D Cropping2D Cropping3D UpSampling1D UpSampling2D UpSampling3D RepeatVector Reshape Input
        """,
        2: """
            MaxPooling1D MaxPooling2D MaxPooling3D AveragePooling1D AveragePooling2D AveragePooling3D
            DepthwiseConv1D DepthwiseConv2D MultiHeadAttention Embedding
        """,
        3: """
            Conv1D Conv2D Conv3D Convolution1D Convolution2D Convolution3D SeparableConv1D SeparableConv2D
            SeparableConv3D SeparableConvolution1D SeparableConvolution2D SeparableConvolution3D ConvLSTM1D
            ConvLSTM2D ConvLSTM3D Conv1DTranspose Conv2DTranspose Conv3DTranspose
        """,
    },
    "keras": {1: "Input"},
    "torch": {9: "zeros ones randn rand empty"},
    "numpy": {1: "zeros ones empty full identity", 2: "eye"},
    "numpy.random": {9: "rand randn"},
    "tensorflow": {1: "zeros ones"},
    "random": {2: "randint", 3: "randrange"},
    "builtins": {3: "range"},
    "matplotlib.pyplot": {2: "subplots", 3: "subplot"},
}
LEADING = {
    f"{module}.{name}": count
    for module, counts in _LEADING.items()
    for count, names in counts.items()
    for name in names.split()
}
"""By function, how many of its first arguments are whole numbers."""

BEHIND = dict.fromkeys(
    words(
        """numpy.reshape numpy.tile numpy.resize tensorflow.reshape tensorflow.tile keras.backend.reshape keras.ops.reshape
        keras.backend.repeat_elements cv2.resize random.sample PIL.Image.new"""
    ),
    slice(1, 2),
) | {"itertools.islice": slice(1, 4)}
"""By function, which of its arguments are whole numbers or shapes, where the first is data that may well be divided."""

NAMED = words(
    """in_features out_features in_channels out_channels kernel_size stride padding num_features num_embeddings
    embedding_dim input_size hidden_size num_layers units filters input_dim output_dim num_heads key_dim shape
    input_shape target_shape depth_multiplier strides pool_size batch_size epochs"""
)
"""Keywords that take whole numbers in all of these."""

STEPS = frozenset({"steps_per_epoch", "validation_steps", "steps"})
"""Keywords of Keras that count batches; Keras 2 took fractions, and went on until they were reached."""

METHODS = frozenset({"view", "reshape", "repeat", "expand", "narrow"})
"""Methods of tensors that take whole numbers only."""

GRIDS = frozenset({"numpy.mgrid", "numpy.ogrid", "numpy.r_", "numpy.c_", "numpy.s_", "numpy.index_exp"})
LABELS = frozenset({"loc", "at", "xs"})
"""Objects and attributes that take slices of fractions too."""

COUNTED = frozenset(f"builtins.{name}" for name in ("abs", "int", "len", "max", "min", "round", "sum")) | {"numpy.prod"}
COUNTING = frozenset({"count", "dim", "item", "nelement", "numel", "size"})
"""Functions and methods that give plain numbers, and no arrays."""

SIZES = {
    "keras.layers.Dense": ("units",),
    "keras.layers.Embedding": ("input_dim", "output_dim"),
    "keras.layers.GRU": ("units",),
    "keras.layers.SimpleRNN": ("units",),
    "keras.layers.RepeatVector": ("n",),
    "keras.layers.MultiHeadAttention": ("num_heads", "key_dim", "value_dim"),
    **{f"keras.layers.Conv{n}D": ("", "kernel_size", "strides") for n in (1, 2, 3)},
    **{f"keras.layers.Conv{n}DTranspose": ("", "kernel_size", "strides") for n in (1, 2, 3)},
    **{f"keras.layers.SeparableConv{n}D": ("", "kernel_size", "strides") for n in (1, 2)},
    **{f"keras.layers.DepthwiseConv{n}D": ("kernel_size", "strides") for n in (1, 2)},
    **{f"keras.layers.{kind}Pooling{n}D": ("pool_size", "strides") for kind in ("Max", "Average") for n in (1, 2, 3)},
    **{f"keras.layers.UpSampling{n}D": ("size",) for n in (1, 2, 3)},
    **{f"keras.layers.ZeroPadding{n}D": ("padding",) for n in (1, 2, 3)},
    **{f"keras.layers.Cropping{n}D": ("cropping",) for n in (1, 2, 3)},
}
"""By layer, its first arguments, where the named ones have to be integers of Python (tried with Keras 3.15)."""

FORMER = {"units": "output_dim", "n": "n"}
"""By argument, what Keras 1 called it."""

REDUCING = frozenset({"max", "min", "sum", "prod", "argmax", "argmin"})
"""What gives one number of an array, as a function of NumPy and as a method."""

NUMBERS = REDUCING | {
    *("amax", "amin", "product", "ceil", "floor", "rint", "round", "around", "sqrt", "log2", "power", "count_nonzero"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "int_"),
}
"""Functions of NumPy whose result is a number of NumPy, where they are given numbers or no axis."""

FRACTIONS = frozenset({"round", "around", "sqrt", "log2", "power", "float32", "float64"})
"""Those of them that need not give a whole number, which the rest of the program may go on with."""

ENDS = {
    **{f"numpy.{name}": ("shape",) for name in ("zeros", "ones", "empty", "full")},
    **{f"numpy.{name}": ("N", "M") for name in ("eye", "identity")},
    "numpy.linspace": ("", "", "num"),
    "builtins.range": ("start", "stop", "step"),
}
"""By function, its first arguments, where the named ones are whole numbers or, of arrays, lists of them."""

ROUNDED = frozenset(f"numpy.{name}" for name in ("ceil", "fix", "floor", "rint", "trunc"))
"""What gives a whole number as a float."""

ONE = frozenset(("builtins.float", "builtins.int", "builtins.len"))
"""What gives one number, whatever it is given."""

REFUSED = re.compile(r"integer")
WHICH = re.compile(r"[Rr]eceived:? (\w+)=\d")
"""How it says which argument that was."""

RECEIVED = re.compile(
    r"[Rr]eceived:? (?:\w+=)?\d+(?:\.0)?(?![\d.(,])|got <class 'numpy|state_size must be|of type \w*int\d"
)
"""How Keras says that it was given a whole number that is no integer of Python."""


class FloatWhereSizeIsMeant(ApiChange):
    """`/` gives a float in Python 3, whatever it divides; layers, shapes and `range` take whole numbers.

    Seen where the division stands in the argument itself, among the bounds of a slice or in how often a list is repeated,
    or is what the only variable in it was assigned; after a crash also where the float came through lists, parameters and
    several assignments. The division becomes `//`, which gives what Python 2 gave.

    Keras 3 refuses `numpy.int64` and whole floats as sizes of most layers, which Keras 1 and 2 took. The maximum of the
    labels, a product of a shape, or a rounded number becomes an integer where it is made, or where it is given if that is
    not one plain assignment. Seen by reading where NumPy makes the number; after a crash whose message says so also where
    it came from elsewhere. NumPy's own functions take such integers, and have refused floats since 1.12: what `floor` and
    `ceil` give becomes an integer where it is given as the size of an array or the end of a range. A size that may be an
    array of sizes is left.

    Fix safety: safe where NumPy makes the number, of which only the type changes, and where the division is seen in the
    argument: the call fails with every float, and `//` of integers is what `/` was in Python 2. Unsafe where either was
    read from a crash, and where the quotient is a number of batches for Keras as well, which rounded it up.

    References: https://peps.python.org/pep-0238/, https://keras.io/api/layers/core_layers/dense/,
    https://numpy.org/doc/stable/reference/arrays.scalars.html.
    """

    code = "DNF514"
    name = "float-where-size-is-meant"
    message = "{expression} is a float in Python 3; an integer is expected"
    formerly = ("DNF573", "numpy-number-as-size")

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """Divisions whose result is given as a size."""
        near = list(self._near(subject))
        yield from near
        known = {hit.site for hit in near}
        yield from (hit for hit in _far(subject) if hit.site not in known)
        yield from _of_numpy(subject)

    def _near(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        divisions = list(uses_of(source).divisions()) if "/" in source.text else []
        assigned = _assigned(subject) if divisions else frozenset()
        seen: set[ast.AST] = set()
        for call in source.all_calls if divisions else ():
            given = (*call.args, *(keyword.value for keyword in call.keywords))
            if not any(_may_divide(argument, assigned) for argument in given):
                continue
            for argument in _sizes(subject, call):
                for division in _divisions(subject, argument):
                    if division not in seen:
                        seen.add(division)
                        yield _hit(subject, division, None)
        for part in _bounds(subject) if divisions else ():
            for division in _divisions(subject, part) if _may_divide(part, assigned) else ():
                if division not in seen:
                    seen.add(division)
                    yield _hit(subject, division, None)

    programs = """
=== example: the number of batches
import torch

data = torch.zeros(100, 3)
- batches = len(data) / 10  # ten at a time
+ batches = len(data) // 10  # ten at a time
for i in range(batches):
-     print(data[i * 10:(i + 1) * 10].view(10/2, -1).shape)
+     print(data[i * 10:(i + 1) * 10].view(10//2, -1).shape)

=== example: batches counted by the range of Python 2, slices and repeated lists
import numpy as np
import keras


def train(model, data, size=128):
-     count = data.shape[0] / size
-     half = size / 2
-     for _ in xrange(count):
-         labels = np.array([1] * half + [0] * (size / 2))
-         rows = np.zeros((size / 2, data.shape[1]))
+     count = data.shape[0] // size
+     half = size // 2
+     for _ in range(count):
+         labels = np.array([1] * half + [0] * (size // 2))
+         rows = np.zeros((size // 2, data.shape[1]))
        model.train_on_batch(np.concatenate([data[:half], rows]), labels)
-     return data[len(data) / 2 :]
+     return data[len(data) // 2 :]

=== example (runs): layers counted by a division, through a list and a parameter
from keras import Input, layers


def block(x, count):
    for _ in range(count):
        x = layers.Dense(4, activation="relu")(x)
    return x


def network(depth, blocks=2, narrow=False):
-     counts = (depth - 4)/3
+     counts = (depth - 4)//3
    if narrow:
-         counts = counts / 2
+         counts = counts // 2
    counts = [counts for _ in range(blocks)]
    x = inputs = Input((8,))
    for number in range(blocks):
        x = block(x, counts[number])
    return inputs, x


network(10)

=== example (runs): filters of a Keras convolution that its caller halves
from keras import layers, models


def unit(filters):
    return layers.Conv2D(filters, 3, padding="same", activation="relu")


width = 16
- model = models.Sequential([layers.Input((8, 8, 3)), unit(width), unit(filters=width / 2), layers.MaxPooling2D(2)])
+ model = models.Sequential([layers.Input((8, 8, 3)), unit(width), unit(filters=width // 2), layers.MaxPooling2D(2)])

=== example (runs): layers per block, in a list that is numbered
import torch
from torch import nn


def block(size, count):
    return nn.Sequential(*[nn.Linear(size, size) for _ in range(count)])


def network(size, depth, blocks=2):
-     counts = [(depth - 2) / blocks for _ in range(blocks)]
+     counts = [(depth - 2) // blocks for _ in range(blocks)]
    parts = []
    for number, count in enumerate(counts):
        parts.append(block(size, count))
        print(number)
    return nn.Sequential(*parts)


print(network(4, 6)(torch.ones(1, 4)))

=== example (runs): the hidden size that an object keeps
import torch
from torch import nn


class Coder(nn.Module):
    def __init__(self, size, ratio):
        super().__init__()
-         self.small = size / ratio if ratio > 1 else size
+         self.small = size // ratio if ratio > 1 else size
        self.layers = nn.ModuleList()
        for n in (size, self.small):
            self.layers.append(nn.Linear(size, n))


Coder(8, 2)

=== example: as many classes as labels
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

- classes = np.max(y) + 1
+ classes = int(np.max(y) + 1)
model = Sequential()
model.add(Dense(32, activation="relu"))
model.add(Dense(classes, activation="softmax"))

=== example: a method of an array, and a size where it is given
import numpy
from tensorflow.keras import layers


def network(x, words, shape):
-     x = layers.Embedding(input_dim=words.max() + 1, output_dim=8)(x)
-     x = layers.RepeatVector(numpy.prod(shape))(x)
-     return layers.UpSampling1D(numpy.int32(2))(x)
+     x = layers.Embedding(input_dim=int(words.max() + 1), output_dim=8)(x)
+     x = layers.RepeatVector(int(numpy.prod(shape)))(x)
+     return layers.UpSampling1D(int(numpy.int32(2)))(x)

=== example (runs): a number from elsewhere, after a crash
import keras
import numpy as np


def network(width):
-     return keras.Sequential([keras.Input((4,)), keras.layers.Dense(width)])
+     return keras.Sequential([keras.Input((4,)), keras.layers.Dense(int(width))])


for width in np.array([2, 3]):
    network(width)

=== example (runs): numbers of a table, as the sizes of two layers, after a crash at the first
import keras
import numpy as np


def network(users, items, width):
    x = keras.Input((2,))
-     u = keras.layers.Embedding(users, width)(x[:, 0])
-     i = keras.layers.Embedding(items, width)(x[:, 1])
+     u = keras.layers.Embedding(int(users), width)(x[:, 0])
+     i = keras.layers.Embedding(int(items), width)(x[:, 1])
    return keras.Model(x, keras.layers.Dot(1)([u, i]))


table = np.array([[0, 2], [3, 1]])
last = {"users": table[:, 0].max(), "items": table[:, 1].max()}
network(last["users"] + 1, last["items"] + 1, 4)

=== example: rounded numbers as sizes of arrays
import keras
import numpy as np

batches = np.floor(100 / 32)
- losses = np.zeros(batches)
- table = np.ones((np.ceil(7 / 2), 3))
- half = np.empty(np.ceil(table.shape[0] / 2))
+ losses = np.zeros(int(batches))
+ table = np.ones((int(np.ceil(7 / 2)), 3))
+ half = np.empty(int(np.ceil(table.shape[0] / 2)))
for start in range(int(batches)):
    losses[start] = start

=== reject (runs): a crash of another kind beside a division that is meant
import torch

scale = [1 / 2, 1 / 3]
images = torch.zeros(2, 3) * scale[0]
images.view(4, 2)

=== reject: floats that are meant
import torch
from torch import nn

drop = nn.Dropout(1 / 2)
norm = nn.BatchNorm1d(4, 1 / 1000)
scale = torch.ones(3) / 2
layer = nn.Linear(int(8 / 2), round(6 / 2))

=== reject: shares of a figure and of a range
import numpy as np
import keras

steps = np.arange(0, 1, 1 / 10)
wide = np.random.normal(0, 1 / 3, 10)
model = keras.Sequential([keras.layers.GaussianNoise(1 / 4)])
rows = [0.5] * (10 // 2)
mean = [1, 2][0] * (1 / 2)

=== reject (runs): arrays that are divided, and grids of fractions
import numpy as np
import torch

image = np.ones((4, 3))
gray = ([0.3, 0.6, 0.1] * (image / 255)).sum(axis=1)
scale = image / 255
twice = [2] * scale
order = np.random.permutation(image / 2)
classes = np.repeat([0, 1], len(image) / 2)
step = 1 / 4
points = np.mgrid[0:1:step, 0 : 1 : 1 / 2], np.r_[0 : 1 : 1 / 4]
print(torch.from_numpy(gray), twice.shape, order.shape)
for library in (np, torch):
    print(library.reshape(library.ones((2, 2)) / 2, (4,)))

=== reject: whole numbers and paths
from pathlib import Path
import torch

for i in range(10 // 2):
    print(torch.load(Path("a") / "b"))

=== reject: integers of Python
import numpy as np
from keras.layers import Dense, Embedding, LSTM

layer = Dense(int(np.max(y) + 1))
other = Dense(x.shape[1])
last = Dense(len(np.unique(y)))
words = Embedding(max(3, 4), 8)
recurrent = LSTM(np.int64(4))
units = 8
for _ in range(3):
    units = units * 2
wide = Dense(units)

=== reject (runs): a size that is wrong whatever its type
import keras

count = 0
layer = keras.layers.Dense(count)

=== reject: sizes that are, or may be, several
import keras
import numpy as np


def halves(picture, size, shape):
    shape = np.array(picture.shape[:2])
    first = np.zeros(np.ceil(shape / 2))
    second = np.ones(np.floor(size))
    third = np.empty(shape=np.floor(np.array([3.5, 4.5])) * 2)
    return first, second, third

=== reject: integers of NumPy, and floats that are data
import keras
import numpy as np

sizes = np.zeros(np.max([2, 3]))
filled = np.full(3, np.floor(2.5))
halves = np.linspace(np.floor(0.5), np.ceil(9.5), 5)
whole = np.zeros(np.floor(2.5).astype(int))

=== reject: layers of PyTorch take numbers of NumPy
import numpy as np
import torch

layer = torch.nn.Linear(4, np.max(np.array([1, 2])))
"""


def _hit(subject: Subject, division: ast.BinOp, felt: Site | None) -> Hit:
    site = subject.source.site(division)
    return Hit(
        site,
        FloatWhereSizeIsMeant.message.format(expression=subject.source.segment(site)),
        title="use integer division",
        edits=(_floored(subject, division),),
        safe=felt is None and not _counts_batches(subject.source, division),
        confidence=0.9 if felt is None else 0.8,
        felt=felt,
    )


def _counts_batches(source: Source, division: ast.BinOp) -> bool:
    """Whether what a division is assigned to is given to Keras as a number of batches too."""
    if source.words.isdisjoint(STEPS):
        return False
    for call in source.all_calls:
        for value in (k.value for k in call.keywords if k.arg in STEPS):
            bound = source.bindings(value) if isinstance(value, (ast.Name, ast.Attribute)) else ()
            if any(division is part for one in bound for part in ast.walk(one)):
                return True
    return False


def _far(subject: Subject) -> Iterator[Hit]:
    """The divisions behind the sizes of the call, or of the layer's constructor, in which the program crashed."""
    crash = subject.crash
    if crash is None or crash.kind not in ("TypeError", "ValueError"):
        return
    places = (crash.site, crash.call.made_at if crash.call is not None else None)
    for place in dict.fromkeys(places):
        node = subject.node(place)
        for argument in _sizes(subject, node) if isinstance(node, ast.Call) else ():
            for expr in origins(subject, argument):
                if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Div):
                    yield _hit(subject, expr, crash.site)


def _assigned(subject: Subject) -> frozenset[str]:
    """The variables and attributes that a division is assigned to."""
    found: set[str] = set()
    for statement in uses_of(subject.source).assignments():
        if isinstance(statement.value, ast.BinOp):
            for target in statement.targets:
                found.add(target.id if isinstance(target, ast.Name) else getattr(target, "attr", ""))
    return frozenset(found)


def _may_divide(argument: ast.expr, assigned: frozenset[str]) -> bool:
    """Whether an argument can have a division in it: a cheap look before names are resolved."""
    if isinstance(argument, ast.Name):
        return argument.id in assigned
    if isinstance(argument, ast.Attribute):
        return argument.attr in assigned
    if isinstance(argument, (ast.Tuple, ast.List)):
        return any(_may_divide(element, assigned) for element in argument.elts)
    return isinstance(argument, ast.BinOp)


def _sizes(subject: Subject, call: ast.Call) -> Iterator[ast.expr]:
    """The arguments of a call that have to be whole numbers."""
    name = subject.source.qualified(call.func)
    method = call.func.attr if isinstance(call.func, ast.Attribute) and name is None else ""
    if name is None and isinstance(call.func, ast.Name) and call.func.id == "xrange":
        yield from _flat(call.args)  # the range of Python 2
    elif name in BEHIND:
        yield from _flat(call.args[BEHIND[name]])
    elif name in LEADING:
        yield from _flat(call.args[: LEADING[name]])
        yield from _flat([k.value for k in call.keywords if k.arg in NAMED])
    elif method in METHODS:
        yield from (given for given in _flat(call.args) if _is_number(subject.source, given, unknown=True))
    elif method == "fit":
        yield from (k.value for k in call.keywords if k.arg in NAMED)


def _bounds(subject: Subject) -> Iterator[ast.expr]:
    """The bounds of slices, and how often a list is repeated."""
    source = subject.source
    for part in source.nodes(ast.Slice):
        index = source.enclosing(part, ast.Subscript)
        if index is not None and not _takes_fractions(source, index.value):
            yield from (bound for bound in (part.lower, part.upper, part.step) if bound is not None)
    for product in source.nodes(ast.BinOp):
        repeated = product.left if isinstance(product.op, ast.Mult) and isinstance(product.left, ast.List) else None
        if repeated is not None and _is_number(source, product.right, unknown=len(repeated.elts) == 1):
            yield product.right


def _takes_fractions(source: Source, indexed: ast.expr) -> bool:
    return source.qualified(indexed) in GRIDS or isinstance(indexed, ast.Attribute) and indexed.attr in LABELS


def _is_number(source: Source, expr: ast.expr, unknown: bool, depth: int = 3) -> bool:
    """Whether an expression is a plain number and no array; `unknown` is the answer where nothing tells."""
    if isinstance(expr, ast.BinOp):
        return all(_is_number(source, side, unknown, depth) for side in (expr.left, expr.right))
    if isinstance(expr, ast.Constant):
        return isinstance(expr.value, int)
    if isinstance(expr, ast.Call):
        name = source.qualified(expr.func)
        return name in COUNTED or name is None and isinstance(expr.func, ast.Attribute) and expr.func.attr in COUNTING
    if isinstance(expr, ast.Subscript):
        of_shape = isinstance(expr.value, ast.Attribute) and expr.value.attr == "shape"
        return of_shape or unknown and not isinstance(expr.slice, ast.Slice)
    bound = source.bindings(expr) if isinstance(expr, (ast.Name, ast.Attribute)) else ()
    if not bound or not depth:
        return unknown
    return all(_is_number(source, value, unknown, depth - 1) for value in bound)


def _flat(arguments: list[ast.expr]) -> Iterator[ast.expr]:
    for argument in arguments:
        if isinstance(argument, (ast.Tuple, ast.List)):
            yield from _flat(argument.elts)
        elif not isinstance(argument, ast.Starred):
            yield argument


def _divisions(subject: Subject, argument: ast.expr, within: tuple[ast.expr, ...] = ()) -> Iterator[ast.BinOp]:
    """The divisions that make an argument a float: in its own arithmetic, or in what its variable was assigned.

    `within` are the assigned values that led here: `size = size + 1` leads back to itself.
    """
    if isinstance(argument, ast.BinOp):
        if isinstance(argument.op, ast.Div):
            yield argument
        elif isinstance(argument.op, (ast.Add, ast.Sub, ast.Mult)):
            yield from _divisions(subject, argument.left, within)
            yield from _divisions(subject, argument.right, within)
    elif isinstance(argument, (ast.Name, ast.Attribute)):
        bound = subject.source.bindings(argument)
        if len(bound) == 1 and isinstance(bound[0], ast.BinOp) and bound[0] not in within:
            yield from _divisions(subject, bound[0], (*within, bound[0]))


def _floored(subject: Subject, division: ast.BinOp) -> Edit:
    """The division with its operator doubled and all else as it was."""
    source = subject.source
    whole, right = source.site(division), source.site(division.right)
    tree = source.places
    start, middle = tree.offset(whole.line, whole.column), tree.offset(right.line, right.column)
    left = source.site(division.left)
    at = source.text.index("/", tree.offset(left.end_line, left.end_column), middle)
    text = source.segment(whole)
    return Replace(whole, text[: at - start] + "/" + text[at - start :])


def _of_numpy(subject: Subject) -> Iterator[Hit]:
    """Sizes of Keras's layers that are numbers of NumPy, and of arrays that are floats."""
    source = subject.source
    yield from _counts(source)
    if "keras" not in source.frameworks:
        return
    crashed, refused = _crashed(subject), _refused(subject)
    for call in uses_of(source).calls():
        for name, value in _numpy_sizes(source, call):
            proven = _is_numpy(source, value)
            if not proven and not (call is crashed and refused in ("", name) and _may_be(source, value)):
                continue
            place = _made(source, value) if proven else value
            site = source.site(place)
            alike = () if proven else _alike(source, call, name, value)
            yield Hit(
                source.site(value),
                f"{name} must be a Python int in Keras 3; {source.segment(source.site(value))} is a NumPy number",
                title=f"convert {source.segment(site)} to int",
                edits=tuple(Wrap(each, "int(", ")") for each in (site, *alike)),
                safe=proven,
                exact=True,
                removed={"keras": "3.0"},
                confidence=0.9,
                within=source.site(call),
                felt=source.site(call),
            )


def _counts(source: Source) -> Iterator[Hit]:
    """Floats that NumPy rounded, given as the size of an array or the end of a range."""
    if not {name.rpartition(".")[2] for name in ROUNDED} & source.words:
        return
    for call in source.all_calls:
        function = source.qualified(call.func) or ""
        for position, name in enumerate(ENDS.get(function, ())):
            given = call.args[position : position + 1] if name else []
            given += [k.value for k in call.keywords if k.arg and k.arg == name]
            for value in (part for arg in given for part in (arg.elts if isinstance(arg, ast.Tuple) else [arg])):
                whole = name != "shape" or value not in given or _is_scalar(source, value)
                if not whole or not _is_rounded(source, value):
                    continue
                site = source.site(value)
                yield Hit(
                    site,
                    f"{function.rpartition('.')[2]} expects integers; {source.segment(site)} is a float, which older NumPy rounded",
                    title=f"convert {source.segment(site)} to int",
                    edits=(Wrap(site, "int(", ")"),),
                    safe=True,
                    removed={"numpy": "1.12"},
                    confidence=0.9,
                    within=source.site(call),
                    felt=source.site(call),
                )


def _is_rounded(source: Source, expr: ast.expr, under: frozenset[str] = frozenset()) -> bool:
    """Whether an expression is a float that is a whole number; `under` has the names that are being followed."""
    if isinstance(expr, ast.Name):
        bound = source.bindings(expr) if expr.id not in under else ()
        return bool(bound) and all(_is_rounded(source, value, under | {expr.id}) for value in bound)
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Add, ast.Sub, ast.Mult)):
        sides = [_is_rounded(source, side, under) or _is_whole(side) for side in (expr.left, expr.right)]
        return all(sides) and not (_is_whole(expr.left) and _is_whole(expr.right))
    return isinstance(expr, ast.Call) and source.qualified(expr.func) in ROUNDED


def _is_scalar(source: Source, expr: ast.expr, under: frozenset[str] = frozenset()) -> bool:
    """Whether an expression is one number, not an array: constants, lengths, sizes of axes and what is worked out of them."""
    if isinstance(expr, ast.Constant):
        return isinstance(expr.value, (int, float))
    if isinstance(expr, ast.Name):
        bound = source.bindings(expr) if expr.id not in under else ()
        return bool(bound) and all(_is_scalar(source, value, under | {expr.id}) for value in bound)
    if isinstance(expr, ast.UnaryOp):
        return _is_scalar(source, expr.operand, under)
    if isinstance(expr, ast.BinOp):
        return all(_is_scalar(source, side, under) for side in (expr.left, expr.right))
    if isinstance(expr, ast.Subscript):
        index = expr.slice.operand if isinstance(expr.slice, ast.UnaryOp) else expr.slice
        one = isinstance(index, ast.Constant) and isinstance(index.value, int)
        return one and isinstance(expr.value, ast.Attribute) and expr.value.attr == "shape"
    if not isinstance(expr, ast.Call):
        return False
    function = source.qualified(expr.func) or ""
    if function in ONE:
        return True
    plain = bool(expr.args) and not expr.keywords
    return plain and function in ROUNDED and all(_is_scalar(source, arg, under) for arg in expr.args)


def _is_whole(expr: ast.expr) -> bool:
    """Whether an expression is written as a whole number."""
    return isinstance(expr, ast.Constant) and isinstance(expr.value, int)


def _numpy_sizes(source: Source, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The arguments of a call that have to be integers, with their names."""
    names = SIZES.get(source.qualified(call.func) or "", ())
    for position, name in enumerate(names):
        given = [k.value for k in call.keywords if k.arg and k.arg in (name, FORMER.get(name))]
        given += call.args[position : position + 1]
        if name and given and not isinstance(given[0], (ast.Starred, ast.Tuple, ast.List, ast.Constant)):
            yield name, given[0]


def _is_numpy(source: Source, expr: ast.expr, under: frozenset[str] = frozenset()) -> bool:
    """Whether NumPy makes the number that an expression is; `under` has the names that are being followed."""
    if isinstance(expr, ast.Name):
        bound = source.bindings(expr) if expr.id not in under else ()
        return bool(bound) and all(_is_numpy(source, value, under | {expr.id}) for value in bound)
    if isinstance(expr, ast.BinOp):
        sides = () if isinstance(expr.op, ast.Div) else (expr.left, expr.right)
        return any(_is_numpy(source, side, under) for side in sides)
    if not isinstance(expr, ast.Call) or any(k.arg == "axis" for k in expr.keywords):
        return False
    package, _, last = (source.qualified(expr.func) or "").rpartition(".")
    if package:
        return package == "numpy" and last in NUMBERS
    method = expr.func.attr if isinstance(expr.func, ast.Attribute) else ""
    return method in REDUCING and not expr.args and not expr.keywords


def _made(source: Source, value: ast.expr) -> ast.expr:
    """Where to make the integer: at the one assignment of a variable, or at the argument if that may be a fraction."""
    bound = source.bindings(value) if isinstance(value, ast.Name) else ()
    if len(bound) != 1 or any(
        (source.qualified(call.func) or "").rpartition(".")[2] in FRACTIONS
        for call in ast.walk(bound[0])
        if isinstance(call, ast.Call)
    ):
        return value
    return bound[0]


def _crashed(subject: Subject) -> ast.AST | None:
    """The call that ended the run, where Keras says that it was given a whole number of another type."""
    crash = subject.crash
    if crash is None or crash.kind not in ("TypeError", "ValueError"):
        return None
    if not REFUSED.search(crash.message) or not RECEIVED.search(crash.message):
        return None
    return subject.node(crash.site)


def _refused(subject: Subject) -> str:
    """The name of the argument that was refused; empty where the message has none."""
    said = WHICH.search(subject.crash.message) if subject.crash is not None else None
    return said[1] if said is not None else ""


def _alike(source: Source, refused: ast.Call, name: str, value: ast.expr) -> Iterator[Site]:
    """The same argument of other such layers, where it is an expression of the same form: it comes from where this one does."""
    for call in uses_of(source).calls():
        if call is not refused and source.qualified(call.func) == source.qualified(refused.func):
            for other, given in _numpy_sizes(source, call):
                if other == name and _form(given) == _form(value) and _may_be(source, given):
                    yield source.site(given)


def _form(expr: ast.expr) -> tuple[object, ...]:
    """The form of an expression: a name, an attribute, or an item under a key."""
    key = expr.slice.value if isinstance(expr, ast.Subscript) and isinstance(expr.slice, ast.Constant) else ""
    return type(expr), expr.attr if isinstance(expr, ast.Attribute) else key


def _may_be(source: Source, value: ast.expr) -> bool:
    """Whether an argument of a call that was refused can be the number: none that is seen to be an integer."""
    if isinstance(value, ast.Call):
        return source.qualified(value.func) not in ("builtins.int", "builtins.len", "builtins.round")
    bound = source.bindings(value) if isinstance(value, ast.Name) else ()
    return not (bound and all(isinstance(v, ast.Constant) for v in bound))
