"""`BatchNormalization(mode=2)`: an argument of Keras 1 that Keras 2 removed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    ApiChange,
    Edit,
    Hit,
    RemoveArgument,
    Replace,
    SetArgument,
    Subject,
    spell,
    uses_of,
)


class BatchNormalizationMode(ApiChange):
    """`mode` of Keras 1 chose what a batch normalization normalizes with; since Keras 2 the layer takes no mode.

    Mode 0 is what the layer does. Mode 1 normalized each sample, as `LayerNormalization` does. Mode 2 normalized with the
    statistics of the batch in testing too, which is what the layer does when it is called with `training=True`; where the
    layer is not called by the program, as in a `Sequential`, only the mode goes.

    Fix safety: safe for mode 0. Unsafe for the others: a layer that only loses mode 2 normalizes with the statistics of
    the training when it is tested.

    References: https://faroit.com/keras-docs/1.2.2/layers/normalization/,
    https://keras.io/api/layers/normalization_layers/batch_normalization/.
    """

    code = "DNF575"
    name = "batch-normalization-mode"
    message = "BatchNormalization does not accept mode since Keras 2"
    triggers = ("mode",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The calls that state a mode."""
        source = subject.source
        if "BatchNormalization" not in source.words and "normalization" not in source.words:
            return
        for call in uses_of(source).calls():
            keyword = next((k for k in call.keywords if k.arg == "mode"), None)
            if keyword is None or source.qualified(call.func) != "keras.layers.BatchNormalization":
                continue
            mode = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
            edits, title = _edits(subject, call, mode)
            yield Hit(
                source.site(keyword),
                self.message,
                title=title,
                edits=tuple(edits),
                decline="" if edits else "the mode cannot be read, or the layer has arguments that only mode 0 uses",
                safe=mode == 0,
                removed={"keras": "2.0"},
                within=source.site(call),
            )

    programs = """
=== example: statistics of the batch, in testing too
from keras.layers import Activation, BatchNormalization, Dense, Input

x = Input((8,))
h = Dense(4)(x)
- h = BatchNormalization(mode=2, axis=1)(h)
+ h = BatchNormalization(axis=1)(h, training=True)
h = Activation("relu")(h)

=== example: a layer that two branches share, and one in a sequence
from keras.layers import Dense
- from keras.layers.normalization import BatchNormalization
+ from keras.layers import BatchNormalization
from keras.models import Sequential

- norm = BatchNormalization(mode=2)
- both = norm(left), norm(right)
+ norm = BatchNormalization()
+ both = norm(left, training=True), norm(right, training=True)
model = Sequential()
- model.add(BatchNormalization(mode=2))
- model.add(BatchNormalization(mode=0))
+ model.add(BatchNormalization())
+ model.add(BatchNormalization())

=== example: each sample by itself
from keras.models import Sequential
- from keras.layers import BatchNormalization, Dense
+ from keras.layers import Dense
+ from keras import layers

- model = Sequential([Dense(8), BatchNormalization(mode=1)])
+ model = Sequential([Dense(8), layers.LayerNormalization()])

=== reject: a layer of today
import keras

layer = keras.layers.BatchNormalization(axis=1, momentum=0.9)

=== reject: the mode of something else
import keras
from keras.layers import BatchNormalization

stop = keras.callbacks.EarlyStopping(mode="max")
layer = BatchNormalization()
"""


def _edits(subject: Subject, call: ast.Call, mode: object) -> tuple[list[Edit], str]:
    source = subject.source
    gone: list[Edit] = [RemoveArgument(source.site(call), "mode")]
    if mode == 0:
        return gone, "drop the mode"
    if mode == 1 and not any(k.arg in ("axis", "momentum", None) for k in call.keywords):
        layer = spell(subject, "keras.layers.LayerNormalization")
        return [Replace(source.site(call.func), layer.code), *layer.imports, *gone], "normalize each sample"
    if mode != 2:
        return [], ""
    calls = _calls(subject, call)
    if not calls:
        return gone, "drop the mode, so that testing uses the statistics of training"
    edits = [*gone, *(SetArgument(source.site(one), "training", "True") for one in calls)]
    return edits, "always normalize with the statistics of the batch"


def _calls(subject: Subject, made: ast.Call) -> list[ast.Call]:
    """The calls of a layer: on the spot, or of the variable that it is assigned to."""
    source = subject.source
    above = source.parent(made)
    if isinstance(above, ast.Call) and above.func is made:
        return [above]
    if not isinstance(above, ast.Assign) or not isinstance(above.targets[0], ast.Name):
        return []
    names = uses_of(source).names(above.targets[0].id)
    users = [(name, source.parent(name)) for name in names if isinstance(name.ctx, ast.Load)]
    return [
        user
        for name, user in users
        if isinstance(user, ast.Call) and user.func is name and source.bindings(name) == (made,)
    ]
