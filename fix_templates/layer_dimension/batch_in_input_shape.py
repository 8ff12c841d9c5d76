"""The shape that a Keras model is told has an axis too many: the batch, or one that the data lacks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Decline,
    Edit,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    Replace,
    StatedInput,
    Subject,
    Symptom,
    Wrap,
    crashed_layer,
    fit_data,
    known,
    rank_conflict,
    short,
    stated_keras_input,
    where_written,
)


class BatchInInputShape(FixTemplate):
    """The shape that a Keras model is told (`input_shape`, `Input(shape=…)`) has an axis too many.

    Keras adds the batch axis itself. With the shape of the whole data set, its length becomes an axis of every sample:
    the first layer finds a rank that it does not take, or the data does not fit the model.

    Fix safety: unsafe. The first layer gets another number of weights.

    References: keras.Input ("shape: a tuple of integers, not including the batch size"), keras.layers.Layer
    (`input_shape`).
    """

    code = "DNF209"
    name = "batch-in-input-shape"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "{form} has {count} axes, and {layer} takes {wanted} per sample"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        found = _stated(subject)
        if found is None:
            return
        stated, wanted, layer = found
        yield self.finding(
            subject.source.site(stated.node),
            symptom=Symptom.CRASH,
            confidence=0.9,
            cause="crash",
            evidence={"stated": stated.shape, "wanted": wanted},
            form=stated.form,
            count=len(stated.shape),
            layer=layer,
            wanted=wanted,
        )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        found = _stated(subject)
        if found is None:
            return
        proposals = list(_without_one(subject, found[0]))
        for edit, title, prior in proposals:
            yield self.candidate(finding, title, edit, prior=prior)
        if not proposals:
            yield Decline("the shape is not written at one place")

    examples = (
        Example(
            "length of the data in Input",
            """\
import numpy as np
import keras
from keras import layers

x, y = np.random.rand(20, 6, 2), np.random.rand(20, 1)
- inputs = keras.Input(shape=(20, 6, 2))
+ inputs = keras.Input(shape=(6, 2))
outputs = layers.Dense(1)(layers.LSTM(4)(inputs))
model = keras.Model(inputs, outputs)
model.compile(optimizer="sgd", loss="mse")
model.fit(x, y, verbose=0)
""",
            runs=True,
        ),
        Example(
            "shape through a variable",
            """\
import numpy as np
from keras import Sequential, layers

data = np.random.rand(12, 7)
- shape = data.shape
+ shape = data.shape[1:]
model = Sequential([layers.Dense(4, input_shape=shape), layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(data, np.random.rand(12, 1), verbose=0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "shape of one sample",
            """\
import numpy as np
from keras import Sequential, layers

data = np.random.rand(12, 7)
model = Sequential([layers.Dense(4, input_shape=data.shape[1:]), layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(data, np.random.rand(12, 1), verbose=0)
""",
            runs=True,
        ),
        Reject(
            "a recurrent layer behind another that gives one step",
            """\
import keras
from keras import layers

keras.Sequential([keras.Input((8, 3)), layers.LSTM(4), layers.LSTM(4)])
""",
            runs=True,
        ),
    )


def _stated(subject: Subject) -> tuple[StatedInput, int, str] | None:
    """The stated shape, how many axes it should have, and who wants so many."""
    crash = subject.crash
    if crash is None or crash.call is None or not crash.call.name.startswith("keras."):
        return None
    stated = stated_keras_input(subject, crash.call)
    conflict = rank_conflict(subject)
    inputs = crash.call.inputs
    built = bool(inputs) and inputs[0].producer is None and inputs[0].origin in ("symbolic", None)
    if stated is None:
        return None
    if conflict is not None and built and conflict.rank == conflict.wanted + 1 == len(stated.shape) + 1:
        return stated, conflict.wanted - 1, short(conflict.call.name)
    data = inputs[0] if inputs and inputs[0].origin == "data" else None
    rank = len(data.shape) if data is not None and data.shape is not None else None
    if rank is not None and rank == len(stated.shape) and rank > 1:
        return stated, rank - 1, "the data"
    found = crashed_layer(subject)
    if found is not None and len(stated.shape) == rank:
        return stated, len(stated.shape) - 1, short(crash.call.name)
    return None


def _without_one(subject: Subject, stated: StatedInput) -> Iterator[tuple[Edit, str, float]]:
    node = where_written(subject, stated.node)
    site = subject.source.site(node)
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        yield Wrap(site, "", "[1:]"), "Leave the batch axis out of the input shape", 0.95
        return
    if not isinstance(node, (ast.Tuple, ast.List)) or len(node.elts) != len(stated.shape):
        return
    given, _ = fit_data(subject)
    sample = known(given.value.shape[1:]) if given is not None and given.value.shape else None
    for place, prior in ((0, 0.7), (len(node.elts) - 1, 0.6)):
        left = (*stated.shape[:place], *stated.shape[place + 1 :])
        texts = [subject.text(subject.source.site(one)) for one in (*node.elts[:place], *node.elts[place + 1 :])]
        inside = ", ".join(texts) + ("," if len(texts) == 1 and isinstance(node, ast.Tuple) else "")
        written = f"({inside})" if isinstance(node, ast.Tuple) else f"[{inside}]"
        fits = sample is None or left == sample
        which = "first" if place == 0 else "last"
        yield Replace(site, written), f"Leave the {which} axis out of the input shape", prior if fits else prior / 3
