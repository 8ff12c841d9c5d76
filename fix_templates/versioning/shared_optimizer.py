"""`gan.compile(optimizer=adam)` after `discriminator.compile(optimizer=adam)`: one optimizer for several models."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Example, Hit, Reject, Replace, Subject, receiver_is, uses_of


class SharedOptimizer(ApiChange):
    """One optimizer given to `compile` of several models, as programs with two networks did until Keras 3.

    Keras 1 and 2 made new states for each model. A Keras 3 optimizer belongs to the variables that it was first used with,
    and refuses others at the second model's first step. Each further model gets a copy with the same settings.

    Fix safety: unsafe: the models shared the count of steps, on which a decay and the first steps of Adam depend.

    References: https://keras.io/guides/migrating_to_keras_3/, https://keras.io/api/optimizers/.
    """

    code = "DNF537"
    name = "shared-optimizer"
    triggers = ("compile",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The compile calls after the first that are given the same optimizer."""
        source = subject.source
        if "keras" not in source.frameworks or "compile" not in source.words:
            return
        used: dict[tuple[ast.AST | None, str], list[str]] = {}
        for call in sorted(uses_of(source).calls(), key=source.site):
            function = call.func
            if not isinstance(function, ast.Attribute) or function.attr != "compile":
                continue
            given = next((k.value for k in call.keywords if k.arg == "optimizer"), call.args[0] if call.args else None)
            made = source.constructor(given) if isinstance(given, ast.Name) else None
            if made is None or not isinstance(given, ast.Name) or not _is_optimizer(subject, made):
                continue
            if receiver_is(source, function.value, "keras.Model") is False:
                continue
            models = used.setdefault((made, given.id), [])
            model = ast.dump(function.value)
            if models and model not in models:
                yield Hit(
                    source.site(given),
                    f"{given.id} belongs to the first model that it was compiled for since Keras 3.0, and refuses others",
                    title=f"give the model a copy of {given.id}",
                    edits=(Replace(source.site(given), f"{given.id}.from_config({given.id}.get_config())"),),
                    removed={"keras": "3.0"},
                )
            models.append(model)

    examples = (
        Example(
            "two networks that train in turn",
            """\
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import Adam

adam = Adam(learning_rate=0.0002, beta_1=0.5)
generator = Sequential([Dense(4)])
generator.compile(loss="binary_crossentropy", optimizer=adam)
discriminator = Sequential([Dense(1, activation="sigmoid")])
discriminator.compile(loss="binary_crossentropy", optimizer=adam)
""",
            """\
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import Adam

adam = Adam(learning_rate=0.0002, beta_1=0.5)
generator = Sequential([Dense(4)])
generator.compile(loss="binary_crossentropy", optimizer=adam)
discriminator = Sequential([Dense(1, activation="sigmoid")])
discriminator.compile(loss="binary_crossentropy", optimizer=adam.from_config(adam.get_config()))
""",
        ),
        Example(
            "by position, in a function",
            """\
import keras


def build():
    opt = keras.optimizers.SGD(0.1)
    first = keras.Sequential([keras.layers.Dense(1)])
    second = keras.Sequential([keras.layers.Dense(1)])
    first.compile(opt, "mse")
    second.compile(opt, "mse")
    return first, second
""",
            """\
import keras


def build():
    opt = keras.optimizers.SGD(0.1)
    first = keras.Sequential([keras.layers.Dense(1)])
    second = keras.Sequential([keras.layers.Dense(1)])
    first.compile(opt, "mse")
    second.compile(opt.from_config(opt.get_config()), "mse")
    return first, second
""",
        ),
        Example(
            "three models of TensorFlow's Keras",
            """\
import tensorflow as tf

rms = tf.keras.optimizers.RMSprop(1e-4)
a, b = tf.keras.Sequential(), tf.keras.Sequential()
a.compile(rms, "mse")
b.compile(loss="mse", optimizer=rms)
both = tf.keras.Sequential([a, b])
both.compile(loss="mse", optimizer=rms)
""",
            """\
import tensorflow as tf

rms = tf.keras.optimizers.RMSprop(1e-4)
a, b = tf.keras.Sequential(), tf.keras.Sequential()
a.compile(rms, "mse")
b.compile(loss="mse", optimizer=rms.from_config(rms.get_config()))
both = tf.keras.Sequential([a, b])
both.compile(loss="mse", optimizer=rms.from_config(rms.get_config()))
""",
        ),
    )
    rejects = (
        Reject(
            "one model that is compiled again",
            """\
import keras

adam = keras.optimizers.Adam(1e-3)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(adam, "mse")
model.compile(adam, "mae")
""",
        ),
        Reject(
            "an optimizer for each",
            """\
import keras

adam = keras.optimizers.Adam(1e-3)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(adam, "mse")
adam = keras.optimizers.Adam(1e-4)
other = keras.Sequential([keras.layers.Dense(1)])
other.compile(adam, "mse")
third = keras.Sequential([keras.layers.Dense(1)])
third.compile("adam", "mse")
""",
        ),
    )


def _is_optimizer(subject: Subject, made: ast.Call) -> bool:
    name = subject.source.qualified(made.func) or ""
    return name.startswith("keras.optimizers.") and name.rpartition(".")[2][:1].isupper()
