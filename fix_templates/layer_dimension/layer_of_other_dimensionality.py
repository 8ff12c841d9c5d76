"""A layer is made for another number of axes than its input has, or for another order of axes than its neighbours."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    AddImport,
    Component,
    Decline,
    Edit,
    Family,
    Fault,
    FixPattern,
    Json,
    Repairs,
    Replace,
    SetArgument,
    ShapeTemplate,
    Site,
    Subject,
    crashes,
    keyword_value,
    layer_facts,
    short,
    spelling_edits,
)

DIMENSION = re.compile(r"(?<=[a-z])([123])([dD])(?=$|Transpose$)")

LAYERS = tuple(
    f"keras.layers.{name}{rank}D"
    for name in ("Conv", "MaxPooling", "AveragePooling", "GlobalMaxPooling", "GlobalAveragePooling", "UpSampling")
    for rank in (2, 3)
) + ("keras.layers.Conv2DTranspose", "keras.layers.SeparableConv2D", "keras.layers.ZeroPadding2D")
"""Layers of images that have a `data_format`."""

LEAST = 2
"""How many other layers have to state the data format for one without it to be an oversight."""


class LayerOfOtherDimensionality(ShapeTemplate):
    """A layer gets tensors of another rank, as `Conv1d` images or `BatchNorm2d` tables, or lacks its `data_format`.

    The number in the name is the number of axes beside the batch and the channels; a tensor of another rank raises. And
    where all image layers but one have `data_format="channels_first"`, that one treats the last axis as the channels,
    by default: its window moves over other axes than its neighbours', and its output has another shape.

    Fix safety: unsafe. The layer gets other weights, which is the point.

    References: torch.nn.BatchNorm1d ("2D or 3D input"), torch.nn.BatchNorm2d ("4D input"), keras.layers.Conv1D,
    keras.layers.Conv2D (`data_format`), keras.config.image_data_format.
    """

    code = "DNF219"
    name = "layer-of-other-dimensionality"
    formerly = ("DNF242", "layer-without-its-data-format")
    message = "the layer expects other axes: {what}"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION

    def explain(self, subject: Subject) -> Iterator[Fault]:
        found = _other_name(subject)
        if found is not None:
            conflict, digit = found
            layer = short(conflict.call.name)
            sure = conflict.value.producer is not None or "Norm" in conflict.call.name
            what = f"{layer} expects {conflict.wanted} axes, got a tensor with {conflict.rank}"
            evidence: dict[str, Json] = {"rank": conflict.rank, "wanted": conflict.wanted}
            ways = _with_digit(subject, conflict, digit)
            yield Fault(
                conflict.call.made_at, what, tuple(ways), evidence, confidence=0.9 if sure else 0.7, reading="rank"
            )
        odd = _untold(subject)
        if odd is not None:
            call, stated = odd
            what = f"it has no data_format, and all other layers of the network have data_format={stated}"
            site = subject.source.site(call)
            edit = SetArgument(site, "data_format", stated)
            ways = iter([("Set the data_format of the other layers", (edit,), 0.9)])
            yield Fault(site, what, tuple(ways), {}, confidence=0.8, reading="format")

    programs = """
=== example: batch norm for images after a linear layer
import torch
import torch.nn as nn

model = nn.Sequential(
    nn.Linear(6, 12),
-     nn.BatchNorm2d(12),
+     nn.BatchNorm1d(12),
    nn.ReLU(),
)
model(torch.randn(4, 6))

=== example: batch norm for tables in a convolutional block
import torch
from torch.nn import BatchNorm1d, Conv2d, Module
+ from torch.nn import BatchNorm2d


class Block(Module):
    def __init__(self):
        super().__init__()
        self.conv = Conv2d(3, 4, 3)
-         self.norm = BatchNorm1d(4)
+         self.norm = BatchNorm2d(4)

    def forward(self, x):
        return self.norm(self.conv(x))


Block()(torch.randn(2, 3, 6, 6))

=== example: Keras convolutions for signals on images
import numpy as np
from keras.models import Sequential
from keras.layers import Flatten, Conv1D, Conv2D, Dense

images = np.random.rand(6, 9, 9, 3)
model = Sequential()
- model.add(Conv1D(filters=4, kernel_size=2, activation="relu"))
- model.add(Conv1D(filters=4, kernel_size=2, activation="relu"))
+ model.add(Conv2D(filters=4, kernel_size=2, activation="relu"))
+ model.add(Conv2D(filters=4, kernel_size=2, activation="relu"))
model.add(Flatten())
model.add(Dense(2, activation="softmax"))
model.compile(optimizer="adam", loss="categorical_crossentropy")
model.fit(images, np.eye(2)[[0, 1, 0, 1, 0, 1]], verbose=0)

=== example: branches that no longer meet
from keras import Input, layers

image = Input((2, 16, 16))
wide = layers.Conv2D(filters=4, kernel_size=3, padding="same", data_format="channels_first")(image)
wide = layers.Conv2D(filters=4, kernel_size=3, padding="same", data_format="channels_first")(wide)
- short = layers.Conv2D(filters=4, kernel_size=1)(image)
+ short = layers.Conv2D(filters=4, kernel_size=1, data_format="channels_first")(image)
both = layers.add([wide, short])

=== reject: layers of the right kind
import torch
import torch.nn as nn

nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 4), nn.BatchNorm1d(4))(torch.randn(2, 3, 4, 4))

=== reject: an image without its batch
import keras
from keras import layers

keras.Sequential([keras.Input((8, 8)), layers.Conv2D(4, 3)])

=== reject: a network that leaves the order alone but for one layer, and runs
from keras import Input, layers

image = Input((16, 16, 2))
x = layers.Conv2D(4, 3, data_format="channels_last")(image)
x = layers.Conv2D(4, 3)(x)

=== reject: layers that state Keras's own order, and a crash of another kind
from keras import Input, layers

image = Input((16, 16, 2))
x = layers.Conv2D(4, 3, data_format="channels_last")(image)
x = layers.MaxPooling2D(data_format="channels_last")(x)
x = layers.Conv2D(4, 9)(x)
"""


# --- the number in the name -------------------------------------------------------------------------------------------


def _with_digit(subject: Subject, conflict: crashes.RankConflict, digit: int) -> Repairs:
    own = _renamed(subject, conflict.call.made_at, digit)
    if own is None:
        yield Decline("the layer's name is not written where it is created")
        return
    together = _like_it(subject, conflict, digit)
    if together:
        yield f"Use the layers for {digit} axes in the whole model", _unique([*own, *together]), 0.8
    yield f"Use {_digit(short(conflict.call.name), digit)}", _unique(own), 0.85 if not together else 0.5


def _other_name(subject: Subject) -> tuple[crashes.RankConflict, int] | None:
    """The conflict, and the number that the layer's name would have for tensors of this rank."""
    conflict = crashes.rank_conflict(subject)
    if conflict is None or not conflict.facts.spatial or conflict.call.made_at is None:
        return None
    keras = conflict.call.name.startswith("keras.")
    if keras and (conflict.value.producer is None and conflict.value.origin == "symbolic" and conflict.rank != 4):
        return None
    if keras and any(name in conflict.call.args for name in ("input_shape", "input_dim")):
        return None
    digit = max(conflict.rank - 2, 1)
    name = _digit(short(conflict.call.name), digit)
    other = layer_facts(f"{conflict.call.name.rpartition('.')[0]}.{name}")
    if digit > 3 or other is None or digit == conflict.facts.spatial or not other.accepts_rank(conflict.rank):
        return None
    first = conflict.value.producer is None
    if first and conflict.rank < conflict.wanted and "Norm" not in name:
        return None
    if any(
        isinstance(conflict.call.args.get(size), (list, tuple)) and not keras for size in ("kernel_size", "padding")
    ):
        return None
    return conflict, digit


def _digit(name: str, digit: int) -> str:
    return DIMENSION.sub(lambda match: f"{digit}{match[2]}", name)


def _renamed(subject: Subject, site: Site | None, digit: int) -> list[Edit] | None:
    node = next((call for call in subject.source.all_calls if subject.source.site(call) == site), None)
    if node is None:
        return None
    function = node.func
    written = getattr(function, "attr", getattr(function, "id", ""))
    spelling = spelling_edits.sibling(subject, function, _digit(written, digit))
    if spelling is None or _digit(written, digit) == written:
        return None
    return [*spelling[1], Replace(subject.source.site(function), spelling[0])]


def _like_it(subject: Subject, conflict: crashes.RankConflict, digit: int) -> list[Edit]:
    """The edits for the other layers of this dimensionality in the model."""
    edits: list[Edit] = []
    for made in subject.network.components:
        same = made.site != conflict.call.made_at and _same_kind(made, conflict)
        if (
            same
            and made.site is not None
            and any(subject.source.site(call) == made.site for call in subject.source.all_calls)
        ):
            edits += _renamed(subject, made.site, digit) or []
    if edits:
        return edits
    for call in subject.source.all_calls:
        name = subject.source.qualified(call.func)
        site = subject.source.site(call)
        if name is not None and site != conflict.call.made_at and _same_name(name, conflict):
            edits += _renamed(subject, site, digit) or []
    return edits


def _same_kind(made: Component, conflict: crashes.RankConflict) -> bool:
    return _same_name(made.name, conflict) and made.called in (0, None)


def _same_name(name: str, conflict: crashes.RankConflict) -> bool:
    facts = layer_facts(name)
    kinds = ("convolution", "pooling")
    return (
        facts is not None
        and facts.spatial == conflict.facts.spatial
        and conflict.facts.kind in kinds
        and facts.kind in kinds
    )


def _unique(edits: list[Edit]) -> tuple[Edit, ...]:
    """Edits with each import once, first."""
    imports = dict.fromkeys(edit for edit in edits if isinstance(edit, AddImport))
    return (*imports, *(edit for edit in edits if not isinstance(edit, AddImport)))


# --- the order of axes ------------------------------------------------------------------------------------------------


def _untold(subject: Subject) -> tuple[ast.Call, str] | None:
    """The one layer without the `data_format` that all others in its function have, and that format's source text."""
    made = list(subject.source.calls(*LAYERS)) if "data_format" in subject.source.words else []
    if "set_image_data_format" in subject.source.words or any(
        one.arg is None for call in made for one in call.keywords
    ):
        return None
    stated = [(call, value) for call in made if (value := keyword_value(call, "data_format")) is not None]
    untold = [call for call in made if keyword_value(call, "data_format") is None]
    if len({ast.dump(value) for _, value in stated}) != 1 or len(untold) != 1 or len(stated) < LEAST:
        return None
    value, around = stated[0][1], subject.source.enclosing(untold[0], ast.FunctionDef)
    apart = any(subject.source.enclosing(call, ast.FunctionDef) is not around for call, _ in stated)
    own_order = isinstance(value, ast.Constant) and value.value in ("channels_last", None)  # the default of Keras
    return None if apart or own_order else (untold[0], subject.source.segment(subject.source.site(value)))
