"""A square root is taken of a value that is 0, where its slope has no bound."""

from __future__ import annotations

from dnnfix.api import (
    Call,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Site,
    Subject,
    Symptom,
    Wrap,
    edge_calls,
    input_expression,
)


class UnguardedRoot(FaultTemplate[Call]):
    """`sqrt` (or a power below 1) met 0 or a negative number on the way of a gradient.

    The slope of the square root at 0 is infinite, and infinity times the 0 that comes from behind is not a number: one
    such element makes every weight's gradient not a number. Below 0 the root itself is none.

    Fix safety: unsafe. The value changes by the root of the constant at most, near 0 only.

    References: torch.sqrt; torch.autograd mechanics, "gradients for non-differentiable functions".
    """

    code = "DNF316"
    name = "unguarded-root"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.LOSS_FUNCTION
    message = "the root of a value that was {what} in the run"
    triggers = ("sqrt", "sqrt_", "pow", "rsqrt")
    needs_run = True

    declined = "the argument of the root is not written at its call"

    def faults(self, subject: Subject) -> Faults[Call]:
        trace = subject.trace
        if trace is None or not any(_spoilt(step.gradient) or _spoilt(step.loss) for step in trace.steps):
            return
        for call, _ in edge_calls(subject, frozenset({"sqrt", "rsqrt", "pow"})):
            exponent = call.args.get("exponent")
            if not call.name.rstrip("_").endswith("pow") or (isinstance(exponent, float) and 0 < exponent < 1):
                yield call.site, call

    def report(self, site: Site, call: Call) -> Finding:
        what = "negative" if call.outputs[0].finite is False else "0"
        return self.finding(
            site,
            symptom=Symptom.NON_FINITE,
            confidence=0.85,
            evidence={"value": what},
            what=what,
        )

    def repairs(self, subject: Subject, call: Call) -> Repairs:
        inner = input_expression(subject, call)
        if inner is None:
            return
        site = subject.source.site(inner)
        if call.outputs[0].finite is not False:
            yield "Add a small constant to the argument", (Wrap(site, "", " + 1e-8"),), 0.8
        yield "Keep the argument above 0", (Wrap(site, "", ".clamp(min=1e-8)"),), 0.6

    examples = (
        Example(
            "root of a distance of 0",
            """\
import torch

torch.manual_seed(0)
w = torch.randn(3, 3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(3):
    x = torch.randn(4, 3) @ w
    d2 = ((x[:, None] - x[None]) ** 2).sum(-1)
-     loss = torch.sqrt(d2).mean()
+     loss = torch.sqrt(d2 + 1e-8).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            runs=True,
        ),
        Example(
            "root as a method",
            """\
import torch
from torch import nn

net = nn.Linear(2, 2)
optimizer = torch.optim.Adam(net.parameters())
for step in range(3):
    out = net(torch.ones(4, 2)) ** 2 * torch.tensor([1.0, 0.0])
-     loss = out.sqrt().sum()
+     loss = (out + 1e-8).sqrt().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "root of positive values",
            """\
import torch
w = torch.randn(3, 3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(3):
    loss = torch.sqrt((w ** 2).mean() + 1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            runs=True,
        ),
        Reject(
            "squares that are 0",
            """\
import torch
w = torch.zeros(3, 3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(3):
    loss = ((w - torch.eye(3)) ** 2).mean() + (w ** 2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            runs=True,
        ),
    )


def _spoilt(number: float | None) -> bool:
    return number is not None and number - number != 0
