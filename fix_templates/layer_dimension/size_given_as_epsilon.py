"""A second size is passed to a normalization layer, whose second parameter is epsilon."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Component,
    Decline,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Json,
    RemoveArgument,
    Subject,
    Symptom,
    arithmetic,
    call_arguments,
    network_facts,
    short,
)

EPSILONS = {
    **{f"torch.nn.{name}{n}d": "eps" for name in ("BatchNorm", "InstanceNorm") for n in (1, 2, 3)},
    "torch.nn.GroupNorm": "eps",
    "torch.nn.LayerNorm": "eps",
    "torch.nn.SyncBatchNorm": "eps",
    "keras.layers.BatchNormalization": "momentum",
    "keras.layers.LayerNormalization": "epsilon",
}
"""Normalization layers and their parameter that is a small number; Keras expects a `momentum` below 1."""


class SizeGivenAsEpsilon(FixTemplate):
    """A second size is passed to a normalization layer (`nn.BatchNorm2d(64, 64)`), whose second parameter is epsilon.

    Epsilon is added to the variance. With a value of one or more the output shrinks towards zero instead of being
    normalized, without a warning.

    Fix safety: unsafe. The layer normalizes from then on, which is the point.

    References: torch.nn.BatchNorm2d (`eps`, default 1e-5), keras.layers.BatchNormalization (`momentum`).
    """

    code = "DNF217"
    name = "size-given-as-epsilon"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.API_CONTRACT
    message = "{layer} gets {text} as its {argument}, which should be a small constant"
    triggers = tuple(name.rpartition(".")[2] for name in EPSILONS)

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for call in subject.source.all_calls:
            name = subject.source.qualified(call.func)
            if name is None or name not in EPSILONS:
                continue
            given = _positional(subject, call, name)
            if given is None or not _is_size(subject, call, name, given):
                continue
            yield self.finding(
                subject.source.site(call),
                symptom=Symptom.VIOLATION,
                confidence=0.95,
                layer=short(name),
                text=subject.text(subject.source.site(given)),
                argument=EPSILONS[name],
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        node = subject.node(finding.site)
        name = subject.source.qualified(node.func) if isinstance(node, ast.Call) else None
        place = network_facts.argument_position(name, EPSILONS[name]) if name is not None else None
        if name is None or not isinstance(node, ast.Call) or place is None or len(node.args) != place + 1:
            yield Decline("more positional arguments follow")
            return
        edit = RemoveArgument(finding.site, EPSILONS[name], place)
        yield self.candidate(finding, f"Leave the {EPSILONS[name]} of {short(name)} at its default", edit, prior=0.95)

    programs = """
=== example: channels twice in a block
import torch.nn as nn


class Inception(nn.Module):
    def __init__(self, inputs, n3x3, n5x5):
        super().__init__()
        self.b2 = nn.Sequential(
            nn.Conv2d(inputs, n3x3, 3, padding=1),
            nn.BatchNorm2d(n3x3),
            nn.ReLU(inplace=True),
        )
        self.b3 = nn.Sequential(
            nn.Conv2d(inputs, n5x5, 5, padding=2),
-             nn.BatchNorm2d(n5x5, n5x5),
+             nn.BatchNorm2d(n5x5),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.b2(x), self.b3(x)

=== example: width and height of a layer norm
from torch.nn import LayerNorm, Linear, Sequential

- body = Sequential(Linear(8, 32), LayerNorm(32, 32))
+ body = Sequential(Linear(8, 32), LayerNorm(32))

=== reject: an explicit epsilon
import torch.nn as nn

nn.BatchNorm2d(64, 1e-3)
nn.BatchNorm1d(32, eps=0.001, momentum=0.5)
nn.GroupNorm(8, 64)

=== reject: an epsilon as a keyword argument from a variable
import torch.nn as nn


def norm(channels, eps):
    return nn.BatchNorm2d(channels, eps)
"""


def _positional(subject: Subject, call: ast.Call, name: str) -> ast.expr | None:
    place = network_facts.argument_position(name, EPSILONS[name])
    if place is None or place >= len(call.args) or any(isinstance(one, ast.Starred) for one in call.args[: place + 1]):
        return None
    return call_arguments.argument(subject, call, name, EPSILONS[name])


def _is_size(subject: Subject, call: ast.Call, name: str, given: ast.expr) -> bool:
    """Whether the value is a size: an integer above one, or the layer's size repeated."""
    size = arithmetic.number(given)
    if size is not None:
        return size > 1
    first = call.args[0] if call.args else None
    if first is None or first is given:
        return False
    if ast.dump(first) == ast.dump(given):
        return True
    return any(_whole(made.args.get(EPSILONS[name])) for made in _made(subject, call))


def _made(subject: Subject, call: ast.Call) -> list[Component]:
    site = subject.source.site(call)
    return [one for one in subject.network.components if one.site == site] if subject.ran else []


def _whole(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 1
