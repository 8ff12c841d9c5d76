"""Two tensors are combined number by number, and the axes of one stand on the wrong axes of the other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, zip_longest

from dnnfix.api import (
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
    Site,
    Subject,
    Symptom,
    failed_operation,
    words,
    wrapped,
)

OPERATORS = words("""add sub mul div truediv floordiv pow remainder add_ sub_ mul_ div_ eq ne lt le gt ge maximum minimum
    masked_fill masked_fill_ expand_as copy_ and or logical_and logical_or""")

MEETINGS = frozenset(f"torch.{home}{name}" for home in ("", "Tensor.") for name in OPERATORS)

PICKS = frozenset(
    f"torch.{home}{name}"
    for home in ("", "Tensor.")
    for name in ("gather", "scatter", "scatter_", "scatter_add", "scatter_add_")
)
"""Operations whose index has to have as many axes as what it points into."""

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Meeting:
    """An operation that failed, its operand of fewer axes (or the second one) and the one that it meets."""

    operation: Operation
    small: Operand
    large: Operand


class OperandsDoNotAlign(FaultTemplate[_Meeting]):
    """Two tensors are combined number by number, and the axes of one stand on the wrong axes of the other.

    Tensors are aligned at their last axes. One weight per channel, one length per sample or one mask entry per step does
    not stand on the axis that it belongs to, unless axes of one element follow it: `scale[:, :, None, None]`.

    Fix safety: unsafe. The program did not run before. An operand is moved only where its sizes fit one place.

    References: "Broadcasting semantics" of the torch manual; torch.unsqueeze.
    """

    code = "DNF226"
    name = "operands-do-not-align"
    at_either_end = True
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "{what} meets {first} with {second}, which do not align"
    needs_run = True
    declined = "the sizes do not tell which axes belong together"

    def faults(self, subject: Subject) -> Faults[_Meeting]:
        found = _meeting(subject)
        if found is not None:
            yield subject.source.site(found.operation.node), found

    def report(self, site: Site, found: _Meeting) -> Finding:
        first, second = found.operation.operands[:2]
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.8,
            cause="crash",
            evidence={"first": list(first.shape), "second": list(second.shape)},
            what=found.operation.short,
            first=" x ".join(map(str, first.shape)),
            second=" x ".join(map(str, second.shape)),
        )

    def repairs(self, subject: Subject, found: _Meeting) -> Repairs:
        node, small, large = found.small.node, found.small.shape, found.large.shape
        if isinstance(getattr(node, "ctx", None), ast.Store):
            return
        if found.operation.call.name in PICKS:
            yield from _index_with_axis(subject, found)
            return
        places = list(_places(small, large))
        if len(small) < len(large) and len(places) == 1:
            code = _axes(places[0], len(large))
            yield f"Align the operand with {code}", (wrapped(subject, node, "", code),), 0.85
        elif len(small) == len(large) == 2 and small == large[::-1]:
            yield "Exchange the axes of the operand", (wrapped(subject, node, "", ".t()"),), 0.6

    examples = (
        Example(
            "one weight for each channel of images",
            """\
import torch
from torch import nn


class Squeeze(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(5, 5)

    def forward(self, x):
        scale = torch.sigmoid(self.fc(x.mean(dim=(2, 3))))
-         return x * scale
+         return x * scale[:, :, None, None]


Squeeze()(torch.rand(2, 5, 8, 8))
""",
            runs=True,
        ),
        Example(
            "one length for each sample",
            """\
import torch

sums = torch.rand(6, 3)
counts = torch.arange(1.0, 7.0)
- sums /= counts + 1
+ sums /= (counts + 1).unsqueeze(-1)
""",
            runs=True,
        ),
        Example(
            "values of the actions that were taken",
            """\
import torch
import torch.nn.functional as F

critic = torch.nn.Linear(4, 3)
states, actions, rewards = torch.rand(6, 4), torch.randint(0, 3, (6,)), torch.rand(6)
- loss = F.mse_loss(critic(states).gather(1, actions), rewards)
+ loss = F.mse_loss(critic(states).gather(1, actions.unsqueeze(1)).squeeze(1), rewards)
""",
            runs=True,
        ),
        Example(
            "labels written into a table of zeros",
            """\
import torch


def one_hot(labels, classes):
    table = torch.zeros(len(labels), classes)
-     table.scatter_(1, labels, 1.0)
+     table.scatter_(1, labels.unsqueeze(1), 1.0)
    return table


one_hot(torch.tensor([2, 0, 1]), 3)
""",
            runs=True,
        ),
        Example(
            "a comparison of lengths with steps",
            """\
import torch


def steps_within(lengths, most):
    steps = torch.arange(most).repeat(len(lengths), 1)
-     return torch.lt(steps, lengths)
+     return torch.lt(steps, lengths.unsqueeze(-1))


steps_within(torch.tensor([2, 5, 1]), 5)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "operands that align",
            """\
import torch

x, scale, mask = torch.rand(2, 5, 8, 8), torch.rand(5, 1, 1), torch.rand(8)
y = x * scale + mask
""",
            runs=True,
        ),
        Reject(
            "a product of matrices",
            """\
import torch

torch.rand(4, 3) @ torch.rand(4, 3)
""",
            runs=True,
        ),
    )


def _meeting(subject: Subject) -> _Meeting | None:
    operation = failed_operation(subject)
    if operation is not None and operation.call.name in PICKS and len(operation.operands) > 1:
        table, index = operation.operands[:2]
        return _Meeting(operation, index, table) if len(index.shape) != len(table.shape) else None
    if operation is None or operation.call.name not in MEETINGS or len(operation.operands) != 2:
        return None
    first, second = operation.operands
    pairs = zip_longest(reversed(first.shape), reversed(second.shape), fillvalue=1)
    if all(one == other or 1 in (one, other) for one, other in pairs):
        return None
    first_is_small = len(first.shape) < len(second.shape)
    return _Meeting(operation, first, second) if first_is_small else _Meeting(operation, second, first)


def _index_with_axis(subject: Subject, found: _Meeting) -> Repairs:
    """Give the index the axis along which it points; what is gathered with it can lose that axis again."""
    axis, small, large = found.operation.call.args.get("dim"), found.small.shape, found.large.shape
    if not isinstance(axis, int) or len(small) != len(large) - 1 or not -len(large) <= axis < len(large):
        return
    axis %= len(large)
    if any(size > room for size, room in zip(small, large[:axis] + large[axis + 1 :], strict=True)):
        return
    widened = wrapped(subject, found.small.node, "", f".unsqueeze({axis})")
    around = subject.source.parent(found.operation.node)
    used_alone = not isinstance(around, (ast.Attribute, ast.Subscript, ast.Expr))
    if found.operation.short == "gather" and used_alone and isinstance(found.operation.node, ast.expr):
        narrowed = wrapped(subject, found.operation.node, "", f".squeeze({axis})")
        yield "Give the index the axis along which it points, and take it out again", (widened, narrowed), 0.9
    yield "Give the index the axis along which it points", (widened,), 0.85


def _places(small: Shape, large: Shape) -> Iterator[Shape]:
    """The axes of the large operand, in order, on which all sizes of the small one stand."""
    for axes in combinations(range(len(large)), len(small)):
        if small and all(size == large[axis] for size, axis in zip(small, axes, strict=True)):
            yield axes


def _axes(axes: Shape, rank: int) -> str:
    """The code that puts axes of one element between and behind those of the small operand."""
    missing = [axis for axis in range(axes[0], rank) if axis not in axes]
    if len(missing) == 1:
        return f".unsqueeze({-1 if missing[0] == rank - 1 else missing[0] - axes[0]})"
    return f"[{', '.join(':' if axis in axes else 'None' for axis in range(axes[0], rank))}]"
