"""A layer stands where its output is meant: it was made and never called."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    ACTIVATION_FORMS,
    Edit,
    Example,
    Family,
    FixPattern,
    Mend,
    Reject,
    Replace,
    SourceTemplate,
    Subject,
    Symptom,
    Wrap,
    component_kind,
    layer_facts,
    method,
    torch_modules,
    words,
)

MODELS = ("keras.Model", "keras.models.Model")
INPUTS = ("keras.Input", "keras.layers.Input", "keras.layers.InputLayer")
WRAPPERS = ("keras.layers.Bidirectional", "keras.layers.TimeDistributed", "keras.layers.RNN", "keras.layers.Wrapper")
BARE_KINDS = frozenset({"shape", "dropout"})
MERGES = words("Concatenate Add Multiply Average Maximum Minimum Subtract")
"""Layers of Keras that take a list of tensors when they are called."""


class LayerNotCalled(SourceTemplate):
    """A layer object is used as if it were a tensor, or a tensor is given to a layer's constructor.

    `Dense(8)` makes a layer; `Dense(8)(x)` is its output. Where the second call is missing, the next layer or the model
    is given an object that nothing was computed with; where the tensor is given to the constructor (`nn.ReLU(x)`), it is
    taken for one of its settings.

    Fix safety: unsafe. The layer becomes part of the network, which is the point.

    References: keras.layers.Layer (`__call__`); torch.nn.Module.
    """

    code = "DNF411"
    name = "layer-not-called"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    declined = "no tensor stands before the layer, so what it should take cannot be told"
    confidence = 0.9

    def mends(self, subject: Subject) -> Iterator[Mend]:
        for made in _uncalled(subject):
            site, name = subject.source.site(made), subject.text(subject.source.site(made.func))
            text = subject.text(site)
            short = text if len(text) < 60 else f"{text[:57]}..."
            what = f"`{name}` is made but not called: `{short}` is a layer, no tensor"
            yield Mend(site, what, tuple(_calling(subject, made, name)), shows=Symptom.CRASH if subject.crash is not None else None)

    examples = (
        Example(
            "a layer between two others",
            """\
from keras.layers import Dense, Dropout, Input
from keras.models import Model

inputs = Input(shape=(4,))
x = Dense(8)(inputs)
- dropped = Dropout(0.5)
+ dropped = Dropout(0.5)(x)
y = Dense(2)(dropped)
model = Model(inputs, y)
""",
        ),
        Example(
            "the output of a model, and a tensor given to the constructor",
            """\
import tensorflow as tf
from tensorflow.keras.layers import Dense, Flatten

def build():
    inp = tf.keras.Input((4, 4))
-     h = Flatten(inp)
+     h = Flatten()(inp)
    out = Dense(3, activation="softmax")(h)
    return tf.keras.Model(inputs=inp, outputs=out)
""",
        ),
        Example(
            "tensors that are to be joined",
            """\
from keras.layers import Concatenate, Dense, Input
from keras.models import Model

one, other = Input((4,)), Input((6,))
left = Dense(8)(one)
right = Dense(8)(other)
- joined = Concatenate([left, right], axis=1)
+ joined = Concatenate(axis=1)([left, right])
model = Model([one, other], Dense(1)(joined))
""",
        ),
        Example(
            "an activation of torch",
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 2)

    def forward(self, x):
-         x = nn.ReLU(self.fc1(x))
+         x = nn.ReLU()(self.fc1(x))
        return self.fc2(x)
""",
        ),
    )
    rejects = (
        Reject(
            "layers that are kept and called later, and one that another wraps",
            """\
from keras.layers import LSTM, Bidirectional, Dense, Input
from keras.models import Model

inputs = Input(shape=(5, 4))
cell = LSTM(8)
x = Bidirectional(cell)(inputs)
last = Dense(2)
model = Model(inputs, last(x))
""",
        ),
        Reject(
            "settings of layers in forward",
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = 0.5
        self.fc = nn.Linear(4, 2)

    def forward(self, x, axis):
        x = nn.Dropout(self.p)(self.fc(x))
        return nn.Softmax(axis)(nn.ReLU(True)(x))
""",
        ),
    )


def _calling(subject: Subject, made: ast.Call, name: str) -> Iterator[tuple[str, tuple[Edit, ...], float]]:
    """The repair that calls a layer: on the tensor that its constructor is given, else on the last one before it."""
    site, before = subject.source.site(made), _last_tensor(subject, made)
    if _takes_tensor(subject, made):
        if "#" in subject.text(site):
            return  # the comments among the arguments would be lost
        tensor = subject.text(subject.source.site(made.args[0]))
        settings = ", ".join(f"{k.arg}={ast.unparse(k.value)}" for k in made.keywords)
        needs_axis = not settings and name.rpartition(".")[2] in ("Softmax", "LogSoftmax")
        text = f"{name}({'dim=1' if needs_axis else settings})({tensor})"
        yield f"Call the layer: {text}", (Replace(site, text),), 0.9
    elif before is not None:
        yield f"Call the layer on `{before}`", (Wrap(site, "", f"({before})"),), 0.8


def _uncalled(subject: Subject) -> Iterator[ast.Call]:
    """The constructor calls whose layer stands in the place of a tensor, in source order."""
    source = subject.source
    found: dict[ast.Call, None] = {}
    for call in source.all_calls:
        if _takes_tensor(subject, call):
            found[call] = None
            continue
        for given in _places(subject, call):
            value = given
            if isinstance(given, ast.Name):
                values = source.bindings(given, call)
                value = values[0] if len(values) == 1 else given
            if isinstance(value, ast.Call) and _makes_layer(subject, value):
                found[value] = None
    yield from sorted(found, key=lambda each: (each.lineno, each.col_offset))


def _places(subject: Subject, call: ast.Call) -> Iterator[ast.expr]:
    """The expressions of a call that have to be Keras tensors."""
    source = subject.source
    name = source.qualified(call.func)
    if name in MODELS:
        given = [*call.args[:2], *(k.value for k in call.keywords if k.arg in ("inputs", "outputs"))]
    elif (
        isinstance(call.func, ast.Call)
        and (source.qualified(call.func.func) or "").startswith("keras.layers.")
        or name in ("keras.layers.add", "keras.layers.concatenate", "keras.layers.multiply", "keras.layers.average")
    ):
        given = call.args[:1]
    else:
        return
    for each in given:
        yield from each.elts if isinstance(each, (ast.List, ast.Tuple)) else [each]


def _makes_layer(subject: Subject, call: ast.Call) -> bool:
    name = subject.source.qualified(call.func) or ""
    short = name.rpartition(".")[2]
    return name.startswith("keras.layers.") and short[:1].isupper() and name not in INPUTS and name not in WRAPPERS


def _takes_tensor(subject: Subject, call: ast.Call) -> bool:
    """Whether a constructor of a layer that takes hardly any setting is given a tensor as its only one."""
    name = subject.source.qualified(call.func) or ""
    if len(call.args) != 1 or component_kind(name) != "layer":
        return False
    parent = subject.source.parent(call)
    if isinstance(parent, ast.Starred) or (isinstance(parent, ast.Call) and parent.func is call):
        return False
    given = call.args[0]
    if name.removeprefix("keras.layers.") in MERGES and isinstance(given, ast.List | ast.Tuple):
        return bool(given.elts) and all(_is_tensor(subject, each, call) for each in given.elts)
    facts = layer_facts(name)
    if name not in ACTIVATION_FORMS and (facts is None or facts.kind not in BARE_KINDS):
        return False
    if name in ("keras.layers.Activation", "keras.layers.Reshape", "keras.layers.Permute", "keras.layers.RepeatVector"):
        return False
    return _is_tensor(subject, call.args[0], call)


def _is_tensor(subject: Subject, expr: ast.expr, at: ast.Call) -> bool:
    """Whether an expression is surely a tensor of the network: an `Input`, a layer's output, what `forward` takes."""
    source = subject.source
    owner, function = source.enclosing(at, ast.ClassDef), source.enclosing(at, ast.FunctionDef)
    in_forward = owner in torch_modules(source) and owner is not None and function is method(owner, "forward")
    if isinstance(expr, ast.Name):
        if in_forward and function is not None:
            taken = [each.arg for each in function.args.args[1:2]]
            if expr.id in taken and not function.args.defaults:
                return True
        values = source.bindings(expr, at)
        return len(values) == 1 and isinstance(values[0], ast.Call) and _is_tensor(subject, values[0], at)
    if not isinstance(expr, ast.Call):
        return False
    if source.qualified(expr.func) in ("keras.Input", "keras.layers.Input"):
        return True
    made = expr.func if isinstance(expr.func, ast.Call) else source.constructor(expr.func) if in_forward else None
    return made is not None and component_kind(source.qualified(made.func) or "") == "layer"


def _last_tensor(subject: Subject, made: ast.Call) -> str | None:
    """The name that the last tensor before the layer was given, in the same block of statements."""
    source = subject.source
    statement = source.statement_of(made)
    block = getattr(source.parent(statement), "body", [])
    for earlier in reversed(block[: block.index(statement)] if statement in block else []):
        if isinstance(earlier, ast.Assign) and isinstance(earlier.targets[0], ast.Name):
            value = earlier.value
            if isinstance(value, ast.Call) and _is_tensor(subject, value, value):
                return earlier.targets[0].id
    return None
