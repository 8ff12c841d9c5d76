"""A list, a NumPy array or an array of objects is passed where a tensor or a numeric array is expected."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Fault,
    Faults,
    InsertBefore,
    Source,
    Subject,
    Value,
    Wrap,
    argument_value,
    data_edits,
    function_around,
    held_values,
    layer_facts,
    network_facts,
    spell,
    tensor_axes,
    within,
    words,
)

REFUSED = frozenset({"list", "tuple", "object", "str"})
"""Types and dtypes that a Keras model does not accept as numbers."""

ELSEWHERE = ("numpy.", "sklearn.", "matplotlib.", "pandas.", "scipy.", "seaborn.")
"""Libraries whose functions expect arrays, so that a variable passed to them is not converted."""

MAKERS = words("tolist numpy to_numpy reshape astype")
"""Methods that return an array or a list of numbers."""

_TAKE_TARGETS = frozenset({"fit", "evaluate", "train_on_batch", "test_on_batch"})


@dataclass(frozen=True, slots=True)
class _Given:
    """An array passed to a layer or loss of torch, its dtype as a tensor, and code appended to it."""

    node: ast.expr
    dtype: str
    after: str = ""


class ListInsteadOfArray(CrashTemplate):
    """A list, a NumPy array or an array of objects is passed where a tensor or a numeric array is expected.

    A layer or loss of torch expects tensors: the inputs become floats, the targets the dtype of the loss, which is an
    integer for class indices. A Keras model reads a list as several inputs, and cannot compute with an array of Python
    objects, as a table with columns of different types becomes.

    Fix safety: unsafe. The data is copied into an array of one dtype; strings become numbers.

    References: torch.tensor, keras.Model.fit (`x`), numpy.array (`dtype`).
    """

    code = "DNF605"
    name = "list-instead-of-array"
    formerly = ("list-for-array",)
    message = "the data is not an array of numbers: {what}"

    def faults(self, subject: Subject) -> Faults[Fault]:
        node, refused = _into_torch(subject), _into_keras(subject)
        call = subject.crash.call if subject.crash is not None else None
        if node is not None:
            layer = call.name.rpartition(".")[2] if call is not None else "the layer"
            edits = (*_converted(subject, _given(subject)), *spell(subject, "torch.tensor").imports)
            repairs = (("Convert the data to a tensor", edits, 0.85),)
            what = f"{layer} expects a tensor"
            yield subject.source.site(node), Fault(subject.source.site(node), what, repairs)
        if refused:
            first, value = refused[0]
            given = "a list" if value.dtype in ("list", "tuple") else f"an array of {value.dtype}"
            repairs = (("Convert the data to arrays of numbers", _numbers(subject, refused), 0.9),)
            what = f"the model expects arrays of numbers, got {given}"
            yield subject.source.site(first), Fault(subject.source.site(first), what, repairs)

    programs = """
=== example: lists into fit
import keras
+ import numpy as np

model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
- model.fit([1.0, 2.0, 3.0], [2.0, 4.0, 6.0], verbose=0)
+ model.fit(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]), verbose=0)

=== example: lists as the targets of several models
import keras
import numpy as np

first = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, activation="sigmoid")])
second = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, activation="sigmoid")])
first.compile(optimizer="sgd", loss="binary_crossentropy")
second.compile(optimizer="sgd", loss="binary_crossentropy")
size = 4
x = np.random.rand(2 * size, 2)
y = [1] * size + [0] * size
- first.train_on_batch(x, y)
- second.train_on_batch(x, [1] * 2 * size)
+ first.train_on_batch(x, np.array(y))
+ second.train_on_batch(x, np.array([1] * 2 * size))

=== example: arrays of inputs and targets in a loop
import numpy as np
import torch
from torch import nn

net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = np.random.rand(8, 4)
y = x.sum(1)
+ x = torch.tensor(x, dtype=torch.float32)
+ y = torch.tensor(y, dtype=torch.float32).unsqueeze(1)
for _ in range(3):
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example: class indices, a batch at a time
import numpy as np
import torch


def fit(net, rows, classes, opt):
    loss_of = torch.nn.CrossEntropyLoss()
    for start in range(0, len(rows), 4):
-         batch, wanted = rows[start : start + 4], classes[start : start + 4]
+         batch, wanted = torch.tensor(rows[start : start + 4], dtype=torch.float32), torch.tensor(classes[start : start + 4], dtype=torch.long)
        loss = loss_of(net(batch), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()


model = torch.nn.Sequential(torch.nn.Linear(2, 3))
fit(model, np.random.rand(12, 2), np.arange(12) % 3, torch.optim.Adam(model.parameters()))

=== example: an array as the targets only
import numpy as np
import torch
import torch.nn as nn

model = nn.Linear(3, 1)
targets = np.random.rand(6, 1)
- print(nn.MSELoss()(model(torch.rand(6, 3)), targets))
+ print(nn.MSELoss()(model(torch.rand(6, 3)), torch.tensor(targets, dtype=torch.float32)))

=== example: a list through forward
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)

    def forward(self, x):
        return self.fc(x)


- print(Net()([[1.0, 2.0], [3.0, 4.0]]).shape)
+ print(Net()(torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float32)).shape)

=== reject: a list of the inputs of a model with two inputs, and arrays that are made tensors
import keras
import numpy as np
import torch

a, b = keras.Input((2,)), keras.Input((2,))
model = keras.Model([a, b], keras.layers.Dense(1)(keras.layers.Add()([a, b])))
model.compile(optimizer="sgd", loss="mse")
model.fit([np.ones((3, 2)), np.ones((3, 2))], np.ones(3), verbose=0)
net = torch.nn.Linear(2, 1)
x, y = torch.from_numpy(np.ones((4, 2), dtype="float32")), torch.tensor(np.ones((4, 1)), dtype=torch.float32)
torch.nn.functional.mse_loss(net(x), y).backward()

=== reject: a layer that gets nothing because of another mistake
import torch
from torch import nn

nn.Linear(4, 8)(torch.rand(2, 4), torch.rand(2, 4))
"""


def _numbers(subject: Subject, refused: Sequence[tuple[ast.expr, Value]]) -> tuple[Edit, ...]:
    """Edits that convert the data for a Keras model to numeric arrays."""
    spelling = spell(subject, "numpy.array")
    found: list[Edit] = list(spelling.imports)
    for index, (given, value) in enumerate(refused):
        plain = value.dtype in ("list", "tuple")
        after = ")" if plain else ', dtype="float32")'
        inputs = index == 0 and _is_input(subject, given)
        if inputs and len(value.shape or ()) == 1 and _not_built(subject):
            after += ".reshape(-1, 1)"
        nodes = tensor_axes.sibling_inputs(subject, given) if inputs else tensor_axes.sibling_targets(subject, given)
        found += data_edits.change_data(subject, nodes, f"{spelling.code}(", after)
        if plain and not inputs:
            others = _numbers_for_batches(subject, nodes)
            found += data_edits.change_data(subject, others, f"{spelling.code}(", ")", each=True)
    return tuple(found)


def _into_torch(subject: Subject) -> ast.expr | None:
    """The argument of a torch layer or loss that is not a tensor."""
    layer = _into_layer(subject)
    return layer if layer is not None else _into_loss(subject)


def _into_layer(subject: Subject) -> ast.expr | None:
    """The argument of a torch layer that is not a tensor."""
    crash = subject.crash
    call = crash.call if crash is not None else None
    if crash is None or call is None or call.made_at is None or call.made_at == call.site or call.inputs:
        return None
    if crash.kind not in ("TypeError", "AttributeError") or not call.name.startswith("torch."):
        return None
    if layer_facts(call) is None or (crash.kind == "AttributeError" and "numpy.ndarray" not in crash.message):
        return None
    node = subject.node(call.site)
    if not isinstance(node, ast.Call) or len(node.args) + len(node.keywords) != 1:
        return None
    given = tensor_axes.first_argument(node)
    outer = tensor_axes.outward(subject, given) if given is not None else None
    return outer if outer is not None and (_is_array(subject, outer) or _is_data(subject, outer)) else None


def _into_loss(subject: Subject) -> ast.expr | None:
    """The targets of a torch loss that are not a tensor."""
    crash = subject.crash
    if crash is None or crash.kind not in ("TypeError", "AttributeError"):
        return None
    for call, facts in _losses(subject):
        if subject.source.site(call) == crash.site:
            target = argument_value(call, facts.target_argument, 1)
            if target is not None and _is_refused(subject, crash, target):
                return target
    return None


def _is_refused(subject: Subject, crash: Crash, node: ast.expr) -> bool:
    told = crash.held_at(subject.source.site(node))
    return _is_array(subject, node) or (
        told is not None and told.kind == "list" and told.of in ("int", "float") and "list" in crash.message
    )


def _losses(subject: Subject) -> Iterator[tuple[ast.Call, network_facts.LossFacts]]:
    """The calls of torch losses in the program, also those that the run did not reach."""
    for call in subject.source_network.calls:
        node = subject.node(call.site)
        if call.name in network_facts.LOSSES and call.name.startswith("torch.") and isinstance(node, ast.Call):
            yield node, network_facts.LOSSES[call.name]


def _given(subject: Subject) -> list[_Given]:
    """All that has to become a tensor: what failed, the same elsewhere, and the targets."""
    found: dict[ast.expr, _Given] = {}
    node = _into_layer(subject)
    if node is not None:
        call = subject.crash.call if subject.crash is not None else None
        dtype = "long" if call is not None and call.name == "torch.nn.Embedding" else "float32"
        for one in tensor_axes.sibling_inputs(subject, node):
            description = held_values.held(subject, one)
            if not isinstance(description, dict) or description.get("kind") != "torch.Tensor":
                found[one] = _Given(one, dtype)
    failed = _into_loss(subject)
    for loss, facts in _losses(subject):
        target = argument_value(loss, facts.target_argument, 1)
        if target is not None and (target is failed or _is_array(subject, target)):
            found.setdefault(target, _target(subject, target, facts))
    return list(found.values())


def _target(subject: Subject, node: ast.expr, facts: network_facts.LossFacts) -> _Given:
    rank = _rank(subject, node)
    if facts.target is network_facts.Target.INDICES and not (rank == 2 and facts.soft_targets):
        return _Given(node, "long")
    paired = (
        facts.same_shape
        and facts.target in (network_facts.Target.REAL, network_facts.Target.BINARY)
        and rank == 1
        and _one_column(subject)
    )
    return _Given(node, "float32", ".unsqueeze(1)" if paired else "")


def _one_column(subject: Subject) -> bool:
    """Whether the predictions are a column: from the run, or because the last layer has one unit."""
    call = subject.crash.call if subject.crash is not None else None
    if call is not None and call.inputs and call.inputs[0].shape is not None:
        return len(call.inputs[0].shape) == 2 and call.inputs[0].shape[1] == 1
    if not subject.source.words.isdisjoint(("squeeze", "view", "reshape", "flatten", "ravel")):
        return False
    layers = [one for one in subject.network.components if one.name == "torch.nn.Linear"]
    return bool(layers) and layers[-1].args.get("out_features") == 1


def _converted(subject: Subject, given: list[_Given]) -> tuple[Edit, ...]:
    """Edits that create tensors: once before the loop, where a loop binds a variable, or where it is used."""
    edits: list[Edit] = []
    ahead: dict[ast.stmt, list[str]] = {}
    done: set[str] = set()
    for one in given:
        before, after = _around(subject, one)
        key = f"{ast.unparse(one.node)}{id(function_around(subject.source, one.node))}"
        place = _place(subject, one.node)
        if isinstance(place, ast.stmt):
            if key not in done:
                ahead.setdefault(place, []).append(f"{ast.unparse(one.node)} = {before}{ast.unparse(one.node)}{after}")
            done.add(key)
        elif key not in done:
            edits.append(Wrap(subject.source.site(place), before, after))
            if place is not one.node:
                done.add(key)
    edits += [InsertBefore(subject.source.site(place), "\n".join(lines)) for place, lines in ahead.items()]
    return tuple(edits)


def _around(subject: Subject, one: _Given) -> tuple[str, str]:
    dtype = spell(subject, f"torch.{one.dtype}").code
    return f"{spell(subject, 'torch.tensor').code}(", f", dtype={dtype}){one.after}"


def _place(subject: Subject, node: ast.expr) -> ast.expr | ast.stmt:
    """Where to create the tensor: before this loop, from the value that a loop binds, or at the expression."""
    source = subject.source
    if not isinstance(node, ast.Name):
        return node
    loops = [one for one in source.nodes(ast.For) if _inside(source, one, node)]
    loops.sort(key=lambda one: one.lineno)
    for loop in loops:
        if not any(one.id == node.id and isinstance(one.ctx, ast.Store) for one in within(loop, ast.Name)):
            return node if _stays_array(source, loop, node) else loop
    value = _bound_in(loops[-1], node.id) if loops else None
    return node if value is None or _stays_array(source, loops[-1], node) else value


def _inside(source: Source, loop: ast.For, node: ast.expr) -> bool:
    """Whether an expression is repeated by a loop of the same function."""
    return (
        source.site(loop).encloses(source.site(node))
        and function_around(source, loop) is function_around(source, node)
        and not source.site(loop.iter).encloses(source.site(node))
    )


def _stays_array(source: Source, since: ast.stmt, node: ast.Name) -> bool:
    """Whether a variable is used as an array from a statement on: by other libraries, or in comparisons with arrays."""
    function = function_around(source, node)
    for read in within(function or source.tree, ast.Name):
        if read.id != node.id or read.lineno < since.lineno or function_around(source, read) is not function:
            continue
        above: ast.AST | None = source.parent(read)
        while isinstance(above, ast.expr):
            name = source.qualified(above.func) or "" if isinstance(above, ast.Call) else ""
            arrays = isinstance(above, ast.Compare) and any(a.attr == "numpy" for a in within(above, ast.Attribute))
            if name.startswith(ELSEWHERE) or arrays:
                return True
            above = source.parent(above)
    return False


def _bound_in(loop: ast.For, name: str) -> ast.expr | None:
    """The one value that a loop assigns to a variable."""
    stored = [one for one in within(loop, ast.Name) if one.id == name and isinstance(one.ctx, ast.Store)]
    values: list[ast.expr] = []
    for statement in within(loop, ast.Assign):
        target, value = statement.targets[0], statement.value
        if isinstance(target, ast.Name) and target.id == name:
            values.append(value)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = zip(target.elts, value.elts, strict=True)
            values += [given for place, given in pairs if isinstance(place, ast.Name) and place.id == name]
    return values[0] if len(stored) == len(values) == 1 else None


def _is_array(subject: Subject, node: ast.expr) -> bool:
    """Whether an expression is a NumPy array, by the run or by the call that creates it."""
    description = held_values.held(subject, node)
    if isinstance(description, dict) and "kind" in description:
        return bool(description["kind"] == "numpy.ndarray")
    match node:
        case ast.Name():
            values = subject.source.bindings(node, node) or subject.source.bindings(node)
            return bool(values) and all(value is not node and _is_array(subject, value) for value in values)
        case ast.Subscript(value=value):
            return _is_array(subject, value)
        case ast.Call(func=ast.Attribute(attr="astype" | "reshape", value=value)):
            return (subject.source.qualified(node.func) or "").startswith("numpy.") or _is_array(subject, value)
        case ast.Call():
            return (subject.source.qualified(node.func) or "").startswith("numpy.")
    return False


def _rank(subject: Subject, node: ast.expr) -> int | None:
    """The number of axes of an array, also of a part of its rows; `None` if it is not known."""
    shape = held_values.described_shape(held_values.held(subject, node))
    if shape is not None:
        return len(shape)
    if isinstance(node, ast.Name):
        values = subject.source.bindings(node, node) or subject.source.bindings(node)
        return _rank(subject, values[0]) if len(values) == 1 and values[0] is not node else None
    if isinstance(node, ast.Subscript) and len(held_values.indices(node)) == 1:
        rows = isinstance(node.slice, ast.Slice) or _is_array(subject, node.slice)
        return _rank(subject, node.value) if rows else None
    return None


def _is_data(subject: Subject, node: ast.expr) -> bool:
    """Whether the expression is a list, or a call known to return an array or a list of numbers."""
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
    method = isinstance(node.func, ast.Attribute) and node.func.attr in MAKERS
    return name.startswith("numpy.") or method


def _into_keras(subject: Subject) -> list[tuple[ast.expr, Value]]:
    """The arguments of a Keras model that are not numeric, with their values, the inputs first."""
    call = subject.crash.call if subject.crash is not None else None
    if call is None or not call.name.startswith("keras.Model."):
        return []
    found = []
    for value in call.inputs:
        node = subject.node(value.site)
        rows = held_values.row_lengths(subject, node) if isinstance(node, ast.expr) else None
        if rows is not None and rows[0] != rows[1]:
            continue  # rows of different lengths are not a numeric array
        if value.dtype in REFUSED and isinstance(node, ast.expr):
            found.append((node, value))
    return found


def _numbers_for_batches(subject: Subject, known: Sequence[ast.expr]) -> list[ast.expr]:
    """Lists of numbers passed as targets to other models: each would be the next crash."""
    found = []
    for call in subject.source.all_calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in _TAKE_TARGETS:
            given = argument_value(call, "y", 1)
            if given is not None and _is_row(given) and not any(given is one for one in known):
                found.append(given)
    return found


def _is_row(node: ast.expr) -> bool:
    """Whether an expression is a literal list of numbers: `[0, 1]`, `[1] * size`, `[1] * size + [0] * size`."""
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
    """Whether the model infers its input shape from the data: then a row of numbers has no feature axis."""
    return not any(call.phase == "symbolic" for call in subject.network.calls)
