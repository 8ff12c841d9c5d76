"""`model = model.compile(…)`, `model = model.fit(…)`: the result of training takes the name of the model."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import cast

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Example,
    Family,
    FixPattern,
    Mend,
    Reject,
    Replace,
    Source,
    Subject,
    origins,
    words,
)

LACKS = re.compile(r"'(NoneType|History)' object has no attribute '(\w+)'")

WITHOUT_RESULT = frozenset({"compile", "summary", "build", "load_weights", "save_weights", "save"})
"""Methods of a Keras model that return nothing."""

OF_MODELS = words(
    """add build compile evaluate fit get_layer get_weights layers load_weights predict predict_on_batch save save_weights
    set_weights summary test_on_batch train_on_batch trainable_weights weights"""
)
"""What a program asks of a Keras model."""


class ModelLostToResult(CrashTemplate):
    """`model = model.compile(…)`, `model = model.fit(…)`: the result of training takes the name of the model.

    `compile` and `summary` return nothing and `fit` returns the history: the name that held the model holds that
    afterwards, and the next method of a model is asked of it in vain. A call that returns nothing stands alone; the
    history gets a name of its own. Where it has one, and is asked for what the model has (`history.predict`), the model
    is asked.

    Fix safety: unsafe. The program could not run before.

    References: keras.Model.compile, keras.Model.fit ("Returns: a `History` object").
    """

    code = "DNF724"
    name = "model-lost-to-result"
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"AttributeError"})
    confidence = 0.9

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site)
        said = LACKS.search(crash.message)
        asked = node.func if isinstance(node, ast.Call) else node
        if said is None or not isinstance(asked, ast.Attribute) or said[2] != asked.attr or said[2] not in OF_MODELS:
            return
        source = subject.source
        wanted = WITHOUT_RESULT if said[1] == "NoneType" else frozenset({"fit"})
        found = _overwritten(subject, asked.value, wanted)
        if found is not None:
            statement, call = found
            name = ast.unparse(statement.targets[0])
            repair = _apart(source, statement, call)
            if repair is not None:
                what = f"{name} holds what {ast.unparse(call.func)} returns, and no model any more"
                yield Mend(source.site(statement), what, (repair,))
        elif said[1] == "History" and isinstance(asked.value, ast.Name):
            yield from _of_the_model(subject, asked.value)

    examples = (
        Example(
            "compiled",
            """\
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
- net = net.compile("adam", "mse")
+ net.compile("adam", "mse")
net.fit(np.ones((8, 4)), np.ones(8), verbose=0)
""",
            runs=True,
        ),
        Example(
            "trained, in a function",
            """\
import keras
import numpy as np


def train(x, y):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
-     model = model.fit(x, y, verbose=0)
+     history = model.fit(x, y, verbose=0)
    return model


trained = train(np.ones((8, 4)), np.ones(8))
print(trained.predict(np.ones((2, 4)), verbose=0))
""",
            runs=True,
        ),
        Example(
            "the history is asked",
            """\
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
past = net.fit(np.ones((8, 4)), np.ones(8), verbose=0)
print(past.history["loss"])
- print(past.evaluate(np.ones((2, 4)), np.ones(2), verbose=0))
+ print(net.evaluate(np.ones((2, 4)), np.ones(2), verbose=0))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a function that returns no model",
            """\
import keras


def build():
    net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    net.compile("adam", "mse")


net = build()
net.summary()
""",
            runs=True,
        ),
        Reject(
            "a history with a name of its own",
            """\
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
past = net.fit(np.ones((8, 4)), np.ones(8), verbose=0)
print(past.history["loss"], net.predict(np.ones((2, 4)), verbose=0).shape)
""",
            runs=True,
        ),
    )


def _overwritten(subject: Subject, model: ast.expr, methods: frozenset[str]) -> tuple[ast.Assign, ast.Call] | None:
    """The one statement that gives the name of a model what one of the methods of this model returns."""
    source = subject.source
    behind = list(origins(subject, model))
    behind += [returned for call in behind if isinstance(call, ast.Call) for returned in _returned(subject, call)]
    found: list[tuple[ast.Assign, ast.Call]] = []
    for call in behind:
        statement = source.parent(call)
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in methods:
            continue
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or statement.value is not call:
            continue
        same = ast.unparse(statement.targets[0]) == ast.unparse(call.func.value)
        if same and all(each[0] is not statement for each in found):
            found.append((statement, call))
    return found[0] if len(found) == 1 else None


def _returned(subject: Subject, call: ast.Call) -> Iterator[ast.expr]:
    """What may come out of a call of a function of the program."""
    functions = [one for one in subject.source.nodes(ast.FunctionDef) if ast.unparse(call.func) == one.name]
    if len(functions) != 1:
        return
    for node in subject.source.nodes(ast.Return):
        if node.value is not None and subject.source.enclosing(node, ast.FunctionDef) is functions[0]:
            yield from origins(subject, node.value)


def _apart(source: Source, statement: ast.Assign, call: ast.Call) -> tuple[str, tuple[Edit, ...], float] | None:
    """The repair that leaves the name to the model."""
    if cast(ast.Attribute, call.func).attr != "fit":
        code = source.segment(source.site(call))
        return "Leave the name to the model", (Replace(source.site(statement), code),), 0.95
    name = next((one for one in ("history", "fit_history", "training_history") if one not in source.words), None)
    if name is None:
        return None
    return f"Name the history {name}", (Replace(source.site(statement.targets[0]), name),), 0.9


def _of_the_model(subject: Subject, history: ast.Name) -> Iterator[Mend]:
    """The repair of a history that is asked for what the model has that was trained."""
    source = subject.source
    bound = source.bindings(history)
    call = bound[0] if len(bound) == 1 else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "fit":
        return
    model = call.func.value
    own = source.enclosing(call, ast.FunctionDef) is source.enclosing(history, ast.FunctionDef)
    if isinstance(model, (ast.Name, ast.Attribute)) and own:
        code = ast.unparse(model)
        site = source.site(history)
        what = f"{history.id} is the history of {code}, which has no methods of a model"
        yield Mend(site, what, ((f"Ask {code}", (Replace(site, code),), 0.9),))
