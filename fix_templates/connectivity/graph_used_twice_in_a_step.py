"""Two backward passes of one training step go through the same graph."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.api import (
    Delete,
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    LoopOperation,
    Reject,
    Repairs,
    Replace,
    SetArgument,
    Site,
    Source,
    Subject,
    Symptom,
    attribute_calls,
    function_around,
    loops_around,
    operated_on,
    passes_of_step,
    raised_at,
    within,
)

MESSAGE = "backward through the graph a second time"


@dataclass(frozen=True, slots=True)
class _Passes:
    """The call that raised; the backward passes of its step with it, or the loop over the losses that it stands in."""

    call: ast.Call
    passes: tuple[LoopOperation, ...]
    loop: ast.For | None


class GraphUsedTwiceInAStep(FaultTemplate[_Passes]):
    """One step calls `backward` on one loss twice, or one after another on losses that share a part of the network.

    The first pass gives the graph away. Several losses of one step are added up and sent back together, which gives the
    same gradients. Of one loss that is sent back twice nobody but its author knows what was meant.

    Reported where the run ended so, and nothing is updated or cleared between the passes. Silent where several
    optimizers are stepped: each loss may be meant for the weights of one of them.

    Fix safety: unsafe. For several losses the gradients are the sum, as they would add up in `grad`.

    References: torch.Tensor.backward ("retain_graph").
    """

    code = "DNF448"
    name = "graph-used-twice-in-a-step"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "`{what}` goes back through a graph that the pass before it in the same step has used up"
    triggers = ("backward",)
    needs_run = True
    declined = "the passes stand in a way in which they cannot be joined"

    def faults(self, subject: Subject) -> Faults[_Passes]:
        node = raised_at(subject, "RuntimeError", MESSAGE)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "backward":
            return
        passes = tuple(passes_of_step(subject.source, node))
        loop = _over_losses(subject.source, node)
        if _steps_several(subject.source, node):
            return  # as of a generator and its judge: what one loss has for one network, the other need not have
        if passes and passes[0].call is not node or loop is not None:
            yield subject.source.site(node), _Passes(node, passes, loop)

    def report(self, site: Site, fault: _Passes) -> Finding:
        return self.finding(site, symptom=Symptom.CRASH, confidence=0.9, cause="crash", what=ast.unparse(fault.call))

    def repairs(self, subject: Subject, fault: _Passes) -> Repairs:
        source = subject.source
        if fault.loop is not None:
            losses = source.segment(source.site(fault.loop.iter))
            yield "Send the losses back together", (Replace(source.site(fault.loop), f"sum({losses}).backward()"),), 0.9
            return
        last, before = fault.passes[-1], fault.passes[:-1]
        if any(operation.on == last.on for operation in before):
            return  # one loss sent back twice: whether one pass is too many, or another loss was meant, cannot be told
        every = fault.passes
        if not any(operation.call.args or operation.call.keywords for operation in every):
            yield "Send the losses back together", _together(source, every), 0.9
        kept = tuple(
            SetArgument(source.site(each.call), "retain_graph", "True") for each in before if not each.call.args
        )
        yield "Keep the graph for the last pass", kept, 0.7

    examples = (
        Example(
            "two heads on one body",
            """\
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
""",
            runs=True,
        ),
        Example(
            "a list of losses",
            """\
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
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "two losses with graphs of their own",
            """\
import torch

net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(2, 6, 3):
    opt.zero_grad()
    net(x).pow(2).mean().backward()
    (net(x) - 1).abs().mean().backward()
    opt.step()
""",
            runs=True,
        ),
        Reject(
            "a generator and its judge, whose losses are no sum",
            """\
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
""",
            runs=True,
        ),
        Reject(
            "a state that is carried from one step to the next",
            """\
import torch

cell = torch.nn.GRUCell(2, 3)
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
h = torch.zeros(4, 3)
for x in torch.randn(3, 4, 2):
    h = cell(x, h)
    opt.zero_grad()
    h.pow(2).mean().backward()
    opt.step()
""",
            runs=True,
        ),
    )


def _steps_several(source: Source, call: ast.Call) -> bool:
    """Whether more than one optimizer is stepped in the loop or the function around a backward pass."""
    loops = loops_around(source, call)
    around: ast.AST = (loops[-1] if loops else function_around(source, call)) or source.tree
    steps = [one.func for one in attribute_calls(around, "step") if isinstance(one.func, ast.Attribute)]
    stepped = {ast.unparse(one.value) for one in steps if not _is_schedule(source, one.value)}
    return len(stepped) > 1


def _is_schedule(source: Source, stepped: ast.expr) -> bool:
    made = source.constructor(stepped)
    return made is not None and (source.qualified(made.func) or "").startswith("torch.optim.lr_scheduler.")


def _over_losses(source: Source, call: ast.Call) -> ast.For | None:
    """The loop that does nothing but send back one loss of a list after another."""
    statement = source.statement_of(call)
    loop = source.parent(statement)
    if not isinstance(loop, ast.For) or loop.body != [statement] or loop.orelse or call.args or call.keywords:
        return None
    named = isinstance(loop.iter, (ast.Name, ast.Attribute)) and isinstance(loop.target, ast.Name)
    sent = call.func.value if isinstance(call.func, ast.Attribute) else None
    same = isinstance(sent, ast.Name) and isinstance(loop.target, ast.Name) and sent.id == loop.target.id
    return loop if named and same else None


def _together(source: Source, passes: tuple[LoopOperation, ...]) -> tuple[Edit, ...] | None:
    """Edits that send the sum of the losses back where the last of them was; `None` where one gets a new value before."""
    names = [operation.on for operation in passes]
    if not all(isinstance(operated_on(each), (ast.Name, ast.Attribute)) for each in passes):
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
