"""`callbacks=[EarlyStopping]`, `compile(Adam, …)`: a class is handed over where an object of it is taken."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Example,
    FixPattern,
    Mend,
    Reject,
    Source,
    Subject,
    Wrap,
    argument_value,
    is_compile,
    keyword_value,
    words,
)

OPTIMIZER = re.compile(r"Could not interpret optimizer identifier: <class '(?:tf_)?keras\.")

CALLBACK = re.compile(r"Callback\.set_\w+\(\) missing 1 required positional argument")

ALONE = words("EarlyStopping ReduceLROnPlateau TerminateOnNaN ProgbarLogger History BackupAndRestore TensorBoard")
"""Callbacks that can be made without being told anything, and do their work then."""


class ClassWhereObjectIsTaken(CrashTemplate):
    """`callbacks=[EarlyStopping]`, `compile(Adam, …)`: a class is handed over where an object of it is taken.

    `fit` calls the methods of the callbacks that it is given, and `compile` takes an optimizer that has its settings.
    Of a class neither is there. An object with the settings of the class is made on the spot, where the class needs
    none that only the program can know.

    Fix safety: unsafe. The program could not run before.

    References: keras.Model.fit (`callbacks`), keras.optimizers.get.
    """

    code = "DNF634"
    name = "class-where-object-is-taken"
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"TypeError", "ValueError", "AttributeError"})
    confidence = 0.9

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site)
        source = subject.source
        if not isinstance(node, ast.Call):
            return
        classes: list[ast.expr] = []
        if OPTIMIZER.search(crash.message) and is_compile(node):
            optimizer = argument_value(node, "optimizer", 0)
            classes = [one for one in _written(source, optimizer) if _is_optimizer(source, one)]
        elif CALLBACK.search(crash.message):
            given = [each for one in _listed(keyword_value(node, "callbacks")) for each in _written(source, one)]
            lists = [each for one in given for each in _listed(one)]
            classes = [one for one in lists if _is_callback(source, one)]
        if not classes:
            return
        edits: tuple[Edit, ...] = tuple(Wrap(source.site(one), "", "()") for one in classes)
        names = ", ".join(ast.unparse(one) for one in classes)
        what = f"{names} is a class, where an object of it is taken"
        yield Mend(source.site(classes[0]), what, (("Make an object of the class", edits, 0.9),))

    examples = (
        Example(
            "a callback",
            """\
import keras
import numpy as np
from keras.callbacks import EarlyStopping

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
- net.fit(np.ones((8, 4)), np.ones(8), validation_split=0.25, callbacks=[EarlyStopping], verbose=0)
+ net.fit(np.ones((8, 4)), np.ones(8), validation_split=0.25, callbacks=[EarlyStopping()], verbose=0)
""",
            runs=True,
        ),
        Example(
            "an optimizer",
            """\
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
- net.compile(loss="mse", optimizer=keras.optimizers.Adam)
+ net.compile(loss="mse", optimizer=keras.optimizers.Adam())
net.fit(np.ones((8, 4)), np.ones(8), verbose=0)
""",
            runs=True,
        ),
        Example(
            "a callback of the program beside others",
            """\
import keras
import numpy as np


class Shout(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(epoch, logs["loss"])


def train(net, x, y):
-     watchers = [keras.callbacks.TerminateOnNaN(), Shout]
+     watchers = [keras.callbacks.TerminateOnNaN(), Shout()]
    net.fit(x, y, callbacks=watchers, verbose=0)


net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("sgd", "mse")
train(net, np.ones((8, 4)), np.ones(8))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a callback that has to be told a file",
            """\
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
net.fit(np.ones((8, 4)), np.ones(8), callbacks=[keras.callbacks.ModelCheckpoint], verbose=0)
""",
            runs=True,
        ),
        Reject(
            "objects",
            """\
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile(keras.optimizers.SGD(), keras.losses.MeanSquaredError)
net.fit(np.ones((8, 4)), np.ones(8), callbacks=keras.callbacks.TerminateOnNaN(), verbose=0)
""",
            runs=True,
        ),
    )


def _listed(given: ast.expr | None) -> list[ast.expr]:
    if given is None:
        return []
    return list(given.elts) if isinstance(given, (ast.List, ast.Tuple)) else [given]


def _written(source: Source, given: ast.expr | None) -> list[ast.expr]:
    """What a name was given, where it has one value; else the expression itself."""
    if given is None:
        return []
    bound = source.bindings(given) if isinstance(given, ast.Name) else ()
    return [bound[0]] if len(bound) == 1 else [given]


def _is_optimizer(source: Source, node: ast.expr) -> bool:
    named = source.qualified(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
    return named is not None and ".optimizers." in named and named.rpartition(".")[2][:1].isupper()


def _is_callback(source: Source, node: ast.expr) -> bool:
    """Whether it is a class of callbacks whose objects can be made without arguments."""
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return False
    named = source.qualified(node) or ""
    if ".callbacks." in named:
        return named.rpartition(".")[2] in ALONE
    own = [one for one in source.nodes(ast.ClassDef) if isinstance(node, ast.Name) and one.name == node.id]
    return len(own) == 1 and not any(isinstance(one, ast.FunctionDef) and one.name == "__init__" for one in own[0].body)
