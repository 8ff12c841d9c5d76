"""Tensors are joined that have to be stacked, or the reverse, or one of them lacks an axis or the length of the batch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from dnnfix.api import (
    CONCATENATIONS,
    Call,
    Decline,
    Edit,
    Example,
    Family,
    FixPattern,
    Json,
    Misfit,
    MisfitTemplate,
    Reject,
    Repairs,
    Replace,
    SetArgument,
    Site,
    Subject,
    Wrap,
    argument_value,
    broadcast,
    by,
    held_list,
    known,
    shape_of,
    short,
    wrapped,
)

JOINS = frozenset({"torch.cat", "torch.concat", "torch.concatenate", "torch.stack"})

REFUSED = (
    re.compile(r"Incompatible shapes: \[(\d+)(?:,\d+)*\] vs\. \[(\d+)"),
    re.compile(r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension 0"),
    re.compile(r"could not be broadcast together with shapes \((\d+)(?:,\d+)*,?\) \((\d+)"),
)
"""The words of TensorFlow, torch and NumPy for two tensors that differ along the first axis, with the sizes of both."""

JOINING = frozenset({"numpy.concatenate", "torch.cat", "torch.concat", "tensorflow.concat", "keras.ops.concatenate"})
"""Functions that join; each of these libraries has a `stack` beside it."""

Shape = tuple[int | None, ...]
Known = tuple[int, ...]
Way = tuple[str, tuple[Edit, ...], float]


class TensorsCannotBeJoined(MisfitTemplate):
    """Tensors are joined that have to be stacked, or the reverse, or one of them lacks an axis or the length of the batch.

    `torch.cat` joins along an axis that all tensors have, which numbers and vectors may not; `torch.stack` makes a new
    axis, for which all shapes have to be the same, and the last batch of an epoch is often smaller. A weight with a batch axis of
    size one, such as a class token, has to be repeated for every sample: joining does not stretch it, as a sum does. And joining `n`
    tensors of shape `(batch, units)` along the first axis gives `n * batch` rows; where what they meet has one axis more, of size
    `n`, stacking them was meant.

    Fix safety: unsafe. The program did not run before; what is joined keeps its numbers, and a weight learns from all samples.

    References: torch.cat, torch.stack, torch.unsqueeze, torch.Tensor.expand, tf.stack, numpy.stack.
    """

    code = "DNF125"
    name = "tensors-cannot-be-joined"
    formerly = ("DNF222", "weight-not-repeated", "DNF241", "joined-where-stacked-is-meant")
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    elsewhere = True

    def misfits(self, subject: Subject) -> Iterator[Misfit]:
        found = _joined(subject)
        if found is not None:
            shapes = list(dict.fromkeys(found.shapes))
            said = " and ".join(by(shape) or "no axes" for shape in shapes[:3])
            what = f"{short(found.call.name)} along axis {found.axis} does not take tensors of {said}"
            evidence: dict[str, Json] = {"shapes": [list(shape) for shape in shapes], "axis": found.axis}
            yield Misfit("joined", subject.source.site(found.node), what, _ways(subject, found), evidence, 0.85)
        yield from _unrepeated(subject)
        yield from _not_stacked(subject)

    examples = (
        Example(
            "predictions of batches, the last of which is smaller",
            """\
import torch
from torch import nn

net, data = nn.Linear(6, 2), torch.rand(10, 6)
- answers = torch.stack([net(rows) for rows in data.split(4)])
+ answers = torch.cat([net(rows) for rows in data.split(4)])
print(answers.argmax(-1))
""",
        ),
        Example(
            "columns of a table",
            """\
import torch

x, y = torch.linspace(0, 1, 20), torch.rand(20)
- points = torch.cat((x, y), dim=1)
+ points = torch.stack((x, y), dim=1)
out = torch.nn.Linear(2, 3)(points)
""",
        ),
        Example(
            "the state of a recurrent layer beside its input",
            """\
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
""",
        ),
        Example(
            "learned features beside those of each sample",
            """\
import torch

layer = torch.nn.Linear(3, 4)
bias = torch.nn.Parameter(torch.zeros(1, 2))
hidden = layer(torch.randn(5, 3))
- both = torch.cat([hidden, bias], 1)
+ both = torch.cat([hidden, bias.expand(hidden.shape[0], -1)], 1)
""",
        ),
        Example(
            "a learned start of sequences, as keywords",
            """\
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
""",
        ),
        Example(
            "weights for each member of an ensemble",
            """\
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
""",
        ),
        Example(
            "members that vote in one statement",
            """\
import torch

scores = [torch.rand(7, 4) for _ in range(2)]
prior = torch.zeros(2, 7, 4)
- total = torch.cat(scores) + prior
+ total = torch.stack(scores) + prior
""",
        ),
    )
    rejects = (
        Reject(
            "joins that go well",
            """\
import torch

a, b = torch.rand(4, 3), torch.rand(2, 3)
torch.cat((a, b))
torch.stack([a, a + 1], dim=2)
""",
        ),
        Reject(
            "tensors of other sizes with the same axes",
            """\
import torch

torch.cat((torch.rand(4, 3), torch.rand(2, 5)))
""",
        ),
        Reject(
            "a class token that is expanded",
            """\
import torch
from torch import nn

token, embed = nn.Parameter(torch.randn(1, 1, 8)), nn.Linear(6, 8)
x = embed(torch.randn(4, 5, 6))
x = torch.cat((token.expand(len(x), -1, -1), x), dim=1)
""",
        ),
        Reject(
            "data of one sample joined to a batch",
            """\
import torch

a, b = torch.nn.Linear(3, 2)(torch.randn(4, 3)), torch.randn(1, 2)
try:
    torch.cat((a, b), dim=1)
except RuntimeError:
    torch.cat((a, b), dim=0)
""",
        ),
        Reject(
            "tensors joined for a weight of the whole",
            """\
import torch

parts = [torch.rand(4, 3) for _ in range(2)]
weights = torch.rand(2, 8, 3)
weights * torch.cat(parts)
""",
        ),
        Reject(
            "a crash between tensors that nobody joined",
            """\
import torch

a, b = torch.rand(3, 1, 2), torch.rand(15, 4)
a * b
""",
        ),
        Reject(
            "an operand with an axis of another size",
            """\
import torch

parts = [torch.rand(4, 3) for _ in range(2)]
torch.rand(5, 4, 3) * torch.cat(parts)
""",
        ),
    )


# --- a join that fails --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Joined:
    """A join that failed: the call as it is written, the shapes of the tensors and the axis that is asked for."""

    call: Call
    node: ast.Call
    shapes: tuple[Known, ...]
    axis: int

    @property
    def stacks(self) -> bool:
        """Whether the tensors are put on a new axis."""
        return self.call.name == "torch.stack"


def _joined(subject: Subject) -> _Joined | None:
    call = subject.crash.call if subject.crash is not None else None
    node = subject.call_node(call) if call is not None and call.name in JOINS else None
    shapes = [known(value.shape) for value in call.inputs] if call is not None else []
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
    yield Decline("the shapes do not tell how the tensors belong together")
    ways = [*_stacked(subject, found), *_concatenated(subject, found), *_with_axis(subject, found)]
    yield from sorted(ways, key=lambda way: -way[2])[:3]


def _stacked(subject: Subject, found: _Joined) -> Iterator[Way]:
    """Stack what is concatenated along an axis that none of the tensors has."""
    rank = len(found.shapes[0])
    if found.stacks or len(set(found.shapes)) > 1:
        return
    if found.axis == rank:
        yield "Stack the tensors", (_function(subject, found, "stack"),), 0.9 if rank < 2 else 0.6
    if found.axis == rank > 0:
        literal = _axis_literal(subject, found)
        if literal is not None:
            yield "Join along the last axis", (Replace(literal, str(rank - 1)),), 0.6 if rank < 2 else 0.75


def _concatenated(subject: Subject, found: _Joined) -> Iterator[Way]:
    """Concatenate what is stacked, where the tensors differ along one axis only."""
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
    """Give the tensors with fewer axes the one that they lack, or take one of one element out of the others."""
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
            edits = tuple(wrapped(subject, given.elts[i], "", f".{method}({places[0]})") for i in odd)
            title = "Give the tensor the axis that it lacks" if odd is few else "Take the axis of one element out"
            yield title, edits, 0.85 if odd is few else 0.8


def _meets(found: _Joined, shape: Known, axis: int, model: Known, method: str) -> bool:
    """Whether the tensor with an axis more, or less, stands beside the others on all axes but the one that is joined."""
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
    """Where the axis is written, if it is."""
    given = found.node.args[1:2] or [one.value for one in found.node.keywords if one.arg in ("dim", "axis")]
    return subject.source.site(given[0]) if given else None


# --- a weight beside a batch ---------------------------------------------------------------------------------------------


def _unrepeated(subject: Subject) -> Iterator[Misfit]:
    """A weight with a batch axis of size one that is joined to a whole batch."""
    call = subject.crash.call if subject.crash is not None else None
    node = subject.call_node(call) if call is not None and call.name in CONCATENATIONS else None
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
                yield Misfit("weight", call.site, what, _repeated(subject, own, beside, len(weight)), evidence, 0.95)
                return


def _repeated(subject: Subject, weight: ast.expr, beside: ast.expr, rank: int) -> Repairs:
    if not isinstance(beside, (ast.Name, ast.Attribute)):
        yield Decline("the batch that the weight is joined to has no name")
        return
    code = f".expand({subject.text(subject.source.site(beside))}.shape[0]{', -1' * (rank - 1)})"
    yield "Repeat the weight for every sample", (Wrap(subject.source.site(weight), "", code),), 0.9


# --- what is joined along an axis of its own --------------------------------------------------------------------------------


def _not_stacked(subject: Subject) -> Iterator[Misfit]:
    """An operand that was joined along an axis, where the other one has an axis for as many tensors as were joined."""
    crash = subject.crash
    if crash is None or not crash.frames:
        return
    failed, factor = subject.node(crash.site), _factor(crash.message)
    for operation in subject.source.nodes(ast.BinOp):
        if isinstance(operation.op, ast.MatMult) or not (operation is failed or factor):
            continue
        for operand, other in ((operation.left, operation.right), (operation.right, operation.left)):
            shape = shape_of(subject, other)
            fault = _together(subject, operand, shape) if shape is not None else None
            if fault is None or shape is None or not (operation is failed and fault.fails or fault.count == factor):
                continue
            what = f"{fault.count} tensors are joined, and what they meet has an axis of {fault.count} for them"
            evidence: dict[str, Json] = {"count": fault.count, "other": list(shape)}
            yield Misfit("stacked", subject.source.site(fault.call), what, _on_own_axis(subject, fault.call), evidence)
            return


def _on_own_axis(subject: Subject, call: ast.Call) -> Repairs:
    source, function = subject.source, call.func
    if not isinstance(function, ast.Attribute):
        yield Decline("the function that joins is not called on its library")
        return
    edit = Replace(source.site(function), f"{source.segment(source.site(function.value))}.stack")
    yield "Stack the tensors along an axis of their own", (edit,), 0.9


def _factor(message: str) -> int | None:
    """By how much the one of two refused sizes is larger than the other, where it is a whole number of times."""
    said = next(filter(None, (one.search(message) for one in REFUSED)), None)
    small, large = sorted(map(int, said.groups())) if said is not None else (0, 0)
    return large // small if small and large > small and large % small == 0 else None


class _Together(NamedTuple):
    """The call that joins, how many tensors it is given, and whether what it gives clashes with the other operand."""

    call: ast.Call
    count: int
    fails: bool


def _together(subject: Subject, operand: ast.expr, other: Shape) -> _Together | None:
    """The joining that made an operand, where the other one has an axis of as many elements as tensors were joined."""
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
    fails = joined_size is not None and broadcast([joined, other]) is None
    return _Together(call, count, fails) if broadcast([stacked, other]) is not None else None


def _axis_written(call: ast.Call) -> int | None:
    given = next((keyword.value for keyword in call.keywords if keyword.arg in ("axis", "dim")), None)
    given = call.args[1] if given is None and len(call.args) > 1 else given
    if given is None:
        return 0
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, int) else None


def _listed(subject: Subject, given: ast.expr) -> tuple[int, Shape] | None:
    """How many tensors a list holds and the shape that all of them have."""
    if isinstance(given, (ast.List, ast.Tuple)):
        shapes = [shape_of(subject, one) for one in given.elts]
        count = len(shapes)
    else:
        listed = held_list(subject, given)
        if listed is None:
            return None
        count = listed[0]
        shapes = [_shape(one) for one in listed[1]]
    first = shapes[0] if shapes else None
    return (count, first) if first is not None and all(one == first for one in shapes) else None


def _shape(description: object) -> Shape | None:
    given = description.get("shape") if isinstance(description, dict) else None
    return tuple(given) if isinstance(given, list) else None
