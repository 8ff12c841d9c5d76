"""A layer for signals is used on images, or one for images on tables or signals."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    AddImport,
    Candidate,
    Component,
    Decline,
    Edit,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    RankConflict,
    Reject,
    Replace,
    Subject,
    Symptom,
    layer_facts,
    rank_conflict,
    short,
    sibling,
)

DIMENSION = re.compile(r"(?<=[a-z])([123])([dD])(?=$|Transpose$)")


class LayerOfOtherDimensionality(FixTemplate):
    """A layer for signals (`Conv1d`) is used on images, or one for images (`BatchNorm2d`) on tables or signals.

    The number in the name is the number of axes beside the batch and the channels. The layer refuses tensors of another
    rank, and the program stops at the first batch.

    Fix safety: unsafe. The layer gets other weights.

    References: torch.nn.BatchNorm1d ("2D or 3D input"), torch.nn.BatchNorm2d ("4D input"), keras.layers.Conv1D.
    """

    code = "DNF219"
    name = "layer-of-other-dimensionality"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "{layer} receives a tensor of {rank} axes and takes {wanted}"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        found = _other_name(subject)
        site = found[0].call.made_at if found is not None else None
        if found is not None and site is not None:
            conflict, _ = found
            yield self.finding(
                site,
                symptom=Symptom.CRASH,
                confidence=0.9 if conflict.value.producer is not None or "Norm" in conflict.call.name else 0.7,
                cause="crash",
                evidence={"rank": conflict.rank, "wanted": conflict.wanted},
                layer=short(conflict.call.name),
                rank=conflict.rank,
                wanted=conflict.wanted,
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        found = _other_name(subject)
        if found is None:
            return
        conflict, digit = found
        own = _renamed(subject, conflict.call.made_at, digit)
        if own is None:
            yield Decline("the layer's name is not written where it is made")
            return
        together = _like_it(subject, conflict, digit)
        if together:
            title = f"Use the layers for {digit} axes in the whole model"
            yield self.candidate(finding, title, *_unique([*own, *together]), prior=0.8)
        title = f"Use {_digit(short(conflict.call.name), digit)}"
        yield self.candidate(finding, title, *_unique(own), prior=0.85 if not together else 0.5)

    examples = (
        Example(
            "batch norm for images behind a linear layer",
            """\
import torch
import torch.nn as nn

model = nn.Sequential(
    nn.Linear(6, 12),
-     nn.BatchNorm2d(12),
+     nn.BatchNorm1d(12),
    nn.ReLU(),
)
model(torch.randn(4, 6))
""",
            runs=True,
        ),
        Example(
            "batch norm for tables in a convolutional block",
            """\
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
""",
            runs=True,
        ),
        Example(
            "Keras convolutions for signals on images",
            """\
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
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "layers of the right kind",
            """\
import torch
import torch.nn as nn

nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 4), nn.BatchNorm1d(4))(torch.randn(2, 3, 4, 4))
""",
            runs=True,
        ),
        Reject(
            "an image without its batch",
            """\
import keras
from keras import layers

keras.Sequential([keras.Input((8, 8)), layers.Conv2D(4, 3)])
""",
            runs=True,
        ),
    )


def _other_name(subject: Subject) -> tuple[RankConflict, int] | None:
    """The conflict, and the number that the layer's name would have for tensors of this rank."""
    conflict = rank_conflict(subject)
    if conflict is None or not conflict.facts.spatial or conflict.call.made_at is None:
        return None
    keras = conflict.call.name.startswith("keras.")
    if keras and (conflict.value.producer is None and conflict.value.origin == "symbolic" and conflict.rank != 4 + 0):
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


def _renamed(subject: Subject, site: object, digit: int) -> list[Edit] | None:
    node = next((call for call in subject.source.all_calls if subject.source.site(call) == site), None)
    if node is None:
        return None
    function = node.func
    written = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    spelling = sibling(subject, function, _digit(written, digit))
    if spelling is None or _digit(written, digit) == written:
        return None
    return [*spelling[1], Replace(subject.source.site(function), spelling[0])]


def _like_it(subject: Subject, conflict: RankConflict, digit: int) -> list[Edit]:
    """The other layers of the same kind, made for the same rank, where all are made in the same function."""
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


def _same_kind(made: Component, conflict: RankConflict) -> bool:
    return _same_name(made.name, conflict) and made.called in (0, None)


def _same_name(name: str, conflict: RankConflict) -> bool:
    facts = layer_facts(name)
    kinds = ("convolution", "pooling")
    return (
        facts is not None
        and facts.spatial == conflict.facts.spatial
        and conflict.facts.kind in kinds
        and facts.kind in kinds
    )


def _unique(edits: list[Edit]) -> list[Edit]:
    seen: list[Edit] = []
    for edit in edits:
        if edit not in seen or not isinstance(edit, AddImport):
            seen.append(edit)
    return seen
