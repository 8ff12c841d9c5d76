"""`model.fit_generator(…)`: a method that `fit` has taken over, with other names for its arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    ApiChange,
    Edit,
    Example,
    Hit,
    Reject,
    RemoveArgument,
    RenameArgument,
    Replace,
    SetArgument,
    Subject,
    receiver_is,
    uses_of,
)

POSITIONS = ("", "steps_per_epoch", "epochs", "verbose", "callbacks", "validation_data", "validation_steps")
"""The parameters of `fit_generator` in their order; `fit` takes batch_size second, so they are given by name."""

DROPPED = ("nb_worker", "workers", "use_multiprocessing", "pickle_safe", "max_q_size", "max_queue_size")
"""How batches were fetched: Keras 3 asks the data set itself."""

SAMPLES = {"samples_per_epoch": "steps_per_epoch", "nb_val_samples": "validation_steps"}
"""Counts of samples in Keras 1 that are counts of batches today."""


class FitGenerator(ApiChange):
    """`fit_generator` is gone since TensorFlow 2.6 and Keras 3; `fit` takes generators.

    Arguments that were given by position are given by name, since `fit` has others at these places. Counts of samples
    (Keras 1) are divided by the batch size of the generator where that can be read; where not, nothing is proposed.

    Fix safety: safe for calls of Keras 2; unsafe where a count of samples had to be divided.

    References: https://github.com/tensorflow/tensorflow/releases/tag/v2.1.0, https://keras.io/api/models/model_training_apis/.
    """

    code = "DNF507"
    name = "fit-generator"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The calls of the method on models."""
        source = subject.source
        uses = uses_of(source)
        if "fit_generator" not in source.words or "fit_generator" in uses.defined:
            return
        for call in uses.calls():
            function = call.func
            if not isinstance(function, ast.Attribute) or function.attr != "fit_generator":
                continue
            if receiver_is(source, function.value, "keras.Model") is False:
                continue
            edits, decline, safe = _edits(subject, call, function)
            yield Hit(
                source.site(function),
                "fit_generator is gone since TensorFlow 2.6 and Keras 3; fit takes generators",
                title="give the generator to fit",
                edits=() if decline else tuple(edits),
                decline=decline,
                safe=safe,
                removed={"tensorflow": "2.6", "keras": "3.0"},
            )

    examples = (
        Example(
            "augmented images, as Keras 2 wrote it",
            """\
from keras.models import Sequential

model = Sequential()
model.fit_generator(
    batches,
    steps_per_epoch=100,
    epochs=5,
    validation_data=test_batches,
    validation_steps=10,
    workers=4,
)
""",
            """\
from keras.models import Sequential

model = Sequential()
model.fit(
    batches,
    steps_per_epoch=100,
    epochs=5,
    validation_data=test_batches,
    validation_steps=10,
)
""",
        ),
        Example(
            "by position",
            """\
import keras

model = keras.Sequential()
history = model.fit_generator(generate(), 50, 3, verbose=2)
""",
            """\
import keras

model = keras.Sequential()
history = model.fit(generate(), verbose=2, steps_per_epoch=50, epochs=3)
""",
        ),
        Example(
            "Keras 1, with the batch size in the generator",
            """\
from keras.models import Sequential

model = Sequential()
train = datagen.flow(X_train, y_train, batch_size=32)
model.fit_generator(train, samples_per_epoch=len(X_train), nb_epoch=10)
""",
            """\
from keras.models import Sequential

model = Sequential()
train = datagen.flow(X_train, y_train, batch_size=32)
model.fit(train, steps_per_epoch=len(X_train) // 32, epochs=10)
""",
        ),
    )
    rejects = (
        Reject(
            "fit with a generator",
            """\
from keras.models import Sequential

model = Sequential()
model.fit(generate(), steps_per_epoch=10, epochs=2)
""",
        ),
        Reject(
            "another library's trainer",
            """\
import keras
from mylib import Trainer

trainer = Trainer()
trainer.fit_generator(batches, 10)
""",
        ),
    )


def _edits(subject: Subject, call: ast.Call, function: ast.Attribute) -> tuple[list[Edit], str, bool]:
    """The edits, why there are none, and whether they keep the meaning provably."""
    source = subject.source
    site = source.site(call)
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(k.arg is None for k in call.keywords):
        return [], "the call unpacks its arguments", False
    if len(call.args) > len(POSITIONS):
        return [], "too many arguments are given by position", False
    owner = source.segment(source.site(function.value))
    edits: list[Edit] = [Replace(source.site(function), f"{owner}.fit")]
    safe = True
    keywords = {k.arg: k.value for k in call.keywords if k.arg}
    old = "samples_per_epoch" in keywords or "nb_epoch" in keywords
    for position, argument in enumerate(call.args[1:], 1):
        if position == 1 and old:
            return [], "whether the second argument counts samples or batches is unknown", False
        edits.append(RemoveArgument(site, "", position))
        edits.append(SetArgument(site, POSITIONS[position], source.segment(source.site(argument))))
    for name, value in keywords.items():
        if name in DROPPED:
            edits.append(RemoveArgument(site, name))
        elif name == "generator":
            edits.append(RenameArgument(site, name, "x"))
        elif name in SAMPLES:
            data = keywords.get("validation_data") if name == "nb_val_samples" else _first(call, keywords)
            if data is None:
                return [], f"the data that {name} counts is unknown", False
            if name == "nb_val_samples" and isinstance(data, ast.Tuple):
                edits.append(RemoveArgument(site, name))
                continue
            size = _batch_size(subject, data)
            if size is None:
                return [], f"{name} counts samples, and the generator's batch size cannot be read", False
            text = source.segment(source.site(value))
            whole = text if isinstance(value, (ast.Name, ast.Constant, ast.Call, ast.Attribute)) else f"({text})"
            edits.append(SetArgument(site, name, f"{whole} // {size}"))
            edits.append(RenameArgument(site, name, SAMPLES[name]))
            safe = False
    return edits, "", safe


def _first(call: ast.Call, keywords: dict[str, ast.expr]) -> ast.expr | None:
    return call.args[0] if call.args else keywords.get("generator")


def _batch_size(subject: Subject, data: ast.expr) -> str | None:
    """The text of the batch size that a generator's call states."""
    made = data if isinstance(data, ast.Call) else subject.source.constructor(data)
    if made is None:
        return None
    for keyword in made.keywords:
        if keyword.arg == "batch_size" and isinstance(keyword.value, (ast.Constant, ast.Name)):
            return subject.source.segment(subject.source.site(keyword.value))
    return None
