"""A division's divisor was 0."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    Subject,
    Symptom,
    Wrap,
    edge_calls,
    extent,
)


class UnguardedDivision(FixTemplate):
    """A tensor was divided by a sum, count, norm or spread that was 0 in the run.

    The quotient is infinite or not a number, and so is everything computed from it. A small constant added to the
    divisor keeps the quotient finite; a count is better kept at 1 or more.

    Fix safety: unsafe. Quotients change by a relative amount of the constant over the divisor.

    References: torch.div; IEEE 754 division by zero.
    """

    code = "DNF317"
    name = "unguarded-division"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.LOSS_FUNCTION
    message = "the divisor was 0 in the run"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        trace = subject.trace
        for call, spoilt in edge_calls(subject, DIVISIONS):
            divisor = call.inputs[0] if call.name.endswith(("rdiv", "reciprocal")) else call.inputs[-1]
            zero = divisor.low is not None and divisor.high is not None and divisor.low <= 0 <= divisor.high
            if spoilt and zero and call.site is not None and not call.site.path:
                yield self.finding(
                    call.site,
                    symptom=Symptom.NON_FINITE if trace is not None and len(trace.steps) > 1 else Symptom.VIOLATION,
                    confidence=0.85,
                    evidence={"divisor": extent(divisor), "shape": divisor.shape},
                )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        node = subject.node(finding.site)
        divisor: ast.expr | None = None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            divisor = node.right
        elif isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Attribute):
            divisor = node.args[-1] if len(node.args) == 2 else node.args[0]
        elif isinstance(node, ast.AugAssign):
            divisor = node.value
        if divisor is None:
            yield Decline("the divisor is not written at the division")
            return
        site = subject.source.site(divisor)
        yield self.candidate(finding, "Add a small constant to the divisor", Wrap(site, "", " + 1e-8"), prior=0.8)
        if isinstance(divisor, (ast.Name, ast.Call, ast.Attribute, ast.Subscript)):
            clamp = Wrap(site, "", ".clamp(min=1e-8)")
            yield self.candidate(finding, "Keep the divisor above 0", clamp, prior=0.6)

    examples = (
        Example(
            "mean of an empty selection",
            """\
import torch

x = torch.rand(4, 2, requires_grad=True)
mask = torch.zeros(4, 1)
count = mask.sum()
- loss = torch.div((x * mask).sum(), count)
+ loss = torch.div((x * mask).sum(), count.clamp(min=1e-8))
loss.backward()
""",
            runs=True,
        ),
        Example(
            "normalization by a norm",
            """\
import torch

v = torch.zeros(3, 4, requires_grad=True)
- unit = v / v.norm(dim=1, keepdim=True)
+ unit = v / (v.norm(dim=1, keepdim=True) + 1e-8)
unit.sum().backward()
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "divisor above 0",
            """\
import torch
x = torch.rand(4, 2, requires_grad=True)
loss = (x / (x.sum() + 1)).sum()
loss.backward()
""",
            runs=True,
        ),
        Reject(
            "division of what was not finite before",
            """\
import torch
x = torch.tensor([float("inf"), 1.0])
y = x / 2
""",
            runs=True,
        ),
    )


DIVISIONS = frozenset({"div", "true_divide", "rdiv", "reciprocal"})
