"""A number of groups or heads does not divide the channels or the width that it shares out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from dnnfix.api import (
    Call,
    Candidate,
    Component,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    SetArgument,
    Site,
    Subject,
    Symptom,
    argument,
    argument_position,
    number,
    refused_constructor,
    short,
)


class GroupsDoNotDivide(FixTemplate):
    """A number of groups or heads does not divide the channels or the width that it shares out.

    Grouped convolutions, group normalizations and attention heads cut their input into equal parts. The layer cannot be
    made, or refuses its first input.

    Fix safety: unsafe. The layer is cut into another number of parts.

    References: torch.nn.Conv2d ("in_channels and out_channels must both be divisible by groups"), torch.nn.GroupNorm,
    torch.nn.MultiheadAttention ("embed_dim // num_heads"), keras.layers.GroupNormalization.
    """

    code = "DNF215"
    name = "groups-do-not-divide"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "{layer} cannot share out {sizes} among {parts}"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        found = _shares(subject)
        if found is not None:
            yield self.finding(
                found.site,
                symptom=Symptom.CRASH,
                confidence=0.95,
                cause="crash",
                evidence={"parts": found.parts, "sizes": found.sizes},
                layer=short(found.name),
                sizes=" and ".join(map(str, found.sizes)),
                parts=found.parts,
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        found = _shares(subject)
        if found is None:
            return
        common = gcd(*found.sizes)
        near = sorted((d for d in range(1, common + 1) if common % d == 0), key=lambda d: (abs(d - found.parts), -d))
        for place, parts in enumerate(near[:2]):
            edit = SetArgument(found.site, found.argument, str(parts), argument_position(found.name, found.argument))
            yield self.candidate(finding, f"Share out among {parts}", edit, prior=0.7 - 0.2 * place)
        if not near:
            yield Decline("nothing divides the sizes")

    examples = (
        Example(
            "groups of a convolution",
            """\
import torch
import torch.nn as nn

- conv = nn.Conv2d(10, 20, 3, groups=4)
+ conv = nn.Conv2d(10, 20, 3, groups=5)
print(conv(torch.randn(1, 10, 5, 5)).shape)
""",
            runs=True,
        ),
        Example(
            "Keras groups",
            """\
import keras
from keras import layers

model = keras.Sequential([
    keras.Input((8, 8, 10)),
-     layers.GroupNormalization(4),
+     layers.GroupNormalization(5),
])
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "groups that divide",
            """\
import torch
import torch.nn as nn

nn.Sequential(nn.Conv2d(8, 16, 3, groups=4), nn.GroupNorm(4, 16))(torch.randn(2, 8, 6, 6))
""",
            runs=True,
        ),
        Reject(
            "a layer refused for another reason",
            """\
import torch
import torch.nn as nn

nn.Conv2d(8, -16, 3, groups=4)
""",
            runs=True,
        ),
    )


@dataclass(frozen=True, slots=True)
class _Shares:
    """A constructor with a number of parts that does not divide all of the sizes."""

    site: Site
    name: str
    argument: str
    parts: int
    sizes: tuple[int, ...]


def _shares(subject: Subject) -> _Shares | None:
    refused = refused_constructor(subject)
    if refused is not None and refused.site is not None:
        node = subject.node(refused.site)
        return _written(subject, refused.name, node) if isinstance(node, ast.Call) else None
    call = subject.crash.call if subject.crash is not None else None
    if call is None or call.made_at is None or not call.inputs or not call.inputs[0].shape:
        return None
    return _received(call, call.made_at)


ASKED: dict[str, tuple[str, tuple[str, ...]]] = {
    "MultiheadAttention": ("num_heads", ("embed_dim",)),
    "GroupNorm": ("num_groups", ("num_channels",)),
}
ASKED |= {
    f"{kind}{n}d": ("groups", ("in_channels", "out_channels")) for kind in ("Conv", "ConvTranspose") for n in (1, 2, 3)
}
ASKED |= {f"Transformer{kind}Layer": ("nhead", ("d_model",)) for kind in ("Encoder", "Decoder")}
"""Layers of torch that share out: the argument for the parts, and those for what is shared out."""


def _written(subject: Subject, name: str, node: ast.Call) -> _Shares | None:
    parts_name, size_names = ASKED.get(short(name), ("", ()))
    parts = _value(subject, argument(subject, node, name, parts_name)) if parts_name else None
    sizes = [_value(subject, argument(subject, node, name, one)) for one in size_names]
    numbers = tuple(size for size in sizes if size is not None)
    if not parts or parts < 1 or not numbers or len(numbers) != len(sizes) or min(numbers) < 1:
        return None
    site = subject.source.site(node)
    return _Shares(site, name, parts_name, parts, numbers) if any(size % parts for size in numbers) else None


def _value(subject: Subject, given: ast.expr | None) -> int | None:
    if given is None or number(given) is not None:
        return number(given)
    bound = subject.source.bindings(given, given)
    return number(bound[0]) if len(bound) == 1 else None


def _received(call: Call | Component, site: Site) -> _Shares | None:
    """A Keras layer whose groups do not divide the channels that came."""
    shape = call.inputs[0].shape if isinstance(call, Call) and call.inputs else None
    parts = call.args.get("groups")
    if not shape or not isinstance(parts, int) or parts < 2 or not call.name.startswith("keras."):
        return None
    channels, filters = shape[-1], call.args.get("filters")
    sizes = tuple(size for size in (channels, filters) if isinstance(size, int))
    return _Shares(site, call.name, "groups", parts, sizes) if any(size % parts for size in sizes) else None
