"""A view asks for sizes that the tensor does not have: those of another tensor, or of another batch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from dnnfix.api import (
    VIEWS,
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
    Subject,
    Symptom,
    known,
)


@dataclass(frozen=True, slots=True)
class Stale:
    """A view that failed: its call, the tensor's expression and shape, and the axes whose sizes are not the tensor's.

    `places` pairs the number of an argument with the axis of the tensor whose size is right there.
    """

    node: ast.Call
    base: ast.expr
    arguments: tuple[ast.expr, ...]
    shape: tuple[int, ...]
    asked: tuple[int, ...]
    places: tuple[tuple[int, int], ...]


class ViewOfStaleSizes(FixTemplate):
    """A view asks for sizes that the tensor does not have: those of another tensor, or of another batch.

    The last batch of a loader is often smaller than the others, and a convolution with a stride gives a smaller image
    than it got. A view with the size that was configured, or that the input had, does not fit then.

    Fix safety: unsafe. The view follows the tensor's own size; where that was the asked one nothing changes.

    References: torch.Tensor.view, torch.Tensor.size, torch.utils.data.DataLoader (`drop_last`).
    """

    code = "DNF113"
    name = "view-of-stale-sizes"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "a view as {asked} does not fit a tensor of shape {shape}"
    triggers = ("view", "reshape")
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for stale in _stale(subject):
            yield self.finding(
                subject.source.site(stale.node),
                symptom=Symptom.CRASH,
                confidence=0.85,
                cause="crash",
                evidence={"asked": list(stale.asked), "shape": list(stale.shape)},
                asked=stale.asked,
                shape=stale.shape,
            )
            return

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        any_found = False
        for prior, stale in zip((0.85, 0.7), _stale(subject), strict=False):
            any_found = True
            edits: list[Edit] = []
            if not isinstance(stale.base, (ast.Name, ast.Attribute)):
                yield self.candidate(finding, *_unnamed(subject, stale), prior=prior)
                continue
            name = subject.text(subject.source.site(stale.base))
            for place, axis in stale.places:
                which = axis if axis == 0 else axis - len(stale.shape)
                edits.append(Replace(subject.source.site(stale.arguments[place]), f"{name}.size({which})"))
            yield self.candidate(finding, "Ask for the sizes that the tensor has", *edits, prior=prior)
        if not any_found:
            yield Decline("no sizes of the tensor itself make the view fit")

    examples = (
        Example(
            "a batch size written into forward",
            """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.fc = nn.Linear(72, 3)

    def forward(self, x):
        x = torch.relu(self.conv(x))
-         x = x.view(8, 72)
+         x = x.view(x.size(0), 72)
        return self.fc(x)


print(Net()(torch.rand(5, 1, 8, 8)).shape)
""",
            runs=True,
        ),
        Example(
            "a batch size in a view of what a layer gives",
            """\
import torch
import torch.nn as nn

size, conv, fc = 32, nn.Conv2d(1, 2, 3), nn.Linear(72, 3)
for images in torch.rand(40, 1, 8, 8).split(size):
-     scores = fc(torch.relu(conv(images)).view(size, 72))
+     scores = fc(torch.relu(conv(images)).view(-1, 72))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "another number of features",
            """\
import torch

x = torch.rand(4, 6).view(4, 7)
""",
            runs=True,
        ),
        Reject(
            "a view that fits",
            """\
import torch

x = torch.rand(4, 6).view(2, 12)
""",
            runs=True,
        ),
    )


def _stale(subject: Subject) -> Iterator[Stale]:
    """Ways in which sizes of the tensor itself make the view fit that failed: its first size, or its last ones."""
    call = subject.crash.call if subject.crash is not None else None
    if call is None or call.name not in VIEWS or not call.inputs:
        return
    shape, node = known(call.inputs[0].shape), subject.call_node(call)
    asked = _sizes(call.args.get("size") or call.args.get("shape"))
    if shape is None or not shape or asked is None or node is None or not isinstance(node.func, ast.Attribute):
        return
    arguments = tuple(node.args)
    if len(arguments) == 1 and isinstance(arguments[0], (ast.Tuple, ast.List)):
        arguments = tuple(arguments[0].elts)
    base = node.func.value
    if len(arguments) != len(asked) or any(isinstance(one, ast.Starred) for one in arguments):
        return
    named = isinstance(base, (ast.Name, ast.Attribute))
    if len(asked) < 2:
        return
    ways: list[tuple[tuple[int, int], ...]] = [((0, 0),)]
    for count in (1, 2, 3):
        if count < min(len(asked), len(shape)):
            ways.append(tuple((len(asked) - back, len(shape) - back) for back in range(count, 0, -1)))
    for way in ways:
        places = tuple((place, axis) for place, axis in way if asked[place] != shape[axis])
        right = list(asked)
        for place, axis in places:
            right[place] = shape[axis]
        if not named and (places != ((0, 0),) or asked[1:] != (-1,) and -1 in asked):
            continue
        if places and -1 not in (asked[place] for place, _ in places) and _fits(right, prod(shape)):
            yield Stale(node, base, arguments, shape, asked, places)


def _unnamed(subject: Subject, stale: Stale) -> tuple[str, Edit]:
    """The repair for a tensor that has no name of which a size could be asked."""
    if stale.asked[1:] == (-1,):
        base = subject.text(subject.source.site(stale.base))
        return "Flatten each sample", Replace(subject.source.site(stale.node), f"{base}.flatten(1)")
    return "Let the view find out the size", Replace(subject.source.site(stale.arguments[0]), "-1")


def _fits(sizes: list[int], numbers: int) -> bool:
    rest = prod(size for size in sizes if size != -1)
    if -1 not in sizes:
        return rest == numbers
    return rest > 0 and numbers % rest == 0


def _sizes(value: object) -> tuple[int, ...] | None:
    if isinstance(value, (list, tuple)) and all(isinstance(one, int) and not isinstance(one, bool) for one in value):
        return tuple(value)
    return None
