"""Predictions of shape `(n, 1)` are compared with labels of shape `(n,)`: broadcasting compares all pairs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Call,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Site,
    Subject,
    Symptom,
    Value,
    argument_value,
    data_edits,
    graph,
    network_facts,
    tensor_shapes,
    words,
)


class PredictionsComparedOverPairs(ReadTemplate):
    """Correct predictions are counted in `pred == y`, where `pred` has shape `(n, 1)` and `y` has shape `(n,)`.

    Both broadcast to `(n, n)`, in which each prediction meets every label. Its sum counts pairs, so the accuracy may
    exceed 1; its mean depends on how often the classes occur rather than on how many predictions are right. Reported
    where the run showed that the column is the output of a network, that the labels are not, and that the result is
    only summed or averaged.

    Fix safety: unsafe. What is reported changes, and decisions that depend on it; training is the same.

    References: the broadcasting rules of torch; torch.eq ("broadcastable with the first argument").
    """

    code = "DNF333"
    name = "predictions-compared-over-pairs"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACCURACY_METRIC
    message = (
        "predictions of shape ({count}, 1) are compared with labels of shape ({count},), which broadcasts to all pairs"
    )
    needs_run = True

    declined = "predictions and labels are not operands of the comparison"

    def read(self, subject: Subject) -> Iterator[Fault]:
        if subject.trace is None:
            return
        places: dict[Site, list[Call]] = {}
        for call in subject.network.calls:
            if call.name in _COMPARISONS and call.site is not None and len(call.inputs) == 2:
                places.setdefault(call.site, []).append(call)
        for site, calls in places.items():
            sides, stretched = _sides(subject.node(site), calls[0].name), _column(calls)
            if sides is None or stretched is None or not _is_only_summed(subject, calls):
                continue
            column, count = stretched
            if all(_is_accuracy(subject, call, column) for call in calls):
                squeezed = data_edits.wrapped(subject, sides[column], "", ".squeeze(1)")
                stood = data_edits.wrapped(subject, sides[1 - column], "", ".unsqueeze(1)")
                ways = (
                    ("Compare each prediction with its own label", (squeezed,), 0.9),
                    ("Add the second axis to the labels", (stood,), 0.6),
                )
                yield Fault(site, {"count": count}, ways, confidence=0.95, symptom=Symptom.SILENT_BROADCAST)

    programs = """
=== example: the share of errors of a network written out, the labels first
import torch

weights = torch.randn(2, 1, requires_grad=True)
points = torch.randn(12, 2)
classes = (points[:, 0] > 0).long()
guessed = points @ weights > 0
- wrong = (classes != guessed).float()
+ wrong = (classes != guessed.squeeze(1)).float()
print("error", torch.mean(wrong))

=== example: a function of torch
import torch

def binary_accuracy(outputs, targets):
-     return torch.eq(outputs.round(), targets).float().mean()
+     return torch.eq(outputs.round().squeeze(1), targets).float().mean()

classifier = torch.nn.Sequential(torch.nn.Linear(6, 1), torch.nn.Sigmoid())
print(binary_accuracy(classifier(torch.rand(10, 6)), torch.arange(10) % 2))

=== reject: shapes that meet
import torch

net = torch.nn.Linear(4, 1)
x, y = torch.rand(9, 4), torch.arange(9) % 2
flat = ((net(x) > 0).squeeze(1) == y).sum()
columns = ((net(x) > 0) == y.unsqueeze(1)).float().mean()
chosen = torch.nn.Linear(4, 3)(x).argmax(1, keepdim=True)
print(flat, columns, chosen.eq(y.view_as(chosen)).sum())

=== reject: pairs on purpose: those of one label, those that a network takes for one
import torch

labels = torch.arange(8) % 3
positive = (labels.unsqueeze(1) == labels).sum()
chosen = torch.nn.Linear(4, 3)(torch.rand(8, 4)).argmax(1)
agreeing = (chosen[:, None] == labels).float().mean()
same = (chosen.view(-1, 1) == chosen).sum()
print(positive, agreeing, same)

=== reject: as many samples as classes: the chosen ones as rows of zeros and a one
import torch

scores = torch.nn.Linear(4, 5)(torch.rand(5, 4))
chosen = scores.argmax(dim=1, keepdim=True)
rows = (chosen == torch.arange(5)).float()
print((scores * rows).sum(), rows.sum(0))

=== reject: one sample, and the pairs of a table that are taken out again
import torch

net = torch.nn.Linear(3, 1)
print(((net(torch.rand(1, 3)) > 0) == torch.ones(1)).sum())
table = (net(torch.rand(6, 3)) > 0) == torch.ones(6)
print(table.diagonal().sum())
"""


_OWNERS = ("torch.", "torch.Tensor.")
_COMPARISONS = frozenset(owner + name for owner in _OWNERS for name in ("eq", "ne", "not_equal"))
_SUMS = frozenset(owner + name for owner in _OWNERS for name in ("sum", "mean", "count_nonzero"))
_PASSES = words("float double half bfloat16 int long short byte to type cpu cuda detach view reshape flatten ravel")


def _sides(node: ast.AST | None, name: str) -> tuple[ast.expr, ast.expr] | None:
    """The expressions that are compared, in the order of the call's inputs."""
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        return node.left, node.comparators[0]
    if not isinstance(node, ast.Call) or any(isinstance(one, ast.Starred) for one in node.args):
        return None
    alone = name.startswith("torch.Tensor.") and len(node.args) + len(node.keywords) == 1
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    first = owner if alone else argument_value(node, "input", 0)
    second = argument_value(node, "other", 0 if alone else 1)
    return (first, second) if first is not None and second is not None else None


def _column(calls: list[Call]) -> tuple[int, int] | None:
    """Which side has shape `(n, 1)` beside `(n,)` in every call, and the largest `n`, which is above 1."""
    for side in (0, 1):
        shapes = [
            (tensor_shapes.known(call.inputs[side].shape), tensor_shapes.known(call.inputs[1 - side].shape))
            for call in calls
        ]
        lengths = [flat[0] for column, flat in shapes if flat is not None and len(flat) == 1 and column == (*flat, 1)]
        if len(lengths) == len(calls) and max(lengths) > 1:
            return side, max(lengths)
    return None


def _is_accuracy(subject: Subject, call: Call, column: int) -> bool:
    """Whether the column is the output of a network and the other side is not computed by one."""
    labels = call.inputs[1 - column]
    maker = subject.network.producer(labels)
    made = graph.upstream(subject.network, maker).values() if maker is not None else ()
    given = maker is not None or labels.origin in ("data", "constant")
    return (
        given
        and not _counts(subject, labels, maker)
        and not any(map(_computes, made))
        and _is_output(subject, call.inputs[column])
    )


def _counts(subject: Subject, labels: Value, maker: Call | None) -> bool:
    """Whether the flat side is an `arange`: classes to be counted, not labels."""
    made = subject.node(maker.site if maker is not None else labels.site)
    return isinstance(made, ast.Call) and subject.source.qualified(made.func) == "torch.arange"


def _is_output(subject: Subject, column: Value) -> bool:
    for call in tensor_shapes.way_back(subject, column):
        if _computes(call):
            return True
        if not call.inputs or len(call.inputs[0].shape or ()) < 2:  # the axis was added after the network
            return False
    return False


def _computes(call: Call) -> bool:
    """Whether the call is of a layer or model, or has a weight that no layer holds as input."""
    if call.component is not None and not network_facts.is_loss(call):
        return True
    return any(one.origin == "parameter" or (one.origin is not None and one.requires_grad) for one in call.inputs)


def _is_only_summed(subject: Subject, calls: list[Call]) -> bool:
    """Whether the results are only summed or averaged over all axes."""
    uses = [use for call in calls for use in _uses(subject, call)]
    return bool(uses) and all(use.name in _SUMS and use.outputs and use.outputs[0].shape == () for use in uses)


def _uses(subject: Subject, call: Call) -> Iterator[Call]:
    """The calls that use a call's result, looking through casts and reshapes."""
    for output in call.outputs:
        for use in subject.network.users(output):
            if use.name.startswith("torch.Tensor.") and use.name.rpartition(".")[2] in _PASSES:
                yield from _uses(subject, use)
            else:
                yield use
