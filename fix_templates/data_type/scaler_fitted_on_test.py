"""A scaler is fitted on test data, or fitted again on other data than those it was fitted on first."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Decline,
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Replace,
    Source,
    Subject,
    function_around,
    scaling,
    structure,
    trees,
)

OF_SAMPLES = re.compile(r"(axis|dim)=\(?-?[123]|keepdim|(mean|std|min|max)\(-?[1-3]\)")
"""Statistics of each sample or row, which need no training data."""


class ScalerFittedOnTest(ReadTemplate):
    """A scaler is fitted on the data for evaluation, so that these are scaled otherwise than what the network was trained on.

    `fit_transform` on the test set uses its own mean and deviation: the same number means something else there. So it does where one
    scaler is fitted on two sets of data one after the other: it knows only the last ones, and `inverse_transform` gives back others. A
    scaler that is fitted where the network is used, on what is predicted for, is the same fault.

    Fix safety: unsafe. The data for evaluation have other values, those of the training's scale.

    References: https://scikit-learn.org/stable/common_pitfalls.html ("Inconsistent preprocessing", "Data leakage").
    """

    code = "DNF660"
    name = "scaler-fitted-on-test"
    message = "`{scaler}` {what}"
    confidence = 0.85
    family = Family.DATA_TYPE
    fix_pattern = FixPattern.DATA_WRANGLING
    nature = Nature.RISK
    silent = 8
    default = False
    declined = "a second scaler is needed, or the one of the training"
    triggers = ("fit_transform", "fit", "mean", "min", "scale", "minmax_scale")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        fitted = scaling.fittings(source)
        for each in fitted:
            before = [one for one in fitted if one.scaler == each.scaler and _is_before(source, one, each)]
            reading = "transform" if each.function == "fit_transform" and before else ""
            data = ast.unparse(each.data)
            if scaling.TEST.search(data) and not scaling.TRAIN.search(data):
                what = f"is fitted on `{data}`, which is to be scaled as the training data were"
            elif before:
                what = f"was fitted on `{ast.unparse(before[-1].data)}` before, and is fitted anew on `{data}`"
                reading = ""
            elif _is_called_for_both(source, each):
                what = f"is fitted on `{data}` in each call, on the data for evaluation as well"
                reading = ""
            elif _is_used_for_prediction(source, each):
                what = f"is fitted on `{data}`, for which predictions are made: they are scaled otherwise than the training data were"
            else:
                continue
            edits = (Replace(source.site(each.call.func), f"{each.scaler}.transform"),) if reading else None
            said = {"scaler": each.scaler, "what": what}
            yield Fault(
                source.site(each.call),
                said,
                (("Transform the data by the scaler of the training", edits, 0.9), Decline(self.declined)),
            )

        yield from _by_own_statistics(source)

    programs = """
=== example: fitted on the test set as well
import torch
from sklearn.preprocessing import StandardScaler

sc = StandardScaler()
X_train = sc.fit_transform(X_train)
- X_test = sc.fit_transform(X_test)
+ X_test = sc.transform(X_test)
x = torch.from_numpy(X_train)

=== finds: by the statistics of the test set, by hand
import torch

x_train = (x_train - x_train.mean(axis=0)) / x_train.std(axis=0)
x_test = (x_test - x_test.mean(axis=0)) / x_test.std(axis=0)
x = torch.from_numpy(x_train)

=== finds: by a function
import torch
from sklearn import preprocessing

x_train = preprocessing.scale(x_train)
x_test = preprocessing.scale(x_test)
x = torch.from_numpy(x_train)

=== example: as a step
import torch
from sklearn.pipeline import make_pipeline
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

steps = make_pipeline(SimpleImputer(), StandardScaler())
rows_train = steps.fit_transform(rows_train)
- rows_test = steps.fit_transform(rows_test)
+ rows_test = steps.transform(rows_test)
x = torch.from_numpy(rows_train)

=== finds: in a class of data
import torch
from sklearn.preprocessing import StandardScaler
from torch.utils.data import Dataset

class Rows(Dataset):
    def __init__(self, table):
        self.rows = StandardScaler().fit_transform(table.values)

train_set = Rows(train_table)
test_set = Rows(test_table)

=== reject: a class of data that fits once
import torch
from sklearn.preprocessing import StandardScaler
from torch.utils.data import Dataset

class Rows(Dataset):
    def __init__(self, table, scaler=None):
        if scaler is None:
            scaler = StandardScaler()
            scaler.fit(table.values)
        self.rows = scaler.transform(table.values)
        self.scaler = scaler

train_set = Rows(train_table)
test_set = Rows(test_table, train_set.scaler)

=== reject: each sample by its own statistics
import torch

x_train = (x_train - x_train.mean(axis=1, keepdims=True)) / x_train.std(axis=1, keepdims=True)
x_test = (x_test - x_test.mean(axis=1, keepdims=True)) / x_test.std(axis=1, keepdims=True)

=== reject: by the statistics of the training data
import torch

x_test = (x_test - x_train.mean(0)) / x_train.std(0)
x_train = (x_train - x_train.mean(0)) / x_train.std(0)

=== reject: to be shown
import torch

test_map = (test_map - test_map.min()) / (test_map.max() - test_map.min())
show(test_map)

=== reject: transformed
import torch
from sklearn.preprocessing import StandardScaler

sc = StandardScaler()
X_train = sc.fit_transform(X_train)
X_test = sc.transform(X_test)

=== reject: a scaler for each
import torch
from sklearn.preprocessing import MinMaxScaler

scaler_x, scaler_y = MinMaxScaler(), MinMaxScaler()
x_train = scaler_x.fit_transform(x_train)
y_train = scaler_y.fit_transform(y_train)

=== reject: a scaler for each fold
import torch
from sklearn.preprocessing import StandardScaler

for train, test in folds.split(x):
    scaler = StandardScaler()
    x_train = scaler.fit_transform(x[train])
    x_test = scaler.transform(x[test])
"""


def _is_called_for_both(source: Source, each: scaling.Fitting) -> bool:
    """Whether a scaler is made and fitted in a function, or a class of data, that is called for training data and for others."""
    around = function_around(source, each.call)
    if around is None or source.enclosing(each.call, ast.If) is not None:
        return False
    owner = source.parent(around) if around.name == "__init__" else around
    held = each.call.func.value if isinstance(each.call.func, ast.Attribute) else each.call.func
    made = held if isinstance(held, ast.Call) else source.constructor(held)
    given = {one.arg for one in around.args.args} & trees.names_in(each.data)
    if not isinstance(owner, (ast.ClassDef, ast.FunctionDef)) or made is None or not given - {"self"}:
        return False
    if function_around(source, made) is not around:
        return False
    texts = [
        ast.unparse(call.args[0]) for call in source.all_calls if call.args and source.definition(call.func) is owner
    ]
    trains = any(scaling.TRAIN.search(text) and not scaling.TEST.search(text) for text in texts)
    return trains and any(scaling.TEST.search(text) and not scaling.TRAIN.search(text) for text in texts)


def _by_own_statistics(source: Source) -> Iterator[Fault]:
    """Data for evaluation that are scaled by their own statistics in a text that scales those to train on in the same way."""
    if scaling.TEST.search(source.text) is None:
        return
    found = []
    nodes: list[ast.expr | ast.stmt] = [*source.nodes(ast.BinOp), *source.all_calls, *source.nodes(ast.AugAssign)]
    for node in nodes:
        data = scaling.scaled_by_itself(source, node)
        if data and not OF_SAMPLES.search(ast.unparse(source.statement_of(node))):
            found.append((node, data))
    if not any(scaling.TRAIN.search(data) and not scaling.TEST.search(data) for _, data in found):
        return
    for node, data in found:
        if scaling.TEST.search(data) and not scaling.TRAIN.search(data):
            what = "is scaled by its own statistics, and is to be scaled as the training data were"
            yield Fault(source.site(node), {"scaler": data, "what": what}, (Decline(ScalerFittedOnTest.declined),))


def _is_before(source: Source, one: scaling.Fitting, each: scaling.Fitting) -> bool:
    """Whether a scaler was fitted on other data before, and not made anew in between."""
    if (
        isinstance(getattr(each.call.func, "value", None), ast.Call)
        or one is each
        or one.call.lineno >= each.call.lineno
        or ast.unparse(one.data) == ast.unparse(each.data)
    ):
        return False
    if function_around(source, one.call) is not function_around(source, each.call):
        return False
    in_branch = [n for n in source.nodes(ast.If) if _is_in(n.body, one.call) and _is_in(n.orelse, each.call)]
    made = [
        node
        for node in source.nodes(ast.Assign)
        if any(ast.unparse(t) == one.scaler for t in node.targets) and one.call.lineno < node.lineno <= each.call.lineno
    ]
    return not in_branch and not made


def _is_in(statements: list[ast.stmt], node: ast.AST) -> bool:
    return any(s.lineno <= getattr(node, "lineno", 0) <= (s.end_lineno or s.lineno) for s in statements)


def _is_used_for_prediction(source: Source, each: scaling.Fitting) -> bool:
    """Whether a scaler is fitted in a function that predicts by a network that was trained elsewhere."""
    function = function_around(source, each.call)
    if function is None or not function.name.lower().startswith(("predict", "infer", "forecast")):
        return False
    return structure.without_gradients(source, function.body[-1]) or not structure.has(
        source, function, structure.Kind.BACKWARD
    )
