"""Data has its channels on another axis than the convolution takes them from."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Arrival,
    Candidate,
    Declared,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    Subject,
    Symptom,
    arrival,
    change_data,
    declare,
    declared,
    fitted_inputs,
    meets,
    sibling_inputs,
    stated_input,
    stated_keras_input,
    with_numpy,
)

FEW = 4
"""The most channels that an image file has."""


class ChannelsInWrongPlace(FixTemplate):
    """Data has its channels on another axis than the convolution takes them from.

    torch takes `(batch, channels, height, width)`; Keras, unless told otherwise, takes `(batch, height, width,
    channels)`, which is also how image files are read. In the wrong order rows are taken for channels.

    Fix safety: unsafe. The axes of the data are moved, which is the point; its values stay.

    References: torch.nn.Conv2d (shape of the input), keras.layers.Conv2D (`data_format`).
    """

    code = "DNF103"
    name = "channels-in-wrong-place"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "{layer} takes {wanted} and {what} {shape}"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        came, stated = arrival(subject), declared(subject)
        if came is not None and _order(came) is not None:
            site, shape, what = subject.source.site(came.node), came.shape, "receives"
            layer, wanted = came.call.name, _wanted(came)
        elif stated is not None and _first(stated):
            site, shape = subject.source.site(stated.stated.node), stated.shape  # type: ignore[assignment]
            what, layer, wanted = "its input is stated as", stated.call.name, "channels on the last axis"
        else:
            return
        yield self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.85,
            cause="crash",
            evidence={"shape": list(shape), "layer": layer},
            layer="the network" if layer.startswith("keras.models.") else layer.rpartition(".")[2],
            wanted=wanted,
            what=what,
            shape=tuple(shape),
        )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        came, stated = arrival(subject), declared(subject)
        if came is None and stated is not None:
            yield from self._stated_last(finding, subject, stated)
            return
        order = _order(came) if came is not None else None
        if came is None or order is None:
            yield Decline("the order of the axes is not known")
            return
        everywhere = sibling_inputs(subject, came.node)
        axes = ", ".join(str(axis) for axis in order)
        title = "Move the channels of the data to the axis where they are taken from"
        if not came.is_keras:
            batch = ".unsqueeze(0)" if len(order) == 3 and came.facts is not None and came.facts.spatial == 2 else ""
            code = f".permute({axes}){batch}"
            # An axis of one channel was put where it is by whoever made the data: rather the layer is at fault.
            prior = 0.2 if order[0] == 0 and came.shape[1] == 1 else 0.9
            yield self.candidate(finding, title, *change_data(subject, everywhere, "", code), prior=prior)
            if len(everywhere) > 1:
                yield self.candidate(finding, title, *change_data(subject, (came.node,), "", code), prior=0.6)
            return
        function, imports = with_numpy(subject, "transpose")
        edits = change_data(subject, everywhere, f"{function}(", f", ({axes}))")
        last = _looks_last(came.shape)
        yield self.candidate(finding, title, *edits, *imports, prior=0.5 if last else 0.9)
        where = stated_keras_input(subject, came.call)
        if where is not None:
            change = declare(subject, where, came.shape[1:])
            prior = 0.9 if last else 0.3
            yield self.candidate(finding, "State the input shape as the data has it", *change, prior=prior)

    def _stated_last(self, finding: Finding, subject: Subject, stated: Declared) -> Iterator[Candidate | Decline]:
        edits = declare(subject, stated.stated, (*stated.shape[1:], stated.shape[0]))
        data = fitted_inputs(subject)
        if data:
            function, imports = with_numpy(subject, "moveaxis")
            both = (*edits, *change_data(subject, data, f"{function}(", ", 1, -1)"), *imports)
            yield self.candidate(finding, "Put the channels last, in the input shape and in the data", *both, prior=0.7)
        yield self.candidate(finding, "State the input shape with the channels last", *edits, prior=0.6)

    examples = (
        Example(
            "sequences of vectors into Conv1d",
            """\
import torch
import torch.nn as nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(6, 8, 3, padding=1)

    def forward(self, words):
        return self.conv(words)


- Tagger()(torch.randn(4, 10, 6))
+ Tagger()(torch.randn(4, 10, 6).permute(0, 2, 1))
""",
            runs=True,
        ),
        Example(
            "Keras data with channels first",
            """\
import numpy as np
import keras
from keras import layers

images = np.random.rand(6, 3, 8, 10)
model = keras.Sequential([keras.Input((8, 10, 3)), layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(2)])
- model.predict(images, verbose=0)
+ model.predict(np.transpose(images, (0, 2, 3, 1)), verbose=0)
""",
            runs=True,
        ),
        Example(
            "Keras input shape with channels first, data with channels last",
            """\
import numpy as np
import keras
from keras import layers

images = np.random.rand(6, 8, 8, 3)
- model = keras.Sequential([keras.Input(shape=(3, 8, 8)), layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(2)])
+ model = keras.Sequential([keras.Input(shape=(8, 8, 3)), layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(2)])
model.predict(images, verbose=0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "channels in their place, another size elsewhere",
            """\
import torch
from torch import nn

nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(10, 2))(torch.rand(2, 3, 8, 8))
""",
            runs=True,
        ),
        Reject(
            "images of another number of channels",
            """\
import torch
from torch import nn

nn.Conv2d(3, 4, 3)(torch.rand(2, 1, 8, 8))
""",
            runs=True,
        ),
    )


def _order(came: Arrival) -> tuple[int, ...] | None:
    """The order in which the axes of the data would be right."""
    shape, facts = came.shape, came.facts
    rank = len(shape)
    if came.wanted is not None:
        if rank not in (3, 4, 5) or meets(shape, came.wanted):
            return None
        to_last, to_first = (0, *range(2, rank), 1), (0, rank - 1, *range(1, rank - 1))
        fitting = [o for o in (to_last, to_first) if meets(tuple(shape[axis] for axis in o), came.wanted)]
        return fitting[0] if fitting else None
    if came.is_keras or facts is None or facts.kind != "convolution":
        return None
    stated = stated_input(came.call)
    if rank not in (facts.spatial + 1, facts.spatial + 2) or shape[-1] != stated or shape[-1 - facts.spatial] == stated:
        return None
    if rank == facts.spatial + 1:
        return (rank - 1, *range(rank - 1)) if facts.spatial == 2 and shape[0] > FEW else None
    return (0, rank - 1, *range(1, rank - 1))


def _wanted(came: Arrival) -> str:
    return (
        str(came.wanted)
        if came.wanted is not None
        else f"{stated_input(came.call)} channels on the axis after the batch"
    )


def _looks_last(shape: tuple[int, ...]) -> bool:
    return shape[-1] <= FEW < shape[1]


def _first(stated: Declared) -> bool:
    """Whether the stated shape has its channels first, in a layer that takes them last."""
    shape = stated.shape
    if stated.facts.kind != "convolution" or len(shape) != stated.facts.spatial + 1 or stated.facts.spatial < 2:
        return False
    if stated.call.args.get("data_format") == "channels_first" or None in shape:
        return False
    first, last = shape[0] or 0, shape[-1] or 0
    return first in (1, 3, FEW) and last > FEW
