"""Image features that are flattened to another number of values than the next layer expects, and the image sizes that
fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import TypeAlias

from dnnfix.detect.crashes.crash import size_conflict
from dnnfix.detect.tensors.axes import Arrival
from dnnfix.detect.tensors.shapes import before_flattening, known
from dnnfix.records import Call
from dnnfix.subject import Subject

VIEWS = frozenset({"torch.Tensor.view", "torch.Tensor.reshape"})
"""Methods of tensors that can flatten."""

LARGEST = 1024
"""The largest height or width that is proposed for an image."""

Size: TypeAlias = tuple[int, int]
"""A height and a width."""


def stated_rows(call: Call) -> tuple[int, tuple[int, ...]] | None:
    """What a view as rows (`x.view(batch, 400)`) states for the length of a row, and the sizes of one sample."""
    given = call.args.get("size", call.args.get("shape"))
    if call.name not in VIEWS or not call.inputs or not isinstance(given, (list, tuple)) or len(given) != 2:
        return None
    stated, sizes = given[1], known((call.inputs[0].shape or ())[1:])
    return (stated, sizes) if isinstance(stated, int) and stated > 0 and sizes else None


@dataclass(frozen=True, slots=True)
class Features:
    """Features of an image that are flattened to another number of values than is stated behind.

    `call` flattens them, `sizes` are their channels, height and width, `stated` the number of values that was meant,
    and `wanted` the heights and widths that make up this number with the same channels, the likeliest first.
    """

    call: Call
    sizes: tuple[int, int, int]
    stated: int
    wanted: tuple[Size, ...]


def features(subject: Subject) -> Features | None:
    """The features at whose flattening, or behind it, the program crashed; `None` where other sizes are at fault."""
    found = _at_linear(subject) or _at_view(subject)
    if found is None:
        return None
    call, sizes, stated = found
    if len(sizes) != 3 or min(sizes) < 1:
        return None
    channels, height, width = sizes
    wanted = _planes(stated // channels, height, width) if stated > 0 and stated % channels == 0 else ()
    return Features(call, (channels, height, width), stated, wanted) if wanted else None


def _at_linear(subject: Subject) -> tuple[Call, tuple[int, ...], int] | None:
    """The flattening before the linear layer that refused its features."""
    conflict = size_conflict(subject)
    if conflict is None or conflict.facts.kind != "linear" or len(conflict.value.shape or ()) != 2:
        return None
    found = before_flattening(subject, conflict.value)
    return (*found, conflict.stated) if found is not None else None


def _at_view(subject: Subject) -> tuple[Call, tuple[int, ...], int] | None:
    """The view in flight that states the size of a flattened image (`x.view(-1, 400)`)."""
    call = subject.crash.call if subject.crash is not None else None
    stated = stated_rows(call) if call is not None else None
    return (call, stated[1], stated[0]) if call is not None and stated is not None else None


def _planes(area: int, height: int, width: int) -> tuple[Size, ...]:
    """The heights and widths with this area: in the proportion of the image, or else of a square one."""
    if area == height * width:
        return ()
    pairs = [(side, area // side) for side in range(1, min(area, LARGEST) + 1) if area % side == 0]
    same = [pair for pair in pairs if abs(pair[0] * width - pair[1] * height) < max(width, height)]
    square = [(isqrt(area), isqrt(area))] if isqrt(area) ** 2 == area else []
    return tuple(dict.fromkeys((same if height != width else []) + square))[:2]


def image_sizes(came: Arrival, behind: Features) -> list[Size]:
    """Sizes of the images near the observed ratio of image to features, at most three, the likeliest first."""
    height, width = came.shape[2:]
    _, features_height, features_width = behind.sizes
    ratio = max(1, min(height // features_height, width // features_width))
    step = 1 << (ratio.bit_length() - 1)
    found: list[Size] = []
    for meant in behind.wanted:
        for one in dict.fromkeys((step, max(1, step // 2))):
            found.append((_moved(height, features_height, meant[0], one), _moved(width, features_width, meant[1], one)))
        found.append((round(height * meant[0] / features_height), round(width * meant[1] / features_width)))
    fit = [size for size in dict.fromkeys(found) if 1 <= min(size) and max(size) <= LARGEST and size != (height, width)]
    return fit[:3]


def _moved(image: int, feature: int, meant: int, step: int) -> int:
    """The image whose features are larger by as many steps as are missing; a whole multiple where it is one."""
    return meant * step if 0 <= image - feature * step < step else image + (meant - feature) * step
