"""Gradients are clipped before the backward pass of the turn has computed them."""

from __future__ import annotations

import ast
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
)

CLIPPING = tuple(f"torch.nn.utils.clip_grad_{name}" for name in ("norm", "norm_", "value_"))


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
    in a block without any other pass or step.

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
        text = source.segment(source.site(fault.statement))
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
    nn.utils.clip_grad_norm_(rnn.parameters(), 1.0)
    loss.backward()
    optimizer.step()
""",
            """\
import torch
from torch import nn

for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(rnn(x), y)
    loss.backward()
    nn.utils.clip_grad_norm_(rnn.parameters(), 1.0)
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
        clip_grad_value_(self.net.parameters(), 0.5)
        self.optimizer.zero_grad()
        self.loss(batch).backward()
        self.optimizer.step()
""",
            """\
import torch
from torch.nn.utils import clip_grad_value_

class Learner:
    def update(self, batch):
        self.optimizer.zero_grad()
        self.loss(batch).backward()
        clip_grad_value_(self.net.parameters(), 0.5)
        self.optimizer.step()
""",
        ),
        Example(
            "the gradients are cleared at the end of a turn",
            """\
import torch

def train(model, opt, batches):
    for step, (ids, labels) in enumerate(batches):
        out = model(ids, labels=labels)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=5)
        out.loss.backward()
        opt.step()
        opt.zero_grad()
""",
            """\
import torch

def train(model, opt, batches):
    for step, (ids, labels) in enumerate(batches):
        out = model(ids, labels=labels)
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=5)
        opt.step()
        opt.zero_grad()
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
    named = [(each, c) for each in block for c in attribute_calls(each, "backward", "step")]
    clipped = [c for each in block for c in source.calls(*CLIPPING) if source.statement_of(c) is each]
    if [_name(c) for _, c in named] != ["backward", "step"] or len(clipped) != 1:
        return
    backward = next((o for o in operations_named(source, "backward") if o.statement is named[0][0]), None)
    if backward is not None and block.index(statement) < block.index(backward.statement):
        yield Early(statement, call, backward)


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""
