"""One of two token inputs goes into a recurrent or convolution layer without an embedding."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    RaisedTemplate,
    Replace,
    Source,
    Subject,
    keyword_value,
    within,
)

_INPUTS = ("keras.Input", "keras.layers.Input")
_EMBEDDING = "keras.layers.Embedding"


class InputWithoutEmbedding(RaisedTemplate):
    """A Keras model has two token inputs, and only one of them goes through an embedding before its layer.

    A recurrent or convolution layer expects a vector for every step; the other input has a token index there.

    Fix safety: unsafe. The input gets an embedding of its own, with the settings of the other one.

    References: keras.layers.Embedding, keras.layers.LSTM ("inputs").
    """

    code = "DNF430"
    name = "input-without-embedding"
    message = "`{given}` is passed to its layer without an embedding, which the other input has"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.ADD_LAYER
    triggers = ("Embedding",)
    raised = "ValueError"
    said = r"expected (min_)?ndim=3, found (full_shape|ndim=2)"
    declined = "the layer has a name that only one layer may have"
    confidence = 0.9

    def explain(self, subject: Subject, node: ast.expr | ast.stmt) -> Iterator[Fault]:
        source = subject.source
        given = node.args[0] if isinstance(node, ast.Call) and node.args else None
        own = _input(source, given) if isinstance(given, ast.Name) else None
        if not isinstance(given, ast.Name) or own is None:
            return
        scope = source.enclosing(given, ast.FunctionDef) or source.tree
        beside = [
            call.func
            for call in within(scope, ast.Call)
            if isinstance(call.func, ast.Call)
            and source.qualified(call.func.func) == _EMBEDDING
            and len(call.args) == 1
            and _rank(_input(source, call.args[0])) == _rank(own) == 1
        ]
        if len(beside) == 1:
            site, text = source.site(given), f"{source.segment(source.site(beside[0]))}({given.id})"
            edits = (Replace(site, text),) if keyword_value(beside[0], "name") is None else None
            yield Fault(site, {"given": given.id}, ((f"Embed the input as the other one: {text}", edits, 0.85),))

    programs = """
=== example: two texts, in a function
import keras
from keras import layers

def build(words):
    title = keras.Input(shape=(6,), dtype="int32")
    body = keras.Input(shape=(9,), dtype="int32")
    a = layers.Embedding(words, 4, mask_zero=True)(title)
    a = layers.GRU(4)(a)
-     b = layers.GRU(4)(body)
+     b = layers.GRU(4)(layers.Embedding(words, 4, mask_zero=True)(body))
    return keras.Model([title, body], layers.Dense(1)(layers.concatenate([a, b])))

build(30)

=== reject: an input of numbers beside the words
from keras.layers import LSTM, Dense, Embedding, Input, concatenate
from keras.models import Model

words, numbers = Input((5,)), Input((3,))
a = LSTM(4)(Embedding(20, 6)(words))
model = Model([words, numbers], Dense(1)(concatenate([a, Dense(4)(numbers)])))

=== reject: a recurrent layer without any embedding in the program
from keras.layers import LSTM, Dense, Input
from keras.models import Model

series = Input((5,))
model = Model(series, Dense(1)(LSTM(4)(series)))
"""


def _input(source: Source, expr: ast.expr | None) -> ast.Call | None:
    made = source.constructor(expr) if isinstance(expr, ast.Name) else None
    if made is None and isinstance(expr, ast.Name):
        values = source.bindings(expr, expr)
        made = values[0] if len(values) == 1 and isinstance(values[0], ast.Call) else None
    return made if made is not None and source.qualified(made.func) in _INPUTS else None


def _rank(made: ast.Call | None) -> int | None:
    """The number of axes in the shape of an input, without the batch."""
    if made is None:
        return None
    shape = keyword_value(made, "shape")
    shape = shape or (made.args[0] if made.args else None)
    return len(shape.elts) if isinstance(shape, ast.Tuple) else None
