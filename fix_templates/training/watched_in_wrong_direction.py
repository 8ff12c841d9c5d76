"""A callback or schedule waits for an accuracy to fall, or for a loss to rise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Replace,
    SetArgument,
    Site,
    Source,
    Subject,
    Symptom,
    keyword_value,
)

KERAS = tuple(
    f"{package}.callbacks.{name}"
    for package in ("keras", "tensorflow.keras")
    for name in ("EarlyStopping", "ModelCheckpoint", "ReduceLROnPlateau")
)
TORCH = "torch.optim.lr_scheduler.ReduceLROnPlateau"

RISES = re.compile(
    r"(^|[_.])(acc|accs|accuracy|auc|f1|precision|recall|iou|miou|dice|bleu|r2|psnr|ssim)($|[_.\d])", re.IGNORECASE
)
FALLS = re.compile(r"(^|[_.])(loss|losses|mse|mae|rmse|error|err|perplexity|ppl|cost)($|[_.\d])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Watched:
    """What is watched, the way that it should go, and the argument that says another."""

    call: ast.Call
    quantity: str
    mode: str
    given: ast.expr | None


class WatchedInWrongDirection(FaultTemplate[Watched]):
    """`EarlyStopping("val_accuracy", mode="min")` takes the first epoch, the worst one, for the best.

    `ReduceLROnPlateau(optimizer)` of torch waits for its quantity to fall, unless it is told `mode="max"`; stepped with an
    accuracy it lowers the learning rate while the model gets better.

    Reported where the name of the quantity says that it is an accuracy or another score, or a loss or another error, and
    the mode is for the other.

    Fix safety: unsafe. Training stops, saves and slows down by the quantity's own best from now on.

    References: https://keras.io/api/callbacks/early_stopping/; torch.optim.lr_scheduler.ReduceLROnPlateau ("mode").
    """

    code = "DNF716"
    name = "watched-in-wrong-direction"
    family = Family.TRAINING
    fix_pattern = FixPattern.MONITOR
    message = "`{quantity}` is best when it is {best}, and this watches for the opposite"
    triggers = ("EarlyStopping", "ModelCheckpoint", "ReduceLROnPlateau")
    declined = "the mode is not written here"

    def faults(self, subject: Subject) -> Faults[Watched]:
        source = subject.source
        for watched in (*_of_keras(source), *_of_torch(source)):
            yield source.site(watched.call), watched

    def report(self, site: Site, fault: Watched) -> Finding:
        best = "largest" if fault.mode == "max" else "smallest"
        return self.finding(site, symptom=Symptom.VIOLATION, confidence=0.9, quantity=fault.quantity, best=best)

    def repairs(self, subject: Subject, fault: Watched) -> Repairs:
        site, mode = subject.source.site, repr(fault.mode)
        if fault.given is not None:
            quote = subject.text(site(fault.given))[:1]
            edit: Edit = Replace(site(fault.given), f"{quote}{fault.mode}{quote}")
        else:
            edit = SetArgument(site(fault.call), "mode", mode)
        yield f"Watch `{fault.quantity}` with mode {mode}", (edit,), 0.9

    examples = (
        Example(
            "an accuracy that should fall",
            """\
from keras.callbacks import EarlyStopping, ModelCheckpoint

- stop = EarlyStopping(monitor='val_accuracy', patience=5, mode='min')
+ stop = EarlyStopping(monitor='val_accuracy', patience=5, mode='max')
save = ModelCheckpoint('best.keras', monitor='val_accuracy', mode='max')
model.fit(x, y, callbacks=[stop, save])
""",
        ),
        Example(
            "a schedule stepped with an accuracy",
            """\
import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau

- scheduler = ReduceLROnPlateau(optimizer, patience=3)
+ scheduler = ReduceLROnPlateau(optimizer, patience=3, mode='max')
for epoch in range(10):
    val_acc = evaluate(net)
    scheduler.step(val_acc)
""",
        ),
        Example(
            "a loss that should rise",
            """\
import tensorflow as tf

- keep = tf.keras.callbacks.ModelCheckpoint("w.keras", "val_loss", 1, True, mode="max")
+ keep = tf.keras.callbacks.ModelCheckpoint("w.keras", "val_loss", 1, True, mode="min")
""",
        ),
    )
    rejects = (
        Reject(
            "the right way round, or left to the library",
            """\
from keras.callbacks import EarlyStopping, ReduceLROnPlateau

stop = EarlyStopping('val_accuracy', patience=3)
slow = ReduceLROnPlateau(monitor='val_loss', mode='min')
other = EarlyStopping(monitor='val_score', mode='min')
""",
        ),
        Reject(
            "a schedule stepped with a loss",
            """\
import torch

scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, 'min')
scheduler.step(val_loss)
by_score = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode='max')
by_score.step(accuracy)
by_error = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
by_error.step(1 - accuracy)
""",
        ),
    )


def _of_keras(source: Source) -> Iterator[Watched]:
    for call in source.calls(*KERAS):
        mode = _text(keyword_value(call, "mode"))
        place = 1 if (source.qualified(call.func) or "").endswith("ModelCheckpoint") else 0
        positional = call.args[place] if len(call.args) > place else None
        quantity = _text(keyword_value(call, "monitor") or positional) or ("val_loss" if positional is None else "")
        wanted = _direction(quantity)
        if mode in ("min", "max") and wanted and mode != wanted:
            yield Watched(call, quantity, wanted, keyword_value(call, "mode"))


def _of_torch(source: Source) -> Iterator[Watched]:
    made = {id(call): call for call in source.calls(TORCH)}
    for call in source.all_calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "step" or len(call.args) != 1:
            continue
        scheduler, watched = source.constructor(call.func.value), call.args[0]
        name = (
            watched.attr if isinstance(watched, ast.Attribute) else watched.id if isinstance(watched, ast.Name) else ""
        )
        wanted = _direction(name)
        if scheduler is None or id(scheduler) not in made or not wanted:
            continue
        given = keyword_value(scheduler, "mode") or (scheduler.args[1] if len(scheduler.args) > 1 else None)
        if (given is None and wanted == "max") or _text(given) == {"max": "min", "min": "max"}[wanted]:
            yield Watched(scheduler, name, wanted, given)


def _direction(name: str) -> str:
    """Which way a quantity of this name gets better: `max`, `min`, or empty where the name does not say."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    rises, falls = bool(RISES.search(words)), bool(FALLS.search(words))
    return "" if rises == falls else "max" if rises else "min"


def _text(expr: ast.expr | None) -> str:
    return expr.value if isinstance(expr, ast.Constant) and isinstance(expr.value, str) else ""
