"""Raw scores or probabilities go into a loss that takes logarithms of probabilities."""

from __future__ import annotations

from dnnfix.api import (
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    LossUse,
    Prediction,
    Reject,
    Repairs,
    Site,
    Subject,
    Symptom,
    Task,
    add_activation,
    bypass,
    change_activation,
    change_loss,
    extent,
    loss_uses,
    together,
    wrap_input,
)


class ScoresGivenAsLogProbabilities(FaultTemplate[LossUse]):
    """`NLLLoss` (or the Kullback-Leibler loss) is given raw scores or a softmax instead of a log-softmax.

    The loss picks the value at the label and negates it. Of raw scores that has no lower bound, so training only makes
    the scores larger; of probabilities it lies between -1 and 0 and its gradient vanishes for confident mistakes.

    Fix safety: unsafe. The loss is computed from other values; where the model's output becomes a log-probability,
    code that reads probabilities has to take the exponential.

    References: torch.nn.NLLLoss ("the input given is expected to contain log-probabilities"), torch.nn.KLDivLoss.
    """

    code = "DNF305"
    name = "scores-given-as-log-probabilities"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACTIVATION
    in_modules = True
    message = "{loss} takes log-probabilities and is given {what}"
    triggers = ("NLLLoss", "nll_loss", "KLDivLoss", "kl_div", "NLLLoss2d")
    declined = "neither the loss nor the output can be changed at one place"

    def faults(self, subject: Subject) -> Faults[LossUse]:
        for use in loss_uses(subject):
            if use.facts.prediction is not Prediction.LOG_PROBABILITIES or use.facts.task is Task.SEQUENCE:
                continue
            if use.plain or use.rows_sum_to_one:
                yield use.output_site, use
            elif use.bare and use.prediction.high is not None and use.prediction.high > 0.05:
                yield use.site, use

    def report(self, site: Site, use: LossUse) -> Finding:
        what = "probabilities" if use.rows_sum_to_one else "raw scores"
        return self.finding(
            site,
            symptom=Symptom.VIOLATION,
            confidence=0.95,
            evidence={"loss": use.name, "given": what, "range": extent(use.prediction)},
            cause=use.cause,
            loss=use.name,
            what=what,
        )

    def repairs(self, subject: Subject, use: LossUse) -> Repairs:
        maker = use.producer
        axis = use.facts.class_axis if use.facts.class_axis is not None else -1
        swap = change_loss(subject, use.call, "torch.nn.CrossEntropyLoss") if use.facts.task is Task.CLASSES else None
        if maker is not None and use.rows_sum_to_one:
            yield "Take the log-softmax", change_activation(subject, maker, "log_softmax", axis), 0.85
            yield "Use cross-entropy on the raw scores", together(bypass(subject, maker), swap), 0.6
            return
        yield "Use cross-entropy, which takes raw scores", swap, 0.75
        if maker is not None and use.plain:
            yield "Take the log-softmax of the output", add_activation(subject, maker, "log_softmax", axis), 0.6
        else:
            wrapped = wrap_input(subject, use.call, 0, "torch.log_softmax(", f", dim={axis})")
            yield "Give the loss the log-softmax of the scores", wrapped, 0.5

    examples = (
        Example(
            "softmax before the NLL loss",
            """\
import torch
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
-         return F.softmax(self.fc(x), dim=1)
+         return F.log_softmax(self.fc(x), dim=1)

loss = F.nll_loss(Net()(torch.rand(6, 4)), torch.tensor([0, 1, 2, 0, 1, 2]))
""",
        ),
        Example(
            "raw scores into NLLLoss",
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
- criterion = nn.NLLLoss()
+ criterion = nn.CrossEntropyLoss()
loss = criterion(model(torch.rand(6, 4)), torch.tensor([0, 1, 2, 0, 1, 2]))
""",
        ),
        Example(
            "Softmax layer before NLLLoss",
            """\
import torch
from torch import nn

model = nn.Sequential(
    nn.Linear(4, 3),
-     nn.Softmax(dim=1),
+     nn.LogSoftmax(dim=1),
)
criterion = nn.NLLLoss()
loss = criterion(model(torch.rand(6, 4)), torch.tensor([0, 1, 2, 0, 1, 2]))
""",
        ),
        Example(
            "scores by hand, seen in a run",
            """\
import torch
import torch.nn.functional as F

torch.manual_seed(0)
w = torch.randn(4, 3, requires_grad=True)
- loss = F.nll_loss(torch.randn(9, 4) @ w, torch.tensor([0, 1, 2] * 3))
+ loss = F.cross_entropy(torch.randn(9, 4) @ w, torch.tensor([0, 1, 2] * 3))
loss.backward()
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "log_softmax before the NLL loss",
            """\
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 3)
loss = F.nll_loss(F.log_softmax(model(torch.rand(3, 4)), dim=1), torch.tensor([0, 1, 2]))
""",
            runs=True,
        ),
        Reject(
            "log of a softmax",
            """\
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 3)
loss = F.nll_loss(torch.log(F.softmax(model(torch.rand(3, 4)), dim=1) + 1e-8), torch.tensor([0, 1, 2]))
""",
        ),
    )
