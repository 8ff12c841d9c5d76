"""A recurrent or attention layer without `batch_first` gets input with the batch axis first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Call,
    Candidate,
    Decline,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Subject,
    Symptom,
    call_arguments,
    data_edits,
    layer_facts,
    recipes,
    tensor_shapes,
    tensor_values,
)


@dataclass(frozen=True, slots=True)
class Mixed:
    """A call whose layer reads the wrong axis as the batch: what shows it, and whether the program crashed there."""

    call: Call
    shape: tuple[int, int, int]
    other: str
    crashed: bool


class BatchFirstNotSet(FixTemplate):
    """A recurrent or attention layer without `batch_first=True` gets input with the batch axis first.

    By default these layers of torch expect `(steps, batch, features)`. With `(batch, steps, features)` they iterate
    over the samples as if these were steps: every sample is mixed with the ones before it. If a state or a loss depends
    on the number of samples, the program crashes; else it trains on wrong sequences.

    Fix safety: unsafe. The layer runs along the other axis.

    References: torch.nn.LSTM (`batch_first`), torch.nn.MultiheadAttention (`batch_first`).
    """

    code = "DNF112"
    name = "batch-first-not-set"
    formerly = ("batch-axis-of-sequences",)
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "{layer} reads {shape} as {steps} steps of {batch} samples, and {other}"
    triggers = ("RNN", "LSTM", "GRU", "MultiheadAttention", "TransformerEncoderLayer")
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for mixed in _found(subject):
            site = mixed.call.made_at or mixed.call.site
            if site is not None:
                yield self.finding(
                    site,
                    symptom=Symptom.CRASH if mixed.crashed else Symptom.VIOLATION,
                    confidence=0.85,
                    cause="crash" if mixed.crashed else "",
                    evidence={"shape": list(mixed.shape)},
                    layer=mixed.call.name.rpartition(".")[2],
                    shape=mixed.shape,
                    steps=mixed.shape[0],
                    batch=mixed.shape[1],
                    other=mixed.other,
                )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        for mixed in _found(subject):
            if finding.site not in (mixed.call.made_at, mixed.call.site):
                continue
            edits = recipes.set_constructor_argument(subject, mixed.call, "batch_first", "True")
            if edits is not None:
                yield self.candidate(finding, "Make the layer batch_first", *edits, prior=0.9)
            given = call_arguments.input_expression(subject, mixed.call)
            if given is not None and mixed.call.name != "torch.nn.MultiheadAttention":
                swap = data_edits.wrapped(subject, given, "", ".transpose(0, 1)")
                yield self.candidate(finding, "Transpose the input to steps first", swap, prior=0.5)
            return
        yield Decline("the layer is not created by one call in the program")

    programs = """
=== example: a state of the batch's size
import torch
import torch.nn as nn

- rnn = nn.GRU(3, 6)
+ rnn = nn.GRU(3, 6, batch_first=True)
state = torch.zeros(1, 4, 6)
out, state = rnn(torch.rand(4, 10, 3), state)

=== example: the last step of every sample, silently
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
-         self.rnn = nn.LSTM(input_size=3, hidden_size=6)
+         self.rnn = nn.LSTM(input_size=3, hidden_size=6, batch_first=True)
        self.fc = nn.Linear(6, 2)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.fc(out[:, -1, :])


loss = nn.CrossEntropyLoss()(Net()(torch.rand(4, 10, 3)), torch.tensor([0, 1, 0, 1]))

=== example: the last state, counted by the loss
import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 5)
        self.rnn = nn.GRU(5, 8)
        self.out = nn.Linear(8, 3)

    def forward(self, text):
-         outputs, _ = self.rnn(self.words(text))
+         outputs, _ = self.rnn(self.words(text).transpose(0, 1))
        return self.out(outputs[-1])


scores = Reader()(torch.randint(0, 20, (6, 9)))
loss = nn.functional.cross_entropy(scores, torch.tensor([0, 1, 2, 0, 1, 2]))

=== reject: steps first, with one label per sample
import torch
from torch import nn

out, _ = nn.GRU(3, 6)(torch.rand(10, 4, 3))
loss = nn.CrossEntropyLoss()(nn.Linear(6, 2)(out[-1]), torch.tensor([0, 1, 0, 1]))

=== reject: one sequence with a label for each step
import torch
from torch import nn

out, _ = nn.GRU(3, 6)(torch.rand(4, 1, 3))
loss = nn.CrossEntropyLoss()(nn.Linear(6, 2)(out.view(4, 6)), torch.tensor([0, 1, 0, 1]))

=== reject: batch_first as set in the layer
import torch
from torch import nn

out, _ = nn.GRU(3, 6, batch_first=True)(torch.rand(4, 10, 3))
loss = nn.CrossEntropyLoss()(nn.Linear(6, 2)(out[:, -1]), torch.tensor([0, 1, 0, 1]))
"""


def _found(subject: Subject) -> Iterator[Mixed]:
    crash = subject.crash.call if subject.crash is not None else None
    if subject.trace is None:
        return
    if crash is not None:
        shape = _steps_first(crash)
        state = crash.inputs[1].shape if shape is not None and len(crash.inputs) > 1 else None
        facts = layer_facts(crash)
        recurrent = facts is not None and facts.kind == "recurrent"
        if recurrent and shape is not None and state and len(state) == 3 and state[1] == shape[0] != shape[1]:
            yield Mixed(crash, shape, f"its initial state is for {shape[0]} samples", crashed=True)
            return
    seen: set[object] = set()
    for use in tensor_values.loss_uses(subject):
        target = use.target.shape if use.target is not None else None
        if not target or len(target) > 2:
            continue
        for call in tensor_shapes.way_back(subject, use.prediction):
            shape = _steps_first(call)
            if shape is None or call.made_at in seen or shape[0] == shape[1] or shape[1] == 1:
                continue
            samples = target[0] == shape[0] and (len(target) == 1 or target[1] not in (shape[1], None))
            fits = use.prediction.shape is not None and use.prediction.shape[0] in (shape[0], shape[1])
            if samples and fits and (use.prediction.shape or (None,))[0] == (shape[1] if use.crashed else shape[0]):
                seen.add(call.made_at)
                yield Mixed(call, shape, f"there are {shape[0]} labels", use.crashed)


def _steps_first(call: Call) -> tuple[int, int, int] | None:
    """The input shape of a layer without `batch_first`."""
    facts = layer_facts(call)
    if facts is None or facts.kind not in ("recurrent", "attention") or not call.name.startswith("torch."):
        return None
    shape = call.inputs[0].shape if call.inputs else None
    if call.args.get("batch_first") is not False or shape is None or len(shape) != 3 or None in shape:
        return None
    first, second, third = (size or 0 for size in shape)
    return first, second, third
