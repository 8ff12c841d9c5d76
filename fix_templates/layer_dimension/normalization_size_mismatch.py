"""A normalization layer is made for another number of channels or features than it receives."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Call,
    Candidate,
    Decline,
    Example,
    Finding,
    Reject,
    SizeConflict,
    SizeTemplate,
    Subject,
    Symptom,
    Value,
    crashed_layer,
    set_constructor_argument,
    short,
    size_changes,
)


class NormalizationSizeMismatch(SizeTemplate):
    """A batch, instance, group or layer normalization is made for another size than it receives.

    The layer keeps a weight per channel (or per element of the normalized shape), so the program stops at the first
    batch. Typical after the layer before it was changed, or where the size was copied from another block.

    Fix safety: unsafe. The layer before it, or this one, gets another number of weights; saved weights do not fit any more.

    References: torch.nn.BatchNorm2d (`num_features`), torch.nn.GroupNorm (`num_channels`), torch.nn.LayerNorm
    (`normalized_shape`: "input shape from an expected input of size").
    """

    code = "DNF203"
    name = "normalization-size-mismatch"
    message = "{layer} is made for {stated} and receives {received}"
    kind = "normalization"

    def explains(self, subject: Subject, conflict: SizeConflict) -> bool:
        """Whether it is the size alone: features that stand on the last axis are another fault."""
        shape = conflict.value.shape or ()
        on_last = len(shape) > 2 and conflict.axis % len(shape) == 1 and shape[-1] == conflict.stated
        return super().explains(subject, conflict) and not (on_last and conflict.call.name.endswith("1d"))

    def detect(self, subject: Subject) -> Iterator[Finding]:
        shapes = _normalized(subject)
        if shapes is not None and shapes[0].made_at is not None:
            call, _, stated, received = shapes
            yield self.finding(
                shapes[0].made_at,
                symptom=Symptom.CRASH,
                confidence=0.9,
                cause="crash",
                evidence={"stated": stated, "received": received},
                layer=short(call.name),
                stated=" x ".join(map(str, stated)),
                received=" x ".join(map(str, received)),
            )
            return
        yield from super().detect(subject)

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        shapes = _normalized(subject)
        if shapes is not None:
            yield from self._normalize(finding, subject, shapes[0], shapes[3])
            return
        yield from super().propose(finding, subject)

    def _normalize(
        self, finding: Finding, subject: Subject, call: Call, received: tuple[int, ...]
    ) -> Iterator[Candidate | Decline]:
        changes = size_changes(subject, call, "normalized_shape", received[0]) if len(received) == 1 else []
        for change in changes:
            title = f"Make {short(call.name)} normalize over {change.written}"
            yield self.candidate(finding, title, *change.edits, prior=0.8 * change.prior)
        if not changes:
            written = f"[{', '.join(map(str, received))}]"
            edits = set_constructor_argument(subject, call, "normalized_shape", written)
            if edits is None:
                yield Decline("the normalized shape is not written at one place")
                return
            yield self.candidate(finding, f"Make {short(call.name)} normalize over {written}", *edits, prior=0.8)

    examples = (
        Example(
            "batch norm after a widened convolution",
            """\
import torch
import torch.nn as nn

net = nn.Sequential(
    nn.Conv2d(3, 16, 3),
-     nn.BatchNorm2d(8),
+     nn.BatchNorm2d(16),
    nn.ReLU(),
)
net(torch.randn(2, 3, 8, 8))
""",
            runs=True,
        ),
        Example(
            "group norm in a module",
            """\
import torch
from torch import nn


class Stem(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 12, 3)
-         self.norm = nn.GroupNorm(num_groups=4, num_channels=8)
+         self.norm = nn.GroupNorm(num_groups=4, num_channels=12)

    def forward(self, x):
        return self.norm(self.conv(x))


Stem()(torch.randn(2, 3, 8, 8))
""",
            runs=True,
        ),
        Example(
            "layer norm over features",
            """\
import torch
import torch.nn as nn

proj = nn.Linear(5, 24)
- norm = nn.LayerNorm(5)
+ norm = nn.LayerNorm(24)
print(norm(proj(torch.randn(7, 5))).shape)
""",
            runs=True,
        ),
        Example(
            "layer norm over an image",
            """\
import torch
import torch.nn as nn

- net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.LayerNorm([4, 8, 8]))
+ net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.LayerNorm([4, 6, 6]))
net(torch.randn(2, 1, 8, 8))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "sizes that meet",
            """\
import torch
import torch.nn as nn

net = nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6), nn.LayerNorm(6))
net(torch.randn(4, 5))
""",
            runs=True,
        ),
        Reject(
            "batch norm for images on a table",
            """\
import torch
import torch.nn as nn

nn.Sequential(nn.Linear(5, 6), nn.BatchNorm2d(6))(torch.randn(4, 5))
""",
            runs=True,
        ),
    )


def _normalized(subject: Subject) -> tuple[Call, Value, tuple[int, ...], tuple[int, ...]] | None:
    """The crashed layer normalization, its input, its normalized shape, and the last axes of what it received."""
    found = crashed_layer(subject)
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
    return (call, value, numbers, received) if received != numbers else None
