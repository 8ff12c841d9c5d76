"""A recurrent layer is given a state of a shape that it does not take."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Call,
    Candidate,
    Decline,
    Edit,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    RemoveArgument,
    Replace,
    Subject,
    Symptom,
    Value,
    argument,
    crashed_layer,
    input_expression,
    known,
    set_constructor_argument,
    short,
)

FILLED = frozenset({"torch.zeros", "torch.randn", "torch.rand", "torch.ones"})


class HiddenStateShape(FixTemplate):
    """A recurrent layer is given a state of a shape that it does not take.

    The state has a row for every layer (twice that for a bidirectional one), then the batch, then the features, whether
    the sequences have the batch first or not. Typical: the number of layers was raised, a state of another batch is used
    on, or the sequences have the batch first and the layer was not told.

    Fix safety: unsafe. The layer starts from another state.

    References: torch.nn.LSTM (`h_0`, `batch_first`: "does not apply to hidden or cell states").
    """

    code = "DNF213"
    name = "hidden-state-shape"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "{layer} takes a state of {wanted} and receives {received}"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        found = _state(subject)
        site = found.call.site if found is not None else None
        if found is not None and site is not None:
            yield self.finding(
                site,
                symptom=Symptom.CRASH,
                confidence=0.9,
                cause="crash",
                evidence={"wanted": found.wanted, "received": found.states[0].shape},
                layer=short(found.call.name),
                wanted=" x ".join(map(str, found.wanted)),
                received=" x ".join(map(str, found.states[0].shape or ())),
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        found = _state(subject)
        if found is None:
            return
        none = True
        edits = _other_order(subject, found)
        if edits is not None:
            none = False
            yield self.candidate(finding, "Tell the layer which axis of the sequences is the batch", *edits, prior=0.9)
        edits = _written_states(subject, found)
        if edits is not None:
            none = False
            yield self.candidate(finding, "Make the state of the shape that the layer takes", *edits, prior=0.85)
        node = subject.call_node(found.call)
        if node is not None and len(node.args) == 2:
            none = False
            edit = RemoveArgument(subject.source.site(node), "hx", 1)
            yield self.candidate(finding, "Start from a fresh state (zeros)", edit, prior=0.4)
        if none:
            yield Decline("neither the state nor the call that takes it is written at one place")

    examples = (
        Example(
            "more layers than states",
            before="""\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, hidden=6, layers=2):
        super().__init__()
        self.hidden = hidden
        self.lstm = nn.LSTM(3, hidden, layers, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h0 = torch.zeros(1, x.size(0), self.hidden)
        c0 = torch.zeros(1, x.size(0), self.hidden)
        h, _ = self.lstm(x, (h0, c0))
        return self.out(h[:, -1])


print(Net()(torch.randn(4, 5, 3)).shape)
""",
            after="""\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, hidden=6, layers=2):
        super().__init__()
        self.hidden = hidden
        self.lstm = nn.LSTM(3, hidden, layers, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h0 = torch.zeros(2, x.size(0), self.hidden)
        c0 = torch.zeros(2, x.size(0), self.hidden)
        h, _ = self.lstm(x, (h0, c0))
        return self.out(h[:, -1])


print(Net()(torch.randn(4, 5, 3)).shape)
""",
            runs=True,
        ),
        Example(
            "sequences with the batch first",
            before="""\
import torch
from torch import nn

x = torch.randn(8, 5, 3)
gru = nn.GRU(3, 6)
h0 = torch.zeros(1, x.size(0), 6)
out, hn = gru(x, h0)
""",
            after="""\
import torch
from torch import nn

x = torch.randn(8, 5, 3)
gru = nn.GRU(3, 6, batch_first=True)
h0 = torch.zeros(1, x.size(0), 6)
out, hn = gru(x, h0)
""",
            runs=True,
        ),
        Example(
            "state of another batch",
            before="""\
import torch
import torch.nn as nn

rnn = nn.RNN(input_size=4, hidden_size=2, batch_first=True)
state = torch.randn(1, 1, 2)
out, state = rnn(torch.randn(1, 5, 4), state)
out, state = rnn(torch.randn(3, 5, 4), state)
""",
            after="""\
import torch
import torch.nn as nn

rnn = nn.RNN(input_size=4, hidden_size=2, batch_first=True)
state = torch.randn(1, 1, 2)
out, state = rnn(torch.randn(1, 5, 4), state)
out, state = rnn(torch.randn(3, 5, 4))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "states that fit",
            """\
import torch
import torch.nn as nn

lstm = nn.LSTM(3, 6, 2, bidirectional=True)
lstm(torch.randn(5, 4, 3), (torch.zeros(4, 4, 6), torch.zeros(4, 4, 6)))
""",
            runs=True,
        ),
        Reject(
            "features that do not fit",
            """\
import torch
import torch.nn as nn

nn.GRU(3, 6)(torch.randn(5, 4, 2), torch.zeros(1, 4, 6))
""",
            runs=True,
        ),
    )


@dataclass(frozen=True, slots=True)
class _State:
    """A recurrent call with states that do not fit, and the shape that they should have."""

    call: Call
    sequence: tuple[int, ...]
    states: tuple[Value, ...]
    wanted: tuple[int, ...]


def _state(subject: Subject) -> _State | None:
    found = crashed_layer(subject)
    if found is None or found[1].kind != "recurrent" or found[0].name.endswith("Cell"):
        return None
    call, _, value = found
    sequence = known(value.shape)
    states = call.inputs[1:]
    layers, hidden = call.args.get("num_layers"), call.args.get("hidden_size")
    if not sequence or len(sequence) != 3 or not states or not isinstance(layers, int) or not isinstance(hidden, int):
        return None
    if call.args.get("proj_size") or sequence[-1] != call.args.get("input_size"):
        return None
    rows = layers * (2 if call.args.get("bidirectional") else 1)
    wanted = (rows, sequence[0 if call.args.get("batch_first") else 1], hidden)
    odd = any(known(state.shape) not in (None, wanted) for state in states)
    return _State(call, sequence, states, wanted) if odd else None


def _other_order(subject: Subject, found: _State) -> tuple[Edit, ...] | None:
    """Set or unset `batch_first`, where the states then have just the right shape."""
    first = bool(found.call.args.get("batch_first"))
    batch = found.sequence[1 if first else 0]
    other = (found.wanted[0], batch, found.wanted[2])
    if any(known(state.shape) != other for state in found.states):
        return None
    return set_constructor_argument(subject, found.call, "batch_first", str(not first))


def _written_states(subject: Subject, found: _State) -> tuple[Edit, ...] | None:
    """Rewrite the sizes with which the states are made, without writing the size of the batch down."""
    edits: list[Edit] = []
    for state in found.states:
        shape = known(state.shape)
        node = subject.node(state.site)
        made = isinstance(node, ast.Call) and subject.source.qualified(node.func) in FILLED
        if shape == found.wanted:
            continue
        if shape is None or len(shape) != 3 or not made or not isinstance(node, ast.Call) or len(node.args) != 3:
            return None
        for place, (was, size) in enumerate(zip(shape, found.wanted, strict=True)):
            if was == size:
                continue
            text = _size_text(subject, found, node, place)
            if text is None:
                return None
            edits.append(Replace(subject.source.site(node.args[place]), text))
    return tuple(edits) if edits else None


def _size_text(subject: Subject, found: _State, state: ast.Call, place: int) -> str | None:
    constructor = subject.constructor_node(found.call)
    if place == 1:
        sequence = input_expression(subject, found.call)
        inside = subject.source.enclosing(state, ast.FunctionDef)
        call = subject.call_node(found.call)
        if (
            not isinstance(sequence, ast.Name)
            or call is None
            or subject.source.enclosing(call, ast.FunctionDef) is not inside
        ):
            return None
        return f"{sequence.id}.size({0 if found.call.args.get('batch_first') else 1})"
    name = "num_layers" if place == 0 else "hidden_size"
    given = argument(subject, constructor, found.call.name, name) if constructor is not None else None
    attribute = isinstance(given, ast.Attribute) and not found.call.args.get("bidirectional")
    if place and isinstance(given, ast.Attribute) or attribute and given is not None:
        return subject.text(subject.source.site(given))
    return str(found.wanted[place])
