"""`model.save_weights("model.h5")`: a file name that Keras 3 refuses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Edit, Example, Hit, Reject, Replace, Subject, receiver_is, uses_of

ENDINGS = (".hdf5", ".h5", ".keras", ".ckpt", ".weights")


class WeightsFileName(ApiChange):
    """Keras 3 saves weights to names that end in `.weights.h5`, and checkpoints of models to names ending in `.keras`.

    Everything else is a ValueError, at the end of training for `save_weights`. The same name elsewhere in the program
    (where the weights are loaded) is changed along with it.

    Fix safety: unsafe: the file has another name, and files that were written earlier are not found under it.

    References: https://keras.io/guides/migrating_to_keras_3/, https://keras.io/api/models/model_saving_apis/.
    """

    code = "DNF510"
    name = "weights-file-name"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """Names of files that Keras 3 refuses."""
        source = subject.source
        if "keras" not in source.frameworks or source.words.isdisjoint({"save_weights", "ModelCheckpoint"}):
            return
        for call in source.all_calls:
            ending = _ending(subject, call)
            given = call.args[0] if call.args else _keyword(call, "filepath")
            if not ending or given is None:
                continue
            literal = given
            if isinstance(given, ast.Name):
                bound = source.bindings(given)
                literal = bound[0] if len(bound) == 1 else given
            if (
                not isinstance(literal, ast.Constant)
                or not isinstance(literal.value, str)
                or literal.value.endswith(ending)
            ):
                continue
            new = _renamed(literal.value, ending)
            yield Hit(
                source.site(given),
                f"Keras 3 wants this file's name to end in {ending}",
                title=f"name the file …{ending}",
                edits=tuple(_everywhere(subject, literal.value, new)),
                removed={"keras": "3.0"},
            )

    examples = (
        Example(
            "weights saved and loaded",
            """\
from keras.models import Sequential

model = Sequential()
model.save_weights('model.h5')
model.load_weights('model.h5')
""",
            """\
from keras.models import Sequential

model = Sequential()
model.save_weights('model.weights.h5')
model.load_weights('model.weights.h5')
""",
        ),
        Example(
            "checkpoints of the model",
            """\
from keras.callbacks import ModelCheckpoint

path = "weights.{epoch:02d}.hdf5"
checkpoint = ModelCheckpoint(path, monitor="loss", save_best_only=True)
""",
            """\
from keras.callbacks import ModelCheckpoint

path = "weights.{epoch:02d}.keras"
checkpoint = ModelCheckpoint(path, monitor="loss", save_best_only=True)
""",
        ),
        Example(
            "checkpoints of weights only",
            """\
import tensorflow as tf

callback = tf.keras.callbacks.ModelCheckpoint(filepath="best.h5", save_weights_only=True)
""",
            """\
import tensorflow as tf

callback = tf.keras.callbacks.ModelCheckpoint(filepath="best.weights.h5", save_weights_only=True)
""",
        ),
    )
    rejects = (
        Reject(
            "names of today",
            """\
import keras

model = keras.Sequential()
model.save_weights("best.weights.h5")
checkpoint = keras.callbacks.ModelCheckpoint("best.keras")
model.save("model.h5")
""",
        ),
        Reject(
            "a name that is not written here",
            """\
import sys
import keras

model = keras.Sequential()
model.save_weights(sys.argv[1])
""",
        ),
    )


def _ending(subject: Subject, call: ast.Call) -> str:
    """The ending that a call wants of its file's name; empty for other calls."""
    source = subject.source
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr == "save_weights":
        known = receiver_is(source, function.value, "keras.Model")
        return ".weights.h5" if known else ""
    if source.qualified(function) != "keras.callbacks.ModelCheckpoint" or (source.written(function) or "").startswith(
        "tf_"
    ):
        return ""
    only = _keyword(call, "save_weights_only")
    if only is None:
        return ".keras"
    return (".weights.h5" if only.value else ".keras") if isinstance(only, ast.Constant) else ""


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _renamed(name: str, ending: str) -> str:
    for old in ENDINGS:
        name = name.removesuffix(old)
    return name.removesuffix(".weights") + ending


def _everywhere(subject: Subject, old: str, new: str) -> Iterator[Edit]:
    """The name exchanged wherever the program writes it."""
    source = subject.source
    for literal in uses_of(source).constants():
        if literal.value == old:
            site = source.site(literal)
            text = source.segment(site)
            if old in text:
                yield Replace(site, text.replace(old, new))
