"""A weight with a batch axis of size one is joined to a whole batch."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.api import (
    CONCATENATIONS,
    Call,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Site,
    Subject,
    Symptom,
    Wrap,
    argument_value,
    short,
)


@dataclass(frozen=True, slots=True)
class _Joined:
    """A join that crashed: the weight's shape and expression, and those of the batch that it should stand beside."""

    call: Call
    weight: tuple[int | None, ...]
    batch: tuple[int | None, ...]
    node: ast.expr
    beside: ast.expr


class WeightNotRepeated(FaultTemplate[_Joined]):
    """A weight with a batch axis of size one, such as a class token, is joined to a whole batch.

    What is joined has to agree in every other axis. A sum stretches the axis of size one by itself; joining does not, so
    that the network works on one sample and on no other number of them.

    Fix safety: unsafe. The weight stands before every sample, and learns from all of them.

    References: torch.cat, torch.Tensor.expand.
    """

    code = "DNF222"
    name = "weight-not-repeated"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "{what} joins a weight of shape {weight} to a batch of shape {batch}"
    triggers = ("Parameter",)
    needs_run = True
    declined = "the batch that the weight is joined to has no name"
    elsewhere = True

    def faults(self, subject: Subject) -> Faults[_Joined]:
        found = _joined(subject)
        if found is not None:
            yield found.call.site, found

    def report(self, site: Site, found: _Joined) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.95,
            cause="crash",
            evidence={"weight": list(found.weight), "batch": list(found.batch)},
            what=short(found.call.name),
            weight=found.weight,
            batch=found.batch,
        )

    def repairs(self, subject: Subject, found: _Joined) -> Repairs:
        if isinstance(found.beside, (ast.Name, ast.Attribute)):
            own, name = subject.source.site(found.node), subject.text(subject.source.site(found.beside))
            kept = ", -1" * (len(found.weight) - 1)
            yield "Repeat the weight for every sample", (Wrap(own, "", f".expand({name}.shape[0]{kept})"),), 0.9

    examples = (
        Example(
            "learned features beside those of each sample",
            """\
import torch

layer = torch.nn.Linear(3, 4)
bias = torch.nn.Parameter(torch.zeros(1, 2))
hidden = layer(torch.randn(5, 3))
- both = torch.cat([hidden, bias], 1)
+ both = torch.cat([hidden, bias.expand(hidden.shape[0], -1)], 1)
""",
            runs=True,
        ),
        Example(
            "a learned start of sequences, as keywords",
            """\
import torch
import torch.nn as nn


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Parameter(torch.zeros(1, 1, 4))
        self.rnn = nn.GRU(4, 6, batch_first=True)

    def forward(self, words):
-         steps = torch.concat(tensors=(self.start, words), dim=-2)
+         steps = torch.concat(tensors=(self.start.expand(words.shape[0], -1, -1), words), dim=-2)
        return self.rnn(steps)[0]


Decoder()(torch.randn(3, 7, 4))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a class token that is expanded",
            """\
import torch
from torch import nn

token, embed = nn.Parameter(torch.randn(1, 1, 8)), nn.Linear(6, 8)
x = embed(torch.randn(4, 5, 6))
x = torch.cat((token.expand(len(x), -1, -1), x), dim=1)
""",
            runs=True,
        ),
        Reject(
            "data of one sample joined to a batch",
            """\
import torch

a, b = torch.nn.Linear(3, 2)(torch.randn(4, 3)), torch.randn(1, 2)
try:
    torch.cat((a, b), dim=1)
except RuntimeError:
    torch.cat((a, b), dim=0)
""",
            runs=True,
        ),
    )


def _joined(subject: Subject) -> _Joined | None:
    call = subject.crash.call if subject.crash is not None else None
    node = subject.call_node(call) if call is not None and call.name in CONCATENATIONS else None
    if call is None or node is None or not call.name.startswith("torch."):
        return None
    given = argument_value(node, "tensors", 0)
    axis = call.args.get("dim", 0)
    if not isinstance(given, (ast.Tuple, ast.List)) or len(given.elts) != len(call.inputs) or not isinstance(axis, int):
        return None
    pairs = list(zip(call.inputs, given.elts, strict=True))
    for value, own in pairs:
        weight = value.shape or ()
        if value.producer is not None or value.requires_grad is not True or weight[:1] != (1,):
            continue
        for other, beside in pairs:
            batch = other.shape or ()
            if other is value or len(batch) != len(weight) or axis % len(batch) == 0:
                continue
            differ = [i for i in range(len(batch)) if i != axis % len(batch) and weight[i] != batch[i]]
            if differ == [0]:
                return _Joined(call, weight, batch, own, beside)
    return None
