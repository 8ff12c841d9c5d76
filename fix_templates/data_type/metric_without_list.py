"""`compile(metrics="accuracy")`: one metric is given where a list of metrics is taken."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Example, FixPattern, Mend, Reject, Subject, Wrap, is_compile, keyword_value


class MetricWithoutList(CrashTemplate):
    """`compile(metrics="accuracy")`: one metric is given where a list of metrics is taken.

    `compile` takes the metrics as a list, a tuple or a dictionary by output. The one metric becomes the only one of a
    list.

    Fix safety: unsafe. The program could not run before.

    References: keras.Model.compile (`metrics`).
    """

    code = "DNF635"
    name = "metric-without-list"
    fix_pattern = FixPattern.ACCURACY_METRIC
    kinds = frozenset({"ValueError", "TypeError"})
    confidence = 0.95

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site)
        if not isinstance(node, ast.Call) or "argument to be a list, tuple, or dict" not in crash.message:
            return
        for name in ("metrics", "weighted_metrics"):
            given = keyword_value(node, name) if is_compile(node) and f"`{name}` argument" in crash.message else None
            if given is not None and not isinstance(given, (ast.Set, ast.GeneratorExp, ast.Starred, ast.Name)):
                site = subject.source.site(given)
                what = f"`{name}` is given {subject.text(site)}, and takes a list"
                yield Mend(site, what, (("Put it into a list", (Wrap(site, "[", "]"),), 0.95),))

    examples = (
        Example(
            "a text",
            """\
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
- net.compile("adam", "binary_crossentropy", metrics="accuracy")
+ net.compile("adam", "binary_crossentropy", metrics=["accuracy"])
net.fit(np.random.rand(8, 4), np.arange(8) % 2, verbose=0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a list",
            """\
import keras

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", "mse", metrics=["mae"])
""",
            runs=True,
        ),
        Reject(
            "a set, whose order nobody knows",
            """\
import keras

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", "mse", metrics={"mae", "mape"})
""",
            runs=True,
        ),
    )
