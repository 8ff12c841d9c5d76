"""`yield [images, words], labels`: batches whose parts stand in lists, which Keras 3 refuses on TensorFlow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Edit, Example, Hit, Reject, Replace, Source, Subject, Wrap, uses_of

OLD = frozenset({"fit_generator", "evaluate_generator", "predict_generator"})
"""Methods that are given generators only, and are gone themselves: a program that calls them is an old one."""

TODAY = frozenset({"fit", "evaluate", "predict"})

REFUSED = "`output_signature` must contain objects"


class GeneratorOfLists(ApiChange):
    """A generator that gives the inputs or targets of a network with several of them as lists.

    Keras 1 and 2 took `[a, b], y` from a generator. Keras 3 hands what TensorFlow's data sets are made of to
    `tf.data`, which reads a list as one tensor and stops; tuples are taken on every backend.

    Fix safety: safe: a tuple holds the same arrays in the same order, and Keras reads both alike.

    References: https://keras.io/api/models/model_training_apis/ (the forms of `x`).
    """

    code = "DNF596"
    name = "generator-of-lists"
    triggers = ("yield",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The batches of generators that networks are trained with."""
        source = subject.source
        if not source.frameworks & {"keras", "tensorflow"} or "torch" in source.frameworks:
            return
        refused = subject.crash is not None and REFUSED in subject.crash.message
        methods = OLD | TODAY if refused or "tensorflow" in source.frameworks else OLD
        given = _given(source, methods)
        for function in source.nodes(ast.FunctionDef):
            if function.name not in given:
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.Yield) and source.enclosing(node, ast.FunctionDef) is function:
                    edits = tuple(_edits(source, node.value))
                    if edits:
                        yield Hit(
                            source.site(node),
                            "lists in a batch of a generator are refused since Keras 3.0 on TensorFlow; tuples are taken",
                            title="give tuples in the batches",
                            edits=edits,
                            safe=True,
                            removed={"keras": "3.0"},
                        )

    examples = (
        Example(
            "two inputs",
            """\
import keras


def batches(x, words, y):
    while True:
        for i in range(4):
            yield [x[i], words[i]], y[i]


def learn(model, x, words, y):
    model.fit_generator(batches(x, words, y), steps_per_epoch=4)
""",
            """\
import keras


def batches(x, words, y):
    while True:
        for i in range(4):
            yield (x[i], words[i]), y[i]


def learn(model, x, words, y):
    model.fit(batches(x, words, y), steps_per_epoch=4)
""",
        ),
        Example(
            "inputs and targets of a method, kept in a variable",
            """\
from keras.models import Model


class Pairs:
    def batches(self, x, y):
        while 1:
            yield ([x, y], [y])

    def learn(self, model, x, y):
        made = self.batches(x, y)
        model.fit_generator(generator=made, steps_per_epoch=4, epochs=2)
""",
            """\
from keras.models import Model


class Pairs:
    def batches(self, x, y):
        while 1:
            yield ((x, y), (y,))

    def learn(self, model, x, y):
        made = self.batches(x, y)
        model.fit(x=made, steps_per_epoch=4, epochs=2)
""",
        ),
        Example(
            "a list with a name, on TensorFlow",
            """\
import tensorflow as tf


def pairs(left, right, y):
    while True:
        inputs = [left, right]
        yield inputs, y


def learn(model: tf.keras.Model, left, right, y):
    model.fit(pairs(left, right, y), steps_per_epoch=4)
""",
            """\
import tensorflow as tf


def pairs(left, right, y):
    while True:
        inputs = [left, right]
        yield tuple(inputs), y


def learn(model: tf.keras.Model, left, right, y):
    model.fit(pairs(left, right, y), steps_per_epoch=4)
""",
        ),
    )
    rejects = (
        Reject(
            "one input, and arrays made of lists",
            """\
import keras
import numpy as np


def batches(x, y):
    while True:
        yield np.array([x, x]), y


def learn(model, x, y):
    model.fit_generator(batches(x, y), steps_per_epoch=4)
""",
        ),
        Reject(
            "samples that are collected",
            """\
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
""",
        ),
        Reject(
            "a generator that no network is trained with",
            """\
import keras


def pairs(x, y):
    for a, b in zip(x, y):
        yield [a, b], 1


print(list(pairs([1], [2])))
""",
        ),
    )


def _given(source: Source, methods: frozenset[str]) -> frozenset[str]:
    """The functions whose results are given to such methods."""
    found: set[str] = set()
    for call in uses_of(source).calls():
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in methods:
            continue
        first = [*call.args[:1], *(k.value for k in call.keywords if k.arg in ("x", "generator", "validation_data"))]
        for value in first:
            for made in (value, *source.bindings(value)):
                if isinstance(made, ast.Call):
                    func = made.func
                    found.add(func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", ""))
    return frozenset(found)


def _edits(source: Source, batch: ast.expr | None) -> Iterator[Edit]:
    """What makes tuples of the lists of a batch."""
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
