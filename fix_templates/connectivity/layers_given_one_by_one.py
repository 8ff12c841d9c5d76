"""The layers of a Keras `Sequential` are given one by one, where one list of them is taken."""

from __future__ import annotations

import ast
from collections.abc import Iterator

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
    Site,
    Source,
    Subject,
)

SEQUENTIAL = frozenset({"keras.Sequential", "keras.models.Sequential"})


class LayersGivenOneByOne(CrashTemplate):
    """The layers of a Keras `Sequential` are given one by one, where one list of them is taken.

    `torch.nn.Sequential(first, second)` takes its layers so. That of Keras takes a list, and reads the second argument
    as whether the model is trainable and the third as its name.

    Fix safety: unsafe. The call could not run before.

    References: keras.Sequential (`layers`).
    """

    code = "DNF457"
    name = "layers-given-one-by-one"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"ValueError", "TypeError"})
    confidence = 0.95

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site)
        source = subject.source
        if not isinstance(node, ast.Call) or source.qualified(node.func) not in SEQUENTIAL or not node.args:
            return
        if not all(_is_layer(source, given) for given in node.args):
            return
        first, last = source.site(node.args[0]), source.site(node.args[-1])
        whole = Site(first.line, first.column, last.end_line, last.end_column)
        rest = [f"{one.arg}={subject.text(source.site(one.value))}" for one in node.keywords]
        if any(one.arg is None for one in node.keywords):
            return
        given_now = ", ".join([f"[{subject.text(whole)}]", *rest])
        edits: tuple[Edit, ...] = (Replace(source.site(node), f"{subject.text(source.site(node.func))}({given_now})"),)
        what = f"`Sequential` of Keras takes one list of its layers, and gets {len(node.args)} of them one by one"
        yield Mend(source.site(node), what, (("Give them as a list", edits, 0.95),))

    examples = (
        Example(
            "one layer",
            """\
import keras
import numpy as np

- line = keras.Sequential(keras.layers.Dense(1), name="line")
+ line = keras.Sequential([keras.layers.Dense(1)], name="line")
line.compile("sgd", "mse")
line.fit(np.ones((4, 3)), np.ones((4, 1)), verbose=0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "layers of torch",
            """\
import torch
from torch import nn

print(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))(torch.ones(1, 2)))
""",
            runs=True,
        ),
        Reject(
            "a list that has a number among the layers",
            """\
import keras

model = keras.Sequential([keras.layers.Dense(1), 3])
""",
            runs=True,
        ),
        Reject(
            "a list and a name that is none",
            """\
import keras

model = keras.Sequential([keras.layers.Dense(1)], True, 3)
""",
            runs=True,
        ),
    )


def _is_layer(source: Source, given: ast.expr) -> bool:
    """Whether an expression makes a layer of Keras, or names one."""
    made = given if isinstance(given, ast.Call) else source.constructor(given)
    name = source.qualified(made.func) or "" if made is not None else ""
    return name.startswith("keras.layers.") or name in SEQUENTIAL | {"keras.Input"}
