"""`model.fit_generator(…)` was removed; `fit` accepts generators, with other names for the arguments."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    AddImport,
    ApiChange,
    Edit,
    Hit,
    RemoveArgument,
    RenameArgument,
    Replace,
    SetArgument,
    Source,
    Subject,
    changed_calls,
    keras_era,
    keyword_value,
    symbolic,
    uses_of,
)

METHODS = {
    "fit_generator": (
        "fit",
        ("", "steps_per_epoch", "epochs", "verbose", "callbacks", "validation_data", "validation_steps"),
    ),
    "evaluate_generator": ("evaluate", ("", "steps")),
    "predict_generator": ("predict", ("", "steps")),
}
"""By method, its successor, and the parameters in an order that all versions agree on.

The successors have `batch_size` second, so these are passed by name.
"""

DROPPED = ("nb_worker", "workers", "use_multiprocessing", "pickle_safe", "max_q_size", "max_queue_size")
"""How batches were fetched, which in Keras 3 is up to the data set."""

SAMPLES = {"samples_per_epoch": "steps_per_epoch", "nb_val_samples": "validation_steps", "val_samples": "steps"}
"""Counts of samples in Keras 1 that are counts of batches today."""

KERAS_1 = frozenset({*SAMPLES, "nb_epoch", "nb_worker", "max_q_size", "pickle_safe"})
"""Keywords that show that a call was written for Keras 1."""

STEPS = frozenset({"steps_per_epoch", "validation_steps", "steps"})
"""Counts of batches in the successors."""

COUNTS = frozenset({"nb_sample", "samples", "n", "N"})
"""Attributes of an iterator over images with its number of images."""

ITERATORS = ("flow", "flow_from_directory", "flow_from_dataframe")
ITERATOR_SIZE = "32"
"""The default batch size of `flow` and similar methods."""


_SIZE = re.compile(r"(?:mini_?)?batch_?(?:size|sz|len|length)", re.IGNORECASE)
"""Names of a batch size in programs."""

PLAIN = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript)
"""Expressions that bind more tightly than a division."""

NUMPY_SIZES = {
    "numpy.zeros": 0,
    "numpy.ones": 0,
    "numpy.empty": 0,
    "numpy.full": 0,
    "numpy.random.choice": 1,
    "numpy.random.randint": 2,
    "numpy.random.uniform": 2,
    "numpy.random.normal": 2,
}
"""By function, the index of the parameter with the size or shape of its result."""

JOINING = frozenset(f"numpy.{name}" for name in ("append", "concatenate", "hstack", "repeat", "tile", "vstack"))
"""Functions that make a batch larger than its parts."""


class FitGenerator(ApiChange):
    """`fit_generator` and its siblings were removed; `fit`, `evaluate` and `predict` accept generators.

    Positional arguments become keyword arguments, since the successors have others in these positions. Counts of
    samples (Keras 1) are divided by the batch size, which is read from the call that created the generator, the default
    of its function or of `flow`, or from an iterator that a function returns; where it is not known, nothing is
    proposed. A count that is the iterator's own is dropped. Quotients are rounded up, as older versions did by going on
    until the count was reached. Programs that use Keras 2 by `tf_keras` are left alone.

    Fix safety: safe for calls of Keras 2 with integers; unsafe where a count of samples was divided or a quotient
    rounded.

    References: https://github.com/tensorflow/tensorflow/releases/tag/v2.1.0,
    https://keras.io/api/models/model_training_apis/, https://github.com/keras-team/keras/wiki/Keras-2.0-release-notes.
    """

    code = "DNF507"
    name = "fit-generator"
    message = "{method} was removed in TensorFlow 2.6 and Keras 3; {today} accepts generators"
    triggers = (*METHODS, *STEPS)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        uses = uses_of(source)
        if source.words.isdisjoint({*METHODS, *STEPS}) or keras_era.keeps_to_keras_2(source):
            return
        own = frozenset().union(*(uses_of(file).defined for file in source.files.values()))
        for call in uses.calls():
            function = call.func
            if not isinstance(function, ast.Attribute) or function.attr not in METHODS or function.attr in own:
                continue
            if changed_calls.receiver_is(source, function.value, "keras.Model") is False:
                continue
            edits, decline, safe = _edits(subject, call, function)
            today = METHODS[function.attr][0]
            yield Hit(
                source.site(function),
                self.message.format(method=function.attr, today=today),
                title=f"pass the generator to {today}",
                edits=() if decline else tuple(edits),
                decline=decline,
                safe=safe,
                removed={"tensorflow": "2.6", "keras": "3.0"},
            )

        seen: set[ast.expr] = set()
        for call in uses.calls():
            yield from self._quotients(source, call, seen)

    def _quotients(self, source: Source, call: ast.Call, seen: set[ast.expr]) -> Iterator[Hit]:
        """Counts of batches in calls of the successors that are a quotient, and so a float."""
        function = call.func
        if not isinstance(function, ast.Attribute) or function.attr not in ("fit", "evaluate", "predict"):
            return
        if not changed_calls.receiver_is(source, function.value, "keras.Model"):
            return
        for keyword in call.keywords:
            for value in _fractions(source, keyword.value) if keyword.arg in STEPS else ():
                if value in seen:
                    continue
                seen.add(value)
                site, whole = source.site(value), _rounded(source, value)
                yield Hit(
                    site,
                    f"{source.segment(site)} is a float; {keyword.arg} must be an integer in Keras 3",
                    title="round the number of batches up",
                    edits=(Replace(site, whole), *([AddImport("import math")] if whole.startswith("math.") else [])),
                    removed={"keras": "3.0"},
                )

    programs = """
=== example: a number of batches that was assigned before, and parts of larger expressions
import keras
+ import math

model = keras.Sequential([keras.layers.Dense(1)])
- steps = len(x) / 32
- model.fit(batches(), steps_per_epoch=steps, validation_steps=len(v) / 32 - 1)
+ steps = math.ceil(len(x) / 32)
+ model.fit(batches(), steps_per_epoch=steps, validation_steps=math.ceil(len(v) / 32 - 1))
model.evaluate(batches(), steps=steps)

=== example: quotients by a product, by position and by a name
import keras
+ import math

model = keras.Sequential([keras.layers.Dense(1)])
- tested = (len(v) + 1) / size
- model.fit_generator(batches(), len(x) / (size * hvd.size()), 3, validation_data=held(), validation_steps=tested)
+ tested = math.ceil((len(v) + 1) / size)
+ model.fit(batches(), validation_data=held(), validation_steps=tested, steps_per_epoch=math.ceil(len(x) / (size * hvd.size())), epochs=3)

=== example: two samples for each line, whose batches have to be counted
import numpy as np
from keras.models import Sequential
+ import math

BATCH_SIZE = 16


def flipped(lines):
    while True:
        for start in range(0, len(lines), BATCH_SIZE):
            x, y = [], []
            for image, angle in lines[start : start + BATCH_SIZE]:
                x.append(image)
                y.append(angle)
                x.append(np.fliplr(image))
                y.append(-angle)
            yield np.array(x), np.array(y)


model = Sequential()
- model.fit_generator(flipped(lines), samples_per_epoch=3200, nb_epoch=2)
+ model.fit(flipped(lines), steps_per_epoch=math.ceil(3200 / len(next(flipped(lines))[0])), epochs=2)

=== example: Keras 1, with the batch size in the generator
from keras.models import Sequential
+ import math

model = Sequential()
train = datagen.flow(X_train, y_train, batch_size=32)
- model.fit_generator(train, samples_per_epoch=len(X_train), nb_epoch=10)
+ model.fit(train, steps_per_epoch=math.ceil(len(X_train) / 32), epochs=10)

=== example: a generator of the program's own, with a default batch size
from keras.models import Sequential
+ import math


def batches(x, y, batch_size=64):
    while True:
        for start in range(0, len(x), batch_size):
            yield x[start : start + batch_size], y[start : start + batch_size]


def train(model, x, y, size):
-     model.fit_generator(batches(x, y), 6400, nb_epoch=3, validation_data=batches(x, y, size), nb_val_samples=len(x))
+     model.fit(batches(x, y), epochs=3, validation_data=batches(x, y, size), validation_steps=math.ceil(len(x) / size), steps_per_epoch=6400 // 64)


train(Sequential(), x, y, 10)

=== example: a batch size by another name, and one that is the module's
import numpy as np
from keras.models import Sequential
+ import math

BATCH_SIZE = 16


def windows(sound, minibatch_size=20):
    X = []
    while 1:
        for start in range(len(sound) - 8):
            X.append(sound[start : start + 8])
            if len(X) == minibatch_size:
                yield np.array(X), np.array(X)
                X = []


def drawn(x, y):
    while True:
        chosen = np.random.choice(len(x), BATCH_SIZE)
        yield x[chosen], y[chosen]


model = Sequential()
- model.fit_generator(windows(heard), samples_per_epoch=3000, nb_epoch=5, validation_data=drawn(x, y), nb_val_samples=500)
+ model.fit(windows(heard), steps_per_epoch=3000 // 20, epochs=5, validation_data=drawn(x, y), validation_steps=math.ceil(500 / BATCH_SIZE))

=== example: batches that have to be counted
import numpy as np
from keras.models import Sequential
+ import math


def lines(path):
    while True:
        x, y = [], []
        for line in open(path):
            x.append(line.split()[1:])
            y.append(line.split()[0])
            if len(y) == 32:
                images, labels = np.array(x, float), np.array(y, int)
                yield images, labels
                x, y = [], []


model = Sequential()
batches = lines("train.txt")
- model.fit_generator(batches, samples_per_epoch=1000, nb_epoch=2)
+ model.fit(batches, steps_per_epoch=math.ceil(1000 / len(next(lines("train.txt"))[0])), epochs=2)

=== example: iterators that a function returns
from keras.models import Sequential
+ import math


def read(images):
    train = images.flow_from_directory("train", batch_size=16)
    test = images.flow_from_directory("test")
    return train, test


train, test = read(images)
model = Sequential()
- model.fit_generator(train, samples_per_epoch=500, nb_epoch=2, validation_data=test, nb_val_samples=200)
+ model.fit(train, steps_per_epoch=math.ceil(500 / train.batch_size), epochs=2, validation_data=test, validation_steps=math.ceil(200 / test.batch_size))

=== example: all images of a folder, and predictions for them
from keras.models import load_model
from keras.src.legacy.preprocessing.image import ImageDataGenerator

images = ImageDataGenerator().flow_from_directory("test", batch_size=8)
model = load_model("net.keras")
- model.fit_generator(images, samples_per_epoch=images.nb_sample, nb_epoch=2)
- print(model.evaluate_generator(images, steps=10, max_queue_size=4))
- print(model.predict_generator(images, images.nb_sample))
+ model.fit(images, epochs=2)
+ print(model.evaluate(images, steps=10))
+ print(model.predict(images))

=== reject: fit with a generator
from keras.models import Sequential

model = Sequential()
model.fit(generate(), steps_per_epoch=10, epochs=2)

=== reject: methods of today over a generator
import keras

model = keras.Sequential()
print(model.evaluate(batches, steps=3), model.predict(batches, steps=3))

=== reject: Keras 2 by its own name
import tf_keras

model = tf_keras.Sequential()
model.fit_generator(batches(), steps_per_epoch=len(x) / 32, epochs=2)

=== reject: Keras 2 by TensorFlow's variable
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow as tf

model = tf.keras.Sequential()
model.fit_generator(batches(), steps_per_epoch=len(x) / 32, epochs=2)

=== reject: another library's trainer
import keras
from mylib import Trainer

trainer = Trainer()
trainer.fit_generator(batches, 10)
"""


def _edits(subject: Subject, call: ast.Call, function: ast.Attribute) -> tuple[list[Edit], str, bool]:
    """The edits, the reason if there are none, and whether they provably keep the meaning."""
    source = subject.source
    site = source.site(call)
    today, positions = METHODS[function.attr]
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(k.arg is None for k in call.keywords):
        return [], "the call unpacks its arguments", False
    if len(call.args) > len(positions):
        return [], "there are too many positional arguments", False
    edits: list[Edit] = [Replace(source.site(function), f"{source.segment(source.site(function.value))}.{today}")]
    keywords = {k.arg: k.value for k in call.keywords if k.arg}
    generator = call.args[0] if call.args else keywords.get("generator")
    counts: list[tuple[str, str, int | None, ast.expr]] = []
    whole = False
    old = not KERAS_1.isdisjoint(keywords) or any(_own_count(a, generator) == "nb_sample" for a in call.args[1:2])
    for position, argument in enumerate(call.args[1:], 1):
        if old and position == 1:
            counts.append(("", positions[1], 1, argument))
            continue
        edits.append(RemoveArgument(site, "", position))
        edits.append(SetArgument(site, positions[position], _whole(source, positions[position], argument)))
        whole |= positions[position] in STEPS and bool(_fractions(source, argument))
    for name, value in keywords.items():
        if name in DROPPED:
            edits.append(RemoveArgument(site, name))
        elif name == "generator":
            edits.append(RenameArgument(site, name, "x"))
        elif name == "nb_epoch":
            edits.append(RenameArgument(site, name, "epochs"))
        elif name in positions and _whole(source, name, value) != source.segment(source.site(value)):
            edits.append(SetArgument(site, name, _whole(source, name, value)))
            whole = True
        elif name in STEPS and _fractions(source, value):
            whole = True
        elif name in SAMPLES:
            counts.append((name, SAMPLES[name], None, value))
    given = [(positions[n], a) for n, a in enumerate(call.args[1:], 1) if not (old and n == 1)]
    for name, value in (*given, *keywords.items()):
        if name in STEPS and isinstance(value, (ast.Name, ast.Attribute)):
            edits += [Replace(source.site(bound), _rounded(source, bound)) for bound in _fractions(source, value)]
    for name, new, place, value in counts:
        data = keywords.get("validation_data") if new == "validation_steps" else generator
        made, decline = _steps(subject, data, name or f"argument number {place}", value)
        if decline:
            return [], decline, False
        if not made or place is not None:
            edits.append(RemoveArgument(site, name, place))
        if made and place is not None:
            edits.append(SetArgument(site, new, made))
        elif made:
            edits += [SetArgument(site, name, made), RenameArgument(site, name, new)]
    if any(isinstance(edit, (SetArgument, Replace)) and edit.code.startswith("math.ceil(") for edit in edits):
        edits.append(AddImport("import math"))
    return list(dict.fromkeys(edits)), "", not counts and not whole


def _divides(value: ast.expr) -> bool:
    """Whether an expression's arithmetic has a division that makes it a float."""
    if not isinstance(value, ast.BinOp):
        return False
    return isinstance(value.op, ast.Div) or _divides(value.left) or _divides(value.right)


def _fractions(source: Source, value: ast.expr) -> tuple[ast.expr, ...]:
    """The expressions that make a count a float: itself, or all values of its name."""
    if isinstance(value, (ast.Name, ast.Attribute)):
        bound = source.bindings(value)
        return bound if all(_divides(one) for one in bound) else ()
    return (value,) if _divides(value) else ()


def _whole(source: Source, name: str, value: ast.expr) -> str:
    """The source of an argument; a quotient that counts batches is rounded up."""
    if name not in STEPS or not _divides(value):
        return source.segment(source.site(value))
    return _rounded(source, value)


def _rounded(source: Source, value: ast.expr) -> str:
    """The source of an expression with a division, rounded up."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Div):
        return f"math.ceil({source.segment(source.site(value))})"
    size = source.segment(source.site(value.right))
    return _batches(source, value.left, size if isinstance(value.right, PLAIN) else f"({size})")


def _batches(source: Source, count: ast.expr, size: str) -> str:
    """The code for the number of batches of so many samples, the last of which may not be full.

    Keras 1 and 2 went on until the count was reached. One batch less would leave an iterator over images in the middle,
    where Keras 3 goes on in the next epoch and soon runs out.
    """
    text = source.segment(source.site(count))
    if text.isdecimal() and size.isdecimal() and int(text) % max(1, int(size)) == 0:
        return f"{text} // {size}"
    return f"math.ceil({text if isinstance(count, PLAIN) else f'({text})'} / {size})"


def _steps(subject: Subject, data: ast.expr | None, name: str, count: ast.expr) -> tuple[str, str]:
    """The code for the number of batches of so many samples, empty if none is needed, or the reason for none."""
    if data is None:
        return "", f"the data that {name} counts is unknown"
    if isinstance(data, ast.Tuple) or _own_count(count, data):
        return "", ""
    size = _batch_size(subject, data)
    if size is None:
        return "", f"{name} counts samples, and the generator's batch size is not known"
    return _batches(subject.source, count, size), ""


def _own_count(count: ast.expr, data: ast.expr | None) -> str:
    """The attribute in which a count is read from the data themselves; empty otherwise."""
    if not isinstance(count, ast.Attribute) or count.attr not in COUNTS or data is None:
        return ""
    return count.attr if ast.dump(count.value) == ast.dump(data) else ""


def _batch_size(subject: Subject, data: ast.expr) -> str | None:
    """The source of a generator's batch size."""
    source = subject.source
    made = data if isinstance(data, ast.Call) else source.constructor(data)
    if made is None or source.defined(made.func) is not None:
        size = _size_of_returned(source, data)
        if size is not None or made is None:
            return size
    given = keyword_value(made, "batch_size")
    if given is None:
        if isinstance(made.func, ast.Attribute) and made.func.attr in ITERATORS:
            return ITERATOR_SIZE if len(made.args) < 3 else None
        given = _parameter(source.definition(made.func), made)
    if isinstance(given, (ast.Constant, ast.Name, ast.Attribute)):
        return source.segment(source.site(given))
    return _constant_of(source, made) or _counted(source, data, made) if given is None else None


def _constant_of(source: Source, made: ast.Call) -> str | None:
    """The module's constant that is the batch size of a generator of the program."""
    function = source.definition(made.func)
    if not isinstance(function, ast.FunctionDef):
        return None
    names = [n for n in ast.walk(function) if isinstance(n, ast.Name) and _SIZE.fullmatch(n.id)]
    found = {name.id: source.bindings(name) for name in names}
    stated = [name for name, values in found.items() if values and all(isinstance(v, ast.Constant) for v in values)]
    bound = any(symbolic.scope_of(source, name) is not source.tree for name in names)
    sole = len(found) == 1 and stated and not bound
    return stated[0] if sole and _cuts(source, function, stated[0]) else None


def _cuts(source: Source, function: ast.FunctionDef, size: str) -> bool:
    """Whether each batch of a generator provably has as many samples as a name says.

    The name is the length of a slice, a size passed to NumPy, or compared with the length of a list; and lists grow by
    one sample per iteration over such a slice, or up to such a comparison.
    """

    def is_size(expr: ast.AST | None) -> bool:
        return isinstance(expr, ast.Name) and expr.id == size

    def cut(node: ast.AST) -> bool:
        if isinstance(node, ast.Slice):
            return node.step is None and _is_long(node, size)
        place = NUMPY_SIZES.get(source.qualified(node.func) or "") if isinstance(node, ast.Call) else None
        if place is None or not isinstance(node, ast.Call):
            return False
        given = [*node.args[place : place + 1], *(k.value for k in node.keywords if k.arg in ("size", "shape"))]
        return any(is_size(one.elts[0] if isinstance(one, ast.Tuple) and one.elts else one) for one in given)

    def loop(node: ast.AST) -> ast.AST | None:
        return source.enclosing(node, ast.For, ast.While)

    nodes = list(ast.walk(function))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    if any(source.qualified(call.func) in JOINING for call in calls):
        return False
    grown = [call.func for call in calls if isinstance(call.func, ast.Attribute)]
    if any(method.attr in ("extend", "insert") for method in grown):
        return False
    if any(isinstance(node, ast.AugAssign) and not isinstance(node.value, ast.Constant | ast.Name) for node in nodes):
        return False
    appends = [method for method in grown if method.attr == "append"]
    if len({ast.dump(method.value) for method in appends}) < len(appends):
        return False
    lengths = {
        (ast.dump(side.args[0]), loop(node))
        for node in nodes
        if isinstance(node, ast.Compare) and any(is_size(side) for side in (node.left, *node.comparators))
        for side in (node.left, *node.comparators)
        if isinstance(side, ast.Call) and isinstance(side.func, ast.Name) and side.func.id == "len" and side.args
    }
    full = {where for _, where in lengths if any((ast.dump(m.value), where) in lengths for m in appends)}
    for method in appends:
        where = loop(method)
        if where in full:
            continue
        if not isinstance(where, ast.For):
            return False
        parts = [where.iter, *(source.bindings(where.iter) if isinstance(where.iter, ast.Name) else ())]
        if not any(cut(node) for part in parts for node in ast.walk(part)):
            return False
    return bool(appends) or any(cut(node) for node in nodes)


def _is_long(part: ast.Slice, size: str) -> bool:
    """Whether a slice has the length of a name: `[:n]`, `[i : i + n]` or `[i * n : (i + 1) * n]`."""
    upper = ast.unparse(part.upper) if part.upper is not None else ""
    if part.lower is None:
        return upper == size
    lower = ast.unparse(part.lower)
    if upper in (f"{lower} + {size}", f"{size} + {lower}"):
        return True
    number = lower.removesuffix(f" * {size}").removeprefix(f"{size} * ")
    return number != lower and upper in (f"({number} + 1) * {size}", f"{size} * ({number} + 1)")


def _counted(source: Source, data: ast.expr, made: ast.Call) -> str | None:
    """The code that counts a batch of a second generator created alike, so that training loses none."""
    function = source.definition(made.func)
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return None
    if source.enclosing(made, ast.FunctionDef) is not source.enclosing(data, ast.FunctionDef):
        return None
    yields = [node for node in ast.walk(function) if isinstance(node, ast.Yield)]
    batches = [node.value.elts[0] for node in yields if isinstance(node.value, ast.Tuple) and len(node.value.elts) > 1]
    if not yields or len(batches) != len(yields):
        return None
    for batch in batches:  # with several inputs, the first would have to be counted
        values = symbolic.values_of(source, batch) if isinstance(batch, ast.Name) else [batch]
        if not values or not all(_is_array(source, value) for value in values):
            return None
    arguments = (n for n in ast.walk(made) if n is not made and isinstance(n, (ast.Call, ast.Lambda)))
    if any(True for _ in arguments):
        return None  # another call may return something else the second time
    return f"len(next({source.segment(source.site(made))})[0])"


def _is_array(source: Source, value: ast.expr) -> bool:
    """Whether a batch is one array: a result of NumPy or a slice."""
    if isinstance(value, ast.Call):
        return (source.qualified(value.func) or "").startswith("numpy.") or (
            isinstance(value.func, ast.Attribute) and value.func.attr in ("astype", "reshape", "transpose", "copy")
        )
    return isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice)


def _size_of_returned(source: Source, data: ast.expr) -> str | None:
    """The batch size of an image iterator that a function of the program returns, alone or in a tuple."""
    place, call = None, source.constructor(data) if not isinstance(data, ast.Call) else data
    if call is None and isinstance(data, ast.Name):
        givers = [
            (node.value, target)
            for node in source.nodes(ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Tuple)
            and any(isinstance(part, ast.Name) and part.id == data.id for part in target.elts)
        ]
        if len(givers) != 1 or not isinstance(givers[0][0], ast.Call):
            return None
        call, target = givers[0][0], givers[0][1]
        place = next(n for n, part in enumerate(target.elts) if isinstance(part, ast.Name) and part.id == data.id)
    found = source.defined(call.func) if call is not None else None
    if found is None or not isinstance(found[1], ast.FunctionDef):
        return None
    where, function = found
    results = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    result = results[0] if len(results) == 1 else None
    if place is not None:
        result = result.elts[place] if isinstance(result, ast.Tuple) and place < len(result.elts) else None
    made = result if isinstance(result, ast.Call) else where.constructor(result) if result is not None else None
    if made is None or not isinstance(made.func, ast.Attribute) or made.func.attr not in ITERATORS:
        return None
    return f"{source.segment(source.site(data))}.batch_size" if isinstance(data, ast.Name) else None


def _parameter(definition: ast.AST | None, made: ast.Call) -> ast.expr | None:
    """The argument that a call passes for the function's batch size."""
    if not isinstance(definition, ast.FunctionDef):
        return None
    parameters = definition.args.args
    sizes = [parameter.arg for parameter in parameters if _SIZE.fullmatch(parameter.arg)]
    if len(sizes) != 1:
        return None
    index = [parameter.arg for parameter in parameters].index(sizes[0])
    if index < len(made.args):
        return made.args[index]
    if (named := keyword_value(made, sizes[0])) is not None:
        return named
    behind = len(parameters) - index
    defaults = definition.args.defaults
    return defaults[-behind] if behind <= len(defaults) and isinstance(defaults[-behind], ast.Constant) else None
