"""Gradients are cleared after they were computed and before the optimizer takes its step."""

from __future__ import annotations

import ast
from collections.abc import Iterator
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
    InsertAfter,
    InsertBefore,
    LoopOperation,
    Reject,
    Repairs,
    Site,
    Source,
    Subject,
    Symptom,
    block_of,
    goes_other_ways,
    loops_around,
    operations_named,
)


@dataclass(frozen=True, slots=True)
class Cleared:
    """The three operations; `late` says that the step stands before the backward pass of its turn."""

    clearing: LoopOperation
    backward: LoopOperation
    step: LoopOperation
    late: bool


class GradientsClearedBeforeStep(FaultTemplate[Cleared]):
    """`loss.backward()`, `optimizer.zero_grad()`, `optimizer.step()`: the step finds no gradients, nothing is trained.

    The same with the step between the clearing and the backward pass: the gradients of a turn are cleared in the next
    one before anything has used them.

    Fix safety: unsafe. The model is trained from now on, which is the point.

    References: torch.optim ("Taking an optimization step").
    """

    code = "DNF703"
    name = "gradients-cleared-before-step"
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    message = "{optimizer}.step() finds no gradients: they are cleared after the backward pass and before it"
    triggers = ("zero_grad",)
    declined = "the three do not stand in one block"

    def faults(self, subject: Subject) -> Faults[Cleared]:
        source = subject.source
        if goes_other_ways(subject.source, subject.words):
            return
        for found in _cleared(source):
            yield source.site(found.step.call), found

    def report(self, site: Site, fault: Cleared) -> Finding:
        return self.finding(site, symptom=Symptom.VIOLATION, confidence=0.95, optimizer=fault.step.on)

    def repairs(self, subject: Subject, fault: Cleared) -> Repairs:
        site = subject.source.site
        moved = fault.step if fault.late else fault.clearing
        text = subject.source.segment(site(moved.statement))
        place = site(fault.backward.statement)
        put: Edit = InsertAfter(place, text) if fault.late else InsertBefore(place, text)
        where = "behind" if fault.late else "before"
        yield f"Put {text} {where} the backward pass", (Delete(site(moved.statement)), put), 0.95

    examples = (
        Example(
            "the step comes before the backward pass",
            """\
import torch

def train(model, opt, batches):
    for epoch in range(5):
        for x, y in batches:
            opt.zero_grad()
            error = ((model(x) - y) ** 2).mean()
+             error.backward()
            opt.step()
-             error.backward()
            print(error.item())
""",
        ),
        Example(
            "in a method for one batch",
            """\
import torch

class Learner:
    def update(self, batch):
        loss = self.loss(batch)
+         self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
-         self.optimizer.zero_grad()
        self.optimizer.step()
        return loss.item()
""",
        ),
    )
    rejects = (
        Reject(
            "every usual order",
            """\
import torch

for x, y in loader:
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    optimizer.step()

for x, y in loader:
    criterion(net(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()

for x, y in loader:
    optimizer.step()
    optimizer.zero_grad()
    criterion(net(x), y).backward()
""",
        ),
        Reject(
            "the two halves of a GAN",
            """\
import torch

for real in loader:
    opt_g.zero_grad()
    loss_g = -D(G(noise())).mean()
    loss_g.backward()
    opt_g.step()
    opt_d.zero_grad()
    loss_d = D(G(noise()).detach()).mean() - D(real).mean()
    loss_d.backward()
    opt_d.step()
""",
        ),
        Reject(
            "the gradients are taken, changed and put back",
            """\
import torch

for x, y in loader:
    criterion(net(x), y).backward()
    mine = project(net)
    optimizer.zero_grad()
    put_back(net, mine)
    optimizer.step()
""",
        ),
        Reject(
            "a step that computes the gradients itself",
            """\
import torch

for x, y in loader:
    loss = criterion(net(x), y)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step(closure)
""",
        ),
    )


def _cleared(source: Source) -> Iterator[Cleared]:
    for step in operations_named(source, "step"):
        if step.call.args or step.call.keywords:
            continue
        block = block_of(source, step.statement)
        own = {each.statement: each for each in operations_named(source, "zero_grad") if each.on == step.on}
        passes = {each.statement: each for each in operations_named(source, "backward")}
        place = block.index(step.statement)
        before = _last(block[:place], own, passes)
        if before not in own or any(_hides(s) for s in block):
            continue
        if sum(s in own for s in block) != 1 or sum(_steps(s, step.on) for s in block) != 1:
            continue
        earlier = [s for s in block[: block.index(before)] if s in passes]
        later = [s for s in block[place + 1 :] if s in passes]
        between = block[block.index(before) + 1 : place]
        if len(earlier) == 1 and not later and not between:
            yield Cleared(own[before], passes[earlier[0]], step, late=False)
        elif len(later) == 1 and not earlier and loops_around(source, step.statement):
            yield Cleared(own[before], passes[later[0]], step, late=True)


def _last(
    block: list[ast.stmt], own: dict[ast.Expr, LoopOperation], passes: dict[ast.Expr, LoopOperation]
) -> ast.Expr | None:
    """The last clearing or backward pass in a row of statements."""
    found = [s for s in block if isinstance(s, ast.Expr) and (s in own or s in passes)]
    return found[-1] if found else None


def _steps(statement: ast.stmt, optimizer: str) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call.func) == f"{optimizer}.step"


def _hides(statement: ast.stmt) -> bool:
    """Whether a backward pass may be hidden in a statement: one within a `with`, an `if` or a loop."""
    if isinstance(statement, ast.Expr):
        return False
    return any(isinstance(n, ast.Attribute) and n.attr in ("backward", "step") for n in ast.walk(statement)) or (
        isinstance(statement, (ast.With, ast.If, ast.For, ast.While, ast.Try))
        and any(isinstance(n, ast.Call) and "grad" in ast.unparse(n.func) for n in ast.walk(statement))
    )
