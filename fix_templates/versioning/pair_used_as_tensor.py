"""`torch.max(x, dim=1)` returns a pair of values and indices, which is used as a tensor."""

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
    Subject,
    Symptom,
    Wrap,
    argument_value,
    words,
)

WITH_DIMENSION = ("torch.max", "torch.min", "torch.median", "torch.mode", "torch.nanmedian")
"""Return one tensor without a dimension, and a pair with one."""
ALWAYS = ("torch.topk", "torch.kthvalue", "torch.sort", "torch.cummax", "torch.cummin")
OF_TENSORS = words(
    "backward clone cpu detach eq float item long mean numpy permute reshape shape size squeeze std sum to transpose "
    "unsqueeze view"
)
"""Attributes of a tensor that a pair does not have."""


class PairUsedAsTensor(FixTemplate):
    """A reduction over one dimension returns a pair of values and indices, which is used as a tensor.

    `torch.max(x)` is a tensor; `torch.max(x, dim=1)`, `torch.sort(x)` and `torch.topk(x, 5)` are pairs. A pair cannot
    be added, compared, viewed, or passed to a layer. The patch uses the values, or the indices where the result is
    compared for equality, as predicted classes are.

    Fix safety: unsafe. The program goes on with one of the two, which it could not before.

    References: https://docs.pytorch.org/docs/stable/generated/torch.max.html.
    """

    code = "DNF560"
    name = "pair-used-as-tensor"
    family = Family.VERSIONING
    fix_pattern = FixPattern.API_CONTRACT
    message = "`{call}` returns a pair of values and indices, which is used as a tensor"
    triggers = ("max", "min", "median", "mode", "nanmedian", "topk", "kthvalue", "sort", "cummax", "cummin")

    def detect(self, subject: Subject) -> Iterator[Finding]:
        source = subject.source
        for call in source.all_calls:
            name = source.qualified(call.func)
            if name not in ALWAYS and not (name in WITH_DIMENSION and _has_dimension(call)):
                continue
            taken = _taken(subject, call)
            if taken is None:
                continue
            text = subject.text(source.site(call))
            yield self.finding(
                source.site(call),
                symptom=Symptom.CRASH if subject.crash is not None else Symptom.VIOLATION,
                cause="crash" if subject.crash is not None else "",
                evidence={"taken": taken},
                call=text if len(text) < 60 else f"{text[:57]}...",
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        taken = finding.evidence.get("taken")
        title = "Use the indices" if taken == 1 else "Use the values"
        yield self.candidate(finding, title, Wrap(finding.site, "", f"[{taken}]"), prior=0.85)

    programs = """
=== example: classes that are compared with labels
import torch

- predicted = torch.max(net(x), 1)
+ predicted = torch.max(net(x), 1)[1]
correct = (predicted == labels).sum().item()

=== example: a function returns the input of a layer
import torch
import keras
from keras import layers


def strongest(features):
-     return torch.max(features, dim=1)
+     return torch.max(features, dim=1)[0]


inputs = keras.Input((8, 3))
outputs = layers.Dense(2)(strongest(layers.Conv1D(4, 3)(inputs)))

=== example: a margin between two
import torch

- hardest = torch.min(distances, dim=0)
+ hardest = torch.min(distances, dim=0)[0]
loss = torch.relu(margin + positive - hardest).mean()

=== reject: one of the pair is selected
import torch

_, predicted = torch.max(net(x), 1)
values = torch.sort(x)[0]
both = torch.topk(x, 3)
print(both.values.mean() + 1, torch.max(x, dim=1).indices == y, torch.max(x) + 1)
first, second = both

=== reject: the greater of two tensors
import torch

hinge = torch.max(margin - x, zero) + 1
other = torch.max(x, torch.zeros(1)) == y

=== reject: what becomes of it is not known
import torch


def best(x):
    return torch.max(x, dim=1)


def use(pair):
    values, indices = pair
    return values


print(use(best(x)))
kept = torch.sort(x)
use(kept)
"""


def _has_dimension(call: ast.Call) -> bool:
    """Whether the second argument is a dimension, not a second tensor."""
    given = argument_value(call, "dim", 1)
    if isinstance(given, ast.UnaryOp):
        given = given.operand
    return isinstance(given, ast.Constant) and type(given.value) is int


def _taken(subject: Subject, call: ast.Call) -> int | None:
    """Which of the pair is meant, 0 or 1, where every use is that of a tensor; else `None`."""
    uses = _uses(subject, call)
    kinds = {_kind(subject, use) for use in uses} if uses else {None}
    if None in kinds:
        return None
    return 1 if kinds == {"compared"} else 0 if "compared" not in kinds else None


def _uses(subject: Subject, call: ast.expr) -> list[ast.expr]:
    """The uses of a result: directly, by its one name, or where the function that returns it is called."""
    source = subject.source
    above = source.parent(call)
    if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
        name = above.targets[0].id
        scope = source.enclosing(above, ast.FunctionDef)
        named = [node for node in source.nodes(ast.Name) if node.id == name]
        places = [node for node in named if source.enclosing(node, ast.FunctionDef) is scope]
        stored = [node for node in places if not isinstance(node.ctx, ast.Load)]
        return [node for node in places if isinstance(node.ctx, ast.Load)] if len(stored) == 1 else []
    if isinstance(above, ast.Return):
        function = source.enclosing(above, ast.FunctionDef)
        if function is None or not isinstance(source.parent(function), ast.Module):
            return []
        names = [node for node in source.nodes(ast.Name) if node.id == function.name]
        calls = [each for node in names if isinstance(each := source.parent(node), ast.Call) and each.func is node]
        handed = [node for node in names if _is_lambda(subject, source.parent(node))]
        if len(calls) + len(handed) != len(names) or any(isinstance(source.parent(each), ast.Return) for each in calls):
            return []
        return [*handed, *(use for each in calls for use in _uses(subject, each))]
    return [call]


def _kind(subject: Subject, use: ast.expr) -> str | None:
    """The kind of a use: `compared` for equality, `tensor` for others that only a tensor allows; else `None`."""
    source = subject.source
    above = source.parent(use)
    if isinstance(above, ast.Compare):
        return "compared" if isinstance(above.ops[0], (ast.Eq, ast.NotEq)) else "tensor"
    if isinstance(above, ast.BinOp) and not isinstance(above.op, ast.Mod):  # a string is formatted with a pair
        return "tensor"
    if isinstance(above, ast.Attribute) and above.attr in OF_TENSORS:
        return "compared" if above.attr == "eq" else "tensor"
    if isinstance(above, ast.Call) and use in above.args[:1]:
        return "tensor" if _is_layer(subject, above) or _is_lambda(subject, above) else None
    return None


def _is_layer(subject: Subject, call: ast.Call) -> bool:
    """Whether a layer is created and called here."""
    made = call.func
    name = subject.source.qualified(made.func) if isinstance(made, ast.Call) else None
    return name is not None and name.startswith(("keras.layers.", "torch.nn."))


def _is_lambda(subject: Subject, node: ast.AST | None) -> bool:
    """Whether a call creates a `Lambda` layer, whose result the next layer gets."""
    return isinstance(node, ast.Call) and subject.source.qualified(node.func) == "keras.layers.Lambda"
