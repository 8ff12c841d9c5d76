"""A layer is created for another size than its input has."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from dnnfix.api import (
    CRASH_CAUSE,
    Call,
    Candidate,
    Decline,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Json,
    Site,
    Subject,
    Symptom,
    Value,
    crashes,
    end_edits,
    graph,
    layer_facts,
    recipes,
    short,
    size_edits,
    tensor_shapes,
)

UNITS = {
    "linear": "features",
    "convolution": "channels",
    "normalization": "channels",
    "recurrent": "features per step",
    "attention": "features per step",
}
"""Layer kinds (`LayerFacts.kind`) that are reported, and what the size counts."""

MOST = 4
"""The most candidates for one conflict: the layer and the one before it, with two spellings each."""


class LayerSizeMismatch(FixTemplate):
    """A layer is created for another size than its input has, and the first batch crashes.

    - A linear layer with another number of features: after a layer was added, a kernel or image size changed, or the
      size of the flattened image was guessed.
    - A convolution with another number of channels: gray images in a network for colour images, a block changed on one
      side only, a concatenation.
    - A batch, instance, group or layer normalization with the size of another layer.
    - A recurrent layer whose `input_size` is the length of the sequence or the batch size.
    - A multi-head attention or transformer layer with another width (`embed_dim`, `d_model`) than the sequence.

    Fix safety: unsafe. The layer, or the one before it, gets another number of weights; saved weights do not fit any
    more.

    References: torch.nn.Linear (`in_features`, "size of each input sample"), torch.nn.Conv2d (`in_channels`),
    torch.nn.BatchNorm2d (`num_features`), torch.nn.LayerNorm (`normalized_shape`), torch.nn.LSTM (`input_size`, "the
    number of expected features in the input x"), torch.nn.MultiheadAttention (`embed_dim`).
    """

    code = "DNF201"
    name = "layer-size-mismatch"
    formerly = (
        "linear-size-mismatch",
        "DNF202",
        "convolution-size-mismatch",
        "DNF203",
        "normalization-size-mismatch",
        "DNF204",
        "recurrent-size-mismatch",
        "DNF205",
        "attention-size-mismatch",
    )
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "{layer} expects {stated} {unit}, got {received}"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        normalized, conflict = _normalized(subject), crashes.size_conflict(subject)
        if normalized is not None and normalized[0].made_at is not None:
            call, stated, received = normalized
            written = " x ".join(map(str, stated)), " x ".join(map(str, received))
            yield self._found(normalized[0].made_at, call, written, {"stated": stated, "received": received}, "values")
        elif conflict is not None and _is_alone(subject, conflict):
            site = conflict.call.made_at or conflict.call.site
            if site is not None:
                evidence: dict[str, Json] = {
                    "stated": conflict.stated,
                    "received": conflict.received,
                    "axis": conflict.axis,
                }
                sizes = str(conflict.stated), str(conflict.received)
                yield self._found(site, conflict.call, sizes, evidence, UNITS[conflict.facts.kind])

    def _found(self, site: Site, call: Call, sizes: tuple[str, str], evidence: dict[str, Json], unit: str) -> Finding:
        stated, received = sizes
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.9,
            cause=CRASH_CAUSE,
            evidence=evidence,
            layer=short(call.name),
            stated=stated,
            received=received,
            unit=unit,
        )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        normalized, conflict = _normalized(subject), crashes.size_conflict(subject)
        if normalized is not None:
            yield from self._normalize(finding, subject, normalized[0], normalized[2])
            return
        changes = end_edits.both_ends(subject, conflict) if conflict is not None else []
        between = (
            conflict is not None
            and _comes_of_layers(subject, conflict.value)
            and not _is_of_no_image(subject, conflict)
        )
        for change in changes[:MOST]:
            yield self.candidate(finding, change.title, *change.edits, prior=change.prior, at_either_end=between)
        if not changes:
            yield Decline("neither size can be changed alone")

    def _normalize(
        self, finding: Finding, subject: Subject, call: Call, received: tuple[int, ...]
    ) -> Iterator[Candidate | Decline]:
        changes = size_edits.size_changes(subject, call, "normalized_shape", received[0]) if len(received) == 1 else []
        for change in changes:
            title = f"Make {short(call.name)} normalize over {change.written}"
            yield self.candidate(finding, title, *change.edits, prior=0.8 * change.prior)
        if not changes:
            written = f"[{', '.join(map(str, received))}]"
            edits = recipes.set_constructor_argument(subject, call, "normalized_shape", written)
            if edits is None:
                yield Decline("the normalized shape is not written in one place")
                return
            yield self.candidate(finding, f"Make {short(call.name)} normalize over {written}", *edits, prior=0.8)

    programs = """
=== example: flattened image of another size
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
-         self.fc = nn.Linear(4*14*14, 10)
+         self.fc = nn.Linear(4*13*13, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        x = torch.flatten(x, 1)
        return self.fc(x)


out = Net()(torch.randn(2, 1, 28, 28))

=== example: name of another layer's size
import torch
import torch.nn as nn


class Coder(nn.Module):
    def __init__(self, wide, narrow, code):
        super().__init__()
        self.encode = nn.LSTMCell(wide, narrow)
-         self.mean = nn.Linear(wide, code)
+         self.mean = nn.Linear(narrow, code)
        self.decode = nn.Linear(code, wide)

    def forward(self, x):
        h, c = self.encode(x)
        return self.decode(self.mean(h))


coder = Coder(12, 6, 2)
print(coder(torch.randn(4, 12)).shape)

=== example: channels of a concatenation
import torch
import torch.nn as nn

left = nn.Conv2d(3, 4, 1)
- right = nn.Conv2d(3, 6, 1)
+ right = nn.Conv2d(3, 4, 1)
join = nn.Conv2d(8, 2, 1)
x = torch.randn(2, 3, 5, 5)
y = join(torch.cat([left(x), right(x)], dim=1))

=== example: batch norm after a widened convolution
import torch
import torch.nn as nn

net = nn.Sequential(
    nn.Conv2d(3, 16, 3),
-     nn.BatchNorm2d(8),
+     nn.BatchNorm2d(16),
    nn.ReLU(),
)
net(torch.randn(2, 3, 8, 8))

=== example: layer norm over features
import torch
import torch.nn as nn

proj = nn.Linear(5, 24)
- norm = nn.LayerNorm(5)
+ norm = nn.LayerNorm(24)
print(norm(proj(torch.randn(7, 5))).shape)

=== example: layer norm over an image
import torch
import torch.nn as nn

- net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.LayerNorm([4, 8, 8]))
+ net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.LayerNorm([4, 6, 6]))
net(torch.randn(2, 1, 8, 8))

=== example: length of the sequence instead of its width
import torch
import torch.nn as nn

steps = torch.randn(4, 10, 3)
- lstm = nn.LSTM(input_size=10, hidden_size=6, batch_first=True)
+ lstm = nn.LSTM(input_size=3, hidden_size=6, batch_first=True)
out, state = lstm(steps)

=== example: projection before the encoder
import torch
from torch import nn

- project = nn.Linear(6, 20)
+ project = nn.Linear(6, 16)
layer = nn.TransformerEncoderLayer(d_model=16, nhead=2, dim_feedforward=8)
encoder = nn.TransformerEncoder(layer, num_layers=2)
print(encoder(project(torch.randn(4, 3, 6))).shape)

=== reject: sizes that meet
import torch
import torch.nn as nn

model = nn.Sequential(nn.Flatten(), nn.Linear(12, 4), nn.ReLU(), nn.Linear(4, 2))
model(torch.randn(5, 3, 4))

=== reject: a batch that was flattened into the features
import torch
import torch.nn as nn

fc = nn.Linear(12, 4)
fc(torch.randn(5, 3, 4).view(-1))

=== reject: images with their channels last
import torch
import torch.nn as nn

nn.Conv2d(3, 8, 3)(torch.randn(2, 9, 9, 3))

=== reject: batch norm for images on a table
import torch
import torch.nn as nn

nn.Sequential(nn.Linear(5, 6), nn.BatchNorm2d(6))(torch.randn(4, 5))

=== reject: a state of the wrong size
import torch
import torch.nn as nn

nn.GRU(3, 6)(torch.randn(10, 4, 3), torch.zeros(1, 2, 6))

=== reject: heads that do not divide the width
import torch
import torch.nn as nn

nn.MultiheadAttention(30, 4)
"""


def _is_alone(subject: Subject, conflict: crashes.SizeConflict) -> bool:
    """Whether only the size is wrong; missing axes or flattens and axes in another order belong to other rules."""
    shape, kind = conflict.value.shape or (), conflict.facts.kind
    if kind == "linear":  # otherwise an image that was not flattened, or a batch that was
        return len(shape) == 2 or len(shape) > 2 and tensor_shapes.image_behind(subject, conflict.value) is None
    if kind == "convolution":  # otherwise an image without a batch axis, or with its channels last
        given_last = conflict.value.producer is None and bool(shape) and shape[-1] == conflict.stated
        return len(shape) == conflict.facts.batched_rank and not given_last
    if kind == "normalization":  # otherwise features on the last axis
        on_last = len(shape) > 2 and conflict.axis % len(shape) == 1 and shape[-1] == conflict.stated
        return not (on_last and conflict.call.name.endswith("1d"))
    return kind in UNITS


def _is_of_no_image(subject: Subject, conflict: crashes.SizeConflict) -> bool:
    """Whether no image has as many values as the layer expects: then only the layer is at fault."""
    flattened = tensor_shapes.before_flattening(subject, conflict.value)
    if flattened is None:
        return False
    call, sizes = flattened
    channels = sizes[0] if call.name.startswith("torch.") else sizes[-1]
    return conflict.stated % channels != 0 and conflict.stated % (prod(sizes) // channels) != 0


def _comes_of_layers(subject: Subject, value: Value) -> bool:
    """Whether layers of the network computed a value."""
    call = subject.network.producer(value)
    return call is not None and any(map(layer_facts, graph.upstream(subject.network, call).values()))


def _normalized(subject: Subject) -> tuple[Call, tuple[int, ...], tuple[int, ...]] | None:
    """The crashed layer normalization, its normalized shape, and the last axes of its input."""
    found = crashes.crashed_layer(subject)
    if found is None or found[1].takes != "normalized_shape":
        return None
    call, _, value = found
    given = call.args.get("normalized_shape")
    stated = (given,) if isinstance(given, int) else tuple(given) if isinstance(given, (list, tuple)) else ()
    numbers = tuple(size for size in stated if isinstance(size, int))
    shape = value.shape or ()
    received = tuple(size for size in shape[len(shape) - len(numbers) :] if size is not None)
    if not numbers or len(numbers) != len(stated) or len(received) != len(numbers) or len(shape) <= len(numbers):
        return None
    return (call, numbers, received) if received != numbers else None
