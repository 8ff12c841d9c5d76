"""A loop computes gradients and steps its optimizer, and nothing clears the gradients in between."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dnnfix.api import (
    OTHER_WAYS,
    Delete,
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
    function_around,
    is_optimizer,
    loops_around,
    only_measures_gradients,
    operated_on,
    operations_named,
    stored_names,
    within,
)

CLEARED_OTHERWISE = frozenset({"zero_", "grads", "zero_grads"})

IN_PLACE = frozenset({"sub_", "add_", "addcmul_", "addcdiv_"})
"""Methods that change a tensor by what they are given."""


@dataclass(frozen=True, slots=True)
class Uncleared:
    """A backward pass and the step after it; `outer` is a clearing that stands outside of their loop."""

    backward: LoopOperation
    step: LoopOperation
    outer: LoopOperation | None


@dataclass(frozen=True, slots=True)
class ByHand:
    """Updates of weights by their own gradients, in one block behind a backward pass: the statements, and each weight."""

    updates: tuple[ast.stmt, ...]
    weights: tuple[str, ...]


class GradientsNeverCleared(FaultTemplate[Uncleared | ByHand]):
    """`backward` adds to the gradients that are there, so those of every earlier batch take part in each step.

    Reported where a loop calls `backward` and then the `step` of an optimizer, both in every turn, and the gradients of
    this optimizer are cleared nowhere, or only outside of this loop; or where it changes weights in place by their
    gradients, without an optimizer. Programs that collect the gradients of several
    batches step less often than they compute gradients, and are left alone.

    Fix safety: unsafe. Every step follows the gradient of its own batch from now on, which is the point.

    References: torch.optim ("Taking an optimization step"), torch.optim.Optimizer.zero_grad.
    """

    code = "DNF701"
    name = "gradients-never-cleared"
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    message = "{step} follows the gradients of all earlier batches: {why}"
    triggers = ("backward",)
    declined = "the backward pass and the step do not stand in one block"

    def faults(self, subject: Subject) -> Faults[Uncleared | ByHand]:
        source = subject.source
        other_ways = OTHER_WAYS & subject.words
        if "torch" not in source.frameworks or other_ways - {"grad"}:
            return
        for fault in _uncleared(source, subject.words) if not other_ways or only_measures_gradients(source) else ():
            yield source.site(fault.step.call), fault
        for updated in _updated_by_hand(source):
            yield source.site(updated.updates[-1]), updated

    def report(self, site: Site, fault: Uncleared | ByHand) -> Finding:
        why = "nothing clears them"
        if isinstance(fault, ByHand):
            step = f"the update of {' and '.join(fault.weights)}"
        else:
            step = f"{fault.step.on}.step()"
            why = why if fault.outer is None else "they are cleared outside of this loop only"
        return self.finding(site, symptom=Symptom.VIOLATION, confidence=0.9, step=step, why=why)

    def repairs(self, subject: Subject, fault: Uncleared | ByHand) -> Repairs:
        site = subject.source.site
        if isinstance(fault, ByHand):
            lines = "\n".join(f"{weight}.grad.zero_()" for weight in fault.weights)
            yield "Clear the gradients after each update", (InsertAfter(site(fault.updates[-1]), lines),), 0.9
            return
        code = f"{fault.step.on}.zero_grad()"
        insert = InsertBefore(site(fault.backward.statement), code)
        if fault.outer is None:
            yield f"Clear the gradients before each backward pass: {code}", (insert,), 0.9
        else:
            moved = (Delete(site(fault.outer.statement)), insert)
            yield "Clear the gradients in the loop that steps the optimizer", moved, 0.9

    examples = (
        Example(
            "cleared once an epoch",
            """\
import torch
import torch.optim as optim

def train(net, batches, loss_fn, epochs):
    opt = optim.Adam(net.parameters())
    for epoch in range(epochs):
-         opt.zero_grad()
        for x, y in batches:
+             opt.zero_grad()
            loss_fn(net(x), y).backward()
            opt.step()
""",
        ),
        Example(
            "gradients are measured, not cleared",
            """\
import torch
from torch import nn

model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
norms = []
for epoch in range(100):
    loss = ((model(x) - y) ** 2).mean()
+     optimizer.zero_grad()
    loss.backward()
    norms.append(model.weight.grad.norm().item())
    optimizer.step()
""",
        ),
        Example(
            "weights updated by hand",
            """\
import torch

slope = torch.randn(1, requires_grad=True)
offset = torch.zeros(1, requires_grad=True)
for turn in range(200):
    error = ((slope * x + offset - y) ** 2).mean()
    error.backward()
    with torch.no_grad():
        slope -= 0.01 * slope.grad
        offset -= 0.01 * offset.grad
+         slope.grad.zero_()
+         offset.grad.zero_()
""",
        ),
    )
    rejects = (
        Reject(
            "weights that are made anew in every turn",
            """\
import torch

slope = torch.randn(1, requires_grad=True)
for turn in range(200):
    ((slope * x - y) ** 2).mean().backward()
    slope.data.sub_(0.01 * slope.grad)
    slope = slope.detach().requires_grad_()
""",
        ),
        Reject(
            "gradients of an image are used, not of weights",
            """\
import torch

for x, y in loader:
    x.requires_grad_(True)
    criterion(net(x), y).backward()
    x.data += 0.1 * x.grad.sign()
""",
        ),
        Reject(
            "the gradients of several batches are collected",
            """\
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / 4
    loss.backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
""",
        ),
        Reject(
            "the model clears them",
            """\
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
""",
        ),
        Reject(
            "two optimizers, the second cleared by a loop",
            """\
import torch

first = torch.optim.Adam(a.parameters())
second = torch.optim.Adam(b.parameters())
for x, y in loader:
    for each in (first, second):
        each.zero_grad()
    criterion(b(a(x)), y).backward()
    first.step()
    second.step()
""",
        ),
        Reject(
            "a helper does all of it",
            """\
import torch

optimizer = torch.optim.Adam(model.parameters())

def prepare():
    optimizer.zero_grad()

for x, y in loader:
    prepare()
    criterion(model(x), y).backward()
    optimizer.step()
""",
        ),
        Reject(
            "gradients are measured, and cleared in their own memory",
            """\
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:
    criterion(model(x), y).backward()
    print(model.weight.grad.norm())
    optimizer.step()
    for p in model.parameters():
        p.grad.mul_(0)
""",
        ),
        Reject(
            "gradients let go by hand",
            """\
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:
    criterion(model(x), y).backward()
    optimizer.step()
    for p in model.parameters():
        p.grad = None
""",
        ),
    )


def _uncleared(source: Source, words: frozenset[str]) -> Iterator[Uncleared]:
    clearings = operations_named(source, "zero_grad")
    if not CLEARED_OTHERWISE.isdisjoint(words) or _written_over(source, "grad", "data"):
        return
    if len(clearings) != sum(
        isinstance(call.func, ast.Attribute) and call.func.attr == "zero_grad" for call in source.all_calls
    ):
        return
    for step in operations_named(source, "step"):
        loops = loops_around(source, step.statement)
        optimizer = operated_on(step)
        known = is_optimizer(source, optimizer)
        if step.call.args or step.call.keywords or not loops or not (known or _is_given(source, optimizer)):
            continue
        block = block_of(source, step.statement)
        before = block[: block.index(step.statement)]
        backwards = [each for each in operations_named(source, "backward") if each.statement in before]
        if not backwards or source.parent(step.statement) is not loops[0] or _once(loops[0]):
            continue
        if not clearings and "zero_grad" not in words:
            yield Uncleared(_first_since(backwards, before), step, None)
            continue
        own = [each for each in clearings if each.on == step.on and known]
        if len(own) != 1 or any(not is_optimizer(source, operated_on(each)) for each in clearings):
            continue
        outside = own[0].statement
        if (
            function_around(source, outside) is function_around(source, step.statement)
            and loops[0] not in loops_around(source, outside)
            and source.parent(outside) in (*loops[1:], source.parent(loops[-1]))
            and outside.lineno < loops[0].lineno
        ):
            yield Uncleared(_first_since(backwards, before), step, own[0])


def _is_given(source: Source, optimizer: ast.expr) -> bool:
    """Whether a function is given the optimizer, by a name that nothing else has."""
    around = function_around(source, optimizer)
    return (
        isinstance(optimizer, ast.Name)
        and optimizer.id in ("optimizer", "optimiser", "optim", "opt")
        and around is not None
        and optimizer.id in {each.arg for each in (*around.args.args, *around.args.kwonlyargs)}
        and source.constructor(optimizer) is None
    )


def _first_since(backwards: list[LoopOperation], before: list[ast.stmt]) -> LoopOperation:
    """The first backward pass after the last step of any optimizer that stands before this one."""
    start = 0
    for place, statement in enumerate(before):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "step":
            start = place
    later = [each for each in backwards if before.index(each.statement) > start]
    return (later or backwards)[0]


def _once(loop: ast.AST) -> bool:
    """Whether a loop ends in its first turn."""
    return isinstance(loop, (ast.For, ast.While)) and any(isinstance(s, (ast.Break, ast.Return)) for s in loop.body)


def _written_over(source: Source, *attributes: str) -> bool:
    """Whether the program gives gradients, or data, a value of its own."""
    return any(
        isinstance(target, ast.Attribute) and target.attr in attributes
        for node in source.nodes(ast.Assign)
        for target in node.targets
    )


def _updated_by_hand(source: Source) -> Iterator[ByHand]:
    """Weights that a loop changes in place by their gradients, which nothing in the program clears."""
    if not CLEARED_OTHERWISE.isdisjoint(source.words) or "zero_grad" in source.words or _written_over(source, "grad"):
        return
    for backward in operations_named(source, "backward"):
        loops = loops_around(source, backward.statement)
        if not loops:
            continue
        found: dict[str, ast.stmt] = {}
        for statement in source.nodes(ast.Expr) + source.nodes(ast.AugAssign):
            weight = _changed_by_its_gradient(statement) if statement.lineno > backward.statement.lineno else ""
            if weight and loops[0] in loops_around(source, statement)[:1] and not _is_made_in(loops, weight):
                found[weight] = statement
        last = max(found.values(), key=lambda one: one.lineno, default=None)
        if last is not None:
            beside = [name for name, one in found.items() if one in block_of(source, last)]
            yield ByHand(tuple(found[name] for name in beside), tuple(beside))


def _changed_by_its_gradient(statement: ast.stmt) -> str:
    """The weight that a statement such as `w.data -= rate * w.grad` changes in place; empty for all other statements."""
    if isinstance(statement, ast.AugAssign):
        changed: ast.AST = statement.target
        by: ast.AST = statement.value
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in IN_PLACE or not call.args:
            return ""
        changed, by = call.func.value, ast.Tuple([*call.args, *(k.value for k in call.keywords)], ast.Load())
    else:
        return ""
    if isinstance(changed, ast.Attribute) and changed.attr == "data":
        changed = changed.value
    weight = ast.unparse(changed)
    read = {ast.unparse(n.value) for n in ast.walk(by) if isinstance(n, ast.Attribute) and n.attr == "grad"}
    return weight if read == {weight} else ""


def _is_made_in(loops: Sequence[ast.AST], weight: str) -> bool:
    """Whether the loops assign the weight, or go through it."""
    made = {ast.unparse(target) for node in within(loops[-1], ast.Assign) for target in node.targets}
    augmented = {n.target.id for n in within(loops[-1], ast.AugAssign) if isinstance(n.target, ast.Name)}
    return weight in made or weight.partition(".")[0] in stored_names(loops[-1]) - augmented
