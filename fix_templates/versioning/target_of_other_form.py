"""`binary_cross_entropy(output, images)`: a target with as many elements as the output, in another form."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Iterator
from itertools import accumulate

from dnnfix.api import ApiChange, Hit, Replace, Subject

REFUSED = re.compile(r"target size \(torch\.Size\(\[([\d, ]*)\]\)\).* input size \(torch\.Size\(\[([\d, ]*)\]\)\)")
"""What binary cross-entropy says of its target and its input."""


class TargetOfOtherForm(ApiChange):
    """Binary cross-entropy compared output and target element by element, whatever their axes; now it refuses.

    Programs of torch 0.3 gave the loss of an autoencoder its flat output and the images as they came. The target is given
    the form of the output, which pairs the elements as before. Where the two differ in an axis of size one only, that is
    what is repaired (`target-broadcast`). Axes in another order (images with their colors last, a batch that does not come
    first) are left alone: there a new form would pair elements that do not belong together.

    Fix safety: safe: the samples are the same ones, and one of both forms is the other with axes in a row made one.

    References: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.binary_cross_entropy.html,
    https://github.com/pytorch/pytorch/issues/111645.
    """

    code = "DNF591"
    name = "target-of-other-form"
    message = "binary cross-entropy refuses a target of shape {target} for an output of shape {output} since torch 1.8"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The call of the loss at which the run stopped."""
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
    """Whether the samples are as many, and one form is the other with axes in a row made one.

    Both are so where each place at which the form with fewer axes goes on to the next is such a place of the other too.
    """
    if not one or not other or one[0] != other[0] or math.prod(one) != math.prod(other):
        return False
    few, many = sorted((_without_ones(one[1:]), _without_ones(other[1:])), key=len)
    return set(accumulate(few, operator.mul)) <= set(accumulate(many, operator.mul))
