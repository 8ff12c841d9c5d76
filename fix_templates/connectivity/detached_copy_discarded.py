"""The result of `detach()` is discarded: the tensor keeps its graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Family, Fault, FixPattern, Nature, ReadTemplate, Replace, Subject, bare_calls


class DetachedCopyDiscarded(ReadTemplate):
    """`hidden.detach()` as a statement of its own cuts nothing, for `detach()` gives a new tensor.

    What was to be kept out of the backward pass is still trained, or its graph is carried on and kept. `detach_()` cuts the tensor itself.

    Fix safety: unsafe. Gradients end at the tensor from now on. Where training relied on them, the line itself is the mistake.

    References: torch.Tensor.detach ("Returns a new Tensor, detached from the current graph").
    """

    code = "DNF487"
    name = "detached-copy-discarded"
    message = "the result of `{kept}.detach()` is discarded, and `{kept}` keeps its graph"
    confidence = 0.85
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    nature = Nature.FAULT
    silent = 5
    triggers = ("detach",)

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for call, target in bare_calls.discarded(subject) if "torch" in source.frameworks else ():
            if isinstance(call.func, ast.Attribute) and call.func.attr == "detach":
                kept, site = source.segment(source.site(target)), source.site(call)
                edit = Replace(site, f"{kept} = {subject.text(site)}")
                yield Fault.with_repair(site, {"kept": kept}, f"Assign the result to `{kept}`", edit)

    programs = """
=== example: a state that goes on to the next batch
import torch

for x, y in loader:
-     state.detach()
+     state = state.detach()
    out, state = rnn(x, state)
    criterion(out, y).backward()
    optimizer.step()

=== example: a target
def update(critic, slow, batch, optimizer):
    wanted = batch.reward + 0.99 * slow(batch.following)
-     wanted.detach()
+     wanted = wanted.detach()
    error = torch.nn.functional.mse_loss(critic(batch.state), wanted)
    error.backward()
    optimizer.step()

=== reject: in place, assigned, and handed on
import torch

state.detach_()
state = state.detach()
print(state.detach())
out, state = rnn(x, state)

=== reject: a process that is detached
import torch

session = Session()
session.detach()
session.close()

=== reject: nothing reads it afterwards
import torch

def last(x):
    out = net(x)
    out.detach()
"""
