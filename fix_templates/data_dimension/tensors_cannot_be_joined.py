"""Tensors are concatenated that have to be stacked, or the reverse, or one of them lacks an axis that the others have."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Call,
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Replace,
    SetArgument,
    Site,
    Subject,
    Symptom,
    known,
    short,
    wrapped,
)

JOINS = frozenset({"torch.cat", "torch.concat", "torch.concatenate", "torch.stack"})

Shape = tuple[int, ...]
Way = tuple[str, tuple[Edit, ...], float]


@dataclass(frozen=True, slots=True)
class _Joined:
    """A join that failed: the call as it is written, the shapes of the tensors and the axis that is asked for."""

    call: Call
    node: ast.Call
    shapes: tuple[Shape, ...]
    axis: int

    @property
    def stacks(self) -> bool:
        """Whether the tensors are put on a new axis."""
        return self.call.name == "torch.stack"


class TensorsCannotBeJoined(FaultTemplate[_Joined]):
    """Tensors are concatenated that have to be stacked, or the reverse, or one of them lacks an axis that the others have.

    `torch.cat` joins along an axis that all tensors have, which numbers and vectors may not; `torch.stack` makes a new
    axis, for which all shapes have to be the same, and the last batch of an epoch is often smaller.

    Fix safety: unsafe. The program did not run before; what is joined keeps its numbers.

    References: torch.cat, torch.stack, torch.unsqueeze.
    """

    code = "DNF125"
    name = "tensors-cannot-be-joined"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "{what} along axis {axis} does not take tensors of {shapes}"
    needs_run = True
    declined = "the shapes do not tell how the tensors belong together"

    def faults(self, subject: Subject) -> Faults[_Joined]:
        found = _joined(subject)
        if found is not None:
            yield subject.source.site(found.node), found

    def report(self, site: Site, found: _Joined) -> Finding:
        shapes = list(dict.fromkeys(found.shapes))
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.85,
            cause="crash",
            evidence={"shapes": [list(shape) for shape in shapes], "axis": found.axis},
            what=short(found.call.name),
            axis=found.axis,
            shapes=" and ".join(" x ".join(map(str, shape)) or "no axes" for shape in shapes[:3]),
        )

    def repairs(self, subject: Subject, found: _Joined) -> Repairs:
        ways = [*_stacked(subject, found), *_concatenated(subject, found), *_with_axis(subject, found)]
        yield from sorted(ways, key=lambda way: -way[2])[:3]

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
            runs=True,
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
            runs=True,
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
            runs=True,
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
            runs=True,
        ),
        Reject(
            "tensors of other sizes with the same axes",
            """\
import torch

torch.cat((torch.rand(4, 3), torch.rand(2, 5)))
""",
            runs=True,
        ),
    )


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


def _meets(found: _Joined, shape: Shape, axis: int, model: Shape, method: str) -> bool:
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
