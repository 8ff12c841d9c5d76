"""Tensors or branches of a network are concatenated, stacked or added, and their shapes do not match."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Call,
    Decline,
    Edit,
    Family,
    Fault,
    FixPattern,
    Json,
    RemoveArgument,
    Repairs,
    Replace,
    SetArgument,
    ShapeTemplate,
    Site,
    Subject,
    Value,
    Wrap,
    argument_value,
    crashes,
    data_edits,
    held_values,
    layer_facts,
    network_facts,
    recipes,
    short,
    size_edits,
    tensor_shapes,
)

JOINS = frozenset({"torch.cat", "torch.concat", "torch.concatenate", "torch.stack"})

ADDITIONS = frozenset(
    {f"torch.Tensor.{name}" for name in ("add", "sub", "mul", "add_", "mul_")}
    | {"torch.add", "torch.mul", "keras.ops.add", "keras.ops.multiply", "keras.ops.subtract"}
    | {f"keras.layers.{name}" for name in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum")}
)

REFUSED = (
    re.compile(r"Incompatible shapes: \[(\d+)(?:,\d+)*\] vs\. \[(\d+)"),
    re.compile(r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension 0"),
    re.compile(r"could not be broadcast together with shapes \((\d+)(?:,\d+)*,?\) \((\d+)"),
)
"""Messages of TensorFlow, torch and NumPy for two tensors that differ along the first axis, with both sizes."""

JOINING = frozenset({"numpy.concatenate", "torch.cat", "torch.concat", "tensorflow.concat", "keras.ops.concatenate"})
"""Functions whose library also has a `stack`."""

Shape = tuple[int | None, ...]
Known = tuple[int, ...]
Way = tuple[str, tuple[Edit, ...], float]


class TensorsCannotBeJoined(ShapeTemplate):
    """Tensors or branches of a network are concatenated, stacked or added, and their shapes do not match.

    `torch.cat` joins along an axis that all tensors have, which scalars and vectors may not; `torch.stack` needs equal
    shapes, and the last batch of an epoch is often smaller. A weight with a batch axis of size one, such as a class
    token, has to be expanded for every sample, since `cat` does not broadcast. And `n` tensors of shape `(batch,
    units)` concatenated along the first axis have `n * batch` rows; if the other operand has one more axis, of size
    `n`, they should be stacked.

    Added branches need equal shapes, concatenated ones equal shapes but for the axis. Branches differ if a convolution
    of one has no padding, if strides or channels differ, or if the axis is wrong.

    Fix safety: unsafe. The program did not run before; the values stay, and an expanded weight learns from all samples.

    References: torch.cat, torch.stack, torch.unsqueeze, torch.Tensor.expand, tf.stack, numpy.stack, keras.layers.Add,
    keras.layers.Concatenate, torch.nn.Conv2d (`padding`).
    """

    code = "DNF125"
    name = "tensors-cannot-be-joined"
    formerly = (
        "DNF222",
        "weight-not-repeated",
        "DNF241",
        "joined-where-stacked-is-meant",
        "DNF214",
        "branches-do-not-match",
    )
    message = "cannot join tensors of these shapes: {what}"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    elsewhere = True

    def explain(self, subject: Subject) -> Iterator[Fault]:
        evidence: dict[str, Json]
        found = _joined(subject)
        if found is not None:
            shapes = list(dict.fromkeys(found.shapes))
            said = " and ".join(tensor_shapes.by(shape) or "no axes" for shape in shapes[:3])
            what = f"{short(found.call.name)} along axis {found.axis} does not accept shapes {said}"
            evidence = {"shapes": [list(shape) for shape in shapes], "axis": found.axis}
            yield Fault(
                subject.source.site(found.node),
                what,
                tuple(_ways(subject, found)),
                evidence,
                confidence=0.85,
                reading="joined",
            )
        merge = _merge(subject)
        site = (merge.call.site or merge.call.made_at) if merge is not None else None
        if merge is not None and site is not None and not site.path:
            what = f"{short(merge.call.name)} merges branches of {_shown(merge.first)} and {_shown(merge.second)}"
            evidence = {"first": list(merge.first.shape or ()), "second": list(merge.second.shape or ())}
            yield Fault(site, what, tuple(_matched(subject, merge)), evidence, confidence=0.85, reading="branches")
        yield from _unrepeated(subject)
        yield from _not_stacked(subject)

    programs = """
=== example: predictions of batches, the last of which is smaller
import torch
from torch import nn

net, data = nn.Linear(6, 2), torch.rand(10, 6)
- answers = torch.stack([net(rows) for rows in data.split(4)])
+ answers = torch.cat([net(rows) for rows in data.split(4)])
print(answers.argmax(-1))

=== example: columns of a table
import torch

x, y = torch.linspace(0, 1, 20), torch.rand(20)
- points = torch.cat((x, y), dim=1)
+ points = torch.stack((x, y), dim=1)
out = torch.nn.Linear(2, 3)(points)

=== example: the state of a recurrent layer beside its input
import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(5, 6)
        self.out = nn.Linear(11, 5)

    def forward(self, x):
        _, hidden = self.rnn(x.unsqueeze(0))
-         return self.out(torch.cat((x, hidden), dim=1))
+         return self.out(torch.cat((x, hidden.squeeze(0)), dim=1))


Decoder()(torch.rand(3, 5))

=== example: learned features beside those of each sample
import torch

layer = torch.nn.Linear(3, 4)
bias = torch.nn.Parameter(torch.zeros(1, 2))
hidden = layer(torch.randn(5, 3))
- both = torch.cat([hidden, bias], 1)
+ both = torch.cat([hidden, bias.expand(hidden.shape[0], -1)], 1)

=== example: a learned start of sequences, as keywords
import torch
import torch.nn as nn


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Parameter(torch.zeros(1, 1, 4))
        self.rnn = nn.GRU(4, 6, batch_first=True)

    def forward(self, words):
-         steps = torch.concat(tensors=(self.start, words), dim=-2)
+         steps = torch.concat(tensors=(self.start.expand(words.shape[0], -1, -1), words), dim=-2)
        return self.rnn(steps)[0]


Decoder()(torch.randn(3, 7, 4))

=== example: weights for each member of an ensemble
import torch
from torch import nn

members = [nn.Linear(4, 2) for _ in range(3)]
weights = torch.rand(3, 1, 2)
x, y = torch.rand(5, 4), torch.rand(5, 2)
votes = [member(x) for member in members]
- panel = torch.cat(votes, dim=0)
+ panel = torch.stack(votes, dim=0)
result = (weights * panel).sum(0)
error = (result - y) ** 2

=== example: members that vote in one statement
import torch

scores = [torch.rand(7, 4) for _ in range(2)]
prior = torch.zeros(2, 7, 4)
- total = torch.cat(scores) + prior
+ total = torch.stack(scores) + prior

=== example: a residual whose convolution removes the border
import torch
import torch.nn as nn


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
-         self.conv = nn.Conv2d(4, 4, kernel_size=3)
+         self.conv = nn.Conv2d(4, 4, kernel_size=3, padding=1)

    def forward(self, x):
        return x + torch.relu(self.conv(x))


print(Residual()(torch.randn(2, 4, 8, 8)).shape)

=== example: branches of different widths
import torch
from torch import nn

x = torch.randn(3, 5)
- left, right = nn.Linear(5, 8), nn.Linear(5, 6)
+ left, right = nn.Linear(5, 8), nn.Linear(5, 8)
y = left(x) * right(x)

=== example: a decoder with strided convolutions
from keras import Input, layers

signal = Input((48, 1))
wide = layers.Conv1D(4, 3, padding="same")(signal)
low = layers.MaxPooling1D(2)(layers.MaxPooling1D(2)(wide))
x = layers.UpSampling1D(2)(low)
- x = layers.Conv1D(4, 3, strides=3, padding="same", activation="relu")(x)
+ x = layers.Conv1D(4, 3, padding="same", activation="relu")(x)
x = layers.concatenate([layers.UpSampling1D(2)(x), wide])

=== example: Keras branches joined with and without border
from keras.layers import Input, Conv2D, Concatenate, Dense

inputs = Input((8, 8, 3))
- a = Conv2D(4, 3)(inputs)
+ a = Conv2D(4, 3, padding="same")(inputs)
b = Conv2D(6, 1)(inputs)
merged = Concatenate()([a, b])

=== reject: joins that go well
import torch

a, b = torch.rand(4, 3), torch.rand(2, 3)
torch.cat((a, b))
torch.stack([a, a + 1], dim=2)

=== reject: a class token that is expanded
import torch
from torch import nn

token, embed = nn.Parameter(torch.randn(1, 1, 8)), nn.Linear(6, 8)
x = embed(torch.randn(4, 5, 6))
x = torch.cat((token.expand(len(x), -1, -1), x), dim=1)

=== reject: data of one sample joined to a batch
import torch

a, b = torch.nn.Linear(3, 2)(torch.randn(4, 3)), torch.randn(1, 2)
try:
    torch.cat((a, b), dim=1)
except RuntimeError:
    torch.cat((a, b), dim=0)

=== reject: tensors joined for a weight of that size
import torch

parts = [torch.rand(4, 3) for _ in range(2)]
weights = torch.rand(2, 8, 3)
weights * torch.cat(parts)

=== reject: a crash between tensors that were not joined
import torch

a, b = torch.rand(3, 1, 2), torch.rand(15, 4)
a * b

=== reject: an operand with an axis of another size
import torch

parts = [torch.rand(4, 3) for _ in range(2)]
torch.rand(5, 4, 3) * torch.cat(parts)

=== reject: branches that match
import torch
import torch.nn as nn

x = torch.randn(2, 4, 8, 8)
a, b = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 1)
torch.cat([a(x) + b(x), x], dim=1)

=== reject: a loss between tensors of different lengths
import torch

error = torch.randn(4, 3) - torch.randn(5, 3)
"""


# --- a join that fails


@dataclass(frozen=True, slots=True)
class _Joined:
    """A call that failed, the shapes of the tensors and the axis."""

    call: Call
    node: ast.Call
    shapes: tuple[Known, ...]
    axis: int

    @property
    def stacks(self) -> bool:
        """Whether the call adds a new axis."""
        return self.call.name == "torch.stack"


def _joined(subject: Subject) -> _Joined | None:
    call = subject.crash.call if subject.crash is not None else None
    node = subject.call_node(call) if call is not None and call.name in JOINS else None
    shapes = [tensor_shapes.known(value.shape) for value in call.inputs] if call is not None else []
    axis = call.args.get("dim", call.args.get("axis", 0)) if call is not None else None
    if (
        call is None
        or node is None
        or len(shapes) < 2
        or not isinstance(axis, int)
        or not isinstance(node.func, ast.Attribute)
    ):
        return None
    found = tuple(shape for shape in shapes if shape is not None)
    if len(found) != len(shapes):
        return None
    ranks = {len(shape) for shape in found}
    stacks = call.name == "torch.stack"
    if stacks and len(ranks) == 1 and len(set(found)) > 1:
        return _Joined(call, node, found, axis)
    if not stacks and (len(ranks) > 1 or not -min(ranks) <= axis < min(ranks)):
        return _Joined(call, node, found, axis)
    return None


def _ways(subject: Subject, found: _Joined) -> Repairs:
    yield Decline("the shapes do not show how the tensors belong together")
    ways = [*_stacked(subject, found), *_concatenated(subject, found), *_with_axis(subject, found)]
    yield from sorted(ways, key=lambda way: -way[2])[:3]


def _stacked(subject: Subject, found: _Joined) -> Iterator[Way]:
    """Stack tensors that are concatenated along an axis that none of them has."""
    rank = len(found.shapes[0])
    if found.stacks or len(set(found.shapes)) > 1:
        return
    if found.axis == rank:
        yield "Stack the tensors", (_function(subject, found, "stack"),), 0.9 if rank < 2 else 0.6
    if found.axis == rank > 0:
        literal = _axis_literal(subject, found)
        if literal is not None:
            yield "Concatenate along the last axis", (Replace(literal, str(rank - 1)),), 0.6 if rank < 2 else 0.75


def _concatenated(subject: Subject, found: _Joined) -> Iterator[Way]:
    """Concatenate tensors that are stacked, if they differ along one axis only."""
    first = found.shapes[0]
    if not found.stacks or _axis_literal(subject, found) is not None:
        return
    differ = {i for shape in found.shapes for i in range(len(first)) if shape[i] != first[i]}
    if differ == {0}:
        yield "Concatenate the tensors", (_function(subject, found, "cat"),), 0.85
    elif len(differ) == 1:
        axis = SetArgument(subject.source.site(found.node), "dim", str(differ.pop()), 1)
        yield "Concatenate the tensors", (_function(subject, found, "cat"), axis), 0.7


def _with_axis(subject: Subject, found: _Joined) -> Iterator[Way]:
    """Add the missing axis to the tensors with fewer axes, or squeeze it in the others."""
    given = found.node.args[0] if found.node.args else None
    if found.stacks or not isinstance(given, (ast.Tuple, ast.List)) or len(given.elts) != len(found.shapes):
        return
    ranks = sorted({len(shape) for shape in found.shapes})
    if len(ranks) != 2 or ranks[1] - ranks[0] != 1 or any(isinstance(one, ast.Starred) for one in given.elts):
        return
    few = [i for i, shape in enumerate(found.shapes) if len(shape) == ranks[0]]
    many = [i for i, shape in enumerate(found.shapes) if len(shape) == ranks[1]]
    for odd, others, rank, method in ((few, many, ranks[1], "unsqueeze"), (many, few, ranks[0], "squeeze")):
        if not -rank <= found.axis < rank:
            continue
        model = found.shapes[others[0]]
        places = [
            axis for axis in range(ranks[1]) if all(_meets(found, found.shapes[i], axis, model, method) for i in odd)
        ]
        if len(places) == 1:
            edits = tuple(data_edits.wrapped(subject, given.elts[i], "", f".{method}({places[0]})") for i in odd)
            title = "Add the missing axis to the tensor" if odd is few else "Squeeze the axis of size one"
            yield title, edits, 0.85 if odd is few else 0.8


def _meets(found: _Joined, shape: Known, axis: int, model: Known, method: str) -> bool:
    """Whether the tensor, with an axis more or less, has the sizes of the others but for the joined axis."""
    if method == "squeeze":
        if shape[axis] != 1:
            return False
        changed = shape[:axis] + shape[axis + 1 :]
    else:
        changed = (*shape[:axis], 1, *shape[axis:])
    joined = found.axis % len(model)
    return all(one == other for i, (one, other) in enumerate(zip(changed, model, strict=True)) if i != joined)


def _function(subject: Subject, found: _Joined, name: str) -> Edit:
    function = found.node.func
    owner = subject.text(subject.source.site(function.value)) if isinstance(function, ast.Attribute) else "torch"
    return Replace(subject.source.site(function), f"{owner}.{name}")


def _axis_literal(subject: Subject, found: _Joined) -> Site | None:
    """The site of the axis argument, if there is one."""
    given = found.node.args[1:2] or [one.value for one in found.node.keywords if one.arg in ("dim", "axis")]
    return subject.source.site(given[0]) if given else None


# --- a weight joined to a batch


def _unrepeated(subject: Subject) -> Iterator[Fault]:
    """A weight with a batch axis of size one that is concatenated with a whole batch."""
    call = subject.crash.call if subject.crash is not None else None
    node = subject.call_node(call) if call is not None and call.name in tensor_shapes.CONCATENATIONS else None
    if call is None or node is None or not call.name.startswith("torch."):
        return
    given, axis = argument_value(node, "tensors", 0), call.args.get("dim", 0)
    if not isinstance(given, (ast.Tuple, ast.List)) or len(given.elts) != len(call.inputs) or not isinstance(axis, int):
        return
    pairs = list(zip(call.inputs, given.elts, strict=True))
    for value, own in pairs:
        weight = value.shape or ()
        if value.producer is not None or value.requires_grad is not True or weight[:1] != (1,):
            continue
        for other, beside in pairs:
            batch = other.shape or ()
            if other is value or len(batch) != len(weight) or axis % len(batch) == 0:
                continue
            if [i for i in range(len(batch)) if i != axis % len(batch) and weight[i] != batch[i]] == [0]:
                what = f"{short(call.name)} joins a weight of shape {weight} to a batch of shape {batch}"
                evidence: dict[str, Json] = {"weight": list(weight), "batch": list(batch)}
                yield Fault(
                    call.site,
                    what,
                    tuple(_repeated(subject, own, beside, len(weight))),
                    evidence,
                    confidence=0.95,
                    reading="weight",
                )
                return


def _repeated(subject: Subject, weight: ast.expr, beside: ast.expr, rank: int) -> Repairs:
    if not isinstance(beside, (ast.Name, ast.Attribute)):
        yield Decline("the batch that the weight is joined to has no name")
        return
    code = f".expand({subject.text(subject.source.site(beside))}.shape[0]{', -1' * (rank - 1)})"
    yield "Repeat the weight for every sample", (Wrap(subject.source.site(weight), "", code),), 0.9


# --- a concatenation that should be a stack


def _not_stacked(subject: Subject) -> Iterator[Fault]:
    """An operand made by a concatenation, where the other operand has an axis of as many elements as tensors."""
    crash = subject.crash
    if crash is None or not crash.frames:
        return
    failed, factor = subject.node(crash.site), _factor(crash.message)
    for operation in subject.source.nodes(ast.BinOp):
        if isinstance(operation.op, ast.MatMult) or not (operation is failed or factor):
            continue
        for operand, other in ((operation.left, operation.right), (operation.right, operation.left)):
            shape = held_values.shape_of(subject, other)
            fault = _together(subject, operand, shape) if shape is not None else None
            if fault is None or shape is None or not (operation is failed and fault.fails or fault.count == factor):
                continue
            what = (
                f"{fault.count} tensors are concatenated where the other operand has a separate axis of {fault.count}"
            )
            evidence: dict[str, Json] = {"count": fault.count, "other": list(shape)}
            yield Fault(
                subject.source.site(fault.call),
                what,
                tuple(_on_own_axis(subject, fault.call)),
                evidence,
                reading="stacked",
            )
            return


def _on_own_axis(subject: Subject, call: ast.Call) -> Repairs:
    source, function = subject.source, call.func
    if not isinstance(function, ast.Attribute):
        yield Decline("the function that joins is not called on its library")
        return
    edit = Replace(source.site(function), f"{source.segment(source.site(function.value))}.stack")
    yield "Stack the tensors along a new axis", (edit,), 0.9


def _factor(message: str) -> int | None:
    """By what integer factor one of two sizes in the message is larger than the other."""
    said = next(filter(None, (one.search(message) for one in REFUSED)), None)
    small, large = sorted(map(int, said.groups())) if said is not None else (0, 0)
    return large // small if small and large > small and large % small == 0 else None


@dataclass(frozen=True, slots=True)
class _Together:
    """A concatenation, its number of tensors, and whether its result does not broadcast with the other operand."""

    call: ast.Call
    count: int
    fails: bool


def _together(subject: Subject, operand: ast.expr, other: Shape) -> _Together | None:
    """The concatenation that an operand comes from, if the other one has an axis of as many elements as tensors."""
    call = operand
    if isinstance(operand, ast.Name):
        bound = subject.source.bindings(operand, operand)
        call = bound[0] if len(bound) == 1 else operand
    if not isinstance(call, ast.Call) or subject.source.qualified(call.func) not in JOINING or not call.args:
        return None
    listed = _listed(subject, call.args[0])
    axis = _axis_written(call)
    if listed is None or axis is None or any(keyword.arg is None for keyword in call.keywords):
        return None
    count, one = listed
    if count < 2 or len(other) != len(one) + 1 or not 0 <= axis < len(other) or other[axis] != count:
        return None
    stacked: Shape = (*one[:axis], count, *one[axis:])
    joined_size = one[axis] if axis < len(one) else None
    joined: Shape = (*one[:axis], joined_size * count if joined_size is not None else None, *one[axis + 1 :])
    fails = joined_size is not None and held_values.broadcast([joined, other]) is None
    return _Together(call, count, fails) if held_values.broadcast([stacked, other]) is not None else None


def _axis_written(call: ast.Call) -> int | None:
    given = next((keyword.value for keyword in call.keywords if keyword.arg in ("axis", "dim")), None)
    given = call.args[1] if given is None and len(call.args) > 1 else given
    if given is None:
        return 0
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, int) else None


def _listed(subject: Subject, given: ast.expr) -> tuple[int, Shape] | None:
    """The number of tensors in a list and their common shape."""
    if isinstance(given, (ast.List, ast.Tuple)):
        shapes = [held_values.shape_of(subject, one) for one in given.elts]
        count = len(shapes)
    else:
        listed = held_values.held_list(subject, given)
        if listed is None:
            return None
        count = listed[0]
        shapes = [_shape(one) for one in listed[1]]
    first = shapes[0] if shapes else None
    return (count, first) if first is not None and all(one == first for one in shapes) else None


def _shape(description: object) -> Shape | None:
    given = description.get("shape") if isinstance(description, dict) else None
    return tuple(given) if isinstance(given, list) else None


# --- branches of a network


@dataclass(frozen=True, slots=True)
class _Merge:
    """A merge that crashed, the two inputs that do not match, and the axis of a concatenation."""

    call: Call
    first: Value
    second: Value
    axis: int | None


def _shown(value: Value) -> str:
    return tensor_shapes.by(value.shape or ()).replace("None", "?")


def _matched(subject: Subject, found: _Merge) -> Repairs:
    yield Decline("no change of one argument makes the branches match")
    ways = [*_other_axis(subject, found), *_kept_borders(subject, found), *_same_channels(subject, found)]
    yield from sorted(ways, key=lambda way: -way[2])[:4]


def _merge(subject: Subject) -> _Merge | None:
    call = subject.crash.call if subject.crash is not None else None
    if call is None or len(call.inputs) < 2 or call.name not in ADDITIONS | tensor_shapes.CONCATENATIONS:
        return None
    axis: int | None = None
    if call.name in tensor_shapes.CONCATENATIONS:
        given = call.args.get("axis", call.args.get("dim", -1 if call.name.startswith("keras.") else 0))
        axis = given if isinstance(given, int) else None
        if axis is None:
            return None
    first = call.inputs[0]
    for second in call.inputs[1:]:
        a, b = first.shape, second.shape
        if a is None or b is None or len(a) != len(b):
            continue
        if axis is None and not any(_layers(subject, value) for value in (first, second)):
            continue
        if any(_clash(a, b, place, axis) for place in range(len(a))):
            return _Merge(call, first, second, axis)
    return None


def _clash(a: tuple[int | None, ...], b: tuple[int | None, ...], place: int, axis: int | None) -> bool:
    one, other = a[place], b[place]
    if one is None or other is None or one == other:
        return False
    return place != axis % len(a) if axis is not None else 1 not in (one, other)


def _layers(subject: Subject, value: Value) -> bool:
    """Whether a layer of the network computed the value."""
    return any(
        call.made_at is not None and layer_facts(call) is not None for call in tensor_shapes.way_back(subject, value)
    )


def _other_axis(subject: Subject, found: _Merge) -> Iterator[Way]:
    """The one axis along which the branches could be concatenated."""
    shapes = [value.shape for value in found.call.inputs if value.shape is not None]
    if found.axis is None or len(shapes) != len(found.call.inputs):
        return
    rank = len(shapes[0])
    fits = [
        axis
        for axis in range(rank)
        if axis != found.axis % rank
        and not any(_clash(shapes[0], other, place, axis) for other in shapes[1:] for place in range(rank))
    ]
    if len(fits) != 1:
        return
    keras = found.call.name == "keras.layers.Concatenate"
    name = "axis" if found.call.name.startswith("keras.") else "dim"
    node = subject.constructor_node(found.call) if keras else subject.call_node(found.call)
    if node is not None:
        edit = SetArgument(
            subject.source.site(node), name, str(fits[0]), network_facts.argument_position(found.call.name, name)
        )
        yield f"Join along axis {fits[0]}", (edit,), 0.85


def _spatial(subject: Subject, value: Value) -> Iterator[Call]:
    """The convolutions and poolings of a branch, the last one first."""
    for call in tensor_shapes.way_back(subject, value):
        facts = layer_facts(call)
        if (
            facts is not None
            and facts.kind in ("convolution", "pooling")
            and facts.spatial
            and call.made_at is not None
        ):
            yield call


def _kept_borders(subject: Subject, found: _Merge) -> Iterator[Way]:
    """Pad the smaller branch so that its image keeps its size, or use the same stride in both."""
    for small, large in ((found.first, found.second), (found.second, found.first)):
        a, b = tensor_shapes.known((small.shape or ())[1:]), tensor_shapes.known((large.shape or ())[1:])
        if a is None or b is None or not any(one < other for one, other in zip(a, b, strict=True)):
            continue
        shared = {call.id for call in tensor_shapes.way_back(subject, large)}
        for call in _spatial(subject, small):
            if call.id in shared:
                break
            yield from _padding(subject, call, a, b)
            yield from _unstrided(subject, call, a, b)
            yield from _stride(subject, call, large, shared)


def _padding(subject: Subject, call: Call, small: tuple[int, ...], large: tuple[int, ...]) -> Iterator[Way]:
    facts = layer_facts(call)
    spatial = facts.spatial if facts is not None else 0
    window = crashes.sizes(call.args.get("kernel_size"), spatial)
    if window is None or facts is None or facts.kind != "convolution" or "Transpose" in call.name:
        return
    keras = call.name.startswith("keras.")
    axes = range(spatial) if keras else range(len(small) - spatial, len(small))
    lost = {large[axis] - small[axis] for axis in axes}
    if keras and call.args.get("padding") == "valid" and lost == {max(window) - 1}:
        edits = recipes.set_constructor_argument(subject, call, "padding", '"same"')
        if edits is not None:
            yield f"Pad {short(call.name)} to keep the size of its image", edits, 0.8
    elif not keras and len(lost) == 1 and crashes.sizes(call.args.get("stride"), spatial) == (1,) * spatial:
        missing, now = lost.pop(), crashes.sizes(call.args.get("padding"), spatial)
        if missing % 2 == 0 and now is not None and len(set(now)) == 1 and now[0] + missing // 2 < max(window):
            border = str(now[0] + missing // 2)
            edits = recipes.set_constructor_argument(subject, call, "padding", border)
            if edits is not None:
                yield f"Pad the input of {short(call.name)} by {border}", edits, 0.8


def _unstrided(subject: Subject, call: Call, small: tuple[int, ...], large: tuple[int, ...]) -> Iterator[Way]:
    """Remove the stride of a convolution, if the branch is too small by this factor everywhere.

    Only after an upsampling: in an encoder strides are meant.
    """
    facts = layer_facts(call)
    if facts is None or facts.kind != "convolution" or "Transpose" in call.name or call.name.startswith("torch."):
        return
    stride = crashes.sizes(call.args.get("strides"), facts.spatial)
    widened = (
        any(
            "UpSampling" in one.name or "Transpose" in one.name
            for one in tensor_shapes.way_back(subject, call.inputs[0])
        )
        if call.inputs
        else False
    )
    axes = range(facts.spatial)
    if stride is None or max(stride) == 1 or not widened:
        return
    if all(small[axis] * stride[axis] == large[axis] for axis in axes):
        node = subject.constructor_node(call)
        edits: tuple[Edit, ...] | None = None
        if node is not None and any(keyword.arg == "strides" for keyword in node.keywords):
            edits = (RemoveArgument(subject.source.site(node), "strides"),)
        if edits is not None:
            yield f"Remove the stride of {short(call.name)}", edits, 0.85


def _stride(subject: Subject, call: Call, large: Value, shared: set[int]) -> Iterator[Way]:
    """Set the stride of the last convolution of the larger branch to that of this one."""
    facts = layer_facts(call)
    name = "strides" if call.name.startswith("keras.") else "stride"
    stride = crashes.sizes(call.args.get(name), facts.spatial) if facts is not None else None
    other = next((one for one in _spatial(subject, large) if one.id in shared), None)
    if stride is None or other is None or set(stride) == {1} or len(set(stride)) != 1:
        return
    theirs = layer_facts(other)
    if (
        theirs is None
        or theirs.kind != "convolution"
        or set(crashes.sizes(other.args.get(name), theirs.spatial) or ()) != {1}
    ):
        return
    edits = recipes.set_constructor_argument(subject, other, name, str(stride[0]))
    if edits is not None:
        yield f"Set the stride of {short(other.name)} to {stride[0]}, as in the other branch", edits, 0.75


def _same_channels(subject: Subject, found: _Merge) -> Iterator[Way]:
    """Change the number of channels or features of one branch to that of the other."""
    a, b = found.first.shape or (), found.second.shape or ()
    for place in range(1, len(a)):
        if not _clash(a, b, place, found.axis):
            continue
        for prior, changed, model in ((0.7, found.second, a), (0.6, found.first, b)):
            layer = tensor_shapes.sized_producer(subject, changed, place)
            facts = layer_facts(layer) if layer is not None else None
            wanted = model[place]
            if layer is None or facts is None or facts.gives is None or wanted is None:
                continue
            if network_facts.stated_output(layer) != layer.args.get(facts.gives):
                continue
            for change in size_edits.size_changes(subject, layer, facts.gives, wanted)[:2]:
                title = f"Make {short(layer.name)} return {change.written}, as the other branch does"
                yield title, change.edits, prior * change.prior
