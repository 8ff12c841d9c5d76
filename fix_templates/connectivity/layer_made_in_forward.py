"""A layer with weights is created in every forward pass."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Decline,
    Edit,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Source,
    Subject,
    graph,
    init_edits,
    layer_facts,
    network_facts,
    once,
    within,
)

PARAMETERS = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter"})
DRAWN = frozenset({"torch.randn", "torch.rand", "torch.normal", "torch.empty", "torch.Tensor", "torch.FloatTensor"})
WITHOUT_WEIGHTS = frozenset({"pooling", "padding", "dropout", "shape", "merge"})

STORED = Decline("which size the parameter is to have, once and for all, is not told")


class LayerMadeInForward(ReadTemplate):
    """`forward` (in Keras: `call`) creates a layer with weights, or a parameter, each time it runs.

    Every pass gets new random weights. They are not part of the model, so that no optimizer trains them: the output is
    noise, and two passes over the same input differ.

    Fix safety: unsafe. The weights are kept and trained from now on.

    References: torch.nn.Module ("submodules assigned in this way will be registered"); keras.layers.Layer.
    """

    code = "DNF407"
    name = "layer-made-in-forward"
    message = "`{layer}` is created in every call of `{method}`: its weights are new each time and never trained"
    confidence = 0.85
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    silent = 1
    triggers = ("Module", "Model", "Layer")

    def read(self, subject: Subject) -> Iterator[Fault]:
        for owner, entry in _owners(subject):
            every = list(_made_in(subject, owner, entry))
            for made in every:
                name = subject.text(subject.source.site(made.func))
                moved: tuple[Edit, ...] | Decline = STORED
                if not _drawn_anew(subject, made, subject.source.statement_of(made)):
                    moved = init_edits.move_into_init(subject, owner, made, _attribute(subject, owner, every, made))
                repair = moved if isinstance(moved, Decline) else (f"Create `{name}` once, in `__init__`", moved, 0.9)
                yield Fault(subject.source.site(made), {"layer": name, "method": entry}, (repair,), confidence=0.95)

    programs = """
=== example: one convolution for each size
import torch
from torch import nn

SIZES = [2, 3, 4]

class TextCNN(nn.Module):
    def __init__(self):
        super(TextCNN, self).__init__()
        self.embedding = nn.Embedding(50, 16)
        self.out = nn.Linear(24, 2)
+         self.conv2ds = nn.ModuleList([nn.Conv2d(1, 8, (size, 16)) for size in SIZES])

    def forward(self, words):
        x = self.embedding(words).unsqueeze(1)
        pooled = []
-         for size in SIZES:
-             conv = nn.Conv2d(1, 8, (size, 16))(x)
+         for i, size in enumerate(SIZES):
+             conv = self.conv2ds[i](x)
            pooled.append(conv.relu().amax(dim=(2, 3)))
        return self.out(torch.cat(pooled, dim=1))

=== example: a class without a constructor of its own, a local variable and a helper method
import torch

class Net(torch.nn.Module):
+     def __init__(self):
+         super().__init__()
+         self.fc = torch.nn.Linear(8, 3)
    def head(self, h):
-         fc = torch.nn.Linear(8, 3)
+         fc = self.fc
        return fc(h)

    def forward(self, x):
        return self.head(x.flatten(1))

=== example: a layer made in the call of a Keras layer
import keras
from keras import layers

class Gate(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.scale = layers.Dense(units)
+         self.dense = layers.Dense(self.units, activation="sigmoid")

    def call(self, inputs):
-         gate = layers.Dense(self.units, activation="sigmoid")(inputs)
+         gate = self.dense(inputs)
        return gate * self.scale(inputs)

=== finds: a parameter that each pass draws anew
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def score(self, states):
        self.query = nn.Parameter(torch.randn(states.size(0), self.size, 1))
        return torch.bmm(states, self.query)

    def forward(self, states):
        return self.score(states).softmax(1)

=== reject: a parameter that is made once
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = None

    def forward(self, states):
        if self.query is None:
            self.query = nn.Parameter(torch.randn(states.size(2), 1))
        self.shift = nn.Parameter(self.query.detach())
        return states @ self.query

=== reject: layers without weights
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        x = nn.ReLU()(self.fc(x))
        return nn.Softmax(dim=1)(nn.MaxPool1d(2)(x))

=== reject: a layer that is made in the first pass and kept
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = None

    def forward(self, x):
        if self.fc is None:
            self.fc = nn.Linear(x.shape[1], 2)
        return self.fc(x)

=== reject: a builder method that __init__ calls
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = self.make(3)

    def make(self, n):
        return nn.Sequential(*[nn.Linear(4, 4) for _ in range(n)])

    def forward(self, x):
        return self.net(x)
"""


def _owners(subject: Subject) -> Iterator[tuple[ast.ClassDef, str]]:
    for owner in graph.torch_modules(subject.source):
        yield owner, "forward"
    for owner in graph.keras_modules(subject.source):
        yield owner, "call"


def _made_in(subject: Subject, owner: ast.ClassDef, entry: str) -> Iterator[ast.Call]:
    """The calls in `entry`, and in methods it calls, that create something with weights, in source order."""
    methods = graph.run_by(subject.source, owner, entry)
    set_up = {each.name for each in graph.run_by(subject.source, owner, "build")} | _called_in_init(subject, owner)
    for function in sorted(methods, key=lambda each: each.lineno):
        if function.name in set_up or (function.name != entry and function.decorator_list):
            # A decorator may cache the result.
            continue
        calls = within(function, ast.Call)
        for call in sorted(calls, key=lambda each: (each.lineno, each.col_offset, -(each.end_col_offset or 0))):
            if _has_weights(subject, call) and not _kept(subject, call) and not _within_another(subject, call):
                yield call


def _called_in_init(subject: Subject, owner: ast.ClassDef) -> set[str]:
    constructor = graph.method(owner, "__init__")
    if constructor is None:
        return set()
    own = {node.attr for node in within(constructor, ast.Attribute)}
    return {each.name for name in own for each in graph.run_by(subject.source, owner, name)}


def _has_weights(subject: Subject, call: ast.Call) -> bool:
    name = subject.source.qualified(call.func)
    if name is None:
        return subject.source.definition(call.func) in _weighted_classes(subject.source)
    return _makes_weights(name)


def _makes_weights(name: str) -> bool:
    if name in PARAMETERS:
        return True
    facts = layer_facts(name)
    if facts is None or network_facts.component_kind(name) != "layer" or facts.kind in WITHOUT_WEIGHTS:
        return False
    return "InstanceNorm" not in name


@once
def _weighted_classes(source: Source) -> tuple[ast.ClassDef, ...]:
    found = []
    for owner in (*graph.torch_modules(source), *graph.keras_modules(source)):
        constructor = graph.method(owner, "__init__")
        inside = within(constructor, ast.Call) if constructor is not None else []
        names = (source.qualified(node.func) for node in inside)
        if any(name is not None and _makes_weights(name) for name in names):
            found.append(owner)
    return tuple(found)


def _kept(subject: Subject, call: ast.Call) -> bool:
    """Whether the layer is stored in `self`, or passed to a method that may store it: a parameter that each pass stores anew is not kept."""
    statement = subject.source.statement_of(call)
    if isinstance(statement, ast.Assign) and any(
        isinstance(t, (ast.Attribute, ast.Subscript)) for t in statement.targets
    ):
        return not _drawn_anew(subject, call, statement)
    parent = subject.source.parent(call)
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and call in parent.args:
        return parent.func.attr in ("append", "add_module", "register_module", "register_parameter", "setattr", "add")
    return False


def _drawn_anew(subject: Subject, call: ast.Call, statement: ast.stmt) -> bool:
    """Whether a statement of a method's own block gives an attribute a parameter of values that are drawn in it."""
    if subject.source.qualified(call.func) not in PARAMETERS or not call.args:
        return False
    own = isinstance(subject.source.parent(statement), ast.FunctionDef)
    whole = own and isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute)
    values = call.args[0]
    drawn = isinstance(values, ast.Call) and subject.source.qualified(values.func) in DRAWN
    return (
        whole
        and drawn
        and subject.source.parent(call) is statement
        and not any(keyword.arg == "requires_grad" for keyword in call.keywords)
    )


def _within_another(subject: Subject, call: ast.Call) -> bool:
    """Whether the call is in a comprehension or an argument of another layer, which is moved as a whole."""
    above = subject.source.parent(call)
    while above is not None and not isinstance(above, ast.stmt):
        if isinstance(above, (ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.Lambda)):
            return True
        if (
            isinstance(above, ast.Call)
            and call is not above.func
            and network_facts.component_kind(subject.source.qualified(above.func) or "") in ("layer", "model")
        ):
            return True
        above = subject.source.parent(above)
    return False


def _attribute(subject: Subject, owner: ast.ClassDef, every: list[ast.Call], made: ast.Call) -> str:
    """A free attribute name for a layer: the name of its variable, else from its class."""
    taken = set(graph.attributes_of(owner))
    for call in every:
        statement = subject.source.statement_of(call)
        name = subject.text(subject.source.site(call.func)).rpartition(".")[2]
        wanted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
        if isinstance(statement, ast.Assign) and statement.value is call and isinstance(statement.targets[0], ast.Name):
            wanted = statement.targets[0].id
        if subject.source.enclosing(call, ast.For) is not None:
            wanted += "s"
        chosen, count = wanted, 1
        while chosen in taken:
            count += 1
            chosen = f"{wanted}{count}"
        taken.add(chosen)
        if call is made:
            return chosen
    return "layer"
