"""An operation gets data of another floating dtype than that of its weights or predictions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Decline,
    Edit,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Subject,
    Symptom,
    Wrap,
    dtypes,
)

ON_PURPOSE = 0.25
"""Factor on the prior of a cast for an operation without weights, if the data states its dtype."""


class FloatDtypeMismatch(FixTemplate):
    """An operation gets doubles or integers, and another floating dtype in its weights or predictions: torch raises.

    NumPy creates doubles and Python integers become longs, while weights are float32. The data is cast where it becomes
    a tensor, so that everything after it matches; else where it is used. Without a run, only targets of a binary
    cross-entropy that the source creates as integers are reported.

    Fix safety: unsafe. The program did not run before; values are rounded to the dtype of the weights.

    References: torch.Tensor.dtype and "Type promotion" in the torch documentation; numpy's default float64.
    """

    code = "DNF601"
    name = "float-dtype-mismatch"
    family = Family.DATA_TYPE
    fix_pattern = FixPattern.DATA_TYPE
    message = "{operation} expects {wanted}, got {received}"

    def detect(self, subject: Subject) -> Iterator[Finding]:
        crashed = subject.ran and subject.crash is not None
        for call, index, value, wanted in dtypes.odd_floats(subject) if crashed else dtypes.integer_targets(subject):
            site = call.site or (subject.crash.site if subject.crash is not None else None)
            if site is not None:
                yield self.finding(
                    site,
                    symptom=Symptom.CRASH if crashed else Symptom.NONE_OBSERVED,
                    confidence=0.9,
                    evidence={"input": index, "wanted": wanted, "received": value.dtype, "operation": call.name},
                    cause="crash" if crashed else "",
                    operation=call.name.rpartition(".")[2],
                    wanted=wanted,
                    received=value.dtype,
                )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        proposed = False
        crashed = finding.symptom is Symptom.CRASH
        for call, index, _, wanted in dtypes.odd_floats(subject) if crashed else dtypes.integer_targets(subject):
            if index != finding.evidence["input"] or (call.site is not None and call.site != finding.site):
                continue
            made = dtypes.cast_where_made(subject, call, index, wanted)
            stated = call.component is None and made is not None and _states_its_kind(subject, made)
            meant = ON_PURPOSE if stated else 1.0
            if made is not None:
                proposed = True
                yield self.candidate(finding, f"Make the data {wanted}", *made, prior=0.8 * meant)
            used = dtypes.cast_where_used(subject, call, index, wanted)
            if used is not None:
                proposed = True
                yield self.candidate(finding, f"Cast the input to {wanted}", *used, prior=0.6 * meant)
        if not proposed:
            yield Decline("the data is not created in this file")

    programs = """
=== example (runs): integers into a network
import torch
from torch import nn

class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.weigh = nn.Linear(2, 1)

    def forward(self, pair):
        return self.weigh(pair)

- pairs = torch.tensor([[1, 2], [3, 4], [5, 6]])
+ pairs = torch.tensor([[1, 2], [3, 4], [5, 6]], dtype=torch.float32)
print(Adder()(pairs))

=== example (runs): integer labels into a binary loss
import torch

net = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Sigmoid())
- labels = torch.randint(0, 2, (8, 1))
+ labels = torch.randint(0, 2, (8, 1)).float()
loss = torch.nn.BCELoss()(net(torch.rand(8, 4)), labels)
loss.backward()

=== example: class labels for a binary loss, from the source
import torch
import torch.nn.functional as F

def train(model, optimizer, batches):
    for sequence, target in batches:
        x = torch.from_numpy(sequence).type(torch.LongTensor)
        y = torch.from_numpy(target).type(torch.LongTensor)
-         loss = F.binary_cross_entropy(model(x), y)
+         loss = F.binary_cross_entropy(model(x), y.float())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

=== reject: binary targets that are cast before the loss
import torch
from torch import nn
import torch.nn.functional as F

def step(net, x, y):
    y = y.long()
    hits = (net(x) > 0.5).long() == y
    return F.binary_cross_entropy(net(x), y.float()), hits

def mean(net, x, n):
    return nn.MSELoss()(net(x), torch.arange(8).view(8, 1))

=== reject (runs): integers assigned to an array of floats
import torch
table = torch.zeros(4, 3)
table[:, 0] = torch.arange(4)
table[:, 1] = torch.arange(5)

=== reject (runs): a model that computes in doubles throughout
import torch
model = torch.nn.Linear(3, 1).double()
print(model(torch.rand(4, 3, dtype=torch.float64)))

=== reject (runs): a crash about sizes
import torch
print(torch.nn.Linear(3, 1)(torch.rand(4, 5)))
"""


def _states_its_kind(subject: Subject, edits: tuple[Edit, ...]) -> bool:
    """Whether an expression to be cast is a call with a `dtype`."""
    nodes = (subject.node(edit.site) for edit in edits if isinstance(edit, Wrap))
    return any(isinstance(node, ast.Call) and any(each.arg == "dtype" for each in node.keywords) for node in nodes)
