"""A list of tensors is joined along an axis that is there, where a new axis is meant."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from dnnfix.api import (
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Replace,
    Site,
    Subject,
    Symptom,
    broadcast,
    held_list,
    shape_of,
)

Shape = tuple[int | None, ...]

REFUSED = (
    re.compile(r"Incompatible shapes: \[(\d+)(?:,\d+)*\] vs\. \[(\d+)"),
    re.compile(r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension 0"),
    re.compile(r"could not be broadcast together with shapes \((\d+)(?:,\d+)*,?\) \((\d+)"),
)
"""The words of TensorFlow, torch and NumPy for two tensors that differ along the first axis, with the sizes of both."""

JOINING = frozenset({"numpy.concatenate", "torch.cat", "torch.concat", "tensorflow.concat", "keras.ops.concatenate"})
"""Functions that join; each of these libraries has a `stack` beside it."""


@dataclass(frozen=True, slots=True)
class _Joined:
    """The call that joins, how many tensors it is given, the operand that has an axis for them, and whether they clash."""

    call: ast.Call
    count: int
    other: Shape
    fails: bool


class JoinedWhereStackedIsMeant(FaultTemplate[_Joined]):
    """The outputs of several branches are joined along an axis, and then met by a tensor with an axis for the branches.

    Joining `n` tensors of shape `(batch, units)` along the first axis gives `n * batch` rows; stacking them gives a new
    axis of size `n`. Where the other operand has one axis more, of size `n` at the place of the joining, stacking is what
    was meant.

    Fix safety: unsafe. The result has one axis more; the program did not run before.

    References: tf.stack, torch.stack, numpy.stack.
    """

    code = "DNF241"
    name = "joined-where-stacked-is-meant"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "{count} tensors are joined, and what they meet has an axis of {count} for them"
    needs_run = True
    declined = "the function that joins is not called on its library"

    def faults(self, subject: Subject) -> Faults[_Joined]:
        crash = subject.crash
        if crash is None or not crash.frames:
            return
        failed, factor = subject.node(crash.site), _factor(crash.message)
        for operation in subject.source.nodes(ast.BinOp):
            if isinstance(operation.op, ast.MatMult) or not (operation is failed or factor):
                continue
            for operand, other in ((operation.left, operation.right), (operation.right, operation.left)):
                fault = _joined(subject, operand, shape_of(subject, other))
                if fault is not None and (operation is failed and fault.fails or fault.count == factor):
                    yield subject.source.site(fault.call), fault
                    return

    def report(self, site: Site, fault: _Joined) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.9,
            cause="crash",
            evidence={"count": fault.count, "other": list(fault.other)},
            count=fault.count,
        )

    def repairs(self, subject: Subject, fault: _Joined) -> Repairs:
        source, function = subject.source, fault.call.func
        if isinstance(function, ast.Attribute):
            edit = Replace(source.site(function), f"{source.segment(source.site(function.value))}.stack")
            yield "Stack the tensors along an axis of their own", (edit,), 0.9

    examples = (
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
            runs=True,
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
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "tensors joined for a weight of the whole",
            """\
import torch

parts = [torch.rand(4, 3) for _ in range(2)]
weights = torch.rand(2, 8, 3)
weights * torch.cat(parts)
""",
            runs=True,
        ),
        Reject(
            "a crash between tensors that nobody joined",
            """\
import torch

a, b = torch.rand(3, 1, 2), torch.rand(15, 4)
a * b
""",
            runs=True,
        ),
        Reject(
            "an operand with an axis of another size",
            """\
import torch

parts = [torch.rand(4, 3) for _ in range(2)]
torch.rand(5, 4, 3) * torch.cat(parts)
""",
            runs=True,
        ),
    )


def _factor(message: str) -> int | None:
    """By how much the one of two refused sizes is larger than the other, where it is a whole number of times."""
    said = next(filter(None, (one.search(message) for one in REFUSED)), None)
    small, large = sorted(map(int, said.groups())) if said is not None else (0, 0)
    return large // small if small and large > small and large % small == 0 else None


def _joined(subject: Subject, operand: ast.expr, other: Shape | None) -> _Joined | None:
    """The joining that made an operand, where the other one has an axis of as many elements as tensors were joined."""
    call = operand
    if isinstance(operand, ast.Name):
        bound = subject.source.bindings(operand, operand)
        call = bound[0] if len(bound) == 1 else operand
    if not isinstance(call, ast.Call) or subject.source.qualified(call.func) not in JOINING or other is None:
        return None
    if not call.args or any(keyword.arg is None for keyword in call.keywords):
        return None
    listed = _tensors(subject, call.args[0])
    axis = _axis(call)
    if listed is None or axis is None:
        return None
    count, one = listed
    if count < 2 or len(other) != len(one) + 1 or not 0 <= axis < len(other) or other[axis] != count:
        return None
    stacked: Shape = (*one[:axis], count, *one[axis:])
    joined_size = one[axis] if axis < len(one) else None
    joined: Shape = (*one[:axis], joined_size * count if joined_size is not None else None, *one[axis + 1 :])
    fails = joined_size is not None and broadcast([joined, other]) is None
    return _Joined(call, count, other, fails) if broadcast([stacked, other]) is not None else None


def _axis(call: ast.Call) -> int | None:
    given = next((keyword.value for keyword in call.keywords if keyword.arg in ("axis", "dim")), None)
    given = call.args[1] if given is None and len(call.args) > 1 else given
    if given is None:
        return 0
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, int) else None


def _tensors(subject: Subject, given: ast.expr) -> tuple[int, Shape] | None:
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
