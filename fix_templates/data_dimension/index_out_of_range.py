"""An index is out of range, has an axis too few, or selects a part of another shape than the assigned value."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Crash,
    Edit,
    Family,
    Fault,
    FixPattern,
    Json,
    Replace,
    ShapeTemplate,
    Subject,
    Wrap,
    arithmetic,
    held_values,
    origins,
    raised_errors,
    tensor_shapes,
)

REFUSED = re.compile(r"index (\d+) is out of bounds for (?:dimension|axis) (\d+) with size (\d+)")
"""The message of torch and NumPy; for a list it has no numbers."""

SLOT = re.compile(r"could not broadcast input array from shape \(([\d, ]+)\) into shape \(([\d, ]+)\)")
"""The message of NumPy for a value that does not fit the part of the array it is assigned to."""

SLICE = re.compile(r"(None|-?\d+):(None|-?\d+):(None|-?\d+)")
"""A slice as recorded by the probe."""

COUNTED = frozenset(
    {f"torch.{name}" for name in ("randperm", "arange")}
    | {f"numpy.{name}" for name in ("arange", "random.permutation", "random.choice")}
)
"""Functions whose first argument is the number of elements to index."""

BOUNDED = frozenset({"torch.randint", "numpy.random.randint", "random.randrange"})
"""Functions whose upper bound is their first argument, or their second."""

Loop = ast.For | ast.comprehension
Shape = tuple[int | None, ...]
Known = tuple[int, ...]
Way = tuple[str, tuple[Edit, ...], float]


class IndexOutOfRange(ShapeTemplate):
    """An index is out of range, or selects a part of another shape than the value that is assigned to it.

    Elements are counted from zero: a loop over `range(n + 1)` or `range(1, n + 1)` reaches past the end, as does
    reading the next element in the last iteration. Random indices drawn for the number of all values, or for another
    axis, exceed the rows of a table.

    `maps[:, :, 3] = mask` in an array of four axes has the 3 one axis too early: with one more `:` the selected part
    has the shape of the value. And `torch.multinomial(p, 1)`, a layer of one unit and `predict` of Keras return a
    column of shape `(n, 1)`, while `table[:, i]` and `results[a:b]` have the shape `(n,)`: one axis of size one is
    removed or added.

    Fix safety: unsafe. The program did not run before; the loop stops earlier, or other indices are drawn.

    References: torch.randperm, torch.Tensor.size, "The range() Function" of the Python tutorial, torch.Tensor.expand,
    numpy indexing ("If the number of objects in the selection tuple is less than N, then `:` is assumed for any
    subsequent dimensions").
    """

    code = "DNF127"
    name = "index-out-of-range"
    formerly = ("index-past-the-end", "DNF116", "value-does-not-fit-slot", "DNF140", "index-lacks-axis")
    message = "the index does not fit: {what}"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION

    def explain(self, subject: Subject) -> Iterator[Fault]:
        found = _past(subject)
        ways = sorted(_ways(subject, found), key=lambda way: -way[2])[:3] if found is not None else []
        if found is not None and ways:
            what = f"`{ast.unparse(found.index)}` is out of range for `{ast.unparse(found.node.value)}`"
            yield Fault(subject.source.site(found.node), what, tuple(iter(ways)), {"axis": found.axis}, reading="end")
        crash = subject.crash
        node = subject.node(crash.site) if crash is not None else None
        statement = subject.source.statement_of(node) if node is not None else None
        if crash is not None and isinstance(statement, ast.Assign) and statement.targets[0] is node:
            yield from _lacks_axis(subject, crash, statement)
            yield from _does_not_fit(subject, crash, statement)

    programs = """
=== example: a loop to the length and one
import torch

rows = torch.rand(5, 3)
net = torch.nn.Linear(3, 2)
- for i in range(len(rows) + 1):
+ for i in range(len(rows)):
    net(rows[i])

=== example: the next element of each
import torch

series = [torch.rand(4) for _ in range(6)]
steps = []
- for t in range(len(series)):
+ for t in range(len(series) - 1):
    steps.append(series[t + 1] - series[t])

=== example: epochs counted from one
import torch

net = torch.nn.Linear(1, 1)
rates = [0.1, 0.05, 0.01]
for epoch in range(1, len(rates) + 1):
-     print(epoch, rates[epoch])
+     print(epoch, rates[epoch - 1])

=== example: the label in the last column, counted from one
import torch

table = torch.rand(20, 5)
- features, labels = table[:, :4], table[:, 5]
+ features, labels = table[:, :4], table[:, 4]
loss = (torch.nn.Linear(4, 1)(features)[:, 0] - labels).pow(2).mean()

=== example: rows shuffled by the number of all values
import torch


def shuffled(x, y):
-     order = torch.randperm(x.numel())
+     order = torch.randperm(len(x))
    return x[order], y[order]


shuffled(torch.rand(8, 5), torch.rand(8))

=== example: rows drawn by the length of another axis
import torch

data = torch.rand(6, 40)
for _ in range(20):
-     rows = torch.randint(0, data.size(1), (16,))
+     rows = torch.randint(0, len(data), (16,))
    batch = data[rows]

=== example: one of the lines that fill the channels of a batch
import numpy as np
import torch


def split(kinds):
    planes = np.zeros((len(kinds), 6, 8, 2), dtype="float32")
    planes[:, :, :, 0] = kinds == 0
-     planes[:, :, 1] = kinds == 1
+     planes[:, :, :, 1] = kinds == 1
    return torch.from_numpy(planes)


split(np.random.randint(0, 2, (3, 6, 8)))

=== example: windows of a table with several columns
import numpy as np
import torch

table = np.random.rand(40, 3)
steps, rows = 5, 35
windows = np.empty((rows, steps, 3))
for step in range(steps):
-     windows[step] = table[step:step + rows]
+     windows[:, step] = table[step:step + rows]
x = torch.tensor(windows)

=== example: one token sampled for each row
import torch
import torch.nn.functional as F

samples = torch.zeros(4, 6, dtype=torch.long)
scores = torch.randn(4, 9)
for i in range(6):
-     samples[:, i] = torch.multinomial(F.softmax(scores, dim=1), 1)
+     samples[:, i] = torch.multinomial(F.softmax(scores, dim=1), 1).squeeze(1)

=== example: a column of a table filled with a row of numbers
import torch

table = torch.zeros(6, 4)
steps = torch.arange(6.0)
- table[:, 0:1] = steps
+ table[:, 0:1] = steps.unsqueeze(1)

=== example: predictions of a Keras model put into an array
import keras
import numpy as np

model = keras.Sequential([keras.layers.Dense(1)])
x = np.ones((8, 3))
out = np.zeros(8)
- out[:4] = model.predict(x[:4], verbose=0)
+ out[:4] = model.predict(x[:4], verbose=0).squeeze(1)

=== reject: loops that stop in time
import torch

rows = torch.rand(5, 3)
for i in range(1, len(rows)):
    rows[i] - rows[i - 1]
rows[torch.randperm(len(rows))]

=== reject: a list with fewer elements than were configured
rates = [0.1, 0.01]
stages = 3


def rate(stage):
    return rates[stage]


for stage in range(stages):
    print(rate(stage))

=== reject: values that fit, some of them stretched
import numpy as np
import torch

maps = np.zeros((4, 6, 8, 2))
maps[:, :, :, 0] = np.ones((4, 6, 8))
maps[0] = 1.0
maps[:, 2] = np.arange(2)
torch.from_numpy(maps)

=== reject: a value of another number of elements
import numpy as np
import torch

maps = np.zeros((4, 6, 2))
maps[:, 0] = np.ones((4, 5))

=== reject: values that fit, and one row for all
import torch

table = torch.zeros(4, 6)
table[:, 0] = torch.ones(4)
table[1:3] = torch.ones(1, 6)
table[:, 2:3] = torch.ones(4, 1)
table[0] = torch.ones(1, 6)

=== reject: values of another number
import torch

table = torch.zeros(4, 6)
table[:, 0] = torch.ones(5)
"""


@dataclass(frozen=True, slots=True)
class _Past:
    """An index out of range: the subscript, the index, its axis, and whether it is one too high."""

    node: ast.Subscript
    index: ast.expr
    axis: int
    by_one: bool


def _past(subject: Subject) -> _Past | None:
    crash = subject.crash
    node = subject.node(crash.site) if crash is not None and crash.kind == "IndexError" else None
    node = node.value if isinstance(node, ast.Expr) else node
    if crash is None or not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Slice):
        return None
    said = REFUSED.search(crash.message)
    if said is None:
        return _Past(node, node.slice, 0, by_one=False) if crash.message == "list index out of range" else None
    axis, by_one = int(said[2]), said[1] == said[3]
    if not isinstance(node.slice, ast.Tuple):
        return _Past(node, node.slice, axis, by_one) if axis == 0 else None
    given = node.slice.elts
    plain = axis < len(given) and not any(isinstance(one, ast.Constant) and one.value in (None, ...) for one in given)
    return _Past(node, given[axis], axis, by_one) if plain else None


def _ways(subject: Subject, found: _Past) -> Iterator[Way]:
    if isinstance(found.index, ast.Name):
        loop = _loop_of(subject, found.index)
        if loop is not None:
            yield from _of_loop(subject, found, loop)
        else:
            yield from _of_drawn(subject, found)
        return
    match found.index:
        case ast.Subscript(value=ast.Name()):
            yield from _of_drawn(subject, found)
        case ast.BinOp(left=ast.Name() as name, op=ast.Add(), right=ahead) if (arithmetic.number(ahead) or 0) > 0:
            loop = _loop_of(subject, name)
            bounds = _range(loop) if loop is not None else None
            if bounds is not None:
                edit = _less(subject, bounds[-1], arithmetic.number(ahead) or 0)
                yield "Stop before the last elements", (edit,), 0.85
    if arithmetic.number(found.index) is not None and found.by_one:
        yield "Count the elements from zero", (_less(subject, found.index, 1),), 0.8
    if _is_length(found.index, found):
        yield "Take the last element", (_less(subject, found.index, 1),), 0.85


def _less(subject: Subject, node: ast.expr, less: int) -> Edit:
    """The edit that subtracts from an expression, or from the constant added to it."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=value)) if value == less:
            return Replace(subject.source.site(node), subject.text(subject.source.site(left)))
        case ast.Constant(value=int() as value):
            return Replace(subject.source.site(node), str(value - less))
    text = subject.text(subject.source.site(node))
    simple = isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.BinOp))
    return Replace(subject.source.site(node), f"{text} - {less}" if simple else f"({text}) - {less}")


# --- loops


def _loop_of(subject: Subject, name: ast.Name) -> Loop | None:
    """The loop or comprehension around the name whose target it is."""
    node = subject.source.parent(name)
    while node is not None and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        loops: list[Loop] = [node] if isinstance(node, ast.For) else []
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            loops += node.generators
        for loop in loops:
            if isinstance(loop.target, ast.Name) and loop.target.id == name.id:
                return loop
        node = subject.source.parent(node)
    return None


def _range(loop: Loop) -> list[ast.expr] | None:
    """The bounds of a loop over a range with step one: its stop, or its start and stop."""
    match loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=[*bounds], keywords=[]) if 1 <= len(bounds) <= 2:
            return bounds
    return None


def _of_loop(subject: Subject, found: _Past, loop: Loop) -> Iterator[Way]:
    bounds = _range(loop)
    if bounds is None:
        return
    stop = bounds[-1]
    beyond = isinstance(stop, ast.BinOp) and isinstance(stop.op, ast.Add) and arithmetic.number(stop.right) == 1
    from_one = len(bounds) == 2 and arithmetic.number(bounds[0]) == 1
    if from_one and beyond:
        yield "Count the elements from zero", (_less(subject, found.index, 1),), 0.85
    elif beyond:
        yield "Stop at the last element", (_less(subject, stop, 1),), 0.85
    elif _is_size(stop) and _is_of(stop, found.node.value):
        length = _length(found)
        if length is not None:
            yield "Stop at the last element", (Replace(subject.source.site(stop), length),), 0.75


# --- random indices


def _of_drawn(subject: Subject, found: _Past) -> Iterator[Way]:
    length = _length(found)
    for made in origins.origins(subject, found.index):
        if not isinstance(made, ast.Call) or not made.args:
            continue
        name = subject.source.qualified(made.func)
        if name == "random.randint" and len(made.args) == 2 and found.by_one:
            yield "Draw indices below the length", (_less(subject, made.args[1], 1),), 0.9
        bound: ast.expr | None = None
        if name in COUNTED and len(made.args) == 1 or name == "numpy.random.choice":
            bound = made.args[0]
        elif name in BOUNDED:
            second = made.args[1:2]
            bound = second[0] if second and not isinstance(second[0], (ast.Tuple, ast.List)) else made.args[0]
        if bound is None or length is None:
            continue
        match bound:
            case ast.BinOp(op=ast.Add(), right=ast.Constant(value=1)) if found.by_one:
                yield "Draw indices below the length", (_less(subject, bound, 1),), 0.85
            case _ if _is_size(bound) and ast.unparse(bound) != length:
                yield "Draw indices of the indexed array", (Replace(subject.source.site(bound), length),), 0.8


def _length(found: _Past) -> str | None:
    """The code for the size of the indexed object along the axis of the index."""
    if not isinstance(found.node.value, (ast.Name, ast.Attribute)):
        return None
    text = ast.unparse(found.node.value)
    return f"len({text})" if found.axis == 0 else f"{text}.shape[{found.axis}]"


def _is_size(node: ast.expr) -> bool:
    """Whether an expression is a size: a length, the size of an axis, or the number of values."""
    match node:
        case ast.Call(func=ast.Name(id="len")) | ast.Call(func=ast.Attribute(attr="size" | "numel" | "nelement")):
            return True
        case ast.Subscript(value=ast.Attribute(attr="shape")) | ast.Attribute(attr="size"):
            return True
    return False


def _is_of(node: ast.expr, thing: ast.expr) -> bool:
    """Whether a size is one of this object."""
    written = ast.dump(thing)
    return any(ast.dump(inner) == written for inner in ast.walk(node) if isinstance(inner, ast.expr))


def _is_length(node: ast.expr, found: _Past) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[thing]):
            return found.axis == 0 and ast.dump(thing) == ast.dump(found.node.value)
        case ast.Call(func=ast.Attribute(value=thing, attr="size"), args=[axis]):
            return arithmetic.number(axis) == found.axis and ast.dump(thing) == ast.dump(found.node.value)
        case ast.Subscript(value=ast.Attribute(value=thing, attr="shape"), slice=axis):
            return arithmetic.number(axis) == found.axis and ast.dump(thing) == ast.dump(found.node.value)
    return False


# --- a value that does not fit the indexed part


def _lacks_axis(subject: Subject, crash: Crash, statement: ast.Assign) -> Iterator[Fault]:
    """A part of an array whose index has an axis too few for the value."""
    target, said = statement.targets[0], SLOT.search(crash.message) if crash.kind == "ValueError" else None
    if said is None or len(statement.targets) != 1 or not isinstance(target, ast.Subscript):
        return
    received, free = raised_errors.shape_said(said[1]), raised_errors.shape_said(said[2])
    whole = held_values.shape_of(subject, target.value)
    if whole is None or held_values.part_shape(subject, whole, held_values.indices(target)) != free:
        return
    site = subject.source.site(target)
    ways = [
        (f"Index with {text}", (Replace(site, text),), 0.9) for text in _with_one_more(subject, target, whole, received)
    ]
    if ways:
        what = f"a value of shape {tensor_shapes.by(received)} is assigned to a slice of shape {tensor_shapes.by(free)}, whose index has one axis too few"
        evidence: dict[str, Json] = {"received": list(received), "free": list(free)}
        yield Fault(crash.site, what, tuple(iter(ways[:2])), evidence, confidence=0.95, reading="index")


def _with_one_more(subject: Subject, target: ast.Subscript, whole: Shape, wanted: Shape) -> Iterator[str]:
    """The subscript with as many more `:` as give the selected part the wanted shape, the fewest first."""
    given = held_values.indices(target)
    full = ast.Slice()
    owner = subject.source.segment(subject.source.site(target.value))
    seen: set[str] = set()
    for more in range(1, len(whole) - len(given) + 1):
        for place in range(len(given) + 1):
            changed = (*given[:place], *(full,) * more, *given[place:])
            if held_values.part_shape(subject, whole, changed) != wanted:
                continue
            text = f"{owner}[{', '.join(':' if one is full else _index_text(subject, one) for one in changed)}]"
            if text not in seen:
                seen.add(text)
                yield text


def _index_text(subject: Subject, index: ast.expr) -> str:
    return ast.unparse(index) if isinstance(index, ast.Slice) else subject.source.segment(subject.source.site(index))


def _does_not_fit(subject: Subject, crash: Crash, statement: ast.Assign) -> Iterator[Fault]:
    """A value with an axis of size one assigned to a part without it, or the reverse."""
    shapes = _shapes(crash)
    change = _change(*shapes, array=crash.call is None) if shapes is not None else None
    if shapes is not None and change is not None:
        received, wanted = shapes
        title = f"Reshape the value with {change}"
        ways = iter([(title, (_behind(subject, statement.value, change),), 0.9)])
        evidence: dict[str, Json] = {"received": list(received), "wanted": list(wanted)}
        what = (
            f"a value of shape {tensor_shapes.by(received)} is assigned to a slice of shape {tensor_shapes.by(wanted)}"
        )
        yield Fault(crash.site, what, tuple(ways), evidence, confidence=0.95, reading="value")


def _behind(subject: Subject, value: ast.expr, code: str) -> Edit:
    simple = isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return Wrap(subject.source.site(value), "" if simple else "(", code if simple else f"){code}")


def _shapes(crash: Crash) -> tuple[Known, Known] | None:
    """The shapes of the value and of the part it is assigned to, if known from the crash."""
    if crash.call is None:  # not a call of a framework: the shapes are in the message of NumPy
        said = SLOT.search(crash.message) if crash.kind == "ValueError" else None
        shapes = (
            [tensor_shapes.known(raised_errors.shape_said(part)) for part in said.groups()] if said is not None else []
        )
        return (shapes[0], shapes[1]) if shapes and shapes[0] is not None and shapes[1] is not None else None
    if crash.call.name != "torch.Tensor.setitem" or len(crash.call.inputs) != 2:
        return None
    table, value = (tensor_shapes.known(one.shape) for one in crash.call.inputs)
    wanted = _part(table, crash.call.args.get("index")) if table is not None else None
    return (value, wanted) if value is not None and wanted is not None else None


def _part(shape: Known, index: Json) -> Known | None:
    """The shape that an index of integers and slices selects; `None` for any other index."""
    listed = index if isinstance(index, (list, tuple)) else [index]
    if len(listed) > len(shape):
        return None
    sizes: list[int] = []
    for size, one in zip(shape, listed, strict=False):
        written = one.get("repr") if isinstance(one, dict) else None
        found = SLICE.fullmatch(written) if isinstance(written, str) else None
        if found is not None:
            bounds = [None if part == "None" else int(part) for part in found.groups()]
            sizes.append(len(range(*slice(*bounds).indices(size))))
        elif not isinstance(one, int) or isinstance(one, bool):
            return None
    return (*sizes, *shape[len(listed) :])


def _change(received: Known, wanted: Known, array: bool) -> str | None:
    """The method that removes, or adds, the one axis of size one in which the shapes differ."""
    for axis in reversed(range(len(received))):
        if received[axis] == 1 and received[:axis] + received[axis + 1 :] == wanted:
            return f".squeeze({axis})"
    for axis in reversed(range(len(wanted))):
        if wanted[axis] == 1 and wanted[:axis] + wanted[axis + 1 :] == received:
            if array:
                return ".reshape(-1, 1)" if axis == 1 and len(wanted) == 2 else None
            return f".unsqueeze({axis})"
    return None
