"""`axes.set_xticks(ticks, 5)`: the second place told minor ticks from major ones, and is that of their labels today."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Example, Hit, Reject, RenameArgument, Source, Subject

SETTERS = frozenset({"set_xticks", "set_yticks", "set_zticks"})
COUNTS = frozenset({"len", "int", "float", "bool", "round", "max", "min", "sum"})
"""Functions that give a number."""


class MinorGivenByPlace(ApiChange):
    """A number in the second place of `set_xticks` and its like, where matplotlib has taken labels since 3.5.

    `axes.set_xticks(numpy.arange(1, n + 1), n / 10)` made minor ticks of them, whatever its author meant by the number.
    Today it stops with `labels=0.5 must be a sequence`. The number is named as what it was, `minor`.

    Fix safety: safe: the number has the part that it had before, and no labels are numbers.

    References: https://matplotlib.org/stable/api/prev_api_changes/api_changes_3.5.0.html,
    https://matplotlib.org/stable/api/_as_gen/matplotlib.axes.Axes.set_xticks.html.
    """

    code = "DNF524"
    name = "minor-given-by-place"
    triggers = ("set_xticks", "set_yticks", "set_zticks")

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The calls with a number in that place."""
        source = subject.source
        if source.words.isdisjoint(SETTERS):
            return
        for call in source.all_calls:
            func = call.func
            if not isinstance(func, ast.Attribute) or func.attr not in SETTERS or len(call.args) != 2:
                continue
            given = call.args[1]
            named = {keyword.arg for keyword in call.keywords}
            if named & {"minor", "labels", None} or not is_number(source, given):
                continue
            site = source.site(call)
            yield Hit(
                site,
                f"the second place of {func.attr} is that of the labels since matplotlib 3.5",
                title="name the number minor",
                edits=(RenameArgument(site, "labels", "minor", 1),),
                safe=True,
                removed={"matplotlib": "3.5"},
            )

    examples = (
        Example(
            "a number of ticks that was meant",
            """\
import keras
import matplotlib.pyplot as plt
import numpy as np

losses = [0.5, 0.4]
fig, axs = plt.subplots(1, 2)
- axs[0].set_xticks(np.arange(1, len(losses) + 1), len(losses) / 10)
+ axs[0].set_xticks(np.arange(1, len(losses) + 1), minor=len(losses) / 10)
""",
        ),
        Example(
            "a truth value",
            """\
import torch
from matplotlib import pyplot

axes = pyplot.figure().add_subplot(111)
- axes.set_yticks([1, 2], True)
- axes.set_xticks(torch.arange(3).tolist(), False)
+ axes.set_yticks([1, 2], minor=True)
+ axes.set_xticks(torch.arange(3).tolist(), minor=False)
""",
        ),
        Example(
            "a number with a name",
            """\
import keras
import matplotlib.pyplot as plt


def plot(history, axes):
    epochs = len(history["loss"])
-     axes.set_xticks(range(epochs), epochs)
-     plt.gca().set_yticks([0, 1], max(epochs // 10, 1))
+     axes.set_xticks(range(epochs), minor=epochs)
+     plt.gca().set_yticks([0, 1], minor=max(epochs // 10, 1))
""",
        ),
    )
    rejects = (
        Reject(
            "labels",
            """\
import keras
import matplotlib.pyplot as plt

names = ["a", "b"]
fig, axes = plt.subplots()
axes.set_xticks([0, 1], names)
axes.set_yticks([0, 1], ["low", "high"])
axes.set_xticks([0, 1], names * 1)
""",
        ),
        Reject(
            "minor ticks by their name, and what nobody knows",
            """\
import keras
import matplotlib.pyplot as plt


def plot(axes, places, given):
    axes.set_xticks(places, minor=True)
    axes.set_yticks(places, given)
    axes.set_xticks(places, given + given)
    plt.xticks(places, given)
""",
        ),
    )


def is_number(source: Source, expr: ast.expr) -> bool:
    """Whether an expression is surely a number."""
    if isinstance(expr, ast.Constant):
        return isinstance(expr.value, (int, float))
    if isinstance(expr, ast.Call):
        return isinstance(expr.func, ast.Name) and expr.func.id in COUNTS
    if isinstance(expr, ast.BinOp):
        divides = isinstance(expr.op, (ast.Div, ast.FloorDiv))
        sides = [is_number(source, expr.left), is_number(source, expr.right)]
        return all(sides) or (divides and sides[0])
    if isinstance(expr, ast.Name):
        bound = source.bindings(expr)
        return len(bound) == 1 and not isinstance(bound[0], ast.Name) and is_number(source, bound[0])
    return False
