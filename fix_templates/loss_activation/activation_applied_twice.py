"""An activation is applied to values that have been through one already."""

from __future__ import annotations

import ast
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
    words,
)

SECOND = words("softmax sigmoid log_softmax log_sigmoid")
FIRST = words("softmax sigmoid hard_sigmoid")


class ActivationAppliedTwice(ReadTemplate):
    """A softmax or sigmoid is applied to the output of another one: to probabilities, which it squeezes once more.

    A second sigmoid returns values between 0.5 and 0.73, a second softmax nearly equal ones. The first one often stands in the
    `forward` of the network, and the second where its output is used: also within a distribution or a `gumbel_softmax`, which take scores
    as `logits`.

    Fix safety: unsafe. The values are other ones from then on, which is the point.

    References: torch.nn.Softmax, torch.nn.Sigmoid.
    """

    code = "DNF361"
    name = "activation-applied-twice"
    message = "{second} is applied to the output of {first}"
    confidence = 0.85
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACTIVATION
    nature = Nature.RISK
    silent = 10
    default = False
    declined = "the second activation is not called with the values of the first"
    triggers = ("softmax", "sigmoid", "Softmax", "Sigmoid", "log_softmax", "LogSoftmax", "logits")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for end in endings.applied(source):
            first = end.inner
            if end.activation not in SECOND or first is None:
                continue
            if first.activation not in FIRST and not first.activation == end.activation == "log_softmax":
                continue
            said = {"second": end.activation, "first": first.activation}
            given = (
                end.node.args[0]
                if isinstance(end.node, ast.Call) and end.node.args and end.node is not end.made
                else None
            )
            title = f"Leave the second {end.activation} out"
            edits = None if given is None else (Replace(source.site(end.node), source.segment(source.site(given))),)
            yield Fault(source.site(end.node), said, ((title, edits, 0.7), Decline(self.declined)))
        for draw in endings.draws(source):
            first = endings.ending(source, draw.value) if draw.scores else None
            if first is None or first.activation not in FIRST:
                continue
            said = {
                "second": f"{draw.name} takes scores, and its softmax or sigmoid",
                "first": first.activation,
            }
            yield Fault(source.site(draw.call), said, (Decline("the probabilities may be read elsewhere"),))

    programs = """
=== example: in the network and behind it
import torch
from torch import nn

net = nn.Sequential(nn.Linear(8, 4), nn.Sigmoid())

def chances(x):
-     return torch.sigmoid(net(x))
+     return net(x)

=== example: twice in a class
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        x = self.softmax(self.fc(x))
-         return F.log_softmax(x, dim=1)
+         return x

=== example: a logarithm of a softmax twice
import torch.nn.functional as F

def loss(net, x, y):
    scores = F.log_softmax(net(x), dim=1)
-     return F.nll_loss(F.log_softmax(scores, dim=1), y)
+     return F.nll_loss(scores, y)

=== finds: probabilities as scores of a distribution
import torch
from torch.distributions import Categorical

def act(policy, state):
    chances = torch.softmax(policy(state), dim=-1)
    return Categorical(logits=chances).sample()

=== finds: probabilities to a softmax with noise
import torch.nn.functional as F

def choose(self, x):
    chances = F.softmax(self.head(x), dim=-1)
    return F.gumbel_softmax(chances, hard=True)

=== reject: a distribution of probabilities, and one of their logarithms
import torch
from torch.distributions import Bernoulli, Categorical

def act(policy, state):
    scores = policy(state)
    chances = torch.softmax(scores, dim=-1)
    return Categorical(chances), Categorical(logits=scores), Categorical(logits=chances.log()), Bernoulli(torch.sigmoid(scores))

=== reject: once in the network, once beside it
import torch
from torch import nn

net = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1))

def chances(x):
    return torch.sigmoid(net(x))

=== reject: weights of attention, and an output of its own
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(8, 1)
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        weights = F.softmax(self.score(x), dim=1)
        return F.log_softmax(self.fc((weights * x).sum(1)), dim=1)
"""
