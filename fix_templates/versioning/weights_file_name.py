"""`model.save_weights("model.h5")`: a file name that Keras 3 refuses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import ApiChange, Edit, Hit, Replace, Source, Subject, changed_calls, keyword_value, uses_of

ENDINGS = (".hdf5", ".h5", ".keras", ".ckpt", ".weights")

TAKEN = {".keras": (".h5",)}
"""Other endings that today's Keras accepts."""

FILES = frozenset({"save_weights", "load_weights", "exists", "isfile", "remove"})
"""Functions and methods whose argument is a file name."""

_PLACE = re.compile(r"(%[-+ 0#]*[\d.*]*\w|\})$")
"""A placeholder at the end of a string."""


class WeightsFileName(ApiChange):
    """Keras 3 saves weights to names that end in `.weights.h5`, and models to `.keras` (recently also `.h5`).

    Other names raise a ValueError, for `save_weights` at the end of training. The same name elsewhere in the program,
    where the weights are loaded, is changed along with it.

    Fix safety: unsafe: the file has another name, and files that were written earlier are not found under it.

    References: https://keras.io/guides/migrating_to_keras_3/, https://keras.io/api/models/model_saving_apis/.
    """

    code = "DNF510"
    name = "weights-file-name"
    message = "Keras 3 expects the name of this file to end in {ending}"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if "keras" not in source.frameworks or source.words.isdisjoint({"save_weights", "ModelCheckpoint"}):
            return
        for call in source.all_calls:
            ending = _ending(subject, call)
            given = call.args[0] if call.args else keyword_value(call, "filepath")
            written = _end(subject, given) if ending and given is not None else None
            if given is None or written is None or written.value.endswith((ending, *TAKEN.get(ending, ()))):
                continue
            new = _renamed(written.value, ending)
            yield Hit(
                source.site(given),
                self.message.format(ending=ending),
                title=f"let the file name end in {ending}",
                edits=tuple(_everywhere(subject, written, new)),
                removed={"keras": "3.0"},
            )

    programs = """
=== example: checkpoints of weights only
import tensorflow as tf

- callback = tf.keras.callbacks.ModelCheckpoint(filepath="best.h5", save_weights_only=True)
+ callback = tf.keras.callbacks.ModelCheckpoint(filepath="best.weights.h5", save_weights_only=True)

=== example: names that are put together, of models that a function makes
import os
from keras.models import Sequential
from keras.layers import Dense


def make(kind):
    net = Sequential([Dense(1)])
    return net


encoder = make("encoder")
for epoch in range(3):
-     encoder.save_weights("made/encoder-%d.hdf5" % epoch)
-     encoder.save_weights(f"made/encoder_{epoch}.h5", overwrite=True)
-     encoder.save_weights(os.path.join("made", "last_{}.h5".format(epoch)))
- encoder.save_weights("encoder", True)
- encoder.load_weights("encoder")
+     encoder.save_weights("made/encoder-%d.weights.h5" % epoch)
+     encoder.save_weights(f"made/encoder_{epoch}.weights.h5", overwrite=True)
+     encoder.save_weights(os.path.join("made", "last_{}.weights.h5".format(epoch)))
+ encoder.save_weights("encoder.weights.h5", True)
+ encoder.load_weights("encoder.weights.h5")

=== example: a metric that has another name too
from keras.callbacks import ModelCheckpoint
from keras.layers import Dense
from keras.models import Sequential

model = Sequential([Dense(1, input_shape=(3,))])
model.compile(loss="mse", optimizer="sgd", metrics=["accuracy"])
- path = "weights-{epoch:02d}-{val_acc:.2f}.hdf5"
- model.fit([[1, 2, 3]] * 4, [1] * 4, validation_split=0.5, callbacks=[ModelCheckpoint(path, monitor="val_acc")])
+ path = "weights-{epoch:02d}-{val_accuracy:.2f}.keras"
+ model.fit([[1, 2, 3]] * 4, [1] * 4, validation_split=0.5, callbacks=[ModelCheckpoint(path, monitor="val_accuracy")])

=== reject: the end of the name is put in
import keras

model = keras.Sequential()
ending = ".weights.h5"
model.save_weights("best%s" % ending)
model.save_weights("best" + ending)

=== reject: names of today
import keras

model = keras.Sequential()
model.save_weights("best.weights.h5")
checkpoint = keras.callbacks.ModelCheckpoint("best.keras")
model.save("model.h5")

=== reject: a name that is not written here
import sys
import keras

model = keras.Sequential()
model.save_weights(sys.argv[1])
"""


def _ending(subject: Subject, call: ast.Call) -> str:
    """The ending that a call requires of its file name; empty for other calls."""
    source = subject.source
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr == "save_weights":
        known = changed_calls.receiver_is(source, function.value, "keras.Model")
        return ".weights.h5" if known else ""
    if source.qualified(function) != "keras.callbacks.ModelCheckpoint" or (source.written(function) or "").startswith(
        "tf_"
    ):
        return ""
    only = keyword_value(call, "save_weights_only")
    if only is None:
        return ".keras"
    return (".weights.h5" if only.value else ".keras") if isinstance(only, ast.Constant) else ""


@dataclass(frozen=True, slots=True)
class _End:
    """The end of a file name: its literal, and the string."""

    node: ast.expr
    value: str


def _end(subject: Subject, given: ast.expr, depth: int = 3) -> _End | None:
    """The literal that a file name ends with, through variables, formatting and joining; `None` if there is none."""
    if isinstance(given, ast.Constant):
        return _End(given, given.value) if isinstance(given.value, str) else None
    if isinstance(given, ast.JoinedStr):
        last = given.values[-1] if given.values else None
        return _End(given, last.value) if isinstance(last, ast.Constant) and isinstance(last.value, str) else None
    inner = _inner(subject, given)
    found = _end(subject, inner, depth - 1) if inner is not None and depth else None
    if found is None or found.node is given or not isinstance(given, (ast.BinOp, ast.Call)):
        return found
    # `"%s" % name` ends with the value, not with the literal
    return None if _PLACE.search(found.value) else found


def _inner(subject: Subject, given: ast.expr) -> ast.expr | None:
    """The part of a string expression that has its end."""
    if isinstance(given, ast.Name):
        bound = subject.source.bindings(given)
        return bound[0] if len(bound) == 1 else None
    if isinstance(given, ast.BinOp):
        return given.left if isinstance(given.op, ast.Mod) else given.right if isinstance(given.op, ast.Add) else None
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute):
        if subject.source.qualified(given.func) == "os.path.join" and given.args:
            return given.args[-1]
        return given.func.value if given.func.attr == "format" else None
    return None


def _renamed(name: str, ending: str) -> str:
    for old in ENDINGS:
        name = name.removesuffix(old)
    return name.removesuffix(".weights") + ending


def _everywhere(subject: Subject, end: _End, new: str) -> Iterator[Edit]:
    """The edits of the name wherever the program writes it; a plain word only where it is passed as a file name."""
    source = subject.source
    literals: list[ast.expr] = [end.node]
    if not isinstance(end.node, ast.JoinedStr):
        literals += [literal for literal in uses_of(source).constants() if literal.value == end.value]
    for literal in dict.fromkeys(literals):
        site = source.site(literal)
        before, found, after = source.segment(site).rpartition(end.value)
        if found and (literal is end.node or "." in end.value or _names_file(source, literal)):
            yield Replace(site, f"{before}{new}{after}")


def _names_file(source: Source, literal: ast.expr) -> bool:
    call = source.parent(literal)
    function = call.func if isinstance(call, ast.Call) and literal in call.args else None
    return isinstance(function, ast.Attribute) and function.attr in FILES
