"""A logarithm, root or division is computed where it is not finite or has no finite gradient."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from dnnfix.api import (
    Call,
    Edit,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Repair,
    Replace,
    Site,
    Subject,
    Symptom,
    Wrap,
    call_arguments,
    loss_edits,
    network_facts,
    tensor_values,
    words,
)


class UnguardedFunction(ReadTemplate):
    """`log` of a softmax or sigmoid, or a logarithm, root or division whose argument was 0 in the run, is not guarded.

    In float32 a softmax is exactly 0 for logits about 104 below the largest, a sigmoid for logits below -104, and one
    minus a sigmoid for logits above 17: the logarithm is then minus infinity, and the gradient NaN. `log_softmax` and
    `logsigmoid` compute the same from the logits and stay finite; elsewhere a small constant keeps the argument above
    0. The gradient of a square root at 0 is infinite, and times an incoming 0 it is NaN, as the root of a negative
    number is. A quotient by a sum, count, norm or standard deviation of 0 is infinite or NaN, and so is everything
    computed from it.

    Fix safety: unsafe. `log_softmax` returns the same values up to rounding; an added constant changes values near 0,
    and quotients by a relative amount of the constant over the divisor.

    References: torch.nn.functional.log_softmax ("while mathematically equivalent to log(softmax(x)), doing these two
    operations separately is slower and numerically unstable"), torch.nn.functional.logsigmoid; torch.sqrt;
    torch.autograd mechanics, "gradients for non-differentiable functions"; torch.div; IEEE 754 division by zero.
    """

    code = "DNF315"
    name = "unguarded-function"
    formerly = ("unguarded-logarithm", "DNF316", "unguarded-root", "DNF317", "unguarded-division")
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.LOSS_FUNCTION
    message = "the argument can be outside the domain of the function: {what}"
    declined = "the argument is not an expression of the call"

    def read(self, subject: Subject) -> Iterator[Fault]:
        yield from _logarithms(subject)
        yield from _roots(subject)
        yield from _divisions(subject)

    programs = """
=== example: log of softmax
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(4, 3)
- logp = torch.log(F.softmax(net(torch.rand(5, 4)), dim=1))
+ logp = F.log_softmax(net(torch.rand(5, 4)), dim=1)
loss = F.nll_loss(logp, torch.tensor([0, 1, 2, 0, 1]))

=== example: log of sigmoid as methods
import torch
from torch import nn

net = nn.Linear(4, 1)
scores = net(torch.rand(5, 4))
- loss = -scores.sigmoid().log().mean()
+ loss = -torch.nn.functional.logsigmoid(scores).mean()
loss.backward()

=== example (runs): log of a probability that was 0 in the run
import torch

scores = (200 * torch.tensor([[1.0, -1.0], [2.0, -3.0]])).requires_grad_()
label = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
p = torch.sigmoid(scores)
pt = torch.where(label == 1, p, 1 - p)
- loss = -torch.log(pt).mean()
+ loss = -torch.log(pt + 1e-12).mean()
loss.backward()

=== example: TensorFlow
import tensorflow as tf

x = tf.random.normal((4, 3))
- loss = -tf.reduce_mean(tf.math.log(tf.nn.softmax(x)))
+ loss = -tf.reduce_mean(tf.nn.log_softmax(x))

=== example (runs): root of a distance of 0
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

=== example (runs): mean of an empty selection
import torch

x = torch.rand(4, 2, requires_grad=True)
mask = torch.zeros(4, 1)
count = mask.sum()
- loss = torch.div((x * mask).sum(), count)
+ loss = torch.div((x * mask).sum(), count.clamp(min=1e-8))
loss.backward()

=== example (runs): normalization by a norm
import torch

v = torch.zeros(3, 4, requires_grad=True)
- unit = v / v.norm(dim=1, keepdim=True)
+ unit = v / (v.norm(dim=1, keepdim=True) + 1e-8)
unit.sum().backward()

=== reject (runs): probability that never was 0
import torch
from torch import nn
judge = nn.Sequential(nn.Linear(3, 1), nn.Sigmoid())
p = judge(torch.rand(5, 3))
loss = -torch.log(p).mean()
loss.backward()

=== reject (runs): guarded logarithm
import torch
import torch.nn.functional as F
x = torch.randn(4, 3, requires_grad=True)
loss = -torch.log(F.softmax(x, dim=1) + 1e-8).mean()
loss.backward()

=== reject (runs): logarithm of data
import torch
x = torch.rand(4, 3) + 1
y = torch.log(x)

=== reject (runs): log_softmax
import torch
import torch.nn.functional as F
x = torch.randn(4, 3, requires_grad=True)
loss = -F.log_softmax(x, dim=1).mean()
loss.backward()

=== reject (runs): root of positive values
import torch
w = torch.randn(3, 3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(3):
    loss = torch.sqrt((w ** 2).mean() + 1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== reject (runs): squares that are 0
import torch
w = torch.zeros(3, 3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(3):
    loss = ((w - torch.eye(3)) ** 2).mean() + (w ** 2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== reject (runs): divisor above 0
import torch
x = torch.rand(4, 2, requires_grad=True)
loss = (x / (x.sum() + 1)).sum()
loss.backward()

=== reject (runs): division of what was not finite before
import torch
x = torch.tensor([float("inf"), 1.0])
y = x / 2
"""


_LOGARITHMS = words("log log2 log10")
_ROOTS = words("sqrt rsqrt pow")
_DIVISIONS = words("div true_divide rdiv reciprocal")
_PROBABILITIES = words("softmax Softmax softmin Softmin sigmoid Sigmoid hard_sigmoid Hardsigmoid")
_TRAINING = words("backward GradientTape minimize fit compile reduce_mean nll_loss NLLLoss")
_HOMES = frozenset({"torch", "torch.Tensor", "tensorflow", "tensorflow.math", "keras.ops", "keras.backend"})


def _seen_in(subject: Subject) -> Symptom:
    """The symptom of a value that was not finite, where training went on for a while."""
    trains = subject.trace is not None and len(subject.trace.steps) > 1
    return Symptom.NON_FINITE if trains else Symptom.VIOLATION


def _guards(
    subject: Subject, inner: ast.expr | None, least: str, added: float, clamped: float, argument: str = "argument"
) -> tuple[Repair, ...]:
    """The repairs that keep an argument above 0, by adding `least` or clamping to it; none with prior 0."""
    if inner is None:
        return ()
    site = subject.source.site(inner)
    ways = (
        (f"Add a small constant to the {argument}", (Wrap(site, "", f" + {least}"),), added),
        (f"Keep the {argument} above 0", (Wrap(site, "", f".clamp(min={least})"),), clamped),
    )
    return tuple(way for way in ways if way[2])


def _logarithms(subject: Subject) -> Iterator[Fault]:
    """Logarithms whose argument was 0, and those of a softmax or sigmoid that can be 0."""
    known = subject.source.words
    if subject.trace is None and any(known.isdisjoint(some) for some in (_LOGARITHMS, _TRAINING, _PROBABILITIES)):
        return  # most files of a scan need not have their network read
    observed = {call.site for call, spoilt in tensor_values.edge_calls(subject, _LOGARITHMS) if spoilt}
    told: set[Site] = set()
    for call in subject.network.calls:
        home, _, name = call.name.rpartition(".")
        site, seen = call.site, call.site in observed
        if name.rstrip("_") not in _LOGARITHMS or home not in _HOMES or not call.inputs or site is None or site in told:
            continue
        activation = _of_activation(subject, call)
        if not seen and (activation is None or not _written_around(subject, call, activation[0])):
            continue
        told.add(site)
        node = subject.node(site)
        ways: tuple[Repair, ...] = ()
        if isinstance(node, ast.Call):
            inner = call_arguments.input_expression(subject, call)
            ways = _guards(subject, inner, "1e-12", 0.6, 0.5 if call.name.startswith("torch.") else 0.0)
            if activation is not None and inner is not None:
                ways = (("Compute the logarithm from the logits", _joined(subject, node, *activation), 0.9), *ways)
        of = f"a {activation[1].name}" if activation is not None else "a value"
        what = f"logarithm of {of}{' that was 0 in the run' if seen else ', which can be 0'}"
        symptom = _seen_in(subject) if seen else Symptom.VIOLATION
        yield Fault(site, what, ways, {"seen not finite": seen}, confidence=0.95 if seen else 0.7, symptom=symptom)


def _roots(subject: Subject) -> Iterator[Fault]:
    """Roots, and powers below 1, of 0 or negative numbers in a run whose gradient or loss was not finite."""
    steps = subject.trace.steps if subject.trace is not None else ()
    if not any(
        number is not None and not math.isfinite(number) for step in steps for number in (step.gradient, step.loss)
    ):
        return
    for call, _ in tensor_values.edge_calls(subject, _ROOTS):
        exponent = call.args.get("exponent")
        if not call.name.rstrip("_").endswith("pow") or (isinstance(exponent, float) and 0 < exponent < 1):
            negative = call.outputs[0].finite is False
            ways = _guards(
                subject, call_arguments.input_expression(subject, call), "1e-8", 0.0 if negative else 0.8, 0.6
            )
            what = f"root of a value that was {'negative' if negative else '0'} in the run"
            yield Fault(call.site, what, ways, confidence=0.85, symptom=Symptom.NON_FINITE)


def _divisions(subject: Subject) -> Iterator[Fault]:
    """Divisions whose divisor was 0."""
    for call, spoilt in tensor_values.edge_calls(subject, _DIVISIONS):
        divisor = call.inputs[0] if call.name.endswith(("rdiv", "reciprocal")) else call.inputs[-1]
        zero = divisor.low is not None and divisor.high is not None and divisor.low <= 0 <= divisor.high
        if spoilt and zero:
            written = _divisor(subject.node(call.site))
            alone = isinstance(written, (ast.Name, ast.Call, ast.Attribute, ast.Subscript))
            ways = _guards(subject, written, "1e-8", 0.8, 0.6 if alone else 0.0, "divisor")
            seen = {"divisor": tensor_values.extent(divisor), "shape": divisor.shape}
            yield Fault(call.site, "divisor was 0 in the run", ways, seen, confidence=0.85, symptom=_seen_in(subject))


def _divisor(node: ast.AST | None) -> ast.expr | None:
    match node:
        case ast.BinOp(op=ast.Div(), right=divisor) | ast.AugAssign(value=divisor):
            return divisor
        case ast.Call(func=ast.Attribute(), args=[_, divisor]) | ast.Call(func=ast.Attribute(), args=[divisor, *_]):
            return divisor
    return None


def _of_activation(subject: Subject, call: Call) -> tuple[Call, network_facts.ActivationUse] | None:
    """The softmax or sigmoid whose result is the argument of the logarithm."""
    maker = subject.network.producer(call.inputs[0])
    use = network_facts.activation_of(maker) if maker is not None else None
    if maker is None or use is None or not use.facts.probabilities or use.as_argument is not None:
        return None
    return maker, use


def _written_around(subject: Subject, call: Call, maker: Call) -> bool:
    """Whether the logarithm's argument is the call of the activation, in a computation that is trained.

    A logarithm for inspection only does no harm.
    """
    inner = call_arguments.input_expression(subject, call)
    if inner is None or inner is not subject.call_node(maker) or call.phase == "eval":
        return False
    return call.inputs[0].requires_grad is not False and not subject.source.words.isdisjoint(_TRAINING)


def _joined(subject: Subject, node: ast.Call, maker: Call, use: network_facts.ActivationUse) -> tuple[Edit, ...] | None:
    """Edits that replace a logarithm of an activation by the one function that computes both."""
    source = subject.source
    given = subject.call_node(maker)
    inside = given is not None and any(given is part for part in (*node.args, getattr(node.func, "value", None)))
    if given is None or not inside or maker.made_at is not None:
        return None
    if use.name == "softmax":
        named = loss_edits.rename(subject, given.func, maker.name.rpartition(".")[0] + ".log_softmax")
        if named is None or not isinstance(named[0], Replace):
            return None
        kept = source.segment(source.site(given))[len(source.segment(source.site(given.func))) :]
        return (Replace(source.site(node), named[0].code + kept), *named[1:])
    scores = (
        call_arguments.input_expression(subject, maker)
        if use.name == "sigmoid" and maker.name.startswith("torch.")
        else None
    )
    if scores is None:
        return None
    code = f"torch.nn.functional.logsigmoid({source.segment(source.site(scores))})"
    return (Replace(source.site(node), code), *loss_edits.torch_import(subject))
