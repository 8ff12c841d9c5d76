"""A ReLU stands between the last layer and the softmax or sigmoid behind it, as the text tells."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Decline,
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Replace,
    Subject,
    endings,
    tensor_values,
    words,
)

SQUASHING = words("softmax log_softmax sigmoid log_sigmoid")


class ReluBelowProbabilities(ReadTemplate):
    """A softmax or sigmoid is applied to the output of a ReLU behind a layer, which leaves no negative scores.

    A sigmoid of what is never negative is never below 0.5; a softmax cannot tell classes apart that are all unlikely, and clipped scores
    get no gradient. It is read from the text alone, where the network is not seen constructed; where it is, `DNF326` answers.

    Fix safety: unsafe. The scores can be negative from then on, which is the point.

    References: torch.nn.ReLU, torch.nn.CrossEntropyLoss ("unnormalized logits").
    """

    code = "DNF363"
    name = "relu-below-probabilities"
    message = "a ReLU sets negative scores to 0 before {activation} reads them"
    confidence = 0.8
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACTIVATION
    nature = Nature.RISK
    silent = 10
    default = False
    declined = "the ReLU cannot be left out in one place"
    triggers = ("relu", "ReLU", "relu_", "relu6", "ReLU6")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        known = {use.output_site for use in tensor_values.loss_uses(subject)}
        for end in endings.applied(source):
            below = end.inner
            if end.activation not in SQUASHING or below is None or below.activation not in ("relu", "relu6"):
                continue
            if below.inner is None or below.inner.activation or source.site(end.place) in known:
                continue
            if below.made is not None and below.node is below.made:
                edits = (Replace(source.site(below.made), "nn.Identity()"),)
            else:
                edits = None
            yield Fault(
                source.site(below.node),
                {"activation": end.activation},
                (("Leave the ReLU out", edits, 0.7), Decline(self.declined)),
            )

    programs = """
=== example: in a sequence
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(8, 4),
-             nn.ReLU(),
+             nn.Identity(),
            nn.LogSoftmax(dim=1),
        )

    def forward(self, x):
        return self.layers(x)

=== reject: a layer between them
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2), nn.LogSoftmax(dim=1))

    def forward(self, x):
        return self.layers(x)

=== reject: the rectifier is within
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(8, 4)
        self.out = nn.Linear(4, 2)

    def forward(self, x):
        return F.log_softmax(self.out(F.relu(self.hidden(x))), dim=1)
"""
