"""A softmax normalizes over another axis than that of the classes or scores."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Call,
    Decline,
    Family,
    Fault,
    FixPattern,
    Network,
    ReadTemplate,
    SetArgument,
    Site,
    Subject,
    layer_facts,
    network_facts,
    summation,
    tensor_values,
)


class SoftmaxOverWrongAxis(ReadTemplate):
    """A softmax runs over the batch axis, or a log-softmax over another axis than the one its loss reads.

    Over axis 0 the samples of a batch compete: the output for one sample depends on the others. torch's functions
    called without `dim` choose axis 0 for inputs with one or three axes, and axis 1 for all others. Where the program
    sums with the resulting weights, as in a matrix product, they belong on the axis that is summed. A log-softmax
    before `NLLLoss` belongs on axis 1, also for images and sequences.

    Fix safety: unsafe. Other values are normalized together; the shape stays.

    References: torch.nn.functional.softmax ("implicit dimension choice for softmax has been deprecated"),
    torch.nn.NLLLoss (input of shape (N, C, d1, ...)).
    """

    code = "DNF314"
    name = "softmax-over-wrong-axis"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACTIVATION
    silent = 10
    in_modules = True
    message = "{activation} normalizes over axis {axis}, {what}"
    declined = "the axis cannot be changed in one place"
    triggers = ("softmax", "Softmax", "log_softmax", "LogSoftmax", "softmin")

    def read(self, subject: Subject) -> Iterator[Fault]:
        for site, call, use, axis, what, confidence in _wrong(subject):
            right, prior = _right_axis(subject, call, use)
            declined, edits = "the uses of the result do not show which axis is meant", None
            if use.axis_argument is None or subject.node(site) is None:
                declined = self.declined
            elif right is not None:
                edits = (SetArgument(site, use.axis_argument, str(right), use.axis_position),)
            yield Fault(
                site,
                {"activation": use.name, "axis": axis, "what": what},
                ((f"Normalize over axis {right}", edits, prior), Decline(declined)),
                {"shape": call.inputs[0].shape if call.inputs else None},
                confidence=confidence,
            )

    programs = """
=== example (runs): attention without dim, seen in a run
import torch
from torch import nn
from torch.nn import functional as F

q, k = nn.Linear(8, 4), nn.Linear(8, 4)
x = torch.randn(5, 7, 8)
- weights = F.softmax(torch.bmm(q(x), k(x).transpose(1, 2)))
+ weights = F.softmax(torch.bmm(q(x), k(x).transpose(1, 2)), dim=-1)
out = torch.bmm(weights, x)

=== example (runs): positions weighed and added up
import torch
import torch.nn as nn
import torch.nn.functional as F

class Pooling(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.score = nn.Linear(size, 3)

    def forward(self, states):
-         weights = F.softmax(self.score(torch.tanh(states)))
+         weights = F.softmax(self.score(torch.tanh(states)), dim=1)
        return torch.sum(weights[:, :, 0:1] * states, dim=1)

print(Pooling(6)(torch.randn(4, 7, 6)).shape)

=== example (runs): time on the first axis, the batch on the second
import torch
import torch.nn.functional as F

states = torch.randn(7, 4, 6)
scores = (states * torch.randn(6)).sum(2)
- weights = F.softmax(scores)
+ weights = F.softmax(scores, dim=0)
context = torch.einsum("tb,tbh->bh", weights, states)

=== example: Keras softmax layer over the batch
import keras
from keras import layers

- model = keras.Sequential([keras.Input((8,)), layers.Dense(4), layers.Softmax(axis=0)])
+ model = keras.Sequential([keras.Input((8,)), layers.Dense(4), layers.Softmax(axis=-1)])
model.compile(loss="categorical_crossentropy", optimizer="adam")

=== reject (runs): implicit axis where it is the classes'
import torch
import torch.nn.functional as F
from torch import nn
model = nn.Linear(6, 3)
loss = F.nll_loss(F.log_softmax(model(torch.rand(5, 6))), torch.tensor([0, 1, 2, 0, 1]))

=== reject (runs): scores of one sample
import torch
import torch.nn.functional as F
scores = torch.tensor([0.1, 2.0, 1.0])
weights = F.softmax(scores, dim=0)

=== reject (runs): implicit axis that is the one summed over
import torch
import torch.nn.functional as F
states = torch.randn(7, 4, 6)
weights = F.softmax(torch.tanh(states))
context = (weights * states).sum(dim=0)

=== reject (runs): implicit axis of one head's scores for each sample
import torch
import torch.nn.functional as F
memory, key = torch.rand(5, 9, 3), torch.rand(5, 3)
weights = F.softmax(torch.einsum("bnd,bd->bn", memory, key))
read = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)

=== reject (runs): sequence first
import torch
import torch.nn.functional as F
from torch import nn
states, _ = nn.GRU(5, 6)(torch.rand(7, 2, 5))
weights = F.softmax(nn.Linear(6, 1)(states), dim=0)
"""


Wrong = tuple[Site, Call, network_facts.ActivationUse, int, str, float]


def _wrong(subject: Subject) -> Iterator[Wrong]:
    network = subject.network
    wanted = _axes_of_losses(subject)
    for call in network.calls:
        use = network_facts.activation_of(call)
        if use is None or not use.facts.has_axis or use.as_argument is not None or not call.inputs:
            continue
        site = call.made_at or call.site
        shape = call.inputs[0].shape or (call.outputs[0].shape if call.outputs else None)
        rank = len(shape) if shape is not None else None
        if site is None or site.path:
            continue
        if use.implicit_axis and rank is not None and call.name.startswith("torch."):
            legacy = 0 if rank in (0, 1, 3) else 1
            summed = _summed(subject, call)
            what = f"which torch chooses for inputs with {rank} axes"
            if summed is not None and summed != legacy:
                yield site, call, use, legacy, f"{what}, and the result is summed over axis {summed}", 0.9
            elif summed is None and rank == 3 and not all(size == 1 for size in (shape or ())[1:]):
                yield site, call, use, legacy, what, 0.85
            continue
        axis = use.axis
        if axis is None:
            continue
        right = wanted.get(call.id)
        if right is not None and rank is not None and rank > 1 and axis % rank != right % rank:
            yield site, call, use, axis, f"and the loss reads the classes on axis {right}", 0.95
        elif axis == 0 and right is not None and rank is None and _several_units(network, call):
            yield site, call, use, axis, "which is the batch", 0.85
        elif axis == 0 and right is None and _axis_is_batch(subject, shape) and _summed(subject, call) != 0:
            yield site, call, use, axis, "which is the batch", 0.6


def _axes_of_losses(subject: Subject) -> dict[int, int]:
    """By the id of a call that goes straight into a loss over classes, the class axis of that loss."""
    found: dict[int, int] = {}
    for use in tensor_values.loss_uses(subject):
        axis = use.facts.class_axis
        maker = subject.network.producer(use.prediction)
        if axis is not None and maker is not None:
            found[maker.id] = axis
    return found


def _several_units(network: Network, call: Call) -> bool:
    maker = network.producer(call.inputs[0])
    facts = layer_facts(maker) if maker is not None else None
    return facts is not None and facts.kind == "linear"


def _axis_is_batch(subject: Subject, shape: tuple[int | None, ...] | None) -> bool:
    """Whether the first axis of the logits has the size of the batches that entered."""
    network = subject.network
    if shape is None or len(shape) != 2 or network.known_from != "trace" or None in shape:
        return False
    if shape[0] == shape[1] or 1 in shape:
        return False
    if any(
        (facts := layer_facts(call)) is not None and facts.kind in ("recurrent", "attention") for call in network.calls
    ):
        return False
    entered = {v.id: v.shape for call in network.calls for v in call.inputs if v.origin == "data" and v.shape}
    firsts = {s[0] for s in entered.values() if len(s) > 1}
    return firsts == {shape[0]}


def _summed(subject: Subject, call: Call) -> int | None:
    """The one axis, from 0, over which every call at this site is summed afterwards; `None` where they differ."""
    place = call.made_at or call.site
    alike = [other for other in subject.network.calls if (other.made_at or other.site) == place and other.outputs]
    ranks = {len(other.outputs[0].shape or ()) for other in alike}
    choices = max(ranks, default=0) > 2  # with two axes, an argmax may itself use the wrong one
    told = {axes for other in alike if (axes := summation.summed_axes(subject, other, choices))}
    axes = next(iter(told)) if len(told) == 1 and len(ranks) == 1 else frozenset()
    return next(iter(axes)) if len(axes) == 1 else None


def _right_axis(subject: Subject, call: Call, use: network_facts.ActivationUse) -> tuple[int | None, float]:
    """The axis for the softmax and how sure it is; `None` where it is not known."""
    right = _axes_of_losses(subject).get(call.id)
    if right is not None:
        return right, 0.9
    if not use.implicit_axis:
        return (1 if call.name.startswith("torch.") else -1), 0.8
    shape = call.inputs[0].shape or (call.outputs[0].shape if call.outputs else None) or ()
    summed = _summed(subject, call)
    if summed is not None:
        return (-1 if summed == len(shape) - 1 else summed), 0.85
    wide = [axis for axis, size in enumerate(shape) if axis > 0 and size != 1]
    if len(wide) == 1:
        return (-1 if wide[0] == len(shape) - 1 else wide[0]), 0.7
    return (-1, 0.6) if _several_units(subject.network, call) else (None, 0.0)
