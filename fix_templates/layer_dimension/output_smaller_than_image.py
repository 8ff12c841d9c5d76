"""The output image is smaller than the targets: the network downsamples and does not upsample enough."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Call,
    Edit,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    InsertElement,
    Repairs,
    Site,
    Subject,
    Symptom,
    Wrap,
    arithmetic,
    call_arguments,
    crashes,
    layer_facts,
    recipes,
    spell,
    tensor_shapes,
)

MODES = {1: "linear", 2: "bilinear", 3: "trilinear"}
"""The smooth interpolation mode for each number of spatial axes."""

ONE_OF_SEVERAL = 0.25
"""Factor on the prior where the network already upsamples with other layers: one of those may be missing instead."""

Way = tuple[str, tuple[Edit, ...] | None, float]


@dataclass(frozen=True, slots=True)
class _Smaller:
    """A loss over images of two sizes: the last convolution, its spatial axes, the ratio, and the calls in between."""

    call: Call
    last: Call
    spatial: int
    times: int
    path: tuple[Call, ...]


class OutputSmallerThanImage(FaultTemplate[_Smaller]):
    """The output image is smaller than the targets: the network downsamples and does not upsample enough.

    Every pooling, and every convolution with a stride, makes the image smaller. A network whose output has the size of
    its input, such as a mask, has to undo that with upsampling or transposed convolutions.

    Fix safety: unsafe. The output is interpolated to the size of the targets.

    References: torch.nn.Upsample, torch.nn.functional.interpolate.
    """

    code = "DNF229"
    name = "output-smaller-than-image"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.ADD_LAYER
    message = "the output is {times} times smaller than the targets, which have the size of the input"
    needs_run = True
    declined = "no layer can be added at the end of the network as it is written"

    def faults(self, subject: Subject) -> Faults[_Smaller]:
        found = _smaller(subject)
        if found is not None:
            yield found.call.site, found

    def report(self, site: Site, found: _Smaller) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.85,
            cause="crash",
            evidence={"times": found.times},
            times=found.times,
        )

    def repairs(self, subject: Subject, found: _Smaller) -> Repairs:
        widened = list(_widened(subject, found))
        if widened:
            yield from widened
            return
        sure = ONE_OF_SEVERAL if any(_enlarges(call, found.spatial) for call in found.path) else 1.0
        for title, edits, prior in _added(subject, found):
            yield title, edits, sure * prior

    programs = """
=== example: layers in a row, of which one pools
import torch
from torch import nn

net = nn.Sequential(
    nn.Conv2d(1, 4, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(4, 1, 1),
+     nn.Upsample(scale_factor=2, mode="bilinear"),
)
images, masks = torch.rand(3, 1, 8, 8), torch.ones(3, 1, 8, 8)
loss = nn.BCEWithLogitsLoss()(net(images), masks)

=== example: strides in an encoder, classes for each pixel
import torch
import torch.nn as nn
import torch.nn.functional as F


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.deep = nn.Conv2d(8, 8, 3, stride=2, padding=1)
        self.head = nn.Conv2d(8, 5, 1)

    def forward(self, x):
        x = F.relu(self.deep(F.relu(self.down(x))))
-         return self.head(x)
+         return F.interpolate(self.head(x), scale_factor=4, mode="bilinear")


out = Segmenter()(torch.rand(2, 3, 16, 16))
loss = F.cross_entropy(out, torch.randint(0, 5, (2, 16, 16)))

=== example: upsampling that undoes one pooling of two
import torch
from torch import nn

layers = [nn.Conv1d(2, 6, 5, padding=2), nn.AvgPool1d(2), nn.Conv1d(6, 6, 3, padding=1), nn.AvgPool1d(2)]
- layers += [nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv1d(6, 2, 1)]
+ layers += [nn.Upsample(scale_factor=4, mode="nearest"), nn.Conv1d(6, 2, 1)]
net = nn.Sequential(*layers)
signal = torch.rand(3, 2, 32)
loss = nn.BCELoss()(torch.sigmoid(net(signal)), signal)

=== reject: an output of the size of its targets
import torch
from torch import nn

net = nn.Sequential(nn.Conv2d(1, 4, 2, stride=2), nn.Upsample(scale_factor=2), nn.Conv2d(4, 1, 1))
images = torch.rand(3, 1, 8, 8)
loss = nn.BCEWithLogitsLoss()(net(images), images)

=== reject: targets of a size that the input does not have
import torch
from torch import nn

net = nn.Conv2d(1, 1, 1)
loss = nn.BCEWithLogitsLoss()(net(torch.rand(3, 1, 4, 4)), torch.ones(3, 1, 8, 8))
"""


def _smaller(subject: Subject) -> _Smaller | None:
    conflict = crashes.loss_conflict(subject)
    if conflict is None:
        return None
    given, wanted = tensor_shapes.known(conflict.prediction.shape), tensor_shapes.known(conflict.target.shape)
    path = [call for call in tensor_shapes.way_back(subject, conflict.prediction) if call.inputs]
    layers = [call for call in path if (facts := layer_facts(call)) is not None and facts.kind == "convolution"]
    facts = layer_facts(layers[0]) if layers else None
    if given is None or wanted is None or facts is None or min(len(given), len(wanted)) <= facts.spatial:
        return None
    came = tensor_shapes.known(layers[-1].inputs[0].shape)
    mine, theirs = given[-facts.spatial :], wanted[-facts.spatial :]
    ratios = {large / small for small, large in zip(mine, theirs, strict=True) if small}
    if came is None or came[-facts.spatial :] != theirs or len(ratios) != 1:
        return None
    times = ratios.pop()
    if times < 2 or times != int(times) or given[0] != wanted[0]:
        return None
    return _Smaller(conflict.call, layers[0], facts.spatial, int(times), tuple(path))


def _enlarges(call: Call, spatial: int) -> bool:
    """Whether a call returns larger images than it receives."""
    taken, given = (tensor_shapes.known(values[0].shape) if values else None for values in (call.inputs, call.outputs))
    if taken is None or given is None or len(taken) != len(given) or len(taken) <= spatial:
        return False
    return all(after > before for before, after in zip(taken[-spatial:], given[-spatial:], strict=True))


def _widened(subject: Subject, found: _Smaller) -> Iterator[Way]:
    """Increase the scale of the last upsampling."""
    for call in found.path:
        scale = call.args.get("scale_factor")
        if call.name != "torch.nn.Upsample" or not isinstance(scale, (int, float)) or scale != int(scale):
            continue
        node = subject.constructor_node(call)
        written = call_arguments.argument(subject, node, call.name, "scale_factor") if node is not None else None
        if arithmetic.number(written) == scale:
            text = str(int(scale) * found.times)
            edits = recipes.set_constructor_argument(subject, call, "scale_factor", text)
            yield f"Upsample by a factor of {text}", edits, 0.85
        return


def _added(subject: Subject, found: _Smaller) -> Iterator[Way]:
    """Interpolate the last convolution's output: as an element of its container, or around its call."""
    settings = f'scale_factor={found.times}, mode="{MODES[found.spatial]}"'
    title = f"Upsample the output by a factor of {found.times}"
    constructor = subject.constructor_node(found.last)
    listed = subject.source.parent(constructor) if constructor is not None else None
    if isinstance(listed, (ast.List, ast.Tuple)) and constructor in listed.elts:
        place = listed.elts.index(constructor) + 1
    elif isinstance(listed, ast.Call) and subject.source.qualified(listed.func) == "torch.nn.Sequential":
        place = listed.args.index(constructor) + 1 if constructor in listed.args else 0
    else:
        place = 0
    if place and listed is not None:
        layer = spell(subject, "torch.nn.Upsample")
        edit = InsertElement(subject.source.site(listed), place, f"{layer.code}({settings})")
        yield title, (edit, *layer.imports), 0.85
        return
    node = subject.call_node(found.last)
    if node is not None:
        function = spell(subject, "torch.nn.functional.interpolate")
        around = Wrap(subject.source.site(node), f"{function.code}(", f", {settings})")
        yield title, (around, *function.imports), 0.8
