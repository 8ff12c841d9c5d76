"""`KFold(n=len(x), n_folds=10)`: folds that are told the data when they are made."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    ApiChange,
    Edit,
    Example,
    Hit,
    Reject,
    RemoveArgument,
    RenameArgument,
    Replace,
    SetArgument,
    Source,
    Subject,
    Wrap,
    uses_of,
)

OLD = "sklearn.cross_validation."


@dataclass(frozen=True, slots=True)
class Folds:
    """What a class of folds was given: the data (`n` of rows, or labels) and how many folds, with the default of then."""

    data: str
    count: str
    default: str
    by_label: bool = False


FOLDS = {
    "KFold": Folds("n", "n_folds", "3"),
    "StratifiedKFold": Folds("y", "n_folds", "3", by_label=True),
    "ShuffleSplit": Folds("n", "n_iter", "10"),
    "StratifiedShuffleSplit": Folds("y", "n_iter", "10", by_label=True),
    "LeaveOneOut": Folds("n", "", ""),
    "LeavePOut": Folds("n", "", ""),
}
SPLITTERS = {"cross_val_score", "cross_val_predict", "cross_validate", "GridSearchCV", "RandomizedSearchCV", "RFECV"}
"""What takes folds as `cv` and gives them the data itself."""


class FoldsOfData(ApiChange):
    """The folds of `sklearn.cross_validation` were made for so many rows and went from fold to fold.

    Those of `sklearn.model_selection` are told how many folds there are, and get the data where they are asked for
    them: `KFold(n_splits=10)` and `folds.split(x)`. The count is stated where it was left to the default, which is
    another one today.

    Fix safety: unsafe: a shuffled fold has other rows than before, and its last argument in place may mean another.

    References: https://scikit-learn.org/0.18/modules/cross_validation.html,
    https://scikit-learn.org/stable/whats_new/v0.18.html.
    """

    code = "DNF572"
    name = "folds-of-data"
    triggers = ("cross_validation",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """Calls of the classes of folds, with the places where their folds are gone through."""
        source = subject.source
        if "cross_validation" not in source.words:
            return
        for call in uses_of(source).calls():
            written = source.written(call.func) or ""
            folds = FOLDS.get(written.removeprefix(OLD)) if written.startswith(OLD) else None
            if folds is None:
                continue
            edits = _edits(source, call, folds)
            yield Hit(
                source.site(call),
                f"{written.rpartition('.')[2]} is told the data by split since sklearn 0.18, not where it is made",
                title="give the data to split",
                edits=tuple(edits or ()),
                decline="" if edits else "what is done with the folds is not plain",
                removed={"sklearn": "0.20"},
            )

    examples = (
        Example(
            "folds for a score",
            """\
import keras
from sklearn.cross_validation import KFold, cross_val_score

folds = KFold(n=len(x), n_folds=10, shuffle=True, random_state=7)
results = cross_val_score(estimator, x, y, cv=folds)
""",
            """\
import keras
from sklearn.model_selection import KFold, cross_val_score

folds = KFold(n_splits=10, shuffle=True, random_state=7)
results = cross_val_score(estimator, x, y, cv=folds)
""",
        ),
        Example(
            "folds of labels in a loop, and how many there are",
            """\
import keras
from sklearn.cross_validation import StratifiedKFold

folds = StratifiedKFold(y, shuffle=True)
for number, (train, test) in enumerate(folds):
    print(number, len(folds), x[train], y[test])
""",
            """\
import keras
from sklearn.model_selection import StratifiedKFold

folds = StratifiedKFold(shuffle=True, n_splits=3)
for number, (train, test) in enumerate(folds.split(y, y)):
    print(number, folds.get_n_splits(y), x[train], y[test])
""",
        ),
        Example(
            "a loop over what is made on the spot, from the module",
            """\
import torch
from sklearn import cross_validation

for train, test in cross_validation.KFold(x.shape[0], 5):
    fit(x[train])
for train, test in cross_validation.ShuffleSplit(100, n_iter=4, test_size=0.25):
    fit(x[train])
""",
            """\
import torch
from sklearn import model_selection

for train, test in model_selection.KFold(n_splits=5).split(x):
    fit(x[train])
for train, test in model_selection.ShuffleSplit(n_splits=4, test_size=0.25).split(range(100)):
    fit(x[train])
""",
        ),
    )
    rejects = (
        Reject(
            "folds of today",
            """\
import keras
from sklearn.model_selection import KFold

for train, test in KFold(n_splits=3).split(x):
    print(train, test)
""",
        ),
        Reject(
            "a class of the program's own",
            """\
import keras
import sklearn


class KFold:
    def __init__(self, n, n_folds):
        self.n, self.cross_validation = n, n_folds


folds = KFold(n=10, n_folds=3)
""",
        ),
    )


def _edits(source: Source, call: ast.Call, folds: Folds) -> list[Edit] | None:
    """The edits of a call and of the places where what it makes is used; `None` where one of them is not plain."""
    keywords = {k.arg: k.value for k in call.keywords}
    places = 1 + bool(folds.count)
    if None in keywords or len(call.args) > places or any(isinstance(value, ast.Starred) for value in call.args):
        return None
    data = keywords.get(folds.data, call.args[0] if call.args else None)
    count = keywords.get(folds.count, call.args[1] if len(call.args) > 1 else None)
    if data is None:
        return None
    site = source.site(call)
    edits: list[Edit] = [RemoveArgument(site, folds.data, 0 if call.args else None)]
    if folds.count in keywords:
        edits.append(RenameArgument(site, folds.count, "n_splits"))
    elif folds.count:
        if count is not None:
            edits.append(RemoveArgument(site, folds.count, 1))
        edits.append(
            SetArgument(site, "n_splits", folds.default if count is None else source.segment(source.site(count)))
        )
    rows = _rows(source, data, folds)
    uses = _uses(source, call)
    for use in uses or ():
        above = source.parent(use)
        if _is_gone_through(source, use):
            edits.append(Wrap(source.site(use), "", f".split({rows}, {rows})" if folds.by_label else f".split({rows})"))
        elif isinstance(above, ast.Call) and source.qualified(above.func) == "builtins.len":
            name = source.segment(source.site(use))
            edits.append(Replace(source.site(above), f"{name}.get_n_splits({rows})"))
        elif not _is_given_on(source, use):
            return None
    return edits if uses is not None else None


def _rows(source: Source, data: ast.expr, folds: Folds) -> str:
    """The data that a class of folds was told of: labels, what the rows were counted of, or as many numbers."""
    counted: ast.expr | None = None
    if isinstance(data, ast.Call) and len(data.args) == 1 and source.qualified(data.func) == "builtins.len":
        counted = data.args[0]
    elif isinstance(data, ast.Subscript) and isinstance(data.value, ast.Attribute) and data.value.attr == "shape":
        first = isinstance(data.slice, ast.Constant) and data.slice.value == 0
        counted = data.value.value if first else None
    if folds.by_label or counted is not None:
        return source.segment(source.site(counted if counted is not None and not folds.by_label else data))
    return f"range({source.segment(source.site(data))})"


def _uses(source: Source, call: ast.Call) -> list[ast.expr] | None:
    """The call itself, or the places where the name that it is assigned to is read; `None` where it is kept otherwise."""
    above = source.parent(call)
    if not isinstance(above, ast.Assign):
        return [call]
    target = above.targets[0]
    if len(above.targets) > 1 or not isinstance(target, ast.Name):
        return None
    reads = [name for name in uses_of(source).names(target.id) if isinstance(name.ctx, ast.Load)]
    reads = [name for name in reads if call in source.bindings(name)]
    return list(reads) if all(source.bindings(name) == (call,) for name in reads) else None


def _is_gone_through(source: Source, use: ast.expr) -> bool:
    """Whether the folds are gone through at this place: by a loop, or by a function that does so."""
    above = source.parent(use)
    if isinstance(above, (ast.For, ast.comprehension)):
        return above.iter is use
    walking = ("builtins.enumerate", "builtins.list", "builtins.iter", "builtins.zip")
    return isinstance(above, ast.Call) and source.qualified(above.func) in walking and use in above.args


def _is_given_on(source: Source, use: ast.expr) -> bool:
    """Whether the folds are given to a function that gives them the data itself."""
    above = source.parent(use)
    if isinstance(above, ast.keyword):
        above = source.parent(above)
    if not isinstance(above, ast.Call):
        return isinstance(above, ast.Expr)
    return (source.written(above.func) or "").rpartition(".")[2] in SPLITTERS
