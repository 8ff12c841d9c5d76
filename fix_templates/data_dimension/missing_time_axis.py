"""A table is given to a recurrent layer, which takes sequences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dnnfix.api import (
    Arrival,
    Call,
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
    layer_facts,
    sibling_inputs,
    stated_input,
    stated_keras_input,
    with_numpy,
)


class MissingTimeAxis(FixTemplate):
    """A table is given to a recurrent layer, which takes sequences.

    A recurrent layer takes `(batch, steps, features)`. A row of numbers is either a sequence with one feature per step
    or one step with that many features; which of the two is for the program to say, by an axis of size one.

    Fix safety: unsafe. The data gets an axis of size one; which axis decides what the layer learns.

    References: keras.layers.LSTM (input shape), torch.nn.LSTM (shapes of the input).
    """

    code = "DNF105"
    name = "missing-time-axis"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "{layer} takes sequences, (batch, steps, features), and {what} {shape}"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        came, stated = arrival(subject), declared(subject)
        first = _one_step_short(subject, came) if came is not None else None
        if came is not None and (first is not None or _flat(came)):
            layer = (first or came.call).name
            site, what = subject.source.site(came.node), "receives"
            shape: Sequence[int | None] = came.shape
        elif stated is not None and stated.facts.kind == "recurrent" and len(stated.shape) == 1:
            site, layer, what = subject.source.site(stated.stated.node), stated.call.name, "its input is stated as"
            shape = stated.shape
        else:
            return
        yield self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.9,
            cause="crash",
            evidence={"shape": list(shape), "layer": layer},
            layer=layer.rpartition(".")[2],
            what=what,
            shape=tuple(shape),
        )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        came, stated = arrival(subject), declared(subject)
        if stated is not None:
            yield from self._state(finding, subject, stated)
            return
        if came is None:
            yield Decline("what is handed over is not known")
            return
        data = sibling_inputs(subject, came.node)
        if not came.is_keras:
            axis = 2 if stated_input(came.call) == 1 else 1
            edits = change_data(subject, data, "", f".unsqueeze({axis})")
            yield self.candidate(finding, f"Give the data {_said(axis)}", *edits, prior=0.8)
            return
        function, imports = with_numpy(subject, "expand_dims")
        if came.wanted is not None:
            yield from self._as_built(finding, subject, came)
            return
        for axis, prior in ((2, 0.7), (1, 0.6)):
            edits = change_data(subject, data, f"{function}(", f", axis={axis if axis == 1 else -1})")
            yield self.candidate(finding, f"Give the data {_said(axis)}", *edits, *imports, prior=prior)

    def _as_built(self, finding: Finding, subject: Subject, came: Arrival) -> Iterator[Candidate]:
        """The model was told `(steps, features)` before the table came: as many features as the table has columns."""
        function, imports = with_numpy(subject, "expand_dims")
        data = sibling_inputs(subject, came.node)
        as_step = change_data(subject, data, f"{function}(", ", axis=1)")
        yield self.candidate(finding, f"Give the data {_said(1)}", *as_step, *imports, prior=0.7)
        stated = stated_keras_input(subject, came.call)
        if stated is not None:
            edits = (
                *declare(subject, stated, (came.shape[1], 1)),
                *change_data(subject, data, f"{function}(", ", axis=-1)"),
            )
            yield self.candidate(finding, f"State and give the data {_said(2)}", *edits, *imports, prior=0.6)

    def _state(self, finding: Finding, subject: Subject, stated: Declared) -> Iterator[Candidate | Decline]:
        function, imports = with_numpy(subject, "expand_dims")
        data = fitted_inputs(subject)
        width = stated.shape[0]
        alone = declare(subject, stated.stated, (width, 1))
        for axis, shape, prior in ((2, (width, 1), 0.75), (1, (1, width), 0.65)):
            edits = declare(subject, stated.stated, shape)
            if data:
                moved = change_data(subject, data, f"{function}(", f", axis={axis if axis == 1 else -1})")
                yield self.candidate(
                    finding, f"State and give the data {_said(axis)}", *edits, *moved, *imports, prior=prior
                )
        yield self.candidate(finding, "State one feature per step in the input shape", *alone, prior=0.5)

    examples = (
        Example(
            "Keras table into LSTM",
            """\
import numpy as np
import keras
from keras import layers

series, target = np.random.rand(12, 6), np.random.rand(12, 1)
model = keras.Sequential([layers.LSTM(3), layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
- model.fit(series, target, epochs=1, verbose=0)
+ model.fit(np.expand_dims(series, axis=-1), target, epochs=1, verbose=0)
""",
            runs=True,
        ),
        Example(
            "Keras input shape of a table before GRU",
            """\
import numpy as np
from keras.models import Sequential
from keras.layers import GRU, Dense

x_train, x_test = np.random.rand(12, 6), np.random.rand(4, 6)
y_train, y_test = np.random.rand(12), np.random.rand(4)
model = Sequential()
- model.add(GRU(4, input_shape=(6,)))
+ model.add(GRU(4, input_shape=(1, 6)))
model.add(Dense(1))
model.compile(optimizer="adam", loss="mse")
- model.fit(x_train, y_train, validation_data=(x_test, y_test), verbose=0)
+ model.fit(np.expand_dims(x_train, axis=1), y_train, validation_data=(np.expand_dims(x_test, axis=1), y_test), verbose=0)
""",
            runs=True,
        ),
        Example(
            "one step of a functional model",
            """\
import numpy as np
import keras
from keras import layers

readings, level = np.random.rand(10, 4), np.random.rand(10, 1)
inputs = keras.Input(shape=(1, 4))
outputs = layers.Dense(1)(layers.GRU(5)(inputs))
model = keras.Model(inputs, outputs)
model.compile("adam", "mse")
+ readings = np.expand_dims(readings, axis=1)
model.fit(readings, level, verbose=0)
print(model.predict(readings))
""",
            runs=True,
        ),
        Example(
            "torch table whose numbers are steps",
            """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(1, 8, batch_first=True)
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[:, -1])


- Net()(torch.rand(5, 12))
+ Net()(torch.rand(5, 12).unsqueeze(2))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "one sequence without a batch axis",
            """\
import torch
import torch.nn as nn

out, state = nn.GRU(4, 8)(torch.rand(5, 4))
""",
            runs=True,
        ),
        Reject(
            "sequences into Keras",
            """\
import keras
from keras import layers

model = keras.Sequential([keras.Input((6, 1)), layers.LSTM(3), layers.Dense(1)])
""",
            runs=True,
        ),
    )


def _flat(came: Arrival) -> bool:
    facts, shape = came.facts, came.shape
    if facts is None or facts.kind != "recurrent" or len(shape) != 2:
        return False
    if came.is_keras:
        return came.wanted is None
    return facts.ranks == (2, 3) and stated_input(came.call) == 1 != shape[1]


def _one_step_short(subject: Subject, came: Arrival) -> Call | None:
    """The recurrent layer that a built Keras model begins with, where the table is one step of what it takes."""
    wanted, shape = came.wanted, came.shape
    if not came.is_keras or wanted is None or len(wanted) != 3 or len(shape) != 2:
        return None
    if wanted[1] not in (None, 1) or wanted[2] != shape[1]:
        return None
    for call in subject.network.calls:
        facts = layer_facts(call)
        entrance = bool(call.inputs) and call.inputs[0].origin == "symbolic" and call.inputs[0].shape == wanted
        if entrance and facts is not None and facts.kind == "recurrent":
            return call
    return None


def _said(axis: int) -> str:
    return "one feature per step" if axis == 2 else "one step per sample"
