"""`history.history["acc"]`: a metric read under a name that it does not have."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Example, Hit, Reject, Subject, reword, uses_of

NAMES = ("acc", "accuracy")


class RenamedMetricKey(ApiChange):
    """Keras up to 2.2 logged `metrics=["accuracy"]` as "acc"; since 2.3 a metric is logged as it was asked for.

    Reading `history.history["acc"]` is then a KeyError, and a callback that monitors "val_acc" never acts. The key is
    brought in line with what `compile` says; where the program asks for both names, nothing is touched.

    Fix safety: safe: the key names the same numbers.

    References: https://github.com/keras-team/keras/releases/tag/2.3.0.
    """

    code = "DNF509"
    name = "renamed-metric-key"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """Keys and monitors that name accuracy in the other way."""
        source = subject.source
        if "keras" not in source.frameworks or source.words.isdisjoint({"acc", "val_acc", "val_accuracy", "accuracy"}):
            return
        asked = _asked(source.all_calls)
        if len(asked) != 1:
            return
        wanted = asked.pop()
        other = NAMES[1 - NAMES.index(wanted)]
        keys = [node.slice for node in uses_of(source).subscripts() if _is_history(subject, node.value)]
        keys += [k.value for call in source.all_calls for k in call.keywords if k.arg == "monitor"]
        for key in keys:
            if not isinstance(key, ast.Constant) or key.value not in (other, f"val_{other}"):
                continue
            site = source.site(key)
            new = str(key.value).replace(other, wanted)
            yield Hit(
                site,
                f"the metric is logged as {wanted!r} since Keras 2.3, not as {other!r}",
                title=f"read {new!r}",
                edits=(reword(subject, key, new),),
                safe=True,
                removed={"keras": "2.3"},
            )

    examples = (
        Example(
            "curves of training",
            """\
import matplotlib.pyplot as plt
from keras.models import Sequential

model = Sequential()
model.compile(loss="mse", optimizer="adam", metrics=["accuracy"])
history = model.fit(x, y, validation_split=0.1)
plt.plot(history.history['acc'])
plt.plot(history.history['val_acc'])
""",
            """\
import matplotlib.pyplot as plt
from keras.models import Sequential

model = Sequential()
model.compile(loss="mse", optimizer="adam", metrics=["accuracy"])
history = model.fit(x, y, validation_split=0.1)
plt.plot(history.history['accuracy'])
plt.plot(history.history['val_accuracy'])
""",
        ),
        Example(
            "a callback that would never act",
            """\
from tensorflow import keras

model = keras.Sequential()
model.compile("adam", "mse", metrics=["accuracy"])
stop = keras.callbacks.EarlyStopping(monitor="val_acc", patience=2)
log = model.fit(x, y, callbacks=[stop]).history
print(log["acc"])
""",
            """\
from tensorflow import keras

model = keras.Sequential()
model.compile("adam", "mse", metrics=["accuracy"])
stop = keras.callbacks.EarlyStopping(monitor="val_accuracy", patience=2)
log = model.fit(x, y, callbacks=[stop]).history
print(log["accuracy"])
""",
        ),
        Example(
            "the other way round",
            """\
from keras.models import Sequential

model = Sequential()
model.compile(loss="mse", optimizer="adam", metrics=["acc"])
h = model.fit(x, y)
print(h.history["accuracy"])
""",
            """\
from keras.models import Sequential

model = Sequential()
model.compile(loss="mse", optimizer="adam", metrics=["acc"])
h = model.fit(x, y)
print(h.history["acc"])
""",
        ),
    )
    rejects = (
        Reject(
            "the key that was asked for",
            """\
from keras.models import Sequential

model = Sequential()
model.compile(loss="mse", optimizer="adam", metrics=["acc"])
history = model.fit(x, y)
print(history.history["acc"], history.history["val_acc"])
""",
        ),
        Reject(
            "a dictionary of the program's own",
            """\
from keras.models import Sequential

model = Sequential()
model.compile(loss="mse", optimizer="adam", metrics=["accuracy"])
log = {"acc": 1}
print(log["acc"])
""",
        ),
    )


def _asked(calls: tuple[ast.Call, ...]) -> set[str]:
    """The names by which `compile` asks for accuracy."""
    found: set[str] = set()
    for call in calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "compile":
            for keyword in call.keywords:
                if keyword.arg == "metrics":
                    constants = (n for n in ast.walk(keyword.value) if isinstance(n, ast.Constant))
                    found.update(str(c.value) for c in constants if c.value in NAMES)
    return found


def _is_history(subject: Subject, expr: ast.expr) -> bool:
    """Whether an expression is the dictionary of a training's history."""
    if isinstance(expr, ast.Attribute):
        return expr.attr == "history"
    if isinstance(expr, ast.Name):
        bound = subject.source.bindings(expr)
        return bool(bound) and all(isinstance(v, ast.Attribute) and v.attr == "history" for v in bound)
    return False
