"""`gan.compile(optimizer=adam)` after `discriminator.compile(optimizer=adam)`: several models share one optimizer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, Replace, RunOutcome, Subject, argument_value, changed_calls, uses_of


class SharedOptimizer(ApiChange):
    """Several models are compiled with one optimizer, which Keras 3 refuses.

    Keras 1 and 2 created new states for each model. A Keras 3 optimizer belongs to the variables that it was first used
    with, and raises at the second model's first step. Each further model gets a copy with the same settings. Models
    that the program never trains need none, where it is known which ones it trains.

    Fix safety: unsafe: the models shared the count of steps, on which a decay and the first steps of Adam depend.

    References: https://keras.io/guides/migrating_to_keras_3/, https://keras.io/api/optimizers/.
    """

    code = "DNF537"
    name = "shared-optimizer"
    message = "{optimizer} belongs to the first model compiled with it since Keras 3.0, and refuses others"
    triggers = ("compile",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if "keras" not in source.frameworks or "compile" not in source.words or _was_trained(subject):
            return
        used: dict[tuple[ast.AST | None, str], list[str]] = {}
        trained = {ast.dump(owner) for owner in _owners(subject, TRAINS)}
        for call in sorted(uses_of(source).calls(), key=source.site):
            function = call.func
            if not isinstance(function, ast.Attribute) or function.attr != "compile":
                continue
            given = argument_value(call, "optimizer", 0)
            made = source.constructor(given) if isinstance(given, ast.Name) else None
            if made is None or not isinstance(given, ast.Name) or not _is_optimizer(subject, made):
                continue
            if changed_calls.receiver_is(source, function.value, "keras.Model") is False:
                continue
            models = used.setdefault((made, given.id), [])
            model = ast.dump(function.value)
            if trained and model not in trained and _stays(subject, function.value):
                continue
            if models and model not in models:
                site = source.site(given)
                decline = (
                    f"{given.id} is changed later, which would not change a copy" if _is_set(subject, given) else ""
                )
                yield Hit(
                    site,
                    self.message.format(optimizer=given.id),
                    title=f"compile the model with a copy of {given.id}",
                    edits=() if decline else (Replace(site, f"{given.id}.from_config({given.id}.get_config())"),),
                    decline=decline,
                    removed={"keras": "3.0"},
                )
            models.append(model)

    programs = """
=== example: two networks that train in turn
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import Adam

adam = Adam(learning_rate=0.0002, beta_1=0.5)
generator = Sequential([Dense(4)])
generator.compile(loss="binary_crossentropy", optimizer=adam)
discriminator = Sequential([Dense(1, activation="sigmoid")])
- discriminator.compile(loss="binary_crossentropy", optimizer=adam)
+ discriminator.compile(loss="binary_crossentropy", optimizer=adam.from_config(adam.get_config()))

=== example: by position, in a function
import keras


def build():
    opt = keras.optimizers.SGD(0.1)
    first = keras.Sequential([keras.layers.Dense(1)])
    second = keras.Sequential([keras.layers.Dense(1)])
    first.compile(opt, "mse")
-     second.compile(opt, "mse")
+     second.compile(opt.from_config(opt.get_config()), "mse")
    return first, second

=== example: three models of TensorFlow's Keras
import tensorflow as tf

rms = tf.keras.optimizers.RMSprop(1e-4)
a, b = tf.keras.Sequential(), tf.keras.Sequential()
a.compile(rms, "mse")
- b.compile(loss="mse", optimizer=rms)
+ b.compile(loss="mse", optimizer=rms.from_config(rms.get_config()))
both = tf.keras.Sequential([a, b])
- both.compile(loss="mse", optimizer=rms)
+ both.compile(loss="mse", optimizer=rms.from_config(rms.get_config()))

=== reject: one model that is compiled again
import keras

adam = keras.optimizers.Adam(1e-3)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(adam, "mse")
model.compile(adam, "mae")

=== reject: a model that is compiled and never trained
import keras

adam = keras.optimizers.Adam(1e-3)
generator = keras.Sequential([keras.layers.Dense(4)])
generator.compile(adam, "mse")
critic = keras.Sequential([keras.layers.Dense(1)])
critic.compile("sgd", "mse")
both = keras.Sequential([generator, critic])
both.compile(adam, "mse")
critic.train_on_batch(generator.predict(noise), labels)
both.train_on_batch(noise, labels)

=== reject: an optimizer for each
import keras

adam = keras.optimizers.Adam(1e-3)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(adam, "mse")
adam = keras.optimizers.Adam(1e-4)
other = keras.Sequential([keras.layers.Dense(1)])
other.compile(adam, "mse")
third = keras.Sequential([keras.layers.Dense(1)])
third.compile("adam", "mse")
"""


TRAINS = frozenset({"fit", "fit_generator", "train_on_batch"})
"""The methods that train a compiled model."""


def _was_trained(subject: Subject) -> bool:
    """Whether the program finished and trained: no optimizer refused a model."""
    trace = subject.trace
    return trace is not None and trace.outcome is RunOutcome.FINISHED and not trace.cut and bool(trace.steps)


def _owners(subject: Subject, methods: frozenset[str]) -> Iterator[ast.expr]:
    """The objects that these methods are called on."""
    for call in uses_of(subject.source).calls():
        if isinstance(call.func, ast.Attribute) and call.func.attr in methods:
            yield call.func.value


def _stays(subject: Subject, model: ast.expr) -> bool:
    """Whether a model is known by this name alone: a module's or an object's, not passed to a function."""
    source = subject.source
    if isinstance(model, ast.Name) and source.enclosing(model, ast.FunctionDef, ast.Lambda) is not None:
        return False
    if not isinstance(model, ast.Name) and not (isinstance(model, ast.Attribute) and isinstance(model.value, ast.Name)):
        return False
    named = ast.dump(model)
    own = (c for c in uses_of(source).calls() if isinstance(source.definition(c.func), ast.FunctionDef))
    return not any(
        ast.dump(given) == named for call in own for given in (*call.args, *(k.value for k in call.keywords))
    )


def _is_set(subject: Subject, optimizer: ast.Name) -> bool:
    """Whether the program changes an attribute of the optimizer."""
    source = subject.source
    for node in uses_of(source).all_attributes():
        if isinstance(node.value, ast.Name) and node.value.id == optimizer.id:
            above = source.parent(node)
            assigns = isinstance(above, ast.Attribute) and above.attr in ("assign", "set_value")
            given = isinstance(above, ast.Call) and (source.qualified(above.func) or "").endswith(".set_value")
            if isinstance(node.ctx, ast.Store) or assigns or given:
                return True
    return False


def _is_optimizer(subject: Subject, made: ast.Call) -> bool:
    name = subject.source.qualified(made.func) or ""
    return name.startswith("keras.optimizers.") and name.rpartition(".")[2][:1].isupper()
