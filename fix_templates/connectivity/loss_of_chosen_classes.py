"""A loss is taken of the classes that `argmax` chose, which no gradient flows back from."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Call,
    Delete,
    Edit,
    Example,
    Family,
    FixPattern,
    InsertBefore,
    LossUse,
    Mend,
    Reject,
    Replace,
    Source,
    SourceTemplate,
    Subject,
    Symptom,
    Task,
    Wrap,
    bypass,
    change_loss,
    function_around,
    loss_uses,
    prediction_expression,
    raised_at,
    target_expression,
    together,
    whole,
    words,
)

MESSAGE = "does not require grad and does not have a grad_fn"

CHOICES = words("torch.argmax torch.Tensor.argmax torch.max torch.Tensor.max")
"""Functions that give the index of the largest value."""

KEEP = words(
    "float double long int to type squeeze unsqueeze view reshape flatten requires_grad_ Variable clone detach"
)
"""Calls through which the chosen classes stay what they are."""

CASTS = frozenset({"float", "double", "to", "type"})


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A loss, and the call that chose the classes that it was given as the prediction."""

    use: LossUse
    choice: Call
    node: ast.Call


class LossOfChosenClasses(SourceTemplate):
    """The error between the class that `argmax` chose and the label is minimized: `mse_loss(out.argmax(1).float(), y)`.

    The index of the largest score does not change a little when the scores do, so there is no gradient, and `backward`
    raises. A loss for classes takes the scores themselves, as cross-entropy does; the chosen class is for the accuracy.

    Reported where `backward` raised because of it, with one row of scores and one index for each sample.

    Fix safety: unsafe. The loss is another one, and the network is trained from now on.

    References: torch.argmax, torch.nn.CrossEntropyLoss.
    """

    code = "DNF447"
    name = "loss-of-chosen-classes"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.LOSS_FUNCTION
    triggers = ("argmax", "max")
    needs_run = True
    symptom = Symptom.CRASH
    declined = "neither the loss nor what it is given can be changed at one place"
    confidence = 0.9

    def mends(self, subject: Subject) -> Iterator[Mend]:
        if raised_at(subject, "RuntimeError", MESSAGE) is None:
            return
        for use in loss_uses(subject):
            found = _chosen(subject, use)
            if found is not None and found.choice.site is not None:
                chosen = ast.unparse(found.node)
                what = (
                    f"{use.name} is taken of the classes that `{chosen}` chose, and no gradient flows back from these"
                )
                edits = _of_scores(subject, found)
                yield Mend(found.choice.site, what, (("Take the cross-entropy of the scores", edits, 0.85),))

    examples = (
        Example(
            "a squared error of chosen classes",
            """\
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
""",
            runs=True,
        ),
        Example(
            "the accuracy keeps what was chosen",
            """\
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
""",
            runs=True,
        ),
        Example(
            "labels that are kept as floats",
            """\
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
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "chosen classes for the accuracy alone",
            """\
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
""",
            runs=True,
        ),
        Reject(
            "a choice that is no class of the sample",
            """\
import torch

net = torch.nn.Linear(2, 3)
for x in torch.randn(2, 6, 2):
    best = net(x).argmax(0).float()
    torch.nn.functional.mse_loss(best, torch.tensor([0.5, 1.5, 2.0])).backward()
""",
            runs=True,
        ),
    )


def _of_scores(subject: Subject, fault: _Chosen) -> tuple[Edit, ...] | None:
    """Edits that take the cross-entropy of the scores."""
    use, calls = fault.use, {call.id: call for call in subject.network.calls}
    loss: tuple[Edit, ...] | None = ()
    if use.facts.task is not Task.CLASSES:
        loss = change_loss(subject, use.call, "torch.nn.CrossEntropyLoss")
    maker = calls.get(fault.choice.inputs[0].producer or 0)
    bare: tuple[Edit, ...] | None = ()
    if maker is not None and maker.name.rpartition(".")[2].lower() in ("softmax", "logsoftmax", "log_softmax"):
        bare = bypass(subject, maker)
    return together(_scores(subject, fault), _labels(subject, use), loss, bare)


def _chosen(subject: Subject, use: LossUse) -> _Chosen | None:
    """The choice of classes behind the prediction of a loss, where its targets are the classes of the samples."""
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
    if target.shape != scores[:1] or chosen != scores[:1] or not whole(target) or width is None:
        return None
    fits = target.high is not None and target.low is not None and 0 <= target.low and 1 <= target.high < width
    return _Chosen(use, call, node) if fits and _axis(call, node) in (1, -1) else None


def _axis(call: Call, node: ast.Call) -> int | None:
    """The axis over which a call chooses, as it is written."""
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
    """Edits that give the loss the scores in place of the classes that were chosen by them."""
    source, prediction = subject.source, prediction_expression(subject, fault.use)
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
    """Whether what a statement assigns is read anywhere but in the prediction."""
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


def _labels(subject: Subject, use: LossUse) -> tuple[Edit, ...] | None:
    """Edits that give the loss the labels as integers."""
    source, given = subject.source, target_expression(subject, use)
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
