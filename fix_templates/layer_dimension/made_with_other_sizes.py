"""A tensor is made with sizes that what it meets does not have: those of another axis, or a number that was not changed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dnnfix.api import (
    CONCATENATIONS,
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Operand,
    Operation,
    Reject,
    Repairs,
    Replace,
    Site,
    Subject,
    Symptom,
    failed_operation,
    made_by,
    number,
    recorded_shape,
    words,
)

ELEMENTWISE = words("""add sub mul div truediv floordiv pow add_ sub_ mul_ div_ maximum minimum masked_fill masked_fill_
    eq ne lt le gt ge copy_ and or lerp""")

PRODUCTS = frozenset({"mm", "matmul", "bmm", "addmm", "mv"})

CONVOLUTION = re.compile(r"torch\.(?:nn\.functional\.)?conv[123]d")
"""Convolutions with a weight that is given to them, of (channels out, channels in, kernel)."""

Shape = tuple[int, ...]
Way = tuple[str, tuple[Edit, ...], float]


@dataclass(frozen=True, slots=True)
class _Made:
    """An operand of a failed operation that is made with written sizes, and what its sizes would have to be."""

    operation: Operation
    operand: Operand
    sizes: tuple[ast.expr, ...]
    wanted: Mapping[int, int]
    partner: Operand

    @property
    def right(self) -> Shape:
        """The shape that the operand would have to have."""
        return tuple(self.wanted.get(axis, size) for axis, size in enumerate(self.operand.shape))


class MadeWithOtherSizes(FaultTemplate[_Made]):
    """A tensor is made with sizes that what it meets does not have: those of another axis, or an unchanged number.

    A weight, a state or a mask is made beforehand with sizes that are written down or read off another tensor. Where they
    are exchanged, read off the wrong axis (`x.size(1)` for `x.size(0)`), or were not changed along with the layer before,
    the operation in which the tensor is used refuses it.

    Fix safety: unsafe. The tensor gets the sizes of what it is used with.

    References: torch.zeros, torch.Tensor.size, torch.matmul.
    """

    code = "DNF227"
    name = "made-with-other-sizes"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "a tensor is made with {made} where {what} needs {needed}"
    triggers = ("zeros", "ones", "rand", "randn", "empty", "full", "new_zeros", "new_ones", "new_full", "new_empty")
    needs_run = True
    declined = "the sizes are not written in a way that tells which others were meant"

    def faults(self, subject: Subject) -> Faults[_Made]:
        for found in _made(subject):
            if any(True for _ in _ways(subject, found)):
                yield subject.source.site(found.sizes[0]), found

    def report(self, site: Site, found: _Made) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.85,
            cause="crash",
            evidence={"made": list(found.operand.shape), "needed": list(found.right)},
            made=" x ".join(map(str, found.operand.shape)),
            what=found.operation.short,
            needed=" x ".join(map(str, found.right)),
        )

    def repairs(self, subject: Subject, found: _Made) -> Repairs:
        yield from sorted(_ways(subject, found), key=lambda way: -way[2])[:3]

    examples = (
        Example(
            "a state with the number of steps for that of samples",
            """\
import torch


def run(x, weight):
-     state = torch.zeros(x.size(1), 6)
+     state = torch.zeros(x.size(0), 6)
    for t in range(x.size(1)):
        state = torch.tanh(x[:, t] @ weight + state)
    return state


run(torch.rand(4, 7, 3), torch.rand(3, 6))
""",
            runs=True,
        ),
        Example(
            "sizes of a mask exchanged",
            """\
import torch

batch, steps = 4, 7
states = torch.rand(batch, steps)
- mask = torch.ones(steps, batch)
+ mask = torch.ones(batch, steps)
kept = states * mask
""",
            runs=True,
        ),
        Example(
            "a second weight that does not follow the first",
            """\
import torch

inputs, hidden, outputs = 12, 8, 3
w1 = torch.randn(inputs, hidden, requires_grad=True)
- w2 = torch.randn(inputs, outputs, requires_grad=True)
+ w2 = torch.randn(hidden, outputs, requires_grad=True)
x = torch.rand(5, inputs)
y = x.mm(w1).clamp(min=0).mm(w2)
""",
            runs=True,
        ),
        Example(
            "a kernel with its channels exchanged",
            """\
import torch
import torch.nn.functional as F

channels, maps = 3, 8
- kernel = torch.randn(channels, maps, 5, 5) * 0.1
+ kernel = torch.randn(maps, channels, 5, 5) * 0.1
out = F.conv2d(torch.rand(2, channels, 9, 9), kernel)
""",
            runs=True,
        ),
        Example(
            "a bias of another width, as a parameter",
            """\
import torch
from torch import nn


class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(5, 3) * 0.1)
-         self.bias = nn.Parameter(torch.zeros(5))
+         self.bias = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        return x @ self.weight + self.bias


Dense()(torch.rand(4, 5))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a prediction of another width than the drawn targets",
            """\
import torch

x, y = torch.randn(6, 4), torch.randn(6, 3)
weight = torch.randn(4, 2, requires_grad=True)
error = (x.mm(weight) - y).pow(2).sum()
""",
            runs=True,
        ),
        Reject(
            "sizes that meet",
            """\
import torch

x = torch.rand(4, 7)
state, weight = torch.zeros(4, 1), torch.randn(7, 2)
y = (x + state) @ weight
""",
            runs=True,
        ),
        Reject(
            "two tensors of data that do not meet",
            """\
import torch

a, b = torch.arange(4.0), torch.arange(5.0)
a + b
""",
            runs=True,
        ),
    )


def _made(subject: Subject) -> Iterator[_Made]:
    """The operands of the failed operation that are made with written sizes, each with the sizes that would do."""
    operation = failed_operation(subject)
    if operation is None or len(operation.operands) < 2:
        return
    pair = operation.operands[-2:] if operation.short == "addmm" else operation.operands[:2]
    for operand, partner in (pair, pair[::-1]):
        wanted = _wanted(operation, operand, partner, first=operand is pair[0])
        made = made_by(subject, operand) if wanted else None
        weighs = operation.short in PRODUCTS or CONVOLUTION.fullmatch(operation.call.name) is not None
        second_factor = weighs and operand is pair[1]
        if made is not None and (second_factor or not (_drawn(subject, made.call) and _is_data(operand))):
            yield _Made(operation, operand, made.sizes, wanted, partner)


def _drawn(subject: Subject, made: ast.Call) -> bool:
    """Whether the numbers of a tensor are drawn, as those of weights and of data for a trial are."""
    name = subject.source.qualified(made.func) or ""
    return name.rpartition(".")[2] in ("rand", "randn")


def _is_data(operand: Operand) -> bool:
    """Whether a tensor that is drawn may be data for a trial: nothing learns it."""
    return operand.value.requires_grad is not True and operand.value.origin != "parameter"


def _wanted(operation: Operation, operand: Operand, partner: Operand, *, first: bool) -> dict[int, int]:
    """The axes of an operand whose sizes do not meet the other's, each with the size that would."""
    own, other = operand.shape, partner.shape
    if operation.short in PRODUCTS:
        if not own or not other or (first and len(other) < 2 and operation.short != "mv"):
            return {}
        axis = len(own) - 1 if first else max(len(own) - 2, 0)
        needed = (other[-2] if len(other) > 1 else other[0]) if first else other[-1]
        return {axis: needed} if own[axis] != needed else {}
    if CONVOLUTION.fullmatch(operation.call.name):
        plain = not first and len(own) > 1 < len(other) and operation.call.args.get("groups", 1) == 1
        if not plain or own[1] == other[1]:
            return {}
        return {0: own[1], 1: own[0]} if own[0] == other[1] else {1: other[1]}
    if operation.call.name in CONCATENATIONS and len(own) == len(other):
        joined = operation.call.args.get("dim", 0)
        axis = joined % len(own) if isinstance(joined, int) and own else 0
        return {i: size for i, size in enumerate(other) if i != axis and own[i] != size}
    if operation.short not in ELEMENTWISE or len(own) > len(other):
        return {}
    shift = len(other) - len(own)
    met = dict(enumerate(other[shift:]))
    return {axis: met[axis] for axis, size in enumerate(own) if 1 not in (size, met[axis]) and size != met[axis]}


# --- the sizes that were meant ----------------------------------------------------------------------------------------


def _ways(subject: Subject, found: _Made) -> Iterator[Way]:
    sites = [subject.source.site(one) for one in found.sizes]
    if len(found.wanted) == 2:
        (one, other), shape = found.wanted, found.operand.shape
        if found.wanted[one] == shape[other] and found.wanted[other] == shape[one]:
            texts = [subject.text(site) for site in sites]
            yield "Exchange the two sizes", (Replace(sites[one], texts[other]), Replace(sites[other], texts[one])), 0.9
        return
    ((axis, needed),) = found.wanted.items() if len(found.wanted) == 1 else (((0, 0)),)
    given = found.sizes[axis]
    if not needed:
        return
    moved = _other_axis(subject, given, needed)
    if moved is not None:
        yield f"Read the size off axis {moved[1]}", (moved[0],), 0.9
        return
    names = _names_of(subject, given, needed)
    if len(names) == 1:
        yield f"Make the tensor with {names[0]}", (Replace(sites[axis], names[0]),), 0.85
    elif number(given) is not None and not _may_be_batch(found, needed):
        yield f"Make the tensor with {needed}", (Replace(sites[axis], str(needed)),), 0.75


def _other_axis(subject: Subject, given: ast.expr, needed: int) -> tuple[Edit, int] | None:
    """The edit that reads a size off another axis of the same tensor, where one axis alone has the size."""
    axis: ast.expr | None = None
    match given:
        case ast.Call(func=ast.Attribute(value=thing, attr="size"), args=[axis]):
            pass
        case ast.Subscript(value=ast.Attribute(value=thing, attr="shape"), slice=axis):
            pass
        case ast.Call(func=ast.Name(id="len"), args=[thing]):
            pass
        case _:
            return None
    shape = recorded_shape(subject, thing)
    axes = [i for i, size in enumerate(shape) if size == needed] if shape is not None else []
    if len(axes) != 1:
        return None
    if axis is not None:
        return (Replace(subject.source.site(axis), str(axes[0])), axes[0]) if number(axis) is not None else None
    return Replace(subject.source.site(given), f"{ast.unparse(thing)}.shape[{axes[0]}]"), axes[0]


def _names_of(subject: Subject, given: ast.expr, needed: int) -> list[str]:
    """Names of the module that stand for the needed number, where the size is given by such a name too."""
    if not isinstance(given, ast.Name) or _value(subject, given) is None:
        return []
    found = {
        node.id
        for node in subject.source.nodes(ast.Name)
        if isinstance(node.ctx, ast.Load) and node.id != given.id and _value(subject, node) == needed
    }
    return sorted(found)


def _value(subject: Subject, name: ast.Name) -> int | None:
    """The number that a name stands for, where it is bound once."""
    bound = subject.source.bindings(name, name)
    return number(bound[0]) if len(bound) == 1 else None


def _may_be_batch(found: _Made, needed: int) -> bool:
    """Whether the needed number may be that of the samples, which is not to be written down."""
    return len(found.partner.shape) > 0 and needed == found.partner.shape[0] and len(found.operand.shape) > 1
