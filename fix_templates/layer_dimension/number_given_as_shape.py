"""A Keras model is told the shape of its input as a number, where a tuple is taken."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Example,
    Family,
    Fault,
    FixPattern,
    Reject,
    Replace,
    SetArgument,
    Subject,
    size_of,
    within,
)

REFUSED = re.compile(r"Cannot convert '(\d+)' to a shape")
"""Keras 3; older releases complain that a number cannot be gone through."""
OLDER = "'int' object is not iterable"

SHAPES = frozenset({"shape", "input_shape", "batch_shape"})


class NumberGivenAsShape(CrashTemplate):
    """A Keras model is told the shape of its input as a number, where a tuple is taken.

    `Input(shape=10)` and `Dense(8, input_shape=(10))` give a number: brackets alone make no tuple, the comma does. The
    shape of a sample with one axis is `(10,)`.

    Fix safety: unsafe. The line could not run before.

    References: keras.Input (`shape`: "a shape tuple").
    """

    code = "DNF244"
    name = "number-given-as-shape"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"ValueError", "TypeError"})
    confidence = 0.95

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        said = REFUSED.search(crash.message)
        node = subject.node(crash.site)
        if said is None and OLDER not in crash.message or node is None:
            return
        wanted = int(said[1]) if said is not None else None
        stated = list(_stated(subject, subject.source.statement_of(node), wanted))
        if not stated:
            stated = list(_stated(subject, subject.source.tree, wanted)) if said is not None else []
        if len(stated) != 1:
            return
        value = stated[0]
        site = subject.source.site(value)
        edit: Edit = Replace(site, f"({subject.text(site)},)")
        above = subject.source.parent(value)
        call = subject.source.parent(above) if isinstance(above, ast.keyword) else None
        if isinstance(above, ast.keyword) and above.arg and call is not None:  # with the brackets that it may have
            edit = SetArgument(subject.source.site(call), above.arg, f"({subject.text(site)},)")
        what = f"{ast.unparse(value)} is a number; the shape of an input is a tuple, also where it has one axis"
        yield Fault(site, what, (("Make a tuple of it", (edit,), 0.95),))

    examples = (
        Example(
            "brackets without a comma",
            """\
import keras
import numpy as np

x = np.random.rand(8, 5)
- given = keras.Input(shape=(x.shape[1]))
+ given = keras.Input(shape=(x.shape[1],))
model = keras.Model(given, keras.layers.Dense(1)(given))
model.compile("sgd", "mse")
model.fit(x, x.sum(axis=1), verbose=0)
""",
            runs=True,
        ),
        Example(
            "a parameter of a function",
            """\
import numpy as np
from keras import layers, models


def network(width):
-     return models.Sequential([layers.Input(width), layers.Dense(2, activation="relu"), layers.Dense(1)])
+     return models.Sequential([layers.Input((width,)), layers.Dense(2, activation="relu"), layers.Dense(1)])


net = network(4)
net.compile(optimizer="sgd", loss="mse")
net.fit(np.ones((6, 4)), np.ones((6, 1)), verbose=0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "tuples",
            """\
import keras
import numpy as np

model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
print(model.predict(np.ones((2, 3)), verbose=0))
""",
            runs=True,
        ),
        Reject(
            "a loop over a number",
            """\
import keras

sizes = 4
given = keras.Input((3,))
for size in sizes:
    given = keras.layers.Dense(size)(given)
""",
            runs=True,
        ),
    )


def _stated(subject: Subject, where: ast.AST, wanted: int | None) -> Iterator[ast.expr]:
    """The shapes within a statement that are the number which was refused."""
    for call in within(where, ast.Call):
        named = (subject.source.qualified(call.func) or "").startswith("keras.")
        last = (subject.source.qualified(call.func) or "").rpartition(".")[2]
        given = [keyword.value for keyword in call.keywords if keyword.arg in SHAPES]
        if last == "Input" and call.args:
            given.append(call.args[0])
        for value in given if named else ():
            number = size_of(subject, value)
            if number is not None and wanted in (None, number):
                yield value
