"""The result of a call that changes its object and gives nothing is kept in place of the object."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Example,
    FixPattern,
    Mend,
    Reject,
    RemoveArgument,
    Replace,
    Source,
    Subject,
    keyword_value,
    loops_around,
    words,
)

OF_LISTS = words("append extend insert sort reverse clear remove")
"""Methods of lists, sets and dictionaries that change the object and give `None`."""

OF_OTHERS = words("update discard add compile backward zero_grad summary load_weights save_weights adapt")
"""Methods of dictionaries, sets, models, losses and optimizers that give `None`."""

SHUFFLES = words("random.shuffle numpy.random.shuffle")
"""Functions that shuffle what they are given."""


@dataclass(frozen=True, slots=True)
class Lost:
    """An assignment that keeps `None`, what the call changes, and how a changed copy would be made instead."""

    statement: ast.Assign
    call: ast.Call
    changed: ast.expr
    copied: tuple[Edit, ...] = ()


class NothingKeptAsValue(CrashTemplate):
    """`data = random.shuffle(data)` and `losses = losses.append(x)` keep `None` in place of the data.

    Methods that change their object give nothing: `append` and `sort` of lists, `shuffle`, `drop` and its like with
    `inplace=True`, `compile` of a Keras model. Where the name that gets the result is that of the object itself, the call
    stands alone. Where it is another name, the call is exchanged for the one that makes a changed copy, if there is one;
    not where the object is used afterwards and would now have other rows, or another order of them, than the copy.

    Reported where the program stopped over a `None`, and one assignment in it keeps the result of such a call.

    Fix safety: unsafe. The object is used where there was nothing.

    References: https://docs.python.org/3/library/stdtypes.html#mutable-sequence-types; pandas.DataFrame.drop.
    """

    code = "DNF643"
    name = "nothing-kept-as-value"
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"TypeError", "AttributeError", "ValueError", "RuntimeError"})
    confidence = 0.9

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        if "NoneType" not in crash.message and not any(held.kind == "NoneType" for held in crash.held):
            return
        source = subject.source
        own = {function.name for function in source.nodes(ast.FunctionDef)}
        lost = [found for found in _lost(source, own) if _reached(source, crash, found)]
        for found in lost:
            edits, title = _edits(subject, found)
            if edits:
                what = f"{subject.text(source.site(found.call.func))} gives None, which is kept in place of a value"
                yield Mend(source.site(found.statement), what, ((title, edits, 0.9),))

    examples = (
        Example(
            "indices that are shuffled",
            """\
import random
import torch

order = list(range(6))
- order = random.shuffle(order)
+ random.shuffle(order)
data = torch.randn(6, 3)
print(data[order[:4]].shape)
""",
            runs=True,
        ),
        Example(
            "losses that are collected",
            """\
import torch

net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
losses = []
for step in range(3):
    loss = net(torch.ones(4, 2)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
-     losses = losses.append(loss.item())
+     losses.append(loss.item())
print(len(losses))
""",
            runs=True,
        ),
        Example(
            "columns that are dropped in place, under another name",
            """\
import pandas as pd
import torch

frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "y": [0, 1]})
- inputs = frame.drop("y", axis=1, inplace=True)
+ inputs = frame.drop("y", axis=1)
x = torch.tensor(inputs.values, dtype=torch.float32)
y = torch.tensor(frame["y"].values)
print(torch.nn.functional.cross_entropy(torch.nn.Linear(2, 2)(x), y).item())
""",
            runs=True,
        ),
        Example(
            "a model that is compiled",
            """\
import keras
import numpy as np

model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
- model = model.compile(optimizer="sgd", loss="mse")
+ model.compile(optimizer="sgd", loss="mse")
model.fit(np.ones((8, 4)), np.ones((8, 1)), epochs=1, verbose=0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "rows that are put in order together with what is used beside them",
            """\
import pandas as pd
import torch

frame = pd.DataFrame({"t": [2, 1], "a": [3.0, 4.0], "y": [0.0, 1.0]})
ordered = frame.sort_values("t", inplace=True)
x, y = torch.tensor(ordered[["a"]].values), torch.tensor(frame["y"].values)
print(x.shape, y.shape)
""",
            runs=True,
        ),
        Reject(
            "an own method of that name, and a None from elsewhere",
            """\
import torch


class Log:
    def __init__(self):
        self.values = []

    def append(self, value):
        self.values.append(value)
        return self


def find(name):
    return {"a": 1}.get(name)


log = Log()
log = log.append(torch.ones(1).item())
print(find("b")[0])
""",
            runs=True,
        ),
        Reject(
            "a sort that gives the sorted tensor",
            """\
import torch

values = torch.randn(5)
values = values.sort()
print(values.values[0], values.indices[0])
""",
            runs=True,
        ),
        Reject(
            "a list that is kept, and a value that is None",
            """\
import torch

seen = [torch.ones(2)]
seen.append(torch.zeros(2))
best = None
print(best[0])
""",
            runs=True,
        ),
    )


def _lost(source: Source, own: set[str]) -> Iterator[Lost]:
    """The assignments of a program that keep the result of a call that gives none."""
    for statement in source.nodes(ast.Assign):
        call = statement.value
        if len(statement.targets) != 1 or not isinstance(call, ast.Call):
            continue
        if not isinstance(statement.targets[0], (ast.Name, ast.Attribute)):
            continue
        name = source.qualified(call.func) or ""
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if name in SHUFFLES and len(call.args) == 1:
            yield Lost(statement, call, call.args[0], (Replace(source.site(call), _shuffled(call, name)),))
        elif not isinstance(call.func, ast.Attribute) or method in own:
            continue
        elif _is_true(keyword_value(call, "inplace")):
            copied = (RemoveArgument(source.site(call), "inplace"),)
            yield Lost(statement, call, call.func.value, copied)
        elif method == "sort" and not call.args:
            given = "".join(f", {ast.unparse(keyword)}" for keyword in call.keywords)
            sort = f"sorted({ast.unparse(call.func.value)}{given})"
            yield Lost(statement, call, call.func.value, (Replace(source.site(call), sort),))
        elif method in OF_LISTS or method in OF_OTHERS:
            yield Lost(statement, call, call.func.value)


def _shuffled(call: ast.Call, name: str) -> str:
    """How a shuffled copy is made; nothing where the function was imported by its own name."""
    shuffled = ast.unparse(call.args[0])
    module = ast.unparse(call.func).rpartition(".")[0]
    if not module:
        return ""
    return (
        f"{module}.sample({shuffled}, len({shuffled}))"
        if name == "random.shuffle"
        else f"{module}.permutation({shuffled})"
    )


def _is_true(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is True


def _reached(source: Source, crash: Crash, lost: Lost) -> bool:
    """Whether the `None` that stopped the program can be the one that the assignment keeps."""
    target = lost.statement.targets[0]
    kept = ast.unparse(target)
    empty = [source.node_at(held.site) for held in crash.held if held.kind == "NoneType"]
    if crash.site is not None and source.site(lost.statement).encloses(crash.site):
        # The call itself stopped: only an earlier turn can have put the `None` there.
        again = bool(loops_around(source, lost.statement)) or source.enclosing(target, ast.FunctionDef) is not None
        return again and any(node is not None and ast.unparse(node) == kept for node in empty)
    for node in empty:
        if isinstance(node, (ast.Name, ast.Attribute)) and _same(node, target):
            return True
        if isinstance(node, ast.Name) and _is_parameter(source, node):
            return any(_given(call, kept) for call in source.all_calls)
    return False


def _same(node: ast.Name | ast.Attribute, target: ast.expr) -> bool:
    return ast.unparse(node) == ast.unparse(target)


def _is_parameter(source: Source, node: ast.Name) -> bool:
    function = source.enclosing(node, ast.FunctionDef)
    return function is not None and any(one.arg == node.id for one in (*function.args.args, *function.args.kwonlyargs))


def _given(call: ast.Call, name: str) -> bool:
    """Whether a call is given what the assignment keeps."""
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    return any(isinstance(one, (ast.Name, ast.Attribute)) and ast.unparse(one) == name for one in given)


def _edits(subject: Subject, lost: Lost) -> tuple[tuple[Edit, ...], str]:
    """What is written instead, and what it is called."""
    source = subject.source
    if ast.unparse(lost.changed) == ast.unparse(lost.statement.targets[0]):
        alone = Replace(source.site(lost.statement), subject.text(source.site(lost.call)))
        return (alone,), "Keep the object, not the result of the call"
    if any(isinstance(edit, Replace) and not edit.code for edit in lost.copied):
        return (), ""
    if not _drops_columns(lost.call) and _read_later(source, lost):
        return (), ""
    return lost.copied, "Make a changed copy"


def _drops_columns(call: ast.Call) -> bool:
    """Whether a call leaves the rows as they are: a `drop` of columns, a filling, other names."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    axis = keyword_value(call, "axis")
    columns = keyword_value(call, "columns") is not None
    columns = columns or isinstance(axis, ast.Constant) and axis.value in (1, "columns")
    return method in ("fillna", "rename") or method == "drop" and columns


def _read_later(source: Source, lost: Lost) -> bool:
    """Whether the object that would be left as it is is read after the call."""
    changed = ast.unparse(lost.changed)
    function = source.enclosing(lost.statement, ast.FunctionDef)
    end = lost.statement.end_lineno or lost.statement.lineno
    nodes: list[ast.Name | ast.Attribute] = [*source.nodes(ast.Name), *source.nodes(ast.Attribute)]
    return any(
        node.lineno > end and ast.unparse(node) == changed
        for node in nodes
        if isinstance(node.ctx, ast.Load) and source.enclosing(node, ast.FunctionDef) is function
    )
