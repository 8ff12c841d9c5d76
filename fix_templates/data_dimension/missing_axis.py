"""An operation uses an axis that the tensor does not have, or no longer has."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Call,
    Decline,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertElement,
    Json,
    Repairs,
    Replace,
    SetArgument,
    ShapeTemplate,
    Subject,
    arithmetic,
    failed_operands,
    graph,
    short,
    summation,
    words,
)

AXES = ("dim", "axis", "dim0", "dim1", "axis0", "axis1", "dims", "start_dim", "end_dim")
"""The arguments that are axes."""

PERMUTATIONS = frozenset({"torch.permute", "torch.Tensor.permute"})

SQUEEZES = frozenset({"torch.squeeze", "torch.Tensor.squeeze"})

REDUCTIONS = frozenset(
    f"torch.{home}{name}"
    for home in ("", "Tensor.")
    for name in ("sum", "mean", "norm", "std", "var", "prod", "logsumexp", "median", "amax", "amin")
)

MEETINGS = words("""torch.Tensor.expand_as torch.Tensor.expand torch.Tensor.add torch.Tensor.sub torch.Tensor.mul torch.Tensor.div
    torch.Tensor.truediv torch.Tensor.add_ torch.Tensor.sub_ torch.Tensor.mul_ torch.Tensor.div_ torch.add torch.sub
    torch.mul torch.div torch.Tensor.floordiv torch.Tensor.pow torch.pow""")

ELEMENTWISE = words("""torch.sqrt torch.Tensor.sqrt torch.log torch.Tensor.log torch.exp torch.Tensor.exp torch.abs torch.Tensor.abs
    torch.clamp torch.Tensor.clamp torch.Tensor.add torch.Tensor.sub torch.Tensor.mul torch.Tensor.div torch.Tensor.pow
    torch.pow torch.Tensor.truediv torch.rsqrt torch.Tensor.rsqrt torch.Tensor.neg torch.Tensor.float torch.Tensor.detach
    torch.autograd.Variable torch.Tensor.reciprocal torch.reciprocal""")
"""Operations that may be applied to the reduced value before it is combined with the tensor."""


class MissingAxis(ShapeTemplate):
    """An operation uses an axis that the tensor does not have, or no longer has after a squeeze or a reduction.

    Axes are counted from zero; in Lua Torch and Matlab they are counted from one, and a single sample has one axis less
    than a batch: in both cases every axis of the call is one too high. A permutation written for a sample has to keep
    the batch axis of a batch in place. `squeeze()` without an axis removes every axis of size one, also that of a batch
    of one sample. And a sum, mean or norm over any axis but the first broadcasts against the wrong axes of its input,
    unless `keepdim=True` keeps the axis, as was the default before torch 0.2.

    Fix safety: unsafe. The program did not run before; an axis of size one is kept.

    References: torch.Tensor.dim, torch.Tensor.permute, torch.sum (`dim`, `keepdim`), torch.squeeze ("if the tensor has
    a batch dimension of size 1, then squeeze(input) will also remove the batch dimension, which can lead to unexpected
    errors"); "Broadcasting semantics" of the torch manual.
    """

    code = "DNF126"
    name = "missing-axis"
    formerly = ("axis-that-tensor-lacks", "DNF119", "squeeze-of-every-axis", "DNF224", "reduced-axis-not-kept")
    message = "the tensor has no such axis: {what}"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    elsewhere = True

    def explain(self, subject: Subject) -> Iterator[Fault]:
        yield from _asked(subject)
        crash = subject.crash.call if subject.crash is not None else None
        if crash is not None:
            yield from _squeezed(subject, crash)
            yield from _reduced(subject, crash)

    programs = """
=== example: a sum over the second axis, counted from one
import torch

x = torch.rand(6, 3)
- total = torch.sum(x * x, 2)
+ total = torch.sum(x * x, 1)

=== example: the class of one sample
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
with torch.no_grad():
    for sample in torch.rand(5, 4):
-         print(net(sample).argmax(dim=1).item())
+         print(net(sample).argmax(dim=0).item())

=== example: axes exchanged as of a batch
import torch


def turned(table):
-     return table.transpose(1, 2).contiguous()
+     return table.transpose(0, 1).contiguous()


turned(torch.rand(6, 3))

=== example: a permutation for one image on a batch
import torch

images = torch.rand(5, 8, 8, 3)
net = torch.nn.Conv2d(3, 4, 3)
- out = net(images.permute(2, 0, 1))
+ out = net(images.permute(0, 3, 1, 2))

=== example: a last batch of one sample
import torch
from torch import nn

net = nn.Linear(3, 1)
criterion = nn.BCEWithLogitsLoss()
x, y = torch.rand(9, 3), torch.rand(9)
for i in range(0, 9, 4):
-     out = net(x[i : i + 4]).squeeze()
+     out = net(x[i : i + 4]).squeeze(1)
    loss = criterion(out, y[i : i + 4])
    loss.backward()

=== example: a softmax written out
import torch

def softmax(scores):
    powers = torch.exp(scores)
-     return powers / powers.sum(dim=1)
+     return powers / powers.sum(dim=1, keepdim=True)

print(softmax(torch.randn(4, 7)).shape)

=== reject: axes that are there
import torch

x = torch.rand(6, 3)
x.sum(-2), x.transpose(1, 0), x.unsqueeze(2), torch.stack([x, x], dim=2), x.permute(1, 0)

=== reject: a batch without an axis that another error hides
import torch

torch.rand(6, 3).sum(1).view(7)

=== reject: a crash that the squeeze has nothing to do with
import torch

a = torch.rand(1, 1).squeeze()
b = torch.nn.Linear(3, 2)(torch.rand(4, 5))

=== reject: one axis, by name and alone
import torch
from torch import nn

net = nn.Linear(3, 1)
loss = nn.MSELoss()(net(torch.rand(1, 3)).squeeze(1), torch.rand(1))
other = nn.MSELoss()(net(torch.rand(5, 3)).squeeze(), torch.rand(5))

=== reject: a mean over the first axis, and one that keeps its axis
import torch

x = torch.randn(6, 10)
y = (x - x.mean(0)) / x.std(1, keepdim=True)
z = x.sum(0).expand_as(x)

=== reject: sums of two different tensors
import torch

a, b = torch.randn(4, 3), torch.randn(5, 3)
try:
    a.sum(1) + b.sum(1)
except RuntimeError:
    pass
"""


# --- an axis of the call


def _asked(subject: Subject) -> Iterator[Fault]:
    """A call with axes that a tensor of this rank does not have."""
    operation = failed_operands.failed_operation(subject)
    if operation is None or operation.call.name.endswith(("stack", "cat")):
        return
    rank = len(operation.operands[0].shape)
    axes = tuple(axis for name in AXES for axis in summation.axes_in(operation.call.args.get(name)))
    if not axes or rank == 0:
        return
    room = rank + operation.short.startswith("unsqueeze")
    permutes = operation.call.name in PERMUTATIONS
    if len(axes) != rank if permutes else any(not -room <= axis < room for axis in axes):
        right = _permuted(axes, rank) if permutes else _one_less(operation, axes, room)
        what = f"{operation.short} is called with axis {', '.join(map(str, axes))} of a tensor with {rank} axes"
        site = subject.source.site(operation.node)
        ways = _asked_for(subject, operation, axes, right)
        yield Fault(site, what, tuple(ways), {"axes": list(axes), "rank": rank}, confidence=0.85, reading="asked")


def _asked_for(
    subject: Subject, operation: failed_operands.Operation, axes: tuple[int, ...], right: tuple[int, ...] | None
) -> Repairs:
    written = _written(operation, list(axes))
    if right is None or not written:
        yield Decline("the axes are not written as numbers, or are more than one too high")
        return
    sites = [subject.source.site(one) for one in written]
    if len(right) == len(sites):
        edits: tuple[Edit, ...] = tuple(Replace(*pair) for pair in zip(sites, map(str, right), strict=True))
    else:
        edits = _listed(subject, operation, written, right)
    yield "Use the axes that the tensor has", edits, 0.8


def _written(operation: failed_operands.Operation, axes: list[int]) -> list[ast.expr]:
    """The arguments that are these axes, in order; empty if they are not literals."""
    if not isinstance(operation.node, ast.Call):
        return []
    given = operation.node.args if operation.is_method else operation.node.args[1:]
    found = [*given, *(one.value for one in operation.node.keywords if one.arg in AXES)]
    if len(found) == 1 and isinstance(found[0], (ast.Tuple, ast.List)):
        found = found[0].elts
    plain = [one for one in found if arithmetic.number(one) is not None]
    return plain if [arithmetic.number(one) for one in plain] == axes else []


def _listed(
    subject: Subject, operation: failed_operands.Operation, written: list[ast.expr], axes: tuple[int, ...]
) -> tuple[Edit, ...]:
    """The edit that changes the number of axes in the call."""
    node, listed, text = operation.node, subject.source.parent(written[0]), ", ".join(map(str, axes))
    if isinstance(listed, (ast.Tuple, ast.List)):
        return (Replace(subject.source.site(listed), f"({text})"),)
    function = subject.text(subject.source.site(node.func)) if isinstance(node, ast.Call) else ""
    return (Replace(subject.source.site(node), f"{function}({text})"),)


def _one_less(operation: failed_operands.Operation, axes: tuple[int, ...], room: int) -> tuple[int, ...] | None:
    """Every axis minus one, if the highest is one too high."""
    if max(axes) != room or min(axes) < 1 or operation.short.startswith("squeeze"):
        return None  # the axis to squeeze may be gone already
    return tuple(axis - 1 for axis in axes)


def _permuted(axes: tuple[int, ...], rank: int) -> tuple[int, ...] | None:
    """The permutation with the batch axis in place, or without a batch axis that does not exist."""
    count = len(axes)
    if sorted(axes) != list(range(count)):
        return None
    if rank == count + 1:
        return (0, *(axis + 1 for axis in axes))
    return tuple(axis - 1 for axis in axes[1:]) if rank == count - 1 and axes[0] == 0 else None


# --- an axis removed by a squeeze


def _squeezed(subject: Subject, crash: Call) -> Iterator[Fault]:
    """The last squeeze before the crash that removed more than one axis."""
    for call in sorted(graph.upstream(subject.network, crash).values(), key=lambda call: -call.id):
        node = subject.call_node(call) if call.name in SQUEEZES and call is not crash else None
        before = call.inputs[0].shape if call.inputs else None
        if node is None or before is None or not call.outputs or node.keywords or "dim" in call.args:
            continue
        method = isinstance(node.func, ast.Attribute) and call.name == "torch.Tensor.squeeze"
        ones = [axis for axis, size in enumerate(before) if size == 1]
        if len(node.args) != (0 if method else 1) or len(ones) < 2:
            continue
        after = call.outputs[0].shape or ()
        what = f"squeeze() without an axis turns {before} into {after} and removes more than one axis"
        evidence: dict[str, Json] = {"before": list(before), "after": list(after)}
        yield Fault(
            call.site,
            what,
            tuple(_one_squeezed(subject, call, node, ones)),
            evidence,
            confidence=0.85,
            reading="squeezed",
        )
        return


def _one_squeezed(subject: Subject, call: Call, node: ast.Call, ones: list[int]) -> Repairs:
    meant = sorted(_always_one(subject, call, ones), key=lambda axis: (axis == 0, -axis))
    for axis, prior in zip(meant, (0.92, 0.6, 0.4), strict=False):
        yield (
            f"Squeeze axis {axis} only",
            (InsertElement(subject.source.site(node), len(node.args), str(axis)),),
            prior,
        )


def _always_one(subject: Subject, call: Call, ones: list[int]) -> list[int]:
    """The axes of size one that had this size in every call; all of them if there is none."""
    rank = len(call.inputs[0].shape or ())
    seen = [
        one.inputs[0].shape
        for one in subject.network.calls
        if one.name == call.name and one.site == call.site and one.inputs and one.inputs[0].shape is not None
    ]
    kept = [axis for axis in ones if all(len(shape) == rank and shape[axis] == 1 for shape in seen if shape)]
    return kept or ones


# --- an axis removed by a reduction


def _reduced(subject: Subject, crash: Call) -> Iterator[Fault]:
    """A reduction whose result crashed against a tensor of the shape that was reduced."""
    if crash.name not in MEETINGS:
        return
    shapes = [value.shape for value in crash.inputs]
    for place, value in enumerate(crash.inputs[:2]):
        call = subject.network.producer(value)
        for _ in range(4):
            if call is None or not call.inputs or call.name in REDUCTIONS or call.name not in ELEMENTWISE:
                break
            call = subject.network.producer(call.inputs[0])
        axis = _axis(call) if call is not None and call.name in REDUCTIONS and call.inputs else None
        whole = call.inputs[0].shape if call is not None and call.inputs else None
        if call is None or axis is None or whole is None or value.shape is None or not -len(whole) <= axis < len(whole):
            continue
        left = tuple(size for i, size in enumerate(whole) if i != axis % len(whole))
        others = [shape for i, shape in enumerate(shapes[:2]) if i != place]
        meets = others[0] == whole if others else _widened(crash) == whole
        if left == value.shape and call.args.get("keepdim") is not True and meets:
            what = f"{short(call.name)} over axis {axis} returns {left}, which does not broadcast with {whole}"
            evidence: dict[str, Json] = {"reduced": list(left), "whole": list(whole)}
            yield Fault(call.site, what, tuple(_kept(subject, call)), evidence, reading="reduced")
            return


def _kept(subject: Subject, call: Call) -> Repairs:
    node = subject.call_node(call)
    edits = (SetArgument(subject.source.site(node), "keepdim", "True"),) if node is not None else None
    yield "Keep the reduced axis", edits, 0.9


def _axis(call: Call) -> int | None:
    given = call.args.get("dim", call.args.get("axis"))
    given = given[0] if isinstance(given, (list, tuple)) and len(given) == 1 else given
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def _widened(call: Call) -> tuple[int | None, ...] | None:
    """The shape passed to `expand`, if it is known."""
    sizes = next((value for value in call.args.values() if isinstance(value, (list, tuple))), None)
    known = [size for size in sizes if isinstance(size, int)] if sizes is not None else []
    return tuple(known) if sizes is not None and len(known) == len(sizes) else None
