"""Log-softmax stands before a cross-entropy that begins with one."""

from __future__ import annotations

from dnnfix.api import (
    Decline,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    LossUse,
    Reject,
    Repairs,
    Site,
    Subject,
    Symptom,
    bypass,
    change_loss,
    loss_uses,
)


class LogSoftmaxBeforeCrossEntropy(FaultTemplate[LossUse]):
    """The output goes through log-softmax although `CrossEntropyLoss` starts with one.

    Log-softmax of a log-softmax changes nothing, so training is right; what is wrong is the pair: `log_softmax` goes with
    `NLLLoss`, raw scores go with `CrossEntropyLoss`. Kept, the next edit of either end (a softmax in place of the
    log-softmax, scores read as log-probabilities) becomes an error that no message reports.

    Fix safety: unsafe. `NLLLoss` gives the same values up to rounding; where the log-softmax is taken out instead, the
    model gives raw scores, and code that reads log-probabilities has to take it itself.

    References: torch.nn.CrossEntropyLoss ("equivalent to applying LogSoftmax on an input, followed by NLLLoss").
    """

    code = "DNF303"
    name = "log-softmax-before-cross-entropy"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.LOSS_FUNCTION
    in_modules = True
    message = "log_softmax goes into {loss}, which begins with one: it belongs to an NLL loss"
    triggers = ("log_softmax", "LogSoftmax")
    declined = "the log_softmax is not found again"

    def faults(self, subject: Subject) -> Faults[LossUse]:
        for use in loss_uses(subject):
            if use.call.name not in ("torch.nn.CrossEntropyLoss", "torch.nn.functional.cross_entropy"):
                continue
            if use.activation_name == "log_softmax":
                yield use.output_site, use

    def report(self, site: Site, use: LossUse) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.VIOLATION,
            confidence=0.6,
            evidence={"activation": "log_softmax", "loss": use.name, "effect": "none on the value of the loss"},
            loss=use.name,
        )

    def repairs(self, subject: Subject, use: LossUse) -> Repairs:
        others = [u for u in loss_uses(subject) if u.site == use.site and u.producer != use.producer]
        if all(u.activation is not None and u.activation.facts.log for u in others):
            edits = change_loss(subject, use.call, "torch.nn.NLLLoss")
            yield "Use the NLL loss, which takes log-probabilities", edits, 0.6
        if use.producer is not None:
            yield "Give the loss the scores before log_softmax", bypass(subject, use.producer), 0.5
        yield Decline("neither the loss nor the log_softmax can be changed at one place")

    examples = (
        Example(
            "sequential with LogSoftmax",
            """\
import torch
import torch.nn as nn

net = nn.Sequential(
    nn.Linear(4, 8),
    nn.ReLU(),
    nn.Linear(8, 3),
-     nn.LogSoftmax(dim=1),
)
loss = nn.functional.cross_entropy(net(torch.rand(5, 4)), torch.tensor([0, 1, 2, 0, 1]))
""",
        ),
        Example(
            "function loss",
            """\
import torch
import torch.nn.functional as F

weight = torch.randn(4, 3, requires_grad=True)
scores = torch.log_softmax(torch.rand(5, 4) @ weight, dim=1)
- F.cross_entropy(scores, torch.tensor([0, 1, 2, 0, 1])).backward()
+ F.nll_loss(scores, torch.tensor([0, 1, 2, 0, 1])).backward()
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "log_softmax with the NLL loss",
            """\
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 3)
loss = F.nll_loss(F.log_softmax(model(torch.rand(5, 4)), dim=1), torch.tensor([0, 1, 2, 0, 1]))
""",
        ),
        Reject(
            "log_softmax beside the loss",
            """\
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 3)
scores = model(torch.rand(5, 4))
loss = F.cross_entropy(scores, torch.tensor([0, 1, 2, 0, 1]))
logged = F.log_softmax(scores, dim=1)
""",
        ),
    )
