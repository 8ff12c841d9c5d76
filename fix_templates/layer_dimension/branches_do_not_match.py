"""Branches of a network are added or joined, and their shapes do not allow it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    CONCATENATIONS,
    Call,
    Candidate,
    Decline,
    Edit,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    RemoveArgument,
    SetArgument,
    Subject,
    Symptom,
    Value,
    argument_position,
    known,
    layer_facts,
    set_constructor_argument,
    short,
    size_changes,
    sized_producer,
    sizes,
    stated_output,
    way_back,
)

ADDITIONS = frozenset(
    {f"torch.Tensor.{name}" for name in ("add", "sub", "mul", "add_", "mul_")}
    | {"torch.add", "torch.mul", "keras.ops.add", "keras.ops.multiply", "keras.ops.subtract"}
    | {f"keras.layers.{name}" for name in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum")}
)


class BranchesDoNotMatch(FixTemplate):
    """Branches of a network are added or joined, and their shapes do not allow it.

    What is added has to have the same shape; what is joined, the same but for the axis along which it is joined. The
    branches differ where a kernel without padding took the border away on one side only, where strides differ, where
    one branch gives another number of channels, or where the axis is the wrong one.

    Fix safety: unsafe. A branch computes something of another shape.

    References: torch.cat, keras.layers.Add, keras.layers.Concatenate, torch.nn.Conv2d (`padding`).
    """

    code = "DNF214"
    name = "branches-do-not-match"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "{what} takes branches of {first} and {second}"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        found = _merge(subject)
        site = (found.call.site or found.call.made_at) if found is not None else None
        if found is not None and site is not None:
            yield self.finding(
                site,
                symptom=Symptom.CRASH,
                confidence=0.85,
                cause="crash",
                evidence={"first": found.first.shape, "second": found.second.shape},
                what=short(found.call.name),
                first=_shown(found.first),
                second=_shown(found.second),
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        found = _merge(subject)
        if found is None:
            return
        ways = [*_other_axis(subject, found), *_kept_borders(subject, found), *_same_channels(subject, found)]
        for edits, title, prior in sorted(ways, key=lambda way: -way[2])[:4]:
            yield self.candidate(finding, title, *edits, prior=prior)
        if not ways:
            yield Decline("no branch is shaped by one argument that could be changed")

    examples = (
        Example(
            "residual whose convolution takes the border away",
            """\
import torch
import torch.nn as nn


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
-         self.conv = nn.Conv2d(4, 4, kernel_size=3)
+         self.conv = nn.Conv2d(4, 4, kernel_size=3, padding=1)

    def forward(self, x):
        return x + torch.relu(self.conv(x))


print(Residual()(torch.randn(2, 4, 8, 8)).shape)
""",
            runs=True,
        ),
        Example(
            "branches of different widths",
            """\
import torch
from torch import nn

x = torch.randn(3, 5)
- left, right = nn.Linear(5, 8), nn.Linear(5, 6)
+ left, right = nn.Linear(5, 8), nn.Linear(5, 8)
y = left(x) * right(x)
""",
            runs=True,
        ),
        Example(
            "a decoder whose convolutions move in steps",
            """\
from keras import Input, layers

signal = Input((48, 1))
wide = layers.Conv1D(4, 3, padding="same")(signal)
low = layers.MaxPooling1D(2)(layers.MaxPooling1D(2)(wide))
x = layers.UpSampling1D(2)(low)
- x = layers.Conv1D(4, 3, strides=3, padding="same", activation="relu")(x)
+ x = layers.Conv1D(4, 3, padding="same", activation="relu")(x)
x = layers.concatenate([layers.UpSampling1D(2)(x), wide])
""",
            runs=True,
        ),
        Example(
            "Keras branches joined with and without border",
            """\
from keras.layers import Input, Conv2D, Concatenate, Dense

inputs = Input((8, 8, 3))
- a = Conv2D(4, 3)(inputs)
+ a = Conv2D(4, 3, padding="same")(inputs)
b = Conv2D(6, 1)(inputs)
merged = Concatenate()([a, b])
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "branches that match",
            """\
import torch
import torch.nn as nn

x = torch.randn(2, 4, 8, 8)
a, b = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 1)
torch.cat([a(x) + b(x), x], dim=1)
""",
            runs=True,
        ),
        Reject(
            "a loss between tensors of different lengths",
            """\
import torch

error = torch.randn(4, 3) - torch.randn(5, 3)
""",
            runs=True,
        ),
    )


@dataclass(frozen=True, slots=True)
class _Merge:
    """A merge that crashed, the two inputs that do not go together, and the axis along which it joins, if it does."""

    call: Call
    first: Value
    second: Value
    axis: int | None


Way = tuple[tuple[Edit, ...], str, float]


def _shown(value: Value) -> str:
    return " x ".join("?" if size is None else str(size) for size in (value.shape or ()))


def _merge(subject: Subject) -> _Merge | None:
    call = subject.crash.call if subject.crash is not None else None
    if call is None or len(call.inputs) < 2 or call.name not in ADDITIONS | CONCATENATIONS:
        return None
    axis: int | None = None
    if call.name in CONCATENATIONS:
        given = call.args.get("axis", call.args.get("dim", -1 if call.name.startswith("keras.") else 0))
        axis = given if isinstance(given, int) else None
        if axis is None:
            return None
    first = call.inputs[0]
    for second in call.inputs[1:]:
        a, b = first.shape, second.shape
        if a is None or b is None or len(a) != len(b):
            continue
        if axis is None and not any(_layers(subject, value) for value in (first, second)):
            continue
        if any(_clash(a, b, place, axis) for place in range(len(a))):
            return _Merge(call, first, second, axis)
    return None


def _clash(a: tuple[int | None, ...], b: tuple[int | None, ...], place: int, axis: int | None) -> bool:
    one, other = a[place], b[place]
    if one is None or other is None or one == other:
        return False
    return place != axis % len(a) if axis is not None else 1 not in (one, other)


def _layers(subject: Subject, value: Value) -> bool:
    """Whether a layer of the network took part in making the value."""
    return any(call.made_at is not None and layer_facts(call) is not None for call in way_back(subject, value))


def _other_axis(subject: Subject, found: _Merge) -> Iterator[Way]:
    """The one axis along which the branches could be joined."""
    shapes = [value.shape for value in found.call.inputs if value.shape is not None]
    if found.axis is None or len(shapes) != len(found.call.inputs):
        return
    rank = len(shapes[0])
    fits = [
        axis
        for axis in range(rank)
        if axis != found.axis % rank
        and not any(_clash(shapes[0], other, place, axis) for other in shapes[1:] for place in range(rank))
    ]
    if len(fits) != 1:
        return
    keras = found.call.name == "keras.layers.Concatenate"
    name = "axis" if found.call.name.startswith("keras.") else "dim"
    node = subject.constructor_node(found.call) if keras else subject.call_node(found.call)
    if node is not None:
        edit = SetArgument(subject.source.site(node), name, str(fits[0]), argument_position(found.call.name, name))
        yield (edit,), f"Join along axis {fits[0]}", 0.85


def _spatial(subject: Subject, value: Value) -> Iterator[Call]:
    """The convolutions and poolings of a branch, the last one first, as far as they belong to this branch alone."""
    for call in way_back(subject, value):
        facts = layer_facts(call)
        if (
            facts is not None
            and facts.kind in ("convolution", "pooling")
            and facts.spatial
            and call.made_at is not None
        ):
            yield call


def _kept_borders(subject: Subject, found: _Merge) -> Iterator[Way]:
    """Give the smaller branch a padding that keeps the size of its image, or both the same stride."""
    for small, large in ((found.first, found.second), (found.second, found.first)):
        a, b = known((small.shape or ())[1:]), known((large.shape or ())[1:])
        if a is None or b is None or not any(one < other for one, other in zip(a, b, strict=True)):
            continue
        shared = {call.id for call in way_back(subject, large)}
        for call in _spatial(subject, small):
            if call.id in shared:
                break
            yield from _padding(subject, call, a, b)
            yield from _unstrided(subject, call, a, b)
            yield from _stride(subject, call, large, shared)


def _padding(subject: Subject, call: Call, small: tuple[int, ...], large: tuple[int, ...]) -> Iterator[Way]:
    facts = layer_facts(call)
    spatial = facts.spatial if facts is not None else 0
    window = sizes(call.args.get("kernel_size"), spatial)
    if window is None or facts is None or facts.kind != "convolution" or "Transpose" in call.name:
        return
    keras = call.name.startswith("keras.")
    axes = range(spatial) if keras else range(len(small) - spatial, len(small))
    lost = {large[axis] - small[axis] for axis in axes}
    if keras and call.args.get("padding") == "valid" and lost == {max(window) - 1}:
        edits = set_constructor_argument(subject, call, "padding", '"same"')
        if edits is not None:
            yield edits, f"Let {short(call.name)} keep the size of its image", 0.8
    elif not keras and len(lost) == 1 and sizes(call.args.get("stride"), spatial) == (1,) * spatial:
        missing, now = lost.pop(), sizes(call.args.get("padding"), spatial)
        if missing % 2 == 0 and now is not None and len(set(now)) == 1 and now[0] + missing // 2 < max(window):
            border = str(now[0] + missing // 2)
            edits = set_constructor_argument(subject, call, "padding", border)
            if edits is not None:
                yield edits, f"Pad the input of {short(call.name)} by {border}", 0.8


def _unstrided(subject: Subject, call: Call, small: tuple[int, ...], large: tuple[int, ...]) -> Iterator[Way]:
    """Take the stride of a convolution away, where it is the factor by which the branch is too small everywhere.

    Only of a convolution that stands behind a widening: on the way down strides are meant.
    """
    facts = layer_facts(call)
    if facts is None or facts.kind != "convolution" or "Transpose" in call.name or call.name.startswith("torch."):
        return
    stride = sizes(call.args.get("strides"), facts.spatial)
    widened = (
        any("UpSampling" in one.name or "Transpose" in one.name for one in way_back(subject, call.inputs[0]))
        if call.inputs
        else False
    )
    axes = range(facts.spatial)
    if stride is None or max(stride) == 1 or not widened:
        return
    if all(small[axis] * stride[axis] == large[axis] for axis in axes):
        node = subject.constructor_node(call)
        edits: tuple[Edit, ...] | None = None
        if node is not None and any(keyword.arg == "strides" for keyword in node.keywords):
            edits = (RemoveArgument(subject.source.site(node), "strides"),)
        if edits is not None:
            yield edits, f"Let {short(call.name)} move its window by one", 0.85


def _stride(subject: Subject, call: Call, large: Value, shared: set[int]) -> Iterator[Way]:
    """Give the last convolution of the larger branch the stride of this one."""
    facts = layer_facts(call)
    name = "strides" if call.name.startswith("keras.") else "stride"
    stride = sizes(call.args.get(name), facts.spatial) if facts is not None else None
    other = next((one for one in _spatial(subject, large) if one.id in shared), None)
    if stride is None or other is None or set(stride) == {1} or len(set(stride)) != 1:
        return
    theirs = layer_facts(other)
    if theirs is None or theirs.kind != "convolution" or set(sizes(other.args.get(name), theirs.spatial) or ()) != {1}:
        return
    edits = set_constructor_argument(subject, other, name, str(stride[0]))
    if edits is not None:
        yield edits, f"Give {short(other.name)} the stride {stride[0]} of the other branch", 0.75


def _same_channels(subject: Subject, found: _Merge) -> Iterator[Way]:
    """Make one branch give as many channels or features as the other."""
    a, b = found.first.shape or (), found.second.shape or ()
    for place in range(1, len(a)):
        if not _clash(a, b, place, found.axis):
            continue
        for prior, changed, model in ((0.7, found.second, a), (0.6, found.first, b)):
            layer = sized_producer(subject, changed, place)
            facts = layer_facts(layer) if layer is not None else None
            wanted = model[place]
            if layer is None or facts is None or facts.gives is None or wanted is None:
                continue
            if stated_output(layer) != layer.args.get(facts.gives):
                continue
            for change in size_changes(subject, layer, facts.gives, wanted)[:2]:
                title = f"Make {short(layer.name)} give {change.written}, as the other branch does"
                yield change.edits, title, prior * change.prior
