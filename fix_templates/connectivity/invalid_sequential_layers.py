"""A `Sequential` is created from, or extended by, something that is not a layer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Family,
    Fault,
    FixPattern,
    Replace,
    Site,
    Source,
    Subject,
    Wrap,
    changed_calls,
    spell,
    spelling_edits,
    words,
)

_LAYERS = {
    "relu": "ReLU",
    "relu6": "ReLU6",
    "leaky_relu": "LeakyReLU",
    "elu": "ELU",
    "selu": "SELU",
    "celu": "CELU",
    "gelu": "GELU",
    "silu": "SiLU",
    "mish": "Mish",
    "hardswish": "Hardswish",
    "sigmoid": "Sigmoid",
    "logsigmoid": "LogSigmoid",
    "tanh": "Tanh",
    "softplus": "Softplus",
    "softsign": "Softsign",
}
"""Functions of torch and the layers that compute the same by default."""
_NOT_ONE = "is not a Module subclass"
_UNCALLED = 'Module [ModuleList] is missing the required "forward" function'
_SEQUENTIAL = "torch.nn.Sequential"
_LIST = "torch.nn.ModuleList"
REFUSED = "can be added to a Sequential model"
"""Part of the message of Keras 3."""
LISTED = "'list' object has no attribute 'add'"

BARE = words(
    "Flatten BatchNormalization LayerNormalization ReLU LeakyReLU PReLU ELU Softmax MaxPooling1D MaxPooling2D MaxPool2D "
    "MaxPool1D MaxPooling3D AveragePooling1D AveragePooling2D GlobalAveragePooling1D GlobalAveragePooling2D "
    "GlobalMaxPooling1D GlobalMaxPooling2D"
)
"""Layers that are usually created without arguments."""

ACTIVATIONS = words("relu sigmoid tanh softmax softplus elu selu gelu swish silu linear")
SEQUENTIAL = frozenset({"keras.Sequential", "keras.models.Sequential"})


class InvalidSequentialLayers(CrashTemplate):
    """A `Sequential` of torch or Keras gets something that is not a layer, or its layers in an unsupported form.

    `Sequential` of torch takes each layer as an argument: a list is unpacked, a list of names and layers becomes an
    `OrderedDict`, a function is replaced by the layer that computes it, and a class is instantiated. A `ModuleList` has
    no `forward`; one that is called becomes a `Sequential`.

    `Sequential` of Keras takes one list of layers. `model.add(Flatten)` adds the class instead of `Flatten()`.
    `model.add(Dense(8)(x))` adds the output of a layer, which the model calls itself. `model.add("relu")` names an
    activation, for which there is a layer. And `model.layers.add(…)` calls a list instead of the model.

    Fix safety: unsafe. The network could not be created, or run, before.

    References: torch.nn.Sequential, torch.nn.ModuleList; keras.Sequential (`layers`), keras.Sequential.add.
    """

    code = "DNF452"
    name = "invalid-sequential-layers"
    formerly = ("sequence-of-no-modules", "DNF457", "layers-given-one-by-one", "DNF458", "no-layer-added")
    message = "`Sequential` does not accept its layers in this form: {what}"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"TypeError", "ValueError", "AttributeError", "NotImplementedError"})
    confidence = 0.95
    declined = "the arguments of the layer are not known"

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        node, message = subject.node(crash.site), crash.message
        if LISTED in message and isinstance(node, ast.Attribute):
            yield from _to_list(subject, node)
        if not isinstance(node, ast.Call):
            return
        made = subject.source.qualified(node.func)
        if message.startswith(_UNCALLED):
            yield from _called_list(subject, node)
        elif message.endswith(_NOT_ONE):
            if made in (_SEQUENTIAL, _LIST):
                refused = message.removesuffix(_NOT_ONE).strip()
                yield from _refused(subject, crash, node, refused, made == _SEQUENTIAL)
        elif REFUSED in message and len(node.args) == 1:
            added = isinstance(node.func, ast.Attribute) and node.func.attr == "add"
            yield from _no_layer(subject, node.args[0] if added else _odd_one(node.args[0]), message)
        elif made in SEQUENTIAL and crash.kind in ("ValueError", "TypeError"):
            yield from _one_by_one(subject, node)

    programs = """
=== example: a list of layers
from torch import nn

layers = [nn.Linear(3, 4), nn.ReLU()]
layers.append(nn.Linear(4, 2))
- net = nn.Sequential(layers)
+ net = nn.Sequential(*layers)

=== example: functions among the layers
import torch
import torch.nn as nn
import torch.nn.functional as F

- net = nn.Sequential(nn.Linear(3, 4), F.relu, nn.Linear(4, 1), torch.sigmoid)
+ net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1), nn.Sigmoid())

=== example: a class that is not called
import torch

net = torch.nn.Sequential(
    torch.nn.Linear(3, 4),
-     torch.nn.Tanh,  # squashes
+     torch.nn.Tanh(),  # squashes
    torch.nn.Linear(4, 1),
)

=== example: names and layers
from collections import OrderedDict

from torch import nn

- net = nn.Sequential([("fc", nn.Linear(3, 4)), ("act", nn.ReLU())])
+ net = nn.Sequential(OrderedDict([("fc", nn.Linear(3, 4)), ("act", nn.ReLU())]))

=== example: a list of modules that is called
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
-         self.layers = nn.ModuleList([nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)])
+         self.layers = nn.Sequential(*[nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)])

    def forward(self, x):
        return self.layers(x)


Net()(torch.randn(2, 3))

=== example: one layer
import keras
import numpy as np

- line = keras.Sequential(keras.layers.Dense(1), name="line")
+ line = keras.Sequential([keras.layers.Dense(1)], name="line")
line.compile("sgd", "mse")
line.fit(np.ones((4, 3)), np.ones((4, 1)), verbose=0)

=== example: the output of a layer
import numpy as np
from keras import Input, Sequential, layers

given = Input((3,))
model = Sequential()
model.add(given)
- model.add(layers.Dense(4, activation="relu")(given))
+ model.add(layers.Dense(4, activation="relu"))
model.add(layers.Dense(1))
model.compile(optimizer="sgd", loss="mse")
model.fit(np.ones((4, 3)), np.ones((4, 1)), verbose=0)

=== example: the name of an activation
import numpy as np
from keras import layers
from keras.models import Sequential

net = Sequential()
net.add(layers.Dense(4))
- net.add("relu")
+ net.add(layers.Activation("relu"))
net.add(layers.Dense(1))
net.compile(optimizer="sgd", loss="mse")
net.fit(np.ones((4, 3)), np.ones((4, 1)), verbose=0)

=== example: a class in the list of layers
import keras
import numpy as np
from keras import layers

- model = keras.Sequential([keras.Input((2, 3)), layers.Flatten, layers.Dense(1)])
+ model = keras.Sequential([keras.Input((2, 3)), layers.Flatten(), layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((4, 2, 3)), np.ones((4, 1)), verbose=0)

=== example: the list of the layers
import keras
import numpy as np

model = keras.Sequential()
- model.layers.add(keras.layers.Dense(3))
- model.layers.add(keras.layers.Dense(1))
+ model.add(keras.layers.Dense(3))
+ model.add(keras.layers.Dense(1))
model.compile("sgd", "mse")
model.fit(np.ones((4, 3)), np.ones((4, 1)), verbose=0)

=== reject: layers one by one
from torch import nn

layers = [nn.Linear(3, 4), nn.ReLU()]
net = nn.Sequential(*layers)

=== reject: a function that no layer computes
from torch import nn

net = nn.Sequential(nn.Linear(3, 4), lambda x: x * 2)

=== reject: a list of modules that is gone through
import torch
from torch import nn

layers = nn.ModuleList([nn.Linear(3, 4), nn.Linear(4, 1)])
x = torch.randn(2, 3)
for layer in layers:
    x = layer(x)

=== reject: layers of torch
import torch
from torch import nn

print(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))(torch.ones(1, 2)))

=== reject: a list that has a number among the layers
import keras

model = keras.Sequential([keras.layers.Dense(1), 3])

=== reject: a list and a name that is none
import keras

model = keras.Sequential([keras.layers.Dense(1)], True, 3)

=== reject: layers
import keras
import numpy as np

model = keras.Sequential()
model.add(keras.layers.Flatten())
model.add(keras.layers.Dense(1))
print(model.predict(np.ones((2, 3)), verbose=0))

=== reject: the output of two layers, of which one would be lost
import keras
from keras import layers

given = keras.Input((3,))
model = keras.Sequential()
model.add(given)
model.add(layers.Dropout(0.2)(layers.Dense(4)(given)))

=== reject: something unknown
import keras

model = keras.Sequential()
model.add(3)

=== reject: a list of the program's own
import keras

found = []
found.add(keras.layers.Dense(1))
"""


def _one_by_one(subject: Subject, call: ast.Call) -> Iterator[Fault]:
    """A `Sequential` of Keras whose layers are separate arguments instead of a list."""
    source = subject.source
    if not call.args or any(one.arg is None for one in call.keywords):
        return
    if all(_is_layer(source, given) for given in call.args):
        first, last = source.site(call.args[0]), source.site(call.args[-1])
        whole = Site(first.line, first.column, last.end_line, last.end_column)
        rest = [f"{one.arg}={subject.text(source.site(one.value))}" for one in call.keywords]
        given_now = ", ".join([f"[{subject.text(whole)}]", *rest])
        edit = Replace(source.site(call), f"{subject.text(source.site(call.func))}({given_now})")
        what = "`Sequential` of Keras expects one list of layers, got them as separate arguments"
        yield Fault.with_repair(source.site(call), what, "Pass them as a list", edit, prior=0.95)


def _is_layer(source: Source, given: ast.expr) -> bool:
    """Whether an expression creates a Keras layer, or is a name bound to one."""
    made = given if isinstance(given, ast.Call) else source.constructor(given)
    name = source.qualified(made.func) or "" if made is not None else ""
    return name.startswith("keras.layers.") or name in SEQUENTIAL | {"keras.Input"}


def _refused(subject: Subject, crash: Crash, call: ast.Call, refused: str, sequential: bool) -> Iterator[Fault]:
    """Repairs for a torch container called with something that is not a layer."""
    source = subject.source
    if call.keywords:
        return
    made = _as_layers(subject, crash, call, sequential)
    if made is not None:
        what = "a function or a class is among the layers"
        yield Fault.with_repair(source.site(call), what, "Convert them to layers", *made)
        return
    if not sequential or len(call.args) != 1 or isinstance(call.args[0], ast.Starred):
        return
    given = call.args[0]
    place, code = source.site(given), subject.text(source.site(given))
    pairs = _pairs(subject, given)
    if refused == "dict" or refused == "list" and pairs:
        ordered = spell(subject, "collections.OrderedDict")
        edits: tuple[Edit, ...] = (Wrap(place, f"{ordered.code}(", ")"), *ordered.imports)
        what = f"`{_short(code)}` has names and layers, and an OrderedDict is expected"
        yield Fault.with_repair(source.site(call), what, "Convert it to an OrderedDict", *edits)
    elif refused in ("list", "tuple", "<genexpr>") and not pairs and "#" not in code:
        function = subject.text(source.site(call.func))
        unpacked = (
            code if isinstance(given, (ast.Name, ast.Attribute, ast.Call, ast.List, ast.ListComp)) else f"({code})"
        )
        what = f"`{_short(code)}` is one argument, and Sequential expects an argument for each layer"
        edit = Replace(source.site(call), f"{function}(*{unpacked})")
        yield Fault.with_repair(source.site(call), what, "Unpack the layers", edit)


def _short(code: str) -> str:
    return code if len(code) < 40 and "\n" not in code else f"{code.splitlines()[0][:36]}…"


def _pairs(subject: Subject, given: ast.expr) -> bool:
    """Whether a list, if its elements are known, contains pairs of names and layers."""
    values = subject.source.bindings(given) if isinstance(given, (ast.Name, ast.Attribute)) else (given,)
    return any(
        isinstance(value, (ast.List, ast.Tuple)) and any(isinstance(one, ast.Tuple) for one in value.elts)
        for value in values
    )


def _as_layers(subject: Subject, crash: Crash, call: ast.Call, sequential: bool) -> tuple[Edit, ...] | None:
    """Edits that turn functions and classes among the layers into layers; `None` if there are none."""
    source = subject.source
    given = call.args
    if len(given) == 1 and not sequential and isinstance(given[0], (ast.List, ast.Tuple)):
        given = given[0].elts
    edits: list[Edit] = []
    for one in given:
        if not isinstance(one, (ast.Name, ast.Attribute)):
            continue
        name = source.qualified(one) or ""
        module, _, last = name.rpartition(".")
        told = crash.held_at(source.site(one))
        if module in ("torch", "torch.nn.functional") and last in _LAYERS:
            like = call.func
            named = spelling_edits.sibling(subject, like, _LAYERS[last])
            if named is None:
                return None
            edits += [Replace(source.site(one), f"{named[0]}()"), *named[1]]
        elif module == "torch.nn" and "Softmax" in last:
            return None  # it needs an axis
        elif module == "torch.nn" and last[:1].isupper() and (told is None or told.kind == "type"):
            edits.append(Wrap(source.site(one), "", "()"))
    return tuple(edits) or None


def _called_list(subject: Subject, call: ast.Call) -> Iterator[Fault]:
    """Turn a `ModuleList` that is called into a `Sequential`."""
    source = subject.source
    made = source.constructor(call.func)
    if made is None or source.qualified(made.func) != _LIST or made.keywords or len(made.args) > 1:
        return
    if len(call.args) != 1 or call.keywords:
        return
    named = spelling_edits.sibling(subject, made.func, "Sequential")
    if named is None:
        return
    code = subject.text(source.site(made.args[0])) if made.args else ""
    if "#" in code:
        return  # its comments would be lost
    if made.args and not isinstance(made.args[0], (ast.Name, ast.Attribute, ast.Call, ast.List, ast.ListComp)):
        code = f"({code})"
    edits = (Replace(source.site(made), f"{named[0]}({'*' if code else ''}{code})"), *named[1])
    what = f"`{ast.unparse(call.func)}` holds modules and does not define forward"
    yield Fault.with_repair(source.site(call), what, "Make them a Sequential", *edits)


def _to_list(subject: Subject, asked: ast.Attribute) -> Iterator[Fault]:
    """Every call of `model.layers.add(…)`."""
    source = subject.source
    edits: list[Edit] = []
    for call in source.all_calls:
        function = call.func
        listed = function.value if isinstance(function, ast.Attribute) and function.attr == "add" else None
        if isinstance(listed, ast.Attribute) and listed.attr == "layers" and ast.dump(function) == ast.dump(asked):
            model = subject.text(source.site(listed.value))
            edits.append(Replace(source.site(function), f"{model}.add"))
    owner = asked.value.value if isinstance(asked.value, ast.Attribute) else None
    if edits and owner is not None and changed_calls.receiver_is(source, owner, "keras.Model"):
        what = "the layers of a model are a list, which has no method add"
        yield Fault.with_repair(source.site(asked), what, "Add the layer to the model", *edits, prior=0.95)


def _odd_one(given: ast.expr) -> ast.expr:
    """The one element of a list of layers that is not a call; else the whole argument."""
    odd = [one for one in given.elts if not isinstance(one, ast.Call)] if isinstance(given, ast.List) else []
    return odd[0] if len(odd) == 1 else given


def _no_layer(subject: Subject, given: ast.expr, message: str) -> Iterator[Fault]:
    source = subject.source
    site = source.site(given)
    edits: tuple[Edit, ...] = ()
    name = source.qualified(given) or ""
    if isinstance(given, (ast.Name, ast.Attribute)) and name.startswith("keras.layers.") and "<class" in message:
        what = f"{ast.unparse(given)} is the class of a layer, not a layer"
        edits = (Wrap(site, "", "()"),) if name.rpartition(".")[2] in BARE else ()
        title = "Instantiate the class"
    elif isinstance(given, ast.Call) and isinstance(given.func, ast.Call) and "KerasTensor" in message:
        what, title = "the output of a layer is added instead of the layer", "Add the layer itself"
        fed = given.args[0] if len(given.args) == 1 else None
        before = source.bindings(fed) if isinstance(fed, ast.Name) else ()
        if not before or any(isinstance(one, ast.Call) and isinstance(one.func, ast.Call) for one in before):
            return  # the output of other layers would be lost
        edits = (Replace(site, subject.text(source.site(given.func))),)
    elif isinstance(given, ast.Constant) and given.value in ACTIVATIONS:
        what, title = f'"{given.value}" is the name of an activation, not a layer', "Add the activation as a layer"
        edits = _activation(subject, given)
    else:
        return
    yield Fault(site, what, ((title, edits, 0.95),) if edits else ())


def _activation(subject: Subject, given: ast.Constant) -> tuple[Edit, ...]:
    """Edits that turn the name of an activation into a layer, spelled as the other layers of the program."""
    source = subject.source
    others = [c.func for c in source.all_calls if (source.qualified(c.func) or "").startswith("keras.layers.")]
    found = spelling_edits.sibling(subject, others[0], "Activation") if others else None
    spelling = spell(subject, "keras.layers.Activation")
    code, imports = found if found is not None else (spelling.code, spelling.imports)
    return (Wrap(source.site(given), f"{code}(", ")"), *imports)
