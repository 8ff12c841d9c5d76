"""Inputs and labels are shuffled separately, each in another order."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from dnnfix.api import (
    Delete,
    Edit,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Repairs,
    Replace,
    Site,
    Source,
    Subject,
    Symptom,
    order_edits,
    training_loop,
    within,
    words,
)

IN_PLACE = ("numpy.random.shuffle", "random.shuffle")
GIVING = ("numpy.random.permutation", "sklearn.utils.shuffle")
SEEDING = words("seed set_state setstate RandomState default_rng Random manual_seed set_seed")
TOGETHER = words("fit train_on_batch zip TensorDataset train_test_split from_tensor_slices evaluate flow")

INPUTS = words("x xs inputs input features data images imgs samples texts sentences")
LABELS = words("y ys labels label targets target classes")


@dataclass(frozen=True, slots=True)
class Apart:
    """Two statements that shuffle inputs and labels, the function that they call, and what each shuffles."""

    first: ast.stmt
    second: ast.stmt
    function: str
    written: str
    one: str
    other: str


class InputsAndLabelsShuffledApart(FaultTemplate[Apart]):
    """`np.random.shuffle(x)` and `np.random.shuffle(y)` shuffle in different orders: inputs get the labels of others.

    Reported where two calls of one function, in one block and with no seed between them, shuffle two arrays that the
    program passes together as inputs and labels.

    Fix safety: unsafe. Both are put in the same random order.

    References: numpy.random.Generator.permutation; sklearn.utils.shuffle ("Shuffle arrays in a consistent way").
    """

    code = "DNF162"
    name = "inputs-and-labels-shuffled-apart"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_WRANGLING
    message = "`{one}` and `{other}` belong together, and each is shuffled in a different order"
    triggers = ("shuffle", "permutation")
    declined = "the two shuffles cannot be rewritten to use one order"

    def faults(self, subject: Subject) -> Faults[Apart]:
        source = subject.source
        if not source.frameworks:
            return
        for apart in _apart(source):
            yield source.site(apart.second), apart

    def report(self, site: Site, fault: Apart) -> Finding:
        return self.finding(site, symptom=Symptom.NOT_LEARNING, confidence=0.9, one=fault.one, other=fault.other)

    def repairs(self, subject: Subject, fault: Apart) -> Repairs:
        site = subject.source.site
        edits: tuple[Edit, ...]
        if fault.function == "sklearn.utils.shuffle":
            edits = (
                Delete(site(fault.first)),
                Replace(
                    site(fault.second), f"{fault.one}, {fault.other} = {fault.written}({fault.one}, {fault.other})"
                ),
            )
        else:
            order = order_edits.order_name(subject.source)
            edits = (
                Replace(site(fault.first), _drawn(fault, order)),
                Replace(site(fault.second), _ordered(fault, order)),
            )
        yield f"Shuffle `{fault.one}` and `{fault.other}` in the same order", edits, 0.9

    programs = """
=== example: arrays in place
import numpy as np
import keras

- np.random.shuffle(x_train)
- np.random.shuffle(y_train)
+ order = np.random.permutation(len(x_train))
+ x_train[:], y_train[:] = x_train[order], y_train[order]
model.fit(x_train, y_train, epochs=5)

=== example: lists in place
import random

import torch

def pairs(files, labels):
-     random.shuffle(files)
-     random.shuffle(labels)
+     order = random.sample(range(len(files)), len(files))
+     files[:], labels[:] = [files[i] for i in order], [labels[i] for i in order]
    return list(zip(files, labels))

=== example: new arrays
from sklearn.utils import shuffle
from tensorflow import keras

- X = shuffle(X)
- y = shuffle(y)
+ X, y = shuffle(X, y)
model.fit(X, y)

=== reject: the same seed for both
import numpy as np
import keras

np.random.seed(7)
np.random.shuffle(x)
np.random.seed(7)
np.random.shuffle(y)
model.fit(x, y)

=== reject: two classes that are joined later
import numpy as np
import torch

np.random.shuffle(cats)
np.random.shuffle(dogs)
data = np.concatenate([cats, dogs])

=== reject: with the same random state
from sklearn.utils import shuffle
import keras

X = shuffle(X, random_state=0)
y = shuffle(y, random_state=0)
model.fit(X, y)
"""


def _drawn(fault: Apart, order: str) -> str:
    if fault.function == "random.shuffle":
        sample = fault.written.removesuffix("shuffle") + "sample"
        return f"{order} = {sample}(range(len({fault.one})), len({fault.one}))"
    base = fault.written.rpartition(".")[0]
    return order_edits.order_drawn(order, f"{base}.permutation", fault.one)


def _ordered(fault: Apart, order: str) -> str:
    if fault.function == "random.shuffle":
        parts = ", ".join(f"[{name}[i] for i in {order}]" for name in (fault.one, fault.other))
        return f"{fault.one}[:], {fault.other}[:] = {parts}"
    whole = "[:]" if fault.function == "numpy.random.shuffle" else ""
    return f"{fault.one}{whole}, {fault.other}{whole} = {fault.one}[{order}], {fault.other}[{order}]"


def _apart(source: Source) -> Iterator[Apart]:
    shuffles = [found for call in source.calls(*IN_PLACE, *GIVING) if (found := _shuffled(source, call)) is not None]
    for (first, what, call), (second, other, again) in pairwise(shuffles):
        block, written = training_loop.block_of(source, first), ast.unparse(call.func)
        if second not in block or what == other or ast.unparse(again.func) != written:
            continue
        if "." not in written and source.qualified(call.func) != "sklearn.utils.shuffle":
            continue
        between = block[block.index(first) + 1 : block.index(second)]
        if any(_seeds(statement) for statement in between) or not _are_pairs(source, what, other):
            continue
        yield Apart(first, second, source.qualified(call.func) or "", written, what, other)


def _shuffled(source: Source, call: ast.Call) -> tuple[ast.stmt, str, ast.Call] | None:
    """The statement that shuffles, what it shuffles, and the call; `None` if it does something else as well."""
    if len(call.args) != 1 or call.keywords or not isinstance(call.args[0], (ast.Name, ast.Attribute)):
        return None
    holder, what = source.parent(call), ast.unparse(call.args[0])
    if source.qualified(call.func) in IN_PLACE:
        return (holder, what, call) if isinstance(holder, ast.Expr) else None
    if isinstance(holder, ast.Assign) and len(holder.targets) == 1 and ast.unparse(holder.targets[0]) == what:
        return holder, what, call
    return None


def _seeds(statement: ast.stmt) -> bool:
    return any(node.attr in SEEDING for node in within(statement, ast.Attribute)) or any(
        node.id in SEEDING for node in within(statement, ast.Name)
    )


def _named_alike(one: str, other: str) -> bool:
    """Whether two names differ only in the word for inputs and labels, as `x_train` and `y_train` do."""
    first, second = one.lower().split("_"), other.lower().split("_")
    different = [pair for pair in zip(first, second, strict=False) if pair[0] != pair[1]]
    if len(first) != len(second) or len(different) != 1:
        return False
    return different[0][0] in INPUTS and different[0][1] in LABELS


def _are_pairs(source: Source, one: str, other: str) -> bool:
    """Whether two names pair up, or a call has both as its inputs and labels."""
    if _named_alike(one, other) or _named_alike(other, one):
        return True
    for call in source.all_calls:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
        if name not in TOGETHER:
            continue
        given = (
            call.args[0].elts
            if call.args and isinstance(call.args[0], ast.Tuple)
            else [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg in ("x", "y"))]
        )
        texts = [ast.unparse(each) for each in given[:2]]
        if texts == [one, other] or texts == [other, one]:
            return True
    return False
