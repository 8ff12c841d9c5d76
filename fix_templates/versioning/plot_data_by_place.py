"""`sns.lmplot("x", "y", data)`: what seaborn draws, given by place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Edit, Example, Hit, Reject, RemoveArgument, SetArgument, Subject, uses_of

_CATEGORIES = ("x", "y", "hue", "data", "order", "hue_order")
_RELATIONS = ("x", "y", "hue", "style", "size", "data")
_FITS = ("x", "y", "data")

PLACES = {
    "lmplot": (*_FITS, "hue", "col", "row"),
    "regplot": _FITS,
    "residplot": _FITS,
    "jointplot": _FITS,
    **dict.fromkeys(
        ("barplot", "boxplot", "boxenplot", "violinplot", "stripplot", "swarmplot", "pointplot", "countplot"),
        _CATEGORIES,
    ),
    "catplot": ("x", "y", "hue", "data", "row", "col"),
    "scatterplot": _RELATIONS,
    "lineplot": ("x", "y", "hue", "size", "style", "data"),
    "relplot": ("x", "y", "hue", "size", "style", "data"),
}
"""By function of seaborn, its arguments in the order that they had up to 0.11."""


class PlotDataByPlace(ApiChange):
    """Seaborn's functions took `x` and `y` in their first places; since 0.12 only `data` is taken by place.

    The call stops with too many positional arguments. Each argument is given by the name that it had; a single one is
    left alone, as seaborn takes it for the data, and draws.

    Fix safety: safe: the same values reach the same arguments.

    References: https://seaborn.pydata.org/whatsnew/v0.12.0.html.
    """

    code = "DNF574"
    name = "plot-data-by-place"
    triggers = tuple(PLACES)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """Calls of seaborn with two arguments or more by place."""
        source = subject.source
        if "seaborn" not in source.words:
            return
        for call in uses_of(source).calls():
            package, _, name = (source.qualified(call.func) or "").partition(".")
            places = PLACES.get(name.rpartition(".")[2], ()) if package == "seaborn" else ()
            given = call.args
            if not 2 <= len(given) <= len(places) or any(isinstance(value, ast.Starred) for value in given):
                continue
            if _is_data(source.bindings(given[0]) or (given[0],)):
                continue
            site = source.site(call)
            edits: list[Edit] = [RemoveArgument(site, "", position) for position in range(len(given))]
            texts = (source.segment(source.site(value)) for value in given)
            edits += [SetArgument(site, place, text) for place, text in zip(places, texts, strict=False)]
            yield Hit(
                source.site(call.func),
                f"{name} takes only the data by place since seaborn 0.12",
                title="give what is drawn by name",
                edits=tuple(edits),
                safe=True,
                removed={"seaborn": "0.12"},
                within=site,
            )

    examples = (
        Example(
            "columns of a table",
            """\
import keras
import seaborn as sns

sns.lmplot('x', 'y', data, 'class', fit_reg=False).set(title='Data')
""",
            """\
import keras
import seaborn as sns

sns.lmplot(fit_reg=False, x='x', y='y', data=data, hue='class').set(title='Data')
""",
        ),
        Example(
            "a curve",
            """\
import torch
import seaborn

seaborn.lineplot(range(len(losses)), losses)
""",
            """\
import torch
import seaborn

seaborn.lineplot(x=range(len(losses)), y=losses)
""",
        ),
        Example(
            "a function by its name, with a table by name",
            """\
import keras
from seaborn import barplot, heatmap

barplot("epoch", "loss", data=table)
heatmap(matrix, 0, 1)
""",
            """\
import keras
from seaborn import barplot, heatmap

barplot(data=table, x="epoch", y="loss")
heatmap(matrix, 0, 1)
""",
        ),
    )
    rejects = (
        Reject(
            "by name, and the data alone",
            """\
import keras
import seaborn as sns

sns.lineplot(x=steps, y=losses)
sns.countplot(labels)
sns.boxplot(table, x="class", y="loss")
""",
        ),
        Reject(
            "a function of the program's own",
            """\
import torch
import seaborn


def lineplot(x, y):
    return x, y


lineplot([1], [2])
""",
        ),
    )


def _is_data(bound: tuple[ast.expr, ...]) -> bool:
    """Whether the first argument is a table that is made on the spot, as only the data is today."""
    return any(isinstance(value, ast.Call) and getattr(value.func, "attr", "") == "DataFrame" for value in bound)
