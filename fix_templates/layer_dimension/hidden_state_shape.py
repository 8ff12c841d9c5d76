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
    Wrap,
    argument,
    crashed_layer,
    input_expression,
    known,
    set_constructor_argument,
    short,
)

VARIABLE = "torch.autograd.Variable"
FILLED = frozenset({"torch.zeros", "torch.randn", "torch.rand", "torch.ones"})


class HiddenStateShape(FixTemplate):
    """A recurrent layer is given a state of a shape that it does not take.

    The state has a row for every layer (twice that for a bidirectional one), then the batch, then the features, whether
    the sequences have the batch first or not; that of a cell has no axis for layers. Typical: the number of layers was
    raised, a state of another batch is used on, the sequences have the batch first and the layer was not told, or the
    axis of the layers was left out, which the first versions of torch did not look at.

    Fix safety: unsafe. The layer starts from another state.

    References: torch.nn.LSTM (`h_0`, `batch_first`: "does not apply to hidden or cell states").
    """

    code = "DNF213"
    name = "hidden-state-shape"
    at_either_end = True
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
        other_order = edits = _other_order(subject, found)
        if edits is not None:
            none = False
            stated = bool(found.call.args.get("batch_first"))  # written by hand, which is more than left to its default
            title = "Tell the layer which axis of the sequences is the batch"
            yield self.candidate(finding, title, *edits, prior=0.6 if stated else 0.9)
        edits = _more_axes(subject, found)
        if edits is not None:
            none = False
            yield self.candidate(finding, "Give the state the axes that the layer takes", *edits, prior=0.8)
        for axis, what in _missing_axes(found):
            sequence = input_expression(subject, found.call)
            if sequence is not None:
                none = False
                longer = Wrap(subject.source.site(sequence), "", f".unsqueeze({axis})")
                yield self.candidate(finding, f"Give the sequences the axis of {what}", longer, prior=0.6)
        edits = _written_states(subject, found)
        if edits is not None:
            none = False
            prior = 0.3 if other_order is not None else 0.85  # how the state is made says which axis is the batch
            yield self.candidate(finding, "Make the state of the shape that the layer takes", *edits, prior=prior)
        node = subject.call_node(found.call)
        if node is not None and len(node.args) == 2:
            none = False
            edit = RemoveArgument(subject.source.site(node), "hx", 1)
            prior = 0.2 if _is_carried(subject, node) else 0.4
            yield self.candidate(finding, "Start from a fresh state (zeros)", edit, prior=prior)
        if none:
            yield Decline("neither the state nor the call that takes it is written at one place")

    examples = (
        Example(
            "sequences with the batch first",
            """\
import torch
from torch import nn

x = torch.randn(8, 5, 3)
- gru = nn.GRU(3, 6)
+ gru = nn.GRU(3, 6, batch_first=True)
h0 = torch.zeros(1, x.size(0), 6)
out, hn = gru(x, h0)
""",
            runs=True,
        ),
        Example(
            "a state without the axis of the layers",
            """\
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
""",
            runs=True,
        ),
        Example(
            "states of two axes and other sizes",
            """\
import torch
import torch.nn as nn
from torch.autograd import Variable

lstm = nn.LSTM(5, 2, num_layers=2, bidirectional=True)
- hidden = (Variable(torch.zeros(3, 2)), Variable(torch.zeros((3, 2))))
+ hidden = (Variable(torch.zeros(4, 4, 2)), Variable(torch.zeros((4, 4, 2))))
out, hidden = lstm(torch.randn(6, 4, 5), hidden)
""",
            runs=True,
        ),
        Example(
            "a state that another layer gave",
            """\
import torch
from torch import nn

encode, rnn = nn.Linear(8, 6), nn.RNN(3, 6)
state = encode(torch.randn(4, 8))
- out, state = rnn(torch.randn(5, 4, 3), state)
+ out, state = rnn(torch.randn(5, 4, 3), state.unsqueeze(0))
""",
            runs=True,
        ),
        Example(
            "layers in the state of a cell",
            """\
import torch
from torch import nn

cell = nn.LSTMCell(5, 2)
h, c = torch.zeros(1, 4, 2), torch.zeros(1, 4, 2)
- h, c = cell(torch.randn(4, 5), (h, c))
+ h, c = cell(torch.randn(4, 5), (h.squeeze(0), c.squeeze(0)))
""",
            runs=True,
        ),
        Example(
            "a sequence without its batch",
            """\
import torch
from torch import nn

rnn = nn.RNN(5, 2)
x = torch.randn(6, 5)
- out, h = rnn(x, torch.zeros(1, 1, 2))
+ out, h = rnn(x.unsqueeze(1), torch.zeros(1, 1, 2))
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


def _is_carried(subject: Subject, call: ast.Call) -> bool:
    """Whether the state comes into a function and leaves it again, as from one step of a sequence to the next."""
    function = subject.source.enclosing(call, ast.FunctionDef)
    if not isinstance(function, ast.FunctionDef) or not isinstance(call.args[1], ast.Name):
        return False
    name = call.args[1].id
    returned = [node for each in ast.walk(function) if isinstance(each, ast.Return) for node in ast.walk(each)]
    given = [each.arg for each in function.args.args]
    return name in given and any(isinstance(node, ast.Name) and node.id == name for node in returned)


def _state(subject: Subject) -> _State | None:
    found = crashed_layer(subject)
    if found is None or found[1].kind != "recurrent":
        return None
    call, _, value = found
    sequence, states = known(value.shape), call.inputs[1:]
    layers, hidden = call.args.get("num_layers", 1), call.args.get("hidden_size")
    if not sequence or not states or not isinstance(layers, int) or not isinstance(hidden, int):
        return None
    axes = len(sequence) - call.name.endswith("Cell")
    ranks = {len(shape) for state in states if (shape := known(state.shape)) is not None}
    if call.args.get("proj_size") or axes not in (1, 2, 3) or call.name.endswith("Cell") and axes == 2:
        return None
    if sequence[-1] != call.args.get("input_size") and ranks == {len(sequence)}:
        return None  # the features are looked at after the number of axes, and before the sizes of the state
    wanted: tuple[int, ...] = (hidden,)
    if call.name.endswith("Cell"):
        wanted = (*sequence[:-1], hidden)
    else:
        rows = layers * (2 if call.args.get("bidirectional") else 1)
        batch = sequence[:-1][0 if call.args.get("batch_first") else 1 :][:1] if len(sequence) == 3 else ()
        wanted = (rows, *batch, hidden)
    odd = any(known(state.shape) not in (None, wanted) for state in states)
    return _State(call, sequence, states, wanted) if odd else None


def _more_axes(subject: Subject, found: _State) -> tuple[Edit, ...] | None:
    """Put an axis before the states, or take it away, where they then have just the right shape."""
    shapes = {known(state.shape) for state in found.states}
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
    """The axes that sequences without a batch may lack, where the state has one for it: its place, and what it is."""
    shapes = {known(state.shape) for state in found.states}
    shape = shapes.pop() if len(shapes) == 1 else None
    if shape is None or len(shape) != 3 or len(found.sequence) != 2 or found.call.name.endswith("Cell"):
        return
    first = bool(found.call.args.get("batch_first"))
    if shape[1] == 1:
        yield (0 if first else 1), "the batch"
    if shape[1] == found.sequence[0]:
        yield (1 if first else 0), "time"


def _other_order(subject: Subject, found: _State) -> tuple[Edit, ...] | None:
    """Set or unset `batch_first`, where the states then have just the right shape."""
    first = bool(found.call.args.get("batch_first"))
    if len(found.sequence) != 3 or len(found.wanted) != 3:
        return None
    batch = found.sequence[1 if first else 0]
    other = (found.wanted[0], batch, found.wanted[2])
    if any(known(state.shape) != other for state in found.states):
        return None
    return set_constructor_argument(subject, found.call, "batch_first", str(not first))


def _written_states(subject: Subject, found: _State) -> tuple[Edit, ...] | None:
    """Rewrite the sizes with which the states are made, without writing the size of the batch down where that can be."""
    edits: list[Edit] = []
    for number, state in enumerate(found.states):
        shape = known(state.shape)
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
        if shape == found.wanted[1:]:  # the axis of the layers alone is missing
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
    """The expression that makes a state: where the run saw that, else what the text says of the argument."""
    node: ast.AST | None = subject.node(found.states[number].site)
    call = subject.call_node(found.call)
    if node is None and call is not None and len(call.args) == 2:
        node = _bound(subject, call.args[1])
        if isinstance(node, (ast.Tuple, ast.List)):
            node = node.elts[number] if len(node.elts) == len(found.states) else None
        node = _bound(subject, node) if isinstance(node, ast.expr) else None
    while isinstance(node, ast.Call) and node.args and subject.source.qualified(node.func) == VARIABLE:
        node = node.args[0]
    return node


def _bound(subject: Subject, node: ast.expr) -> ast.expr | None:
    """What a name was bound to last before the place where it is used."""
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
    """The sizes that a state is made with, one by one or as a tuple."""
    given = node.args[0].elts if len(node.args) == 1 and isinstance(node.args[0], (ast.Tuple, ast.List)) else node.args
    plain = len(given) == count and not any(isinstance(size, ast.Starred) for size in given)
    return list(given) if plain and all(keyword.arg for keyword in node.keywords) else None


def _size_text(subject: Subject, found: _State, state: ast.Call, place: int) -> str | None:
    constructor = subject.constructor_node(found.call)
    if place == 1:
        sequence = input_expression(subject, found.call)
        inside = subject.source.enclosing(state, ast.FunctionDef)
        call = subject.call_node(found.call)
        if call is None or subject.source.enclosing(call, ast.FunctionDef) is not inside:
            return None
        made = subject.source.bindings(sequence) if isinstance(sequence, ast.Name) else ()
        before = any(one.lineno < state.lineno for one in made)
        if inside is None and not before:
            return str(found.wanted[1])  # the sequences have no name, or come after the state
        if not isinstance(sequence, ast.Name):
            return None
        return f"{sequence.id}.size({0 if found.call.args.get('batch_first') else 1})"
    name = "num_layers" if place == 0 else "hidden_size"
    given = argument(subject, constructor, found.call.name, name) if constructor is not None else None
    attribute = isinstance(given, ast.Attribute) and not found.call.args.get("bidirectional")
    if place and isinstance(given, ast.Attribute) or attribute and given is not None:
        return subject.text(subject.source.site(given))
    return str(found.wanted[place])
