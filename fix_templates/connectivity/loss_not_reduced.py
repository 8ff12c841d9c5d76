"""`backward` is called on a loss that is not a scalar, or has no gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Call,
    Delete,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertBefore,
    ReadTemplate,
    RemoveArgument,
    Repair,
    Replace,
    Source,
    Subject,
    Symptom,
    Wrap,
    function_around,
    graph,
    keyword_value,
    loss_edits,
    network_facts,
    raised_errors,
    recipes,
    tensor_targets,
    tensor_values,
    training_loop,
    within,
    words,
)

SEVERAL = "grad can be implicitly created only for scalar outputs"

ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
"""Expressions on which a method can be called without parentheses."""
NO_GRADIENT = "does not require grad and does not have a grad_fn"

CHOICES = words("torch.argmax torch.Tensor.argmax torch.max torch.Tensor.max")
"""Functions that return the index of the largest value."""

KEEP = words(
    "float double long int to type squeeze unsqueeze view reshape flatten requires_grad_ Variable clone detach"
)
"""Calls that do not change class indices."""

CASTS = frozenset({"float", "double", "to", "type"})


@dataclass(frozen=True, slots=True)
class _Loss:
    """The loss that `backward` is called on, that call, the expression of its value, and the recorded loss call."""

    sent: ast.expr
    backward: ast.Call
    value: ast.expr | None
    made: Call | None


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A loss, and the call that chose the class indices passed to it as the prediction."""

    use: tensor_values.LossUse
    choice: Call
    node: ast.Call


class LossNotReduced(ReadTemplate):
    """`backward` is called on a loss with a value for each sample, or on one of class indices, without a gradient.

    A loss with `reduction="none"`, or written as `(pred - y) ** 2`, has to be averaged before `backward`, after weights
    or masks were applied. Reported in programs that update weights, if the value comes from a loss, a difference or a
    function of the program; not if it is the output of a network, of which a single value may be meant.

    `mse_loss(out.argmax(1).float(), y)` compares the class index that `argmax` returns with the label. The index is
    constant under small changes of the logits, so there is no gradient. Cross-entropy is computed from the logits;
    `argmax` is for the accuracy. Reported with one row of logits and one index for each sample.

    Fix safety: unsafe. The mean is used, where a sum would need another learning rate; or the loss is another one.

    References: torch.Tensor.backward; torch.nn.MSELoss ("reduction"); torch.argmax, torch.nn.CrossEntropyLoss.
    """

    code = "DNF445"
    name = "loss-not-reduced"
    formerly = ("DNF447", "loss-of-chosen-classes")
    message = "`backward` expects a scalar loss with a gradient: {what}"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.LOSS_FUNCTION
    triggers = ("backward", "argmax", "max")
    needs_run = True
    symptom = Symptom.CRASH
    confidence = 0.9
    declined = "neither the loss nor its arguments can be changed by one edit"

    def read(self, subject: Subject) -> Iterator[Fault]:
        node = raised_errors.raised_at(subject, "RuntimeError", SEVERAL)
        if isinstance(node, ast.Call):
            yield from _by_sample(subject, node)
        if raised_errors.raised_at(subject, "RuntimeError", NO_GRADIENT) is not None:
            yield from _of_choices(subject)

    programs = """
=== example: a loss without reduction
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

=== example: a difference that is squared
import torch

net = torch.nn.Linear(3, 1)
opt = torch.optim.Adam(net.parameters())
for x in torch.randn(2, 5, 3):
-     error = (net(x) - x.sum(1, keepdim=True)) ** 2  # squared
+     error = ((net(x) - x.sum(1, keepdim=True)) ** 2).mean()  # squared
    opt.zero_grad()
    error.backward()
    opt.step()

=== example: weighted samples, and their losses kept
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

=== example: a function of the program
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

=== example: a squared error of chosen classes
import torch
from torch import nn

net = nn.Linear(4, 3)
optimizer = torch.optim.Adam(net.parameters())
x, y = torch.randn(12, 4), torch.arange(12) % 3
for _ in range(2):
-     pred = net(x).argmax(dim=1).float()
-     loss = nn.functional.mse_loss(pred, y.float())
+     pred = net(x)
+     loss = nn.functional.cross_entropy(pred, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example: the accuracy keeps what was chosen
import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
- criterion = nn.L1Loss()
+ criterion = nn.CrossEntropyLoss()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
data, labels = torch.randn(9, 4), torch.arange(9) % 3
for epoch in range(2):
    out = model(data)
    chosen = torch.argmax(out, dim=1)
    opt.zero_grad()
-     loss = criterion(chosen.float(), labels)
+     loss = criterion(out, labels)
    loss.backward()
    opt.step()
    print((chosen == labels).float().mean())

=== example: labels that are kept as floats
import torch
import torch.nn.functional as F

net = torch.nn.Linear(2, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
labels = (torch.arange(8) % 4).float()
for x in torch.randn(2, 8, 2):
    opt.zero_grad()
-     F.mse_loss(net(x).argmax(-1).float(), labels).backward()
+     F.cross_entropy(net(x), labels.long()).backward()
    opt.step()

=== reject: the values of the samples, averaged in time
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

=== reject: the output of a network is sent back, to see what it looks at
import torch

net = torch.nn.Linear(3, 2)
x = torch.randn(4, 3, requires_grad=True)
scores = net(x)
scores.backward()
print(x.grad)

=== reject: the output of a network that was trained before
import torch

net = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(4, 3)).mean().backward()
optimizer.step()
x = torch.randn(4, 3, requires_grad=True)
scores = net(x)
scores.backward()

=== reject: chosen classes for the accuracy alone
import torch

net = torch.nn.Linear(2, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
y = torch.arange(6) % 3
for x in torch.randn(2, 6, 2):
    out = net(x)
    opt.zero_grad()
    torch.nn.functional.cross_entropy(out, y).backward()
    opt.step()
    print((out.argmax(1) == y).float().mean())

=== reject: an index that is not the class of the sample
import torch

net = torch.nn.Linear(2, 3)
for x in torch.randn(2, 6, 2):
    best = net(x).argmax(0).float()
    torch.nn.functional.mse_loss(best, torch.tensor([0.5, 1.5, 2.0])).backward()
"""


def _by_sample(subject: Subject, node: ast.Call) -> Iterator[Fault]:
    """A loss with a value for each sample."""
    source = subject.source
    sent = _sent(node) if _updates_weights(source) else None
    found = _loss(subject, node, sent) if sent is not None else None
    if found is None:
        return
    name = ast.unparse(found.sent)
    repairs: list[Repair] = []
    if found.value is not None and not _read_by_sample(source, found):
        reduction = _reduction(subject, found)
        repairs.append((f"Average `{name}` over the samples", (_mean(source, found.value),), 0.9))
        repairs.append(("Let the loss compute the mean", (reduction,) if reduction is not None else None, 0.85))
    else:
        repairs.append((f"Average `{name}` for the backward pass", (_mean(source, found.sent),), 0.85))
    what = f"`{name}` has a value for each sample"
    yield Fault(source.site(node), what, tuple(repairs))


def _sent(node: ast.Call) -> ast.expr | None:
    """The expression that `backward` is called on, without gradient scaling."""
    function = node.func
    if not isinstance(function, ast.Attribute) or function.attr != "backward" or node.args:
        return None
    sent = function.value
    if isinstance(sent, ast.Call) and isinstance(sent.func, ast.Attribute) and sent.func.attr == "scale":
        return sent.args[0] if len(sent.args) == 1 else None
    return sent


def _updates_weights(source: Source) -> bool:
    """Whether the program trains: it steps something, or subtracts gradients from weights by hand."""
    if any(_is_step(call) for call in source.all_calls):
        return True
    return any(
        isinstance(node.op, ast.Sub) and any(each.attr == "grad" for each in within(node.value, ast.Attribute))
        for node in source.nodes(ast.AugAssign)
    )


def _is_step(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "step"


def _loss(subject: Subject, node: ast.Call, sent: ast.expr) -> _Loss | None:
    """The loss that `backward` is called on; `None` if the value does not come from a loss."""
    source = subject.source
    value: ast.expr | None = sent
    if isinstance(sent, (ast.Name, ast.Attribute)):
        values = source.bindings(sent, node)
        values = values or source.bindings(sent)
        value = values[-1] if len(values) == 1 else _last_assigned(source, node, sent)
    made, crash = _made_by_loss(subject, value) if value is not None else None, subject.crash
    if made is None and crash is not None and crash.call is not None:
        behind = graph.upstream(subject.network, crash.call).values()
        made = next(
            (call for call in behind if network_facts.loss_facts(call) is not None and _gives_several(call)), None
        )
    if made is None and (value is None or not _is_difference(source, value)):
        return None
    if crash is not None and crash.call is not None:
        behind = graph.upstream(subject.network, crash.call).values()
        if any(network_facts.loss_facts(call) is not None and call.args.get("reduction") == "sum" for call in behind):
            return None  # next to a loss with reduction="sum", a mean would weigh too little
    return _Loss(sent, node, None if value is sent else value, made)


def _gives_several(call: Call) -> bool:
    """Whether a loss returned more than one value."""
    return any(value.shape != () for value in call.outputs)


def _last_assigned(source: Source, node: ast.Call, sent: ast.expr) -> ast.expr | None:
    """The value of the last assignment to a name before a call, in the same block."""
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
    """The recorded call of a loss in the expression."""
    site = subject.source.site(value)
    found = [
        call
        for call in subject.network.calls
        if call.site is not None and site.encloses(call.site) and network_facts.loss_facts(call) is not None
    ]
    return found[-1] if found else None


def _is_difference(source: Source, value: ast.expr) -> bool:
    """Whether a value is written like a loss: with a difference, a logarithm or a sign, or by such a function."""
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
    return minus or signed or bool(training_loop.attribute_calls(value, "log", "log_prob"))


def _mean(source: Source, value: ast.expr) -> Edit:
    if isinstance(value, ATOMS):
        return Wrap(source.site(value), "", ".mean()")
    return Wrap(source.site(value), "(", ").mean()")


def _read_by_sample(source: Source, fault: _Loss) -> bool:
    """Whether the loss is read elsewhere in a way that needs all of its values."""
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
    """The edit that removes `reduction="none"` from a loss that is used only here."""
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


def _of_choices(subject: Subject) -> Iterator[Fault]:
    """A loss of the class indices that an argmax or a maximum returned."""
    for use in tensor_values.loss_uses(subject):
        found = _chosen(subject, use)
        if found is not None and found.choice.site is not None:
            chosen = ast.unparse(found.node)
            what = f"{use.name} compares the class indices of `{chosen}`, which has no gradient"
            edits = _of_scores(subject, found)
            yield Fault(found.choice.site, what, (("Compute the cross-entropy of the logits", edits, 0.85),))


def _of_scores(subject: Subject, fault: _Chosen) -> tuple[Edit, ...] | None:
    """Edits that compute the cross-entropy of the logits."""
    use, calls = fault.use, {call.id: call for call in subject.network.calls}
    loss: tuple[Edit, ...] | None = ()
    if use.facts.task is not network_facts.Task.CLASSES:
        loss = loss_edits.change_loss(subject, use.call, "torch.nn.CrossEntropyLoss")
    maker = calls.get(fault.choice.inputs[0].producer or 0)
    bare: tuple[Edit, ...] | None = ()
    if maker is not None and maker.name.rpartition(".")[2].lower() in ("softmax", "logsoftmax", "log_softmax"):
        bare = recipes.bypass(subject, maker)
    return recipes.together(_scores(subject, fault), _labels(subject, use), loss, bare)


def _chosen(subject: Subject, use: tensor_values.LossUse) -> _Chosen | None:
    """The class indices used as the prediction of a loss, if its targets are the classes of the samples."""
    calls = {call.id: call for call in subject.network.calls}
    call = calls.get(use.call.inputs[0].producer or 0) if use.in_torch and use.call.inputs else None
    for _ in range(len(calls)):
        if call is None or call.name.rpartition(".")[2] not in KEEP or not call.inputs:
            break
        call = calls.get(call.inputs[0].producer or 0)
    if call is None or call.name not in CHOICES or not call.inputs or call.inputs[0].requires_grad is not True:
        return None
    node, scores, target = subject.node(call.site), call.inputs[0].shape, use.target
    if not isinstance(node, ast.Call) or scores is None or len(scores) != 2 or target is None:
        return None
    width, chosen = scores[1], use.call.inputs[0].shape
    if target.shape != scores[:1] or chosen != scores[:1] or not tensor_values.whole(target) or width is None:
        return None
    fits = target.high is not None and target.low is not None and 0 <= target.low and 1 <= target.high < width
    return _Chosen(use, call, node) if fits and _axis(call, node) in (1, -1) else None


def _axis(call: Call, node: ast.Call) -> int | None:
    """The axis that a call chooses along, as written."""
    method = call.name.startswith("torch.Tensor.")
    given = next((keyword.value for keyword in node.keywords if keyword.arg in ("dim", "axis")), None)
    place = 0 if method else 1
    if given is None and len(node.args) > place:
        given = node.args[place]
    try:
        value = ast.literal_eval(given) if given is not None else None
    except ValueError:
        return None
    return value if isinstance(value, int) else None


def _scores(subject: Subject, fault: _Chosen) -> tuple[Edit, ...] | None:
    """Edits that pass the logits to the loss instead of the class indices."""
    source, prediction = subject.source, tensor_targets.prediction_expression(subject, fault.use)
    method = fault.choice.name.startswith("torch.Tensor.")
    scores: ast.expr | None = fault.node.args[0] if not method and fault.node.args else None
    if method and isinstance(fault.node.func, ast.Attribute):
        scores = fault.node.func.value
    if prediction is None or scores is None:
        return None
    given, text = source.site(prediction), source.segment(source.site(scores))
    if given.encloses(source.site(fault.node)):
        return (Replace(given, text),)
    statement = source.statement_of(fault.node)
    if not isinstance(statement, ast.Assign) or function_around(source, statement) is not function_around(
        source, prediction
    ):
        return None
    name = statement.targets[0]
    read = _read_elsewhere(source, statement, prediction)
    if isinstance(scores, (ast.Name, ast.Attribute)):
        if _assigned_between(source, ast.unparse(scores), statement, prediction):
            return None
        gone = () if read or not isinstance(name, ast.Name) else (Delete(source.site(statement)),)
        return (Replace(given, text), *gone)
    if not read and isinstance(name, ast.Name):
        return (Replace(source.site(statement.value), text), Replace(given, name.id))
    kept = next((each for each in ("scores", "logits", "class_scores") if each not in source.words), None)
    if kept is None:
        return None
    before = InsertBefore(source.site(statement), f"{kept} = {text}")
    return (before, Replace(source.site(scores), kept), Replace(given, kept))


def _read_elsewhere(source: Source, statement: ast.Assign, prediction: ast.expr) -> bool:
    """Whether the assigned names are read outside of the prediction."""
    stored = {node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    own, inside = function_around(source, statement), set(ast.walk(prediction))
    return any(
        node.id in stored
        and isinstance(node.ctx, ast.Load)
        and node not in inside
        and function_around(source, node) is own
        for node in source.nodes(ast.Name)
    )


def _assigned_between(source: Source, name: str, first: ast.stmt, last: ast.expr) -> bool:
    return any(
        first.lineno <= node.lineno < last.lineno and any(ast.unparse(target) == name for target in node.targets)
        for node in source.nodes(ast.Assign)
    )


def _labels(subject: Subject, use: tensor_values.LossUse) -> tuple[Edit, ...] | None:
    """Edits that pass the labels to the loss as integers."""
    source, given = subject.source, tensor_targets.target_expression(subject, use)
    if given is None or use.target is None:
        return None
    if use.target.dtype == "int64":
        return ()
    site = source.site(given)
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in CASTS:
        cast = next((call for call in subject.network.calls if call.site == site and call.inputs), None)
        if cast is not None and cast.inputs[0].dtype == "int64":
            return (Replace(site, source.segment(source.site(given.func.value))),)
    simple = isinstance(given, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return (Wrap(site, "" if simple else "(", ".long()" if simple else ").long()"),)
