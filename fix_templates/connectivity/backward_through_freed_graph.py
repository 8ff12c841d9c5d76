"""`backward` goes through a graph that an earlier `backward` has freed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import cast

from dnnfix.api import (
    Delete,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    InsertBefore,
    ReadTemplate,
    Repair,
    Replace,
    SetArgument,
    Source,
    Subject,
    Symptom,
    Wrap,
    function_around,
    graph,
    raised_errors,
    training_loop,
    trees,
    within,
)

_LOOPS = (ast.For, ast.While)


class BackwardThroughFreedGraph(ReadTemplate):
    """`backward` goes through a part of the graph that an earlier `backward` has freed.

    Most often a recurrent state is carried from one batch to the next without being detached. Or samples of a generator
    go into the loss of the discriminator too, which should not reach the generator. Or one step calls `backward` on
    several losses that share a part of the network: `backward` on their sum accumulates the same gradients. Where
    `backward` is called twice on one loss, what was meant is unknown and nothing is proposed.

    Two passes belong to one step if no optimizer step and no `zero_grad` is between them; they are left alone if
    several optimizers are stepped, since each loss may belong to one of them.

    Fix safety: unsafe. Gradients stop at the state or the samples, as in truncated backpropagation; for several losses
    they are the sum that would accumulate in `grad`.

    References: torch.Tensor.backward ("retain_graph"), torch.Tensor.detach.
    """

    code = "DNF436"
    name = "backward-through-freed-graph"
    formerly = ("graph-used-twice", "graph-kept-across-steps", "DNF448", "graph-used-twice-in-a-step")
    message = "`{call}` goes back through a graph that {before} has freed"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    triggers = ("backward",)
    needs_run = True
    symptom = Symptom.CRASH
    confidence = 0.9
    declined = "the state carried from one pass to the next is not known, or the passes cannot be joined"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source, node = (
            subject.source,
            raised_errors.raised_at(subject, "RuntimeError", "backward through the graph a second time"),
        )
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "backward":
            return
        passes, loop = training_loop.passes_of_step(source, node), _over_losses(source, node)
        first = not passes or passes[0].call is node
        in_step = (not first or loop is not None) and not _steps_several(source, node)
        if in_step or first:
            before = "the pass before it in the same step" if in_step else "an earlier backward pass"
            joining = _joining(source, passes, loop) if in_step else ()
            words = {"call": ast.unparse(node), "before": before}
            yield Fault(source.site(node), words, (*joining, *(_detaching(source, node) if first else ())))

    programs = """
=== example: the state of a recurrent layer
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

=== example: the samples of a generator
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

=== example: a state that the model keeps
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

=== example: two heads on one body
import torch
from torch import nn

body, left, right = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(4, 1)
opt = torch.optim.Adam([*body.parameters(), *left.parameters(), *right.parameters()])
for x in torch.randn(2, 6, 3):
    shared = torch.sigmoid(body(x))
    first = left(shared).pow(2).mean()
    second = (right(shared) - 1).abs().mean()
    opt.zero_grad()
-     first.backward()
-     second.backward()
+     (first + second).backward()
    opt.step()

=== example: a list of losses
import torch
from torch import nn

body = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
heads = nn.ModuleList([nn.Linear(4, 1) for _ in range(3)])
opt = torch.optim.Adam([*body.parameters(), *heads.parameters()])
for x in torch.randn(2, 6, 3):
    shared = body(x)
    losses = [head(shared).pow(2).mean() for head in heads]
    opt.zero_grad()
-     for loss in losses:
-         loss.backward()
+     sum(losses).backward()
    opt.step()

=== reject: a state that is detached
import torch
from torch import nn

rnn = nn.GRU(2, 4)
state = torch.zeros(1, 3, 4)
for step in range(3):
    out, state = rnn(torch.randn(5, 3, 2), state.detach())
    out.sum().backward()

=== reject: two passes through one graph that is kept
import torch

net = torch.nn.Linear(2, 2)
out = net(torch.randn(3, 2))
out[:, 0].sum().backward(retain_graph=True)
out[:, 1].sum().backward()

=== reject: two losses with graphs of their own
import torch

net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(2, 6, 3):
    opt.zero_grad()
    net(x).pow(2).mean().backward()
    (net(x) - 1).abs().mean().backward()
    opt.step()

=== reject: a generator and its discriminator, whose losses are not summed
import torch
from torch import nn

G, D = nn.Sequential(nn.Linear(2, 3), nn.Tanh()), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
opt_g, opt_d = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
for real in torch.randn(2, 4, 3):
    fake = G(torch.randn(4, 2))
    d_loss = D(fake).mean() - D(real).mean()
    g_loss = -D(fake).mean()
    opt_d.zero_grad()
    opt_g.zero_grad()
    d_loss.backward()
    g_loss.backward()
    opt_d.step()
    opt_g.step()
"""


def _joining(source: Source, passes: list[training_loop.LoopOperation], loop: ast.For | None) -> Iterator[Repair]:
    """The repairs of several passes in one step."""
    if loop is not None:
        losses = source.segment(source.site(loop.iter))
        yield "Call backward on the sum of the losses", (Replace(source.site(loop), f"sum({losses}).backward()"),), 0.9
        return
    before = passes[:-1]
    if any(operation.on == passes[-1].on for operation in before):
        return  # twice for one loss: a pass too many, or another loss was meant
    plain = not any(operation.call.args or operation.call.keywords for operation in passes)
    together = _together(source, passes) if plain else None
    if together is not None:
        yield "Call backward on the sum of the losses", together, 0.9
    kept = tuple(SetArgument(source.site(each.call), "retain_graph", "True") for each in before if not each.call.args)
    yield "Keep the graph for the last pass", kept, 0.7


def _detaching(source: Source, last: ast.Call) -> Iterator[Repair]:
    """The repairs of a pass that reaches values computed before an earlier one."""
    loop = source.enclosing(last, *_LOOPS)
    if not isinstance(loop, _LOOPS):
        return
    undetached = _shared(source, last, loop)
    if undetached is not None:
        edits = tuple(Wrap(source.site(read), "", ".detach()") for read in undetached)
        yield f"Detach `{undetached[0].id}` for the loss of the other network", edits, 0.9
        return
    carried = _carried(source, loop)
    kept = list(_kept_in_modules(source)) if not carried else []
    if carried:
        names, written, after = ", ".join(f"`{name}`" for name in carried), carried, "after each step"
        states, place = f"Detach the states in {names} {after}", source.site(source.statement_of(last))
    elif len(kept) == 1:
        names, written, after = f"`{kept[0][1]}`", [kept[0][1]], "before it is used again"
        states, place = f"Detach the states in {names} before they are used again", source.site(kept[0][0])
    else:
        return
    insert, prior = (InsertAfter, 0.85) if carried else (InsertBefore, 0.8)
    one = "\n".join(f"{name} = {name}.detach()" for name in written)
    yield f"Detach {names} {after}", (insert(place, one),), prior
    many = "\n".join(f"{name} = tuple(state.detach() for state in {name})" for name in written)
    yield states, (insert(place, many),), prior - 0.05


def _steps_several(source: Source, call: ast.Call) -> bool:
    """Whether more than one optimizer is stepped in the loop or function around a backward pass."""
    loops = training_loop.loops_around(source, call)
    around: ast.AST = (loops[-1] if loops else function_around(source, call)) or source.tree
    steps = [one.func for one in training_loop.attribute_calls(around, "step") if isinstance(one.func, ast.Attribute)]
    stepped = {ast.unparse(one.value) for one in steps if not _is_schedule(source, one.value)}
    return len(stepped) > 1


def _is_schedule(source: Source, stepped: ast.expr) -> bool:
    made = source.constructor(stepped)
    return made is not None and (source.qualified(made.func) or "").startswith("torch.optim.lr_scheduler.")


def _over_losses(source: Source, call: ast.Call) -> ast.For | None:
    """The loop whose only statement calls `backward` on each loss of a list."""
    statement = source.statement_of(call)
    loop = source.parent(statement)
    if not isinstance(loop, ast.For) or loop.body != [statement] or loop.orelse or call.args or call.keywords:
        return None
    named = isinstance(loop.iter, (ast.Name, ast.Attribute)) and isinstance(loop.target, ast.Name)
    sent = call.func.value if isinstance(call.func, ast.Attribute) else None
    same = isinstance(sent, ast.Name) and isinstance(loop.target, ast.Name) and sent.id == loop.target.id
    return loop if named and same else None


def _together(source: Source, passes: list[training_loop.LoopOperation]) -> tuple[Edit, ...] | None:
    """Edits that call `backward` on the sum of the losses; `None` if a loss is assigned again in between."""
    names = [operation.on for operation in passes]
    if not all(isinstance(training_loop.operated_on(each), (ast.Name, ast.Attribute)) for each in passes):
        return None
    first, last = passes[0].statement, passes[-1]
    stored: list[ast.Name | ast.Attribute] = [*source.nodes(ast.Name), *source.nodes(ast.Attribute)]
    for node in stored:
        between = first.lineno <= node.lineno <= last.statement.lineno
        if between and isinstance(node.ctx, ast.Store) and ast.unparse(node) in names[:-1]:
            return None
    if any(
        each.attr == "grad"
        for each in within(source.tree, ast.Attribute)
        if first.lineno <= each.lineno <= last.statement.lineno
    ):
        return None
    gone = tuple(Delete(source.site(operation.statement)) for operation in passes[:-1])
    return (*gone, Replace(source.site(last.call), f"({' + '.join(names)}).backward()"))


def _carried(source: Source, loop: ast.For | ast.While) -> list[str]:
    """The names defined before a loop that it computes from themselves in a call."""
    assigned = [node for node in within(loop, ast.Assign) if node in _under(source, loop)]
    found: dict[str, None] = {}
    for node in assigned:
        given = {
            name.id for call in within(node.value, ast.Call) for arg in call.args for name in within(arg, ast.Name)
        }
        for name in [each.id for each in within(node, ast.Name) if isinstance(each.ctx, ast.Store)]:
            others = [each for each in assigned if name in trees.stored_names(each) and each is not node]
            if name in given and not others and not _looped(loop, name):
                found[name] = None
    return list(found)


def _under(source: Source, loop: ast.AST) -> list[ast.stmt]:
    function = source.enclosing(loop, ast.FunctionDef)
    return [node for node in within(loop, ast.Assign) if source.enclosing(node, ast.FunctionDef) is function]


def _looped(loop: ast.For | ast.While, name: str) -> bool:
    """Whether the name is the target of a loop."""
    loops = [loop, *within(loop, ast.For)]
    return any(isinstance(each, ast.For) and name in trees.names_in(each.target) for each in loops)


def _kept_in_modules(source: Source) -> Iterator[tuple[ast.Assign, str]]:
    """The statements in which modules compute an attribute from itself."""
    for owner in graph.torch_modules(source):
        for node in within(owner, ast.Assign):
            stored = [each for target in node.targets for each in within(target, ast.Attribute)]
            read = {ast.unparse(each) for each in within(node.value, ast.Attribute)}
            for each in stored:
                name = ast.unparse(each)
                if isinstance(each.ctx, ast.Store) and name in read and isinstance(node.value, ast.Call):
                    yield node, name


def _shared(source: Source, last: ast.Call, loop: ast.For | ast.While) -> list[ast.Name] | None:
    """The reads, in one of two losses, of the output of another network that both are computed from."""
    sent = [
        call
        for call in training_loop.attribute_calls(loop, "backward")
        if isinstance(cast(ast.Attribute, call.func).value, ast.Name)
    ]
    if len(sent) != 2 or sent[1] is not last:
        return None
    assigned = [node for node in within(loop, ast.Assign) if len(node.targets) == 1]
    before = ([each for each in assigned if each.lineno < call.lineno] for call in sent)
    first, second = (
        [
            each
            for each in training_loop.assignments_behind(earlier, training_loop.read_names(call.func))
            if isinstance(each, ast.Assign)
        ]
        for earlier, call in zip(before, sent, strict=True)
    )
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


def _trained_after(source: Source, loop: ast.AST, sent: ast.Call) -> str | None:
    """The network whose parameters are in the first optimizer stepped after a backward pass."""
    for call in within(loop, ast.Call):
        if call.lineno > sent.lineno and isinstance(call.func, ast.Attribute) and call.func.attr == "step":
            made = source.constructor(call.func.value)
            given = made.args[0] if made is not None and made.args else None
            if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute):
                return ast.unparse(given.func.value)
            return None
    return None
