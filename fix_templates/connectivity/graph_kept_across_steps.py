"""A second backward pass goes through a graph that the first one gave away."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    InsertAfter,
    InsertBefore,
    Reject,
    Repairs,
    Site,
    Source,
    Subject,
    Symptom,
    Wrap,
    passes_of_step,
    raised_at,
    torch_modules,
    within,
)

_LOOPS = (ast.For, ast.While)


@dataclass(frozen=True, slots=True)
class _Kept:
    """The backward pass that crashed, and the statement that it stands in."""

    call: ast.Call
    statement: ast.stmt


class GraphKeptAcrossSteps(FaultTemplate[_Kept]):
    """Something that was computed before one backward pass is part of the next one: its graph is gone by then.

    Most often a recurrent state is carried from one batch to the next with all that it was computed from; it has to be
    detached between them. Or the made-up samples of a generator go into the loss of its opponent as well, which is to
    learn from them without reaching the generator.

    Fix safety: unsafe. The gradients end at the state, or at the samples, as truncated training wants it.

    References: torch.Tensor.backward ("retain_graph"), torch.Tensor.detach.
    """

    code = "DNF436"
    name = "graph-kept-across-steps"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "{what} goes back through a graph that an earlier backward pass has used up"
    triggers = ("backward",)
    needs_run = True
    declined = "what is carried from one pass to the next cannot be told"

    def faults(self, subject: Subject) -> Faults[_Kept]:
        node = raised_at(subject, "RuntimeError", "backward through the graph a second time")
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "backward":
            return
        passes = passes_of_step(subject.source, node)
        if not passes or passes[0].call is node:  # else the two passes are of one step
            yield subject.source.site(node), _Kept(node, subject.source.statement_of(node))

    def report(self, site: Site, found: _Kept) -> Finding:
        return self.finding(
            site, symptom=Symptom.CRASH, confidence=0.9, cause="crash", what=f"`{ast.unparse(found.call)}`"
        )

    def repairs(self, subject: Subject, found: _Kept) -> Repairs:
        source = subject.source
        loop = source.enclosing(found.call, *_LOOPS)
        if not isinstance(loop, _LOOPS):
            return
        undetached = _shared(source, found, loop)
        if undetached is not None:
            edits = tuple(Wrap(source.site(read), "", ".detach()") for read in undetached)
            yield f"Detach `{undetached[0].id}` for the loss of the other network", edits, 0.9
            return
        carried = _carried(source, loop)
        after = source.site(found.statement)
        if carried:
            one = "\n".join(f"{name} = {name}.detach()" for name in carried)
            yield f"Detach {_listed(carried)} after each step", (InsertAfter(after, one),), 0.85
            many = "\n".join(f"{name} = tuple(state.detach() for state in {name})" for name in carried)
            yield f"Detach the states in {_listed(carried)} after each step", (InsertAfter(after, many),), 0.8
            return
        kept = list(_kept_in_modules(source))
        if len(kept) == 1:
            statement, name = kept[0]
            place = source.site(statement)
            yield f"Detach `{name}` before it is used again", (InsertBefore(place, f"{name} = {name}.detach()"),), 0.8
            many = f"{name} = tuple(state.detach() for state in {name})"
            yield f"Detach the states in `{name}` before they are used again", (InsertBefore(place, many),), 0.75

    examples = (
        Example(
            "the state of a recurrent layer",
            """\
import torch
from torch import nn

rnn, head = nn.GRU(2, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
state = torch.zeros(1, 3, 4)
for step in range(3):
    out, state = rnn(torch.randn(5, 3, 2), state)
    loss = head(out).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
+     state = state.detach()
    optimizer.step()
""",
            runs=True,
        ),
        Example(
            "the samples of a generator",
            """\
import torch
from torch import nn

G, D = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 1), nn.Sigmoid())
opt_g = torch.optim.Adam(G.parameters())
opt_d = torch.optim.Adam(D.parameters())
bce = nn.BCELoss()
for _ in range(2):
    fake = G(torch.randn(4, 2))
-     d_loss = bce(D(torch.randn(4, 3)), torch.ones(4, 1)) + bce(D(fake), torch.zeros(4, 1))
+     d_loss = bce(D(torch.randn(4, 3)), torch.ones(4, 1)) + bce(D(fake.detach()), torch.zeros(4, 1))
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    g_loss = bce(D(fake), torch.ones(4, 1))
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
""",
            runs=True,
        ),
        Example(
            "a state that the model keeps",
            """\
import torch

class Tagger(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(2, 4, batch_first=True)
        self.out = torch.nn.Linear(4, 3)
        self.hidden = (torch.zeros(1, 2, 4), torch.zeros(1, 2, 4))

    def forward(self, x):
+         self.hidden = tuple(state.detach() for state in self.hidden)
        seq, self.hidden = self.lstm(x, self.hidden)
        return self.out(seq)

tagger = Tagger()
optimizer = torch.optim.SGD(tagger.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    tagger(torch.randn(2, 5, 2)).sum().backward()
    optimizer.step()
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a state that is detached",
            """\
import torch
from torch import nn

rnn = nn.GRU(2, 4)
state = torch.zeros(1, 3, 4)
for step in range(3):
    out, state = rnn(torch.randn(5, 3, 2), state.detach())
    out.sum().backward()
""",
            runs=True,
        ),
        Reject(
            "two passes through one graph that is kept",
            """\
import torch

net = torch.nn.Linear(2, 2)
out = net(torch.randn(3, 2))
out[:, 0].sum().backward(retain_graph=True)
out[:, 1].sum().backward()
""",
            runs=True,
        ),
    )


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _stored(node: ast.Assign) -> list[str]:
    parts = [each for target in node.targets for each in within(target, ast.Name)]
    return [each.id for each in parts if isinstance(each.ctx, ast.Store)]


def _carried(source: Source, loop: ast.For | ast.While) -> list[str]:
    """The names that a loop computes anew from themselves by a call, and that were there before it."""
    assigned = [node for node in within(loop, ast.Assign) if node in _under(source, loop)]
    found: dict[str, None] = {}
    for node in assigned:
        given = {
            name.id for call in within(node.value, ast.Call) for arg in call.args for name in within(arg, ast.Name)
        }
        for name in _stored(node):
            others = [each for each in assigned if name in _stored(each) and each is not node]
            if name in given and not others and not _looped(source, loop, name):
                found[name] = None
    return list(found)


def _under(source: Source, loop: ast.AST) -> list[ast.stmt]:
    function = source.enclosing(loop, ast.FunctionDef)
    return [node for node in within(loop, ast.Assign) if source.enclosing(node, ast.FunctionDef) is function]


def _looped(source: Source, loop: ast.For | ast.While, name: str) -> bool:
    """Whether the name is given by a loop itself."""
    loops = [loop, *within(loop, ast.For)]
    return any(isinstance(each, ast.For) and name in {n.id for n in within(each.target, ast.Name)} for each in loops)


def _kept_in_modules(source: Source) -> Iterator[tuple[ast.Assign, str]]:
    """The statements by which modules compute an attribute from itself, outside of `__init__`."""
    for owner in torch_modules(source):
        for node in within(owner, ast.Assign):
            stored = [each for target in node.targets for each in within(target, ast.Attribute)]
            read = {ast.unparse(each) for each in within(node.value, ast.Attribute)}
            for each in stored:
                name = ast.unparse(each)
                if isinstance(each.ctx, ast.Store) and name in read and isinstance(node.value, ast.Call):
                    yield node, name


def _shared(source: Source, found: _Kept, loop: ast.For | ast.While) -> list[ast.Name] | None:
    """The reads, in one of two losses, of the one name that both are computed from and that is another network's."""
    sent = [
        call
        for call in within(loop, ast.Call)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "backward"
        and isinstance(call.func.value, ast.Name)
    ]
    if len(sent) != 2 or sent[1] is not found.call:
        return None
    assigned = [node for node in within(loop, ast.Assign) if len(node.targets) == 1]
    first, second = (_slice(assigned, call) for call in sent)
    made = [
        node
        for node in first
        if node in second
        and node.lineno < sent[0].lineno
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and source.constructor(node.value.func) is not None
        and isinstance(node.targets[0], ast.Name)
    ]
    if len(made) != 1 or not isinstance(made[0].targets[0], ast.Name) or not isinstance(made[0].value, ast.Call):
        return None
    name, maker = made[0].targets[0].id, ast.unparse(made[0].value.func)
    trains_maker = _trained_after(source, loop, sent[0]) == maker
    own = second if trains_maker else first
    other = first if trains_maker else second
    reads = [read for node in own if node not in other for read in _reads(node.value, name)]
    return reads or None


def _reads(value: ast.expr, name: str) -> list[ast.Name]:
    return [read for read in within(value, ast.Name) if read.id == name and isinstance(read.ctx, ast.Load)]


def _slice(assigned: list[ast.Assign], sent: ast.Call) -> list[ast.Assign]:
    """The assignments before a backward pass that its loss comes from."""
    names = {node.id for node in within(sent.func, ast.Name)}
    found: list[ast.Assign] = []
    for node in reversed([each for each in assigned if each.lineno < sent.lineno]):
        stored = set(_stored(node))
        if stored & names:
            found.append(node)
            names = (names - stored) | {each.id for each in within(node.value, ast.Name)}
    return found


def _trained_after(source: Source, loop: ast.AST, sent: ast.Call) -> str | None:
    """The network whose parameters the first optimizer after a backward pass holds."""
    for call in within(loop, ast.Call):
        if call.lineno > sent.lineno and isinstance(call.func, ast.Attribute) and call.func.attr == "step":
            made = source.constructor(call.func.value)
            given = made.args[0] if made is not None and made.args else None
            if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute):
                return ast.unparse(given.func.value)
            return None
    return None
