"""A function of NumPy, torch, TensorFlow or Python is called with a symbolic Keras tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Failure,
    Fault,
    RenameArgument,
    Replace,
    Source,
    Subject,
    reads,
    spell,
    spelling_edits,
    symbolic,
    words,
)

PLACEHOLDER = "KerasTensor"
"""The name of a symbolic tensor in error messages."""


@dataclass(frozen=True, slots=True)
class _Operation:
    """A function of `keras.ops`, the number of positional arguments with the same meaning, and its names for keywords.

    `at` is the index of an axis that must be stated, since the default includes the batch axis.
    """

    name: str
    places: int = 1
    keywords: dict[str, str] = field(default_factory=dict)
    at: int | None = None


_FIRST = {name: "x" for name in ("x", "a", "input", "input_tensor", "tensor", "features", "logits")}
_AXIS = {"axis": "axis", "dim": "axis", "keepdims": "keepdims", "keepdim": "keepdims", **_FIRST}
_ORDER = {"axes": "axes", "perm": "axes", "dims": "axes", **_FIRST}
_JOIN = {"axis": "axis", "dim": "axis"}

_ALIKE = words("sqrt exp log abs sin cos tan sinh cosh tanh square sign floor ceil log1p expm1")
_ACTIVATIONS = words("relu relu6 sigmoid tanh softplus silu selu elu")
_SMOOTH = words("softmax log_softmax")
_REDUCTIONS = words("mean sum prod")
_OF_TWO = words("maximum minimum multiply add subtract divide matmul")
_NUMPY_MODULES = ("numpy", "torch", "tensorflow", "tensorflow.math")


def _table() -> dict[str, _Operation]:
    """The functions of other libraries that mean the same in `keras.ops`, by qualified name."""
    found: dict[str, _Operation] = {}

    def put(modules: Iterable[str], names: Iterable[str], like: _Operation, prefix: str = "") -> None:
        for module in modules:
            for name in names:
                found[f"{module}.{prefix}{name}"] = _Operation(like.name or name, like.places, like.keywords, like.at)

    put((*_NUMPY_MODULES, "math"), _ALIKE, _Operation("", 1, _FIRST))
    put(("torch", "torch.nn.functional", "tensorflow.nn"), _ACTIVATIONS, _Operation("", 1, _FIRST))
    put(("tensorflow", "tensorflow.math"), ("sigmoid", "softplus"), _Operation("", 1, _FIRST))
    put(("torch", "torch.nn.functional", "tensorflow.nn"), _SMOOTH, _Operation("", 2, _AXIS))
    put(("numpy",), (*_REDUCTIONS, "max", "min", "amax", "amin", "std", "var"), _Operation("", 2, _AXIS, 1))
    put(("torch",), (*_REDUCTIONS, "amax", "amin", "logsumexp"), _Operation("", 3, _AXIS, 1))
    put(
        ("tensorflow", "tensorflow.math"),
        (*_REDUCTIONS, "max", "min", "logsumexp"),
        _Operation("", 3, _AXIS, 1),
        "reduce_",
    )
    put(("numpy", "torch", "tensorflow", "tensorflow.math"), ("argmax", "argmin"), _Operation("", 2, _AXIS, 1))
    put(_NUMPY_MODULES, _OF_TWO, _Operation("", 2))
    put(("torch", "tensorflow", "tensorflow.math"), ("pow",), _Operation("power", 2))
    put(("numpy",), ("power", "where", "repeat", "tile"), _Operation("", 3))
    put(("torch",), ("where",), _Operation("", 3))
    put(("tensorflow",), ("where", "tile"), _Operation("", 3))
    put(("numpy", "torch", "tensorflow"), ("einsum",), _Operation("", 5))
    put(("numpy", "tensorflow"), ("stack",), _Operation("", 2, _JOIN, 1))
    put(("numpy", "torch", "tensorflow"), ("concatenate", "cat", "concat"), _Operation("concatenate", 2, _JOIN, 1))
    put(("torch",), ("stack",), _Operation("", 2, _JOIN, 1))
    put(("numpy", "tensorflow"), ("expand_dims", "squeeze"), _Operation("", 2, _AXIS, 1))
    put(("torch",), ("unsqueeze",), _Operation("expand_dims", 2, _AXIS, 1))
    put(("torch",), ("squeeze",), _Operation("", 2, _AXIS, 1))
    put(("numpy", "tensorflow"), ("transpose",), _Operation("", 2, _ORDER, 1))
    put(("torch",), ("permute",), _Operation("transpose", 2, _ORDER, 1))
    put(("numpy", "torch", "tensorflow"), ("reshape",), _Operation("", 2, {"shape": "newshape", **_FIRST}))
    put(("numpy", "torch"), ("clip",), _Operation("", 3))
    put(("torch",), ("clamp",), _Operation("clip", 3, {"min": "x_min", "max": "x_max"}))
    put(("tensorflow",), ("clip_by_value",), _Operation("clip", 3))
    put(("tensorflow",), ("cast",), _Operation("", 2, {"dtype": "dtype", "x": "x"}))
    put(("tensorflow",), ("shape",), _Operation("", 1))
    put(("tensorflow",), ("one_hot",), _Operation("", 2, {"depth": "num_classes"}))
    put(("tensorflow.nn", "tensorflow.math"), ("l2_normalize",), _Operation("normalize", 2, _AXIS, 1))
    put(("tensorflow.image",), ("resize",), _Operation("image.resize", 2, {"size": "size"}))
    for short in ("mul", "sub", "div"):
        full = next(name for name in _OF_TWO if name.startswith(short))
        found[f"torch.{short}"] = _Operation(full, 2)
    return found


OPERATIONS = _table()

_METHODS = {
    **{name: _Operation(name, 1) for name in (*_ALIKE, "relu", "sigmoid")},
    **{name: _Operation(name, 1, _AXIS, 0) for name in (*_REDUCTIONS, "argmax", "argmin")},
    **{name: _Operation(name, 0, {"axis": "axis", "keepdims": "keepdims"}, 0) for name in ("max", "min")},
    "unsqueeze": _Operation("expand_dims", 1, _AXIS, 0),
    "astype": _Operation("cast", 1, {"dtype": "dtype"}),
    "pow": _Operation("power", 1),
    "matmul": _Operation("matmul", 1),
}
"""Methods of arrays and tensors that mean the same as functions of `keras.ops`."""

_SIZES = {"reshape": "reshape", "view": "reshape", "permute": "transpose"}
"""Methods with sizes or axes as separate arguments, where `keras.ops` expects a tuple."""


@reads("ValueError TypeError AttributeError NotImplementedError", PLACEHOLDER, ast.expr)
def _of_symbolic(failure: Failure[ast.expr]) -> Iterator[Fault]:
    """A function of another library, or a missing method, is called with a symbolic tensor."""
    method = isinstance(failure.node, ast.Attribute)
    node = failure.source.parent(failure.node) if method else failure.node
    if not isinstance(node, ast.Call):
        return
    edits = _rewritten_method(failure.subject, failure.crash, node)
    known = failure.source.qualified(node.func) in OPERATIONS and not _own(failure.source, node)
    if edits is None and known:
        edits = _rewritten(failure.subject, node)
    if edits is not None:
        repairs = (("Use the function of `keras.ops`", edits, 0.9),) if edits else ()
        yield Fault(failure.site(node), {"function": ast.unparse(node.func)}, repairs)


class LibraryFunctionOfSymbolicTensor(CrashTemplate):
    """A function of NumPy, torch, TensorFlow or Python is called with a symbolic Keras tensor.

    `keras.Input`, and a layer called on it, return a tensor without values, with which other libraries cannot compute;
    functions of `keras.ops` add a step to the model instead. The function is replaced by the one with the same meaning,
    with its keywords translated, in every call with a symbolic tensor. A function without a counterpart with the same
    defaults is left alone, and so is a reduction without an axis, which would include the batch.

    Fix safety: unsafe. The line could not run before.

    References: keras.ops; keras.KerasTensor.
    """

    code = "DNF638"
    name = "library-function-of-symbolic-tensor"
    message = (
        "{function} cannot compute with a symbolic Keras tensor, which has no values: expected a function of keras.ops"
    )
    confidence = 0.95
    declined = "`keras.ops` has no known function with the same meaning"

    readings = (_of_symbolic,)

    programs = """
=== example: a method that arrays have
import keras
import numpy as np

steps = keras.Input((4, 3))
- summed = keras.layers.Dense(2)(steps).mean(axis=1)
+ summed = keras.ops.mean(keras.layers.Dense(2)(steps), axis=1)
model = keras.Model(steps, summed)
print(model.predict(np.ones((5, 4, 3)), verbose=0).shape)

=== example: functions of torch in a functional model
import numpy as np
import torch
import torch.nn.functional as F
from keras import Input, Model
from keras.layers import Dense
+ import keras


def encoder(size):
    words = Input(shape=(5, size))
-     hidden = F.relu(Dense(6)(words))
-     pooled = torch.mean(hidden, dim=1, keepdim=False)
+     hidden = keras.ops.relu(Dense(6)(words))
+     pooled = keras.ops.mean(hidden, axis=1, keepdims=False)
    return Model(words, Dense(1)(pooled))


net = encoder(2)
net.compile(optimizer="sgd", loss="mse")
net.fit(np.random.rand(6, 5, 2), np.random.rand(6, 1), verbose=0)

=== example: branches that numpy joins
import numpy as np
from keras import Input, Model, layers, ops

first, second = Input((3,)), Input((2,))
- both = np.concatenate([layers.Dense(2)(first), layers.Dense(2)(second)], axis=1)
+ both = ops.concatenate([layers.Dense(2)(first), layers.Dense(2)(second)], axis=1)
model = Model([first, second], layers.Dense(1)(ops.tanh(both)))
model.compile(loss="mse", optimizer="sgd")
model.fit([np.ones((6, 3)), np.ones((6, 2))], np.ones((6, 1)), verbose=0)

=== example: sizes as separate arguments
import keras
import numpy as np

image = keras.Input((2, 6))
h = keras.layers.Dense(4)(image)
- flat = h.view(-1, 8)
+ flat = keras.ops.reshape(h, (-1, 8))
model = keras.Model(image, keras.layers.Dense(1)(flat))
print(model.predict(np.ones((3, 2, 6)), verbose=0).shape)

=== reject: functions of numpy on data, and of Keras on its tensors
import keras
import numpy as np

x = np.sqrt(np.random.rand(8, 4))
given = keras.Input((4,))
model = keras.Model(given, keras.ops.sqrt(keras.layers.Dense(1, activation="relu")(given)))
print(np.mean(model.predict(x, verbose=0), axis=0))

=== reject: a comparison of a symbolic tensor
import keras

given = keras.Input((4,))
h = keras.layers.Dense(3)(given)
if h.sum > 0:
    h = -h

=== reject: a loop over a symbolic tensor
import keras

given = keras.Input((4, 3))
parts = [keras.layers.Dense(1)(step) for step in keras.layers.Dense(2)(given)]
"""


def _own(source: Source, call: ast.Call) -> bool:
    """Whether the program itself defines the function."""
    return source.definition(call.func) is not None


def _ops(subject: Subject) -> spelling_edits.Spelling:
    """The spelling of `keras.ops` in the program: through its imports of Keras, else through TensorFlow."""
    for module in subject.source.tree.body:
        if isinstance(module, ast.Import):
            for item in module.names:
                if item.name == "tensorflow" and not _binds_keras(subject):
                    return spelling_edits.Spelling(f"{item.asname or item.name}.keras.ops")
    return spell(subject, "keras.ops")


def _binds_keras(subject: Subject) -> bool:
    return spell(subject, "keras.ops").imports == ()


def _rewritten(subject: Subject, crashed: ast.Call) -> tuple[Edit, ...]:
    """Edits of the call that crashed and of every other one with a symbolic tensor."""
    source = subject.source
    spelling = _ops(subject)
    first = _edits(subject, crashed, spelling.code)
    if first is None:
        return ()
    found = list(first)
    given_places = _given_places(subject, crashed)
    for call in source.all_calls:
        known = call is not crashed and source.qualified(call.func) in OPERATIONS and not _own(source, call)
        if known and any(symbolic.is_symbolic(source, given, dict(given_places)) for given in call.args):
            found += _edits(subject, call, spelling.code) or ()
    return (*found, *spelling.imports)


def _given_places(subject: Subject, crashed: ast.Call) -> dict[tuple[object, str], bool]:
    """The parameters of the function that crashed which were symbolic tensors, in the form `is_symbolic` expects."""
    function = subject.source.enclosing(crashed, ast.FunctionDef)
    frames = subject.crash.frames if subject.crash is not None else ()
    if function is None or not frames:
        return {}
    told = {name: one for name, one in frames[-1].names.items() if isinstance(one, dict)}
    return {
        (function, name): True
        for name in symbolic.parameters(function)
        if str(told.get(name, {}).get("kind")).endswith(f".{PLACEHOLDER}")
    }


def _edits(subject: Subject, call: ast.Call, ops: str) -> tuple[Edit, ...] | None:
    """Edits that turn one call into one of `keras.ops`; `None` if an argument has no counterpart."""
    source = subject.source
    operation = OPERATIONS[source.qualified(call.func) or ""]
    renamed = _translated(call, operation)
    if renamed is None:
        return None
    site = source.site(call)
    edits: list[Edit] = [Replace(source.site(call.func), f"{ops}.{operation.name}")]
    edits += [RenameArgument(site, old, new) for old, new in renamed if old != new]
    return tuple(edits)


def _translated(call: ast.Call, operation: _Operation) -> list[tuple[str, str]] | None:
    """The keywords of a call with their names in `keras.ops`; `None` if the call has no counterpart."""
    starred = any(isinstance(given, ast.Starred) for given in call.args)
    if starred or len(call.args) > operation.places:
        return None
    found = []
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg not in operation.keywords:
            return None
        found.append((keyword.arg, operation.keywords[keyword.arg]))
    if operation.at is None:
        return found
    axes = [keyword.value for keyword in call.keywords if operation.keywords[keyword.arg or ""] in ("axis", "axes")]
    axes += call.args[operation.at : operation.at + 1]
    if not axes or isinstance(axes[0], ast.Constant) and axes[0].value in (None, 0):
        return None
    return found


def _rewritten_method(subject: Subject, crash: Crash, call: ast.Call) -> tuple[Edit, ...] | None:
    """Edits of a method call that a symbolic tensor does not support; `None` if it is another call."""
    function = call.func
    asked = isinstance(function, ast.Attribute) and (
        f"'{PLACEHOLDER}' object has no attribute '{function.attr}'" in crash.message
        or f"{PLACEHOLDER}.{function.attr}()" in crash.message
    )
    if not asked or not isinstance(function, ast.Attribute):
        return None
    source, spelling = subject.source, _ops(subject)
    if subject.source.qualified(function) in OPERATIONS:
        return None  # a function of a library, which called the missing method
    owner = subject.text(source.site(function.value))
    given = [subject.text(source.site(one)) for one in call.args]
    if function.attr in _SIZES and not call.keywords and not any(isinstance(one, ast.Starred) for one in call.args):
        sizes = f"({', '.join(given)})" if len(given) > 1 else given[0] if given else ""
        text = f"{spelling.code}.{_SIZES[function.attr]}({owner}, {sizes})"
        plain = bool(sizes) and not (len(given) == 1 and isinstance(call.args[0], (ast.Constant, ast.UnaryOp)))
        return (Replace(source.site(call), text), *spelling.imports) if plain else ()
    operation = _METHODS.get(function.attr)
    renamed = _translated(call, operation) if operation is not None else None
    if operation is None or renamed is None:
        return ()
    names = [f"{new}={subject.text(source.site(k.value))}" for (_, new), k in zip(renamed, call.keywords, strict=True)]
    text = f"{spelling.code}.{operation.name}({', '.join([owner, *given, *names])})"
    return (Replace(source.site(call), text), *spelling.imports)
