"""`nn.MSELoss(output, target)`: the class of a loss is called with the tensors instead of an instance."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Decline,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Replace,
    Subject,
    Symptom,
    Wrap,
)

LOSSES = (
    "torch.nn.BCELoss",
    "torch.nn.BCEWithLogitsLoss",
    "torch.nn.CrossEntropyLoss",
    "torch.nn.HuberLoss",
    "torch.nn.KLDivLoss",
    "torch.nn.L1Loss",
    "torch.nn.MSELoss",
    "torch.nn.NLLLoss",
    "torch.nn.SmoothL1Loss",
    "keras.losses.BinaryCrossentropy",
    "keras.losses.CategoricalCrossentropy",
    "keras.losses.Huber",
    "keras.losses.KLDivergence",
    "keras.losses.MeanAbsoluteError",
    "keras.losses.MeanSquaredError",
    "keras.losses.SparseCategoricalCrossentropy",
)
OF_A_LOSS = ("backward", "item", "detach")
"""Attributes of a loss's value that an instance of the class does not have."""


class LossClassGivenTensors(FixTemplate):
    """The prediction and the target are passed to the constructor of a loss: `nn.MSELoss()(output, target)` is meant.

    The constructor takes them for settings: the call raises that the truth value of a tensor is ambiguous, or returns a
    loss object without `backward`. Reported where the result's gradient or value is used, or it is computed with.

    Fix safety: unsafe. The loss is computed, which it could not be before.

    References: https://docs.pytorch.org/docs/stable/generated/torch.nn.MSELoss.html; https://keras.io/api/losses/.
    """

    code = "DNF566"
    name = "loss-class-given-tensors"
    family = Family.VERSIONING
    fix_pattern = FixPattern.API_CONTRACT
    message = "`{loss}` is a class, and `{text}` passes the prediction and the target to its constructor"
    triggers = tuple(name.rpartition(".")[2] for name in LOSSES)

    def detect(self, subject: Subject) -> Iterator[Finding]:
        source = subject.source
        for call in source.calls(*LOSSES):
            above = source.parent(call)
            if len(call.args) != 2 or any(not _may_be_tensor(each) for each in call.args):
                continue
            if isinstance(above, ast.Call) and above.func is call or not _is_value(subject, call):
                continue
            text = subject.text(source.site(call))
            crashed = subject.crash is not None
            yield self.finding(
                source.site(call),
                symptom=Symptom.CRASH if crashed else Symptom.VIOLATION,
                cause="crash" if crashed else "",
                confidence=0.95,
                loss=subject.text(source.site(call.func)),
                text=text if len(text) < 60 else f"{text[:57]}...",
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        call = subject.node(finding.site)
        if not isinstance(call, ast.Call):
            yield Decline("the loss is created in another file")
            return
        yield self.candidate(finding, "Create the loss and call it", _object_called(subject, call), prior=0.95)

    programs = """
=== example: a step of training
import torch
from torch import nn

net = nn.Linear(3, 1)
output = net(torch.rand(8, 3))
- loss = nn.MSELoss(output, torch.rand(8, 1))
+ loss = nn.MSELoss()(output, torch.rand(8, 1))
loss.backward()

=== example: a custom loss function
import keras
from keras import ops


def loss(y_true, y_pred):
-     return keras.losses.MeanSquaredError(y_true, y_pred) + 0.1 * ops.mean(y_pred)
+     return keras.losses.MeanSquaredError()(y_true, y_pred) + 0.1 * ops.mean(y_pred)

=== example: with further settings
import torch.nn as nn

total = 0
for x, y in loader:
-     total += nn.CrossEntropyLoss(model(x), y, reduction="sum").item()
+     total += nn.CrossEntropyLoss(reduction="sum")(model(x), y).item()

=== reject: settings of the loss
import torch.nn as nn

criterion = nn.CrossEntropyLoss(class_weights, True)
loss = criterion(model(x), y)
loss.backward()
other = nn.MSELoss(None, None, "sum")(model(x), y)
other.backward()

=== reject: a function that creates the loss
import torch.nn as nn


def make(weight, average):
    return nn.NLLLoss(weight, average)
"""


def _object_called(subject: Subject, call: ast.Call) -> Wrap | Replace:
    """The edit that creates an instance with the keyword arguments and calls it with the positional ones."""
    source = subject.source
    if not call.keywords:
        return Wrap(source.site(call.func), "", "()")
    function = subject.text(source.site(call.func))
    settings = [
        f"{k.arg}={source.segment(source.site(k.value))}" if k.arg else f"**{source.segment(source.site(k.value))}"
        for k in call.keywords
    ]
    given = [source.segment(source.site(each)) for each in call.args]
    return Replace(source.site(call), f"{function}({', '.join(settings)})({', '.join(given)})")


def _may_be_tensor(expr: ast.expr) -> bool:
    return not isinstance(expr, (ast.Constant, ast.Starred, ast.Lambda))


def _is_value(subject: Subject, call: ast.Call) -> bool:
    """Whether the result is used as a tensor: its gradient or value is read, or it is an operand."""
    source = subject.source
    above = source.parent(call)
    if isinstance(above, ast.Attribute):
        return above.attr in OF_A_LOSS
    if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
        name, scope = above.targets[0].id, source.enclosing(above, ast.FunctionDef)
        return any(
            isinstance(node.value, ast.Name)
            and node.value.id == name
            and node.attr in OF_A_LOSS
            and source.enclosing(node, ast.FunctionDef) is scope
            for node in source.nodes(ast.Attribute)
        ) and not any(isinstance(each.func, ast.Name) and each.func.id == name for each in source.all_calls)
    return isinstance(above, ast.BinOp)
