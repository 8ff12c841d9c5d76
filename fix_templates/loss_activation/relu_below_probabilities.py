"""A ReLU stands between the last layer and the softmax or sigmoid behind it, or sets the scores of classes to 0, as the text tells."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Decline,
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Repair,
    Replace,
    Subject,
    argument_value,
    endings,
    tensor_values,
    words,
)

SQUASHING = words("softmax log_softmax sigmoid log_sigmoid")
OF_CLASSES = re.compile(
    r"(^|[._'(])(((n|num|nb|no|n_?o|number)_?(of_)?)?(class(es)?|categories|labels)(_(num|count|number))?|n?cls|(n|num|nb)_?(class|label|actions?)|vocab_size)"
    r"('?[\])])?$",
    re.IGNORECASE,
)
"""How a number of classes, or of actions to choose from, is called."""


def _is_of_classes(end: endings.Ending) -> bool:
    """Whether a layer has as many units as there are classes, by what their number is called."""
    units = None if end.made is None else argument_value(end.made, "out_features", 1)
    return units is not None and OF_CLASSES.search(ast.unparse(units)) is not None


def _left_out(subject: Subject, end: endings.Ending) -> Repair:
    in_sequence = end.made is not None and end.node is end.made
    edits = (Replace(subject.source.site(end.place), "nn.Identity()"),) if in_sequence else None
    return "Leave the ReLU out", edits, 0.7


class ReluBelowProbabilities(ReadTemplate):
    """A softmax or sigmoid is applied to the output of a ReLU behind a layer, which leaves no negative scores.

    A sigmoid of what is never negative is never below 0.5; a softmax cannot tell classes apart that are all unlikely, and clipped scores
    get no gradient. The same goes for a network that ends in a ReLU behind a layer with as many units as there are classes: whichever
    softmax reads its scores stands in its loss. It is read from the text alone, where the network is not seen constructed; where it is, `DNF326` answers.

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
            if below.pooled or below.inner is None or below.inner.activation or source.site(end.place) in known:
                continue
            yield Fault(
                source.site(below.node),
                {"activation": end.activation},
                (_left_out(subject, below), Decline(self.declined)),
            )
        given = [endings.ending_of_loss(source, loss) for loss in endings.losses(source)]
        of_losses = [one.place for one in given if one is not None]
        for network in endings.networks(source):
            last = endings.ending_of_network(source, network)
            if (
                last is None
                or last.activation not in ("relu", "relu6")
                or last.inner is None
                or last.inner.activation
                or last.pooled
            ):
                continue
            if not _is_of_classes(last.inner) or last.place in of_losses or source.site(last.place) in known:
                continue
            yield Fault(
                source.site(last.place), {"activation": "the loss"}, (_left_out(subject, last), Decline(self.declined))
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

=== example: behind as many units as classes
import torch.nn as nn

class Net(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.head = nn.Sequential(
            nn.Linear(8, num_classes),
-             nn.ReLU(),
+             nn.Identity(),
        )

    def forward(self, x):
        return self.head(x)

=== finds: values of actions
import torch.nn as nn
import torch.nn.functional as F

class Values(nn.Module):
    def __init__(self, state, n_actions):
        super().__init__()
        self.hidden = nn.Linear(state, 32)
        self.out = nn.Linear(32, n_actions)

    def forward(self, state):
        return F.relu(self.out(F.relu(self.hidden(state))))

=== reject: features that another network reads
import torch.nn as nn
import torch.nn.functional as F

class Features(nn.Module):
    def __init__(self, num_classes, width):
        super().__init__()
        self.label = nn.Linear(num_classes, width)

    def forward(self, x):
        return F.relu(self.label(x))

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
