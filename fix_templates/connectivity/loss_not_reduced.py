"""The loss that is sent back has a value for each sample instead of one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Call,
    Edit,
    Example,
    Family,
    FixPattern,
    Mend,
    RaisedTemplate,
    Reject,
    RemoveArgument,
    Repair,
    Source,
    Subject,
    Wrap,
    attribute_calls,
    function_around,
    keyword_value,
    loss_facts,
    upstream,
    within,
)

MESSAGE = "grad can be implicitly created only for scalar outputs"

ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
"""Expressions behind which a method can be called without parentheses."""


@dataclass(frozen=True, slots=True)
class _Loss:
    """The loss that `backward` is called on, the call, the value it was given, and the loss that gave it, if one did."""

    sent: ast.expr
    backward: ast.Call
    value: ast.expr | None
    made: Call | None


class LossNotReduced(RaisedTemplate):
    """`backward` is called on a loss with one value per sample: `reduction="none"`, or an expression without its mean.

    Gradients are taken of one number. A loss that was asked for each sample's value, or that the program writes itself as
    `(pred - y) ** 2`, has to be averaged before it is sent back, after weights or masks were applied.

    Reported where the run ended so in a training that updates weights, and the value comes from a loss, from a difference or a
    function of the program, but not where the bare output of a network is sent back: there a single one of its values
    may be meant.

    Fix safety: unsafe. The mean is taken; for a sum the learning rate would have to be another.

    References: torch.Tensor.backward; torch.nn.MSELoss ("reduction").
    """

    code = "DNF445"
    name = "loss-not-reduced"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.LOSS_FUNCTION
    triggers = ("backward",)
    said = MESSAGE
    declined = "where the loss is made cannot be told"
    confidence = 0.9

    def mends(self, subject: Subject, node: ast.expr | ast.stmt) -> Iterator[Mend]:
        source = subject.source
        sent = _sent(node) if isinstance(node, ast.Call) and _updates_weights(source) else None
        found = _loss(subject, node, sent) if sent is not None and isinstance(node, ast.Call) else None
        if found is None:
            return
        name = ast.unparse(found.sent)
        repairs: list[Repair] = []
        if found.value is not None and not _read_by_sample(source, found):
            reduction = _reduction(subject, found)
            repairs.append((f"Average `{name}` over the samples", (_mean(source, found.value),), 0.9))
            repairs.append(("Let the loss take the mean", (reduction,) if reduction is not None else None, 0.85))
        else:
            repairs.append((f"Average `{name}` for the backward pass", (_mean(source, found.sent),), 0.85))
        what = f"`{name}` has a value for each sample, and gradients can be taken of one number only"
        yield Mend(source.site(node), what, tuple(repairs))

    examples = (
        Example(
            "a loss without reduction",
            """\
import torch
from torch import nn

net = nn.Linear(3, 2)
criterion = nn.MSELoss(reduction="none")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
-     loss = criterion(net(torch.randn(8, 3)), torch.randn(8, 2))
+     loss = criterion(net(torch.randn(8, 3)), torch.randn(8, 2)).mean()
    loss.backward()
    optimizer.step()
""",
            runs=True,
        ),
        Example(
            "a difference that is squared",
            """\
import torch

net = torch.nn.Linear(3, 1)
opt = torch.optim.Adam(net.parameters())
for x in torch.randn(2, 5, 3):
-     error = (net(x) - x.sum(1, keepdim=True)) ** 2  # squared
+     error = ((net(x) - x.sum(1, keepdim=True)) ** 2).mean()  # squared
    opt.zero_grad()
    error.backward()
    opt.step()
""",
            runs=True,
        ),
        Example(
            "weighted samples, and their losses kept",
            """\
import torch
import torch.nn.functional as F

net = torch.nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
seen = []
for x in torch.randn(2, 6, 3):
    losses = F.cross_entropy(net(x), torch.randint(0, 2, (6,)), reduction="none")
    losses = losses * torch.rand(6)
    opt.zero_grad()
-     losses.backward()
+     losses.mean().backward()
    opt.step()
    seen.append(losses.detach().max())
""",
            runs=True,
        ),
        Example(
            "a function of the program",
            """\
import torch

def distance(pred, target):
    return (pred - target).abs()

net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(2, 6, 3):
    opt.zero_grad()
-     distance(net(x), torch.ones(6, 1)).backward()
+     distance(net(x), torch.ones(6, 1)).mean().backward()
    opt.step()
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "the values of the samples, averaged in time",
            """\
import torch
from torch import nn

net = nn.Linear(3, 1)
criterion = nn.L1Loss(reduction="none")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    loss = criterion(net(torch.randn(8, 3)), torch.randn(8, 1))
    optimizer.zero_grad()
    loss.mean().backward()
    optimizer.step()
""",
            runs=True,
        ),
        Reject(
            "the output of a network is sent back, to see what it looks at",
            """\
import torch

net = torch.nn.Linear(3, 2)
x = torch.randn(4, 3, requires_grad=True)
scores = net(x)
scores.backward()
print(x.grad)
""",
            runs=True,
        ),
        Reject(
            "the output of a network that was trained before",
            """\
import torch

net = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(4, 3)).mean().backward()
optimizer.step()
x = torch.randn(4, 3, requires_grad=True)
scores = net(x)
scores.backward()
""",
            runs=True,
        ),
    )


def _sent(node: ast.Call) -> ast.expr | None:
    """What is sent back by a call of `backward`, which may be scaled on the way."""
    function = node.func
    if not isinstance(function, ast.Attribute) or function.attr != "backward" or node.args:
        return None
    sent = function.value
    if isinstance(sent, ast.Call) and isinstance(sent.func, ast.Attribute) and sent.func.attr == "scale":
        return sent.args[0] if len(sent.args) == 1 else None
    return sent


def _updates_weights(source: Source) -> bool:
    """Whether the program trains: something is stepped, or gradients are taken off weights by hand."""
    if any(_is_step(call) for call in source.all_calls):
        return True
    return any(
        isinstance(node.op, ast.Sub) and any(each.attr == "grad" for each in within(node.value, ast.Attribute))
        for node in source.nodes(ast.AugAssign)
    )


def _is_step(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "step"


def _loss(subject: Subject, node: ast.Call, sent: ast.expr) -> _Loss | None:
    """The loss that is sent back, where its value is one."""
    source = subject.source
    value: ast.expr | None = sent
    if isinstance(sent, (ast.Name, ast.Attribute)):
        values = source.bindings(sent, node)
        values = values or source.bindings(sent)
        value = values[-1] if len(values) == 1 else _last_assigned(source, node, sent)
    made, crash = _made_by_loss(subject, value) if value is not None else None, subject.crash
    if made is None and crash is not None and crash.call is not None:
        behind = upstream(subject.network, crash.call).values()
        made = next((call for call in behind if loss_facts(call) is not None and _by_sample(call)), None)
    if made is None and (value is None or not _is_difference(source, value)):
        return None
    if crash is not None and crash.call is not None:
        behind = upstream(subject.network, crash.call).values()
        if any(loss_facts(call) is not None and call.args.get("reduction") == "sum" for call in behind):
            return None  # beside a loss that was summed up, a mean would weigh less than it is meant to
    return _Loss(sent, node, None if value is sent else value, made)


def _by_sample(call: Call) -> bool:
    """Whether a loss gave more than one value."""
    return any(value.shape != () for value in call.outputs)


def _last_assigned(source: Source, node: ast.Call, sent: ast.expr) -> ast.expr | None:
    """The value of the last assignment to a name before a call, in the same block of statements."""
    statement = source.statement_of(node)
    found: ast.expr | None = None
    for each in source.nodes(ast.Assign):
        if each.lineno >= statement.lineno or source.parent(each) is not source.parent(statement):
            continue
        if len(each.targets) == 1 and ast.unparse(each.targets[0]) == ast.unparse(sent):
            found = each.value
    later = [
        each
        for each in source.nodes(ast.AugAssign)
        if ast.unparse(each.target) == ast.unparse(sent) and found is not None and each.lineno > found.lineno
        and each.lineno < statement.lineno
    ]  # fmt: skip
    return None if later else found


def _made_by_loss(subject: Subject, value: ast.expr) -> Call | None:
    """The recorded call of a loss that the value is, or that it is made of without an average."""
    site = subject.source.site(value)
    found = [
        call
        for call in subject.network.calls
        if call.site is not None and site.encloses(call.site) and loss_facts(call) is not None
    ]
    return found[-1] if found else None


def _is_difference(source: Source, value: ast.expr) -> bool:
    """Whether a value is written as a loss is: with a difference, a logarithm or a sign, or by a function of its own."""
    if isinstance(value, ast.Call):
        function = source.definition(value.func) if isinstance(value.func, ast.Name) else None
        if isinstance(function, ast.FunctionDef):
            returned = [node.value for node in within(function, ast.Return) if node.value is not None]
            return len(value.args) + len(value.keywords) > 1 and any(
                _differs(one) for one in (*returned, *_body(function))
            )
    return _differs(value)


def _body(function: ast.FunctionDef) -> list[ast.expr]:
    return [node.value for node in within(function, ast.Assign)]


def _differs(value: ast.expr) -> bool:
    minus = any(isinstance(node.op, ast.Sub) for node in within(value, ast.BinOp))
    signed = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub)
    signed = signed or any(
        isinstance(node.left, ast.UnaryOp) and isinstance(node.left.op, ast.USub) for node in within(value, ast.BinOp)
    )
    return minus or signed or bool(attribute_calls(value, "log", "log_prob"))


def _mean(source: Source, value: ast.expr) -> Edit:
    if isinstance(value, ATOMS):
        return Wrap(source.site(value), "", ".mean()")
    return Wrap(source.site(value), "(", ").mean()")


def _read_by_sample(source: Source, fault: _Loss) -> bool:
    """Whether the loss is read elsewhere in a way that wants all of its values."""
    name, own = ast.unparse(fault.sent), function_around(source, fault.backward)
    places: list[ast.Name | ast.Attribute] = [*source.nodes(ast.Name), *source.nodes(ast.Attribute)]
    for node in places:
        if not isinstance(node.ctx, ast.Load) or node is fault.sent or ast.unparse(node) != name:
            continue
        if function_around(source, node) is not own or node.lineno < (fault.value or node).lineno:
            continue
        above = source.parent(node)
        if isinstance(above, ast.Attribute) and above.attr in ("item", "backward"):
            continue
        if isinstance(above, (ast.Subscript, ast.Attribute, ast.BinOp, ast.For, ast.Return)):
            return True
    return False


def _reduction(subject: Subject, fault: _Loss) -> RemoveArgument | None:
    """The edit that lets a loss average, where it is asked for each sample's value and used only here."""
    made, source = fault.made, subject.source
    if made is None or fault.value is None or subject.node(made.site) is not fault.value:
        return None
    call = subject.constructor_node(made) if made.made_at is not None else subject.call_node(made)
    given = keyword_value(call, "reduction") if call is not None else None
    if call is None or not isinstance(given, ast.Constant) or given.value != "none":
        return None
    if (
        made.made_at is not None
        and len({each.site for each in subject.network.calls if each.made_at == made.made_at}) > 1
    ):
        return None
    return RemoveArgument(source.site(call), "reduction")
