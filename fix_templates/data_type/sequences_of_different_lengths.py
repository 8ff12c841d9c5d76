"""Sequences of different lengths are given to a Keras model, which takes one array."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Decline,
    Edit,
    Example,
    FixPattern,
    Mend,
    Reject,
    Repairs,
    Replace,
    Subject,
    change_data,
    first_argument,
    keyword_value,
    row_lengths,
    sibling_inputs,
    spell,
    wanted_shape,
)

METHODS = frozenset({"fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch"})
ARRAYS = frozenset({"numpy.array", "numpy.asarray"})
UNEVEN = ("inhomogeneous", "setting an array element with a sequence")
"""NumPy's words for rows of different lengths, in newer and in older releases."""


class SequencesOfDifferentLengths(CrashTemplate):
    """Sequences of different lengths are given to a Keras model, which takes one array.

    A list of sequences, or an array of objects that holds them, is no array of numbers: the rows have to be filled up to
    one length. That is the one which the model states, or else that of the longest sequence. Where the model states a
    smaller one nothing is proposed, since the ends of sequences would be cut off.

    Fix safety: unsafe. Zeros are put before the shorter sequences.

    References: keras.utils.pad_sequences.
    """

    code = "DNF639"
    name = "sequences-of-different-lengths"
    fix_pattern = FixPattern.DATA_TYPE
    kinds = frozenset({"ValueError", "TypeError"})
    confidence = 0.95
    declined = "the model states a smaller length than the longest sequence has"

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site)
        if not isinstance(node, ast.Call) or not {"keras", "tensorflow"} & subject.source.frameworks:
            return
        given = first_argument(node)
        rows = row_lengths(subject, given) if given is not None else None
        if given is None or rows is None or rows[0] == rows[1]:
            return
        edits: tuple[Edit, ...] | None = None
        if subject.source.qualified(node.func) in ARRAYS and any(said in crash.message for said in UNEVEN):
            edits = _where_made(subject, node)
        elif _gives_data(node):
            edits = _where_given(subject, crash, given)
        if edits is None:
            return
        what = f"the sequences have between {rows[0]} and {rows[1]} elements, and a network takes one length"
        repairs = (("Fill the sequences up to one length", edits, 0.9),) if edits else ()
        yield Mend(subject.source.site(given), what, repairs)

    def repairs(self, subject: Subject, fault: Mend) -> Repairs:
        if not fault.repairs:
            yield Decline(self.declined)
        yield from fault.repairs

    examples = (
        Example(
            "an array of objects",
            """\
import keras
import numpy as np

rows = [[1, 2, 3], [4, 5], [6], [7, 8, 9]]
x, y = np.array(rows, dtype=object), np.array([0, 1, 1, 0])
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
- model.fit(x, y, verbose=0)
+ model.fit(keras.utils.pad_sequences(x, maxlen=3), y, verbose=0)
""",
            runs=True,
        ),
        Example(
            "lists of words",
            """\
import numpy as np
from keras import Sequential, layers
+ import keras

texts = [[1, 4, 2], [3, 3], [5], [2, 2, 1, 4]]
net = Sequential([layers.Embedding(6, 3), layers.LSTM(2), layers.Dense(1)])
net.compile(optimizer="sgd", loss="mse")
- net.fit(texts, np.ones(4), verbose=0)
+ net.fit(keras.utils.pad_sequences(texts), np.ones(4), verbose=0)
""",
            runs=True,
        ),
        Example(
            "arrays that cannot be made",
            """\
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
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "sequences of one length",
            """\
import keras
import numpy as np

rows = [[1, 2, 3], [4, 5, 6]]
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.array(rows), np.ones(2), verbose=0)
""",
            runs=True,
        ),
        Reject(
            "sequences of one length, as objects",
            """\
import keras
import numpy as np

rows = np.array([[1, 2, 3], [4, 5, 6]], dtype=object)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(rows, np.ones(2), verbose=0)
""",
            runs=True,
        ),
        Reject(
            "rows that never reach a model",
            """\
import keras
import numpy as np

table = np.array([[1, 2], [3]])
print(keras.__version__, table)
""",
            runs=True,
        ),
    )


def _where_given(subject: Subject, crash: Crash, given: ast.expr) -> tuple[Edit, ...]:
    """The edits where the sequences are handed over; none where the model would cut them."""
    nodes = sibling_inputs(subject, given)
    rows = [row_lengths(subject, node) for node in nodes]
    longest = max(one[1] for one in rows if one is not None)
    length = _stated_length(subject, crash)
    if length is not None and length < longest:
        return ()
    if length is None and len({ast.dump(node) for node in nodes}) > 1:
        length = longest
    spelling = spell(subject, "keras.utils.pad_sequences")
    more = _more(length, all(one is None or one[2] for one in rows))
    return (*change_data(subject, nodes, f"{spelling.code}(", f"{more})", each=True), *spelling.imports)


def _stated_length(subject: Subject, crash: Crash) -> int | None:
    """The number of steps that the model was built for, where the run shows one."""
    shape = wanted_shape(subject, crash.call) if crash.call is not None else None
    if shape is None:
        begun = [
            call.inputs[0].shape
            for call in subject.network.calls
            if call.phase == "symbolic" and call.inputs and call.inputs[0].origin == "symbolic"
        ]
        shape = begun[0] if begun else None
    return shape[1] if shape is not None and len(shape) > 1 else None


def _where_made(subject: Subject, crashed: ast.Call) -> tuple[Edit, ...] | None:
    """The edits where arrays are made of the sequences that a model gets; `None` where it gets something else."""
    source = subject.source
    found: list[tuple[ast.Call, ast.expr, tuple[int, int, bool]]] = []
    for call in source.all_calls:
        given = first_argument(call) if source.qualified(call.func) in ARRAYS and len(call.args) == 1 else None
        rows = row_lengths(subject, given) if given is not None else None
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
    """Whether an array is handed to a model as its input: where it is made, or by the name that it gets."""
    statement = subject.source.parent(made)
    if isinstance(statement, ast.Call):
        return _gives_data(statement) and first_argument(statement) is made
    if isinstance(statement, ast.Tuple):
        above = subject.source.parent(statement)
        return isinstance(above, ast.keyword) and above.arg == "validation_data" and statement.elts[0] is made
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Name):
        return False
    for call in subject.source.all_calls:
        first = first_argument(call)
        if _gives_data(call) and isinstance(first, ast.Name) and first.id == target.id:
            return True
    return False


def _gives_data(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in METHODS


def _more(length: int | None, whole: bool) -> str:
    return (f", maxlen={length}" if length is not None else "") + ("" if whole else ', dtype="float32"')
