"""What the text gives a loss ends in an activation that this loss applies itself, lacks the one it needs, or has another."""

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
    Repair,
    Replace,
    Source,
    Subject,
    Wrap,
    endings,
    tensor_values,
    words,
)

CROSS_ENTROPY = words("CrossEntropyLoss cross_entropy")
WITH_LOGITS = words("""BCEWithLogitsLoss binary_cross_entropy_with_logits MultiLabelSoftMarginLoss
    multilabel_soft_margin_loss""")
PROBABILITIES = words("BCELoss binary_cross_entropy")
LOGARITHMS = words("NLLLoss nll_loss NLLLoss2d KLDivLoss kl_div CTCLoss ctc_loss")
REAL = words("MSELoss mse_loss L1Loss l1_loss SmoothL1Loss smooth_l1_loss HuberLoss huber_loss")
SQUASHED = words("softmax log_softmax log_sigmoid sigmoid hard_sigmoid tanh hard_tanh relu relu6 softplus softsign")
"""Activations whose values are no scores."""
BOUNDED = words("tanh hard_tanh softsign softplus")
"""Those of them of which the rules that see a run say nothing."""


class ActivationUnfitForLoss(ReadTemplate):
    """A loss is given values behind an activation that it applies itself, or without the one it expects.

    Cross-entropy and the losses "with logits" apply softmax and sigmoid themselves: behind another one the scores lie in [0, 1], the
    loss cannot fall below a bound well above zero, and gradients are small. `NLLLoss` expects log-probabilities, `BCELoss`
    probabilities. It is read from the text alone, where the network is not seen constructed or its loss not called; where they are,
    `DNF301` and `DNF326` answer.

    Fix safety: unsafe. The loss is computed from other values; what reads the output as probabilities may need the same change.

    References: torch.nn.CrossEntropyLoss ("the input is expected to contain the unnormalized logits"), torch.nn.BCEWithLogitsLoss,
    torch.nn.BCELoss, torch.nn.NLLLoss, torch.nn.KLDivLoss.
    """

    code = "DNF360"
    name = "activation-unfit-for-loss"
    message = "{loss} {expects}, and is given {what}"
    confidence = 0.85
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACTIVATION
    nature = Nature.RISK
    silent = 10
    default = False
    declined = "the activation cannot be changed in one place"
    triggers = (
        *sorted(CROSS_ENTROPY | WITH_LOGITS | PROBABILITIES | LOGARITHMS | REAL),
        "Categorical",
        "Bernoulli",
        "losses",
        "sigmoid_focal_loss",
        "softmax",
    )

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        known = {
            use.call.site
            for use in tensor_values.loss_uses(subject)
            if use.plain or (use.activation is not None and use.activation_name not in BOUNDED)
        }
        seen: set[ast.expr] = set()
        for loss in endings.losses(source):
            end = endings.ending_of_loss(source, loss)
            if end is None or source.site(loss.node) in known or end.place in seen:
                continue
            expects = _disagrees(loss, end)
            if expects:
                seen.add(end.place)
                said = {"loss": loss.name, "expects": expects, "what": _what(end)}
                place = end.place if end.activation else loss.node
                yield Fault(source.site(place), said, (*_repairs(source, loss, end), Decline(self.declined)))
        for draw in endings.draws(source):
            end = None if draw.scores else endings.ending(source, draw.value)
            if (
                end is None
                or end.activation not in ("", "tanh", "log_softmax")
                or (not end.activation and end.made is None)
            ):
                continue
            said = {"loss": draw.name, "expects": "expects probabilities", "what": _what(end)}
            yield Fault(source.site(draw.call), said, (Decline(self.declined),))

    programs = """
=== example: a class that is never constructed
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        x = self.fc(x)
-         return self.softmax(x)
+         return x

criterion = nn.CrossEntropyLoss()

def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()

=== example: a sigmoid in the loop
import torch.nn as nn
import torch

criterion = nn.BCEWithLogitsLoss()

def train(model, loader, criterion):
    for x, y in loader:
-         out = torch.sigmoid(model(x))
+         out = model(x)
        loss = criterion(out, y)
        loss.backward()

=== example: scores to an NLL loss
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(8, 4)

    def forward(self, x):
        return self.out(x)

def step(net, x, y):
-     return F.nll_loss(net(x), y)
+     return F.nll_loss(F.log_softmax(net(x), dim=1), y)

=== example: scores to a binary cross-entropy
import torch
import torch.nn as nn

class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1))

    def forward(self, x):
        return self.layers(x)

- criterion = nn.BCELoss()
+ criterion = nn.BCEWithLogitsLoss()

=== example: the second of two outputs
import torch
import torch.nn as nn

class Judge(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.real = nn.Sequential(nn.Linear(8, 1), nn.Sigmoid())
-         self.kind = nn.Sequential(nn.Linear(8, classes), nn.Softmax(dim=1))
+         self.kind = nn.Sequential(nn.Linear(8, classes), nn.Identity())

    def forward(self, x):
        x = self.body(x)
        return self.real(x), self.kind(x)

real_loss = nn.BCELoss()
kind_loss = nn.CrossEntropyLoss()

=== finds: a loss by its name
from torch import nn

net = nn.Sequential(nn.Linear(8, 4), nn.Softmax(dim=1))
trainer = Trainer(net)
trainer.build_criterion("CrossEntropyLoss")

=== finds: a loss by its class
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return self.fc(x).softmax(dim=1)

chosen = NeuralNetClassifier(Net, criterion=nn.CrossEntropyLoss)

=== finds: a library of models and losses
import segmentation_models_pytorch as smp
from torch import nn

net = smp.Unet("resnet34", classes=1, activation="sigmoid")
criterion = nn.BCEWithLogitsLoss()

def step(x, y):
    return criterion(net(x), y)

=== finds: scores as probabilities of actions
from torch import nn
from torch.distributions import Categorical

policy = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))

def act(state):
    return Categorical(policy(state)).sample()

=== finds: a function under another name
import torch.nn.functional as F
from torch import nn

loss_func = F.cross_entropy

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return F.softmax(self.fc(x), dim=1)

def of_batch(model, loss_func, x, y):
    return loss_func(model(x), y)

=== reject: a loss that is never called, and another one beside it
import torch
import torch.nn.functional as F
from torch import nn

class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return F.softmax(self.fc(x), dim=1)

class Agent:
    def __init__(self):
        self.policy = Policy()
        self.criterion = nn.CrossEntropyLoss()

    def learn(self, states, rewards):
        loss = -(torch.log(self.policy(states)) * rewards).mean()
        loss.backward()

=== finds: methods without their class
import torch.nn.functional as F

def forward(self, x):
    x = self.fc2(F.relu(self.fc1(x)))
    return F.softmax(x, dim=1)

def step(self, x, y):
    return F.cross_entropy(self.forward(x), y)

=== finds: the end of a class
import torch.nn as nn

self.fc = nn.Linear(8, 4)
self.end = nn.Softmax(dim=1)

def forward(self, x):
    return self.end(self.fc(x))

criterion = nn.CrossEntropyLoss()

=== finds: an output by its key
import torch.nn.functional as F
from torch import nn

class Parser(nn.Module):
    def __init__(self):
        super().__init__()
        self.arcs = nn.Linear(8, 4)

    def forward(self, words):
        found = {"words": words}
        found["arcs"] = F.softmax(self.arcs(words), dim=-1)
        return found

def cost(found, gold):
    return F.cross_entropy(found["arcs"], gold["arcs"])

=== finds: averages of what a method of the network gives
from torch import nn

class Rain(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 1)

    def chance(self, days):
        return self.fc(days).sigmoid().mean(dim=1)

    def forward(self, days):
        return self.chance(days)

cost = nn.BCEWithLogitsLoss()

=== finds: the end of a method whose head is cut off
    grains = F.relu(self.first(grains))
    return F.softmax(self.second(grains), dim=1)

net = Sorter()
criterion = nn.CrossEntropyLoss()

=== finds: a list of layers for a network of elsewhere
from torch import nn

job = Job(Stack(size=(3, 32), layers=[nn.Linear(32, 8), nn.ReLU(), nn.Linear(8, 3), nn.Softmax(dim=1)]))
job.loss = nn.CrossEntropyLoss()

=== finds: a loss that is made elsewhere, and numbers of classes
import torch

def epoch(net, batches, criterion):
    hits = 0
    for leaves, species in batches:
        shares = torch.softmax(net(leaves), dim=1)
        criterion(shares, species).backward()
        hits += (shares.argmax(dim=1) == species).sum()
    return hits

=== finds: rectified and averaged values as probabilities
import torch.nn.functional as F
from torch import nn

class Spots(nn.Module):
    def __init__(self, kinds):
        super().__init__()
        self.criterion = nn.BCELoss()
        self.planes = nn.Conv2d(8, kinds, 1)

    def forward(self, x):
        return F.adaptive_avg_pool2d(F.relu(self.planes(x)), 1).flatten(1)

=== reject: log-probabilities, or another loss, beside numbers of classes
import torch

def epoch(net, batches, criterion):
    for leaves, species in batches:
        shares = torch.log_softmax(net(leaves), dim=1)
        criterion(shares, species).backward()
        print((shares.argmax(dim=1) == species).sum())

def compare(net, criterion, x, y):
    shares = torch.softmax(net(x), dim=1)
    return criterion(shares, y)

=== reject: scores and probabilities by their keys, and values averaged behind a ReLU
import torch.nn.functional as F
from torch import nn

class Squeezed(nn.Module):
    def __init__(self, kinds):
        super().__init__()
        self.end = nn.Sequential(nn.Conv2d(8, kinds, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())

    def forward(self, x):
        scores = self.end(x)
        return {"scores": scores, "shares": F.softmax(scores, dim=1)}

def cost(net, x, y):
    return F.cross_entropy(net(x)["scores"], y)

=== reject: a list of layers in front of others
from torch import nn

net = Deep(body=[nn.Linear(8, 8), nn.ReLU()], end=Head(8))
criterion = nn.BCELoss()

=== reject: scores for the loss that a trainer makes
import segmentation_models_pytorch as smp
from torch import nn

net = smp.Unet("resnet34", classes=1)
trainer = Trainer(net)
trainer.build_criterion("BCEWithLogitsLoss")

=== reject: softmax for what is shown
import torch
import torch.nn as nn
import torch.nn.functional as F

criterion = nn.CrossEntropyLoss()

def step(model, x, y):
    out = model(x)
    loss = criterion(out, y)
    print(F.softmax(out, dim=1))
    return loss

=== reject: a softmax in evaluation alone
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        x = self.fc(x)
        if not self.training:
            x = F.softmax(x, dim=1)
        return x

criterion = nn.CrossEntropyLoss()

=== reject: the activations belong
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return F.log_softmax(self.fc(x), dim=1)

def step(model, x, y):
    return F.nll_loss(model(x), y)

=== reject: an autoencoder of pictures
import torch.nn as nn

class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.decoder = nn.Sequential(nn.Linear(8, 784), nn.Sigmoid())

    def forward(self, x):
        return self.decoder(x)

criterion = nn.MSELoss()

=== reject: two networks
import torch.nn as nn

class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        return self.out(x).sigmoid()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(8, 4)

    def forward(self, x):
        return self.out(x)

criterion = nn.CrossEntropyLoss()

def step(model, x, y):
    return criterion(model(x), y)
"""


def _disagrees(loss: endings.Loss, end: endings.Ending) -> str:
    """What a loss expects, where it is given something else; empty where it fits, or may fit."""
    name, kind = loss.name, end.activation
    if name == endings.CHOICE and kind in ("softmax", "sigmoid"):
        return "reads scores or log-probabilities"
    if name in CROSS_ENTROPY and kind in SQUASHED and not (kind == "relu" and end.pooled):
        return "applies a softmax itself to scores"
    if name in WITH_LOGITS and kind in SQUASHED:
        return "applies a sigmoid itself to scores"
    if name in PROBABILITIES and (
        kind in SQUASHED - {"sigmoid", "hard_sigmoid", "softmax"} or kind in ("", "leaky_relu")
    ):
        return "expects probabilities"
    if name in PROBABILITIES and kind == "softmax" and end.layer.width == 1:
        return "expects probabilities"
    if name in LOGARITHMS and (kind in SQUASHED - {"log_softmax", "log_sigmoid"} or not kind):
        return "expects log-probabilities"
    of_one = end.inner is not None and not end.inner.activation and end.inner.made is not None
    if name in REAL and kind in ("relu", "relu6") and of_one and "Linear" in ast.unparse(end.layer.place):
        return "is for real values"
    return ""


def _what(end: endings.Ending) -> str:
    return f"the output of {end.activation}" if end.activation else "scores without an activation"


def _repairs(source: Source, loss: endings.Loss, end: endings.Ending) -> Iterator[Repair]:
    """The ways to make the loss and its input fit."""
    if loss.name in LOGARITHMS and end.activation == "softmax":
        named = end.made.func if end.made is not None else getattr(end.node, "func", end.node)
        text = source.segment(source.site(named)).replace("Softmax", "LogSoftmax").replace(".softmax", ".log_softmax")
        yield "Use a log-softmax", (Replace(source.site(named), text),), 0.8
    elif end.activation:
        title = f"Pass the loss the values before {end.activation}"
        given = _given(end)
        if given is not None:
            yield title, (Replace(source.site(end.node), source.segment(source.site(given))),), 0.8
        elif end.made is not None:
            yield title, (Replace(source.site(end.made), "nn.Identity()"),), 0.6
    elif loss.name == "BCELoss" and loss.made is not None:
        text = source.segment(source.site(loss.made.func)).replace("BCELoss", "BCEWithLogitsLoss")
        yield "Use the loss that expects scores", (Replace(source.site(loss.made.func), text),), 0.8
    elif loss.prediction is not None and loss.name in PROBABILITIES:
        yield "Pass the loss the sigmoid", (Wrap(source.site(loss.prediction), "torch.sigmoid(", ")"),), 0.7
    elif loss.prediction is not None:
        yield "Pass the loss the log-softmax", (Wrap(source.site(loss.prediction), "F.log_softmax(", ", dim=1)"),), 0.7


def _given(end: endings.Ending) -> ast.expr | None:
    """What the call of an activation is applied to; `None` for a layer of a sequence, which is not called by itself."""
    node = end.node
    if not isinstance(node, ast.Call) or node is end.made:
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr in endings.METHODS and not node.args[1:]:
        is_method = end.made is None and not (
            isinstance(node.func.value, ast.Name) and node.func.value.id in ("torch", "F", "nn")
        )
        if is_method and not ast.unparse(node.func.value).endswith("functional"):
            return node.func.value
    return node.args[0] if node.args else None
