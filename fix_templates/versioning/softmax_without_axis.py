"""`F.log_softmax(x)` without `dim`: torch guesses the axis from the number of axes, which is deprecated."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Call, Hit, SetArgument, Site, Subject, uses_of

FUNCTIONS = frozenset(f"torch.nn.functional.{name}" for name in ("softmax", "log_softmax", "softmin"))
LAYERS = frozenset(f"torch.nn.{name}" for name in ("Softmax", "LogSoftmax", "Softmin"))
WARNING = "Implicit dimension choice"

FIRST = (0, 1, 3)
"""The numbers of axes for which torch uses the first axis instead of the second."""


class SoftmaxWithoutAxis(ApiChange):
    """A softmax is called without `dim`: torch warns since 0.3, and uses axis 0 of 1 or 3 axes, axis 1 of 2 or 4.

    Off by default: the program runs as it always did. It reports only what torch warned about in the run, and states
    the axis that torch used for the tensors of that run. With three axes that is the first, in most programs the batch
    or the time, and hardly what was meant.

    Fix safety: unsafe: the same axis is used as in the run; tensors with another number of axes would have used
    another.

    References: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.softmax.html.
    """

    code = "DNF546"
    name = "softmax-without-axis"
    message = "{function} is called without dim, which is deprecated since torch 0.3"
    default = False
    triggers = ("softmax", "log_softmax", "softmin", "Softmax", "LogSoftmax", "Softmin")

    def hits(self, subject: Subject) -> Iterator[Hit]:
        if subject.source.words.isdisjoint(self.triggers):
            return
        trace = subject.trace
        warned = trace is not None and any(WARNING in warning.message for warning in trace.warnings)
        for call in uses_of(subject.source).calls():
            name = subject.source.qualified(call.func) or ""
            if name not in FUNCTIONS and name not in LAYERS:
                continue
            if len(call.args) > (name in FUNCTIONS) or any(k.arg in (None, "dim") for k in call.keywords):
                continue
            if not any(isinstance(argument, ast.Starred) for argument in call.args):
                yield _hit(subject, subject.source.site(call), name, warned)

    programs = """
=== example (runs): the output of a classifier
import torch
import torch.nn.functional as F

net = torch.nn.Linear(4, 3)
- loss = F.nll_loss(F.log_softmax(net(torch.ones(2, 4))), torch.tensor([0, 1]))
+ loss = F.nll_loss(F.log_softmax(net(torch.ones(2, 4)), dim=1), torch.tensor([0, 1]))
print(loss.item())

=== example (runs): a layer
import torch
from torch import nn

- net = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax())
+ net = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax(dim=1))
print(nn.NLLLoss()(net(torch.ones(2, 4)), torch.tensor([0, 1])).item())

=== reject (runs): the axis is passed
import torch
import torch.nn.functional as F

net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Softmax(1))
print(F.softmax(net(torch.ones(2, 4)), -1), F.log_softmax(net(torch.ones(2, 4)), dim=1))

=== reject (runs): methods, which always needed the axis
import torch

net = torch.nn.Linear(4, 3)
print(net(torch.ones(2, 4)).softmax(1), torch.softmax(net(torch.ones(2, 4)), 1))
"""


def _hit(subject: Subject, site: Site, name: str, warned: bool) -> Hit:
    axes = {
        axes
        for call in subject.network.calls
        if site in (call.site, call.made_at) and (axes := _axes(call)) is not None
    }
    decline = "" if len(axes) == 1 else "the number of axes of its input is not known"
    if len(axes) > 1:
        decline = "its inputs have different numbers of axes"
    axis = "0" if axes and axes <= set(FIRST) else "1"
    return Hit(
        site,
        SoftmaxWithoutAxis.message.format(function=name),
        title=f"pass dim={axis}",
        edits=() if decline else (SetArgument(site, "dim", axis),),
        decline=decline,
        deprecated=not warned,
        evidence={"axes": ", ".join(map(str, sorted(axes)))},
    )


def _axes(call: Call) -> int | None:
    """How many axes the input of a call has."""
    shape = call.inputs[0].shape if call.inputs else None
    return len(shape) if shape is not None else None
