"""Data holds the right numbers in another shape than the network takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt, prod

from dnnfix.api import (
    Arrival,
    Candidate,
    Decline,
    Edit,
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
    fit_data,
    meets,
    sibling_inputs,
    sibling_targets,
    stated_input,
)


@dataclass(frozen=True, slots=True)
class Change:
    """One way of giving the data the wanted shape: code behind it, what that does, whether the targets need it too."""

    code: str
    title: str
    prior: float
    targets: bool = False


class DataOfWrongShape(FixTemplate):
    """Data holds the right numbers in another shape than the network takes.

    Images where flat rows are taken, flat rows where images are taken, a table that is turned on its side, or one row
    where there should be one sample per number: the sizes multiply to what is wanted, and the axes do not.

    Fix safety: unsafe. The data is laid out in another way; its values stay.

    References: torch.Tensor.view, numpy.reshape, keras.Input.
    """

    code = "DNF104"
    name = "data-of-wrong-shape"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "data of shape {shape} is given where {wanted} is taken"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        came = arrival(subject)
        wanted = _wanted(came) if came is not None else None
        if came is None or wanted is None or not _changes(subject, came, wanted):
            return
        yield self.finding(
            subject.source.site(came.node),
            symptom=Symptom.CRASH,
            confidence=0.85,
            cause="crash",
            evidence={"shape": list(came.shape), "wanted": list(wanted)},
            shape=came.shape,
            wanted=f"(batch, {', '.join(str(size) for size in wanted[1:])})",
        )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        came = arrival(subject)
        wanted = _wanted(came) if came is not None else None
        if came is None or wanted is None:
            yield Decline("the wanted shape is not known")
            return
        for change in _changes(subject, came, wanted):
            edits: tuple[Edit, ...] = change_data(subject, sibling_inputs(subject, came.node), "", change.code)
            if change.targets:
                target = fit_data(subject)[1]
                node = subject.node(target.value.site) if target is not None else None
                if node is None:
                    continue
                edits += change_data(subject, sibling_targets(subject, node), "", change.code)  # type: ignore[arg-type]
            yield self.candidate(finding, change.title, *edits, prior=change.prior)

    examples = (
        Example(
            "images into a linear network",
            """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))
images = torch.rand(5, 1, 8, 8)
labels = torch.randint(0, 10, (5,))
- loss = nn.functional.cross_entropy(net(images), labels)
+ loss = nn.functional.cross_entropy(net(images.flatten(1)), labels)
""",
            runs=True,
        ),
        Example(
            "numbers in a row into a layer of one input",
            """\
import torch
from torch import nn

x = torch.linspace(-1, 1, 20)
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
- y = net(x)
+ y = net(x.unsqueeze(1))
""",
            runs=True,
        ),
        Example(
            "flat rows into a convolution",
            """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)

    def forward(self, x):
        return self.conv(x)


- Net()(torch.rand(5, 784))
+ Net()(torch.rand(5, 784).view(-1, 1, 28, 28))
""",
            runs=True,
        ),
        Example(
            "all samples in one row",
            """\
import numpy as np
import keras

x, y = np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([[2.0, 4.0, 6.0, 8.0]])
model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
- model.fit(x, y, epochs=1, verbose=0)
+ model.fit(x.reshape(-1, 1), y.reshape(-1, 1), epochs=1, verbose=0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a table of another width",
            """\
import torch
from torch import nn

nn.Linear(64, 16)(torch.rand(5, 8))
""",
            runs=True,
        ),
        Reject(
            "another number of features in Keras",
            """\
import numpy as np
import keras

model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
model.predict(np.random.rand(4, 5), verbose=0)
""",
            runs=True,
        ),
    )


def _wanted(came: Arrival) -> tuple[int | None, ...] | None:
    """The batched shape that the network takes, where the data has another one."""
    shape, facts = came.shape, came.facts
    if came.wanted is not None:
        return came.wanted if not meets(shape, came.wanted) and None not in came.wanted[1:] else None
    stated = stated_input(came.call)
    if came.is_keras and facts is not None and facts.kind == "linear" and len(shape) == 1:
        return (None, 1)
    if came.is_keras or facts is None or stated is None or not shape:
        return None
    if facts.kind == "linear" and shape[-1] != stated:
        return (None, stated)
    if facts.kind == "convolution" and facts.spatial == 2 and len(shape) == 2:
        side = isqrt(shape[1] // stated)
        return (None, stated, side, side) if stated * side * side == shape[1] and side > 1 else None
    return None


def _changes(subject: Subject, came: Arrival, wanted: tuple[int | None, ...]) -> list[Change]:
    """The ways of giving the data its shape that keep every number of every sample."""
    shape, sizes = came.shape, tuple(size for size in wanted[1:] if size is not None)
    sample = prod(sizes)
    found: list[Change] = []
    if not shape or sample == 0 or prod(shape) == 0:
        return found
    if len(shape) == 2 and len(sizes) == 1 and shape[0] == sample != shape[1]:
        few = shape[1] < shape[0]
        found.append(Change(".T", "Turn the table on its side", 0.85 if few else 0.6))
    if len(shape) > 1 and prod(shape[1:]) == sample and shape[1:] != sizes:
        found.append(Change(_laid_out(came, sizes), f"Give every sample the shape {sizes}", 0.8))
    elif prod(shape) == sample and shape != sizes and len(shape) != len(sizes) + 1:
        code = f"(1, {', '.join(str(size) for size in sizes)})"
        method = "reshape" if came.is_keras else "view"
        found.append(Change(f".{method}{code}", f"Give the sample the shape {sizes} and a batch axis", 0.7))
    if sample == 1 and len(shape) == 1 and shape[0] > 1:
        code = ".reshape(-1, 1)" if came.is_keras else ".unsqueeze(1)"
        found.append(Change(code, "Make every number a sample of its own", 0.9))
    if sample == 1 and shape[0] == 1 and len(shape) == 2 and shape[1] > 1 and came.is_keras:
        target = fit_data(subject)[1]
        same = target is not None and target.value.shape == shape
        found.append(Change(".reshape(-1, 1)", "Make every number a sample of its own", 0.9, targets=same))
    return sorted(found, key=lambda change: -change.prior)


def _laid_out(came: Arrival, sizes: tuple[int, ...]) -> str:
    if not came.is_keras and len(sizes) == 1:
        return ".flatten(1)"
    method = "reshape" if came.is_keras else "view"
    return f".{method}(-1, {', '.join(str(size) for size in sizes)})"
