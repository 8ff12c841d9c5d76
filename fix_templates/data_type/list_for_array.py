"""Lists, numpy arrays or arrays of objects are given where a tensor or an array of numbers is taken."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from dnnfix.api import (
    Candidate,
    Decline,
    Edit,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    Subject,
    Symptom,
    Value,
    argument_value,
    change_data,
    first_argument,
    layer_facts,
    outward,
    row_lengths,
    sibling_inputs,
    sibling_targets,
    spell,
)

REFUSED = frozenset({"list", "tuple", "object", "str"})
"""What a Keras model does not take as numbers."""

_TAKE_TARGETS = frozenset({"fit", "evaluate", "train_on_batch", "test_on_batch"})


class ListForArray(FixTemplate):
    """Lists, numpy arrays or arrays of objects are given where a tensor or an array of numbers is taken.

    A layer of torch takes tensors only. A Keras model reads a list as several inputs, and has no numbers to compute with
    where an array holds Python objects, as it does when a table mixes columns of different types.

    Fix safety: unsafe. The data is copied into an array of one type; numbers written as text become numbers.

    References: torch.tensor, keras.Model.fit (`x`), numpy.array (`dtype`).
    """

    code = "DNF605"
    name = "list-for-array"
    family = Family.DATA_TYPE
    fix_pattern = FixPattern.DATA_TYPE
    message = "{what} gets {given} where it takes {taken}"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        node = _into_layer(subject)
        if node is not None:
            call = subject.crash.call if subject.crash is not None else None
            layer = call.name.rpartition(".")[2] if call is not None else "the layer"
            yield self.finding(
                subject.source.site(node),
                symptom=Symptom.CRASH,
                confidence=0.85,
                cause="crash",
                evidence={"layer": layer},
                what=layer,
                given="something that is no tensor",
                taken="a tensor",
            )
        refused = _into_keras(subject)
        if refused:
            first, value = refused[0]
            yield self.finding(
                subject.source.site(first),
                symptom=Symptom.CRASH,
                confidence=0.9,
                cause="crash",
                evidence={"given": [one.dtype for _, one in refused]},
                what="the model",
                given="a list" if value.dtype in ("list", "tuple") else f"an array of {value.dtype}",
                taken="an array of numbers",
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        node = _into_layer(subject)
        if node is not None:
            spelling = spell(subject, "torch.tensor")
            dtype = spell(subject, "torch.float32").code
            edits = change_data(subject, sibling_inputs(subject, node), f"{spelling.code}(", f", dtype={dtype})")
            yield self.candidate(finding, "Make a tensor of the data", *edits, *spelling.imports, prior=0.85)
            return
        refused = _into_keras(subject)
        spelling = spell(subject, "numpy.array")
        found: list[Edit] = list(spelling.imports)
        for index, (given, value) in enumerate(refused):
            plain = value.dtype in ("list", "tuple")
            after = ")" if plain else ', dtype="float32")'
            inputs = index == 0 and _is_input(subject, given)
            if inputs and len(value.shape or ()) == 1 and _not_built(subject):
                after += ".reshape(-1, 1)"
            nodes = sibling_inputs(subject, given) if inputs else sibling_targets(subject, given)
            found += change_data(subject, nodes, f"{spelling.code}(", after)
            if plain and not inputs:
                others = _numbers_for_batches(subject, nodes)
                found += change_data(subject, others, f"{spelling.code}(", ")", each=True)
        if refused:
            yield self.candidate(finding, "Make arrays of numbers of the data", *found, prior=0.85)
        else:
            yield Decline("what is handed over is not known")

    examples = (
        Example(
            "lists into fit",
            before="""\
import keras

model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit([1.0, 2.0, 3.0], [2.0, 4.0, 6.0], verbose=0)
""",
            after="""\
import keras
import numpy as np

model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]), verbose=0)
""",
            runs=True,
        ),
        Example(
            "an array of objects into fit",
            before="""\
import keras
import numpy as np

table = np.array([[1, 2.5], [2, True], [3, 0.5]], dtype=object)
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(table, np.array([1.0, 2.0, 3.0]), verbose=0)
""",
            after="""\
import keras
import numpy as np

table = np.array([[1, 2.5], [2, True], [3, 0.5]], dtype=object)
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(np.array(table, dtype="float32"), np.array([1.0, 2.0, 3.0]), verbose=0)
""",
            runs=True,
        ),
        Example(
            "lists as the targets of several models",
            before="""\
import keras
import numpy as np

first = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, activation="sigmoid")])
second = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, activation="sigmoid")])
first.compile(optimizer="sgd", loss="binary_crossentropy")
second.compile(optimizer="sgd", loss="binary_crossentropy")
size = 4
x = np.random.rand(2 * size, 2)
y = [1] * size + [0] * size
first.train_on_batch(x, y)
second.train_on_batch(x, [1] * 2 * size)
""",
            after="""\
import keras
import numpy as np

first = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, activation="sigmoid")])
second = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, activation="sigmoid")])
first.compile(optimizer="sgd", loss="binary_crossentropy")
second.compile(optimizer="sgd", loss="binary_crossentropy")
size = 4
x = np.random.rand(2 * size, 2)
y = [1] * size + [0] * size
first.train_on_batch(x, np.array(y))
second.train_on_batch(x, np.array([1] * 2 * size))
""",
            runs=True,
        ),
        Example(
            "a numpy array into a torch layer",
            before="""\
import numpy as np
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
x = np.random.rand(5, 4)
out = net(x)
""",
            after="""\
import numpy as np
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
x = np.random.rand(5, 4)
out = net(torch.tensor(x, dtype=torch.float32))
""",
            runs=True,
        ),
        Example(
            "a list through forward",
            before="""\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)

    def forward(self, x):
        return self.fc(x)


print(Net()([[1.0, 2.0], [3.0, 4.0]]).shape)
""",
            after="""\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)

    def forward(self, x):
        return self.fc(x)


print(Net()(torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float32)).shape)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a list of the inputs of a model with two inputs",
            """\
import keras
import numpy as np

a, b = keras.Input((2,)), keras.Input((2,))
model = keras.Model([a, b], keras.layers.Dense(1)(keras.layers.Add()([a, b])))
model.compile(optimizer="sgd", loss="mse")
model.fit([np.ones((3, 2)), np.ones((3, 2))], np.ones(3), verbose=0)
""",
            runs=True,
        ),
        Reject(
            "a layer that gets nothing because of another mistake",
            """\
import torch
from torch import nn

nn.Linear(4, 8)(torch.rand(2, 4), torch.rand(2, 4))
""",
            runs=True,
        ),
    )


def _into_layer(subject: Subject) -> ast.expr | None:
    """The expression that hands something that is no tensor to a layer of torch."""
    crash = subject.crash
    call = crash.call if crash is not None else None
    if crash is None or call is None or call.made_at is None or call.made_at == call.site or call.inputs:
        return None
    if crash.kind != "TypeError" or layer_facts(call) is None or not call.name.startswith("torch."):
        return None
    node = subject.node(call.site)
    if not isinstance(node, ast.Call) or len(node.args) + len(node.keywords) != 1:
        return None
    given = first_argument(node)
    outer = outward(subject, given) if given is not None else None
    return outer if outer is not None and _is_data(subject, outer) else None


def _is_data(subject: Subject, node: ast.expr) -> bool:
    """Whether the expression is a list, or made by a call that is known to give an array or a list of numbers."""
    if isinstance(node, ast.Name):
        values = subject.source.bindings(node, node) or subject.source.bindings(node)
        return bool(values) and all(_is_data(subject, value) for value in values if value is not node)
    if isinstance(node, ast.Subscript):
        return _is_data(subject, node.value)
    if isinstance(node, (ast.List, ast.Tuple)):
        return True
    if not isinstance(node, ast.Call):
        return False
    name = subject.source.qualified(node.func) or ""
    method = isinstance(node.func, ast.Attribute) and node.func.attr in (
        "tolist",
        "numpy",
        "to_numpy",
        "reshape",
        "astype",
    )
    return name.startswith("numpy.") or method


def _into_keras(subject: Subject) -> list[tuple[ast.expr, Value]]:
    """The data handed to a Keras model that holds no numbers, with its expressions, the inputs first."""
    call = subject.crash.call if subject.crash is not None else None
    if call is None or not call.name.startswith("keras.Model."):
        return []
    found = []
    for value in call.inputs:
        node = subject.node(value.site)
        rows = row_lengths(subject, node) if isinstance(node, ast.expr) else None
        if rows is not None and rows[0] != rows[1]:
            continue  # rows of different lengths make no array of numbers
        if value.dtype in REFUSED and isinstance(node, ast.expr):
            found.append((node, value))
    return found


def _numbers_for_batches(subject: Subject, known: Sequence[ast.expr]) -> list[ast.expr]:
    """Lists of numbers that are handed as targets to other models: each of them would be the next crash."""
    found = []
    for call in subject.source.all_calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in _TAKE_TARGETS:
            given = argument_value(call, "y", 1)
            if given is not None and _is_row(given) and not any(given is one for one in known):
                found.append(given)
    return found


def _is_row(node: ast.expr) -> bool:
    """Whether an expression is a list of numbers as it stands: `[0, 1]`, `[1] * size`, `[1] * size + [0] * size`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _is_row(node.left) or _is_row(node.right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _is_row(node.left) and _is_row(node.right)
    numbers = node.elts if isinstance(node, ast.List) else []
    return bool(numbers) and all(isinstance(n, ast.Constant) and isinstance(n.value, (int, float)) for n in numbers)


def _is_input(subject: Subject, node: ast.expr) -> bool:
    call = subject.crash.call if subject.crash is not None else None
    return call is not None and bool(call.inputs) and subject.node(call.inputs[0].site) is node


def _not_built(subject: Subject) -> bool:
    """Whether the model takes its input shape from the data: then a row of numbers has no axis for its features."""
    return not any(call.phase == "symbolic" for call in subject.network.calls)
