"""An axis is asked for that the tensor does not have: counted from one, or as if there were a batch axis."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.api import (
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Operation,
    Reject,
    Repairs,
    Replace,
    Site,
    Subject,
    Symptom,
    axes_in,
    failed_operation,
    number,
)

AXES = ("dim", "axis", "dim0", "dim1", "axis0", "axis1", "dims", "start_dim", "end_dim")
"""The arguments that name axes."""

PERMUTATIONS = frozenset({"torch.permute", "torch.Tensor.permute"})


@dataclass(frozen=True, slots=True)
class _Asked:
    """A call that asked for axes which the tensor of this rank does not have, and the places where they are written."""

    operation: Operation
    rank: int
    axes: tuple[int, ...]
    written: tuple[ast.expr, ...]


class AxisThatTensorLacks(FaultTemplate[_Asked]):
    """An axis is asked for that the tensor does not have: counted from one, or as if there were a batch axis.

    The axes of a tensor are counted from zero. In Lua's torch and in Matlab they are counted from one, and one sample has
    an axis less than a batch: in both cases every axis of the call is one too far. A permutation names every axis, so
    that one written for a sample has to leave the batch axis of a batch where it is.

    Fix safety: unsafe. The program did not run before.

    References: torch.Tensor.dim, torch.Tensor.permute, torch.sum (`dim`).
    """

    code = "DNF126"
    name = "axis-that-tensor-lacks"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "{what} asks for axis {axes} of a tensor with {rank} axes"
    needs_run = True
    declined = "the axes are not written as numbers, or more than one too far"

    def faults(self, subject: Subject) -> Faults[_Asked]:
        found = _asked(subject)
        if found is not None:
            yield subject.source.site(found.operation.node), found

    def report(self, site: Site, found: _Asked) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.85,
            cause="crash",
            evidence={"axes": list(found.axes), "rank": found.rank},
            what=found.operation.short,
            axes=", ".join(map(str, found.axes)),
            rank=found.rank,
        )

    def repairs(self, subject: Subject, found: _Asked) -> Repairs:
        axes = _permuted(found) if found.operation.call.name in PERMUTATIONS else _moved(found)
        if axes is None or not found.written:
            return
        sites = [subject.source.site(one) for one in found.written]
        if len(axes) == len(sites):
            edits: tuple[Edit, ...] = tuple(Replace(*pair) for pair in zip(sites, map(str, axes), strict=True))
        else:
            edits = _listed(subject, found, axes)
        yield "Ask for the axes that the tensor has", edits, 0.8

    examples = (
        Example(
            "a sum over the second axis, counted from one",
            """\
import torch

x = torch.rand(6, 3)
- total = torch.sum(x * x, 2)
+ total = torch.sum(x * x, 1)
""",
            runs=True,
        ),
        Example(
            "the class of one sample",
            """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
with torch.no_grad():
    for sample in torch.rand(5, 4):
-         print(net(sample).argmax(dim=1).item())
+         print(net(sample).argmax(dim=0).item())
""",
            runs=True,
        ),
        Example(
            "axes exchanged as of a batch",
            """\
import torch


def turned(table):
-     return table.transpose(1, 2).contiguous()
+     return table.transpose(0, 1).contiguous()


turned(torch.rand(6, 3))
""",
            runs=True,
        ),
        Example(
            "a permutation for one image on a batch",
            """\
import torch

images = torch.rand(5, 8, 8, 3)
net = torch.nn.Conv2d(3, 4, 3)
- out = net(images.permute(2, 0, 1))
+ out = net(images.permute(0, 3, 1, 2))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "axes that are there",
            """\
import torch

x = torch.rand(6, 3)
x.sum(-2), x.transpose(1, 0), x.unsqueeze(2), torch.stack([x, x], dim=2), x.permute(1, 0)
""",
            runs=True,
        ),
        Reject(
            "a batch without an axis that another error hides",
            """\
import torch

torch.rand(6, 3).sum(1).view(7)
""",
            runs=True,
        ),
    )


def _asked(subject: Subject) -> _Asked | None:
    operation = failed_operation(subject)
    if operation is None or operation.call.name.endswith(("stack", "cat")):
        return None
    rank = len(operation.operands[0].shape)
    axes = [axis for name in AXES for axis in axes_in(operation.call.args.get(name))]
    if not axes or rank == 0:
        return None
    if operation.call.name in PERMUTATIONS:
        refused = len(axes) != rank
    else:
        room = rank + 1 if operation.short in ("unsqueeze", "unsqueeze_") else rank
        refused = any(not -room <= axis < room for axis in axes)
    return _Asked(operation, rank, tuple(axes), tuple(_written(operation, axes))) if refused else None


def _written(operation: Operation, axes: list[int]) -> list[ast.expr]:
    """The expressions of the call that are these axes, in their order; none where they are not plain numbers."""
    if not isinstance(operation.node, ast.Call):
        return []
    given = operation.node.args if operation.is_method else operation.node.args[1:]
    found = [*given, *(one.value for one in operation.node.keywords if one.arg in AXES)]
    if len(found) == 1 and isinstance(found[0], (ast.Tuple, ast.List)):
        found = found[0].elts
    plain = [one for one in found if number(one) is not None]
    return plain if [number(one) for one in plain] == axes else []


def _listed(subject: Subject, found: _Asked, axes: tuple[int, ...]) -> tuple[Edit, ...]:
    """The edit that gives the call another number of axes."""
    node, listed = found.operation.node, subject.source.parent(found.written[0])
    text = ", ".join(map(str, axes))
    if isinstance(listed, (ast.Tuple, ast.List)):
        return (Replace(subject.source.site(listed), f"({text})"),)
    function = subject.text(subject.source.site(node.func)) if isinstance(node, ast.Call) else ""
    return (Replace(subject.source.site(node), f"{function}({text})"),)


def _moved(found: _Asked) -> tuple[int, ...] | None:
    """Every axis one less, where the last one asked for is one too far."""
    room = found.rank + 1 if found.operation.short.startswith("unsqueeze") else found.rank
    if max(found.axes) != room or min(found.axes) < 1 or found.operation.short.startswith("squeeze"):
        return None  # an axis that is to go, and is not there, may be gone already
    return tuple(axis - 1 for axis in found.axes)


def _permuted(found: _Asked) -> tuple[int, ...] | None:
    """The permutation with the batch axis left where it is, or without a batch axis that is not there."""
    axes, count = found.axes, len(found.axes)
    if sorted(axes) != list(range(count)):
        return None
    if found.rank == count + 1:
        return (0, *(axis + 1 for axis in axes))
    if found.rank == count - 1 and axes[0] == 0:
        return tuple(axis - 1 for axis in axes[1:])
    return None
