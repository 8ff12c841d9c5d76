"""A view makes rows that are not samples: it cuts them, or puts them together, before a layer that takes whole samples."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from math import prod

from dnnfix.api import (
    VIEWS,
    Call,
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Replace,
    Site,
    Subject,
    Symptom,
    argument,
    keeps_shape,
    known,
    number,
    size_conflict,
)


@dataclass(frozen=True, slots=True)
class _Cut:
    """A view to rows of another length than the linear layer behind it takes, which is that of a whole sample."""

    linear: Call
    node: ast.Call
    base: ast.expr
    sizes: tuple[ast.expr, ast.expr]
    asked: tuple[int, int]
    shape: tuple[int, ...]
    taken: int


class ViewCutsSamples(FaultTemplate[_Cut]):
    """A view makes rows that are not samples: it cuts them, or joins them, before a layer that takes whole samples.

    `x.view(-1, n)` makes as many rows as there are numbers for: with another `n` than a sample has values, the rows are
    parts of samples or lie across two of them. `x.view(x.size(1), -1)` has as many rows as there are channels. The linear
    layer behind states how many values a sample has.

    Fix safety: unsafe. The rows become the samples, as the layer takes them.

    References: torch.Tensor.view, torch.flatten (`start_dim`).
    """

    code = "DNF128"
    name = "view-cuts-samples"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "a view of {shape} as {asked} makes rows that are not the samples of {taken} values"
    triggers = ("view", "reshape")
    needs_run = True
    declined = "the sizes of the view are not written in a way that is known"

    def faults(self, subject: Subject) -> Faults[_Cut]:
        found = _cut(subject)
        if found is not None:
            yield subject.source.site(found.node), found

    def report(self, site: Site, found: _Cut) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.95,
            cause="crash",
            evidence={"shape": list(found.shape), "asked": list(found.asked), "taken": found.taken},
            shape=" x ".join(map(str, found.shape)),
            asked=found.asked,
            taken=found.taken,
        )

    def repairs(self, subject: Subject, found: _Cut) -> Repairs:
        rows, values = found.sizes
        if found.asked[1] == -1:
            yield "Make a row of each sample", (_of_first_axis(subject, found, rows),), 0.9
        elif found.asked[0] == -1:
            text = _stated(subject, found)
            yield f"Make rows of {text} values", (Replace(subject.source.site(values), text),), 0.9

    examples = (
        Example(
            "a factor of the size is missing",
            """\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(4 * 6 * 6, 10)

    def forward(self, x):
        x = F.relu(self.conv(x))
-         x = x.view(-1, 4 * 6)
+         x = x.view(-1, 4 * 6 * 6)
        return self.fc(x)


Net()(torch.rand(5, 1, 8, 8))
""",
            runs=True,
        ),
        Example(
            "as many rows as channels",
            """\
import torch
from torch import nn

conv, fc = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(256, 10)
features = torch.relu(conv(torch.rand(5, 3, 8, 8)))
- rows = features.view(features.size(1), -1)
+ rows = features.view(features.size(0), -1)
scores = fc(torch.dropout(rows, 0.5, True))
""",
            runs=True,
        ),
        Example(
            "all samples in one row",
            """\
import torch


class Flat(torch.nn.Module):
    def __init__(self, side):
        super().__init__()
        self.fc = torch.nn.Linear(side * side, 2)

    def forward(self, images):
-         return self.fc(images.reshape(1, -1))
+         return self.fc(images.reshape(images.size(0), -1))


Flat(6)(torch.rand(5, 6, 6))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "rows that are samples, and steps that are rows",
            """\
import torch
from torch import nn

x = torch.rand(5, 6, 4)
nn.Linear(24, 2)(x.view(-1, 24))
nn.Linear(4, 2)(x.view(-1, 4))
""",
            runs=True,
        ),
        Reject(
            "a layer of another size",
            """\
import torch

torch.nn.Linear(25, 2)(torch.rand(5, 6, 4).view(5, -1))
""",
            runs=True,
        ),
    )


def _cut(subject: Subject) -> _Cut | None:
    conflict = size_conflict(subject)
    if conflict is None or conflict.facts.kind != "linear" or len(conflict.value.shape or ()) != 2:
        return None
    view = subject.network.producer(conflict.value)
    while view is not None and view.name not in VIEWS and keeps_shape(view):
        view = subject.network.producer(view.inputs[0])
    node = subject.call_node(view) if view is not None and view.name in VIEWS and view.inputs else None
    if view is None or node is None or not isinstance(node.func, ast.Attribute):
        return None
    shape, given = known(view.inputs[0].shape), view.args.get("size", view.args.get("shape"))
    asked = tuple(one for one in given if isinstance(one, int)) if isinstance(given, (list, tuple)) else ()
    sizes = node.args[0].elts if len(node.args) == 1 and isinstance(node.args[0], (ast.Tuple, ast.List)) else node.args
    if shape is None or len(asked) != 2 or len(sizes) != 2 or len(shape) < 3 or prod(shape[1:]) != conflict.stated:
        return None
    rows = (view.outputs[0].shape or (None,))[0] if view.outputs else None
    if rows == shape[0]:
        return None
    pair = (sizes[0], sizes[1])
    return _Cut(conflict.call, node, node.func.value, pair, (asked[0], asked[1]), shape, conflict.stated)


def _of_first_axis(subject: Subject, found: _Cut, rows: ast.expr) -> Edit:
    """The edit that asks for as many rows as there are samples."""
    match rows:
        case ast.Call(func=ast.Attribute(value=thing, attr="size"), args=[axis]) if _same(thing, found.base):
            return Replace(subject.source.site(axis), "0")
        case ast.Subscript(value=ast.Attribute(value=thing, attr="shape"), slice=axis) if _same(thing, found.base):
            return Replace(subject.source.site(axis), "0")
    if isinstance(found.base, (ast.Name, ast.Attribute)):
        return Replace(subject.source.site(rows), f"{subject.text(subject.source.site(found.base))}.size(0)")
    base = subject.text(subject.source.site(found.base))
    return Replace(subject.source.site(found.node), f"{base}.flatten(1)")


def _same(one: ast.expr, other: ast.expr) -> bool:
    return ast.dump(one) == ast.dump(other)


def _stated(subject: Subject, found: _Cut) -> str:
    """The number of values of a sample, as the layer states it where it does so in numbers."""
    constructor = subject.constructor_node(found.linear)
    given = argument(subject, constructor, found.linear.name, "in_features") if constructor is not None else None
    return (
        subject.text(subject.source.site(given))
        if given is not None and number(given) is not None
        else str(found.taken)
    )
