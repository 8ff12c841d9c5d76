"""`Dense(np.max(y) + 1)`, `np.zeros(np.floor(n))`: a NumPy number or a rounded float where an integer is expected."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, Site, Source, Subject, Wrap, uses_of

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
"""By layer, its first parameters; the named ones have to be Python integers (tried with Keras 3.15)."""

FORMER = {"units": "output_dim", "n": "n"}
"""By parameter, its name in Keras 1."""

REDUCING = frozenset({"max", "min", "sum", "prod", "argmax", "argmin"})
"""Functions and methods of NumPy that reduce an array to one number."""

NUMBERS = REDUCING | {
    *("amax", "amin", "product", "ceil", "floor", "rint", "round", "around", "sqrt", "log2", "power", "count_nonzero"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "int_"),
}
"""Functions of NumPy that return a NumPy number for numbers, or without an axis."""

FRACTIONS = frozenset({"round", "around", "sqrt", "log2", "power", "float32", "float64"})
"""Those of them that may return a fraction, which the rest of the program may use."""

ENDS = {
    **{f"numpy.{name}": ("shape",) for name in ("zeros", "ones", "empty", "full")},
    **{f"numpy.{name}": ("N", "M") for name in ("eye", "identity")},
    "numpy.linspace": ("", "", "num"),
    "builtins.range": ("start", "stop", "step"),
}
"""By function, its first parameters; the named ones are integers or, for arrays, shapes."""

ROUNDED = frozenset(f"numpy.{name}" for name in ("ceil", "fix", "floor", "rint", "trunc"))
"""Functions that return an integral float."""

ONE = frozenset(("builtins.float", "builtins.int", "builtins.len"))
"""Functions that return one number for any argument."""

REFUSED = re.compile(r"integer")
WHICH = re.compile(r"[Rr]eceived:? (\w+)=\d")
"""How Keras names the argument."""

RECEIVED = re.compile(
    r"[Rr]eceived:? (?:\w+=)?\d+(?:\.0)?(?![\d.(,])|got <class 'numpy|state_size must be|of type \w*int\d"
)
"""Keras's messages for an integral number that is not a Python integer."""


class NumpyNumberAsSize(ApiChange):
    """Keras 3 refuses `numpy.int64` and integral floats as sizes of most layers, which Keras 1 and 2 accepted.

    The maximum of the labels, a product of a shape, or a rounded number is converted to an integer where it is
    computed, or where it is passed if that is not a single assignment. Found in the source where NumPy computes the
    number; after a crash with such a message, wherever it came from. NumPy's own functions accept such integers, and
    refuse floats since 1.12: the results of `floor` and `ceil` are converted where they are the size of an array or the
    end of a range. A size that may be an array of sizes is left alone.

    Fix safety: safe where NumPy computes the number, of which only the type changes; unsafe where it was found from a
    crash.

    References: https://keras.io/api/layers/core_layers/dense/,
    https://numpy.org/doc/stable/reference/arrays.scalars.html.
    """

    code = "DNF573"
    name = "numpy-number-as-size"
    message = "{argument} must be a Python int in Keras 3, got the NumPy number {expression}"

    def hits(self, subject: Subject) -> Iterator[Hit]:
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
                    self.message.format(argument=name, expression=source.segment(source.site(value))),
                    title=f"convert {source.segment(site)} to int",
                    edits=tuple(Wrap(each, "int(", ")") for each in (site, *alike)),
                    safe=proven,
                    exact=True,
                    removed={"keras": "3.0"},
                    confidence=0.9,
                    within=source.site(call),
                    felt=source.site(call),
                )

    programs = """
=== example: as many classes as labels
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

- classes = np.max(y) + 1
+ classes = int(np.max(y) + 1)
model = Sequential()
model.add(Dense(32, activation="relu"))
model.add(Dense(classes, activation="softmax"))

=== example: a method of an array, and a size in the call
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


def _counts(source: Source) -> Iterator[Hit]:
    """Floats rounded by NumPy that are the size of an array or the end of a range."""
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
    """Whether an expression is an integral float; `under` has the names that are being followed."""
    if isinstance(expr, ast.Name):
        bound = source.bindings(expr) if expr.id not in under else ()
        return bool(bound) and all(_is_rounded(source, value, under | {expr.id}) for value in bound)
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Add, ast.Sub, ast.Mult)):
        sides = [_is_rounded(source, side, under) or _is_whole(side) for side in (expr.left, expr.right)]
        return all(sides) and not (_is_whole(expr.left) and _is_whole(expr.right))
    return isinstance(expr, ast.Call) and source.qualified(expr.func) in ROUNDED


def _is_scalar(source: Source, expr: ast.expr, under: frozenset[str] = frozenset()) -> bool:
    """Whether an expression is one number, not an array: constants, lengths, sizes of axes and arithmetic of them."""
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
    """Whether an expression is an integer literal."""
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
    """Whether NumPy computes the number; `under` has the names that are being followed."""
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
    """Where to convert: at the one assignment of a variable, or at the argument if the value may be a fraction."""
    bound = source.bindings(value) if isinstance(value, ast.Name) else ()
    if len(bound) != 1 or any(
        (source.qualified(call.func) or "").rpartition(".")[2] in FRACTIONS
        for call in ast.walk(bound[0])
        if isinstance(call, ast.Call)
    ):
        return value
    return bound[0]


def _crashed(subject: Subject) -> ast.AST | None:
    """The call that crashed because Keras refused a number's type."""
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
    """The same argument of other such layers in the same form, which likely has the same origin."""
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
    """Whether an argument can be the number: it is not known to be an integer."""
    if isinstance(value, ast.Call):
        return source.qualified(value.func) not in ("builtins.int", "builtins.len", "builtins.round")
    bound = source.bindings(value) if isinstance(value, ast.Name) else ()
    return not (bound and all(isinstance(v, ast.Constant) for v in bound))
