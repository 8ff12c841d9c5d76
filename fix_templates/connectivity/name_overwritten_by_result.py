"""A name is overwritten with its own result and needed again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import cast

from dnnfix.api import (
    Crash,
    Edit,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Replace,
    Source,
    Subject,
    Symptom,
    keyword_value,
    network_facts,
    origins,
    within,
    words,
)

_LOOPS = (ast.For, ast.While)

LACKS = re.compile(r"'(NoneType|History)' object has no attribute '(\w+)'")

WITHOUT_RESULT = frozenset({"compile", "summary", "build", "load_weights", "save_weights", "save"})
"""Methods of a Keras model that return nothing."""

OF_MODELS = words(
    """add build compile evaluate fit get_layer get_weights layers load_weights predict predict_on_batch save save_weights
    set_weights summary test_on_batch train_on_batch trainable_weights weights"""
)
"""Attributes of a Keras model."""


class NameOverwrittenByResult(ReadTemplate):
    """A name is overwritten with a result computed from it, and its old value is needed again.

    `loss = sess.run(loss)` and `loss = loss(output, target)` in a loop work once. In the next iteration the name is
    bound to a number, which can be neither fetched nor called.

    `compile` and `summary` return `None` and `fit` returns the history: after `model = model.compile(…)` or `model =
    model.fit(…)` the next method of the model does not exist. A call that returns `None` becomes a statement; the
    history gets a name of its own. Where `history.predict` is called, it is called on the model instead.

    Fix safety: unsafe. The result gets a name of its own, and later reads use that name.

    References: tf.compat.v1.Session.run ("fetches"); keras.Model.compile, keras.Model.fit ("Returns: a `History`
    object"); the scoping of names in Python.
    """

    code = "DNF421"
    name = "name-overwritten-by-result"
    formerly = ("DNF724", "model-lost-to-result")
    message = "a name is overwritten that is still needed: {what}"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.API_CONTRACT
    symptom = Symptom.CRASH
    confidence = 0.95
    declined = "the name is assigned in several statements, and which value each needs is not known"

    def read(self, subject: Subject) -> Iterator[Fault]:
        crash = subject.crash
        if not subject.ran or crash is not None:
            yield from _in_loops(subject)
        if crash is not None and crash.kind == "AttributeError" and crash.site is not None and not crash.site.path:
            yield from _of_models(subject, crash)

    programs = """
=== example: a loss that is fetched
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 2])
y = tf.placeholder(tf.float32, [None, 1])
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - y))
train = tf.train.AdamOptimizer().minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(100):
-         _, loss = sess.run([train, loss], feed_dict={x: [[0, 1]], y: [[1]]})
-         print(step, loss)
+         _, loss_value = sess.run([train, loss], feed_dict={x: [[0, 1]], y: [[1]]})
+         print(step, loss_value)

=== example (runs): a loss that is called
import torch
from torch import nn, optim

def train(net, batches):
    loss = nn.MSELoss()
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    for x, y in batches:
-         loss = loss(net(x), y)
+         loss_value = loss(net(x), y)
        optimizer.zero_grad()
-         loss.backward()
+         loss_value.backward()
        optimizer.step()
-     return loss.item()
+     return loss_value.item()

train(nn.Linear(2, 1), [(torch.randn(4, 2), torch.randn(4, 1))] * 3)

=== example: an accuracy, evaluated
import tensorflow as tf

def watch(sess, accuracy, feeds):
    for feed in feeds:
-         accuracy = accuracy.eval(feed, session=sess)
-         print("accuracy", accuracy)
+         accuracy_value = accuracy.eval(feed, session=sess)
+         print("accuracy", accuracy_value)

=== example (runs): compiled
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
- net = net.compile("adam", "mse")
+ net.compile("adam", "mse")
net.fit(np.ones((8, 4)), np.ones(8), verbose=0)

=== example (runs): trained, in a function
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

=== example (runs): a method of the model called on the history
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
past = net.fit(np.ones((8, 4)), np.ones(8), verbose=0)
print(past.history["loss"])
- print(past.evaluate(np.ones((2, 4)), np.ones(2), verbose=0))
+ print(net.evaluate(np.ones((2, 4)), np.ones(2), verbose=0))

=== reject: a loss created in every iteration, and a layer whose input has another name
import torch
from torch import nn

layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
x = torch.randn(3, 2)
for layer in layers:
    x = layer(x)
    loss = nn.MSELoss()
    loss = loss(x, torch.zeros(3, 2))

=== reject: a graph that is built in every round
import tensorflow as tf

def losses(sess, build, rounds):
    for number in range(rounds):
        loss = build(number)
        loss = sess.run(loss)
        print(loss)

=== reject: a state that goes through the loop
def roll(cell, state, inputs):
    for x in inputs:
        output, state = cell(x, state)
    return state

=== reject (runs): a function that returns no model
import keras


def build():
    net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    net.compile("adam", "mse")


net = build()
net.summary()

=== reject (runs): a history with a name of its own
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
past = net.fit(np.ones((8, 4)), np.ones(8), verbose=0)
print(past.history["loss"], net.predict(np.ones((2, 4)), verbose=0).shape)
"""


def _in_loops(subject: Subject) -> Iterator[Fault]:
    """Names that a loop overwrites with a number computed from them."""
    source = subject.source
    loops: list[ast.For | ast.While] = [*source.nodes(ast.For), *source.nodes(ast.While)]
    for loop in loops:
        for statement in within(loop, ast.Assign):
            if source.enclosing(statement, *_LOOPS) is not loop or _leaves(source, statement, loop):
                continue
            for target in _targets(statement):
                fetched = _is_fetched(source, statement.value, target.id)
                if (fetched or _is_called(source, statement.value, target.id)) and _needed(source, target, loop):
                    new = _free(source, target.id)
                    what = (
                        f"`{target.id}` is overwritten with its own result, and the next iteration needs its old value"
                    )
                    title = f"Rename the result to `{new}`"
                    edits = _renamed(source, statement, target, new, fetched)
                    yield Fault(source.site(statement), what, ((title, edits, 0.9),))


def _renamed(
    source: Source, statement: ast.Assign, target: ast.Name, new: str, fetched: bool
) -> tuple[Edit, ...] | None:
    """Edits that rename a result where it is assigned and read; `None` if the name is assigned again later."""
    function = source.enclosing(statement, ast.FunctionDef)
    edits: list[Edit] = [Replace(source.site(target), new)]
    for read in within(function or source.tree, ast.Name):
        if read.id != target.id or read.lineno <= (statement.end_lineno or 0):
            continue
        if not isinstance(read.ctx, ast.Load):
            return None
        if source.enclosing(read, ast.FunctionDef, ast.Lambda) is not function:
            continue
        if not (_in_fetches(source, read) if fetched else source.is_called(read)):
            edits.append(Replace(source.site(read), new))
    return tuple(edits)


def _targets(statement: ast.Assign) -> Iterator[ast.Name]:
    for target in statement.targets:
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        yield from (part for part in parts if isinstance(part, ast.Name))


def _is_fetched(source: Source, value: ast.expr, name: str) -> bool:
    """Whether a session evaluates the tensor of that name: `sess.run(name)`, `sess.run([…, name])`, `name.eval()`."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    if "tensorflow" not in source.frameworks:
        return False
    if value.func.attr == "eval":
        return isinstance(value.func.value, ast.Name) and value.func.value.id == name
    fetches = _fetches(value)
    if value.func.attr != "run" or fetches is None:
        return False
    parts = fetches.elts if isinstance(fetches, (ast.List, ast.Tuple)) else [fetches]
    return any(isinstance(part, ast.Name) and part.id == name for part in parts)


def _fetches(call: ast.Call) -> ast.expr | None:
    given = keyword_value(call, "fetches")
    return given or (call.args[0] if call.args else None)


def _is_called(source: Source, value: ast.expr, name: str) -> bool:
    """Whether the value is a call of the name, which is bound to a loss, a metric or a layer."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name) or value.func.id != name:
        return False
    made = [v for v in source.bindings(value.func) if v is not value]
    kinds = {
        network_facts.component_kind(source.qualified(v.func) or "") if isinstance(v, ast.Call) else None for v in made
    }
    return bool(made) and kinds <= {"loss", "layer", "metric"}


def _needed(source: Source, target: ast.Name, loop: ast.For | ast.While) -> bool:
    """Whether nothing else in the loop assigns the name again."""
    stores = [n for n in within(loop, ast.Name) if n.id == target.id and not isinstance(n.ctx, ast.Load)]
    outer = source.enclosing(loop, *_LOOPS)
    while outer is not None:
        stores += [n for n in within(outer, ast.Name) if n.id == target.id and isinstance(n.ctx, ast.Store)]
        outer = source.enclosing(outer, *_LOOPS)
    return all(store is target for store in stores)


def _leaves(source: Source, statement: ast.stmt, loop: ast.AST) -> bool:
    """Whether the loop ends after the statement: then there is no next iteration."""
    above: ast.AST | None = statement
    while above is not None and above is not loop:
        above = source.parent(above)
        ends = getattr(above, "body", [])[-1:] if above is not None else []
        if ends and isinstance(ends[0], (ast.Break, ast.Return, ast.Raise)):
            return True
    return False


def _in_fetches(source: Source, read: ast.Name) -> bool:
    """Whether a read of the name means the tensor, which is fetched again."""
    above = source.parent(read)
    if isinstance(above, ast.Attribute) and above.attr == "eval":
        return True
    call = source.parent(above) if isinstance(above, (ast.List, ast.Tuple)) else above
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "run":
        return False
    return _fetches(call) in (read, above)


def _free(source: Source, name: str) -> str:
    number, new = 2, f"{name}_value"
    while new in source.words:
        new, number = f"{name}_value{number}", number + 1
    return new


def _of_models(subject: Subject, crash: Crash) -> Iterator[Fault]:
    """Names that held a Keras model and are used as one after being overwritten."""
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
            what = f"{name} holds the result of {ast.unparse(call.func)}, no longer the model"
            yield Fault(source.site(statement), what, (repair,), confidence=0.9)
    elif said[1] == "History" and isinstance(asked.value, ast.Name):
        yield from _of_the_model(subject, asked.value)


def _overwritten(subject: Subject, model: ast.expr, methods: frozenset[str]) -> tuple[ast.Assign, ast.Call] | None:
    """The one statement that assigns the result of one of these methods to the model's own name."""
    source = subject.source
    behind = list(origins.origins(subject, model))
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
    """What a call of a function of the program may return."""
    functions = [one for one in subject.source.nodes(ast.FunctionDef) if ast.unparse(call.func) == one.name]
    if len(functions) != 1:
        return
    for node in subject.source.nodes(ast.Return):
        if node.value is not None and subject.source.enclosing(node, ast.FunctionDef) is functions[0]:
            yield from origins.origins(subject, node.value)


def _apart(source: Source, statement: ast.Assign, call: ast.Call) -> tuple[str, tuple[Edit, ...], float] | None:
    """The repair that keeps the name for the model."""
    if cast(ast.Attribute, call.func).attr != "fit":
        code = source.segment(source.site(call))
        return "Keep the name for the model", (Replace(source.site(statement), code),), 0.95
    name = next((one for one in ("history", "fit_history", "training_history") if one not in source.words), None)
    if name is None:
        return None
    return f"Name the history {name}", (Replace(source.site(statement.targets[0]), name),), 0.9


def _of_the_model(subject: Subject, history: ast.Name) -> Iterator[Fault]:
    """The repair of a model method that is called on the history."""
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
        what = f"{history.id} is the history that {code} returned, not the model"
        yield Fault(site, what, ((f"Use {code}", (Replace(site, code),), 0.9),), confidence=0.9)
