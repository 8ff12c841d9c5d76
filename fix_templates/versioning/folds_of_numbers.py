"""`for train, test in KFold(len(X), n_folds=5)`: folds that are told the data, and are gone through themselves."""

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


@dataclass(frozen=True, slots=True)
class Folds:
    """How a class was called before 0.18: its arguments in their order, and the names that some have today."""

    arguments: tuple[str, ...]
    renamed: tuple[str, str] | None = None
    default: str = ""
    """What the renamed argument was where it was not given, if that is another number today."""
    data: str = "{0}"
    """What `split` is given, of the first argument."""
    takes: int = 0
    """Arguments that the class takes by their place today."""


NUMBERS = ("n", "n_folds", "shuffle", "random_state")
SHUFFLED = ("n", "n_iter", "test_size", "train_size", "random_state")
SETS = ("KFold", "StratifiedKFold", "ShuffleSplit", "StratifiedShuffleSplit", "LeaveOneOut", "LeavePOut")
FOLDS = {
    "KFold": Folds(NUMBERS, ("n_folds", "n_splits"), "3"),
    "StratifiedKFold": Folds(("y", *NUMBERS[1:]), ("n_folds", "n_splits"), "3", "{0}, {0}"),
    "ShuffleSplit": Folds(SHUFFLED, ("n_iter", "n_splits")),
    "StratifiedShuffleSplit": Folds(("y", *SHUFFLED[1:]), ("n_iter", "n_splits"), "", "{0}, {0}"),
    "LeaveOneOut": Folds(("n",)),
    "LeavePOut": Folds(("n", "p"), takes=1),
    "LabelKFold": Folds(("labels", "n_folds"), ("n_folds", "n_splits"), "3", "{0}, groups={0}"),
    "LeaveOneLabelOut": Folds(("labels",), data="{0}, groups={0}"),
}
"""By class of `sklearn.cross_validation`, how it was called."""

CONSUMERS = frozenset(("builtins.enumerate", "builtins.list", "builtins.tuple", "builtins.zip", "builtins.iter"))
"""Functions that go through what they are given."""


class FoldsOfNumbers(ApiChange):
    """Folds knew the number of samples, or the labels, when they were made; since 0.18 `split` is told the data.

    `KFold(len(X), n_folds=5)` is `KFold(n_splits=5)`, and `for train, test in folds` goes through `folds.split(X)`. The
    same holds for `StratifiedKFold`, `ShuffleSplit`, `StratifiedShuffleSplit`, `LeaveOneOut`, `LeavePOut` and folds of
    labels. Where folds are handed on, as `cv=folds`, what takes them splits its own data. Three folds, the former default,
    are written where the number was left out.

    Fix safety: safe for `KFold` and `LeaveOneOut` without shuffling, whose parts are the same; unsafe elsewhere, as
    random numbers are drawn in another order and samples are spread over stratified folds in another way.

    References: https://scikit-learn.org/stable/whats_new/v0.18.html (model selection enhancements and API changes).
    """

    code = "DNF581"
    name = "folds-of-numbers"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The folds that are made in the old way."""
        source = subject.source
        if "sklearn" not in source.words or source.words.isdisjoint(FOLDS):
            return
        for call in uses_of(source).calls():
            written = source.written(call.func) or ""
            module, _, name = written.rpartition(".")
            if module not in ("sklearn.cross_validation", "sklearn.model_selection") or name not in FOLDS:
                continue
            if _is_old(call, FOLDS[name], module):
                yield _hit(source, call, name)

    examples = (
        Example(
            "folds of a number of samples",
            """\
import numpy as np
import torch
from sklearn.cross_validation import KFold

X = np.zeros((10, 3))
folds = KFold(len(X), n_folds=5)
for i, (train, test) in enumerate(folds):
    print(i, torch.from_numpy(X[train]).shape, len(folds))
""",
            """\
import numpy as np
import torch
from sklearn.model_selection import KFold

X = np.zeros((10, 3))
folds = KFold(n_splits=5)
for i, (train, test) in enumerate(folds.split(X)):
    print(i, torch.from_numpy(X[train]).shape, folds.get_n_splits(X))
""",
        ),
        Example(
            "stratified folds in a loop",
            """\
import numpy as np
import torch
from sklearn import cross_validation

y = np.arange(12) % 2
for train, test in cross_validation.StratifiedKFold(y, 4, True):
    print(torch.from_numpy(y[test]))
""",
            """\
import numpy as np
import torch
from sklearn import model_selection

y = np.arange(12) % 2
for train, test in model_selection.StratifiedKFold(n_splits=4, shuffle=True).split(y, y):
    print(torch.from_numpy(y[test]))
""",
        ),
        Example(
            "folds that are handed on, and a number that was left out",
            """\
import numpy as np
import torch
from sklearn.cross_validation import KFold, ShuffleSplit, cross_val_score
from sklearn.linear_model import LinearRegression

x = torch.ones(12, 2).numpy()
kfold = KFold(n=x.shape[0], shuffle=True, random_state=7)
print(cross_val_score(LinearRegression(), x, x[:, 0], cv=kfold))
for train, test in ShuffleSplit(100, n_iter=2, test_size=0.25):
    print(len(train))
""",
            """\
import numpy as np
import torch
from sklearn.model_selection import KFold, ShuffleSplit, cross_val_score
from sklearn.linear_model import LinearRegression

x = torch.ones(12, 2).numpy()
kfold = KFold(shuffle=True, random_state=7, n_splits=3)
print(cross_val_score(LinearRegression(), x, x[:, 0], cv=kfold))
for train, test in ShuffleSplit(n_splits=2, test_size=0.25).split(range(100)):
    print(len(train))
""",
        ),
    )
    rejects = (
        Reject(
            "folds of today",
            """\
import numpy as np
import torch
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit

X = torch.zeros(10, 2).numpy()
for train, test in KFold(5, shuffle=True).split(X):
    print(len(train))
print(KFold(5), KFold(n_splits=3), LeaveOneOut().get_n_splits(X), ShuffleSplit(3, test_size=0.5))
""",
        ),
        Reject(
            "a class of the program's own",
            """\
import torch
from sklearn.preprocessing import scale


class KFold:
    def __init__(self, n, n_folds):
        self.parts = torch.arange(n).chunk(n_folds)

    def __iter__(self):
        return iter(self.parts)


for part in KFold(10, n_folds=5):
    print(scale(part.numpy()))
""",
        ),
    )


def _is_old(call: ast.Call, folds: Folds, module: str) -> bool:
    """Whether a call gives what the class took before."""
    given = {keyword.arg for keyword in call.keywords}
    if None in given or any(isinstance(arg, ast.Starred) for arg in call.args):
        return False
    if module == "sklearn.cross_validation":
        return bool(call.args) or folds.arguments[0] in given
    by_place = len(call.args) > max(folds.takes, 1)
    return folds.arguments[0] in given or "n_folds" in given or "n_iter" in given or by_place


def _hit(source: Source, call: ast.Call, name: str) -> Hit:
    folds, site = FOLDS[name], source.site(call)
    named = {keyword.arg or "": keyword.value for keyword in call.keywords}
    first = call.args[0] if call.args else named.get(folds.arguments[0])
    decline = ""
    if first is None or len(call.args) > len(folds.arguments):
        decline = "what it is given is not known as arguments of it"
    edits: list[Edit] = []
    old, new = folds.renamed or ("", "")
    for place in reversed(range(len(call.args))):
        if place < len(folds.arguments) and place <= folds.takes and folds.takes and place:
            continue
        edits.append(RemoveArgument(site, folds.arguments[min(place, len(folds.arguments) - 1)], place))
    for keyword, argument in zip(folds.arguments[1:], call.args[1:], strict=False):
        if not folds.takes:
            edits.append(SetArgument(site, new if keyword == old else keyword, source.segment(source.site(argument))))
    if folds.arguments[0] in named:
        edits.append(RemoveArgument(site, folds.arguments[0]))
    if old and old in named:
        edits.append(RenameArgument(site, old, new))
    elif old and len(call.args) < 2 and folds.default:
        edits.append(SetArgument(site, new, folds.default))
    if not decline and first is not None:
        counted = folds.arguments[0] == "n"
        data = folds.data.format(_samples(source, first) if counted else source.segment(source.site(first)))
        edits += _uses(source, call, data)
    shuffled = "shuffle" in named or len(call.args) > 2
    return Hit(
        site,
        f"{name} is made without the data since sklearn 0.18, and split is given it",
        title=f"give the data to split, not to {name}",
        edits=() if decline else tuple(edits),
        decline=decline,
        safe=name in ("KFold", "LeaveOneOut", "LeavePOut") and not shuffled,
        removed={"sklearn": "0.20"},
    )


def _samples(source: Source, first: ast.expr) -> str:
    """The data of a number of samples: `X` for `len(X)` and `X.shape[0]`, else as many numbers."""
    match first:
        case ast.Call(func=ast.Name(id="len"), args=[data]):
            return source.segment(source.site(data))
        case ast.Subscript(value=ast.Attribute(value=data, attr="shape"), slice=ast.Constant(value=0)):
            return source.segment(source.site(data))
    return f"range({source.segment(source.site(first))})"


def _uses(source: Source, call: ast.Call, data: str) -> Iterator[Edit]:
    """The edits where folds are gone through, or their number is asked for."""
    above = source.parent(call)
    places: list[ast.expr] = [call]
    if isinstance(above, ast.Assign) and above.value is call and len(above.targets) == 1:
        target = above.targets[0]
        nodes = uses_of(source).names(target.id) if isinstance(target, ast.Name) else ()
        places = [n for n in nodes if isinstance(n.ctx, ast.Load) and source.bindings(n) == (call,)]
    for place in places:
        around = source.parent(place)
        site = source.site(place)
        looped = isinstance(around, (ast.For, ast.comprehension)) and around.iter is place
        handed = isinstance(around, ast.Call) and place in around.args
        name = source.qualified(around.func) if isinstance(around, ast.Call) else None
        if looped or handed and name in CONSUMERS:
            yield Wrap(site, "", f".split({data})")
        elif handed and name == "builtins.len" and isinstance(around, ast.Call):
            yield Replace(source.site(around), f"{source.segment(site)}.get_n_splits({data})")
