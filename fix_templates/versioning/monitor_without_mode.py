"""`EarlyStopping("val_rmse")`: Keras 3 cannot infer whether a smaller or a greater value is better."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, SetArgument, Subject, uses_of

ASKED = "isn't able to automatically determine"
"""Keras's message where it cannot infer the direction."""

MORE_IS_BETTER = ("acc", "fmeasure", "auc")
"""Parts of a metric's name for which Keras 1 and 2 inferred that more is better."""


class MonitorWithoutMode(ApiChange):
    """A callback watches a metric whose direction Keras 3 does not know.

    Keras 1 and 2 inferred it from the name: more accuracy is better, and less of anything else. Keras 3 knows its own
    metrics, and raises for others without `mode`. The patch states the direction that was inferred before.

    Fix safety: unsafe: where more of the metric is better, as of a coefficient of determination, Keras inferred
    wrongly.

    References: https://keras.io/api/callbacks/early_stopping/.
    """

    code = "DNF593"
    name = "monitor-without-mode"
    formerly = ("direction-of-watched-metric",)
    message = "Keras 3 cannot infer whether {metric} is to be minimized or maximized"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        crash, source = subject.crash, subject.source
        if crash is None or ASKED not in crash.message:
            return
        for call in uses_of(source).calls():
            watched = [*call.args[:1], *(each.value for each in call.keywords if each.arg == "monitor")]
            if source.qualified(call.func) != "keras.callbacks.EarlyStopping" or not watched or len(call.args) > 4:
                continue
            name = watched[0].value if isinstance(watched[0], ast.Constant) else None
            stated = any(each.arg in ("mode", None) for each in call.keywords)
            if not isinstance(name, str) or f"monitor={name}," not in crash.message or stated:
                continue
            mode = "max" if any(part in name for part in MORE_IS_BETTER) else "min"
            yield Hit(
                source.site(call),
                self.message.format(metric=name),
                title=f"set mode={mode!r}, which older versions inferred",
                edits=(SetArgument(source.site(call), "mode", f'"{mode}"'),),
                exact=True,
                removed={"keras": "3.0"},
                confidence=0.9,
                felt=source.site(call),
            )

    programs = """
=== example (runs): an error of the program's own
import keras
import numpy as np
from keras.callbacks import EarlyStopping


def rmse(y_true, y_pred):
    return keras.ops.sqrt(keras.ops.mean(keras.ops.square(y_true - y_pred)))


model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse", metrics=[rmse])
x, y = np.ones((8, 4)), np.ones((8, 1))
- model.fit(x, y, validation_data=(x, y), callbacks=[EarlyStopping("val_rmse", patience=2)], verbose=0)
+ model.fit(x, y, validation_data=(x, y), callbacks=[EarlyStopping("val_rmse", patience=2, mode="min")], verbose=0)

=== example (runs): two callbacks that are created before
import numpy as np
from tensorflow import keras


def accuracy_of_sign(y_true, y_pred):
    return keras.ops.mean(keras.ops.cast(y_true * y_pred > 0, "float32"))


model = keras.Sequential([keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse", metrics=[accuracy_of_sign])
- stop = keras.callbacks.EarlyStopping(monitor="accuracy_of_sign", patience=3)
+ stop = keras.callbacks.EarlyStopping(monitor="accuracy_of_sign", patience=3, mode="max")
model.fit(np.ones((8, 4)), np.ones((8, 1)), callbacks=[stop, keras.callbacks.TerminateOnNaN()], verbose=0)

=== example (runs): an error that is watched over the epochs
import keras
import numpy as np
from keras import ops


class Far(keras.losses.Loss):
    def call(self, y_true, y_pred):
        return ops.mean(ops.abs(y_true - y_pred))


def far(y_true, y_pred):
    return ops.max(ops.abs(y_true - y_pred))


net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", Far(), metrics=[far])
net.fit(
    np.ones((8, 4)),
    np.ones((8, 1)),
    epochs=2,
-     callbacks=[keras.callbacks.EarlyStopping(monitor="far", min_delta=0.1)],
+     callbacks=[keras.callbacks.EarlyStopping(monitor="far", min_delta=0.1, mode="min")],
    verbose=0,
)

=== reject (runs): a callback that is never asked
import keras

stop = keras.callbacks.EarlyStopping("val_rmse")
print(stop.monitor)

=== reject (runs): a loss that Keras knows, and a stated direction
import keras
import numpy as np
from keras.callbacks import EarlyStopping


def rmse(y_true, y_pred):
    return keras.ops.sqrt(keras.ops.mean(keras.ops.square(y_true - y_pred)))


model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse", metrics=[rmse])
callbacks = [EarlyStopping("loss"), EarlyStopping("rmse", mode="min")]
model.fit(np.ones((8, 4)), np.ones((8, 1)), callbacks=callbacks, verbose=0)
"""
