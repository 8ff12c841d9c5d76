"""A callback is made, and no training is given it."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.api import (
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    InsertElement,
    Reject,
    Repairs,
    SetArgument,
    Site,
    Source,
    Subject,
    Symptom,
    is_display,
    within,
)

_TRAINS = frozenset({"fit", "fit_generator"})
_BASES = ("keras.callbacks.Callback",)


@dataclass(frozen=True, slots=True)
class _Idle:
    """The name of the callback, and the call that trains after it is made."""

    name: str
    kind: str
    fit: ast.Call


class CallbackNotHandedOver(FaultTemplate[_Idle]):
    """A callback gets a name, and the call that trains the model is not given it: it is never called.

    A callback does nothing by being made, nor by being told of the model; `fit` calls those in its list `callbacks`.

    Reported where the name is read by nobody, or only for methods of the callback itself, and one call that trains the
    model follows in the same place.

    Fix safety: unsafe. The callback begins to act, which is the point: it may write files or end the training early.

    References: keras.callbacks.Callback, keras.Model.fit ("callbacks").
    """

    code = "DNF428"
    name = "callback-not-handed-over"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "`{name}` is a {kind} that no training is given"
    triggers = ("callbacks", "Callback")
    declined = "the call that trains is given a list of callbacks that is made elsewhere"

    def faults(self, subject: Subject) -> Faults[_Idle]:
        source = subject.source
        for statement in source.nodes(ast.Assign):
            target, made = statement.targets[0], statement.value
            if len(statement.targets) != 1 or not isinstance(target, ast.Name) or not isinstance(made, ast.Call):
                continue
            kind = _callback(source, made)
            if kind is None or is_display(source, statement) or not _is_idle(source, statement, target):
                continue
            function = source.enclosing(statement, ast.FunctionDef)
            fits = [
                call
                for call in within(function or source.tree, ast.Call)
                if isinstance(call.func, ast.Attribute)
                and call.func.attr in _TRAINS
                and source.enclosing(call, ast.FunctionDef) is function
                and not any(keyword.arg is None for keyword in call.keywords)
            ]
            if len(fits) == 1 and fits[0].lineno > statement.lineno:
                yield source.site(statement), _Idle(target.id, kind, fits[0])

    def report(self, site: Site, found: _Idle) -> Finding:
        return self.finding(site, symptom=Symptom.VIOLATION, confidence=0.85, name=found.name, kind=found.kind)

    def repairs(self, subject: Subject, found: _Idle) -> Repairs:
        given = next((keyword.value for keyword in found.fit.keywords if keyword.arg == "callbacks"), None)
        edit: Edit
        if given is None:
            edit = SetArgument(subject.source.site(found.fit), "callbacks", f"[{found.name}]")
        elif isinstance(given, ast.List):
            edit = InsertElement(subject.source.site(given), len(given.elts), found.name)
        else:
            return
        yield f"Give `{found.name}` to the training", (edit,), 0.85

    examples = (
        Example(
            "a log of the epochs",
            before="""\
import keras

def train(model, x, y):
    logger = keras.callbacks.CSVLogger("log.csv")
    logger.set_model(model)
    model.fit(x, y, epochs=3)
""",
            after="""\
import keras

def train(model, x, y):
    logger = keras.callbacks.CSVLogger("log.csv")
    logger.set_model(model)
    model.fit(x, y, epochs=3, callbacks=[logger])
""",
        ),
        Example(
            "one of two",
            before="""\
from tensorflow.keras.callbacks import EarlyStopping, ModelCheckpoint
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential

model = Sequential([Dense(2)])
model.compile("adam", "mse")
stop = EarlyStopping(patience=3)
best = ModelCheckpoint("best.keras", save_best_only=True)
model.fit(x_train, y_train, callbacks=[stop])
""",
            after="""\
from tensorflow.keras.callbacks import EarlyStopping, ModelCheckpoint
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential

model = Sequential([Dense(2)])
model.compile("adam", "mse")
stop = EarlyStopping(patience=3)
best = ModelCheckpoint("best.keras", save_best_only=True)
model.fit(x_train, y_train, callbacks=[stop, best])
""",
        ),
        Example(
            "a callback of the program's own",
            before="""\
from keras.callbacks import Callback

class Losses(Callback):
    def on_train_begin(self, logs=None):
        self.losses = []

    def on_batch_end(self, batch, logs=None):
        self.losses.append(logs["loss"])

def train(model, x, y):
    history = Losses()
    model.fit(x, y, batch_size=8)
    return history.losses
""",
            after="""\
from keras.callbacks import Callback

class Losses(Callback):
    def on_train_begin(self, logs=None):
        self.losses = []

    def on_batch_end(self, batch, logs=None):
        self.losses.append(logs["loss"])

def train(model, x, y):
    history = Losses()
    model.fit(x, y, batch_size=8, callbacks=[history])
    return history.losses
""",
        ),
    )
    rejects = (
        Reject(
            "callbacks that are in a list, and one that is returned",
            """\
from keras.callbacks import EarlyStopping, ModelCheckpoint

def watchers():
    stop = EarlyStopping(patience=2)
    return stop

def train(model, x, y):
    best = ModelCheckpoint("best.keras")
    every = [watchers(), best]
    model.fit(x, y, callbacks=every)
""",
        ),
        Reject(
            "a callback that a loop of the program's own calls",
            """\
import keras

def train(model, batches):
    logger = keras.callbacks.CSVLogger("log.csv")
    logger.set_model(model)
    logger.on_train_begin()
    for number, (x, y) in enumerate(batches):
        model.fit(x, y, verbose=0)
        logger.on_epoch_end(number, {"loss": 0.0})
""",
        ),
    )


def _callback(source: Source, made: ast.Call) -> str | None:
    """The name of the callback that a call makes: one of Keras or of the program."""
    name = source.qualified(made.func) or ""
    module, _, short = name.rpartition(".")
    if module == "keras.callbacks" and short[:1].isupper():
        return short
    owner = source.definition(made.func)
    if isinstance(owner, ast.ClassDef) and {source.qualified(base) for base in owner.bases} & set(_BASES):
        return owner.name
    return None


def _is_idle(source: Source, statement: ast.Assign, target: ast.Name) -> bool:
    """Whether the name is read only to ask the callback for something, and none of its turns in training is called."""
    names = [node for node in source.nodes(ast.Name) if node.id == target.id and node is not target]
    if any(not isinstance(node.ctx, ast.Load) for node in names):
        return False
    for node in names:
        above = source.parent(node)
        if not isinstance(above, ast.Attribute) or above.attr.startswith("on_"):
            return False
    return True
