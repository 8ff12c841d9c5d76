"""`model.compile(optimizer="sgd", lr=0.1)`: a setting of the optimizer given to `compile`, which takes it no more."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    AddImport,
    ApiChange,
    Edit,
    Example,
    Hit,
    Reject,
    RemoveArgument,
    SetArgument,
    Subject,
    argument_value,
    receiver_is,
    uses_of,
)

OPTIMIZERS = {
    name.lower(): name for name in ("SGD", "RMSprop", "Adagrad", "Adadelta", "Adam", "AdamW", "Adamax", "Nadam", "Ftrl")
}
"""The classes behind the names that `compile` takes."""

SETTINGS = {"lr": "learning_rate", "learning_rate": "learning_rate", "momentum": "momentum", "nesterov": "nesterov"}
"""What of an optimizer is found in calls of `compile`, and how its class spells it."""

ONLY_SOME = {"momentum": ("SGD", "RMSprop"), "nesterov": ("SGD",)}
"""Settings that only these optimizers have."""


class OptimizerSettingInCompile(ApiChange):
    """A setting of the optimizer given to `compile`, which takes it no more.

    Keras 1 and the first Keras 2 let `compile` take any keyword and passed it on, with a warning at most; Keras 3 stops
    with an unexpected argument. The setting belongs to the optimizer, which then is no name but an object.

    Fix safety: unsafe. Old versions passed the setting over, so that the program now trains at the rate it asks for.

    References: https://keras.io/api/models/model_training_apis/ (`compile`), https://keras.io/api/optimizers/.
    """

    code = "DNF519"
    name = "optimizer-setting-in-compile"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """Calls of `compile` on models with such a setting."""
        source = subject.source
        if "compile" not in source.words or source.words.isdisjoint(SETTINGS):
            return
        for call in uses_of(source).calls():
            function = call.func
            given = [k for k in call.keywords if k.arg in SETTINGS]
            if not isinstance(function, ast.Attribute) or function.attr != "compile" or not given:
                continue
            if receiver_is(source, function.value, "keras.Model") is False or not _is_training_setup(call):
                continue
            edits, decline = _edits(subject, call, given)
            said = ", ".join(str(k.arg) for k in given)
            yield Hit(
                source.site(given[0]),
                f"compile does not take {said}: the optimizer does",
                title=f"give {said} to the optimizer",
                edits=tuple(edits),
                decline=decline,
                removed={"keras": "3.0"},
                within=source.site(call),
            )

    examples = (
        Example(
            "rate of an optimizer that is named",
            """\
from keras.models import Sequential
from keras.layers import Dense
+ from keras.optimizers import RMSprop

model = Sequential()
model.add(Dense(1, input_dim=3))
- model.compile(loss='mse', optimizer='rmsprop', lr=1e-10)
+ model.compile(loss='mse', optimizer=RMSprop(learning_rate=1e-10))
""",
        ),
        Example(
            "rate and momentum, with the library at hand",
            """\
import keras

net = keras.Sequential([keras.layers.Dense(2, activation="softmax")])
- net.compile("sgd", loss="categorical_crossentropy", learning_rate=0.05, momentum=0.9, metrics=["accuracy"])
+ net.compile(keras.optimizers.SGD(learning_rate=0.05, momentum=0.9), loss="categorical_crossentropy", metrics=["accuracy"])
""",
        ),
        Example(
            "an optimizer made in place",
            """\
from tensorflow.keras.models import Model
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.optimizers import Adam

RATE = 3e-4
inputs = Input((4,))
classifier = Model(inputs, Dense(1, activation="sigmoid")(inputs))
classifier.compile(
-     optimizer=Adam(),
+     optimizer=Adam(learning_rate=RATE),
    loss="binary_crossentropy",
-     lr=RATE,
)
""",
        ),
    )
    rejects = (
        Reject(
            "the rate where it belongs",
            """\
import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.SGD(learning_rate=0.1), loss="mse")
""",
        ),
        Reject(
            "a method of the program's own",
            """\
import keras


class Setup:
    def compile(self, optimizer, loss, lr=0.1):
        self.model = keras.Sequential([keras.layers.Dense(1)])
        self.model.compile(optimizer=keras.optimizers.get(optimizer), loss=loss)


setup = Setup()
setup.compile(optimizer="sgd", loss="mse", lr=0.01)
""",
        ),
    )


def _is_training_setup(call: ast.Call) -> bool:
    """Whether the call sets up training: it names an optimizer or a loss beside the setting."""
    return bool(call.args) or any(k.arg in ("optimizer", "loss") for k in call.keywords)


def _edits(subject: Subject, call: ast.Call, given: list[ast.keyword]) -> tuple[list[Edit], str]:
    """The edits, or why there are none."""
    source = subject.source
    site = source.site(call)
    optimizer = argument_value(call, "optimizer", 0)
    settings = {SETTINGS[str(k.arg)]: source.segment(source.site(k.value)) for k in given}
    gone: list[Edit] = [RemoveArgument(site, str(k.arg)) for k in given]
    if isinstance(optimizer, ast.Constant) and str(optimizer.value).lower() in OPTIMIZERS:
        name = OPTIMIZERS[str(optimizer.value).lower()]
        foreign = [one for one in settings if name not in ONLY_SOME.get(one, (name,))]
        if foreign:
            return [], f"{name} has no {foreign[0]}"
        code, imports = _class(subject, name)
        written = ", ".join(f"{one}={text}" for one, text in settings.items())
        return [SetArgument(site, "optimizer", f"{code}({written})", 0 if call.args else None), *gone, *imports], ""
    if isinstance(optimizer, ast.Call):
        if optimizer.args or any(k.arg in SETTINGS for k in optimizer.keywords):
            return [], "the optimizer is given settings of its own as well"
        inner = source.site(optimizer)
        return [*(SetArgument(inner, one, text) for one, text in settings.items()), *gone], ""
    return [], "the optimizer is not made in the call"


def _class(subject: Subject, name: str) -> tuple[str, list[Edit]]:
    """How the program can write an optimizer's class, and the import that this takes."""
    imported = uses_of(subject.source).imported
    roots = ("keras", "tensorflow.keras")
    for local, whole in imported.items():
        if any(whole == f"{root}.optimizers.{name}" for root in roots):
            return local, []
    for local, whole in imported.items():
        if whole in (f"{root}.optimizers" for root in roots):
            return f"{local}.{name}", []
    for local, whole in imported.items():
        if whole in roots:
            return f"{local}.optimizers.{name}", []
    for local, whole in imported.items():
        if whole == "tensorflow":
            return f"{local}.keras.optimizers.{name}", []
    in_tensorflow = any(whole.startswith("tensorflow.keras") for whole in imported.values())
    return name, [AddImport(f"from {'tensorflow.keras' if in_tensorflow else 'keras'}.optimizers import {name}")]
