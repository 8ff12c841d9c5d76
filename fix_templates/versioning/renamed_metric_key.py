"""`history.history["acc"]`: a metric is read under a name that Keras does not log it by."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, Source, Subject, network_facts, recipes, uses_of

ALIKE = (
    ("acc", "accuracy"),
    *((short, network_facts.METRIC_ALIASES[short]) for short in ("mae", "mse", "mape", "msle")),
)
"""The names of each metric. Up to 2.2 Keras logged the first of accuracy and the second of the others in any case."""

WATCHERS = {"EarlyStopping": 0, "ReduceLROnPlateau": 0, "ModelCheckpoint": 1}
"""By callback, the index of the parameter with the metric that it watches."""

HOOKS = ("on_epoch_end", "on_epoch_begin", "on_batch_end", "on_train_batch_end", "on_test_batch_end", "on_train_end")
"""Methods of callbacks whose last parameter is the metrics."""


class RenamedMetricKey(ApiChange):
    """Keras up to 2.2 logged `metrics=["accuracy"]` as "acc"; since 2.3 it logs a metric under the name in `compile`.

    `history.history["acc"]` is then a KeyError, and a callback that monitors "val_acc" never acts. The key follows the
    name in `compile` wherever it is used: in the history, in a callback's logs or `monitor`, in a checkpoint's file
    name. Where the program uses both names, nothing is changed.

    Fix safety: safe: the key names the same numbers.

    References: https://github.com/keras-team/keras/releases/tag/2.3.0.
    """

    code = "DNF509"
    name = "renamed-metric-key"
    message = "the metric is logged as {wanted!r} since Keras 2.3, not as {other!r}"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if "keras" not in source.frameworks:
            return
        keys = None
        for pair in ALIKE:
            asked = _asked(source, pair)
            if len(asked) != 1:
                continue
            wanted = asked.pop()
            other = pair[1 - pair.index(wanted)]
            keys = _keys(source) if keys is None else keys
            for key, in_name in keys:
                old = str(key.value)
                new = _renamed_in_name(old, other, wanted) if in_name else _renamed(old, other, wanted)
                if new == old:
                    continue
                yield Hit(
                    source.site(key),
                    self.message.format(wanted=wanted, other=other),
                    title=f"read {wanted!r}" if in_name else f"read {new!r}",
                    edits=(recipes.reword(subject, key, new),),
                    safe=True,
                    removed={"keras": "2.3"},
                )

    programs = """
=== example: a callback that would never act
from tensorflow import keras

model = keras.Sequential()
model.compile("adam", "mse", metrics=["accuracy"])
- stop = keras.callbacks.EarlyStopping(monitor="val_acc", patience=2)
+ stop = keras.callbacks.EarlyStopping(monitor="val_accuracy", patience=2)
log = model.fit(x, y, callbacks=[stop]).history
- print(log["acc"])
+ print(log["accuracy"])

=== example: a callback of one's own, and the name of a file
import keras


class Enough(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs={}):
-         if logs.get('acc') > 0.99:
+         if logs.get('accuracy') > 0.99:
            self.model.stop_training = True


model = keras.Sequential([keras.layers.Dense(1)])
- model.compile('adam', 'mse', ['accuracy'])
- path = 'weights-{epoch:02d}-{val_acc:.2f}.keras'
- best = keras.callbacks.ModelCheckpoint(path, 'val_acc', mode='max')
+ model.compile('adam', 'mse', metrics=['accuracy'])
+ path = 'weights-{epoch:02d}-{val_accuracy:.2f}.keras'
+ best = keras.callbacks.ModelCheckpoint(path, 'val_accuracy', mode='max')
model.fit(x, y, callbacks=[Enough(), best])

=== example: names in a function, a loop and a data frame of the history
import matplotlib.pyplot as plt
import pandas as pd
from keras.models import Sequential

METRICS = ['acc']
table = [[1, 2]]
table = pd.DataFrame(table)
print(table['accuracy'])


def show(record, key):
    plt.plot(record.history[key])
    plt.plot(record.history['val_' + key])


model = Sequential()
model.compile(loss="mse", optimizer="adam", metrics=METRICS)
record = model.fit(x, y, validation_split=0.1)
- show(record, 'accuracy')
- for name in ('accuracy', 'val_accuracy'):
+ show(record, 'acc')
+ for name in ('acc', 'val_acc'):
    print(max(record.history[name]))
history = record.history
history = pd.DataFrame(record.history)
- print(history[['accuracy', 'loss']], history.get('val_accuracy'))
+ print(history[['acc', 'loss']], history.get('val_acc'))

=== example: columns of data frames of histories
import pandas as pd
from keras.models import Sequential

model = Sequential()
model.compile(loss="mse", optimizer="adam", metrics=["accuracy"])
tables = [pd.DataFrame(model.fit(x, y).history) for _ in range(2)]
both = pd.concat(tables, axis=1, keys=["first", "second"])
- both.xs("acc", axis=1, level=1).plot()
- pd.DataFrame(model.fit(x, y).history).plot(y=["acc", "loss"])
+ both.xs("accuracy", axis=1, level=1).plot()
+ pd.DataFrame(model.fit(x, y).history).plot(y=["accuracy", "loss"])

=== reject: keys that the program put there itself
from keras.models import Sequential

model = Sequential()
model.compile(loss="mse", optimizer="adam", metrics=["accuracy"])
for _ in range(3):
    history = model.fit(x, y).history
    history["acc"] = history.pop("accuracy")
    print(history["acc"])

=== reject: a key that is asked for first
from keras.models import Sequential

model = Sequential()
model.compile(loss="mse", optimizer="adam", metrics=["accuracy"])
logs = model.fit(x, y).history
if "acc" in logs:
    print(logs["acc"])
else:
    print(logs["accuracy"])

=== reject: the key that was asked for
from keras.models import Sequential

model = Sequential()
model.compile(loss="mse", optimizer="adam", metrics=["acc"])
history = model.fit(x, y)
print(history.history["acc"], history.history["val_acc"])
"""


def _asked(source: Source, pair: tuple[str, str]) -> set[str]:
    """The names under which `compile` lists a metric."""
    if source.words.isdisjoint(pair) and not any(
        isinstance(n.value, str) and n.value.endswith(pair) for n in source.nodes(ast.Constant)
    ):
        return set()
    found: set[str] = set()
    for call in source.all_calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "compile":
            given = [keyword.value for keyword in call.keywords if keyword.arg == "metrics"]
            given += call.args[2:4]
            for value in given:
                for metrics in source.bindings(value) or (value,):
                    constants = (n for n in ast.walk(metrics) if isinstance(n, ast.Constant))
                    found.update(str(c.value) for c in constants if c.value in pair)
    return found


def _renamed(key: str, other: str, wanted: str) -> str:
    """A key with the metric's other name replaced, alone or after `val_` or the name of an output."""
    return key[: -len(other)] + wanted if key == other or key.endswith(f"_{other}") else key


def _renamed_in_name(name: str, other: str, wanted: str) -> str:
    """A file name with the metric's other name replaced in its braces."""
    for before in ("{", "{val_"):
        for after in ("}", ":"):
            name = name.replace(f"{before}{other}{after}", f"{before}{wanted}{after}")
    return name


def _keys(source: Source) -> list[tuple[ast.Constant, bool]]:
    """The strings that name a metric, each with whether it is a file name with the metric in braces."""
    uses = uses_of(source)
    own = _stored(source) | _tested(source)
    found: dict[ast.Constant, bool] = {}
    for node in uses.subscripts():
        if isinstance(node.ctx, ast.Load) and _is_history(source, node.value):
            found.update(dict.fromkeys(_texts(source, node.slice), False))
    for call in source.all_calls:
        function = call.func
        asks = isinstance(function, ast.Attribute) and function.attr == "get" and bool(call.args)
        if asks and isinstance(function, ast.Attribute) and _is_history(source, function.value):
            found.update(dict.fromkeys(_texts(source, call.args[0]), False))
        if isinstance(function, ast.Attribute):
            for column in _columns(source, call, function):
                found.update(dict.fromkeys(_texts(source, column), False))
        watched = [k.value for k in call.keywords if k.arg == "monitor"]
        name = (source.qualified(function) or "").rpartition(".")[2]
        if name in WATCHERS:
            watched += call.args[WATCHERS[name] : WATCHERS[name] + 1]
        for value in watched:
            found.update(dict.fromkeys(_texts(source, value), False))
        if name == "ModelCheckpoint":
            for path in [*call.args[:1], *(k.value for k in call.keywords if k.arg == "filepath")]:
                for bound in source.bindings(path) or (path,):
                    texts = (n for n in ast.walk(bound) if isinstance(n, ast.Constant) and isinstance(n.value, str))
                    found.update(dict.fromkeys(texts, True))
    return [(key, in_name) for key, in_name in found.items() if key.value not in own]


def _columns(source: Source, call: ast.Call, function: ast.Attribute) -> list[ast.expr]:
    """The names of columns that a method of a data frame of histories gets."""
    if function.attr == "plot" and _is_history(source, function.value):
        return [keyword.value for keyword in call.keywords if keyword.arg == "y"]
    by_column = any(k.arg == "axis" and isinstance(k.value, ast.Constant) and k.value.value == 1 for k in call.keywords)
    return call.args[:1] if function.attr == "xs" and by_column and "history" in source.words else []


def _stored(source: Source) -> set[object]:
    """The keys that the program stores in a dictionary itself."""
    stores = [n for n in uses_of(source).subscripts() if isinstance(n.ctx, ast.Store)]
    found: set[object] = {n.slice.value for n in stores if isinstance(n.slice, ast.Constant)}
    for table in source.nodes(ast.Dict):
        found.update(key.value for key in table.keys if isinstance(key, ast.Constant))
    return found


def _tested(source: Source) -> set[object]:
    """The strings that the program tests for among keys: it handles their absence."""
    tests = (node for node in source.nodes(ast.Compare) if isinstance(node.ops[0], (ast.In, ast.NotIn)))
    return {node.left.value for node in tests if isinstance(node.left, ast.Constant)}


def _texts(source: Source, key: ast.expr) -> Iterator[ast.Constant]:
    """The string literals that a key can be: itself, an operand, an element of a list, or a name's."""
    if isinstance(key, ast.Constant):
        if isinstance(key.value, str):
            yield key
    elif isinstance(key, ast.BinOp):
        yield from _texts(source, key.left)
        yield from _texts(source, key.right)
    elif isinstance(key, (ast.List, ast.Tuple)):
        for element in key.elts:
            if isinstance(element, ast.Constant):
                yield from _texts(source, element)
    elif isinstance(key, ast.Name):
        yield from _given(source, key)


def _given(source: Source, name: ast.Name) -> Iterator[ast.Constant]:
    """The literals that a name can be: by assignment, by its loop, or by calls of its function."""
    for bound in source.bindings(name):
        if isinstance(bound, ast.Constant):
            yield from _texts(source, bound)
    above = source.parent(name)
    while above is not None:
        loops = [above] if isinstance(above, ast.For) else getattr(above, "generators", [])
        for loop in loops:
            if isinstance(loop.target, ast.Name) and loop.target.id == name.id:
                for listed in source.bindings(loop.iter) or (loop.iter,):
                    yield from _texts(source, listed) if not isinstance(listed, ast.Name) else ()
                return
        if isinstance(above, ast.FunctionDef):
            names = [argument.arg for argument in above.args.args]
            if name.id in names:
                position = names.index(name.id)
                for call in source.all_calls:
                    if isinstance(call.func, ast.Name) and call.func.id == above.name:
                        given = call.args[position : position + 1]
                        given += [k.value for k in call.keywords if k.arg == name.id]
                        for value in given:
                            yield from _texts(source, value) if isinstance(value, ast.Constant) else ()
            return
        above = source.parent(above)


def _is_history(source: Source, expr: ast.expr, under: frozenset[str] = frozenset()) -> bool:
    """Whether an expression is the dictionary or data frame of a history, or the logs of a callback.

    `under` has the names that are being followed, one of which may be computed from itself.
    """
    if isinstance(expr, ast.Attribute):
        return expr.attr == "history"
    if isinstance(expr, ast.Call):
        table = bool(expr.args) and source.qualified(expr.func) == "pandas.DataFrame"
        return table and _is_history(source, expr.args[0], under)
    if not isinstance(expr, ast.Name) or expr.id in under:
        return False
    hook = source.enclosing(expr, ast.FunctionDef)
    if hook is not None and hook.name in HOOKS and hook.args.args and hook.args.args[-1].arg == expr.id:
        return True
    bound = source.bindings(expr)
    history = [_is_history(source, value, under | {expr.id}) for value in bound]
    # `history = history.history`: the history object and its dictionary under one name
    fitted = (isinstance(v, ast.Call) and getattr(v.func, "attr", "").startswith("fit") for v in bound)
    return any(history) and all(one or other for one, other in zip(history, fitted, strict=True))
