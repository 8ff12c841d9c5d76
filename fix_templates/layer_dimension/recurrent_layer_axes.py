"""The input, state or output of a recurrent layer has other axes than expected."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Call,
    Decline,
    Edit,
    Family,
    Fault,
    FixPattern,
    Json,
    RemoveArgument,
    Repairs,
    Replace,
    SetArgument,
    ShapeTemplate,
    Subject,
    Value,
    Wrap,
    call_arguments,
    crashes,
    held_values,
    layer_facts,
    network_facts,
    recipes,
    short,
    tensor_shapes,
)

VARIABLE = "torch.autograd.Variable"

FILLED = frozenset({"torch.zeros", "torch.randn", "torch.rand", "torch.ones"})

TAKES_SEQUENCES = frozenset({"convolution", "pooling", "recurrent", "attention"})

EMBEDDING = "keras.layers.Embedding"

PACK = "torch.nn.utils.rnn.pack_padded_sequence"
UNPACK = "torch.nn.utils.rnn.pad_packed_sequence"

COUNTED = re.compile(r"lengths.*batch_size, but got (\d+) \(batch_size=(\d+)\)")
UNSORTED = re.compile(r"lengths.*must be sorted in decreasing order")


class RecurrentLayerAxes(ShapeTemplate):
    """The input, state or output of a recurrent layer has other axes than expected.

    - The state has a row per layer (two for bidirectional ones), then the batch, then the features, whatever
      `batch_first` is; that of a cell has no axis of layers. Typical: `num_layers` was raised, the state of another
      batch is reused, `batch_first` is missing, or the axis of layers, which the first versions of torch did not check.
    - Final states of torch have the same order, and a linear layer uses only their last axis: it gets too few features,
      or returns an output for every layer and direction.
    - Keras recurrent layers return only the last output unless `return_sequences=True`, which every stacked layer but
      the last one needs.
    - A Keras recurrent layer expects `(batch, steps, features)`; token indices have no axis of features. In a model
      with two inputs, such as an encoder and a decoder, both need an embedding.
    - `pack_padded_sequence` expects (steps, batch, features) unless it gets `batch_first=True` itself, and the longest
      sequence first unless it gets `enforce_sorted=False`.

    Fix safety: unsafe. The layer starts from another state, returns a sequence or gets the input that its size was made
    for; the model may get another layer.

    References: torch.nn.LSTM (`h_0`, shape of `h_n`, `batch_first`: "does not apply to hidden or cell states"),
    keras.layers.LSTM (`return_sequences`, input shape), keras.layers.Embedding, torch.nn.utils.rnn.pack_padded_sequence
    (`batch_first`, `enforce_sorted`).
    """

    code = "DNF213"
    name = "recurrent-layer-axes"
    formerly = (
        "hidden-state-shape",
        "DNF220",
        "sequence-collapsed",
        "DNF223",
        "final-states-not-joined",
        "DNF243",
        "branch-without-embedding",
        "DNF131",
        "sequences-packed-otherwise",
    )
    message = "the axes of the recurrent layer do not match: {what}"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION

    def explain(self, subject: Subject) -> Iterator[Fault]:
        state = _state(subject)
        if state is not None:
            received = state.states[0].shape or ()
            what = f"{short(state.call.name)} expects a state of {tensor_shapes.by(state.wanted)}, got {tensor_shapes.by(received)}"
            evidence: dict[str, Json] = {"wanted": list(state.wanted), "received": list(received)}
            yield Fault(
                state.call.site, what, tuple(_restated(subject, state)), evidence, reading="state", at_either_end=True
            )
        pair = _pair(subject)
        if pair is not None:
            what = f"{short(pair[0].name)} expects sequences, got the last step of {short(pair[1].name)}"
            yield Fault(
                pair[1].made_at, what, tuple(_with_sequence(subject, pair[1])), {}, confidence=0.95, reading="sequence"
            )
        final = _final_states(subject)
        if final is not None:
            linear, recurrent = short(final.linear.name), short(final.recurrent.name)
            what = f"{linear} expects {final.wanted} features per sample, got the states {final.states.shape} of {recurrent}"
            yield Fault(
                final.linear.site, what, tuple(_joined(subject, final)), {"states": list(final.shape)}, reading="final"
            )
        bare = _bare(subject)
        if bare is not None:
            what = "it receives token indices, which another branch of the model embeds first"
            yield Fault(bare[0].site, what, tuple(_embedded(subject, *bare)), {}, confidence=0.95, reading="words")
        packed = _packed(subject)
        if packed is not None:
            what = f"the sequences are packed as if {packed.why}"
            yield Fault(
                subject.source.site(packed.node),
                what,
                tuple(_packed_so(subject, packed)),
                {},
                confidence=0.95,
                reading="packed",
            )

    programs = """
=== example: sequences with the batch first
import torch
from torch import nn

x = torch.randn(8, 5, 3)
- gru = nn.GRU(3, 6)
+ gru = nn.GRU(3, 6, batch_first=True)
h0 = torch.zeros(1, x.size(0), 6)
out, hn = gru(x, h0)

=== example: a state without the axis of the layers
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(5, 7, batch_first=True)
        self.out = nn.Linear(7, 2)

    def forward(self, x):
-         h0 = torch.zeros(x.size(0), 7)
+         h0 = torch.zeros(1, x.size(0), 7)
        y, _ = self.gru(x, h0)
        return self.out(y[:, -1])


print(Net()(torch.randn(6, 4, 5)).shape)

=== example: states of two axes and other sizes
import torch
import torch.nn as nn
from torch.autograd import Variable

lstm = nn.LSTM(5, 2, num_layers=2, bidirectional=True)
- hidden = (Variable(torch.zeros(3, 2)), Variable(torch.zeros((3, 2))))
+ hidden = (Variable(torch.zeros(4, 4, 2)), Variable(torch.zeros((4, 4, 2))))
out, hidden = lstm(torch.randn(6, 4, 5), hidden)

=== example: a state that another layer gave
import torch
from torch import nn

encode, rnn = nn.Linear(8, 6), nn.RNN(3, 6)
state = encode(torch.randn(4, 8))
- out, state = rnn(torch.randn(5, 4, 3), state)
+ out, state = rnn(torch.randn(5, 4, 3), state.unsqueeze(0))

=== example: layers in the state of a cell
import torch
from torch import nn

cell = nn.LSTMCell(5, 2)
h, c = torch.zeros(1, 4, 2), torch.zeros(1, 4, 2)
- h, c = cell(torch.randn(4, 5), (h, c))
+ h, c = cell(torch.randn(4, 5), (h.squeeze(0), c.squeeze(0)))

=== example: a sequence without its batch
import torch
from torch import nn

rnn = nn.RNN(5, 2)
x = torch.randn(6, 5)
- out, h = rnn(x, torch.zeros(1, 1, 2))
+ out, h = rnn(x.unsqueeze(1), torch.zeros(1, 1, 2))

=== example: layers added one by one, with dropout
from keras.models import Sequential
from keras.layers import GRU, Dense, Dropout, Input

model = Sequential()
model.add(Input((5, 2)))
- model.add(GRU(8, activation="tanh"))
+ model.add(GRU(8, activation="tanh", return_sequences=True))
model.add(Dropout(0.2))
model.add(GRU(4))
model.add(Dense(1))

=== example: functional model with a convolution after it
import keras
from keras.layers import Conv1D, SimpleRNN

inputs = keras.Input(shape=(9, 2))
- steps = SimpleRNN(units=4, return_sequences=False)(inputs)
+ steps = SimpleRNN(units=4, return_sequences=True)(inputs)
outputs = Conv1D(3, 2)(steps)

=== example: the states of an LSTM instead of that of its last layer
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

=== example: all states of two layers and directions
import torch
import torch.nn as nn

rnn = nn.RNN(3, 4, num_layers=2, bidirectional=True)
label = nn.Linear(4 * 4, 2)
steps = torch.randn(9, 5, 3)
output, h_n = rnn(steps)
- logits = label(h_n)
+ logits = label(h_n.transpose(0, 1).flatten(1))

=== example: both directions of the last of two layers
import torch

gru = torch.nn.GRU(3, 4, num_layers=2, bidirectional=True, batch_first=True)
head = torch.nn.Linear(8, 2)
_, state = gru(torch.randn(5, 9, 3))
state = torch.tanh(state)
- scores = head(state)
+ scores = head(torch.cat((state[-2], state[-1]), dim=1))

=== example: two texts that are compared
import keras
from keras import layers

first, second = keras.Input((10,)), keras.Input((10,))
a = layers.Embedding(input_dim=30, output_dim=4, name="letters")(first)
a = layers.GRU(5)(a)
- b = layers.GRU(5)(second)
+ b = layers.GRU(5)(layers.Embedding(input_dim=30, output_dim=4)(second))
score = layers.Dot(1)([a, b])

=== example: a title beside the text
import numpy as np
from keras import Input, Model
from keras.layers import Bidirectional, Concatenate, Dense, Embedding, LSTM

texts, titles = np.ones((4, 20), int), np.ones((4, 5), int)
text = Input((20,), name="text")
title = Input((5,), name="title")
body = Embedding(100, 16)(text)
body = LSTM(8)(body)
- head = LSTM(units=8)(title)
+ head = LSTM(units=8)(Embedding(100, 16)(title))
model = Model([text, title], Dense(1)(Concatenate()([body, head])))
model.compile("sgd", "mse")
model.fit([texts, titles], np.ones((4, 1)))

=== example: lengths that are not sorted
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

rnn = nn.GRU(4, 6, batch_first=True)
words, lengths = torch.rand(3, 7, 4), torch.tensor([2, 7, 5])
- _, last = rnn(pack_padded_sequence(words, lengths, batch_first=True))
+ _, last = rnn(pack_padded_sequence(words, lengths, batch_first=True, enforce_sorted=False))

=== example: the batch first for the layer alone
import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 6, batch_first=True)

    def forward(self, x, lengths):
-         packed = nn.utils.rnn.pack_padded_sequence(x, lengths)
-         out, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0])
+         packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
+         out, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return out


Encoder()(torch.rand(3, 7, 4), [7, 5, 2])

=== example: only the last state is used
import torch
import torch.nn.utils.rnn as R

gru = torch.nn.GRU(2, 3, batch_first=True)
steps = torch.rand(4, 5, 2)
- packed = R.pack_padded_sequence(steps, [5, 4, 2, 1])
+ packed = R.pack_padded_sequence(steps, [5, 4, 2, 1], batch_first=True)
print(gru(packed)[1].shape)

=== reject: states that fit
import torch
import torch.nn as nn

lstm = nn.LSTM(3, 6, 2, bidirectional=True)
lstm(torch.randn(5, 4, 3), (torch.zeros(4, 4, 6), torch.zeros(4, 4, 6)))

=== reject: features that do not fit
import torch
import torch.nn as nn

nn.GRU(3, 6)(torch.randn(5, 4, 2), torch.zeros(1, 4, 6))

=== reject: sequences all the way
import keras
from keras import layers

keras.Sequential([keras.Input((8, 3)), layers.LSTM(6, return_sequences=True), layers.LSTM(4)])

=== reject: a table into a recurrent layer
import keras
from keras import layers

keras.Sequential([keras.Input((8,)), layers.LSTM(4)])

=== reject: the state of the last layer
import torch
from torch import nn

lstm, fc = nn.LSTM(5, 6), nn.Linear(6, 3)
_, (h, _) = lstm(torch.randn(7, 4, 5))
loss = nn.CrossEntropyLoss()(fc(h[-1]), torch.tensor([0, 1, 2, 0]))

=== reject: states projected for a decoder
import torch
from torch import nn

encoder, bridge, decoder = nn.GRU(5, 6), nn.Linear(6, 8), nn.GRU(5, 8)
steps = torch.randn(7, 4, 5)
_, h = encoder(steps)
out, _ = decoder(steps, torch.tanh(bridge(h)))

=== reject: both branches embedded
from keras import Input
from keras.layers import Embedding, LSTM

a, b = Input((6,)), Input((9,))
words = Embedding(20, 4)
LSTM(3)(words(a)), LSTM(3)(words(b))

=== reject: measures over time beside a text
import numpy as np
from keras import Input, Model
from keras.layers import Concatenate, Dense, Embedding, LSTM

texts, measures = np.ones((4, 9), int), np.random.rand(4, 9)
text, measure = Input((9,)), Input((9,))
both = [LSTM(8)(Embedding(100, 16)(text)), LSTM(8)(measure)]
model = Model([text, measure], Dense(1)(Concatenate()(both)))
model.compile("sgd", "mse")
model.fit([texts, measures], np.ones((4, 1)))

=== reject: a table into a recurrent layer, and nothing embedded
from keras import Input
from keras.layers import LSTM

LSTM(3)(Input((6,)))

=== reject: sequences that are packed as they are
import torch
from torch.nn.utils.rnn import pack_padded_sequence

pack_padded_sequence(torch.rand(7, 3, 4), [7, 5, 2])
pack_padded_sequence(torch.rand(3, 7, 4), [2, 7, 5], batch_first=True, enforce_sorted=False)

=== reject: a length for each sequence but one
import torch
from torch.nn.utils.rnn import pack_padded_sequence

pack_padded_sequence(torch.rand(3, 7, 4), [7, 5], batch_first=True)
"""


# --- the initial state ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _State:
    """A recurrent call with states that do not fit, and the shape that they should have."""

    call: Call
    sequence: tuple[int, ...]
    states: tuple[Value, ...]
    wanted: tuple[int, ...]


def _state(subject: Subject) -> _State | None:
    found = crashes.crashed_layer(subject)
    if found is None or found[1].kind != "recurrent":
        return None
    call, _, value = found
    sequence, states = tensor_shapes.known(value.shape), call.inputs[1:]
    layers, hidden = call.args.get("num_layers", 1), call.args.get("hidden_size")
    if not sequence or not states or not isinstance(layers, int) or not isinstance(hidden, int):
        return None
    axes = len(sequence) - call.name.endswith("Cell")
    ranks = {len(shape) for state in states if (shape := tensor_shapes.known(state.shape)) is not None}
    if call.args.get("proj_size") or axes not in (1, 2, 3) or call.name.endswith("Cell") and axes == 2:
        return None
    if sequence[-1] != call.args.get("input_size") and ranks == {len(sequence)}:
        return None  # torch checks the features after the number of axes and before the sizes of the state
    wanted: tuple[int, ...] = (hidden,)
    if call.name.endswith("Cell"):
        wanted = (*sequence[:-1], hidden)
    else:
        rows = layers * (2 if call.args.get("bidirectional") else 1)
        batch = sequence[:-1][0 if call.args.get("batch_first") else 1 :][:1] if len(sequence) == 3 else ()
        wanted = (rows, *batch, hidden)
    odd = any(tensor_shapes.known(state.shape) not in (None, wanted) for state in states)
    return _State(call, sequence, states, wanted) if odd else None


def _restated(subject: Subject, found: _State) -> Repairs:
    yield Decline("neither the state nor the call of the layer is written in one place")
    order = _other_order(subject, found)
    stated = bool(found.call.args.get("batch_first"))  # written on purpose, not left at its default
    yield "Set batch_first of the layer to match the sequences", order, 0.6 if stated else 0.9
    yield "Add the missing axes to the state", _more_axes(subject, found), 0.8
    for axis, what in _missing_axes(found):
        sequence = call_arguments.input_expression(subject, found.call)
        if sequence is not None:
            longer = Wrap(subject.source.site(sequence), "", f".unsqueeze({axis})")
            yield f"Add the axis of {what} to the sequences", (longer,), 0.6
    prior = 0.3 if order is not None else 0.85  # the state's shape shows which axis is the batch
    yield "Create the state with the shape that the layer expects", _written_states(subject, found), prior
    node = subject.call_node(found.call)
    if node is not None and len(node.args) == 2:
        edit = RemoveArgument(subject.source.site(node), "hx", 1)
        yield "Start from the default state (zeros)", (edit,), 0.2 if _is_carried(subject, node) else 0.4


def _is_carried(subject: Subject, call: ast.Call) -> bool:
    """Whether the state is a parameter that the function also returns, as from one step to the next."""
    function = subject.source.enclosing(call, ast.FunctionDef)
    if not isinstance(function, ast.FunctionDef) or not isinstance(call.args[1], ast.Name):
        return False
    name = call.args[1].id
    returned = [node for each in ast.walk(function) if isinstance(each, ast.Return) for node in ast.walk(each)]
    given = [each.arg for each in function.args.args]
    return name in given and any(isinstance(node, ast.Name) and node.id == name for node in returned)


def _more_axes(subject: Subject, found: _State) -> tuple[Edit, ...] | None:
    """Add or remove the first axis of the states, where they then have the right shape."""
    shapes = {tensor_shapes.known(state.shape) for state in found.states}
    shape = shapes.pop() if len(shapes) == 1 else None
    if shape is None:
        return None
    change = ".unsqueeze(0)" if (1, *shape) == found.wanted else ".squeeze(0)" if shape == (1, *found.wanted) else ""
    node = subject.call_node(found.call)
    given = node.args[1] if node is not None and len(node.args) == 2 else None
    parts = given.elts if isinstance(given, ast.Tuple) else [given] if len(found.states) == 1 else []
    if not change or len(parts) != len(found.states):
        return None
    return tuple(Wrap(subject.source.site(part), "", change) for part in parts if part is not None)


def _missing_axes(found: _State) -> Iterator[tuple[int, str]]:
    """The axes that sequences without a batch may lack, where the state has one for it: index and name."""
    shapes = {tensor_shapes.known(state.shape) for state in found.states}
    shape = shapes.pop() if len(shapes) == 1 else None
    if shape is None or len(shape) != 3 or len(found.sequence) != 2 or found.call.name.endswith("Cell"):
        return
    first = bool(found.call.args.get("batch_first"))
    if shape[1] == 1:
        yield (0 if first else 1), "the batch"
    if shape[1] == found.sequence[0]:
        yield (1 if first else 0), "time"


def _other_order(subject: Subject, found: _State) -> tuple[Edit, ...] | None:
    """Set or unset `batch_first`, where the states then have the right shape."""
    first = bool(found.call.args.get("batch_first"))
    if len(found.sequence) != 3 or len(found.wanted) != 3:
        return None
    batch = found.sequence[1 if first else 0]
    other = (found.wanted[0], batch, found.wanted[2])
    if any(tensor_shapes.known(state.shape) != other for state in found.states):
        return None
    return recipes.set_constructor_argument(subject, found.call, "batch_first", str(not first))


def _written_states(subject: Subject, found: _State) -> tuple[Edit, ...] | None:
    """Rewrite the sizes with which the states are created, without a literal batch size where possible."""
    edits: list[Edit] = []
    for number, state in enumerate(found.states):
        shape = tensor_shapes.known(state.shape)
        node = _maker(subject, found, number)
        made = isinstance(node, ast.Call) and subject.source.qualified(node.func) in FILLED
        if shape == found.wanted:
            continue
        if shape is None or not made or not isinstance(node, ast.Call):
            return None
        sizes = _sizes(node, len(shape))
        if sizes is None or len(found.wanted) != 3:
            return None
        texts = [_size_text(subject, found, node, place) for place in range(3)]
        if len(shape) == 3:
            places = [place for place in range(3) if shape[place] != found.wanted[place]]
            if any(texts[place] is None for place in places):
                return None
            edits += [Replace(subject.source.site(sizes[place]), texts[place] or "") for place in places]
            continue
        if shape == found.wanted[1:]:  # only the axis of layers is missing
            texts[1:] = [subject.text(subject.source.site(size)) for size in sizes]
        if any(text is None for text in texts):
            return None
        written = ", ".join(text or "" for text in texts)
        whole = f"({written})" if len(node.args) == 1 and sizes[0] is not node.args[0] else written
        rest = [f"{keyword.arg}={subject.text(subject.source.site(keyword.value))}" for keyword in node.keywords]
        function = subject.text(subject.source.site(node.func))
        edits.append(Replace(subject.source.site(node), f"{function}({', '.join([whole, *rest])})"))
    return tuple(edits) if edits else None


def _maker(subject: Subject, found: _State, number: int) -> ast.AST | None:
    """The expression that creates a state: as the run recorded it, else as the argument of the call says."""
    node: ast.AST | None = subject.node(found.states[number].site)
    call = subject.call_node(found.call)
    if node is None and call is not None and len(call.args) == 2:
        node = _bound_last(subject, call.args[1])
        if isinstance(node, (ast.Tuple, ast.List)):
            node = node.elts[number] if len(node.elts) == len(found.states) else None
        node = _bound_last(subject, node) if isinstance(node, ast.expr) else None
    while isinstance(node, ast.Call) and node.args and subject.source.qualified(node.func) == VARIABLE:
        node = node.args[0]
    return node


def _bound_last(subject: Subject, node: ast.expr) -> ast.expr | None:
    """The last value assigned to a name before its use."""
    if not isinstance(node, ast.Name):
        return node
    source = subject.source
    values = source.bindings(node)
    if len(values) == 1:
        return values[0]
    function = source.enclosing(node, ast.FunctionDef)
    earlier = [
        one.value
        for one in source.nodes(ast.Assign)
        if one.lineno < node.lineno
        and source.enclosing(one, ast.FunctionDef) is function
        and any(isinstance(target, ast.Name) and target.id == node.id for target in one.targets)
    ]
    return max(earlier, key=lambda value: value.lineno, default=None)


def _sizes(node: ast.Call, count: int) -> list[ast.expr] | None:
    """The sizes that a state is created with, as arguments or as a tuple."""
    given = node.args[0].elts if len(node.args) == 1 and isinstance(node.args[0], (ast.Tuple, ast.List)) else node.args
    plain = len(given) == count and not any(isinstance(size, ast.Starred) for size in given)
    return list(given) if plain and all(keyword.arg for keyword in node.keywords) else None


def _size_text(subject: Subject, found: _State, state: ast.Call, place: int) -> str | None:
    constructor = subject.constructor_node(found.call)
    if place == 1:
        sequence = call_arguments.input_expression(subject, found.call)
        inside = subject.source.enclosing(state, ast.FunctionDef)
        call = subject.call_node(found.call)
        if call is None or subject.source.enclosing(call, ast.FunctionDef) is not inside:
            return None
        made = subject.source.bindings(sequence) if isinstance(sequence, ast.Name) else ()
        before = any(one.lineno < state.lineno for one in made)
        if inside is None and not before:
            return str(found.wanted[1])  # the sequences have no name, or are created after the state
        if not isinstance(sequence, ast.Name):
            return None
        return f"{sequence.id}.size({0 if found.call.args.get('batch_first') else 1})"
    name = "num_layers" if place == 0 else "hidden_size"
    given = call_arguments.argument(subject, constructor, found.call.name, name) if constructor is not None else None
    attribute = isinstance(given, ast.Attribute) and not found.call.args.get("bidirectional")
    if place and isinstance(given, ast.Attribute) or attribute and given is not None:
        return subject.text(subject.source.site(given))
    return str(found.wanted[place])


# --- the final states ------------------------------------------------------------------------------------------


def _joined(subject: Subject, found: _Final) -> Repairs:
    node = call_arguments.input_expression(subject, found.linear)
    if node is None:
        yield Decline("the states are not the argument of a call of the linear layer")
        return
    site, (count, _, size) = subject.source.site(node), found.shape
    text = subject.text(site)
    if found.wanted == size:
        yield "Use the state of the last layer", (Wrap(site, "", "[-1]"),), 0.9
    elif found.wanted == count * size:
        yield "Concatenate the states of every sample", (Wrap(site, "", ".transpose(0, 1).flatten(1)"),), 0.9
    elif found.wanted == 2 * size and found.recurrent.args.get("bidirectional") is True:
        named = "torch" in subject.source.words and ("torch", "torch") in subject.source.imported_names
        edit: Edit = Wrap(site, "", "[-2:].transpose(0, 1).flatten(1)")
        if named and text.isidentifier():
            edit = Replace(site, f"torch.cat(({text}[-2], {text}[-1]), dim=1)")
        yield "Concatenate both directions of the last layer", (edit,), 0.9


@dataclass(frozen=True, slots=True)
class _Final:
    """Final states that go into a linear layer with `wanted` features."""

    recurrent: Call
    linear: Call
    states: Value
    shape: tuple[int, int, int]
    wanted: int


def _final_states(subject: Subject) -> _Final | None:
    crash = subject.crash.call if subject.crash is not None else None
    if crash is None or not crash.inputs:
        return None
    conflict = crashes.size_conflict(subject)
    if conflict is not None and conflict.facts.kind == "linear":
        return _final(subject, conflict.call, conflict.value, conflict.stated)
    if not network_facts.is_loss(crash):
        return None
    for call in tensor_shapes.way_back(subject, crash.inputs[0]):
        facts = layer_facts(call)
        wanted = call.inputs[0].shape[-1] if call.inputs and call.inputs[0].shape else None
        if facts is not None and facts.kind == "linear" and wanted is not None:
            found = _final(subject, call, call.inputs[0], wanted)
            if found is not None:
                return found
        elif facts is None and network_facts.activation_of(call) is None:
            return None
    return None


def _final(subject: Subject, linear: Call, given: Value, wanted: int) -> _Final | None:
    """The recurrent layer whose final states, with their axes unchanged, are the input of the linear layer."""
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
            return _Final(call, linear, given, (count, batch, size), wanted)
        same = bool(call.inputs) and call.inputs[0].shape == shape
        if not same or (network_facts.activation_of(call) is None and (facts is None or facts.kind != "dropout")):
            return None
        value = call.inputs[0]
    return None


# --- layers that expect sequences -------------------------------------------------------------------------------------


def _with_sequence(subject: Subject, call: Call) -> Repairs:
    yield Decline("the recurrent layer before is not created in one place")
    edits = recipes.set_constructor_argument(subject, call, "return_sequences", "True")
    yield f"Make {short(call.name)} return its sequence", edits, 0.95


def _pair(subject: Subject) -> tuple[Call, Call] | None:
    """The layer whose input has no axis of steps, and the recurrent layer that removed it."""
    conflict = crashes.rank_conflict(subject)
    if conflict is None or conflict.rank != conflict.wanted - 1 or conflict.facts.kind not in TAKES_SEQUENCES:
        return None
    for call in tensor_shapes.way_back(subject, conflict.value):
        facts = layer_facts(call)
        if facts is not None and facts.kind == "recurrent":
            closed = call.name.startswith("keras.") and call.args.get("return_sequences") is False
            return (conflict.call, call) if closed else None
        if network_facts.activation_of(call) is None and (
            facts is None or facts.kind not in ("dropout", "normalization")
        ):
            return None
    return None


def _bare(subject: Subject) -> tuple[Call, ast.Call] | None:
    """The call of a recurrent layer whose input is token indices, and the constructor of another branch's embedding."""
    conflict = crashes.rank_conflict(subject)
    if conflict is None or conflict.facts.kind != "recurrent" or (conflict.rank, conflict.wanted) != (2, 3):
        return None
    value = conflict.value
    if not conflict.call.name.startswith("keras.") or value.origin != "symbolic" or value.producer is not None:
        return None
    embedded = [
        call
        for call in subject.network.calls
        if call.name == EMBEDDING and call.inputs and call.inputs[0].origin == "symbolic" and _same_kind(call, value)
    ]
    recurrent = any(_recurrent_behind(subject, call) for call in embedded)
    made = [node for call in embedded if isinstance(node := subject.node(call.made_at), ast.Call)]
    if len(made) != 1 or not recurrent or not _are_words(subject, conflict.call, embedded[0]):
        return None
    return conflict.call, made[0]


def _embedded(subject: Subject, call: Call, beside: ast.Call) -> Repairs:
    yield Decline("the call of the recurrent layer is not written in one place")
    parent = subject.source.parent(beside)
    applied = isinstance(parent, ast.Call) and parent.func is beside
    text = _unnamed(subject, beside) if applied else None
    if text is not None:
        yield f"Embed the token indices with {text}", recipes.insert_layer_before(subject, call, text), 0.9


def _same_kind(call: Call, value: object) -> bool:
    """Whether the embedded input has the dtype of the other one."""
    return call.inputs[0].dtype == getattr(value, "dtype", None) and call.inputs[0].id != getattr(value, "id", None)


def _are_words(subject: Subject, bare: Call, embedded: Call) -> bool:
    """Whether the input without an embedding contains token indices, too.

    Its data say so; where they do not exist yet, a decoder that starts with the encoder's state, or inputs of one
    length.
    """
    node = call_arguments.input_expression(subject, bare)
    data = _data_of(subject, node) if isinstance(node, ast.Name) else None
    described = held_values.held(subject, data) if data is not None else None
    if isinstance(described, dict) and "dtype" in described:
        return str(described["dtype"]).startswith(("int", "uint"))
    call = subject.call_node(bare)
    goes_on = call is not None and any(keyword.arg == "initial_state" for keyword in call.keywords)
    return goes_on or bare.inputs[0].shape == embedded.inputs[0].shape


def _data_of(subject: Subject, given: ast.Name) -> ast.expr | None:
    """The data that `fit` gets for one of several inputs."""
    inputs = [call.args[0] for call in subject.source.calls("keras.Model", "keras.models.Model") if call.args]
    fits = [call.args[0] for call in subject.source.all_calls if _is_fit(call)]
    if len(inputs) != 1 or len(fits) != 1 or not isinstance(inputs[0], ast.List) or not isinstance(fits[0], ast.List):
        return None
    names = [one.id if isinstance(one, ast.Name) else "" for one in inputs[0].elts]
    fits_them = given.id in names and len(names) == len(fits[0].elts)
    return fits[0].elts[names.index(given.id)] if fits_them else None


def _is_fit(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "fit" and bool(call.args)


def _recurrent_behind(subject: Subject, call: Call) -> list[Call]:
    """The recurrent layers that use an embedding's output."""
    users = [user for output in call.outputs for user in subject.network.users(output)]
    return [user for user in users if (facts := layer_facts(user)) is not None and facts.kind == "recurrent"]


def _unnamed(subject: Subject, call: ast.Call) -> str | None:
    """The constructor's source without its name, which has to be unique in a model."""
    if any(keyword.arg is None for keyword in call.keywords) or any(
        keyword.arg == "weights" for keyword in call.keywords
    ):
        return None
    source = subject.source
    parts = [source.segment(source.site(one)) for one in call.args]
    parts += [
        f"{keyword.arg}={source.segment(source.site(keyword.value))}"
        for keyword in call.keywords
        if keyword.arg != "name"
    ]
    return f"{source.segment(source.site(call.func))}({', '.join(parts)})"


# --- packed sequences ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Packed:
    """A failed call that packs sequences: its missing argument with the value, and the layout it assumes."""

    node: ast.Call
    argument: str
    value: str
    why: str


def _packed_so(subject: Subject, found: _Packed) -> Repairs:
    own = SetArgument(subject.source.site(found.node), found.argument, found.value)
    title = f"Pack with {found.argument}={found.value}"
    if found.argument != "batch_first":
        yield title, (own,), 0.95
        return
    other = [call for call in subject.source.calls(UNPACK) if not _is_given(call, "batch_first", 1)]
    both = [SetArgument(subject.source.site(call), "batch_first", "True") for call in other]
    if both:
        yield f"{title}, and unpack with it", (own, *both), 0.9
    yield title, (own,), 0.85


def _packed(subject: Subject) -> _Packed | None:
    crash = subject.crash
    node = subject.node(crash.site) if crash is not None else None
    node = node.value if isinstance(node, ast.Expr) else node
    if crash is None or not isinstance(node, ast.Call) or subject.source.qualified(node.func) != PACK:
        return None
    if UNSORTED.search(crash.message) and not _is_given(node, "enforce_sorted", 3):
        return _Packed(node, "enforce_sorted", "False", "the longest sequence came first")
    if COUNTED.search(crash.message) and not _is_given(node, "batch_first", 2):
        return _Packed(node, "batch_first", "True", "their first axis were the steps")
    return None


def _is_given(call: ast.Call, name: str, place: int) -> bool:
    return len(call.args) > place or any(one.arg in (name, None) for one in call.keywords)
