"""`zero_grad(set_to_none=False)` fills gradients with zeros instead of releasing them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Decline,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    RemoveArgument,
    Subject,
    Symptom,
)


class GradientsFilledWithZeros(FixTemplate):
    """`zero_grad(set_to_none=False)` fills gradients with zeros; the default since PyTorch 2.0 releases their memory.

    Off by default: some programs read gradients between steps and rely on the zeros.

    Fix safety: unsafe. An optimizer skips parameters whose gradient is `None`, and would have applied weight decay or
    momentum for zeros; and `parameter.grad` is `None` after the call.

    References: https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html.
    """

    code = "DNF902"
    name = "gradients-filled-with-zeros"
    family = Family.OPINIONATED
    fix_pattern = FixPattern.API_CONTRACT
    message = "zero_grad fills the gradients with zeros instead of setting them to None, which frees their memory"
    triggers = ("set_to_none",)
    default = False

    def detect(self, subject: Subject) -> Iterator[Finding]:
        source = subject.source
        if "torch" not in source.frameworks:
            return
        for call in source.all_calls:
            if not isinstance(call.func, ast.Attribute) or call.func.attr != "zero_grad":
                continue
            keyword = next((k for k in call.keywords if k.arg == "set_to_none"), None)
            if keyword is not None and isinstance(keyword.value, ast.Constant) and keyword.value.value is False:
                yield self.finding(source.site(call), symptom=Symptom.NONE_OBSERVED, confidence=0.5)

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        yield self.candidate(
            finding, "set the gradients to None", RemoveArgument(finding.site, "set_to_none"), prior=0.5
        )

    programs = """
=== example (runs): of the network
import torch

net = torch.nn.Linear(2, 1)
net(torch.ones(1, 2)).sum().backward()
- net.zero_grad(set_to_none=False)
+ net.zero_grad()

=== reject (runs): the default, and the same written out
import torch

net = torch.nn.Linear(2, 1)
net.zero_grad()
net.zero_grad(set_to_none=True)

=== reject: a value from elsewhere
import torch


def clear(optimizer, keep):
    optimizer.zero_grad(set_to_none=not keep)
"""
