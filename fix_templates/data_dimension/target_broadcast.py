"""Prediction and target differ in an axis of size one and are broadcast against each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Call,
    Candidate,
    Decline,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Subject,
    Symptom,
    Value,
    data_edits,
    layer_facts,
    tensor_shapes,
    tensor_targets,
    tensor_values,
)

Shape = tuple[int | None, ...]

PRODUCTS = ("matmul", "mm", "addmm")


class TargetBroadcast(FixTemplate):
    """Prediction and target differ in an axis of size one and are broadcast against each other.

    A prediction of shape `(n, 1)` and a target of shape `(n,)` broadcast to `(n, n)`: every prediction is compared with
    every target, and the loss has its minimum at the mean of all targets, whatever the input. Mean squared error only
    warns; binary cross-entropy raises.

    Fix safety: unsafe. The loss compares each prediction with its own target; its values change.

    References: torch.nn.MSELoss (warning "Using a target size that is different to the input size"), the broadcasting
    rules of torch and numpy.
    """

    code = "DNF110"
    name = "target-broadcast"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "{what} expects equal shapes, got {first} and {second}, which are broadcast"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for use in _losses(subject):
            node = tensor_targets.target_expression(subject, use)
            if node is not None and use.target is not None:
                yield self.finding(
                    subject.source.site(node),
                    symptom=use.symptom,
                    confidence=0.95,
                    cause=use.cause,
                    evidence={"prediction": list(use.prediction.shape or ()), "target": list(use.target.shape or ())},
                    what=use.name,
                    first=use.prediction.shape,
                    second=use.target.shape,
                )
        for stretched in _operations(subject):
            shapes = [value.shape for value in stretched.call.inputs[:2]]
            yield self.finding(
                subject.source.site(stretched.node),
                symptom=Symptom.VIOLATION,
                confidence=0.85,
                evidence={"shapes": [list(shape or ()) for shape in shapes]},
                what=stretched.call.name.rpartition(".")[2],
                first=shapes[0],
                second=shapes[1],
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        for use in _losses(subject):
            node = tensor_targets.target_expression(subject, use)
            if node is not None and subject.source.site(node) == finding.site:
                yield from self._for_loss(finding, subject, use, node)
                return
        for stretched in _operations(subject):
            if subject.source.site(stretched.node) == finding.site:
                edit = data_edits.wrapped(subject, stretched.flat, "", ".unsqueeze(1)")
                yield self.candidate(finding, "Add an axis of size one to the other tensor", edit, prior=0.8)
                if stretched.column is not None:
                    squeeze = data_edits.wrapped(subject, stretched.column, "", ".squeeze(1)")
                    yield self.candidate(finding, "Squeeze the axis of size one", squeeze, prior=0.6)
                return
        yield Decline("prediction and target are not passed in one call")

    def _for_loss(
        self, finding: Finding, subject: Subject, use: tensor_values.LossUse, node: ast.expr
    ) -> Iterator[Candidate | Decline]:
        prediction, target = use.prediction.shape or (), (use.target.shape if use.target is not None else None) or ()
        like = _code(target, prediction)
        nodes = tensor_targets.same_targets(subject, use)
        if like is not None and not (target == (1,) and like == ".squeeze(0)"):  # axis 0 is the batch
            title = "Reshape the target to the shape of the prediction"
            yield self.candidate(
                finding, title, *data_edits.change_data(subject, nodes, "", like, each=True), prior=0.85
            )
            if len(nodes) > 1:
                yield self.candidate(finding, title, *data_edits.change_data(subject, (node,), "", like), prior=0.7)
        output = tensor_targets.prediction_expression(subject, use)
        back = _code(prediction, target)
        if output is not None and back is not None and not back.startswith(".unsqueeze"):
            edits = data_edits.change_data(subject, (output,), "", back)
            yield self.candidate(finding, "Reshape the prediction to the shape of the target", *edits, prior=0.75)

    programs = """
=== example: flat targets for a regression
import torch
import torch.nn as nn

net = nn.Linear(3, 1)
x, y = torch.rand(8, 3), torch.rand(8)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    optimizer.zero_grad()
-     loss = nn.MSELoss()(net(x), y)
+     loss = nn.MSELoss()(net(x), y.unsqueeze(1))
    loss.backward()
    optimizer.step()

=== example: flat targets for binary cross-entropy
import torch
import torch.nn.functional as F
from torch import nn

discriminator = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
real, fake = torch.rand(6, 4), torch.rand(6, 4)
ones, zeros = torch.ones(6), torch.zeros(6)
- loss = F.binary_cross_entropy(discriminator(real), ones) + F.binary_cross_entropy(discriminator(fake), zeros)
+ loss = F.binary_cross_entropy(discriminator(real), ones.unsqueeze(1)) + F.binary_cross_entropy(discriminator(fake), zeros.unsqueeze(1))

=== example: a loss written out
import torch

model = torch.nn.Linear(2, 1)
x = torch.rand(10, 2)
y = torch.rand(10)
prediction = model(x)
- loss = ((prediction - y) ** 2).mean()
+ loss = ((prediction - y.unsqueeze(1)) ** 2).mean()
loss.backward()

=== reject: shapes that meet
import torch
from torch import nn

loss = nn.MSELoss()(nn.Linear(3, 1)(torch.rand(8, 3)), torch.rand(8, 1))

=== reject: distances of all pairs
import torch

points = torch.rand(6)
distances = (points.unsqueeze(1) - points).abs().mean()
"""


@dataclass(frozen=True, slots=True)
class Stretched:
    """An operation on `(n, 1)` and `(n,)`: the call, its expression and those of its two operands."""

    call: Call
    node: ast.expr
    flat: ast.expr
    column: ast.expr | None


def _losses(subject: Subject) -> Iterator[tensor_values.LossUse]:
    """Torch losses whose prediction and target differ in axes of size one only."""
    if subject.trace is None:
        return
    for use in tensor_values.loss_uses(subject):
        target, shape = use.target, use.prediction.shape
        if not use.in_torch or not use.facts.same_shape or target is None or shape is None:
            continue
        if target.shape is None or target.shape == shape or _without_ones(target.shape) != _without_ones(shape):
            continue
        if use.crashed or any(size is not None and size > 1 for size in shape):
            yield use


def _operations(subject: Subject) -> Iterator[Stretched]:
    """Sums and differences of shapes `(n, 1)` and `(n,)` that a loss is computed from."""
    if subject.trace is None:
        return
    seen: set[object] = set()
    for call in subject.network.calls:
        if call.name not in ("torch.Tensor.sub", "torch.Tensor.add", "torch.sub") or len(call.inputs) < 2:
            continue
        node, column = subject.node(call.site), _column(call)
        if column is None or call.site in seen or not isinstance(node, ast.BinOp):
            continue
        given, flat = call.inputs[column], call.inputs[1 - column]
        sides = (node.left, node.right)
        if (call.name.endswith("sub") and _compares(subject, given, flat)) or _becomes_target(subject, call):
            seen.add(call.site)
            yield Stretched(call, node, sides[1 - column], sides[column])


def _column(call: Call) -> int | None:
    """Which of the two inputs is the `(n, 1)` that is broadcast against `(n,)`."""
    for index in (0, 1):
        column, flat = call.inputs[index].shape, call.inputs[1 - index].shape
        if column is None or flat is None or len(flat) != 1 or column != (flat[0], 1):
            continue
        if (flat[0] or 0) > 1:
            return index
    return None


def _compares(subject: Subject, column: Value, flat: Value) -> bool:
    """Whether one of the two is the output of the network and the other is data."""
    if _made_by_layer(subject, flat):
        return column.requires_grad is False and column.producer is None
    return flat.requires_grad is False and (_made_by_layer(subject, column) or _multiplied(subject, column))


def _made_by_layer(subject: Subject, value: Value) -> bool:
    path = tensor_shapes.way_back(subject, value)[:4]
    return value.requires_grad is True and any(
        (facts := layer_facts(call)) is not None and facts.kind == "linear" for call in path
    )


def _multiplied(subject: Subject, value: Value) -> bool:
    """Whether a value is the output of a hand-written layer: a matrix product, and what is added to it."""
    return value.requires_grad is True and any(
        call.name.rpartition(".")[2] in PRODUCTS for call in tensor_shapes.way_back(subject, value)[:2]
    )


def _becomes_target(subject: Subject, call: Call) -> bool:
    """Whether the broadcast result is the target of a loss whose prediction has shape `(n, 1)`."""
    if not call.outputs:
        return False
    for use in tensor_values.loss_uses(subject):
        shape, target = use.prediction.shape, use.target
        if shape is None or target is None or target.shape is None or not use.facts.same_shape:
            continue
        column = len(shape) == 2 and shape[1] == 1 and target.shape == (shape[0], shape[0])
        if column and any(one.id == call.id for one in tensor_shapes.way_back(subject, target)[:3]):
            return True
    return False


def _without_ones(shape: Shape) -> Shape:
    return tuple(size for size in shape if size != 1)


def _code(shape: Shape, wanted: Shape) -> str | None:
    """The method call that converts one shape to the other without naming the batch size."""
    for axis in range(len(wanted)):
        if wanted[axis] == 1 and (*wanted[:axis], *wanted[axis + 1 :]) == shape:
            axis = len(wanted) - 1 if len(wanted) == 2 and len(shape) == 1 and wanted[-1] == 1 else axis
            return f".unsqueeze({axis})"
    for axis in range(len(shape)):
        if shape[axis] == 1 and (*shape[:axis], *shape[axis + 1 :]) == wanted:
            axis = len(shape) - 1 if len(shape) == 2 and shape[-1] == 1 else axis
            return f".squeeze({axis})"
    return None
