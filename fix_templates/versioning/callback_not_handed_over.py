"""A Keras callback that is made and never given to the training."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    SetArgument,
    Subject,
    Symptom,
)

CALLBACKS = (
    "BackupAndRestore",
    "CSVLogger",
    "EarlyStopping",
    "LearningRateScheduler",
    "ModelCheckpoint",
    "ReduceLROnPlateau",
    "TensorBoard",
    "TerminateOnNaN",
)


class CallbackNotHandedOver(FixTemplate):
    """A callback is made, and the one call of `fit` is given none: it logs, saves and stops nothing.

    `set_model` tells a callback which model it is for; only what is in `callbacks=[…]` hears of batches and epochs. Reported
    where the program neither hands any callback over nor calls one by itself, and nothing else is done with this one. A
    callback that nothing at all is done with may have been put aside, and is left alone.

    Fix safety: unsafe. The callback begins to act: it writes files, changes the learning rate or ends the training.

    References: https://keras.io/api/callbacks/.
    """

    code = "DNF563"
    name = "callback-not-handed-over"
    family = Family.VERSIONING
    fix_pattern = FixPattern.API_CONTRACT
    message = "`{name}` is never given to `fit`, so that it hears of no epoch"
    triggers = ("set_model",)

    def detect(self, subject: Subject) -> Iterator[Finding]:
        """The callbacks that a program attaches in a way that does nothing."""
        source = subject.source
        if any(keyword.arg in ("callbacks", None) for call in source.all_calls for keyword in call.keywords):
            return
        for made, name in _made(subject):
            if _training(subject, made, name) is not None:
                yield self.finding(source.site(made), symptom=Symptom.VIOLATION, confidence=0.85, name=name)

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        """The callback among those of `fit`."""
        source = subject.source
        for made, name in _made(subject):
            training = _training(subject, made, name) if source.site(made) == finding.site else None
            if training is not None:
                edit = SetArgument(source.site(training), "callbacks", f"[{name}]")
                yield self.candidate(finding, f"Give `{name}` to fit", edit, prior=0.85)
                return
        yield Decline("which training the callback is for cannot be told")

    examples = (
        Example(
            "a log that is told of the model",
            """\
import keras

model = build()
logger = keras.callbacks.CSVLogger("log.csv")
logger.set_model(model)
model.fit(x, y, epochs=4, verbose=2)
""",
            """\
import keras

model = build()
logger = keras.callbacks.CSVLogger("log.csv")
logger.set_model(model)
model.fit(x, y, epochs=4, verbose=2, callbacks=[logger])
""",
        ),
        Example(
            "a board in a function",
            """\
from tensorflow.keras.callbacks import TensorBoard


def train(model, data):
    board = TensorBoard(log_dir="logs")
    board.set_model(model)
    return model.fit(data, epochs=3)
""",
            """\
from tensorflow.keras.callbacks import TensorBoard


def train(model, data):
    board = TensorBoard(log_dir="logs")
    board.set_model(model)
    return model.fit(data, epochs=3, callbacks=[board])
""",
        ),
    )
    rejects = (
        Reject(
            "the program calls the callback itself",
            """\
from keras.callbacks import TensorBoard

board = TensorBoard("logs")
board.set_model(model)
for epoch in range(3):
    loss = model.train_on_batch(x, y)
    board.on_epoch_end(epoch, {"loss": loss})
model.fit(x, y)
""",
        ),
        Reject(
            "it is handed over",
            """\
from keras.callbacks import CSVLogger

logger = CSVLogger("log.csv")
logger.set_model(model)
model.fit(x, y, callbacks=[logger])
""",
        ),
        Reject(
            "put aside",
            """\
from keras.callbacks import EarlyStopping

stop = EarlyStopping(patience=3)
model.fit(x, y)
""",
        ),
    )


def _made(subject: Subject) -> Iterator[tuple[ast.Call, str]]:
    """The callbacks that are bound to a name, once."""
    source = subject.source
    for call in source.calls(*(f"keras.callbacks.{name}" for name in CALLBACKS)):
        above = source.parent(call)
        if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
            name = above.targets[0].id
            stored = [n for n in source.nodes(ast.Name) if n.id == name and not isinstance(n.ctx, ast.Load)]
            if len(stored) == 1:
                yield call, name


def _training(subject: Subject, made: ast.Call, name: str) -> ast.Call | None:
    """The one call of `fit` of the model that a callback is told of, where nothing else is done with the callback."""
    source = subject.source
    uses = [node for node in source.nodes(ast.Name) if node.id == name and isinstance(node.ctx, ast.Load)]
    if len(uses) != 1:
        return None
    method = source.parent(uses[0])
    told = source.parent(method) if isinstance(method, ast.Attribute) and method.attr == "set_model" else None
    if not isinstance(told, ast.Call) or len(told.args) != 1:
        return None
    model = ast.unparse(told.args[0])
    fits = [
        each
        for each in source.all_calls
        if isinstance(each.func, ast.Attribute) and each.func.attr == "fit" and ast.unparse(each.func.value) == model
    ]
    scope = source.enclosing(made, ast.FunctionDef)
    return fits[0] if len(fits) == 1 and source.enclosing(fits[0], ast.FunctionDef) is scope else None
