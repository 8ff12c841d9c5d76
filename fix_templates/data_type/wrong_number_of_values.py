"""The number of values does not match: in an unpacking, in a list argument, or `None` where a value is expected."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dnnfix.api import (
    CrashTemplate,
    Edit,
    Failure,
    Fault,
    FixPattern,
    RemoveArgument,
    Replace,
    Site,
    Source,
    Subject,
    argument_value,
    compile_calls,
    held_values,
    keyword_value,
    reads,
    symbolic,
    tensor_axes,
    training_loop,
    trees,
    within,
    words,
)

IGNORED = "_"

COUNTERS = words("i j k n idx index step batch_idx batch_index batch_i iteration it epoch count num batch_num")
"""Usual names of an index."""

METHODS = words("fit evaluate predict train_on_batch test_on_batch predict_on_batch")

MERGING = ("concatenate", "add", "subtract", "multiply", "average", "maximum", "minimum", "dot")
"""Merging functions of Keras; the layers have the same names with a capital letter."""

JOINING = words(
    """numpy.concatenate numpy.vstack numpy.hstack numpy.dstack numpy.stack numpy.column_stack torch.cat torch.concat
    torch.concatenate torch.stack torch.vstack torch.hstack keras.ops.concatenate keras.ops.stack keras.ops.vstack
    keras.ops.hstack tensorflow.concat tensorflow.stack"""
) | {f"keras.layers.{name}" for name in MERGING}
"""Functions whose first parameter is a list of arrays to join."""

MERGE_LAYERS = frozenset(f"keras.layers.{name.capitalize()}" for name in MERGING)
"""Layers that are called on a list of tensors."""

ARRAYS = words("numpy.ndarray torch.Tensor torch.nn.parameter.Parameter")
SYMBOLIC = "KerasTensor"
OF_LISTS = words("append extend insert sort reverse clear remove")
"""Methods of lists, sets and dictionaries that change the object and return `None`."""

OF_OTHERS = words("update discard add compile backward zero_grad summary load_weights save_weights adapt")
"""Methods of dictionaries, sets, models, losses and optimizers that return `None`."""

SHUFFLES = words("random.shuffle numpy.random.shuffle")
"""Functions that shuffle in place."""

LIBRARIES = ("numpy.", "torch.", "pandas.", "tensorflow.", "jax")
"""Prefixes of the names of array types."""


@reads("ValueError TypeError", "unpack", object)
def _loop_takes_other_number(failure: Failure[object]) -> Iterator[Fault]:
    """A loop unpacks its elements into more names than they have parts."""
    loop = _loop(failure)
    if loop is None or not isinstance(loop.target, ast.Tuple):
        return
    names, code, held = loop.target.elts, failure.code(loop.iter), failure.held(loop.iter)
    over = failure.source.qualified(loop.iter.func) or "" if isinstance(loop.iter, ast.Call) else ""
    if len(names) > 2:
        if over == "builtins.enumerate" and all(isinstance(name, ast.Name) for name in names):
            first, *parts = map(ast.unparse, names)
            apart = failure.exchange(loop.target, f"{first}, ({', '.join(parts)})")
            what = f"{code} yields pairs of an index and an element"
            yield failure.fault(loop.target, what, "Unpack the element in parentheses", apart, prior=0.85)
        return
    edit: Edit | None = None
    title, counts = "", over.rpartition(".")[2] in ("enumerate", "zip", "items", "range")
    if held is not None and held.kind in ("dict", "collections.OrderedDict", "collections.defaultdict"):
        edit, title = failure.wrap(loop.iter, "", ".items()"), "Iterate over keys and values"
    elif isinstance(names[0], ast.Name) and names[0].id in COUNTERS and not counts:
        edit, title = failure.wrap(loop.iter, "enumerate(", ")"), "Enumerate the elements"
    elif held is not None and held.kind in ("list", "tuple", "set") and held.of in ("str", "int", "float"):
        read = {name.id for part in loop.body for name in within(part, ast.Name)}
        used = [one.id for one in names if isinstance(one, ast.Name) and one.id in read]
        if len(used) == 1:
            edit, title = failure.exchange(loop.target, used[0]), "Iterate over the elements"
    if edit is not None:
        what = f"the elements of {code} cannot be unpacked into {ast.unparse(loop.target)}"
        yield failure.fault(loop.iter, what, title, edit, prior=0.8)


@reads("ValueError", "too many values to unpack", ast.AST)
def _fewer_taken_than_returned(failure: Failure[ast.AST]) -> Iterator[Fault]:
    """A function of the program returns more values than its caller unpacks: the others are discarded."""
    source, statement = failure.source, failure.source.statement_of(failure.node)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return
    target, function = statement.targets[0], failure.code(statement.value.func)
    if not isinstance(target, ast.Tuple) or not all(isinstance(name, ast.Name) for name in target.elts):
        return
    returned = _returned(source, statement.value)
    if any(name.id == IGNORED and isinstance(name.ctx, ast.Load) for name in source.nodes(ast.Name)):
        return  # the program reads `_` itself
    placed = _placed([ast.unparse(name) for name in target.elts], returned)
    if placed is not None:
        what = f"{function} returns {len(returned)} values, and {len(target.elts)} are unpacked"
        yield failure.fault(target, what, "Discard the other values", failure.exchange(target, ", ".join(placed)))


@reads("TypeError ValueError", "", ast.Call)
def _given_one_by_one(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """Arrays are passed as separate arguments, where one list of them is expected."""
    node, parts = failure.node, list[ast.expr]()
    if not _joins(failure.source, node):
        return
    for given in node.args:
        if not _is_array(failure, given):
            break
        parts.append(given)
    if len(parts) < 2 or len(node.args) - len(parts) > 1 or any(keyword.arg is None for keyword in node.keywords):
        return
    first, last = failure.site(parts[0]), failure.site(parts[-1])
    whole = Site(first.line, first.column, last.end_line, last.end_column)
    rest = [failure.code(one) for one in node.args[len(parts) :]]
    rest += [f"{one.arg}={failure.code(one.value)}" for one in node.keywords]
    given_now = ", ".join([f"[{failure.subject.text(whole)}]", *rest])
    what = f"{ast.unparse(node.func)} expects one list, got {len(parts)} arrays"
    listed = failure.exchange(node, f"{failure.code(node.func)}({given_now})")
    yield failure.fault(node, what, "Pass them as a list", listed)


@reads(
    "ValueError TypeError",
    r"(?s)^(?=.*argument to be a list, tuple, or dict).*`((?:weighted_)?metrics)` argument",
    ast.Call,
)
def _metric_without_list(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """`compile` is called with one metric instead of a list."""
    given = keyword_value(failure.node, failure.said[1]) if compile_calls.is_compile(failure.node) else None
    if given is not None and not isinstance(given, (ast.Set, ast.GeneratorExp, ast.Starred, ast.Name)):
        what = f"`{failure.said[1]}` expects a list, got {failure.code(given)}"
        yield failure.fault(given, what, "Wrap it in a list", failure.wrap(given, "[", "]"), prior=0.95)


@reads(
    "ValueError",
    r"expects (\d+) (?:named )?input\(s\)(?: with keys [^,\]]*(?:,[^,\]]*)*\])?, but it received (\d+) input",
    ast.Call,
)
def _input_left_out(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """A Keras model with several inputs gets fewer arrays."""
    node, (wanted_count, given_count) = failure.node, map(int, failure.said.groups())
    teaches = isinstance(node.func, ast.Attribute) and node.func.attr in METHODS
    given = tensor_axes.first_argument(node) if teaches else None
    wanted = _input_shapes(failure)
    if given is None or len(wanted) != wanted_count or given_count >= wanted_count:
        return
    elements = given.elts if isinstance(given, (ast.List, ast.Tuple)) else (given,)
    names = [one.id for one in elements if isinstance(one, ast.Name)]
    if len(names) != given_count:
        return
    chosen = _chosen(failure.crash.frames[-1].names, wanted, names, _answers(failure.subject))
    if chosen is not None:
        listed = f"[{', '.join(chosen)}]"
        what = f"the model has {wanted_count} inputs, got only {failure.code(given)}"
        yield failure.fault(given, what, f"Pass {listed}", failure.exchange(given, listed))


@reads("TypeError AttributeError ValueError RuntimeError", "", object)
def _nothing_kept(failure: Failure[object]) -> Iterator[Fault]:
    """The result of a call that changes its object and returns `None` is assigned instead of the object."""
    source, crash = failure.source, failure.crash
    if "NoneType" not in crash.message and not any(held.kind == "NoneType" for held in crash.held):
        return
    for found in _lost(source, {function.name for function in source.nodes(ast.FunctionDef)}):
        edits, title = _kept(failure, found) if _reached(failure, found) else ((), "")
        if edits:
            what = f"{failure.code(found.call.func)} returns None, which is assigned as a value"
            yield failure.fault(found.statement, what, title, *edits)


class WrongNumberOfValues(CrashTemplate):
    """The number of values does not match: in an unpacking, in a list argument, or `None` where a value is expected.

    A loop that unpacks its elements into more names than they have parts: over a dictionary, two names are keys and
    values; a first name that counts needs `enumerate`; if only one of the names is used, and the elements are strings
    or numbers, the loop has one name; over `enumerate`, three and more names are the index and the parts of the
    element.

    `loss, acc = evaluate(net)` where `evaluate` ends in `return loss, acc, predictions`: if all `return` statements
    return the same variables, and the names are some of them in the same order, the others are unpacked to `_`.

    `torch.cat(a, b)`, or a merging layer called as `Add()(a, b)`: the second array is read as the axis. The arguments
    that are arrays in the run become one list. `compile(metrics="accuracy")` expects a list too.

    A Keras model with several inputs expects a list of one array each, in order. If the program has exactly one array
    of the right shape and number of samples for each input, among them the given ones, this list is passed. Targets and
    sample weights are not considered.

    `data = random.shuffle(data)` and `losses = losses.append(x)` assign `None`: methods that change their object return
    `None`, such as `append` and `sort`, `shuffle`, `drop` with `inplace=True`, `compile` of a Keras model. If the
    target is the object itself, the call becomes a statement. Otherwise it is replaced by one that returns a changed
    copy, if there is one, unless the object is used later, with other rows or another order than the copy. Reported
    where the program crashed on a `None`.

    Fix safety: unsafe. The line could not run before; the names keep their meaning, and an object replaces `None`.

    References: https://docs.python.org/3/library/functions.html#enumerate, dict.items,
    https://docs.python.org/3/reference/simple_stmts.html#assignment-statements, numpy.concatenate, torch.cat,
    keras.layers.Concatenate, keras.Model.compile (`metrics`), keras.Model.fit (`x`: a list of arrays),
    https://docs.python.org/3/library/stdtypes.html#mutable-sequence-types, pandas.DataFrame.drop.
    """

    code = "DNF618"
    name = "wrong-number-of-values"
    formerly = (
        "values-of-other-number",
        "loop-over-other-elements",
        "DNF622",
        "parts-given-one-by-one",
        "DNF633",
        "input-left-out",
        "DNF635",
        "metric-without-list",
        "DNF643",
        "nothing-kept-as-value",
        "DNF649",
        "returned-values-miscounted",
    )
    message = "the number of values does not match: {what}"
    fix_pattern = FixPattern.API_CONTRACT
    confidence = 0.9
    declined = "the names do not show which of the values are meant"
    readings = (
        _loop_takes_other_number,
        _fewer_taken_than_returned,
        _given_one_by_one,
        _metric_without_list,
        _input_left_out,
        _nothing_kept,
    )

    programs = """
=== example: keys and values of a dictionary
import torch

losses = {"first": torch.ones(1), "second": torch.zeros(1)}
- for name, loss in losses:
+ for name, loss in losses.items():
    print(name, loss.item())

=== example: batches with their number
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.ones(6, 2), torch.zeros(6)), batch_size=3)
- for i, (x, y) in loader:
+ for i, (x, y) in enumerate(loader):
    print(i, x.shape, y.shape)

=== example: names without labels
import torch

negatives = ["scan-1", "scan-20"]
chosen = []
- for series, label in negatives:
+ for series in negatives:
    chosen.append(series)
print(len(chosen), torch.ones(1))

=== example: a number and the parts of a batch
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.ones(6, 2), torch.zeros(6)), batch_size=3)
- for step, inputs, labels in enumerate(loader):
+ for step, (inputs, labels) in enumerate(loader):
    print(step, inputs.shape, labels.shape)

=== example: predictions that the caller does not use
import torch

net = torch.nn.Linear(3, 2)


def evaluate(x, y):
    out = net(x)
    loss = torch.nn.functional.cross_entropy(out, y)
    acc = (out.argmax(1) == y).float().mean()
    return loss.item(), acc.item(), out


- loss, acc = evaluate(torch.randn(8, 3), torch.arange(8) % 2)
+ loss, acc, _ = evaluate(torch.randn(8, 3), torch.arange(8) % 2)
print(loss > 0, acc >= 0)

=== example: tensors along an axis
import torch


class Skip(torch.nn.Module):
    def forward(self, x, y):
-         return torch.cat(x, y, 1)
+         return torch.cat([x, y], 1)


print(Skip()(torch.ones(2, 3), torch.ones(2, 1)).shape)

=== example: branches of a network passed to a merging layer
import keras
import numpy as np
from keras.layers import Add, Dense

a, b = keras.Input((3,)), keras.Input((2,))
- both = Add()(Dense(4)(a), Dense(4)(b))
+ both = Add()([Dense(4)(a), Dense(4)(b)])
model = keras.Model([a, b], Dense(1)(both))
model.compile("sgd", "mse")
model.fit([np.ones((4, 3)), np.ones((4, 2))], np.ones((4, 1)), verbose=0)

=== example: a text
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
- net.compile("adam", "binary_crossentropy", metrics="accuracy")
+ net.compile("adam", "binary_crossentropy", metrics=["accuracy"])
net.fit(np.random.rand(8, 4), np.arange(8) % 2, verbose=0)

=== example: two of three, in a function
import keras
import numpy as np
from keras import layers


def build():
    inputs = [keras.Input((size,)) for size in (2, 3, 4)]
    net = keras.Model(inputs, layers.Dense(1)(layers.concatenate(inputs)))
    net.compile("sgd", loss="mse")
    return net


def train(net, age, text, image, price):
-     net.fit(x=[age, image], y=price, epochs=1, verbose=0)
+     net.fit(x=[age, text, image], y=price, epochs=1, verbose=0)


train(build(), np.ones((8, 2)), np.ones((8, 3)), np.ones((8, 4)), np.ones(8))

=== example: indices that are shuffled
import random
import torch

order = list(range(6))
- order = random.shuffle(order)
+ random.shuffle(order)
data = torch.randn(6, 3)
print(data[order[:4]].shape)

=== example: losses that are collected
import torch

net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
losses = []
for step in range(3):
    loss = net(torch.ones(4, 2)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
-     losses = losses.append(loss.item())
+     losses.append(loss.item())
print(len(losses))

=== example: columns dropped in place, under another name
import pandas as pd
import torch

frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "y": [0, 1]})
- inputs = frame.drop("y", axis=1, inplace=True)
+ inputs = frame.drop("y", axis=1)
x = torch.tensor(inputs.values, dtype=torch.float32)
y = torch.tensor(frame["y"].values)
print(torch.nn.functional.cross_entropy(torch.nn.Linear(2, 2)(x), y).item())

=== reject: a row of the data that is short
import torch

pairs = [("a", 1), ("b",)]
for name, number in pairs:
    print(name, number, torch.ones(1))

=== reject: texts of which both names are used
import torch

rows = ["a:1", "b:2"]
for name, number in rows:
    print(name, number, torch.ones(1))

=== reject: the name for what is left out is read
import torch


def parts(x):
    low, high, middle = x.min(), x.max(), x.mean()
    return low, high, middle


for _ in range(2):
    low, high = parts(torch.ones(6))
    print(_, low, high)

=== reject: names that are not those of the values
import torch


def halves(x):
    return x[:2], x[2:4], x[4:]


first, second = halves(torch.ones(6))
print(first, second)

=== reject: matching numbers of values
import keras
import numpy as np
import torch


def both(x):
    low, high = x.min(), x.max()
    return low, high


low, high = both(torch.ones(6))
values = torch.randn(5)
values = values.sort()
print(values.values[0], values.indices[0])
left, right = keras.Input((3,)), keras.Input((2,))
net = keras.Model([left, right], keras.layers.Dense(1)(keras.layers.concatenate([left, right])))
net.compile("adam", "mse", metrics=["mae"])
net.fit([np.ones((8, 3)), np.ones((8, 2))], np.ones(8), verbose=0)

=== reject: a list and an axis that is not a number
import torch

a = torch.ones(2)
print(torch.cat([a, a], "rows"))

=== reject: arrays of other sizes
import numpy as np
import torch

print(np.concatenate([np.ones((2, 3)), np.ones((2, 4))]), torch.ones(1))

=== reject: a set, which has no order
import keras

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", "mse", metrics={"mae", "mape"})

=== reject: the targets of the training fit the other input
import keras
import numpy as np

left, right = keras.Input((5,)), keras.Input((1,))
net = keras.Model([left, right], keras.layers.Dense(1)(keras.layers.concatenate([left, right])))
net.compile("adam", "mse")
data, y = np.random.rand(12, 6), np.random.rand(12)
first = data[:, :5]
net.fit([first, data[:, 5:]], y, verbose=0)
print(net.predict(first, verbose=0).shape)

=== reject: two inputs of one shape
import keras
import numpy as np

left, right = keras.Input((3,)), keras.Input((3,))
net = keras.Model([left, right], keras.layers.Dense(1)(keras.layers.add([left, right])))
net.compile("adam", "mse")
first, second = np.random.rand(12, 3), np.random.rand(12, 3)
net.fit(first, np.ones(12), verbose=0)

=== reject: rows that are put in order together with what is used beside them
import pandas as pd
import torch

frame = pd.DataFrame({"t": [2, 1], "a": [3.0, 4.0], "y": [0.0, 1.0]})
ordered = frame.sort_values("t", inplace=True)
x, y = torch.tensor(ordered[["a"]].values), torch.tensor(frame["y"].values)
print(x.shape, y.shape)

=== reject: an own method of that name, and a None from elsewhere
import torch


class Log:
    def __init__(self):
        self.values = []

    def append(self, value):
        self.values.append(value)
        return self


def find(name):
    return {"a": 1}.get(name)


log = Log()
log = log.append(torch.ones(1).item())
print(find("b")[0])

=== reject: a list that is kept, and a value that is None
import torch

seen = [torch.ones(2)]
seen.append(torch.zeros(2))
best = None
print(best[0])
"""


@dataclass(frozen=True, slots=True)
class _Lost:
    """An assignment of `None`, the object that the call changes, and edits that make a changed copy instead."""

    statement: ast.Assign
    call: ast.Call
    changed: ast.expr
    copied: tuple[Edit, ...] = ()


def _loop(failure: Failure[object]) -> ast.For | None:
    """The loop whose target or iterable the crash is at."""
    site = failure.crash.site
    for loop in failure.source.nodes(ast.For):
        parts = loop.target.elts if isinstance(loop.target, ast.Tuple) else []
        if any(failure.site(one) == site for one in (loop.target, loop.iter, *parts)):
            return loop
    return None


def _returned(source: Source, call: ast.Call) -> list[str]:
    """The names of the values that a function of the program returns; empty if its returns differ."""
    if not isinstance(call.func, ast.Name):
        return []
    named = [function for function in source.nodes(ast.FunctionDef) if function.name == call.func.id]
    if len(named) != 1:
        return []
    function = named[0]
    returns = [one for one in within(function, ast.Return) if source.enclosing(one, ast.FunctionDef) is function]
    given = [_names(one.value) for one in returns]
    return given[0] if given and all(names == given[0] for names in given) else []


def _names(value: ast.expr | None) -> list[str]:
    return [_name(one) for one in value.elts] if isinstance(value, ast.Tuple) else []


def _name(value: ast.expr) -> str:
    """The variable that a returned value is, or is computed from by methods without arguments (`loss.item()`)."""
    while isinstance(value, (ast.Call, ast.Attribute)):
        if isinstance(value, ast.Call) and (value.args or value.keywords):
            return ""
        value = value.func if isinstance(value, ast.Call) else value.value
    return value.id if isinstance(value, ast.Name) else ""


def _placed(names: list[str], returned: list[str]) -> list[str] | None:
    """The names at the positions of the values with the same names, and `_` at the others."""
    if len(names) >= len(returned) or len(set(returned)) != len(returned) or IGNORED in names:
        return None
    places = [returned.index(name) if name in returned else -1 for name in names]
    if -1 in places or places != sorted(places):
        return None
    return [name if name in names else IGNORED for name in returned]


def _joins(source: Source, call: ast.Call) -> bool:
    """Whether a call is of a function or Keras layer that joins a list of arrays."""
    if source.qualified(call.func) in JOINING:
        return True
    layer = call.func if isinstance(call.func, ast.Call) else source.constructor(call.func)
    return layer is not None and source.qualified(layer.func) in MERGE_LAYERS


def _is_array(failure: Failure[ast.Call], given: ast.expr) -> bool:
    held = failure.held(given)
    if held is not None:
        return held.kind in ARRAYS or held.kind.endswith(f".{SYMBOLIC}")
    return isinstance(given, ast.Call) and symbolic.is_symbolic(failure.source, given)


def _input_shapes(failure: Failure[ast.Call]) -> list[tuple[int | None, ...]]:
    """The shapes of the model's inputs, with the batch axis."""
    call = failure.crash.call
    told = call.args.get("input_shape") if call is not None else None
    shapes = [held_values.described_shape({"shape": one}) for one in told] if isinstance(told, list) else []
    return [shape for shape in shapes if shape] if all(shapes) else []


def _chosen(
    names: Mapping[str, object], wanted: Sequence[tuple[int | None, ...]], given: Sequence[str], targets: set[str]
) -> list[str] | None:
    """The one array for each input, if the given ones are among them."""
    arrays = {}
    for name, description in names.items():
        kind = description.get("kind") if isinstance(description, dict) else None
        shape = held_values.described_shape(description) if isinstance(description, dict) else None
        if (
            shape
            and isinstance(kind, str)
            and kind.startswith(LIBRARIES)
            and name.isidentifier()
            and name not in targets
        ):
            arrays[name] = shape
    counts = {arrays[name][0] for name in given if name in arrays}
    if len(counts) != 1:
        return None
    count = counts.pop()
    chosen: list[str] = []
    for shape in wanted:
        fitting = [name for name, seen in arrays.items() if seen[0] == count and _fits(seen, shape)]
        if len(fitting) != 1:
            return None
        chosen += fitting
    return chosen if set(given) <= set(chosen) and len(set(chosen)) == len(wanted) else None


def _fits(seen: tuple[int | None, ...], wanted: tuple[int | None, ...]) -> bool:
    if len(seen) == 1 and len(wanted) == 2:
        return wanted[1] == 1
    return len(seen) == len(wanted) and all(w in (None, s) for s, w in zip(seen[1:], wanted[1:], strict=True))


def _answers(subject: Subject) -> set[str]:
    """The names in targets, sample weights and predictions of the program's models."""
    given: list[ast.AST] = []
    for call in subject.source.all_calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in METHODS:
            continue
        statement = subject.source.parent(call)
        if call.func.attr.startswith("predict"):
            given += statement.targets if isinstance(statement, ast.Assign) else ()
            continue
        told = (argument_value(call, "y", 1), *(k.value for k in call.keywords if k.arg == "sample_weight"))
        # an expression of several arrays may be computed from the inputs
        given += [one for one in told if one is not None and not any(within(one, ast.BinOp))]
    return {part.id for one in given for part in ast.walk(one) if isinstance(part, ast.Name)}


def _lost(source: Source, own: set[str]) -> Iterator[_Lost]:
    """The assignments of a result that is `None`."""
    for statement in source.nodes(ast.Assign):
        call = statement.value
        if len(statement.targets) != 1 or not isinstance(call, ast.Call):
            continue
        if not isinstance(statement.targets[0], (ast.Name, ast.Attribute)):
            continue
        name = source.qualified(call.func) or ""
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if name in SHUFFLES and len(call.args) == 1:
            yield _Lost(statement, call, call.args[0], (Replace(source.site(call), _shuffled(call, name)),))
        elif not isinstance(call.func, ast.Attribute) or method in own:
            continue
        elif trees.is_true(keyword_value(call, "inplace")):
            copied = (RemoveArgument(source.site(call), "inplace"),)
            yield _Lost(statement, call, call.func.value, copied)
        elif method == "sort" and not call.args:
            given = "".join(f", {ast.unparse(keyword)}" for keyword in call.keywords)
            sort = f"sorted({ast.unparse(call.func.value)}{given})"
            yield _Lost(statement, call, call.func.value, (Replace(source.site(call), sort),))
        elif method in OF_LISTS or method in OF_OTHERS:
            yield _Lost(statement, call, call.func.value)


def _shuffled(call: ast.Call, name: str) -> str:
    """The code of a shuffled copy; empty if the function is imported without its module."""
    shuffled = ast.unparse(call.args[0])
    module = ast.unparse(call.func).rpartition(".")[0]
    if not module:
        return ""
    return (
        f"{module}.sample({shuffled}, len({shuffled}))"
        if name == "random.shuffle"
        else f"{module}.permutation({shuffled})"
    )


def _reached(failure: Failure[object], lost: _Lost) -> bool:
    """Whether the `None` that the program crashed on may come from the assignment."""
    source, target, crash = failure.source, lost.statement.targets[0], failure.crash
    kept = ast.unparse(target)
    empty = [source.node_at(held.site) for held in crash.held if held.kind == "NoneType"]
    if crash.site is not None and failure.site(lost.statement).encloses(crash.site):
        # The call itself crashed: only an earlier iteration can have assigned `None`.
        again = (
            bool(training_loop.loops_around(source, lost.statement))
            or source.enclosing(target, ast.FunctionDef) is not None
        )
        return again and any(node is not None and ast.unparse(node) == kept for node in empty)
    for node in empty:
        if isinstance(node, (ast.Name, ast.Attribute)) and ast.unparse(node) == kept:
            return True
        if isinstance(node, ast.Name) and _is_parameter(source, node):
            return any(_is_given(call, kept) for call in source.all_calls)
    return False


def _is_parameter(source: Source, node: ast.Name) -> bool:
    function = source.enclosing(node, ast.FunctionDef)
    return function is not None and any(one.arg == node.id for one in (*function.args.args, *function.args.kwonlyargs))


def _is_given(call: ast.Call, name: str) -> bool:
    """Whether a call has the name as an argument."""
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    return any(isinstance(one, (ast.Name, ast.Attribute)) and ast.unparse(one) == name for one in given)


def _kept(failure: Failure[object], lost: _Lost) -> tuple[tuple[Edit, ...], str]:
    """The edits, and their title."""
    if ast.unparse(lost.changed) == ast.unparse(lost.statement.targets[0]):
        alone = failure.exchange(lost.statement, failure.code(lost.call))
        return (alone,), "Keep the object instead of the result of the call"
    if any(isinstance(edit, Replace) and not edit.code for edit in lost.copied):
        return (), ""
    if not _drops_columns(lost.call) and _read_later(failure.source, lost):
        return (), ""
    return lost.copied, "Assign a changed copy"


def _drops_columns(call: ast.Call) -> bool:
    """Whether a call keeps the rows: it drops columns, fills values or renames."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    axis = keyword_value(call, "axis")
    columns = keyword_value(call, "columns") is not None
    columns = columns or isinstance(axis, ast.Constant) and axis.value in (1, "columns")
    return method in ("fillna", "rename") or method == "drop" and columns


def _read_later(source: Source, lost: _Lost) -> bool:
    """Whether the object, which a copy would leave unchanged, is read after the call."""
    changed = ast.unparse(lost.changed)
    function = source.enclosing(lost.statement, ast.FunctionDef)
    end = lost.statement.end_lineno or lost.statement.lineno
    nodes: list[ast.Name | ast.Attribute] = [*source.nodes(ast.Name), *source.nodes(ast.Attribute)]
    return any(
        node.lineno > end and ast.unparse(node) == changed
        for node in nodes
        if isinstance(node.ctx, ast.Load) and source.enclosing(node, ast.FunctionDef) is function
    )
