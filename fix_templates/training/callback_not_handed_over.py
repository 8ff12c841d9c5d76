"""A Keras callback is made, and the training is not told of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    SetArgument,
    Site,
    Source,
    Subject,
    Symptom,
)

PACKAGES = ("keras.callbacks.", "tensorflow.keras.callbacks.")
OF_CALLBACK = frozenset({"set_model", "set_params"})


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The names of callbacks that no training is given, and the one call of `fit`."""

    names: tuple[str, ...]
    fit: ast.Call


class CallbackNotHandedOver(FaultTemplate[Forgotten]):
    """`stop = EarlyStopping(…)` does nothing by itself: `fit` has to be given it.

    A callback that no `fit` gets is never called, even with its model set by hand: nothing is logged, saved, reduced or
    stopped.

    Reported where a callback is told its model, nothing else is done with it, and the program has one call of `fit`,
    without callbacks. One that is only made may have been put aside, and is left alone.

    Fix safety: unsafe. The callback does its work from now on, which may end the training earlier.

    References: https://keras.io/api/callbacks/.
    """

    code = "DNF713"
    name = "callback-not-handed-over"
    family = Family.TRAINING
    fix_pattern = FixPattern.MONITOR
    message = "{callbacks} is made and handed to no training, so it never does anything"
    triggers = ("callbacks",)
    declined = "the training takes its arguments from elsewhere"

    def faults(self, subject: Subject) -> Faults[Forgotten]:
        source = subject.source
        if "keras" not in source.frameworks or source.beside:
            return
        fits = [
            c for c in source.all_calls if isinstance(c.func, ast.Attribute) and c.func.attr in ("fit", "fit_generator")
        ]
        fits = [call for call in fits if not _is_of_others(source, call)]
        open_calls = [call for call in fits if not any(k.arg in ("callbacks", None) for k in call.keywords)]
        if len(fits) != 1 or len(open_calls) != 1 or len(fits[0].args) > 5:
            return
        forgotten = [each for each in _callbacks(source) if _reaches(source, each[1], fits[0])]
        if forgotten:
            made = forgotten[0][1]
            yield source.site(made), Forgotten(tuple(name for name, _ in forgotten), fits[0])

    def report(self, site: Site, fault: Forgotten) -> Finding:
        return self.finding(
            site, symptom=Symptom.VIOLATION, confidence=0.85, callbacks=", ".join(f"`{name}`" for name in fault.names)
        )

    def repairs(self, subject: Subject, fault: Forgotten) -> Repairs:
        given = f"[{', '.join(fault.names)}]"
        edit = SetArgument(subject.source.site(fault.fit), "callbacks", given)
        yield f"Hand the training callbacks={given}", (edit,), 0.85

    examples = (
        Example(
            "its model is set by hand",
            """\
import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.compile('adam', 'mse')
logger = keras.callbacks.CSVLogger('log.csv')
logger.set_model(model)
- model.fit(x, y, epochs=4)
+ model.fit(x, y, epochs=4, callbacks=[logger])
""",
        ),
        Example(
            "two of them",
            """\
from tensorflow.keras.callbacks import EarlyStopping, ModelCheckpoint

def train(model, x, y):
    stop = EarlyStopping(monitor='val_loss', patience=3)
    stop.set_model(model)
    best = ModelCheckpoint('best.keras', save_best_only=True)
    best.set_model(model)
-     return model.fit(x, y, validation_split=0.2, epochs=100)
+     return model.fit(x, y, validation_split=0.2, epochs=100, callbacks=[stop, best])
""",
        ),
    )
    rejects = (
        Reject(
            "put aside",
            """\
from keras.callbacks import EarlyStopping, ReduceLROnPlateau

slower = ReduceLROnPlateau(patience=2)
callbacks_list = [EarlyStopping(patience=3), slower]
model.fit(x, y, epochs=10)
""",
        ),
        Reject(
            "the training has callbacks of its own",
            """\
from keras.callbacks import EarlyStopping, History

stop = EarlyStopping(patience=3)
history = History()
model.fit(x, y, callbacks=[history])
""",
        ),
        Reject(
            "called by the program's own loop",
            """\
from keras.callbacks import TensorBoard

board = TensorBoard('logs')
board.set_model(model)
for epoch in range(3):
    model.fit(x, y, epochs=1)
    board.on_epoch_end(epoch, {})
""",
        ),
        Reject(
            "two trainings",
            """\
from keras.callbacks import EarlyStopping

stop = EarlyStopping(patience=3)
model.fit(x, y)
other.fit(x, y)
""",
        ),
    )


def _callbacks(source: Source) -> Iterator[tuple[str, ast.expr]]:
    """The names that hold a callback which is told its model, and with which nothing else is done; what made each."""
    for statement in source.nodes(ast.Assign):
        target, value = statement.targets[0], statement.value
        if len(statement.targets) != 1 or not isinstance(target, ast.Name):
            continue
        if _is_callback(source, value) and len(source.bindings(target)) == 1 and _is_only_told(source, target.id):
            yield target.id, value


def _is_callback(source: Source, value: ast.expr) -> bool:
    made = value if isinstance(value, ast.Call) else source.constructor(value)
    name = source.qualified(made.func) if made is not None else None
    return name is not None and name.startswith(PACKAGES) and not name.endswith(("History", "LambdaCallback"))


def _is_only_told(source: Source, name: str) -> bool:
    """Whether what has the name is told its model, and nothing else is done with it."""
    uses = [node for node in source.nodes(ast.Name) if node.id == name and not isinstance(node.ctx, ast.Store)]
    above = [source.parent(node) for node in uses]
    return bool(uses) and all(isinstance(each, ast.Attribute) and each.attr in OF_CALLBACK for each in above)


def _is_of_others(source: Source, call: ast.Call) -> bool:
    """Whether a `fit` is known to be another library's: a scaler's, a vectorizer's."""
    made = source.constructor(call.func.value) if isinstance(call.func, ast.Attribute) else None
    name = source.qualified(made.func) if made is not None else None
    return name is not None and not name.startswith(("keras.", "tensorflow."))


def _reaches(source: Source, made: ast.expr, fit: ast.Call) -> bool:
    """Whether the name of what was made holds where `fit` is called."""
    own = source.enclosing(made, ast.FunctionDef)
    return made.lineno < fit.lineno and (own is None or own is source.enclosing(fit, ast.FunctionDef))
