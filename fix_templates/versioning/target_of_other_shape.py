"""`binary_cross_entropy(output, images)`: the target has as many elements as the output, in another shape."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Iterator
from itertools import accumulate

from dnnfix.api import ApiChange, Hit, Replace, Subject

REFUSED = re.compile(r"target size \(torch\.Size\(\[([\d, ]*)\]\)\).* input size \(torch\.Size\(\[([\d, ]*)\]\)\)")
"""Binary cross-entropy's message about its target and its input."""


class TargetOfOtherShape(ApiChange):
    """Binary cross-entropy compared output and target elementwise, whatever their shapes; now it refuses other shapes.

    Programs for torch 0.3 passed the flat output of an autoencoder and the unflattened images. The target is reshaped
    to the output, which pairs the elements as before. Where the two differ only in axes of size 1, `target-broadcast`
    repairs that. Axes in another order (channels last, a batch that is not first) are left alone: reshaping would pair
    elements that do not belong together.

    Fix safety: safe: the samples are the same, and one shape is the other with consecutive axes merged.

    References: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.binary_cross_entropy.html,
    https://github.com/pytorch/pytorch/issues/111645.
    """

    code = "DNF591"
    name = "target-of-other-shape"
    formerly = ("target-of-other-form",)
    message = "binary cross-entropy gets a target of shape {target} for an output of shape {output}, which torch refuses since 1.8"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source, crash = subject.source, subject.crash
        if crash is None or crash.kind != "ValueError" or crash.site is None or crash.site.path:
            return
        found = REFUSED.search(crash.message)
        if found is None:
            return
        target, output = (tuple(int(size) for size in group.split(",") if size.strip()) for group in found.groups())
        if _without_ones(target) == _without_ones(output) or not _flattened(target, output):
            return
        for call in source.all_calls:
            site = source.site(call)
            if site != crash.site or len(call.args) < 2 or any(isinstance(arg, ast.Starred) for arg in call.args):
                continue
            first, second = (source.segment(source.site(arg)) for arg in call.args[:2])
            if not isinstance(call.args[0], (ast.Name, ast.Attribute, ast.Subscript)):
                first, form = "", f"reshape({', '.join(map(str, (-1, *output[1:])))})"
            else:
                form = f"reshape_as({first})"
            simple = isinstance(call.args[1], (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
            yield Hit(
                site,
                self.message.format(target=target, output=output),
                title="reshape the target to the shape of the output",
                edits=(Replace(source.site(call.args[1]), f"{second if simple else f'({second})'}.{form}"),),
                safe=bool(first),
                removed={"torch": "1.8"},
            )

    programs = """
=== example (runs): the images are the target of a flat output
import torch
import torch.nn.functional as F

net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 16), torch.nn.Sigmoid())
x = torch.rand(3, 1, 4, 4)
- loss = F.binary_cross_entropy(net(x), x)
+ loss = F.binary_cross_entropy(net(x), x.reshape(-1, 16))
loss.backward()

=== example (runs): in a function for the loss
import torch

net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 16), torch.nn.Sigmoid())
criterion = torch.nn.BCELoss(reduction="sum")


def loss_function(made, given):
-     return criterion(made, given)
+     return criterion(made, given.reshape_as(made))


images = torch.rand(3, 4, 4)
loss_function(net(images), images).backward()

=== reject (runs): another number of elements
import torch
import torch.nn.functional as F

net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 8), torch.nn.Sigmoid())
x = torch.rand(3, 1, 4, 4)
F.binary_cross_entropy(net(x), x).backward()

=== reject (runs): images whose colors come last
import torch
import torch.nn.functional as F

net = torch.nn.Sequential(torch.nn.Conv2d(3, 3, 1), torch.nn.Sigmoid())
images = torch.rand(2, 4, 4, 3)
F.binary_cross_entropy(net(images.permute(0, 3, 1, 2)), images).backward()

=== reject (runs): a target whose samples come second
import torch

net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Sigmoid())
torch.nn.BCELoss()(net(torch.rand(8, 4)), torch.ones(3, 8)).backward()

=== reject (runs): an axis of size one
import torch
import torch.nn.functional as F

net = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Sigmoid())
F.binary_cross_entropy(net(torch.rand(3, 4)), torch.ones(3)).backward()
"""


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def _flattened(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether the batch sizes are equal and one shape is the other with consecutive axes merged.

    So it is where each cumulative product of the shape with fewer axes is one of the other's as well.
    """
    if not one or not other or one[0] != other[0] or math.prod(one) != math.prod(other):
        return False
    few, many = sorted((_without_ones(one[1:]), _without_ones(other[1:])), key=len)
    return set(accumulate(few, operator.mul)) <= set(accumulate(many, operator.mul))
