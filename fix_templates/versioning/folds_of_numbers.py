"""`for train, test in KFold(len(X), n_folds=5)`: folds were created with the data and iterated over directly."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    ApiChange,
    Edit,
    Hit,
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
    """How a class was called before 0.18: its parameters in order, and the new name of one of them."""

    arguments: tuple[str, ...]
    renamed: tuple[str, str] | None = None
    default: str = ""
    """The former default of the renamed parameter, if today's differs."""
    data: str = "{0}"
    """The arguments of `split`, from the first argument."""
    stays: bool = False
    """Whether positional arguments after the data are still positional."""


NUMBERS = ("n", "n_folds", "shuffle", "random_state")
SHUFFLED = ("n", "n_iter", "test_size", "train_size", "random_state")
FOLDS = {
    "KFold": Folds(NUMBERS, ("n_folds", "n_splits"), "3"),
    "StratifiedKFold": Folds(("y", *NUMBERS[1:]), ("n_folds", "n_splits"), "3", "{0}, {0}"),
    "ShuffleSplit": Folds(SHUFFLED, ("n_iter", "n_splits")),
    "StratifiedShuffleSplit": Folds(("y", *SHUFFLED[1:]), ("n_iter", "n_splits"), "", "{0}, {0}"),
    "LeaveOneOut": Folds(("n",)),
    "LeavePOut": Folds(("n", "p"), stays=True),
    "LabelKFold": Folds(("labels", "n_folds"), ("n_folds", "n_splits"), "3", "{0}, groups={0}"),
    "LeaveOneLabelOut": Folds(("labels",), data="{0}, groups={0}"),
}
"""By class of `sklearn.cross_validation`, how it was called."""

CONSUMERS = frozenset(("builtins.enumerate", "builtins.list", "builtins.tuple", "builtins.zip", "builtins.iter"))
"""Functions that iterate over their argument."""

SPLITTERS = frozenset(
    ("cross_val_score", "cross_val_predict", "cross_validate", "GridSearchCV", "RandomizedSearchCV", "RFECV")
)
"""Functions and classes that pass their own data to the folds."""


class FoldsOfNumbers(ApiChange):
    """Folds are created with the number of samples or the labels; since scikit-learn 0.18 `split` gets the data.

    `KFold(len(X), n_folds=5)` becomes `KFold(n_splits=5)`, and `for train, test in folds` iterates over
    `folds.split(X)`; the same for `StratifiedKFold`, `ShuffleSplit`, `StratifiedShuffleSplit`, `LeaveOneOut`,
    `LeavePOut` and folds by label. Folds that are passed on, as `cv=folds`, need no data. The former default of three
    folds is written out. Where the folds are used in other ways, nothing is proposed.

    Fix safety: safe for `KFold`, `LeaveOneOut` and `LeavePOut` without shuffling that are imported from
    `sklearn.model_selection` already, whose folds are the same; unsafe elsewhere, as random numbers are drawn in
    another order and stratified folds are filled in another way.

    References: https://scikit-learn.org/stable/whats_new/v0.18.html (model selection enhancements and API changes).
    """

    code = "DNF581"
    name = "folds-of-numbers"
    message = "{splitter} does not accept the data since scikit-learn 0.18; its method split does instead"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if "sklearn" not in source.words or source.words.isdisjoint(FOLDS):
            return
        for call in uses_of(source).calls():
            written = source.written(call.func) or ""
            module, _, name = written.rpartition(".")
            if module not in ("sklearn.cross_validation", "sklearn.model_selection") or name not in FOLDS:
                continue
            if _is_old(source, call, FOLDS[name], module):
                yield _hit(source, call, name, module)

    programs = """
=== example: folds of a number of samples
import numpy as np
import torch
- from sklearn.cross_validation import KFold
+ from sklearn.model_selection import KFold

X = np.zeros((10, 3))
- folds = KFold(len(X), n_folds=5)
- for i, (train, test) in enumerate(folds):
-     print(i, torch.from_numpy(X[train]).shape, len(folds))
+ folds = KFold(n_splits=5)
+ for i, (train, test) in enumerate(folds.split(X)):
+     print(i, torch.from_numpy(X[train]).shape, folds.get_n_splits(X))

=== example: stratified folds in a loop
import numpy as np
import torch
- from sklearn import cross_validation
+ from sklearn import model_selection

y = np.arange(12) % 2
- for train, test in cross_validation.StratifiedKFold(y, 4, True):
+ for train, test in model_selection.StratifiedKFold(n_splits=4, shuffle=True).split(y, y):
    print(torch.from_numpy(y[test]))

=== example: folds that are passed on, and a number that was left out
import numpy as np
import torch
- from sklearn.cross_validation import KFold, ShuffleSplit, cross_val_score
+ from sklearn.model_selection import KFold, ShuffleSplit, cross_val_score
from sklearn.linear_model import LinearRegression

x = torch.ones(12, 2).numpy()
- kfold = KFold(n=x.shape[0], shuffle=True, random_state=7)
+ kfold = KFold(shuffle=True, random_state=7, n_splits=3)
print(cross_val_score(LinearRegression(), x, x[:, 0], cv=kfold))
- for train, test in ShuffleSplit(100, n_iter=2, test_size=0.25):
+ for train, test in ShuffleSplit(n_splits=2, test_size=0.25).split(range(100)):
    print(len(train))

=== reject: folds of today
import numpy as np
import torch
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit

X = torch.zeros(10, 2).numpy()
for train, test in KFold(5, shuffle=True).split(X):
    print(len(train))
print(KFold(5), KFold(n_splits=3), LeaveOneOut().get_n_splits(X), ShuffleSplit(3, test_size=0.5))
print(KFold(5, True, 42), ShuffleSplit(10, 0.2))

=== reject: a class of the program's own
import torch
from sklearn.preprocessing import scale


class KFold:
    def __init__(self, n, n_folds):
        self.parts = torch.arange(n).chunk(n_folds)

    def __iter__(self):
        return iter(self.parts)


for part in KFold(10, n_folds=5):
    print(scale(part.numpy()))
"""


def _is_old(source: Source, call: ast.Call, folds: Folds, module: str) -> bool:
    """Whether a call has the former arguments; a positional one has to count samples, as today's are numbers, too."""
    given = {keyword.arg for keyword in call.keywords}
    if None in given or any(isinstance(arg, ast.Starred) for arg in call.args):
        return False
    if module == "sklearn.cross_validation":
        return bool(call.args) or folds.arguments[0] in given
    if call.args and folds.arguments[0] == "n" and _counted(source, call.args[0]) is not None:
        return True
    return not given.isdisjoint((folds.arguments[0], "n_folds", "n_iter"))


def _hit(source: Source, call: ast.Call, name: str, module: str) -> Hit:
    folds, site = FOLDS[name], source.site(call)
    named = {keyword.arg or "": keyword.value for keyword in call.keywords}
    first = call.args[0] if call.args else named.get(folds.arguments[0])
    edits: list[Edit] | None = None
    if first is not None and len(call.args) <= len(folds.arguments):
        edits = _uses(source, call, _data(source, folds, first))
    same = name in ("KFold", "LeaveOneOut", "LeavePOut") and "shuffle" not in named and len(call.args) < 3
    return Hit(
        site,
        FoldsOfNumbers.message.format(splitter=name),
        title=f"pass the data to split instead of {name}",
        edits=() if edits is None else (*_settings(source, call, folds), *edits),
        decline="the uses of the folds are not known" if edits is None else "",
        safe=same and module == "sklearn.model_selection",
        removed={"sklearn": "0.20"},
    )


def _settings(source: Source, call: ast.Call, folds: Folds) -> Iterator[Edit]:
    """The edits of the class's own arguments."""
    site, named = source.site(call), {keyword.arg for keyword in call.keywords}
    old, new = folds.renamed or ("", "")
    for place in reversed(range(len(call.args))):
        if not (folds.stays and place):
            yield RemoveArgument(site, folds.arguments[place], place)
    for keyword, argument in zip(folds.arguments[1:], call.args[1:], strict=False):
        if not folds.stays:
            yield SetArgument(site, new if keyword == old else keyword, source.segment(source.site(argument)))
    if folds.arguments[0] in named:
        yield RemoveArgument(site, folds.arguments[0])
    if old and old in named:
        yield RenameArgument(site, old, new)
    elif folds.default and len(call.args) < 2:
        yield SetArgument(site, new, folds.default)


def _data(source: Source, folds: Folds, first: ast.expr) -> str:
    """The arguments of `split`: the labels, the data that were counted, or a range."""
    text = source.segment(source.site(first))
    if folds.arguments[0] == "n":
        counted = _counted(source, first)
        text = f"range({text})" if counted is None else source.segment(source.site(counted))
    return folds.data.format(text)


def _counted(source: Source, first: ast.expr) -> ast.expr | None:
    """The data whose samples are counted: `X` in `len(X)` and `X.shape[0]`."""
    match first:
        case ast.Call(func=function, args=[data]) if source.qualified(function) == "builtins.len":
            return data
        case ast.Subscript(value=ast.Attribute(value=data, attr="shape"), slice=ast.Constant(value=0)):
            return data
    return None


def _uses(source: Source, call: ast.Call, data: str) -> list[Edit] | None:
    """The edits where folds are iterated over or counted; `None` where they are used in other ways."""
    places = _places(source, call)
    edits: list[Edit] = []
    for place in places or ():
        above, site = source.parent(place), source.site(place)
        name = source.qualified(above.func) if isinstance(above, ast.Call) else None
        if isinstance(above, (ast.For, ast.comprehension)) and above.iter is place or name in CONSUMERS:
            edits.append(Wrap(site, "", f".split({data})"))
        elif isinstance(above, ast.Call) and name == "builtins.len":
            edits.append(Replace(source.site(above), f"{source.segment(site)}.get_n_splits({data})"))
        elif not _is_handed_on(source, place):
            return None
    return None if places is None else edits


def _places(source: Source, call: ast.Call) -> list[ast.expr] | None:
    """The call itself, or the reads of the name it is assigned to; `None` where they may be other folds."""
    above = source.parent(call)
    if not isinstance(above, ast.Assign):
        return [call]
    target = above.targets[0]
    if len(above.targets) > 1 or not isinstance(target, ast.Name):
        return None
    reads = [name for name in uses_of(source).names(target.id) if isinstance(name.ctx, ast.Load)]
    reads = [name for name in reads if call in source.bindings(name)]
    return list(reads) if all(source.bindings(name) == (call,) for name in reads) else None


def _is_handed_on(source: Source, place: ast.expr) -> bool:
    """Whether folds are passed to a function that splits its own data, or only printed."""
    above = source.parent(place)
    if isinstance(above, ast.keyword):
        return above.arg == "cv"
    if not isinstance(above, ast.Call):
        return isinstance(above, ast.Expr)
    name = source.qualified(above.func) or ""
    return name == "builtins.print" or name.rpartition(".")[2] in SPLITTERS
