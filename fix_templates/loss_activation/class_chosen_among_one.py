"""The class is chosen by `argmax` among the outputs of a network that has one output."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.api import (
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    LossUse,
    Reject,
    Repairs,
    Replace,
    Site,
    Subject,
    Symptom,
    Task,
    loss_uses,
    name_of,
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A call of `argmax` along the outputs, what it chooses among, and the output above which the class is 1."""

    call: ast.Call
    outputs: ast.expr
    threshold: str


class ClassChosenAmongOne(FaultTemplate[Choice]):
    """A binary classifier of one unit is asked for the `argmax` of its outputs: the place of the only one, always 0.

    Every sample is called negative, and what is reported as accuracy is the share of the negative ones. The class of one
    unit is told by its threshold: a probability above 0.5. Reported where every loss of the program is binary and is
    given one unit, and the `argmax` runs along the outputs of `model.predict`.

    Fix safety: unsafe. What is reported changes; training is the same.

    References: numpy.argmax; keras.metrics.BinaryAccuracy (threshold).
    """

    code = "DNF328"
    name = "class-chosen-among-one"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACCURACY_METRIC
    message = "the model has one output, so that its argmax is 0 for every sample"
    triggers = ("argmax",)

    declined = "the outputs are not written at the call"

    def faults(self, subject: Subject) -> Faults[Choice]:
        uses = [use for use in loss_uses(subject) if use.in_keras]
        if not uses or not all(_is_binary(use) for use in uses):
            return
        threshold = "0.5" if all(use.activation_name == "sigmoid" for use in uses) else ""
        source = subject.source
        for call in source.all_calls:
            outputs = _chosen_among(subject, call)
            if outputs is not None and threshold and _is_prediction(subject, outputs):
                yield source.site(call), Choice(call, outputs, threshold)

    def report(self, site: Site, choice: Choice) -> Finding:
        return self.finding(
            site, symptom=Symptom.VIOLATION, confidence=0.95, evidence={"outputs": ast.unparse(choice.outputs)}
        )

    def repairs(self, subject: Subject, choice: Choice) -> Repairs:
        source = subject.source
        outputs = subject.text(source.site(choice.outputs))
        code = f"({outputs} > {choice.threshold}).astype(int).ravel()"
        yield "Compare the output with a half", (Replace(source.site(choice.call), code),), 0.9

    examples = (
        Example(
            "the method of an array that has a name",
            """\
import keras
from keras import layers

net = keras.Sequential()
net.add(layers.Dense(16, activation="relu", input_dim=10))
net.add(layers.Dense(1, activation="sigmoid"))
net.compile(loss=keras.losses.BinaryCrossentropy(), optimizer="sgd")
probabilities = net.predict(images)
- classes = probabilities.argmax(axis=-1)
+ classes = (probabilities > 0.5).astype(int).ravel()
""",
        ),
        Example(
            "the axis by position in a functional model",
            """\
import numpy as np
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.models import Model

inputs = Input(shape=(6,))
outputs = Dense(1, activation="sigmoid")(Dense(12, activation="tanh")(inputs))
model = Model(inputs, outputs)
model.compile("adam", loss="binary_crossentropy")
- y_pred = np.argmax(model.predict(x_val), 1)
+ y_pred = (model.predict(x_val) > 0.5).astype(int).ravel()
""",
        ),
    )
    rejects = (
        Reject(
            "several classes",
            """\
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(8, activation="relu", input_shape=(4,)), Dense(3, activation="softmax")])
model.compile(loss="sparse_categorical_crossentropy", optimizer="adam")
predicted = np.argmax(model.predict(x_test), axis=1)
""",
        ),
        Reject(
            "the sample with the highest probability, and labels of a generator",
            """\
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(8, activation="relu", input_shape=(4,)), Dense(1, activation="sigmoid")])
model.compile(loss="binary_crossentropy", optimizer="adam")
surest = np.argmax(model.predict(x_test))
first = model.predict(x_test).argmax(axis=0)
labels = np.argmax(one_hot, axis=1)
""",
        ),
    )


def _is_binary(use: LossUse) -> bool:
    return use.facts.task is Task.LABELS and use.is_cross_entropy and use.width == 1


def _chosen_among(subject: Subject, call: ast.Call) -> ast.expr | None:
    """What `argmax` runs through along the last of two axes."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "argmax":
        return None
    function = (subject.source.qualified(call.func) or "") == "numpy.argmax"
    if not function and subject.source.qualified(call.func) is not None:
        return None
    given = (*call.args, *(keyword.value for keyword in call.keywords if keyword.arg in ("axis", "dim")))
    axis = given[1:] if function else given
    if len(axis) != 1 or ast.unparse(axis[0]) not in ("1", "-1"):
        return None
    return given[0] if function else call.func.value


def _is_prediction(subject: Subject, outputs: ast.expr) -> bool:
    """Whether the outputs are those of `model.predict`, as they are."""
    bound = subject.source.bindings(outputs, at=outputs) if isinstance(outputs, ast.Name) else (outputs,)
    values = bound or (subject.source.bindings(outputs) if isinstance(outputs, ast.Name) else ())
    return len(values) == 1 and isinstance(values[0], ast.Call) and name_of(values[0].func) == "predict"
