"""A square root is taken of a value that is 0, where its slope has no bound."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Call,
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
    input_expression,
)


class UnguardedRoot(FixTemplate):
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

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for call, what in _roots(subject):
            if call.site is not None and not call.site.path:
                yield self.finding(
                    call.site,
                    symptom=Symptom.NON_FINITE,
                    confidence=0.85,
                    evidence={"value": what},
                    what=what,
                )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        call = next((call for call, _ in _roots(subject) if call.site == finding.site), None)
        inner = input_expression(subject, call) if call is not None else None
        if call is None or inner is None:
            yield Decline("the argument of the root is not written at its call")
            return
        site = subject.source.site(inner)
        guard = Wrap(site, "", " + 1e-8")
        if call.outputs[0].finite is not False:
            yield self.candidate(finding, "Add a small constant to the argument", guard, prior=0.8)
        clamp = Wrap(site, "", ".clamp(min=1e-8)")
        yield self.candidate(finding, "Keep the argument above 0", clamp, prior=0.6)

    examples = (
        Example(
            "root of a distance of 0",
            runs=True,
            before="""\
import torch

torch.manual_seed(0)
w = torch.randn(3, 3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(3):
    x = torch.randn(4, 3) @ w
    d2 = ((x[:, None] - x[None]) ** 2).sum(-1)
    loss = torch.sqrt(d2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            after="""\
import torch

torch.manual_seed(0)
w = torch.randn(3, 3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(3):
    x = torch.randn(4, 3) @ w
    d2 = ((x[:, None] - x[None]) ** 2).sum(-1)
    loss = torch.sqrt(d2 + 1e-8).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        ),
        Example(
            "root as a method",
            runs=True,
            before="""\
import torch
from torch import nn

net = nn.Linear(2, 2)
optimizer = torch.optim.Adam(net.parameters())
for step in range(3):
    out = net(torch.ones(4, 2)) ** 2 * torch.tensor([1.0, 0.0])
    loss = out.sqrt().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            after="""\
import torch
from torch import nn

net = nn.Linear(2, 2)
optimizer = torch.optim.Adam(net.parameters())
for step in range(3):
    out = net(torch.ones(4, 2)) ** 2 * torch.tensor([1.0, 0.0])
    loss = (out + 1e-8).sqrt().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        ),
        Example(
            "root of an error that is 0",
            runs=True,
            before="""\
import torch
import torch.nn.functional as F

w = torch.zeros(2, 1, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(3):
    rmse = torch.sqrt(F.mse_loss(torch.ones(4, 2) @ w, torch.zeros(4, 1)))
    optimizer.zero_grad()
    rmse.backward()
    optimizer.step()
""",
            after="""\
import torch
import torch.nn.functional as F

w = torch.zeros(2, 1, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(3):
    rmse = torch.sqrt(F.mse_loss(torch.ones(4, 2) @ w, torch.zeros(4, 1)) + 1e-8)
    optimizer.zero_grad()
    rmse.backward()
    optimizer.step()
""",
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


def _roots(subject: Subject) -> Iterator[tuple[Call, str]]:
    trace = subject.trace
    if trace is None or not any(_spoilt(step.gradient) or _spoilt(step.loss) for step in trace.steps):
        return
    for call, spoilt in edge_calls(subject, frozenset({"sqrt", "rsqrt", "pow"})):
        exponent = call.args.get("exponent")
        root = not call.name.rstrip("_").endswith("pow") or (isinstance(exponent, float) and 0 < exponent < 1)
        if root:
            yield call, "negative" if spoilt else "0"


def _spoilt(number: float | None) -> bool:
    return number is not None and number - number != 0
