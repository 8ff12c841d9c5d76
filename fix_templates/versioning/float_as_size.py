"""`nn.Linear(n / 2, 10)`, `range(n / 2)`: a division, which is a float in Python 3, where an integer is expected."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Edit, Hit, Replace, Site, Source, Subject, origins, uses_of, words

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
"""By function, how many of its leading arguments are integers."""

BEHIND = dict.fromkeys(
    words(
        """numpy.reshape numpy.tile numpy.resize tensorflow.reshape tensorflow.tile keras.backend.reshape keras.ops.reshape
        keras.backend.repeat_elements cv2.resize random.sample PIL.Image.new"""
    ),
    slice(1, 2),
) | {"itertools.islice": slice(1, 4)}
"""By function, which arguments are integers or shapes, where the first one is data that may be divided."""

NAMED = words(
    """in_features out_features in_channels out_channels kernel_size stride padding num_features num_embeddings
    embedding_dim input_size hidden_size num_layers units filters input_dim output_dim num_heads key_dim shape
    input_shape target_shape depth_multiplier strides pool_size batch_size epochs"""
)
"""Keywords that are integers in all of these."""

STEPS = frozenset({"steps_per_epoch", "validation_steps", "steps"})
"""Keywords of Keras that count batches; Keras 2 accepted fractions and went on until they were reached."""

METHODS = frozenset({"view", "reshape", "repeat", "expand", "narrow"})
"""Methods of tensors with integer arguments only."""

GRIDS = frozenset({"numpy.mgrid", "numpy.ogrid", "numpy.r_", "numpy.c_", "numpy.s_", "numpy.index_exp"})
LABELS = frozenset({"loc", "at", "xs"})
"""Objects and attributes that accept slices of fractions, too."""

COUNTED = frozenset(f"builtins.{name}" for name in ("abs", "int", "len", "max", "min", "round", "sum")) | {"numpy.prod"}
COUNTING = frozenset({"count", "dim", "item", "nelement", "numel", "size"})
"""Functions and methods that return plain numbers, not arrays."""


class FloatAsSize(ApiChange):
    """`/` returns a float in Python 3; layers, shapes and `range` expect integers.

    Reported where the division is the argument itself, a bound of a slice or the number of times a list is repeated, or
    the value of the only name in it; after a crash also where the float came through lists, parameters and several
    assignments. The division becomes `//`, which computes what Python 2 did.

    Fix safety: safe where the division is in the argument: the call fails with every float, and `//` of integers is
    what `/` was in Python 2. Unsafe where it was found from a crash, and where the quotient is also a number of batches
    for Keras, which rounded it up.

    References: https://peps.python.org/pep-0238/.
    """

    code = "DNF514"
    name = "float-as-size"
    formerly = ("float-where-size-is-meant",)
    message = "expected an integer; {expression} is a float in Python 3"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        near = list(self._near(subject))
        yield from near
        known = {hit.site for hit in near}
        yield from (hit for hit in _far(subject) if hit.site not in known)

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

=== reject: integers and paths
from pathlib import Path
import torch

for i in range(10 // 2):
    print(torch.load(Path("a") / "b"))
"""


def _hit(subject: Subject, division: ast.BinOp, felt: Site | None) -> Hit:
    site = subject.source.site(division)
    return Hit(
        site,
        FloatAsSize.message.format(expression=subject.source.segment(site)),
        title="use integer division",
        edits=(_floored(subject, division),),
        safe=felt is None and not _counts_batches(subject.source, division),
        confidence=0.9 if felt is None else 0.8,
        felt=felt,
    )


def _counts_batches(source: Source, division: ast.BinOp) -> bool:
    """Whether the name that the division is assigned to is also a number of batches for Keras."""
    if source.words.isdisjoint(STEPS):
        return False
    for call in source.all_calls:
        for value in (k.value for k in call.keywords if k.arg in STEPS):
            bound = source.bindings(value) if isinstance(value, (ast.Name, ast.Attribute)) else ()
            if any(division is part for one in bound for part in ast.walk(one)):
                return True
    return False


def _far(subject: Subject) -> Iterator[Hit]:
    """The divisions behind the sizes of the call, or of the layer's constructor, that crashed."""
    crash = subject.crash
    if crash is None or crash.kind not in ("TypeError", "ValueError"):
        return
    places = (crash.site, crash.call.made_at if crash.call is not None else None)
    for place in dict.fromkeys(places):
        node = subject.node(place)
        for argument in _sizes(subject, node) if isinstance(node, ast.Call) else ():
            for expr in origins.origins(subject, argument):
                if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Div):
                    yield _hit(subject, expr, crash.site)


def _assigned(subject: Subject) -> frozenset[str]:
    """The names and attributes that a division is assigned to."""
    found: set[str] = set()
    for statement in uses_of(subject.source).assignments():
        if isinstance(statement.value, ast.BinOp):
            for target in statement.targets:
                found.add(target.id if isinstance(target, ast.Name) else getattr(target, "attr", ""))
    return frozenset(found)


def _may_divide(argument: ast.expr, assigned: frozenset[str]) -> bool:
    """Whether an argument can contain a division: a cheap check before names are resolved."""
    if isinstance(argument, ast.Name):
        return argument.id in assigned
    if isinstance(argument, ast.Attribute):
        return argument.attr in assigned
    if isinstance(argument, (ast.Tuple, ast.List)):
        return any(_may_divide(element, assigned) for element in argument.elts)
    return isinstance(argument, ast.BinOp)


def _sizes(subject: Subject, call: ast.Call) -> Iterator[ast.expr]:
    """The arguments of a call that have to be integers."""
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
    """The bounds of slices, and how often lists are repeated."""
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
    """Whether an expression is a plain number and not an array; `unknown` is the answer where that is not known."""
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
    """The divisions that make an argument a float: in its own arithmetic, or in the value of its name.

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
    """The division with its operator doubled and nothing else changed."""
    source = subject.source
    whole, right = source.site(division), source.site(division.right)
    tree = source.places
    start, middle = tree.offset(whole.line, whole.column), tree.offset(right.line, right.column)
    left = source.site(division.left)
    at = source.text.index("/", tree.offset(left.end_line, left.end_column), middle)
    text = source.segment(whole)
    return Replace(whole, text[: at - start] + "/" + text[at - start :])
