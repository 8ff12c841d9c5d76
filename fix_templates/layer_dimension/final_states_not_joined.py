"""The final states of a recurrent layer go on with an axis of layers and directions before the batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Call,
    Candidate,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    Replace,
    Subject,
    Symptom,
    Value,
    Wrap,
    activation_of,
    input_expression,
    is_loss,
    layer_facts,
    short,
    size_conflict,
    way_back,
)


class FinalStatesNotJoined(FixTemplate):
    """The final states of a recurrent layer are given to a linear layer as they are.

    A torch recurrent layer gives its final states as (layers times directions, batch, features), whatever `batch_first`
    says. A linear layer takes the last axis alone: it finds too few features where it was made for all states of a
    sample, or it gives an answer for every layer and direction, and the loss finds one axis too many.

    Fix safety: unsafe. The linear layer takes the states that its size was made for.

    References: torch.nn.LSTM (shape of `h_n`).
    """

    code = "DNF223"
    name = "final-states-not-joined"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "{layer} takes {wanted} features of a sample and receives the states {states} of {recurrent}"
    triggers = ("RNN", "LSTM", "GRU")
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        found = _found(subject)
        if found is not None and found.linear.site is not None:
            yield self.finding(
                found.linear.site,
                symptom=Symptom.CRASH,
                confidence=0.9,
                cause="crash",
                evidence={"states": list(found.states.shape or ())},
                layer=short(found.linear.name),
                wanted=found.wanted,
                states=found.states.shape,
                recurrent=short(found.recurrent.name),
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        found = _found(subject)
        node = input_expression(subject, found.linear) if found is not None else None
        if found is None or node is None:
            yield Decline("the states are not given to the linear layer in a call of its own")
            return
        site = subject.source.site(node)
        text, (count, _, size) = subject.text(site), found.shape
        if found.wanted == size:
            yield self.candidate(finding, "Take the state of the last layer", Wrap(site, "", "[-1]"), prior=0.9)
        elif found.wanted == count * size:
            edit = Wrap(site, "", ".transpose(0, 1).flatten(1)")
            yield self.candidate(finding, "Lay the states of every sample side by side", edit, prior=0.9)
        elif found.wanted == 2 * size and found.recurrent.args.get("bidirectional") is True:
            code = f"torch.cat(({text}[-2], {text}[-1]), dim=1)"
            named = "torch" in subject.source.words and (("torch", "torch") in subject.source.imported_names)
            if named and text.isidentifier():
                yield self.candidate(finding, "Join both directions of the last layer", Replace(site, code), prior=0.9)
            else:
                edit = Wrap(site, "", "[-2:].transpose(0, 1).flatten(1)")
                yield self.candidate(finding, "Join both directions of the last layer", edit, prior=0.9)

    examples = (
        Example(
            "the states of an LSTM instead of that of its last layer",
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 6, batch_first=True)
        self.fc = nn.Linear(6, 3)

    def forward(self, x):
        out, (h, c) = self.lstm(x)
-         return self.fc(h)
+         return self.fc(h[-1])


logits = Net()(torch.randn(4, 7, 5))
loss = nn.CrossEntropyLoss()(logits, torch.tensor([0, 1, 2, 0]))
""",
            runs=True,
        ),
        Example(
            "all states of two layers and directions",
            """\
import torch
import torch.nn as nn

rnn = nn.RNN(3, 4, num_layers=2, bidirectional=True)
label = nn.Linear(4 * 4, 2)
steps = torch.randn(9, 5, 3)
output, h_n = rnn(steps)
- logits = label(h_n)
+ logits = label(h_n.transpose(0, 1).flatten(1))
""",
            runs=True,
        ),
        Example(
            "both directions of the last of two layers",
            """\
import torch

gru = torch.nn.GRU(3, 4, num_layers=2, bidirectional=True, batch_first=True)
head = torch.nn.Linear(8, 2)
_, state = gru(torch.randn(5, 9, 3))
state = torch.tanh(state)
- scores = head(state)
+ scores = head(torch.cat((state[-2], state[-1]), dim=1))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "the state of the last layer",
            """\
import torch
from torch import nn

lstm, fc = nn.LSTM(5, 6), nn.Linear(6, 3)
_, (h, _) = lstm(torch.randn(7, 4, 5))
loss = nn.CrossEntropyLoss()(fc(h[-1]), torch.tensor([0, 1, 2, 0]))
""",
            runs=True,
        ),
        Reject(
            "states projected for a decoder",
            """\
import torch
from torch import nn

encoder, bridge, decoder = nn.GRU(5, 6), nn.Linear(6, 8), nn.GRU(5, 8)
steps = torch.randn(7, 4, 5)
_, h = encoder(steps)
out, _ = decoder(steps, torch.tanh(bridge(h)))
""",
            runs=True,
        ),
    )


@dataclass(frozen=True, slots=True)
class _States:
    """Final states on their way into a linear layer that takes `wanted` features."""

    recurrent: Call
    linear: Call
    states: Value
    shape: tuple[int, int, int]
    wanted: int


def _found(subject: Subject) -> _States | None:
    crash = subject.crash.call if subject.crash is not None else None
    if crash is None or not crash.inputs:
        return None
    conflict = size_conflict(subject)
    if conflict is not None and conflict.facts.kind == "linear":
        return _states(subject, conflict.call, conflict.value, conflict.stated)
    if not is_loss(crash):
        return None
    for call in way_back(subject, crash.inputs[0]):
        facts = layer_facts(call)
        wanted = call.inputs[0].shape[-1] if call.inputs and call.inputs[0].shape else None
        if facts is not None and facts.kind == "linear" and wanted is not None:
            found = _states(subject, call, call.inputs[0], wanted)
            if found is not None:
                return found
        elif facts is None and activation_of(call) is None:
            return None
    return None


def _states(subject: Subject, linear: Call, given: Value, wanted: int) -> _States | None:
    """The recurrent layer whose final states, changed in no axis, are what the linear layer is given."""
    shape, value = given.shape or (), given
    if len(shape) != 3 or not linear.name.startswith("torch."):
        return None
    for _ in range(4):
        call = subject.network.producer(value)
        facts = layer_facts(call) if call is not None else None
        if call is None:
            return None
        if facts is not None and facts.kind == "recurrent":
            own = [out for out in call.outputs[1:2] if out.id == value.id]
            count, batch, size = shape
            if not own or count is None or batch is None or size is None:
                return None
            return _States(call, linear, given, (count, batch, size), wanted)
        same = bool(call.inputs) and call.inputs[0].shape == shape
        if not same or (activation_of(call) is None and (facts is None or facts.kind != "dropout")):
            return None
        value = call.inputs[0]
    return None
