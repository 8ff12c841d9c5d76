"""The softmax at the output of a network runs over the batch, or over its only unit."""

from __future__ import annotations

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
    tensor_values,
    words,
)

KINDS = words("softmax log_softmax")
OF_SINGLE_STATES = re.compile(r"Categorical|multinomial|policy|action|reward|gym|env|actor", re.IGNORECASE)
"""Words of programs whose network gets one state at a time, without a batch."""


class SoftmaxOfBatch(ReadTemplate):
    """The softmax at the output of a network runs over axis 0, which is the batch, or over the axis of its only unit.

    Over the batch the samples compete with one another; over one unit the result is always 1. It is read from the text alone, where
    the network is not seen constructed; where it is, `DNF302` and `DNF314` answer.

    Fix safety: unsafe. Other values are normalized together.

    References: torch.nn.Softmax ("dim: A dimension along which Softmax will be computed").
    """

    code = "DNF362"
    name = "softmax-of-batch"
    message = "the {activation} at the output {what}"
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
                if "Linear" not in str(source.segment(source.site(below.place)) if below is not None else ""):
                    continue
                seen.add(site)
                word = "Sigmoid()" if end.made is not None else None
                sigmoid = None if word is None else (Replace(site, f"nn.{word}"),)
                said = {"activation": end.activation, "what": "runs over a single unit, so that it is constant"}
                yield Fault(site, said, (("Use a sigmoid", sigmoid, 0.7), Decline(self.declined)))
            elif end.axis == 0 and not single and (to_loss or endings.is_output(source, end)):
                if below is not None and below.activation in KINDS:
                    continue
                seen.add(site)
                edit = SetArgument(site, "dim", "1", 0 if end.made is not None else 1)
                said = {"activation": end.activation, "what": "runs over axis 0, which is the batch"}
                yield Fault(site, said, (("Normalize over the classes", (edit,), 0.8),))

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
