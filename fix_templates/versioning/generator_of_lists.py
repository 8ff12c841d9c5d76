"""`yield [images, words], labels`: a generator yields lists in its batches, which Keras 3 refuses on TensorFlow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Edit, Hit, Replace, Source, Subject, Wrap, changed_calls, uses_of

OLD = frozenset({"fit_generator", "evaluate_generator", "predict_generator"})
"""Methods that accept only generators and are removed: a program that calls them is an old one."""

TODAY = frozenset({"fit", "evaluate", "predict"})

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

_NETWORKS = frozenset({"keras.Model", "keras.models.Model", "keras.Sequential", "keras.models.Sequential"})

REFUSED = "`output_signature` must contain objects"


class GeneratorOfLists(ApiChange):
    """A generator yields the several inputs or targets of a network as lists.

    Keras 1 and 2 accepted `[a, b], y`. Keras 3 passes batches on to `tf.data`, which reads a list as one tensor and
    raises; tuples are accepted on every backend.

    Fix safety: safe where every batch of the generator goes to a network: a tuple holds the same arrays in the same
    order, and Keras reads both alike. Unsafe where the program uses the generator otherwise: it may change the lists.

    References: https://keras.io/api/models/model_training_apis/ (the forms of `x`).
    """

    code = "DNF596"
    name = "generator-of-lists"
    message = "the generator yields lists in a batch, which Keras 3.0 refuses on TensorFlow; it accepts tuples"
    triggers = ("yield",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if not source.frameworks & {"keras", "tensorflow"} or "torch" in source.frameworks:
            return
        for function, safe in _given(subject).items():
            for node in ast.walk(function):
                if isinstance(node, ast.Yield) and source.enclosing(node, *_FUNCTIONS) is function:
                    edits = tuple(_edits(source, node.value))
                    if edits:
                        yield Hit(
                            source.site(node),
                            self.message,
                            title="yield tuples",
                            edits=edits,
                            safe=safe,
                            removed={"keras": "3.0"},
                        )

    programs = """
=== example: two inputs
import keras


def batches(x, words, y):
    while True:
        for i in range(4):
-             yield [x[i], words[i]], y[i]
+             yield (x[i], words[i]), y[i]


def learn(model, x, words, y):
-     model.fit_generator(batches(x, words, y), steps_per_epoch=4)
+     model.fit(batches(x, words, y), steps_per_epoch=4)

=== example: inputs and targets of a method, kept in a variable
from keras.models import Model


class Pairs:
    def batches(self, x, y):
        while 1:
-             yield ([x, y], [y])
+             yield ((x, y), (y,))

    def learn(self, model, x, y):
        made = self.batches(x, y)
-         model.fit_generator(generator=made, steps_per_epoch=4, epochs=2)
+         model.fit(x=made, steps_per_epoch=4, epochs=2)

=== example: a list with a name, on TensorFlow
import tensorflow as tf


def pairs(left, right, y):
    while True:
        inputs = [left, right]
-         yield inputs, y
+         yield tuple(inputs), y


def learn(model: tf.keras.Model, left, right, y):
    model.fit(pairs(left, right, y), steps_per_epoch=4)

=== reject: samples that are collected
import keras
import numpy as np


def batches(rows):
    while True:
        x, y = [], []
        for row in rows:
            x.append(row[0])
            y.append(row[1])
        yield x, np.array(y)


def learn(model, rows):
    model.fit_generator(batches(rows), steps_per_epoch=4)

=== reject: a generator that an object of the program's own learns from
import tensorflow as tf


class Scaler:
    def fit(self, rows):
        for p, _ in rows:
            p.append(3)


def preprocess(x):
    for a in x:
        yield [a, a], 1


Scaler().fit(preprocess([1, 2]))
"""


def _given(subject: Subject) -> dict[ast.FunctionDef, bool]:
    """The functions whose results are passed to such methods of networks; whether all of their results are."""
    source = subject.source
    handed: dict[ast.expr, list[ast.Call]] = {}
    for call in uses_of(source).calls():
        if _of_network(subject, call):
            given = [
                *call.args[:1],
                *(k.value for k in call.keywords if k.arg in ("x", "generator", "validation_data")),
            ]
            for value in given:
                made = [one for one in (value, *source.bindings(value)) if isinstance(one, ast.Call)]
                handed.setdefault(value, []).extend(made)
    calls = {call for value, made in handed.items() if _all_handed(source, value, handed) for call in made}
    found = dict.fromkeys(
        function for made in handed.values() for call in made if (function := _function(source, call.func)) is not None
    )
    return {function: _is_kept_to(source, function, {call.func for call in calls}) for function in found}


def _of_network(subject: Subject, call: ast.Call) -> bool:
    """Whether the call trains or evaluates a network of Keras; removed methods are enough by name."""
    source, method = subject.source, call.func
    if not isinstance(method, ast.Attribute) or method.attr not in OLD | TODAY:
        return False
    holds = changed_calls.receiver_is(source, method.value, "keras.Model")
    crash = subject.crash
    if crash is not None and REFUSED in crash.message and source.site(call) in {frame.site for frame in crash.frames}:
        return holds is not False
    if method.attr in OLD:
        return bool(holds) or holds is None and method.attr not in uses_of(source).defined
    return "tensorflow" in source.frameworks and (bool(holds) or _is_annotated(source, method.value))


def _is_annotated(source: Source, expr: ast.expr) -> bool:
    """Whether a parameter is annotated as a network."""
    function = source.enclosing(expr, *_FUNCTIONS)
    if not isinstance(function, _FUNCTIONS) or not isinstance(expr, ast.Name):
        return False
    stored = (node for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    if any(node.id == expr.id for node in stored):
        return False
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    said = [one.annotation for one in arguments if one.arg == expr.id and one.annotation is not None]
    return any((source.qualified(annotation) or "") in _NETWORKS for annotation in said)


def _function(source: Source, named: ast.expr) -> ast.FunctionDef | None:
    """The program's function or method that is called; of an unknown object's only where one class has that name."""
    if isinstance(named, ast.Name):
        found = source.definition(named)
        return found if isinstance(found, ast.FunctionDef) else None
    if not isinstance(named, ast.Attribute):
        return None
    methods = [each for each in source.nodes(ast.FunctionDef) if each.name == named.attr]
    methods = [each for each in methods if isinstance(source.parent(each), ast.ClassDef)]
    made = source.constructor(named.value)
    owner = source.definition(named.value if made is None else made.func)
    if isinstance(named.value, ast.Name) and named.value.id in ("self", "cls"):
        owner = source.enclosing(named, ast.ClassDef)
    if isinstance(owner, ast.ClassDef):
        own = [each for each in methods if source.parent(each) is owner]
        methods = own or (methods if owner.bases else [])
    elif made is not None and source.qualified(made.func) is not None:
        return None  # an object of a library
    return methods[0] if len(methods) == 1 else None


def _all_handed(source: Source, value: ast.expr, handed: dict[ast.expr, list[ast.Call]]) -> bool:
    """Whether a value is only passed to networks, under whichever name."""
    if isinstance(value, ast.Call):
        return True
    if isinstance(value, ast.Name):
        every: list[ast.expr] = [node for node in source.nodes(ast.Name) if node.id == value.id]
    elif isinstance(value, ast.Attribute):
        every = [node for node in source.nodes(ast.Attribute) if node.attr == value.attr]
    else:
        return False
    return all(node in handed for node in every if isinstance(getattr(node, "ctx", None), ast.Load))


def _is_kept_to(source: Source, function: ast.FunctionDef, calls: set[ast.expr]) -> bool:
    """Whether the function is not named elsewhere in the program, in any of its files."""
    others = [other for other in source.beside if function.name in other.words]
    names: list[ast.expr] = [node for node in source.nodes(ast.Name) if node.id == function.name]
    names += [node for node in source.nodes(ast.Attribute) if node.attr == function.name]
    plain = all(
        isinstance(each, ast.Name) and each.id in ("staticmethod", "classmethod") for each in function.decorator_list
    )
    return plain and not others and all(node in calls for node in names)


def _edits(source: Source, batch: ast.expr | None) -> Iterator[Edit]:
    """The edits that turn the lists of a batch into tuples."""
    for part in batch.elts if isinstance(batch, ast.Tuple) else ():
        lists = [part] if isinstance(part, ast.List) else list(source.bindings(part))
        if not lists or not all(isinstance(one, ast.List) and one.elts for one in lists):
            continue  # a list that is filled later holds samples, not inputs
        site = source.site(part)
        if isinstance(part, ast.List):
            inside = source.segment(site)[1:-1]
            yield Replace(site, f"({inside},)" if len(part.elts) == 1 else f"({inside})")
        else:
            yield Wrap(site, "tuple(", ")")
