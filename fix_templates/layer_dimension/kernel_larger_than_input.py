"""A kernel or a pooling window is larger than the image that reaches it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
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
    Replace,
    SetArgument,
    Subject,
    Symptom,
    argument_position,
    bypass,
    layer_facts,
    number,
    set_constructor_argument,
    short,
    sizes,
    stated_keras_input,
    way_back,
)

WINDOWS = {"convolution": "kernel_size", "pooling": "kernel_size"}

MOST_CHANNELS = 4
"""Channels that an image has at most: gray, colour, colour with transparency; no image is as few pixels high."""

FUNCTIONS = {f"torch.nn.functional.{kind}_pool{n}d": n for kind in ("max", "avg") for n in (1, 2, 3)}
"""Pooling functions and their number of spatial axes; their window is the second argument."""


class KernelLargerThanInput(FixTemplate):
    """A kernel or a pooling window is larger than the image that reaches it, so nothing would be left of the output.

    Usual behind too many poolings for the size of the images, for small images in a network for large ones, and where
    the axes of the input shape are in the wrong order.

    Fix safety: unsafe. The network computes something else from the same image: a smaller window, a border of zeros, or
    one pooling less.

    References: torch.nn.Conv2d (shape of the output), torch.nn.MaxPool2d, keras.layers.Conv2D (`padding`).
    """

    code = "DNF211"
    name = "kernel-larger-than-input"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "{layer} has a window of {window} and its input is {size}"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        found = _window(subject)
        site = (found.call.made_at or found.call.site) if found is not None else None
        if found is not None and site is not None:
            yield self.finding(
                site,
                symptom=Symptom.CRASH,
                confidence=0.9,
                cause="crash",
                evidence={"window": found.window, "input": found.size},
                layer=short(found.call.name),
                window=" x ".join(map(str, found.window)),
                size=" x ".join(map(str, found.size)),
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        found = _window(subject)
        if found is None:
            return
        any_edit = False
        for edits, title, prior in (
            *_axes_swapped(subject, found),
            *_channels_last(subject, found),
            *_padded(subject, found),
            *_all_padded(subject, found),
            *_smaller(subject, found),
            *_one_pooling_less(subject, found),
        ):
            any_edit = True
            yield self.candidate(finding, title, *edits, prior=prior)
        if not any_edit:
            yield Decline("neither the window nor a pooling before it is written at one place")

    examples = (
        Example(
            "convolution behind two poolings",
            """\
import torch
import torch.nn as nn

net = nn.Sequential(
    nn.Conv2d(1, 4, 3),
    nn.MaxPool2d(2),
    nn.Conv2d(4, 4, 3),
    nn.MaxPool2d(2),
-     nn.Conv2d(4, 8, 5),
+     nn.Conv2d(4, 8, 5, padding=2),
)
print(net(torch.rand(2, 1, 14, 14)).shape)
""",
            runs=True,
        ),
        Example(
            "pooling function over a small image",
            """\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
-         return F.max_pool2d(self.conv(x), 8)
+         return F.max_pool2d(self.conv(x), 2)


print(Small()(torch.rand(2, 3, 8, 8)).shape)
""",
            runs=True,
        ),
        Example(
            "Keras model with one pooling too many",
            """\
import keras
from keras import layers

model = keras.Sequential([
    keras.Input((10, 10, 1)),
    layers.Conv2D(4, 3),
    layers.MaxPooling2D(4),
-     layers.Conv2D(8, 3),
+     layers.Conv2D(8, 3, padding="same"),
    layers.Flatten(),
])
""",
            runs=True,
        ),
        Example(
            "Keras axes of the input shape swapped",
            """\
from keras.models import Sequential
from keras.layers import Conv1D, Flatten, Dense

net = Sequential()
- net.add(Conv1D(4, 10, input_shape=(1, 40)))
+ net.add(Conv1D(4, 10, input_shape=(40, 1)))
net.add(Flatten())
net.add(Dense(2))
""",
            runs=True,
        ),
        Example(
            "Keras images with their channels first",
            """\
from keras.layers import Conv2D, MaxPooling2D
from keras.models import Sequential

model = Sequential()
- model.add(Conv2D(8, (3, 3), padding="valid", activation="relu", input_shape=(3, 32, 32)))
+ model.add(Conv2D(8, (3, 3), padding="valid", activation="relu", input_shape=(32, 32, 3)))
model.add(Conv2D(8, (3, 3), activation="relu"))
model.add(MaxPooling2D(pool_size=(2, 2)))
""",
            runs=True,
        ),
        Example(
            "a gray image stated by Input, rows and columns in variables",
            """\
import keras
from keras import layers

rows, columns = 28, 28
- inputs = keras.Input(shape=(1, rows, columns))
+ inputs = keras.Input(shape=(rows, columns, 1))
x = layers.Conv2D(4, 5)(inputs)
x = layers.Flatten()(layers.MaxPooling2D()(x))
model = keras.Model(inputs, layers.Dense(10)(x))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "windows that fit",
            """\
import torch
import torch.nn as nn

nn.Sequential(nn.Conv2d(1, 4, 5), nn.MaxPool2d(2))(torch.rand(2, 1, 9, 9))
""",
            runs=True,
        ),
        Reject(
            "a kernel made to fit by its padding",
            """\
import keras
from keras import layers

keras.Sequential([keras.Input((2, 2, 1)), layers.Conv2D(4, 5, padding="same")])
""",
            runs=True,
        ),
    )


@dataclass(frozen=True, slots=True)
class _Window:
    """A call whose window does not fit; `window` counts dilation, `size` counts padding; `argument` names the window."""

    call: Call
    window: tuple[int, ...]
    size: tuple[int, ...]
    argument: str


def _window(subject: Subject) -> _Window | None:
    call = subject.crash.call if subject.crash is not None else None
    shape = call.inputs[0].shape if call is not None and call.inputs else None
    if call is None or shape is None:
        return None
    if call.name in FUNCTIONS:
        return _fits(call, shape, FUNCTIONS[call.name], _written_window(subject, call), "kernel_size")
    facts = layer_facts(call)
    if facts is None or facts.kind not in WINDOWS or not facts.spatial or not facts.accepts_rank(len(shape)):
        return None
    argument = "pool_size" if facts.kind == "pooling" and call.name.startswith("keras.") else "kernel_size"
    return _fits(call, shape, facts.spatial, sizes(call.args.get(argument), facts.spatial), argument)


def _written_window(subject: Subject, call: Call) -> tuple[int, ...] | None:
    node = subject.call_node(call)
    given = node.args[1] if node is not None and len(node.args) > 1 else None
    size = number(given)
    return (size,) * FUNCTIONS[call.name] if size is not None else None


def _fits(
    call: Call, shape: tuple[int | None, ...], spatial: int, window: tuple[int, ...] | None, argument: str
) -> _Window | None:
    keras = call.name.startswith("keras.")
    if keras and (call.args.get("padding") != "valid" or call.args.get("data_format") == "channels_first"):
        return None
    if "Transpose" in call.name or window is None:
        return None
    axes = shape[1 : 1 + spatial] if keras else shape[len(shape) - spatial :]
    padding = sizes(call.args.get("padding", 0), spatial) if not keras else (0,) * spatial
    dilation = sizes(call.args.get("dilation_rate" if keras else "dilation", 1), spatial) or (1,) * spatial
    if padding is None or any(size is None for size in axes):
        return None
    size = tuple((n or 0) + 2 * p for n, p in zip(axes, padding, strict=True))
    reach = tuple(d * (k - 1) + 1 for k, d in zip(window, dilation, strict=True))
    return _Window(call, reach, size, argument) if any(k > n for k, n in zip(reach, size, strict=True)) else None


Proposal = tuple[tuple[Edit, ...], str, float]


def _axes_swapped(subject: Subject, found: _Window) -> Iterator[Proposal]:
    """A Keras input shape whose axes, the other way round, leave room for the window."""
    stated = stated_keras_input(subject, found.call) if found.call.name.startswith("keras.") else None
    first = bool(found.call.inputs) and found.call.inputs[0].producer is None
    if stated is None or not first or not isinstance(stated.node, (ast.Tuple, ast.List)) or len(stated.shape) != 2:
        return
    length = stated.shape[1]
    if length is not None and length >= found.window[0] and len(stated.node.elts) == 2:
        a, b = (subject.text(subject.source.site(one)) for one in stated.node.elts)
        written = f"({b}, {a})" if isinstance(stated.node, ast.Tuple) else f"[{b}, {a}]"
        edit = Replace(subject.source.site(stated.node), written)
        yield (edit,), f"State the length before the channels: {written}", 0.85


def _channels_last(subject: Subject, found: _Window) -> Iterator[Proposal]:
    """A Keras input shape that states an image with its channels first, as Keras 1 on Theano had it."""
    if not found.call.name.startswith("keras.") or not found.call.inputs:
        return
    path = [found.call, *way_back(subject, found.call.inputs[0])]
    if any(call.args.get("data_format") == "channels_first" for call in path):
        return
    stated = stated_keras_input(subject, path[-1])
    if stated is None or not isinstance(stated.node, (ast.Tuple, ast.List)) or len(stated.node.elts) != 3:
        return
    sizes = [size for size in stated.shape if size is not None]
    if len(sizes) == 3 and sizes[0] <= MOST_CHANNELS < min(sizes[1:]):
        channels, height, width = (subject.text(subject.source.site(one)) for one in stated.node.elts)
        inner = f"{height}, {width}, {channels}"
        written = f"({inner})" if isinstance(stated.node, ast.Tuple) else f"[{inner}]"
        yield (Replace(subject.source.site(stated.node), written),), f"State the channels last: {written}", 0.8


def _padded(subject: Subject, found: _Window) -> Iterator[Proposal]:
    facts = layer_facts(found.call)
    if facts is None or facts.kind != "convolution" or all(size < 2 for size in found.size):
        return
    if found.call.name.startswith("keras."):
        edits = set_constructor_argument(subject, found.call, "padding", '"same"')
        border = "'same'"
    else:
        border = str(max(found.window) // 2)
        edits = set_constructor_argument(subject, found.call, "padding", border)
    if edits is not None:
        yield edits, f"Pad the input of {short(found.call.name)} ({border})", 0.6


def _all_padded(subject: Subject, found: _Window) -> Iterator[Proposal]:
    """Give every convolution up to the window a border, so that only the poolings make the image smaller."""
    edits: dict[Edit, None] = {}
    before = way_back(subject, found.call.inputs[0]) if found.call.inputs else ()
    for call in (found.call, *before):
        facts = layer_facts(call)
        if facts is None or facts.kind != "convolution" or call.args.get("padding", 0) not in (0, "valid", "VALID"):
            continue
        window = sizes(call.args.get("kernel_size"), facts.spatial)
        if window is None or max(window) < 2:
            continue
        border = '"same"' if call.name.startswith("keras.") else str(max(window) // 2)
        for edit in set_constructor_argument(subject, call, "padding", border) or ():
            edits[edit] = None
    if len(edits) > 1:
        yield tuple(edits), "Pad the input of every convolution", 0.58


def _smaller(subject: Subject, found: _Window) -> Iterator[Proposal]:
    room = min(found.size)
    facts = layer_facts(found.call)
    fits = min(2, room) if facts is None or facts.kind == "pooling" else room - 1 + room % 2
    if fits < 2:
        return  # a window of one element looks at nothing around it
    node = subject.constructor_node(found.call) if found.call.made_at is not None else subject.call_node(found.call)
    if node is None:
        return
    place = 1 if found.call.name in FUNCTIONS else argument_position(found.call.name, found.argument)
    edit = SetArgument(subject.source.site(node), found.argument, str(fits), place)
    yield (edit,), f"Make the window of {short(found.call.name)} {fits} wide", 0.55


def _one_pooling_less(subject: Subject, found: _Window) -> Iterator[Proposal]:
    """Take out the last pooling before the window, where its input has room for the window."""
    if not found.call.inputs:
        return
    for call in way_back(subject, found.call.inputs[0]):
        facts = layer_facts(call)
        if (facts is None or facts.kind != "pooling") and call.name not in FUNCTIONS:
            continue
        edits = bypass(subject, call)
        if edits is not None:
            yield edits, f"Leave out the {short(call.name)} before {short(found.call.name)}", 0.4
        return
