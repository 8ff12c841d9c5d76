"""A logarithm is taken of a probability that can be 0."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    ActivationUse,
    Call,
    Candidate,
    Decline,
    Edit,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    Replace,
    Site,
    Subject,
    Symptom,
    Wrap,
    activation_of,
    edge_calls,
    input_expression,
    rename,
    torch_import,
)


class UnguardedLogarithm(FixTemplate):
    """`log` is written around a softmax or sigmoid, or met a value that was 0 in the run.

    In float32 a softmax is exactly 0 for scores about 104 below the largest, a sigmoid for scores below -104, and one
    minus a sigmoid already for scores above 17. The logarithm is then minus infinity, and the gradient not a number.
    `log_softmax` and `logsigmoid` compute the same from the scores without leaving the finite numbers; elsewhere a small
    constant keeps the argument away from 0.

    Fix safety: unsafe. `log_softmax` gives the same values up to rounding; an added constant changes values near 0.

    References: torch.nn.functional.log_softmax ("while mathematically equivalent to log(softmax(x)), doing these two
    operations separately is slower and numerically unstable"), torch.nn.functional.logsigmoid.
    """

    code = "DNF315"
    name = "unguarded-logarithm"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.LOSS_FUNCTION
    message = "the logarithm of {what}"
    triggers = ("log", "log2", "log10")

    def detect(self, subject: Subject) -> Iterator[Finding]:
        if subject.trace is None and not _may_show(subject):
            return
        observed = {call.site for call, spoilt in edge_calls(subject, LOGARITHMS) if spoilt}
        steps = subject.trace.steps if subject.trace is not None else ()
        told: set[Site] = set()
        for call in subject.network.calls:
            site = call.site
            if not _is_logarithm(call) or site is None or site.path or site in told:
                continue
            within = _of_activation(subject, call)
            if site not in observed and (within is None or not _written_around(subject, call, within[0])):
                continue
            told.add(site)
            what = f"a {within[1].name}, which can be 0" if within is not None else "a value that can be 0"
            if site in observed:
                what = f"{'a ' + within[1].name if within is not None else 'a value'} that was 0 in the run"
            yield self.finding(
                site,
                symptom=Symptom.NON_FINITE if site in observed and len(steps) > 1 else Symptom.VIOLATION,
                confidence=0.95 if site in observed else 0.7,
                evidence={"seen not finite": site in observed, "of": within[1].name if within is not None else None},
                what=what,
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        call = next((c for c in subject.network.calls if c.site == finding.site and _is_logarithm(c)), None)
        node = subject.node(finding.site)
        inner = input_expression(subject, call) if call is not None else None
        if call is None or not isinstance(node, ast.Call) or inner is None:
            yield Decline("the argument of the logarithm is not written at its call")
            return
        within = _of_activation(subject, call)
        joined = _joined(subject, node, within[0], within[1]) if within is not None else None
        if joined is not None:
            yield self.candidate(finding, "Compute the logarithm from the scores", *joined, prior=0.9)
        site = subject.source.site(inner)
        guard = Wrap(site, "", " + 1e-12")
        yield self.candidate(finding, "Add a small constant to the argument", guard, prior=0.6)
        if call.name.startswith("torch."):
            clamp = Wrap(site, "", ".clamp(min=1e-12)")
            yield self.candidate(finding, "Keep the argument above 0", clamp, prior=0.5)

    examples = (
        Example(
            "log of softmax",
            """\
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(4, 3)
- logp = torch.log(F.softmax(net(torch.rand(5, 4)), dim=1))
+ logp = F.log_softmax(net(torch.rand(5, 4)), dim=1)
loss = F.nll_loss(logp, torch.tensor([0, 1, 2, 0, 1]))
""",
        ),
        Example(
            "log of sigmoid as methods",
            """\
import torch
from torch import nn

net = nn.Linear(4, 1)
scores = net(torch.rand(5, 4))
- loss = -scores.sigmoid().log().mean()
+ loss = -torch.nn.functional.logsigmoid(scores).mean()
loss.backward()
""",
        ),
        Example(
            "log of a probability that was 0 in the run",
            """\
import torch

scores = (200 * torch.tensor([[1.0, -1.0], [2.0, -3.0]])).requires_grad_()
label = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
p = torch.sigmoid(scores)
pt = torch.where(label == 1, p, 1 - p)
- loss = -torch.log(pt).mean()
+ loss = -torch.log(pt + 1e-12).mean()
loss.backward()
""",
            runs=True,
        ),
        Example(
            "TensorFlow",
            """\
import tensorflow as tf

x = tf.random.normal((4, 3))
- loss = -tf.reduce_mean(tf.math.log(tf.nn.softmax(x)))
+ loss = -tf.reduce_mean(tf.nn.log_softmax(x))
""",
        ),
    )
    rejects = (
        Reject(
            "probability that never was 0",
            """\
import torch
from torch import nn
judge = nn.Sequential(nn.Linear(3, 1), nn.Sigmoid())
p = judge(torch.rand(5, 3))
loss = -torch.log(p).mean()
loss.backward()
""",
            runs=True,
        ),
        Reject(
            "guarded logarithm",
            """\
import torch
import torch.nn.functional as F
x = torch.randn(4, 3, requires_grad=True)
loss = -torch.log(F.softmax(x, dim=1) + 1e-8).mean()
loss.backward()
""",
            runs=True,
        ),
        Reject(
            "logarithm of data",
            """\
import torch
x = torch.rand(4, 3) + 1
y = torch.log(x)
""",
            runs=True,
        ),
        Reject(
            "log_softmax",
            """\
import torch
import torch.nn.functional as F
x = torch.randn(4, 3, requires_grad=True)
loss = -F.log_softmax(x, dim=1).mean()
loss.backward()
""",
            runs=True,
        ),
    )


LOGARITHMS = frozenset({"log", "log2", "log10"})
_PROBABILITIES = frozenset(
    {"softmax", "Softmax", "softmin", "Softmin", "sigmoid", "Sigmoid", "hard_sigmoid", "Hardsigmoid"}
)
_HOMES = frozenset({"torch", "torch.Tensor", "tensorflow", "tensorflow.math", "keras.ops", "keras.backend"})


def _is_logarithm(call: Call) -> bool:
    home, _, name = call.name.rpartition(".")
    return name.rstrip("_") in LOGARITHMS and home in _HOMES and bool(call.inputs)


def _of_activation(subject: Subject, call: Call) -> tuple[Call, ActivationUse] | None:
    """The softmax or sigmoid whose result is given to the logarithm as it is, on the way of a gradient."""
    maker = subject.network.producer(call.inputs[0])
    use = activation_of(maker) if maker is not None else None
    if maker is None or use is None or not use.facts.probabilities or use.as_argument is not None:
        return None
    return maker, use


def _written_around(subject: Subject, call: Call, maker: Call) -> bool:
    """Whether the logarithm is written around the activation, where one function does both, and trains something."""
    inner = input_expression(subject, call)
    if inner is None or inner is not subject.call_node(maker):
        return False
    return call.phase != "eval" and call.inputs[0].requires_grad is not False and _trains(subject)


def _may_show(subject: Subject) -> bool:
    """Whether the source has the words of what it can show, which spares most files of a scan their network."""
    return _trains(subject) and not subject.source.words.isdisjoint(_PROBABILITIES)


def _trains(subject: Subject) -> bool:
    """Whether the program trains anything: a logarithm taken to look at a value does no harm."""
    words = subject.source.words
    return not words.isdisjoint(
        {"backward", "GradientTape", "minimize", "fit", "compile", "reduce_mean", "nll_loss", "NLLLoss"}
    )


def _joined(subject: Subject, node: ast.Call, maker: Call, use: ActivationUse) -> tuple[Edit, ...] | None:
    """Edits that put the function that does both in place of a logarithm written around an activation."""
    source = subject.source
    given = subject.call_node(maker)
    inside = given is not None and any(given is part for part in (*node.args, getattr(node.func, "value", None)))
    if given is None or not inside or maker.made_at is not None:
        return None
    if use.name == "softmax":
        named = rename(subject, given.func, maker.name.rpartition(".")[0] + ".log_softmax")
        if named is None or not isinstance(named[0], Replace):
            return None
        function = source.site(given.func)
        whole = source.site(given)
        text = source.segment(whole)
        kept = text[len(source.segment(function)) :]
        return (Replace(source.site(node), named[0].code + kept), *named[1:])
    if use.name == "sigmoid" and maker.name.startswith("torch."):
        scores = input_expression(subject, maker)
        if scores is None:
            return None
        code = f"torch.nn.functional.logsigmoid({source.segment(source.site(scores))})"
        return (Replace(source.site(node), code), *torch_import(subject))
    return None
