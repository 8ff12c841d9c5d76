"""Something that is no layer is added to a Keras `Sequential`: a class, a tensor, or the name of an activation."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Decline,
    Edit,
    Example,
    Family,
    FixPattern,
    Mend,
    Reject,
    Repairs,
    Replace,
    Subject,
    Wrap,
    receiver_is,
    sibling,
    spell,
    words,
)

REFUSED = "can be added to a Sequential model"
"""Keras 3 says that only layers can be."""
LISTED = "'list' object has no attribute 'add'"

BARE = words(
    "Flatten BatchNormalization LayerNormalization ReLU LeakyReLU PReLU ELU Softmax MaxPooling1D MaxPooling2D MaxPool2D "
    "MaxPool1D MaxPooling3D AveragePooling1D AveragePooling2D GlobalAveragePooling1D GlobalAveragePooling2D "
    "GlobalMaxPooling1D GlobalMaxPooling2D"
)
"""Layers that are usually made without arguments."""

ACTIVATIONS = words("relu sigmoid tanh softmax softplus elu selu gelu swish silu linear")


class NoLayerAdded(CrashTemplate):
    """Something that is no layer is added to a Keras `Sequential`: a class, a tensor, or the name of an activation.

    `model.add(Flatten)` adds the class where `Flatten()` makes a layer. `model.add(Dense(8)(x))` adds the output of a
    layer; the model calls its layers itself. `model.add("relu")` names an activation, for which there is a layer. And
    `model.layers.add(…)` asks the list of the layers for what the model does.

    Fix safety: unsafe. The line could not run before.

    References: keras.Sequential.add.
    """

    code = "DNF458"
    name = "no-layer-added"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"ValueError", "TypeError", "AttributeError"})
    confidence = 0.95
    declined = "the arguments that the layer is made with are not known"

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site)
        if LISTED in crash.message and isinstance(node, ast.Attribute):
            yield from _to_list(subject, node)
        if REFUSED not in crash.message or not isinstance(node, ast.Call) or len(node.args) != 1:
            return
        given = node.args[0]
        if not (isinstance(node.func, ast.Attribute) and node.func.attr == "add"):
            given = _odd_one(subject, given) or given
        yield from _no_layer(subject, given, crash.message)

    def repairs(self, subject: Subject, fault: Mend) -> Repairs:
        if not fault.repairs:
            yield Decline(self.declined)
        yield from fault.repairs

    examples = (
        Example(
            "the output of a layer",
            """\
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
""",
            runs=True,
        ),
        Example(
            "the name of an activation",
            """\
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
""",
            runs=True,
        ),
        Example(
            "a class in the list of layers",
            """\
import keras
import numpy as np
from keras import layers

- model = keras.Sequential([keras.Input((2, 3)), layers.Flatten, layers.Dense(1)])
+ model = keras.Sequential([keras.Input((2, 3)), layers.Flatten(), layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((4, 2, 3)), np.ones((4, 1)), verbose=0)
""",
            runs=True,
        ),
        Example(
            "the list of the layers",
            """\
import keras
import numpy as np

model = keras.Sequential()
- model.layers.add(keras.layers.Dense(3))
- model.layers.add(keras.layers.Dense(1))
+ model.add(keras.layers.Dense(3))
+ model.add(keras.layers.Dense(1))
model.compile("sgd", "mse")
model.fit(np.ones((4, 3)), np.ones((4, 1)), verbose=0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "layers",
            """\
import keras
import numpy as np

model = keras.Sequential()
model.add(keras.layers.Flatten())
model.add(keras.layers.Dense(1))
print(model.predict(np.ones((2, 3)), verbose=0))
""",
            runs=True,
        ),
        Reject(
            "the output of two layers, of which one would be lost",
            """\
import keras
from keras import layers

given = keras.Input((3,))
model = keras.Sequential()
model.add(given)
model.add(layers.Dropout(0.2)(layers.Dense(4)(given)))
""",
            runs=True,
        ),
        Reject(
            "something unknown",
            """\
import keras

model = keras.Sequential()
model.add(3)
""",
            runs=True,
        ),
        Reject(
            "a list of the program's own",
            """\
import keras

found = []
found.add(keras.layers.Dense(1))
""",
            runs=True,
        ),
    )


def _to_list(subject: Subject, asked: ast.Attribute) -> Iterator[Mend]:
    """`model.layers.add(…)`, at each place."""
    source = subject.source
    edits: list[Edit] = []
    for call in source.all_calls:
        function = call.func
        listed = function.value if isinstance(function, ast.Attribute) and function.attr == "add" else None
        if isinstance(listed, ast.Attribute) and listed.attr == "layers" and ast.dump(function) == ast.dump(asked):
            model = subject.text(source.site(listed.value))
            edits.append(Replace(source.site(function), f"{model}.add"))
    owner = asked.value.value if isinstance(asked.value, ast.Attribute) else None
    if edits and owner is not None and receiver_is(source, owner, "keras.Model"):
        what = "the layers of a model are a list without `add`; the model itself has the method"
        yield Mend(source.site(asked), what, (("Add the layer to the model", tuple(edits), 0.95),))


def _odd_one(subject: Subject, given: ast.expr) -> ast.expr | None:
    """The one element of a list of layers that is no call, where the model is given the list."""
    odd = [one for one in given.elts if not isinstance(one, ast.Call)] if isinstance(given, ast.List) else []
    return odd[0] if len(odd) == 1 else None


def _no_layer(subject: Subject, given: ast.expr, message: str) -> Iterator[Mend]:
    source = subject.source
    site = source.site(given)
    edits: tuple[Edit, ...] = ()
    name = source.qualified(given) or ""
    if isinstance(given, (ast.Name, ast.Attribute)) and name.startswith("keras.layers.") and "<class" in message:
        what = f"{ast.unparse(given)} is the class of a layer and no layer"
        edits = (Wrap(site, "", "()"),) if name.rpartition(".")[2] in BARE else ()
        title = "Make a layer of the class"
    elif isinstance(given, ast.Call) and isinstance(given.func, ast.Call) and "KerasTensor" in message:
        what, title = "the output of a layer is added instead of the layer", "Add the layer itself"
        fed = given.args[0] if len(given.args) == 1 else None
        before = source.bindings(fed) if isinstance(fed, ast.Name) else ()
        if not before or any(isinstance(one, ast.Call) and isinstance(one.func, ast.Call) for one in before):
            return  # what other layers give would be lost with them
        edits = (Replace(site, subject.text(source.site(given.func))),)
    elif isinstance(given, ast.Constant) and given.value in ACTIVATIONS:
        what, title = f'"{given.value}" is the name of an activation and no layer', "Add the layer of the activation"
        edits = _activation(subject, given)
    else:
        return
    yield Mend(site, what, ((title, edits, 0.95),) if edits else ())


def _activation(subject: Subject, given: ast.Constant) -> tuple[Edit, ...]:
    """The edits that make a layer of an activation's name, written as the program writes its other layers."""
    source = subject.source
    others = [c.func for c in source.all_calls if (source.qualified(c.func) or "").startswith("keras.layers.")]
    found = sibling(subject, others[0], "Activation") if others else None
    spelling = spell(subject, "keras.layers.Activation")
    code, imports = found if found is not None else (spelling.code, spelling.imports)
    return (Wrap(source.site(given), f"{code}(", ")"), *imports)
