"""The operations of a training step are in an order in which one of them finds no gradients."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from dnnfix.api import (
    Delete,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    InsertBefore,
    ReadTemplate,
    Source,
    Subject,
    progress_figures,
    training_loop,
    within,
)

CLIPPING = tuple(f"torch.nn.utils.clip_grad_{name}" for name in ("norm", "norm_", "value_"))
HARMLESS = frozenset({"zero_grad", "train", "print", "append", "info", "debug", "set_description"})
"""Calls that may be made for their effect around the loss."""


class TrainingStepOutOfOrder(ReadTemplate):
    """`backward()`, `zero_grad()`, `step()` in that order: the step finds no gradients, and nothing is trained.

    Also reported: a step between `zero_grad()` and `backward()`, whose gradients the next iteration clears unused; a
    step after the loop over the batches, which clears the gradients of all but the last; and `clip_grad_norm_` before
    `backward()`, which clips nothing.

    The operations have to be in one block, or the step right after the loop, each of them once. Gradients that are
    cleared once for all batches are accumulated on purpose.

    Fix safety: unsafe. Every batch trains the model, with clipped gradients, from now on, which is the point.

    References: torch.optim ("Taking an optimization step"), torch.nn.utils.clip_grad_norm_ ("Gradients are modified
    in-place").
    """

    code = "DNF703"
    name = "training-step-out-of-order"
    formerly = (
        "gradients-cleared-before-step",
        "DNF704",
        "step-outside-batch-loop",
        "DNF707",
        "gradients-clipped-before-backward",
    )
    message = "the steps of the training loop are in the wrong order: {what}"
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    silent = 3
    triggers = ("zero_grad", "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_")
    confidence = 0.95

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if not training_loop.goes_other_ways(source, subject.words):
            for step in training_loop.operations_named(source, "step"):
                if not step.call.args and not step.call.keywords:
                    yield from _cleared(source, step)
                    yield from _outside(source, step)
        if training_loop.OTHER_WAYS.isdisjoint(subject.words):
            for call in source.calls(*CLIPPING):
                yield from _clipped(source, call)

    programs = """
=== example: the step comes before the backward pass
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

=== example: in a method for one batch
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

=== example: after the only loop
import torch

def train(model, opt, data):
    model.train()
    for i, (x, y) in enumerate(data):
        opt.zero_grad()
        error = (model(x) - y).pow(2).mean()
        error.backward()
+         opt.step()
        if i % 10 == 0:
            print(error.item())
-     opt.step()

=== example: between the loss and the pass
import torch
from torch import nn

for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(rnn(x), y)
+     loss.backward()
    nn.utils.clip_grad_norm_(rnn.parameters(), 1.0)
-     loss.backward()
    optimizer.step()

=== example: in a method, before the old gradients are cleared
import torch
from torch.nn.utils import clip_grad_value_

class Learner:
    def update(self, batch):
-         clip_grad_value_(self.net.parameters(), 0.5)
        self.optimizer.zero_grad()
        self.loss(batch).backward()
+         clip_grad_value_(self.net.parameters(), 0.5)
        self.optimizer.step()

=== reject: every usual order without clipping
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

=== reject: the two halves of a GAN
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

=== reject: the gradients are read, changed and assigned
import torch

for x, y in loader:
    criterion(net(x), y).backward()
    mine = project(net)
    optimizer.zero_grad()
    put_back(net, mine)
    optimizer.step()

=== reject: a step that computes the gradients itself
import torch

for x, y in loader:
    loss = criterion(net(x), y)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step(closure)

=== reject: the gradients of all batches are collected
import torch

for epoch in range(epochs):
    optimizer.zero_grad()
    for x, y in loader:
        criterion(net(x), y).backward()
    optimizer.step()

=== reject: a step in the loop and one after it
import torch

for epoch in range(epochs):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()
    optimizer.step()

=== reject: the gradients of each sample are clipped and summed up by hand
import torch

for batch in loader:
    for x, y in batch:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        sums = [s + clip(p.grad) for s, p in zip(sums, net.parameters())]
    write(net, sums)
    optimizer.step()

=== reject: another optimizer is cleared
import torch

for epoch in range(epochs):
    for x, y in loader:
        inner.zero_grad()
        criterion(net(x), y).backward()
    outer.step()

=== reject: every usual order
import torch
from torch.nn.utils import clip_grad_norm_

for x, y in loader:
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()

for x, y in loader:
    clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    criterion(net(x), y).backward()

=== reject: the two halves of a GAN, and a loss whose gradients are clipped alone
import torch
from torch.nn.utils import clip_grad_norm_

for real in loader:
    loss_d.backward()
    clip_grad_norm_(D.parameters(), 1.0)
    loss_g.backward()
    opt_d.step()
    opt_g.step()

for x, y in loader:
    optimizer.zero_grad()
    if adversarial:
        attack(x, y).backward()
    clip_grad_norm_(net.parameters(), 0.1)
    criterion(net(x), y).backward()
    optimizer.step()

=== reject: the first pass is in a method, and a helper gathers gradients
import torch
from torch.nn.utils import clip_grad_norm_

class Pair:
    def turn(self, real):
        self.backward_D(real)
        clip_grad_norm_(self.D.parameters(), 1.0)
        self.opt_d.zero_grad()
        loss_g = self.generate()
        loss_g.backward()
        self.opt_g.step()

    def backward_D(self, real):
        self.loss_d(real).backward()

for batch in loader:
    optimizer.zero_grad()
    reward = collect_gradients(policy, batch)
    clip_grad_norm_(policy.parameters(), 0.5)
    entropy(policy).backward()
    optimizer.step()

=== reject: clipped before and after
import torch
from torch.nn.utils import clip_grad_norm_

for x, y in loader:
    optimizer.zero_grad()
    clip_grad_norm_(net.parameters(), 1.0)
    criterion(net(x), y).backward()
    clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
"""


def _moved(source: Source, statement: ast.stmt, to: ast.stmt, before: bool = False) -> tuple[Edit, ...]:
    """The edits that move a statement before or after another one."""
    place = source.site(statement)
    code = textwrap.dedent("\n".join(source.places.lines[place.line - 1 : place.end_line]))
    put: Edit = InsertBefore(source.site(to), code) if before else InsertAfter(source.site(to), code)
    return Delete(place), put


def _cleared(source: Source, step: training_loop.LoopOperation) -> Iterator[Fault]:
    """A `zero_grad` between the backward pass and the step, or a step between `zero_grad` and the backward pass."""
    block = training_loop.block_of(source, step.statement)
    own = {each.statement: each for each in training_loop.operations_named(source, "zero_grad") if each.on == step.on}
    passes = {each.statement for each in training_loop.operations_named(source, "backward")}
    place = block.index(step.statement)
    last = next((s for s in reversed(block[:place]) if isinstance(s, ast.Expr) and (s in own or s in passes)), None)
    if last not in own or any(_hides(s) for s in block):
        return
    if sum(s in own for s in block) != 1 or sum(_steps(s, step.on) for s in block) != 1:
        return
    earlier = [s for s in block[: block.index(last)] if s in passes]
    later = [s for s in block[place + 1 :] if s in passes]
    if len(earlier) == 1 and not later and block.index(last) + 1 == place:
        moved, to, before = last, earlier[0], True
    elif len(later) == 1 and not earlier and training_loop.loops_around(source, step.statement):
        moved, to, before = step.statement, later[0], False
    else:
        return
    what = f"{step.on}.step() finds no gradients, as they are cleared after the backward pass"
    title = f"Put {source.segment(source.site(moved))} {'before' if before else 'after'} the backward pass"
    yield Fault.with_repair(source.site(step.call), what, title, *_moved(source, moved, to, before), prior=0.95)


def _steps(statement: ast.stmt, optimizer: str) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call.func) == f"{optimizer}.step"


def _hides(statement: ast.stmt) -> bool:
    """Whether a statement may contain a backward pass: one within a `with`, an `if` or a loop."""
    if isinstance(statement, ast.Expr):
        return False
    return any(isinstance(n, ast.Attribute) and n.attr in ("backward", "step") for n in ast.walk(statement)) or (
        isinstance(statement, (ast.With, ast.If, ast.For, ast.While, ast.Try))
        and any(isinstance(n, ast.Call) and "grad" in ast.unparse(n.func) for n in ast.walk(statement))
    )


def _outside(source: Source, step: training_loop.LoopOperation) -> Iterator[Fault]:
    """A step after the loop over the batches in which the gradients are cleared and computed."""
    block = training_loop.block_of(source, step.statement)
    for loop in block[: block.index(step.statement)]:
        if not isinstance(loop, training_loop.LOOPS):
            continue
        cleared, passes, stepped = (
            [
                each
                for each in training_loop.operations_named(source, name)
                if loop in training_loop.loops_around(source, each.call)
            ]
            for name in ("zero_grad", "backward", "step")
        )
        own = [each for each in cleared if each.on == step.on and source.parent(each.statement) is loop]
        direct = [each.statement for each in passes if source.parent(each.statement) is loop]
        if len(own) == len(cleared) == 1 and direct and all(each.on != step.on for each in stepped):
            what = f"{step.on}.step() comes after the loop over the batches, which clears the gradients of each"
            edits = _moved(source, step.statement, direct[-1])
            yield Fault.with_repair(source.site(step.call), what, "Step the optimizer for each batch", *edits)


def _clipped(source: Source, call: ast.Call) -> Iterator[Fault]:
    """The clipping, where one backward pass and one step follow it in its block."""
    statement = source.statement_of(call)
    if not isinstance(statement, ast.Expr) or statement.value is not call:
        return
    block = training_loop.block_of(source, statement)
    place = block.index(statement)
    if not all(_is_harmless(source, each) for each in block[:place]):
        return
    named = [
        (each, progress_figures.name_of(c.func))
        for each in block
        for c in training_loop.attribute_calls(each, "backward", "step")
    ]
    clipped = [c for each in block for c in source.calls(*CLIPPING) if source.statement_of(c) is each]
    if [name for _, name in named] != ["backward", "step"] or len(clipped) != 1:
        return
    backward = next((o for o in training_loop.operations_named(source, "backward") if o.statement is named[0][0]), None)
    if backward is None or block.index(backward.statement) < place:
        return
    between = block[place + 1 : block.index(backward.statement)]
    bound = {each.id for s in between for each in within(s, ast.Name) if isinstance(each.ctx, ast.Store)}
    if all(_is_harmless(source, each) for each in between) and not bound & {n.id for n in within(call, ast.Name)}:
        what = f"{progress_figures.name_of(call.func)} finds no gradients, as {backward.on}.backward() computes them afterwards"
        edits = _moved(source, statement, backward.statement)
        yield Fault.with_repair(
            source.site(statement), what, "Clip the gradients after the backward pass", *edits, prior=0.95
        )


def _is_harmless(source: Source, statement: ast.stmt) -> bool:
    """Whether a statement surely computes no gradients and takes no step."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return ast.unparse(statement.value.func).rpartition(".")[2] in HARMLESS
    for call in within(statement, ast.Call):
        body = source.definition(call.func)
        if (
            body is not None
            and training_loop.attribute_calls(body, "backward", "step")
            or "grad" in ast.unparse(call.func)
        ):
            return False
    return True
