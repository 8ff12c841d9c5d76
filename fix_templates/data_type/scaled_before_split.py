"""Data are scaled by statistics of all of them, and split into parts to train and to test afterwards."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Decline,
    Delete,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    Nature,
    ReadTemplate,
    Source,
    Subject,
    scaling,
    trees,
)


class ScaledBeforeSplit(ReadTemplate):
    """A scaler is fitted on all data, or they are scaled by their own mean and deviation, before the test set is split off.

    What the network is trained on then depends on the data that it is to be tested on: the figures of the test are too good. The
    statistics are those of the training data alone.

    Fix safety: unsafe. The data have other values.

    References: https://scikit-learn.org/stable/common_pitfalls.html ("Data leakage").
    """

    code = "DNF661"
    name = "scaled-before-split"
    message = (
        "`{data}` is scaled by the statistics of all data, and split in line {line}: those of the test set take part"
    )
    confidence = 0.8
    family = Family.DATA_TYPE
    fix_pattern = FixPattern.DATA_WRANGLING
    nature = Nature.RISK
    silent = 8
    default = False
    declined = "the split has to go before the scaling"
    triggers = ("fit_transform", "fit", "mean", "min", "max", "std", "scale", "minmax_scale")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for each in scaling.fittings(source):
            if not _is_part(ast.unparse(each.data)) or _is_all_there_is(source, each):
                yield from _split_later(source, each.call, each.data)
        for node in (*source.nodes(ast.BinOp), *source.all_calls):
            data = scaling.scaled_by_itself(source, node)
            if data and not _is_part(data) and isinstance(source.statement_of(node), ast.Assign):
                yield from _split_later(source, node, ast.parse(data, mode="eval").body)
        for statement in source.nodes(ast.AugAssign):
            data = scaling.scaled_by_itself(source, statement)
            split = scaling.split_after(source, statement, statement.target) if data and not _is_part(data) else None
            if split is not None:
                yield Fault(source.site(statement), {"data": data, "line": split.lineno}, (Decline(self.declined),))

    programs = """
=== example: a scaler of all data
import torch
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

scaler = StandardScaler()
- X = scaler.fit_transform(X)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2)
+ X_train = scaler.fit_transform(X_train)
+ X_test = scaler.transform(X_test)
x = torch.from_numpy(X_train)

=== finds: named after training, and all that there is
import torch
from sklearn.preprocessing import MinMaxScaler

sc = MinMaxScaler()
rows = sc.fit_transform(training_rows)
x, y = windows(rows, 5)
size = int(len(y) * 0.7)
train_x = torch.Tensor(x[0:size])
test_x = torch.Tensor(x[size:len(x)])

=== finds: a scaler for each column
import numpy as np
import torch
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

each = [MinMaxScaler() for _ in range(3)]
for k in range(3):
    rows[:, k] = each[k].fit_transform(rows[:, k].reshape(-1, 1)).ravel()
x, y = windows(rows)
x_train, x_test, y_train, y_test = train_test_split(x, y)

=== finds: by a function of the text
import torch
from sklearn.model_selection import train_test_split

def centred(x):
    middle = x.mean(axis=0)
    return (x - middle) / x.std(axis=0)

rows = centred(rows)
first, rest = train_test_split(rows)

=== finds: in place
import torch

rows -= rows.mean(axis=0)
rows /= rows.std(axis=0)
x_train, x_test = rows[:800], rows[800:]

=== finds: by a function, and a data set that takes its part
import torch
from sklearn import preprocessing
from torch.utils.data import Dataset

class Rows(Dataset):
    def __init__(self, path, train=True):
        rows = preprocessing.scale(load(path))
        self.rows = rows[:800] if train else rows[800:]

=== reject: the training data, of which a part is held out
import torch
from sklearn.preprocessing import StandardScaler

scaler = StandardScaler()
x_train = scaler.fit_transform(x_train)
x_test = scaler.transform(x_test)
x_val = x_train[800:]
x_train = x_train[:800]

=== reject: each sample by its own statistics
import torch
from sklearn.model_selection import train_test_split

rows = (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)
first, rest = train_test_split(rows)

=== reject: split first
import torch
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

x_train, x_test = train_test_split(x)
scaler = StandardScaler()
x_train = scaler.fit_transform(x_train)
x_test = scaler.transform(x_test)

=== reject: fitted on the first part
import torch
from sklearn.preprocessing import StandardScaler

scaler = StandardScaler()
scaler.fit(data[:border])
data = scaler.transform(data)
train, test = data[:border], data[border:]
"""


def _is_part(data: str) -> bool:
    """Whether data are a part to train or to test already."""
    bounds = re.search(r"[^\[\s]:|:[^\],\s]", data.split(",")[0])
    return scaling.TRAIN.search(data) is not None or scaling.TEST.search(data) is not None or bounds is not None


def _is_all_there_is(source: Source, each: scaling.Fitting) -> bool:
    """Whether data that are named after training are all that the text has, so that those to test are a part of them."""
    data = ast.unparse(each.data)
    if each.function != "fit_transform" or scaling.TRAIN.search(data) is None or scaling.TEST.search(data) is not None:
        return False
    if any(trees.last_name(call.func) in ("transform", "train_test_split") for call in source.all_calls):
        return False
    stored = [node for node in source.nodes(ast.Name) if isinstance(node.ctx, ast.Store)]
    tests = [node for node in stored if scaling.TEST.search(node.id) and "size" not in node.id and "len" not in node.id]
    return bool(tests) and all(node.lineno > each.call.lineno for node in tests)


def _split_later(source: Source, node: ast.expr, data: ast.expr) -> Iterator[Fault]:
    statement = source.statement_of(node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    only_fitted = isinstance(node, ast.Call) and trees.last_name(node.func) == "fit"
    followed: list[ast.expr] = [*targets]
    if only_fitted or not targets:
        followed += [ast.Name(name, ast.Load()) for name in sorted(trees.names_in(data))]
    for one in followed:
        split = scaling.split_after(source, statement, one)
        if split is not None:
            said = {"data": ast.unparse(data), "line": split.lineno}
            way = "Split first, and scale by the training data", _split_first(source, node, statement, split), 0.7
            yield Fault(source.site(node), said, (way, Decline(ScaledBeforeSplit.declined)))
            return


def _split_first(source: Source, node: ast.expr, statement: ast.stmt, split: ast.stmt) -> tuple[Edit, ...] | None:
    """Scale the parts behind the split, where it follows at once and names two of them."""
    if not isinstance(statement, ast.Assign) or statement.value is not node or not isinstance(split, ast.Assign):
        return None
    call, parts = split.value, split.targets[0]
    own = ast.unparse(statement.targets[0])
    if not isinstance(call, ast.Call) or not isinstance(parts, ast.Tuple) or not isinstance(node, ast.Call):
        return None
    if len(parts.elts) < 2 or not call.args or ast.unparse(call.args[0]) != own or ast.unparse(node.args[0]) != own:
        return None
    if not isinstance(node.func, ast.Attribute) or len(node.args) != 1:
        return None
    train, test = (ast.unparse(one) for one in parts.elts[:2])
    scaler = ast.unparse(node.func.value)
    below = f"{train} = {scaler}.fit_transform({train})\n{test} = {scaler}.transform({test})"
    return Delete(source.site(statement)), InsertAfter(source.site(split), below)
