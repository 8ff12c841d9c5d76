"""An image is flattened to a size that it does not have."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from dnnfix.api import (
    VIEWS,
    Call,
    Candidate,
    Component,
    Decline,
    Edit,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Network,
    Reject,
    Replace,
    Subject,
    Symptom,
    known,
    layer_facts,
    loss_conflict,
    number,
    set_constructor_argument,
    size_changes,
    spelled,
    stated_rows,
)

MOST_OFF = 16
"""Times that what arrives may be larger than a size of a reshape: beyond, rather something is missing before it."""


class FlattenedSizeWrong(FixTemplate):
    """An image is flattened with a written size (`x.view(-1, 16 * 5 * 5)`) that is not the size of one sample.

    Where the number of elements does not divide, the program stops. Where it happens to divide, parts of different
    samples are put into one row: the batch gets another length, and the program stops at the loss or learns nonsense.
    The flattening and the linear layer behind it state the same number and have to change together.

    Fix safety: unsafe. The linear layer gets another number of weights; saved weights do not fit any more.

    References: torch.Tensor.view, torch.nn.Linear (`in_features`), keras.layers.Reshape.
    """

    code = "DNF207"
    name = "flattened-size-wrong"
    at_either_end = True
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "rows of {stated} are made of samples of {received} values"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        found = _flattening(subject) or _reshape(subject)
        site = (found.call.site or found.call.made_at) if found is not None else None
        if found is not None and site is not None:
            yield self.finding(
                site,
                symptom=Symptom.CRASH,
                confidence=0.95,
                cause="crash",
                evidence={"stated": found.stated, "sizes": found.sizes},
                stated=found.stated,
                received=" x ".join(map(str, found.sizes)),
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        reshape = _reshape(subject)
        if reshape is not None:
            yield from self._reshape(finding, subject, reshape)
            return
        found = _flattening(subject)
        node = subject.call_node(found.call) if found is not None else None
        if found is None or node is None or len(node.args) != 2 or not isinstance(node.func, ast.Attribute):
            yield Decline("the flattening is not written as `view(batch, size)`")
            return
        linear = _behind(subject, found)
        wanted = prod(found.sizes)
        changes = (
            size_changes(subject, linear, "in_features", wanted, factors=found.sizes) if linear is not None else []
        )
        layer: tuple[Edit, ...] = changes[0].edits if changes else ()
        if linear is not None and not changes:
            yield Decline("the size of the linear layer behind is not written at one place")
            return
        owner = subject.text(subject.source.site(node.func.value))
        together = f" and make the linear layer take {changes[0].written}" if changes else ""
        if number(node.args[1]) is not None:
            written = spelled(subject, node.args[1], wanted, found.sizes)
            edit = Replace(subject.source.site(node.args[1]), written)
            yield self.candidate(finding, f"Flatten to {written}{together}", edit, *layer, prior=0.9)
        if owner.isidentifier():
            first = Replace(subject.source.site(node.args[0]), f"{owner}.size(0)")
            second = Replace(subject.source.site(node.args[1]), "-1")
            yield self.candidate(
                finding, f"Flatten whatever comes per sample{together}", first, second, *layer, prior=0.7
            )

    def _reshape(self, finding: Finding, subject: Subject, found: _Flattening) -> Iterator[Candidate | Decline]:
        given = found.call.args.get("target_shape")
        target = (
            known(tuple(size for size in given if isinstance(size, int))) if isinstance(given, (list, tuple)) else None
        )
        if not target:
            yield Decline("the target shape is unknown")
            return
        total, any_fits = prod(found.sizes), False
        for place, size in enumerate(target):
            others = prod(target) // size if size else 0
            if others and total % others == 0:
                shape = [*target[:place], total // others, *target[place + 1 :]]
                written = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
                edits = set_constructor_argument(subject, found.call, "target_shape", written)
                if edits is not None:
                    any_fits = True
                    far = total // others > MOST_OFF * size
                    yield self.candidate(finding, f"Reshape to {written}", *edits, prior=0.2 if far else 0.6)
        if not any_fits:
            yield Decline("no single size makes the shapes hold the same number of values")

    examples = (
        Example(
            "size that divides the batch by accident",
            """\
import torch
import torch.nn as nn

conv = nn.Conv2d(3, 16, 3)
- fc = nn.Linear(288, 10)
+ fc = nn.Linear(576, 10)
x, y = torch.randn(8, 3, 8, 8), torch.randint(0, 10, (8,))
- h = torch.relu(conv(x)).view(-1, 288)
+ h = torch.relu(conv(x)).view(-1, 576)
loss = nn.CrossEntropyLoss()(fc(h), y)
""",
            runs=True,
        ),
        Example(
            "reshape in a model with a dropout before the linear layer",
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(2, 8, 3), nn.MaxPool1d(2))
-         self.classifier = nn.Sequential(nn.Dropout(0.1), nn.Linear(8 * 10, classes))
+         self.classifier = nn.Sequential(nn.Dropout(0.1), nn.Linear(8 * 9, classes))

    def forward(self, signal):
        signal = self.features(signal)
-         signal = signal.reshape(-1, 80)
+         signal = signal.reshape(signal.size(0), -1)
        return self.classifier(signal)


Net()(torch.randn(5, 2, 20))
""",
            runs=True,
        ),
        Example(
            "Keras Reshape to another number of values",
            """\
import keras
from keras import layers

model = keras.Sequential([
    keras.Input((12,)),
-     layers.Reshape((5, 3)),
+     layers.Reshape((4, 3)),
    layers.Conv1D(2, 2),
])
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a view that fits",
            """\
import torch
import torch.nn as nn

h = nn.Conv2d(3, 16, 3)(torch.randn(8, 3, 8, 8)).view(-1, 16 * 6 * 6)
nn.CrossEntropyLoss()(nn.Linear(576, 10)(h), torch.randint(0, 10, (8,)))
""",
            runs=True,
        ),
        Reject(
            "sequences whose steps become rows on purpose",
            """\
import torch
import torch.nn as nn

out = nn.Linear(6, 5)(torch.randn(4, 7, 6))
nn.CrossEntropyLoss()(out.view(-1, 5), torch.randint(0, 5, (28,)))
""",
            runs=True,
        ),
    )


@dataclass(frozen=True, slots=True)
class _Flattening:
    """A call that makes rows of `stated` values out of samples of these sizes."""

    call: Call
    stated: int
    sizes: tuple[int, ...]


def _flattening(subject: Subject) -> _Flattening | None:
    crash = subject.crash
    if crash is None or crash.call is None:
        return None
    if crash.call.name in VIEWS:
        return _read(crash.call)
    conflict = loss_conflict(subject)
    if conflict is None or not conflict.prediction.shape or not conflict.target.shape:
        return None
    if conflict.prediction.shape[0] == conflict.target.shape[0]:
        return None
    for call in reversed(subject.network.calls):
        shape = call.inputs[0].shape if call.name in VIEWS and call.inputs else None
        if shape and shape[0] == conflict.target.shape[0] and call.outputs and call.outputs[0].shape:
            read = _read(call)
            if read is not None and call.outputs[0].shape[0] == conflict.prediction.shape[0]:
                return read
    return None


def _read(call: Call) -> _Flattening | None:
    found = stated_rows(call)
    if found is None:
        return None
    stated, sizes = found
    plain = len(sizes) < 2 or stated in (prod(sizes), sizes[-1])
    return None if plain else _Flattening(call, stated, sizes)


def _reshape(subject: Subject) -> _Flattening | None:
    call = subject.crash.call if subject.crash is not None else None
    if call is None or call.name != "keras.layers.Reshape" or not call.inputs or call.made_at is None:
        return None
    sizes, given = known((call.inputs[0].shape or ())[1:]), call.args.get("target_shape")
    numbers = [size for size in given if isinstance(size, int)] if isinstance(given, (list, tuple)) else []
    return _Flattening(call, prod(numbers), sizes) if sizes and numbers and prod(sizes) != prod(numbers) else None


def _behind(subject: Subject, found: _Flattening) -> Component | None:
    """The linear layer that takes the rows next and states the same size, as the run made it."""
    for network in (subject.network, subject.source_network):
        start = next(
            (call for call in network.calls if call.site == found.call.site and call.name == found.call.name), None
        )
        if start is None or not start.outputs:
            continue
        linear = _next_linear(network, start)
        for component in subject.network.components if linear is not None else ():
            same = linear is not None and component.site == linear.made_at
            if same and component.args.get("in_features") == found.stated:
                return component
    made = [one for one in subject.network.components if one.args.get("in_features") == found.stated]
    return made[0] if len(made) == 1 else None


def _next_linear(network: Network, call: Call) -> Call | None:
    for _ in range(8):
        users = network.users(call.outputs[0]) if call.outputs else ()
        if len(users) != 1:
            return None
        call = users[0]
        facts = layer_facts(call)
        if facts is not None and facts.kind == "linear":
            return call
    return None
