"""`squeeze()` without an axis takes more axes away than the one that is meant."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.api import (
    Call,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    InsertElement,
    Reject,
    Repairs,
    Site,
    Subject,
    Symptom,
    upstream,
)

SQUEEZES = frozenset({"torch.squeeze", "torch.Tensor.squeeze"})


@dataclass(frozen=True, slots=True)
class _Squeezed:
    """A squeeze on the way to the crash, the shapes around it, and the axes that it may mean, the likeliest first."""

    call: Call
    before: tuple[int | None, ...]
    after: tuple[int | None, ...]
    axes: tuple[int, ...]


class SqueezeOfEveryAxis(FaultTemplate[_Squeezed]):
    """`squeeze()` without an axis takes every axis of size one away: also that of a batch of one sample.

    A program that works for batches of many stops at the last batch, which holds one sample, or as soon as one sample
    of a class is drawn: the result has lost the axis that the rest of the program counts on.

    Fix safety: unsafe. An axis of size one stays; nothing changes where only the named axis has size one.

    References: torch.squeeze ("if the tensor has a batch dimension of size 1, then squeeze(input) will also remove the
    batch dimension, which can lead to unexpected errors").
    """

    code = "DNF119"
    name = "squeeze-of-every-axis"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "squeeze() without an axis makes {before} to {after}: more than one axis is gone"
    triggers = ("squeeze",)
    needs_run = True
    declined = "the squeeze is not written as a call"
    elsewhere = True

    def faults(self, subject: Subject) -> Faults[_Squeezed]:
        found = _found(subject)
        if found is not None:
            yield found.call.site, found

    def report(self, site: Site, found: _Squeezed) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.85,
            cause="crash",
            evidence={"before": list(found.before), "after": list(found.after)},
            before=found.before,
            after=found.after,
        )

    def repairs(self, subject: Subject, found: _Squeezed) -> Repairs:
        node = subject.call_node(found.call)
        if node is None:
            return
        for axis, prior in zip(found.axes, (0.92, 0.6, 0.4), strict=False):
            edit = InsertElement(subject.source.site(node), len(node.args), str(axis))
            yield f"Take axis {axis} alone away", (edit,), prior

    examples = (
        Example(
            "a last batch of one sample",
            """\
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
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a crash that the squeeze has nothing to do with",
            """\
import torch

a = torch.rand(1, 1).squeeze()
b = torch.nn.Linear(3, 2)(torch.rand(4, 5))
""",
            runs=True,
        ),
        Reject(
            "one axis, by name and alone",
            """\
import torch
from torch import nn

net = nn.Linear(3, 1)
loss = nn.MSELoss()(net(torch.rand(1, 3)).squeeze(1), torch.rand(1))
other = nn.MSELoss()(net(torch.rand(5, 3)).squeeze(), torch.rand(5))
""",
            runs=True,
        ),
    )


def _found(subject: Subject) -> _Squeezed | None:
    crash = subject.crash.call if subject.crash is not None else None
    if crash is None:
        return None
    behind = upstream(subject.network, crash)
    for call in sorted(behind.values(), key=lambda call: -call.id):
        node = subject.call_node(call) if call.name in SQUEEZES and call is not crash else None
        before = call.inputs[0].shape if call.inputs else None
        if node is None or before is None or not call.outputs or node.keywords or "dim" in call.args:
            continue
        method = isinstance(node.func, ast.Attribute) and call.name == "torch.Tensor.squeeze"
        ones = [axis for axis, size in enumerate(before) if size == 1]
        if len(node.args) != (0 if method else 1) or len(ones) < 2:
            continue
        meant = _always_one(subject, call, ones)
        order = sorted(meant, key=lambda axis: (axis == 0, -axis))
        return _Squeezed(call, before, call.outputs[0].shape or (), tuple(order))
    return None


def _always_one(subject: Subject, call: Call, ones: list[int]) -> list[int]:
    """Of the axes of size one those that had this size whenever the program came by; all where that tells nothing."""
    rank = len(call.inputs[0].shape or ())
    seen = [
        one.inputs[0].shape
        for one in subject.network.calls
        if one.name == call.name and one.site == call.site and one.inputs and one.inputs[0].shape is not None
    ]
    kept = [axis for axis in ones if all(len(shape) == rank and shape[axis] == 1 for shape in seen if shape)]
    return kept or ones
