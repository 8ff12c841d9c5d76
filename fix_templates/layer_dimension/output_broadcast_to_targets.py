"""A regression's output has another width than its targets, and the loss broadcasts one to the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Call,
    Candidate,
    Decline,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Subject,
    Symptom,
    layer_facts,
    network_facts,
    short,
    size_edits,
    tensor_shapes,
    tensor_values,
)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A loss over different widths: the layer that decides the output's width, that width, and the targets' width."""

    use: tensor_values.LossUse
    layer: Call
    given: int
    wanted: int


class OutputBroadcastToTargets(FixTemplate):
    """A regression's output has another width than its targets, and the loss broadcasts one to the other.

    One value per sample against three targets is compared with each of them and learns their mean; a hundred values
    against one target all learn the same. Nothing crashes, or only a batch whose size differs from the width does.

    Fix safety: unsafe. The output gets another width; code that reads its columns sees other columns.

    References: keras.losses.MeanSquaredError (`y_true` and `y_pred` of one shape), torch.nn.MSELoss ("target: the same
    shape as the input").
    """

    code = "DNF221"
    name = "output-broadcast-to-targets"
    formerly = ("output-stretched-to-targets",)
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    in_modules = True
    message = "{layer} returns {given} per sample, the targets have {wanted}: {loss} broadcasts one to the other"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        found = _stretch(subject)
        site = found.layer.made_at if found is not None else None
        if found is None or site is None:
            return
        target = found.use.target
        yield self.finding(
            site,
            symptom=found.use.symptom if found.use.crashed else Symptom.VIOLATION,
            confidence=0.85,
            cause=found.use.cause,
            evidence={
                "prediction": list(found.use.prediction.shape or ()),
                "target": list(target.shape or ()) if target is not None else [],
            },
            layer=short(found.layer.name),
            given=_values(found.given),
            wanted=found.wanted,
            loss=found.use.name,
        )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        found = _stretch(subject)
        facts = layer_facts(found.layer) if found is not None else None
        if found is None or facts is None or facts.gives is None:
            return
        if _laid_out_as_input(subject, found.use):
            yield Decline("the targets have the shape of the inputs, so either the output or the targets may be wrong")
            return
        changes = size_edits.size_changes(subject, found.layer, facts.gives, found.wanted)
        for change in changes:
            title = f"Make {short(found.layer.name)} return {_values(found.wanted)} per sample"
            yield self.candidate(finding, title, *change.edits, prior=0.85 * change.prior)
        if not changes:
            yield Decline("the number of units is not written in one place")

    programs = """
=== example: flat targets and several units, where the program stops
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

- net = Sequential([Dense(6, activation='relu', input_shape=(4,)), Dense(3)])
+ net = Sequential([Dense(6, activation='relu', input_shape=(4,)), Dense(1)])
net.compile(optimizer='adam', loss='mean_squared_error')
net.fit(np.random.rand(10, 4), np.random.rand(10), batch_size=10, verbose=0)

=== example: one output for two coordinates in torch
import torch
from torch import nn

- net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
+ net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
x, position = torch.rand(12, 5), torch.rand(12, 2)
for _ in range(3):
    optimizer.zero_grad()
    loss = criterion(net(x), position)
    loss.backward()
    optimizer.step()

=== reject: flat targets for one unit, which Keras brings together
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

net = Sequential([Dense(6, activation='relu', input_shape=(4,)), Dense(1)])
net.compile(optimizer='adam', loss='mse')
net.fit(np.random.rand(10, 4), np.random.rand(10), verbose=0)

=== reject: a column for a column in torch
import torch
from torch import nn

loss = nn.MSELoss()(nn.Linear(3, 1)(torch.rand(8, 3)), torch.rand(8, 1))

=== reject: as many values as targets
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

net = Sequential([Dense(6, activation='relu', input_shape=(4,)), Dense(3)])
net.compile(optimizer='adam', loss='mae')
net.fit(np.random.rand(10, 4), np.random.rand(10, 3), verbose=0)
"""


def _stretch(subject: Subject) -> Stretch | None:
    """The first regression loss whose output and targets differ only in width, one of the two being 1."""
    if subject.trace is None:
        return None
    for use in tensor_values.loss_uses(subject):
        axis = _axis(use)
        widths = _widths(use, axis)
        layer = (
            tensor_shapes.sized_producer(subject, tensor_shapes.model_output(subject, use.prediction), axis)
            if widths is not None
            else None
        )
        if widths is not None and layer is not None:
            return Stretch(use, layer, *widths)
    return None


def _axis(use: tensor_values.LossUse) -> int:
    """The axis of the output's width: torch has channels second, Keras last."""
    return 1 if use.in_torch and len(use.prediction.shape or ()) > 2 else -1


def _widths(use: tensor_values.LossUse, axis: int) -> tuple[int, int] | None:
    """The width of the output and of the targets, where nothing else differs."""
    shape, target = use.prediction.shape, use.target.shape if use.target is not None else None
    if use.facts.prediction is not network_facts.Prediction.REAL or not use.facts.same_shape:
        return None
    if shape is None or target is None or len(shape) < 2 or None in shape or None in target:
        return None
    if len(target) == 1 and use.in_keras:
        target = (*target, 1)  # Keras adds the axis to flat targets
    if len(target) != len(shape):
        return None
    place = axis % len(shape)
    given, wanted = shape[place], target[place]
    same = all(a == b for i, (a, b) in enumerate(zip(shape, target, strict=True)) if i != place)
    if not same or given is None or wanted is None or given == wanted or 1 not in (given, wanted):
        return None
    return given, wanted


def _laid_out_as_input(subject: Subject, use: tensor_values.LossUse) -> bool:
    """Whether one value per sample meets targets shaped like the inputs, as in a reconstruction."""
    shape, target = use.prediction.shape or (), (use.target.shape if use.target is not None else None) or ()
    if len(shape) != 2 or shape[-1] != 1:
        return False
    given = tensor_shapes.fit_data(subject)[0]
    if given is not None:
        came = given.value.shape or ()
    else:
        path = tensor_shapes.way_back(subject, use.prediction)
        came = (path[-1].inputs[0].shape or ()) if path and path[-1].inputs else ()
    return tuple(size for size in came[1:] if size != 1) == tuple(target[1:])


def _values(count: int) -> str:
    return "1 value" if count == 1 else f"{count} values"
