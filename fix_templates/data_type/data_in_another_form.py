"""A Keras model gets string labels, sequences of different lengths, or inputs and targets of different samples."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import cast

from dnnfix.api import (
    CrashTemplate,
    Decline,
    Edit,
    Failure,
    Fault,
    Replace,
    Source,
    Subject,
    argument_value,
    compile_calls,
    data_edits,
    held_values,
    keyword_value,
    reads,
    spell,
    tensor_axes,
    within,
    words,
)

TEACHING = words("fit evaluate train_on_batch test_on_batch")
"""Methods of Keras models with labels as an argument."""

TAKE_DATA = TEACHING | words("predict predict_on_batch")

SPLITTER = "sklearn.model_selection.train_test_split"

ARRAYS = words("numpy.array numpy.asarray")

TRAINING = re.compile(r"train(?:ing)?|tr|trn", re.IGNORECASE)

SPLIT = re.compile(r"train(?:ing)?|tr|trn|test(?:ing)?|te|val(?:id(?:ation)?)?|dev", re.IGNORECASE)
"""Words for a part of the data in names."""


@reads(
    "ValueError TypeError IndexError",
    "Invalid dtype|could not convert string|Unrecognized data type|tuple index out of range",
    ast.Call,
)
def _labels_as_strings(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """A Keras model is trained on class names as strings: they are numbered."""
    node, source, subject = failure.node, failure.source, failure.subject
    labels = argument_value(node, "y", 1) if _calls(node, TEACHING) else None
    form, root = _form(source), _root(source, labels) if labels is not None else None
    if labels is None or not _are_strings(failure, labels) or form is None or root is None:
        return
    if not _one_root(source, root) or not _uses(source, root) or _has_own_order(source):
        return
    encoder, imports = spell(subject, "sklearn.preprocessing.LabelEncoder"), tuple[Edit, ...]()
    before, after = f"{encoder.code}().fit_transform(", ")"
    if encoder.imports:
        unique = spell(subject, "numpy.unique")
        before, after, imports = f"{unique.code}(", ", return_inverse=True)[1]", unique.imports
    if form == "row":
        rows = spell(subject, "keras.utils.to_categorical")
        before, after, imports = f"{rows.code}({before}", f"{after})", (*imports, *rows.imports)
    what = f"{failure.code(labels)} holds class names, and the loss expects numbers"
    title = "Convert the class names to class indices" if form == "index" else "Convert the class names to one-hot rows"
    yield failure.fault(
        labels, what, title, *data_edits.change_data(subject, _uses(source, root), before, after), *imports
    )


@reads("ValueError TypeError", "", ast.Call)
def _sequences_of_other_lengths(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """A Keras model gets sequences of different lengths: they are padded."""
    node, subject = failure.node, failure.subject
    given = tensor_axes.first_argument(node) if {"keras", "tensorflow"} & failure.source.frameworks else None
    rows = held_values.row_lengths(subject, given) if given is not None else None
    if given is None or rows is None or rows[0] == rows[1]:
        return
    edits: tuple[Edit, ...] | None = None
    uneven = (
        "inhomogeneous",
        "setting an array element with a sequence",
    )  # of newer and older releases of NumPy
    if failure.source.qualified(node.func) in ARRAYS and any(said in failure.crash.message for said in uneven):
        edits = _where_made(subject, node)
    elif _calls(node, TAKE_DATA):
        edits = _where_given(failure, given)
    what = f"the sequences have between {rows[0]} and {rows[1]} elements, and an array needs one length"
    if edits:
        yield failure.fault(given, what, "Pad the sequences to one length", *edits, prior=0.95)
    elif edits is not None:
        why = "the input length of the model is smaller than the longest sequence"
        yield Fault(failure.site(given), what, (Decline(why),))


@reads(
    "ValueError", r"(?s)[Dd]ata cardinality is ambiguous.*?'?x'? sizes: (\d+)\s*'?y'? sizes: (\d+)(?:\s|$)", ast.Call
)
def _parts_of_other_lengths(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """A Keras model gets inputs and targets of different samples."""
    node, (first, second) = failure.node, map(int, failure.said.groups())
    for inputs, targets in _pairs(node) if isinstance(node.func, ast.Attribute) else ():
        if (_count(failure, inputs), _count(failure, targets)) not in ((None, None), (first, second)):
            continue
        found = _by_slices(failure, inputs, targets) or _by_names(failure, inputs, targets, (first, second))
        if found is not None:
            part = failure.source.enclosing(found[0], ast.Subscript) or found[0]
            what = f"{ast.unparse(part)} and the data passed with it contain different samples"
            yield failure.fault(found[0], what, f"Use {found[1]}", failure.exchange(*found))
            return


class DataInAnotherForm(CrashTemplate):
    """A Keras model gets string labels, sequences of different lengths, or inputs and targets of different samples.

    String labels: a loss needs numbers: class indices for `sparse_categorical_crossentropy`, one-hot rows for
    `categorical_crossentropy`, 0 and 1 for `binary_crossentropy`. The names are numbered in alphabetical order, before
    the labels are split, so that every part has the same numbers; with `LabelEncoder` if the program imports it.
    Nothing is proposed for test labels from another array, which may have fewer classes, for regression losses, and
    where the program has an order of its own for the names (`names[net.predict(x).argmax()]`).

    Sequences of different lengths: they are padded to the length that the model states, or else to the longest. If the
    model states a smaller one nothing is proposed, since sequences would be truncated.

    Inputs and targets of different samples: if the bounds of two slices differ (`x[:240]`, `y[:200]`) and another slice
    starts at one of them (`x[240:]`), both get this bound. If the names are of different parts (`x_train`, `y_test`),
    in `fit` both become those of the training part, elsewhere of the other, if that array has as many samples.
    Truncating the longer array would pair samples with the targets of others, so nothing else is proposed.

    Fix safety: unsafe. The program could not run before; shorter sequences are padded with zeros at the start.

    References: keras.losses.SparseCategoricalCrossentropy, numpy.unique (`return_inverse`), keras.utils.pad_sequences,
    keras.Model.fit ("Data cardinality is ambiguous").
    """

    code = "DNF632"
    name = "data-in-another-form"
    formerly = (
        "labels-as-text",
        "DNF636",
        "parts-of-other-lengths",
        "DNF639",
        "sequences-of-different-lengths",
    )
    message = "the model does not accept its data in this form: {what}"
    confidence = 0.9
    readings = (_labels_as_strings, _sequences_of_other_lengths, _parts_of_other_lengths)

    programs = """
=== example: names drawn from an array
import keras
import numpy as np

x = np.random.rand(12, 4)
y = np.array(["cat", "dog", "cow"])[np.arange(12) % 3]
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
net.compile("adam", "sparse_categorical_crossentropy")
- net.fit(x, y, verbose=0)
+ net.fit(x, np.unique(y, return_inverse=True)[1], verbose=0)

=== example: a part of the labels is kept for a test
import keras
import numpy as np

x = np.random.rand(12, 4)
labels = np.array(["no", "yes"] * 6)
x_train, x_test = x[:8], x[8:]
+ labels = np.unique(labels, return_inverse=True)[1]
y_train, y_test = labels[:8], labels[8:]
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
net.compile(loss="binary_crossentropy", optimizer="adam")
net.fit(x_train, y_train, validation_data=(x_test, y_test), verbose=0)

=== example: split by sklearn, with its encoder at hand
import keras
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import LabelEncoder

x, kinds = np.random.rand(12, 4), np.array(["a", "b", "c"] * 4)
- x_train, x_test, kinds_train, kinds_test = train_test_split(x, kinds, random_state=0)
+ x_train, x_test, kinds_train, kinds_test = train_test_split(x, LabelEncoder().fit_transform(kinds), random_state=0)
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
net.compile("adam", "sparse_categorical_crossentropy")
net.fit(x_train, kinds_train, validation_data=(x_test, kinds_test), verbose=0)

=== example: rows with a one are wanted
import keras
import numpy as np


def train(samples, names):
    net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
    net.compile("adam", keras.losses.CategoricalCrossentropy())
-     net.fit(samples, names, verbose=0)
+     net.fit(samples, keras.utils.to_categorical(np.unique(names, return_inverse=True)[1]), verbose=0)


train(np.random.rand(12, 4), np.array(["a", "b", "c"] * 4))

=== example: an array of objects
import keras
import numpy as np

rows = [[1, 2, 3], [4, 5], [6], [7, 8, 9]]
x, y = np.array(rows, dtype=object), np.array([0, 1, 1, 0])
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
- model.fit(x, y, verbose=0)
+ model.fit(keras.utils.pad_sequences(x, maxlen=3), y, verbose=0)

=== example: lists of words
import numpy as np
from keras import Sequential, layers
+ import keras

texts = [[1, 4, 2], [3, 3], [5], [2, 2, 1, 4]]
net = Sequential([layers.Embedding(6, 3), layers.LSTM(2), layers.Dense(1)])
net.compile(optimizer="sgd", loss="mse")
- net.fit(texts, np.ones(4), verbose=0)
+ net.fit(keras.utils.pad_sequences(texts), np.ones(4), verbose=0)

=== example: arrays that cannot be made
import keras
import numpy as np

measured = [[0.5, 1.0], [0.25, 0.5, 1.0], [2.0]]
later = [[0.5], [1.5, 1.0]]
- x_train = np.array(measured)
- x_test = np.array(later)
+ x_train = keras.utils.pad_sequences(measured, maxlen=3, dtype="float32")
+ x_test = keras.utils.pad_sequences(later, maxlen=3, dtype="float32")
model = keras.Sequential([keras.layers.Dense(2, activation="relu"), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x_train, np.ones(3), verbose=0)
print(model.predict(x_test, verbose=0))

=== example: two bounds
import keras
import numpy as np

x = np.random.rand(20, 3)
y = x.sum(1)
- x_train, y_train = x[:16], y[:12]
+ x_train, y_train = x[:16], y[:16]
x_test, y_test = x[16:], y[16:]
net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
net.fit(x_train, y_train, verbose=0)
print(net.evaluate(x_test, y_test, verbose=0))

=== example: the labels of another part
import keras
import numpy as np


def train(net, x_train, y_train, x_val, y_val):
-     net.fit(x_train, y_val, verbose=0)
+     net.fit(x_train, y_train, verbose=0)
    return net.evaluate(x_val, y_val, verbose=0)


x, y = np.random.rand(20, 3), np.random.rand(20)
net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
train(net, x[:16], y[:16], x[16:], y[16:])

=== example: data of the validation
import keras
import numpy as np

features, prices = np.random.rand(20, 3), np.random.rand(20)
cut = 15
train_features, train_prices = features[:cut], prices[:cut]
test_features, test_prices = features[cut:], prices[cut:]
net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
- net.fit(train_features, train_prices, validation_data=(test_features, train_prices), verbose=0)
+ net.fit(train_features, train_prices, validation_data=(test_features, test_prices), verbose=0)

=== reject: an order of the names that predictions are read by
import keras
import numpy as np

names = ["dog", "cat", "cow"]
x, y = np.random.rand(12, 4), np.array(names)[np.arange(12) % 3]
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
net.compile("adam", "sparse_categorical_crossentropy")
net.fit(x, y, verbose=0)
print(names[net.predict(x[:1], verbose=0).argmax()])

=== reject: data in accepted forms
import keras
import numpy as np
from sklearn.metrics import accuracy_score

x, y = np.random.rand(20, 3), np.arange(20) % 3
net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3, activation="softmax")])
net.compile("adam", "sparse_categorical_crossentropy")
net.fit(x[:16], y[:16], validation_data=(x[16:], y[16:]), verbose=0)
print(accuracy_score(y, net.predict(x, verbose=0).argmax(axis=1)))
rows = [[1, 2, 3], [4, 5, 6]]
net.fit(np.array(rows), np.ones(2), verbose=0)

=== reject: sequences of one length, as objects
import keras
import numpy as np

rows = np.array([[1, 2, 3], [4, 5, 6]], dtype=object)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(rows, np.ones(2), verbose=0)

=== reject: prices as strings
import keras
import numpy as np

prices = np.array(["1.5", "2.5", "0.5", "3.0"])
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
net.fit(np.random.rand(4, 4), prices, verbose=0)

=== reject: the samples are strings
import keras
import numpy as np

net = keras.Sequential([keras.Input((1,)), keras.layers.Dense(2, activation="softmax")])
net.compile("adam", "sparse_categorical_crossentropy")
net.fit(np.array([["good"], ["bad"]]), np.array([0, 1]), verbose=0)

=== reject: rows that never reach a model
import keras
import numpy as np

table = np.array([[1, 2], [3]])
print(keras.__version__, table)

=== reject: two bounds that each go on
import keras
import numpy as np

x, y = np.random.rand(20, 3), np.random.rand(20)
x_train, x_test = x[:16], x[16:]
y_train, y_test = y[:12], y[12:]
net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
net.fit(x_train, y_train, verbose=0)

=== reject: arrays of other lengths
import keras
import numpy as np

x, y = np.random.rand(20, 3), np.random.rand(18)
net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
net.fit(x, y, verbose=0)
"""


def _calls(call: ast.Call, methods: frozenset[str]) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in methods


def _are_strings(failure: Failure[ast.Call], labels: ast.expr) -> bool:
    """Whether the run saw strings in the labels, and numbers in the inputs."""
    call, held = failure.crash.call, failure.held(labels)
    if held is not None and held.of == "str" and held.kind in ("list", "tuple"):
        return True
    if call is None or len(call.inputs) < 2 or call.inputs[1].site != failure.site(labels):
        return False
    inputs, targets = call.inputs[0].dtype or "", call.inputs[1]
    return (targets.dtype or "").startswith(("str", "<U")) and len(targets.shape or ()) == 1 and "str" not in inputs


def _form(source: Source) -> str | None:
    """What the one compiled loss expects: the `index` of a class, or a one-hot `row`."""
    compiled = [
        call
        for call in source.all_calls
        if compile_calls.is_compile(call) and source.qualified(call.func) != "re.compile"
    ]
    loss = argument_value(compiled[0], "loss", 1) if len(compiled) == 1 else None
    if loss is None:
        return None
    told = source.bindings(loss) if isinstance(loss, ast.Name) else (loss,)
    written = ast.unparse(told[0]).lower().replace("_", "") if len(told) == 1 else ""
    if "sparsecategoricalcrossentropy" in written or "binarycrossentropy" in written:
        return "index"
    return "row" if "categoricalcrossentropy" in written else None


def _root(source: Source, labels: ast.expr) -> ast.expr | None:
    """The array that the labels are parts of; `None` if it is not known."""
    for _ in range(4):
        before = _taken_from(source, labels)
        if before is None:
            return labels
        labels = before
    return None


def _taken_from(source: Source, labels: ast.expr) -> ast.expr | None:
    """The labels that these are a part of, by a slice or a split of sklearn."""
    if isinstance(labels, ast.Subscript) and isinstance(labels.slice, ast.Slice):
        return labels.value
    if not isinstance(labels, ast.Name):
        return None
    for statement in source.nodes(ast.Assign):
        target = statement.targets[0]
        if source.enclosing(statement, ast.FunctionDef) is not source.enclosing(labels, ast.FunctionDef):
            continue
        if isinstance(target, ast.Name) and target.id == labels.id:
            value = statement.value
            return value.value if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice) else None
        if isinstance(target, ast.Tuple):
            for place, one in enumerate(target.elts):
                if isinstance(one, ast.Name) and one.id == labels.id:
                    return _of_tuple(source, statement.value, place)
    return None


def _of_tuple(source: Source, value: ast.expr, place: int) -> ast.expr | None:
    if isinstance(value, ast.Tuple) and len(value.elts) > place:
        part = value.elts[place]
        return part.value if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Slice) else None
    if isinstance(value, ast.Call) and source.qualified(value.func) == SPLITTER and len(value.args) > place // 2:
        return value.args[place // 2]
    return None


def _one_root(source: Source, root: ast.expr) -> bool:
    """Whether all labels passed to models of the program come from the same array."""
    for call in source.all_calls:
        if not _calls(call, TEACHING):
            continue
        validation = keyword_value(call, "validation_data")
        given = [argument_value(call, "y", 1)]
        if isinstance(validation, ast.Tuple) and len(validation.elts) > 1:
            given.append(validation.elts[1])
        elif validation is not None:
            return False
        for one in given:
            behind = _root(source, one) if one is not None else root
            if behind is None or ast.unparse(behind) != ast.unparse(root):
                return False
    return True


def _uses(source: Source, root: ast.expr) -> list[ast.expr]:
    """Where the labels are split or passed to a model."""
    if not isinstance(root, ast.Name):
        return [root]
    uses: list[ast.expr] = []
    for node in source.nodes(ast.Name):
        if node.id != root.id or not isinstance(node.ctx, ast.Load) or node.lineno < root.lineno:
            continue
        parent = source.parent(node)
        sliced = isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Slice)
        handed = isinstance(parent, ast.Call) and any(node is one for one in _labels_of(source, parent))
        validated = isinstance(parent, ast.Tuple) and isinstance(source.parent(parent), ast.keyword)
        same = source.enclosing(node, ast.FunctionDef) is source.enclosing(root, ast.FunctionDef)
        if same and (sliced or handed or validated):
            uses.append(node)
    return uses


def _labels_of(source: Source, call: ast.Call) -> list[ast.expr]:
    if source.qualified(call.func) == SPLITTER:
        return list(call.args)
    labels = argument_value(call, "y", 1)
    return [labels] if labels is not None and _calls(call, TEACHING) else []


def _has_own_order(source: Source) -> bool:
    """Whether the program indexes a list of names that is not in alphabetical order."""
    for node in source.nodes(ast.Subscript):
        if isinstance(node.slice, ast.Slice):
            continue
        bound = source.bindings(node.value) if isinstance(node.value, (ast.Name, ast.Attribute)) else ()
        lists: list[ast.List | ast.Tuple] = []
        for one in bound:
            lists += [*within(one, ast.List), *within(one, ast.Tuple)]
        for listed in lists:
            told = [one.value for one in listed.elts if isinstance(one, ast.Constant)]
            names = [one for one in told if isinstance(one, str)]
            if len(names) > 1 and len(names) == len(listed.elts) == len(set(names)) and names != sorted(names):
                return True
    return False


def _where_given(failure: Failure[ast.Call], given: ast.expr) -> tuple[Edit, ...]:
    """Edits where the sequences are passed; empty if the model would truncate them."""
    subject = failure.subject
    nodes = tensor_axes.sibling_inputs(subject, given)
    rows = [held_values.row_lengths(subject, node) for node in nodes]
    longest = max(one[1] for one in rows if one is not None)
    length = _stated_length(failure)
    if length is not None and length < longest:
        return ()
    if length is None and len({ast.dump(node) for node in nodes}) > 1:
        length = longest
    spelling = spell(subject, "keras.utils.pad_sequences")
    more = _more(length, all(one is None or one[2] for one in rows))
    return (*data_edits.change_data(subject, nodes, f"{spelling.code}(", f"{more})", each=True), *spelling.imports)


def _stated_length(failure: Failure[ast.Call]) -> int | None:
    """The number of steps that the model was built for, if the run shows one."""
    call = failure.crash.call
    shape = tensor_axes.wanted_shape(failure.subject, call) if call is not None else None
    if shape is None:
        begun = [
            call.inputs[0].shape
            for call in failure.subject.network.calls
            if call.phase == "symbolic" and call.inputs and call.inputs[0].origin == "symbolic"
        ]
        shape = begun[0] if begun else None
    return shape[1] if shape is not None and len(shape) > 1 else None


def _where_made(subject: Subject, crashed: ast.Call) -> tuple[Edit, ...] | None:
    """Edits where arrays for a model are created from the sequences; `None` if they are not its inputs."""
    source = subject.source
    found: list[tuple[ast.Call, ast.expr, tuple[int, int, bool]]] = []
    for call in source.all_calls:
        given = (
            tensor_axes.first_argument(call) if source.qualified(call.func) in ARRAYS and len(call.args) == 1 else None
        )
        rows = held_values.row_lengths(subject, given) if given is not None else None
        if given is not None and rows is not None and rows[0] != rows[1] and _is_input(subject, call):
            found.append((call, given, rows))
    if not any(call is crashed for call, _, _ in found):
        return None
    longest = max(rows[1] for _, _, rows in found)
    spelling = spell(subject, "keras.utils.pad_sequences")
    edits: list[Edit] = []
    for call, given, rows in found:
        if any(keyword.arg != "dtype" for keyword in call.keywords):
            return None
        dtype = keyword_value(call, "dtype")
        more = _more(longest if len(found) > 1 else None, rows[2] or dtype is not None)
        more += f", dtype={subject.text(source.site(dtype))}" if dtype is not None else ""
        text = f"{spelling.code}({subject.text(source.site(given))}{more})"
        edits.append(Replace(source.site(call), text))
    return (*edits, *spelling.imports)


def _is_input(subject: Subject, made: ast.Call) -> bool:
    """Whether an array is passed to a model as its input, directly or through a name."""
    statement = subject.source.parent(made)
    if isinstance(statement, ast.Call):
        return _calls(statement, TAKE_DATA) and tensor_axes.first_argument(statement) is made
    if isinstance(statement, ast.Tuple):
        above = subject.source.parent(statement)
        return isinstance(above, ast.keyword) and above.arg == "validation_data" and statement.elts[0] is made
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Name):
        return False
    for call in subject.source.all_calls:
        first = tensor_axes.first_argument(call)
        if _calls(call, TAKE_DATA) and isinstance(first, ast.Name) and first.id == target.id:
            return True
    return False


def _more(length: int | None, whole: bool) -> str:
    return (f", maxlen={length}" if length is not None else "") + ("" if whole else ', dtype="float32"')


def _pairs(call: ast.Call) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The inputs and targets that a call has as arguments."""
    inputs, targets = argument_value(call, "x", 0), argument_value(call, "y", 1)
    if inputs is not None and targets is not None:
        yield inputs, targets
    validation = keyword_value(call, "validation_data")
    if isinstance(validation, ast.Tuple) and len(validation.elts) == 2:
        yield validation.elts[0], validation.elts[1]


def _count(failure: Failure[ast.Call], data: ast.expr) -> int | None:
    shape = held_values.shape_of(failure.subject, data)
    return shape[0] if shape else None


def _by_slices(failure: Failure[ast.Call], inputs: ast.expr, targets: ast.expr) -> tuple[ast.expr, str] | None:
    """The bound that differs, and its replacement."""
    source = failure.source
    first, second = _slice(source, inputs), _slice(source, targets)
    if first is None or second is None:
        return None
    whole = (_count(failure, first.value), _count(failure, second.value))
    bounds = list(zip(_bounds(first), _bounds(second), strict=True))
    unlike = [(a, b) for a, b in bounds if _code(a) != _code(b)]
    if whole[0] != whole[1] or len(unlike) != 1:  # two unknown counts are equal
        return None
    one, other = unlike[0]
    if one is None or other is None:
        return None
    of = {ast.unparse(first.value), ast.unparse(second.value)}
    rest = [
        _code(bound)
        for node in source.nodes(ast.Subscript)
        if node not in (first, second) and isinstance(node.slice, ast.Slice) and ast.unparse(node.value) in of
        for bound in _bounds(node)[:2]
    ]
    goes_on = [_code(each) in rest for each in (one, other)]
    if goes_on == [True, False]:
        return other, _code(one)
    return (one, _code(other)) if goes_on == [False, True] else None


def _bounds(part: ast.Subscript) -> tuple[ast.expr | None, ...]:
    bounds = cast(ast.Slice, part.slice)
    return bounds.lower, bounds.upper, bounds.step


def _code(bound: ast.expr | None) -> str:
    return ast.unparse(bound) if bound is not None else ""


def _slice(source: Source, data: ast.expr) -> ast.Subscript | None:
    """The slice of a variable that the data is bound to."""
    for _ in range(2):
        if isinstance(data, ast.Subscript):
            plain = isinstance(data.slice, ast.Slice) and isinstance(data.value, ast.Name)
            return data if plain else None
        bound = _bound(source, data)
        if bound is None:
            return None
        data = bound
    return None


def _bound(source: Source, data: ast.expr) -> ast.expr | None:
    """The value of a name that is assigned once, alone or in a tuple."""
    if not isinstance(data, ast.Name):
        return None
    found: list[ast.expr] = []
    for node in source.nodes(ast.Assign):
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name) and target.id == data.id:
            found.append(value)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = zip(target.elts, value.elts, strict=True)
            found += [given for one, given in pairs if isinstance(one, ast.Name) and one.id == data.id]
    return found[0] if len(found) == 1 else None


def _by_names(
    failure: Failure[ast.Call], inputs: ast.expr, targets: ast.expr, sizes: tuple[int, int]
) -> tuple[ast.expr, str] | None:
    """The name of the wrong part, and its replacement."""
    if not isinstance(inputs, ast.Name) or not isinstance(targets, ast.Name):
        return None
    first, second = _part(inputs.id), _part(targets.id)
    if first is None or second is None or first.lower() == second.lower():
        return None
    of_fit = _calls(failure.node, frozenset({"fit"})) and inputs is argument_value(failure.node, "x", 0)
    kept = [bool(TRAINING.fullmatch(part)) is of_fit for part in (first, second)]
    if kept == [True, False]:
        wrong, part, size = targets, first, sizes[0]
    elif kept == [False, True]:
        wrong, part, size = inputs, second, sizes[1]
    else:
        return None
    name = _of_part(wrong.id, part)
    description = failure.crash.frames[-1].names.get(name)
    shape = description.get("shape") if isinstance(description, dict) else None
    return (wrong, name) if isinstance(shape, list) and shape[:1] == [size] else None


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"(_)|(?<=[a-z])(?=[A-Z])", name) if word]


def _part(name: str) -> str | None:
    found = [word for word in _words(name) if SPLIT.fullmatch(word)]
    return found[0] if len(found) == 1 else None


def _of_part(name: str, part: str) -> str:
    """The name with another word for its part, in the same capitalization."""
    changed = [
        (part.capitalize() if word[0].isupper() else part.lower()) if SPLIT.fullmatch(word) else word
        for word in _words(name)
    ]
    return "".join(changed)
