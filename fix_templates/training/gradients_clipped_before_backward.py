"""Gradients are clipped before the backward pass of the turn has computed them."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
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
    LoopOperation,
    Reject,
    Repairs,
    Site,
    Source,
    Subject,
    Symptom,
    attribute_calls,
    block_of,
    operations_named,
    within,
)

CLIPPING = tuple(f"torch.nn.utils.clip_grad_{name}" for name in ("norm", "norm_", "value_"))

HARMLESS = frozenset({"zero_grad", "train", "print", "append", "info", "debug", "set_description"})
"""What may be called for its effect around the loss of a turn."""


@dataclass(frozen=True, slots=True)
class Early:
    """The statement that clips, the call in it, and the backward pass behind it."""

    statement: ast.Expr
    call: ast.Call
    backward: LoopOperation


class GradientsClippedBeforeBackward(FaultTemplate[Early]):
    """`clip_grad_norm_` stands before `loss.backward()`, where the gradients are those of no batch: nothing is clipped.

    Clipping changes the gradients that are there. Before the backward pass there are none, or zeros, and the optimizer
    then steps with gradients of any size. Reported where the clipping, one backward pass and one step follow one another
    in a block, and nothing before them could have computed gradients.

    Fix safety: unsafe. The gradients are clipped from now on, and training takes other steps.

    References: torch.nn.utils.clip_grad_norm_ ("Gradients are modified in-place").
    """

    code = "DNF707"
    name = "gradients-clipped-before-backward"
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    message = "{function} finds no gradients: {loss}.backward() computes them afterwards"
    triggers = ("clip_grad_norm", "clip_grad_norm_", "clip_grad_value_")
    declined = "the clipping cannot be moved"

    def faults(self, subject: Subject) -> Faults[Early]:
        source = subject.source
        if not OTHER_WAYS.isdisjoint(subject.words):
            return
        for call in source.calls(*CLIPPING):
            for found in _early(source, call):
                yield source.site(found.statement), found

    def report(self, site: Site, fault: Early) -> Finding:
        function = ast.unparse(fault.call.func).rpartition(".")[2]
        return self.finding(site, symptom=Symptom.VIOLATION, confidence=0.95, function=function, loss=fault.backward.on)

    def repairs(self, subject: Subject, fault: Early) -> Repairs:
        source = subject.source
        place = source.site(fault.statement)
        text = textwrap.dedent("\n".join(source.places.lines[place.line - 1 : place.end_line]))
        edits = (Delete(source.site(fault.statement)), InsertAfter(source.site(fault.backward.statement), text))
        yield "Clip the gradients behind the backward pass", edits, 0.95

    examples = (
        Example(
            "between the loss and the pass",
            """\
import torch
from torch import nn

for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(rnn(x), y)
+     loss.backward()
    nn.utils.clip_grad_norm_(rnn.parameters(), 1.0)
-     loss.backward()
    optimizer.step()
""",
        ),
        Example(
            "in a method, before the old gradients are cleared",
            """\
import torch
from torch.nn.utils import clip_grad_value_

class Learner:
    def update(self, batch):
-         clip_grad_value_(self.net.parameters(), 0.5)
        self.optimizer.zero_grad()
        self.loss(batch).backward()
+         clip_grad_value_(self.net.parameters(), 0.5)
        self.optimizer.step()
""",
        ),
    )
    rejects = (
        Reject(
            "every usual order",
            """\
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
""",
        ),
        Reject(
            "the two halves of a GAN, and a loss whose gradients are clipped alone",
            """\
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
""",
        ),
        Reject(
            "the first pass is in a method, and a helper gathers gradients",
            """\
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
""",
        ),
        Reject(
            "clipped before and behind",
            """\
import torch
from torch.nn.utils import clip_grad_norm_

for x, y in loader:
    optimizer.zero_grad()
    clip_grad_norm_(net.parameters(), 1.0)
    criterion(net(x), y).backward()
    clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
""",
        ),
    )


def _early(source: Source, call: ast.Call) -> Iterator[Early]:
    """The clipping, where its block goes on with one backward pass and one step, and has no others."""
    statement = source.statement_of(call)
    if not isinstance(statement, ast.Expr) or statement.value is not call:
        return
    block = block_of(source, statement)
    place = block.index(statement)
    if not all(_is_harmless(source, each) for each in block[:place]):
        return
    named = [(each, c) for each in block for c in attribute_calls(each, "backward", "step")]
    clipped = [c for each in block for c in source.calls(*CLIPPING) if source.statement_of(c) is each]
    if [_name(c) for _, c in named] != ["backward", "step"] or len(clipped) != 1:
        return
    backward = next((o for o in operations_named(source, "backward") if o.statement is named[0][0]), None)
    if backward is None or block.index(backward.statement) < place:
        return
    between = block[place + 1 : block.index(backward.statement)]
    bound = {each.id for s in between for each in within(s, ast.Name) if isinstance(each.ctx, ast.Store)}
    if all(_is_harmless(source, each) for each in between) and not bound & {n.id for n in within(call, ast.Name)}:
        yield Early(statement, call, backward)


def _is_harmless(source: Source, statement: ast.stmt) -> bool:
    """Whether a statement surely computes no gradients and takes no step: what it calls does neither, and is named for neither."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return ast.unparse(statement.value.func).rpartition(".")[2] in HARMLESS
    for call in within(statement, ast.Call):
        body = source.definition(call.func)
        if body is not None and attribute_calls(body, "backward", "step") or "grad" in ast.unparse(call.func):
            return False
    return True


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""
