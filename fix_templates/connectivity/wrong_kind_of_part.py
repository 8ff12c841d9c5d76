"""A layer, a model or a tuple is used where a tensor is expected, or a tensor where a model is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Delete,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertBefore,
    ReadTemplate,
    Repair,
    Replace,
    Source,
    Subject,
    Symptom,
    Wrap,
    graph,
    layer_facts,
    network_facts,
    raised_errors,
    spell,
    trees,
    within,
    words,
)

MODELS = ("keras.Model", "keras.models.Model")
_INPUTS = ("keras.Input", "keras.layers.Input")
INPUTS = (*_INPUTS, "keras.layers.InputLayer")
WRAPPERS = ("keras.layers.Bidirectional", "keras.layers.TimeDistributed", "keras.layers.RNN", "keras.layers.Wrapper")
BARE_KINDS = frozenset({"shape", "dropout"})
MERGES = words("Concatenate Add Multiply Average Maximum Minimum Subtract")
"""Keras layers that are called on a list of tensors."""

_JOINING = frozenset(
    f"keras.layers.{name}" for name in ("Add", "Average", "Concatenate", "Dot", "Maximum", "Multiply", "Subtract")
)
_FUNCTIONS = frozenset(name.lower() for name in _JOINING)
_KINDS = frozenset({"keras.Sequential", "keras.models.Sequential", "keras.Model", "keras.models.Model"})

_PAIRS = frozenset(f"torch.nn.{name}" for name in ("LSTM", "GRU", "RNN", "LSTMCell", "MultiheadAttention"))
_WITH_PLACES = frozenset({"max", "min", "median", "mode", "sort", "topk", "kthvalue", "cummax"})
"""Functions of torch that return values and indices, some of them only when called with an axis."""
_SAYS = (
    r"not (tuple|torch\.return_types)|'tuple' object has no attribute|'torch\.return_types\.\w+' object has no attribute"
    r"|'(max|min|topk|sort|median)' object has no attribute|Received: \(|tuple indices must be"
    r"|unsupported operand type\(s\) for .*'tuple'|expects 1 input\(s\), but it received 2"
)


class WrongKindOfPart(ReadTemplate):
    """A layer, a model or a tuple is used where a tensor is expected, or a tensor where a model is.

    `Dense(8)` creates a layer; `Dense(8)(x)` is its output. Without the second call, the next layer or the model gets
    the layer instead of a tensor; with a tensor as argument of the constructor (`nn.ReLU(x)`), it is read as a setting.

    `Concatenate([left, right])` of two models, often the first layer of a third: a merging layer is called on tensors,
    and its constructor takes settings. The outputs of the models are joined, and a sequential model that begins with
    the join becomes a functional one with the inputs of both.

    The output of the last layer is compiled or trained, instead of a model from the inputs to it.

    `nn.LSTM` returns the outputs of all steps and its last states; `torch.max(x, dim)` the values and their indices.
    Used like one tensor, they are replaced by the first.

    Fix safety: unsafe. The layer becomes part of the network; the program could not run before.

    References: keras.layers.Layer (`__call__`); torch.nn.Module; keras.layers.Concatenate, keras.Model (functional
    API); torch.nn.LSTM ("Outputs"), torch.max.
    """

    code = "DNF411"
    name = "wrong-kind-of-part"
    formerly = (
        "layer-not-called",
        "DNF425",
        "tensor-taken-for-model",
        "DNF435",
        "tuple-taken-for-tensor",
        "DNF437",
        "models-joined-as-tensors",
    )
    message = "layer, tensor and model are confused: {what}"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    symptom = Symptom.CRASH
    confidence = 0.95
    declined = "where the other object is created, or its input, is not known"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for made in _uncalled(subject):
            yield _of_layer(subject, made)
        for call in source.all_calls if not subject.ran or subject.crash is not None else ():
            joined = _joined(source, call)
            if joined is not None:
                text, branches = joined
                models = ", ".join(f"`{name}`" for name in branches)
                what = f"`{ast.unparse(call)}` joins the models {models}, and tensors are expected"
                edits = _edits(subject, call, text, branches)
                yield Fault(source.site(call), what, (("Join the outputs of the models", edits, 0.9),))
        if "keras" in source.words:
            yield from _of_tensor(subject)
        node = raised_errors.raised_at(subject, "TypeError AttributeError ValueError", _SAYS)
        if node is not None and "torch" in source.frameworks:
            yield from _of_pair(subject, node)

    programs = """
=== example: a layer between two others
from keras.layers import Dense, Dropout, Input
from keras.models import Model

inputs = Input(shape=(4,))
x = Dense(8)(inputs)
- dropped = Dropout(0.5)
+ dropped = Dropout(0.5)(x)
y = Dense(2)(dropped)
model = Model(inputs, y)

=== example: the output of a model, and a tensor passed to the constructor
import tensorflow as tf
from tensorflow.keras.layers import Dense, Flatten

def build():
    inp = tf.keras.Input((4, 4))
-     h = Flatten(inp)
+     h = Flatten()(inp)
    out = Dense(3, activation="softmax")(h)
    return tf.keras.Model(inputs=inp, outputs=out)

=== example: tensors that are to be joined
from keras.layers import Concatenate, Dense, Input
from keras.models import Model

one, other = Input((4,)), Input((6,))
left = Dense(8)(one)
right = Dense(8)(other)
- joined = Concatenate([left, right], axis=1)
+ joined = Concatenate(axis=1)([left, right])
model = Model([one, other], Dense(1)(joined))

=== example: an activation of torch
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

=== example: a third model that begins with the join
from keras.layers import Concatenate, Dense, Input
from keras.models import Model, Sequential

left = Sequential([Input((2,)), Dense(4)])
right = Sequential([Input((3,)), Dense(4)])
- merged = Concatenate([left, right])
- net = Sequential()
- net.add(merged)
- net.add(Dense(8, activation="relu"))
- net.add(Dense(1))
+ merged = Concatenate()([left.outputs[0], right.outputs[0]])
+ merged = Dense(8, activation="relu")(merged)
+ net = Model([left.inputs[0], right.inputs[0]], Dense(1)(merged))
net.compile(loss="mse", optimizer="adam")

=== example: the join written into the third model, with its axis
import keras
from keras.layers import Concatenate, Dense

def build():
    words = keras.Sequential([keras.Input((5,)), Dense(4)])
    image = keras.Sequential([keras.Input((7,)), Dense(4)])
-     both = keras.Sequential()
-     both.add(Concatenate([words, image], axis=1))
-     both.add(Dense(2))
+     joined = Concatenate(axis=1)([words.outputs[0], image.outputs[0]])
+     both = keras.Model([words.inputs[0], image.inputs[0]], Dense(2)(joined))
    return both

=== example: a function, in the functional way
from keras.layers import Dense, Input, concatenate
from keras.models import Model, Sequential

a = Sequential([Input((2,)), Dense(4)])
b = Sequential([Input((2,)), Dense(4)])
- x = concatenate([a, b])
+ x = concatenate([a.outputs[0], b.outputs[0]])
model = Model([a.inputs[0], b.inputs[0]], Dense(1)(x))

=== example (runs): a builder that returns a tensor
import numpy as np
from keras.layers import Dense, Input
from keras.models import Model

def build(size):
    inputs = Input((size,))
    x = Dense(4, activation="relu")(inputs)
-     return Dense(1)(x)
+     return Model(inputs, Dense(1)(x))

model = build(3)
model.compile(loss="mse", optimizer="sgd")
model.fit(np.zeros((4, 3)), np.zeros((4, 1)), verbose=0)

=== example (runs): a script
import keras

start = keras.Input((4,))
net = keras.layers.Dense(8)(start)
net = keras.layers.Dense(2)(net)
+ net = keras.Model(start, net)
net.compile("adam", "mse")
print(net.count_params())

=== example (runs): used on the spot
import torch

gru = torch.nn.GRU(3, 4)
head = torch.nn.Linear(4, 2)
- print(head(gru(torch.randn(5, 2, 3))))
+ print(head(gru(torch.randn(5, 2, 3))[0]))

=== example (runs): a maximum over the steps
import torch
import torch.nn as nn

class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 4, 3)
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
-         strongest = torch.max(self.conv(x), 2)
+         strongest, _ = torch.max(self.conv(x), 2)
        return self.fc(strongest)

Pool()(torch.randn(2, 2, 7))

=== reject: layers that are kept and called later, and one that another wraps
from keras.layers import LSTM, Bidirectional, Dense, Input
from keras.models import Model

inputs = Input(shape=(5, 4))
cell = LSTM(8)
x = Bidirectional(cell)(inputs)
last = Dense(2)
model = Model(inputs, last(x))

=== reject: settings of layers in forward
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = 0.5
        self.fc = nn.Linear(4, 2)

    def forward(self, x, axis):
        x = nn.Dropout(self.p)(self.fc(x))
        return nn.Softmax(axis)(nn.ReLU(True)(x))

=== reject: outputs that are joined
from keras.layers import Concatenate, Dense, Input, concatenate
from keras.models import Model, Sequential

a = Sequential([Input((2,)), Dense(4)])
b = Sequential([Input((2,)), Dense(4)])
both = Concatenate()([a.outputs[0], b.outputs[0]])
x, y = Input((2,)), Input((2,))
again = concatenate([a(x), b(y)])

=== reject: arrays that are joined, and a list of sizes
import numpy as np
from keras.layers import Add, Dot
from keras.models import Sequential

left, right = np.zeros((2, 2)), np.ones((2, 2))
both = np.concatenate([left, right])
score = Dot([1, 2])

=== reject (runs): a model
import keras

start = keras.Input((4,))
net = keras.Model(start, keras.layers.Dense(2)(start))
net.compile("adam", "mse")

=== reject (runs): another mistake with a model
import keras

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
net.compiled_with("adam")

=== reject (runs): the tuple unpacked
import torch

gru = torch.nn.GRU(3, 4)
out, state = gru(torch.randn(5, 2, 3))
best = torch.max(out, 2)
print(torch.nn.Linear(4, 2)(out), best.values)

=== reject (runs): a tuple of another origin
import torch

def both(x):
    return x, x

print(torch.nn.Linear(3, 2)(both(torch.randn(2, 3))))
"""


def _of_layer(subject: Subject, made: ast.Call) -> Fault:
    """A layer where a tensor is expected."""
    site, name = subject.source.site(made), subject.text(subject.source.site(made.func))
    what = f"`{name}` is a layer that is not called, and a tensor is expected"
    shows = Symptom.CRASH if subject.crash is not None else Symptom.VIOLATION
    return Fault(site, what, tuple(_calling(subject, made, name)), confidence=0.9, symptom=shows)


def _calling(subject: Subject, made: ast.Call, name: str) -> Iterator[Repair]:
    """The repair that calls a layer: on the argument of its constructor, else on the last tensor before it."""
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
    """The constructor calls whose layer is used as a tensor, in source order."""
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
    """The arguments of a call that have to be Keras tensors."""
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
    """Whether the only argument of a layer's constructor is a tensor."""
    name = subject.source.qualified(call.func) or ""
    if len(call.args) != 1 or network_facts.component_kind(name) != "layer":
        return False
    parent = subject.source.parent(call)
    if isinstance(parent, ast.Starred) or (isinstance(parent, ast.Call) and parent.func is call):
        return False
    given = call.args[0]
    if name.removeprefix("keras.layers.") in MERGES and isinstance(given, ast.List | ast.Tuple):
        return bool(given.elts) and all(_is_tensor(subject, each, call) for each in given.elts)
    facts = layer_facts(name)
    if name not in network_facts.ACTIVATION_FORMS and (facts is None or facts.kind not in BARE_KINDS):
        return False
    if name in ("keras.layers.Activation", "keras.layers.Reshape", "keras.layers.Permute", "keras.layers.RepeatVector"):
        return False
    return _is_tensor(subject, call.args[0], call)


def _is_tensor(subject: Subject, expr: ast.expr, at: ast.Call) -> bool:
    """Whether an expression surely is a tensor: an `Input`, the output of a layer, the argument of `forward`."""
    source = subject.source
    owner, function = source.enclosing(at, ast.ClassDef), source.enclosing(at, ast.FunctionDef)
    in_forward = (
        owner in graph.torch_modules(source) and owner is not None and function is graph.method(owner, "forward")
    )
    if isinstance(expr, ast.Name):
        if in_forward and function is not None:
            taken = [each.arg for each in function.args.args[1:2]]
            if expr.id in taken and not function.args.defaults:
                return True
        values = source.bindings(expr, at)
        return len(values) == 1 and isinstance(values[0], ast.Call) and _is_tensor(subject, values[0], at)
    if not isinstance(expr, ast.Call):
        return False
    if source.qualified(expr.func) in _INPUTS:
        return True
    made = expr.func if isinstance(expr.func, ast.Call) else source.constructor(expr.func) if in_forward else None
    return made is not None and network_facts.component_kind(source.qualified(made.func) or "") == "layer"


def _last_tensor(subject: Subject, made: ast.Call) -> str | None:
    """The name of the last tensor computed before the layer, in the same block."""
    source = subject.source
    statement = source.statement_of(made)
    block = getattr(source.parent(statement), "body", [])
    for earlier in reversed(block[: block.index(statement)] if statement in block else []):
        if isinstance(earlier, ast.Assign) and isinstance(earlier.targets[0], ast.Name):
            value = earlier.value
            if isinstance(value, ast.Call) and _is_tensor(subject, value, value):
                return earlier.targets[0].id
    return None


def _joined(source: Source, call: ast.Call) -> tuple[str, tuple[str, ...]] | None:
    """The replacement of a call that joins models, and the names of the models."""
    given = call.args[0] if call.args else None
    if not isinstance(given, (ast.List, ast.Tuple)) or len(given.elts) < 2:
        return None
    name = source.qualified(call.func) or ""
    branches = [each.id for each in given.elts if isinstance(each, ast.Name) and _is_model(source, each)]
    if len(branches) != len(given.elts):
        return None
    outputs = f"[{', '.join(f'{branch}.outputs[0]' for branch in branches)}]"
    settings = ", ".join(ast.unparse(keyword) for keyword in call.keywords)
    maker = call.func.func if isinstance(call.func, ast.Call) else None
    if name in _JOINING and len(call.args) == 1:
        return f"{ast.unparse(call.func)}({settings})({outputs})", tuple(branches)
    if name in _FUNCTIONS or (maker is not None and source.qualified(maker) in _JOINING):
        text = f"{ast.unparse(call.func)}({', '.join([outputs, *([settings] if settings else [])])})"
        return text, tuple(branches)
    return None


def _is_model(source: Source, name: ast.Name) -> bool:
    made = source.constructor(name)
    return made is not None and source.qualified(made.func) in _KINDS


def _edits(subject: Subject, expr: ast.Call, joined: str, branches: tuple[str, ...]) -> tuple[Edit, ...] | None:
    source = subject.source
    own = source.statement_of(expr)
    adds = _added_to(source, own)
    if isinstance(own, ast.Assign) and own.value is expr and isinstance(own.targets[0], ast.Name):
        tensor = own.targets[0].id
        users = [call for call in source.all_calls if _adds(call) and ast.unparse(call.args[0]) == tensor]
        if not users:
            return (Replace(source.site(expr), joined),)
        adds = _added_to(source, source.statement_of(users[0]))
        edits: list[Edit] = [Replace(source.site(expr), joined)]
        if adds is not None:
            edits.append(Delete(source.site(adds[1])))
    elif adds is not None:
        tensor = "joined" if "joined" not in source.words else "joined_branches"
        edits = [Replace(source.site(own), f"{tensor} = {joined}")]
    else:
        return None
    if adds is None or len(adds) < 3:
        return None
    model = spell(subject, "keras.Model")
    if any(name == "Model" and full.endswith("keras.models.Model") for name, full in source.imported_names):
        model = spell(subject, "keras.models.Model")
    edits.append(Delete(source.site(adds[0])))
    for statement, call in _added(adds)[1:]:
        layer = source.segment(source.site(call.args[0]))
        text = f"{tensor} = {layer}({tensor})"
        if statement is adds[-1]:
            inputs = ", ".join(f"{branch}.inputs[0]" for branch in branches)
            text = f"{trees.receiver(call)} = {model.code}([{inputs}], {layer}({tensor}))"
        edits.append(Replace(source.site(statement), text))
    return (*edits, *model.imports)


def _adds(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "add" and len(call.args) == 1


def _added(block: list[ast.stmt]) -> list[tuple[ast.stmt, ast.Call]]:
    """The statements of a block that add a layer to a model, with the call."""
    found = ((node, node.value) for node in block if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
    return [(node, call) for node, call in found if _adds(call)]


def _added_to(source: Source, first: ast.stmt) -> list[ast.stmt] | None:
    """The statement that creates an empty sequential model, and those that add its layers; `first` adds the first."""
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Call) or not _adds(first.value):
        return None
    name = trees.receiver(first.value)
    block = getattr(source.parent(first), "body", [])
    made = [
        node
        for node in block
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == name
        and isinstance(node.value, ast.Call)
        and source.qualified(node.value.func) in ("keras.Sequential", "keras.models.Sequential")
        and not node.value.args
        and not node.value.keywords
    ]
    own = [node for node, call in _added(block) if trees.receiver(call) == name]
    every = [call for call in source.all_calls if _adds(call) and ast.unparse(call.func) == f"{name}.add"]
    if len(made) != 1 or not own or own[0] is not first or len(every) != len(own):
        return None
    return [made[0], *own]


def _of_tensor(subject: Subject) -> Iterator[Fault]:
    """A Keras tensor used as a model: a method of the model that ends with it is called on it."""
    source = subject.source
    node = raised_errors.raised_at(subject, "AttributeError", r"KerasTensor' object has no attribute")
    function = node.func if isinstance(node, ast.Call) else node
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return
    read = function.value
    values = [each.value for each in _assigned(source, read)]
    built = source.definition(values[-1].func) if values and isinstance(values[-1], ast.Call) else None
    model = spell(subject, "keras.Model")
    if any(name == "Model" and full.startswith("keras") for name, full in source.imported_names):
        model = spell(subject, "keras.models.Model")
    edits: tuple[Edit, ...] | None = None
    if isinstance(built, ast.FunctionDef):
        ends = [each.value for each in within(built, ast.Return) if each.value is not None]
        inputs = _inputs(source, ends[0]) if len(ends) == 1 else None
        if inputs is not None:
            edits = (Wrap(source.site(ends[0]), f"{model.code}({inputs}, ", ")"), *model.imports)
    elif values and (inputs := _inputs(source, read)) is not None:
        made = f"{read.id} = {model.code}({inputs}, {read.id})"
        edits = (InsertBefore(source.site(source.statement_of(read)), made), *model.imports)
    what = f"`{read.id}` is a tensor, and `{function.attr}` is a method of models"
    yield Fault(source.site(function), what, (("Create a model from the inputs to the tensor", edits, 0.9),))


def _assigned(source: Source, name: ast.Name) -> list[ast.Assign]:
    """The assignments to a name before the statement that reads it, in its function or the module."""
    function = source.enclosing(name, ast.FunctionDef)
    return [
        node
        for node in within(function or source.tree, ast.Assign)
        if source.enclosing(node, ast.FunctionDef) is function
        and node.lineno < name.lineno
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == name.id
    ]


def _inputs(source: Source, tensor: ast.expr) -> str | None:
    """The source text of the inputs that a tensor is computed from; `None` if one has no name of its own."""
    scope = source.enclosing(tensor, ast.FunctionDef) or source.tree
    made = [
        node
        for node in within(scope, ast.Assign)
        if (source.enclosing(node, ast.FunctionDef) or source.tree) is scope and node.lineno <= tensor.lineno
    ]
    waiting = trees.names_in(tensor)
    seen: set[str] = set()
    inputs: list[tuple[int, str]] = []
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for node in made:
            targets = [each.id for target in node.targets for each in within(target, ast.Name)]
            if name not in targets:
                continue
            if isinstance(node.value, ast.Call) and source.qualified(node.value.func) in _INPUTS:
                inputs.append((node.lineno, name))
                if sum(name in [e.id for t in other.targets for e in within(t, ast.Name)] for other in made) > 1:
                    return None
            waiting.update(each.id for each in within(node.value, ast.Name))
    names = [name for _, name in sorted(inputs)]
    return None if not names else names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def _of_pair(subject: Subject, node: ast.expr | ast.stmt) -> Iterator[Fault]:
    """A tuple of tensors where one is expected."""
    source = subject.source
    found = _made_here(source, node) or _made_before(source, node) or _made_in_layer(subject)
    if found is not None:
        call, target = found
        taken = any(each.id == "_" and isinstance(each.ctx, ast.Load) for each in source.nodes(ast.Name))
        edit: Edit = Wrap(source.site(call), "", "[0]")
        if target is not None and not taken:
            edit = Replace(source.site(target), f"{target.id}, _")
        what = f"`{ast.unparse(call.func)}` returns several tensors, and one is expected"
        yield Fault.with_repair(source.site(call), what, "Use the first of them", edit, prior=0.85)


_Pair = tuple[ast.Call, ast.Name | None]
"""The call that returns a tuple, and the target it is assigned to, if any."""


def _gives_pair(source: Source, expr: ast.expr) -> bool:
    if not isinstance(expr, ast.Call):
        return False
    made = source.constructor(expr.func) if not isinstance(expr.func, ast.Call) else expr.func
    if made is not None and source.qualified(made.func) in _PAIRS:
        return True
    name = source.qualified(expr.func) or ""
    if name.startswith("torch.") and name.count(".") == 1 and name.rpartition(".")[2] in _WITH_PLACES:
        second = expr.args[1:2] + [k.value for k in expr.keywords if k.arg in ("dim", "axis", "k")]
        return bool(second) or name.rpartition(".")[2] in ("sort", "topk", "kthvalue")
    return False


def _made_here(source: Source, node: ast.AST) -> _Pair | None:
    """The call that returns a tuple, if it is part of the failing expression."""
    parts: list[ast.expr] = []
    if isinstance(node, ast.Call):
        parts = [*node.args]
        if isinstance(node.func, ast.Attribute):
            parts.append(node.func.value)
    elif isinstance(node, ast.Attribute):
        parts = [node.value]
    elif isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    for part in parts:
        if isinstance(part, ast.Call) and _gives_pair(source, part):
            return part, None
    return None


def _made_before(source: Source, node: ast.expr | ast.stmt) -> _Pair | None:
    """The call whose tuple a name in the failing expression is bound to."""
    scope = source.enclosing(node, ast.FunctionDef) or source.tree
    for name in within(node, ast.Name):
        earlier = [
            each
            for each in within(scope, ast.Assign)
            if each.lineno < node.lineno
            and len(each.targets) == 1
            and isinstance(each.targets[0], ast.Name)
            and each.targets[0].id == name.id
        ]
        last = earlier[-1] if earlier else None
        if last is not None and isinstance(last.value, ast.Call) and _gives_pair(source, last.value):
            target = last.targets[0]
            return last.value, target if isinstance(target, ast.Name) else None
    return None


def _made_in_layer(subject: Subject) -> _Pair | None:
    """The one function of a Keras `Lambda` layer, if it returns a tuple and the next layer got two inputs."""
    source = subject.source
    if subject.crash is None or "expects 1 input(s)" not in subject.crash.message:
        return None
    found: list[_Pair] = []
    for call in source.calls("keras.layers.Lambda"):
        function = call.args[0] if call.args else None
        body: ast.expr | None = None
        if isinstance(function, ast.Lambda):
            body = function.body
        elif isinstance(function, ast.Name):
            definition = source.definition(function)
            ends = within(definition, ast.Return) if isinstance(definition, ast.FunctionDef) else []
            body = ends[0].value if len(ends) == 1 else None
        if isinstance(body, ast.Call) and _gives_pair(source, body):
            found.append((body, None))
    return found[0] if len(found) == 1 else None
