"""Numbers of one dtype meet weights or predictions of another."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    Subject,
    Symptom,
    cast_where_made,
    cast_where_used,
    odd_floats,
)


class FloatDtypeMismatch(FixTemplate):
    """A tensor of doubles or integers goes into an operation that computes in another floating dtype, and torch refuses.

    NumPy makes doubles and Python integers make longs, while weights are float32. The data is cast where it becomes a
    tensor, so that everything after it agrees; else where it is used.

    Fix safety: unsafe. The program did not run before; what it now computes is rounded to the dtype of the weights.

    References: torch.Tensor.dtype and "Type promotion" in the torch documentation; numpy's default float64.
    """

    code = "DNF601"
    name = "float-dtype-mismatch"
    family = Family.DATA_TYPE
    fix_pattern = FixPattern.DATA_TYPE
    message = "{operation} computes in {wanted} and is given {received}"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for call, index, value, wanted in odd_floats(subject):
            site = call.site or (subject.crash.site if subject.crash is not None else None)
            if site is not None:
                yield self.finding(
                    site,
                    symptom=Symptom.CRASH,
                    confidence=0.9,
                    evidence={"input": index, "wanted": wanted, "received": value.dtype, "operation": call.name},
                    cause="crash",
                    operation=call.name.rpartition(".")[2],
                    wanted=wanted,
                    received=value.dtype,
                )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        proposed = False
        for call, index, _, wanted in odd_floats(subject):
            if index != finding.evidence["input"]:
                continue
            made = cast_where_made(subject, call, index, wanted)
            if made is not None:
                proposed = True
                yield self.candidate(finding, f"Make the data {wanted}", *made, prior=0.8)
            used = cast_where_used(subject, call, index, wanted)
            if used is not None:
                proposed = True
                yield self.candidate(finding, f"Cast the input to {wanted}", *used, prior=0.6)
        if not proposed:
            yield Decline("the place where the data enters is not in this file")

    examples = (
        Example(
            "doubles from numpy into a linear layer",
            before="""\
import numpy as np
import torch
import torch.nn as nn

features = np.random.rand(16, 3)
x = torch.from_numpy(features)
layer = nn.Linear(3, 2)
print(layer(x).sum())
""",
            after="""\
import numpy as np
import torch
import torch.nn as nn

features = np.random.rand(16, 3)
x = torch.from_numpy(features).float()
layer = nn.Linear(3, 2)
print(layer(x).sum())
""",
            runs=True,
        ),
        Example(
            "integers into a network",
            before="""\
import torch
from torch import nn

class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.weigh = nn.Linear(2, 1)

    def forward(self, pair):
        return self.weigh(pair)

pairs = torch.tensor([[1, 2], [3, 4], [5, 6]])
print(Adder()(pairs))
""",
            after="""\
import torch
from torch import nn

class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.weigh = nn.Linear(2, 1)

    def forward(self, pair):
        return self.weigh(pair)

pairs = torch.tensor([[1, 2], [3, 4], [5, 6]], dtype=torch.float32)
print(Adder()(pairs))
""",
            runs=True,
        ),
        Example(
            "integer labels into a binary loss",
            before="""\
import torch

net = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Sigmoid())
labels = torch.randint(0, 2, (8, 1))
loss = torch.nn.BCELoss()(net(torch.rand(8, 4)), labels)
loss.backward()
""",
            after="""\
import torch

net = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Sigmoid())
labels = torch.randint(0, 2, (8, 1)).float()
loss = torch.nn.BCELoss()(net(torch.rand(8, 4)), labels)
loss.backward()
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a model that computes in doubles throughout",
            """\
import torch
model = torch.nn.Linear(3, 1).double()
print(model(torch.rand(4, 3, dtype=torch.float64)))
""",
            runs=True,
        ),
        Reject(
            "a crash about sizes",
            """\
import torch
print(torch.nn.Linear(3, 1)(torch.rand(4, 5)))
""",
            runs=True,
        ),
    )
