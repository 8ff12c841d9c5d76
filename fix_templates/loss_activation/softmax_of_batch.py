"""The softmax at the output of a network runs over the batch, or over its only unit."""

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
    Replace,
    SetArgument,
    Subject,
    endings,
    softmax_axes,
    tensor_values,
    words,
)

KINDS = words("softmax log_softmax")
OF_SINGLE_STATES = re.compile(r"Categorical|multinomial|policy|action|reward|gym|env|actor", re.IGNORECASE)
"""Words of programs whose network gets one state at a time, without a batch."""


class SoftmaxOfBatch(ReadTemplate):
    """The softmax at the output of a network runs over axis 0, which is the batch, or over the axis of its only unit.

    Over the batch the samples compete with one another; over one unit the result is always 1. Where the axes are known, as behind a
    convolution or a recurrent layer, another axis than that of the classes is as wrong, and so are weights of attention that sum to one
    over another axis than that of the values that they weigh. It is read from the text alone, where
    the network is not seen constructed; where it is, `DNF302` and `DNF314` answer.

    Fix safety: unsafe. Other values are normalized together.

    References: torch.nn.Softmax ("dim: A dimension along which Softmax will be computed").
    """

    code = "DNF362"
    name = "softmax-of-batch"
    message = "the {activation} {what}"
    confidence = 0.8
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACTIVATION
    nature = Nature.RISK
    silent = 10
    default = False
    declined = "nothing tells which activation was meant"
    triggers = ("softmax", "Softmax", "log_softmax", "LogSoftmax")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        known = {use.output_site for use in tensor_values.loss_uses(subject)}
        single = any(OF_SINGLE_STATES.search(word) for word in source.words)
        given_to_losses = [endings.ending_of_loss(source, loss) for loss in endings.losses(source)]
        found = [*endings.applied(source), *(end for end in given_to_losses if end is not None)]
        chosen = softmax_axes.chosen_elsewhere(source)
        seen = set()
        attends = re.search(r"att(n|ention)|weights", source.text, re.IGNORECASE) is not None
        for end in found:
            site = source.site(end.place)
            if end.activation not in KINDS or site in known or site in seen:
                continue
            below = end.inner
            of_one = below is not None and not below.activation and below.width == 1
            to_loss = any(one is not None and one.place is end.place for one in given_to_losses)
            if of_one and (
                end.axis == -1
                or ((to_loss or (not attends and endings.is_output(source, end))) and end.axis in (1, None))
            ):
                if end.axis in (1, None) and not softmax_axes.width_is_alone(source, end):
                    continue
                if "Linear" not in str(source.segment(source.site(below.place)) if below is not None else ""):
                    continue
                seen.add(site)
                word = "Sigmoid()" if end.made is not None else None
                sigmoid = None if word is None else (Replace(site, f"nn.{word}"),)
                said = {"activation": end.activation, "what": "runs over a single unit, so that it is constant"}
                yield Fault(site, said, (("Use a sigmoid", sigmoid, 0.7), Decline(self.declined)))
            elif end.node in chosen:
                seen.add(site)
                what = f"runs over axis 0, and classes are chosen over axis {chosen[end.node]}"
                edit = SetArgument(site, "dim", str(chosen[end.node]), 0 if end.made is not None else 1)
                edits = None if end.moved else (edit,)
                yield Fault(
                    site,
                    {"activation": end.activation, "what": what},
                    (("Normalize over the classes", edits, 0.8), Decline(self.declined)),
                )
            elif end.axis == 0 and not single and (to_loss or endings.is_output(source, end)):
                if below is not None and (below.activation in KINDS or below.moved):
                    continue
                seen.add(site)
                edit = SetArgument(site, "dim", "1", 0 if end.made is not None else 1)
                said = {"activation": end.activation, "what": "runs over axis 0, which is the batch"}
                yield Fault(site, said, (("Normalize over the classes", (edit,), 0.8),))
            elif not attends and (axis := softmax_axes.misses_classes(source, end)) is not None:
                seen.add(site)
                said = {
                    "activation": end.activation,
                    "what": f"runs over axis {axis}, which is not that of the classes",
                }
                yield Fault(site, said, (Decline("the axis of the classes may be moved instead"),))
        for product in (*source.all_calls, *source.nodes(ast.BinOp)):
            found_weights = softmax_axes.misses_weighted(source, product)
            if found_weights is not None and source.site(found_weights[0]) not in seen:
                seen.add(source.site(found_weights[0]))
                what = f"runs over axis {found_weights[1]}, and its product with the values over the last"
                yield Fault(
                    source.site(found_weights[0]), {"activation": "softmax", "what": what}, (Decline(self.declined),)
                )

    programs = """
=== example: over the batch
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        x = self.fc(x)
-         return F.softmax(x, dim=0)
+         return F.softmax(x, dim=1)

=== example: over the batch, where a class is chosen for each row
import torch
import torch.nn.functional as F

def agreement(scores, species):
-     shares = F.softmax(scores, dim=0)
+     shares = F.softmax(scores, dim=1)
    best = torch.max(shares, 1)[1]
    return (best == species).float().mean()

=== finds: actions of several games gathered from one row each
import torch
import torch.nn.functional as F

def likelihood(policy, states, moves):
    logs = F.log_softmax(policy(states), dim=0).view(4, 8, -1)
    return logs.gather(2, moves).sum()

=== reject: one of the rows chosen for each column, and one picture
import torch
import torch.nn.functional as F

def nearest(scores, picture):
    shares = F.softmax(scores, dim=0)
    planes = picture.softmax(0)
    turned = F.softmax(scores, dim=0).t().view(4, -1)
    return shares.argmax(dim=0), planes.max(0), turned.argmax(dim=1)

=== example: over one unit
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 1)
-         self.end = nn.Softmax(dim=1)
+         self.end = nn.Sigmoid()

    def forward(self, x):
        return self.end(self.fc(x))

=== finds: over the width of a picture
import torch.nn as nn
import torch.nn.functional as F

class Segments(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.head = nn.Conv2d(8, classes, 1)

    def forward(self, x):
        return F.softmax(self.head(x), dim=-1)

=== finds: over the steps of a sequence
import torch.nn as nn
import torch.nn.functional as F

class Tags(nn.Module):
    def __init__(self, tags):
        super().__init__()
        self.rnn = nn.GRU(8, 16, batch_first=True)
        self.head = nn.Linear(16, tags)

    def forward(self, x):
        seen, _ = self.rnn(x)
        return F.log_softmax(self.head(seen), dim=1)

=== finds: weights over the queries
import torch
import torch.nn.functional as F

def attend(q, k, v):
    weights = F.softmax(torch.bmm(q, k.transpose(1, 2)), dim=1)
    return torch.bmm(weights, v)

=== finds: weights over the queries, behind a mask
import torch

def attend(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / 8
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(dim=-2)
    return weights @ v

=== reject: steps weighed within another network
import torch.nn as nn
import torch.nn.functional as F

class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(8, 1)

    def forward(self, x):
        shares = F.softmax(self.score(x), dim=1)
        return (shares * x).sum(1)

class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = Pool()
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        return self.fc(self.pool(x))

=== reject: weights over the keys, transposed ones, and slots that are divided by their sums
import torch
import torch.nn.functional as F

def attend(q, k, v):
    weights = F.softmax(torch.bmm(q, k.transpose(1, 2)), dim=2)
    turned = F.softmax(torch.bmm(k, q.transpose(1, 2)), dim=1)
    slots = F.softmax(torch.bmm(q, k.transpose(1, 2)), dim=1)
    slots = slots / slots.sum(-1, keepdim=True)
    return torch.bmm(weights, v), torch.bmm(turned.transpose(1, 2), v), torch.bmm(slots, v)

=== reject: planes averaged or moved, a picture without its batch, one unit for each step
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.head = nn.Conv2d(8, classes, 1)

    def forward(self, x):
        return F.softmax(self.head(x).mean((2, 3)), dim=-1), F.softmax(self.head(x).permute(0, 2, 3, 1), dim=-1)

class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(8, 16, batch_first=True)
        self.score = nn.Linear(16, 1)

    def forward(self, x):
        seen, _ = self.rnn(x)
        return F.softmax(self.score(seen), dim=1), F.softmax(self.score(seen).squeeze(-1), dim=-1)

def show(model, picture):
    return model(picture).squeeze(0).softmax(0)

=== reject: over the classes
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return F.log_softmax(self.fc(x), dim=-1)

=== reject: weights over the steps of a sequence
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(8, 1)

    def forward(self, x):
        weights = F.softmax(self.score(x), dim=0)
        return (weights * x).sum(0)
"""
