"""Features are on the last axis, where a normalization or a loss expects them on axis 1."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Call,
    Decline,
    Edit,
    Family,
    Fault,
    FixPattern,
    Repairs,
    ShapeTemplate,
    Subject,
    call_arguments,
    crashes,
    data_edits,
    network_facts,
    short,
    tensor_axes,
    tensor_shapes,
    tensor_targets,
    words,
)

NORMALIZATIONS = words("torch.nn.BatchNorm1d torch.nn.InstanceNorm1d torch.nn.SyncBatchNorm")


class FeaturesOnLastAxis(ShapeTemplate):
    """A normalization or a loss expects features on axis 1, and gets them on the last axis.

    Linear and recurrent layers return `(batch, steps, features)`; `BatchNorm1d` and the cross-entropy of every step
    expect `(batch, features, steps)`. The axis is moved, and moved back after a normalization.

    Fix safety: unsafe. The program did not run before; the values stay.

    References: torch.nn.BatchNorm1d, torch.nn.CrossEntropyLoss (shapes of the input).
    """

    code = "DNF129"
    name = "features-on-last-axis"
    formerly = ("channels-on-last-axis",)
    message = "{layer} expects {features} features on axis 1, and they are on the last axis of {shape}"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION

    def explain(self, subject: Subject) -> Iterator[Fault]:
        found = _of_normalization(subject) or _of_loss(subject)
        if found is not None:
            shape = found.shape
            named = {"layer": short(found.call.name), "features": shape[-1], "shape": tensor_shapes.by(shape)}
            yield Fault(found.call.site, named, tuple(_exchanged(subject, found)), {"shape": list(shape)})

    programs = """
=== example: steps that are normalized
import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 6)
        self.norm = nn.BatchNorm1d(6)

    def forward(self, x):
-         return torch.relu(self.norm(self.fc(x)))
+         return torch.relu(self.norm(self.fc(x).transpose(1, 2)).transpose(1, 2))


Block()(torch.rand(5, 7, 4))

=== example: a class for each pixel, scored by a linear layer
import torch
import torch.nn.functional as F

net = torch.nn.Linear(3, 5)
images, labels = torch.rand(2, 8, 9, 3), torch.randint(0, 5, (2, 8, 9))
- F.nll_loss(F.log_softmax(net(images), dim=-1), labels).backward()
+ F.nll_loss(F.log_softmax(net(images), dim=-1).permute(0, 3, 1, 2), labels).backward()

=== reject: features on the second axis
import torch
from torch import nn

x, y = torch.rand(5, 6, 7), torch.randint(0, 6, (5, 7))
loss = nn.CrossEntropyLoss()(nn.BatchNorm1d(6)(x), y)

=== reject: another number of features
import torch

torch.nn.BatchNorm1d(6)(torch.rand(5, 7, 4))
"""


@dataclass(frozen=True, slots=True)
class _Last:
    """A call that expects features on axis 1, and its input; `back` is the call if its output has to be moved back."""

    call: Call
    shape: tuple[int, ...]
    node: ast.expr | None
    back: ast.expr | None = None


def _exchanged(subject: Subject, found: _Last) -> Repairs:
    rank = len(found.shape)
    if found.node is None or rank not in (3, 4):
        yield Decline("the input is not the argument of a call")
        return
    code = ".transpose(1, 2)" if rank == 3 else ".permute(0, 3, 1, 2)"
    edits: tuple[Edit, ...] = (data_edits.wrapped(subject, found.node, "", code),)
    if found.back is not None:
        edits += (data_edits.wrapped(subject, found.back, "", code if rank == 3 else ".permute(0, 2, 3, 1)"),)
    yield "Move the features to axis 1", edits, 0.9


def _of_normalization(subject: Subject) -> _Last | None:
    found = crashes.crashed_layer(subject)
    if found is None or found[0].name not in NORMALIZATIONS:
        return None
    call, shape, stated = found[0], tensor_shapes.known(found[2].shape), network_facts.stated_input(found[0])
    if shape is None or len(shape) not in (3, 4) or stated != shape[-1] or stated == shape[1]:
        return None
    node, constructor = subject.call_node(call), subject.constructor_node(call)
    inside = constructor is not None and call_arguments.element_of(subject, constructor) is not None
    given = tensor_axes.first_argument(node) if node is not None and not inside else None
    return _Last(call, shape, given, node)


def _of_loss(subject: Subject) -> _Last | None:
    for use in tensor_targets.class_losses(subject):
        shape = tensor_shapes.known(use.prediction.shape)
        target = tensor_shapes.known(use.target.shape) if use.target is not None else None
        if not use.crashed or not use.in_torch or use.facts.target is not network_facts.Target.INDICES or shape is None:
            continue
        if len(shape) > 2 and target == shape[:-1] and shape[-1] > 1:
            return _Last(use.call, shape, tensor_targets.prediction_expression(subject, use))
    return None
