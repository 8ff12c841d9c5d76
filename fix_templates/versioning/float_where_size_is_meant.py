"""`nn.Linear(n / 2, 10)`, `range(n / batch)`: Python 2 divided integers to integers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Edit, Example, Hit, Reject, Replace, Subject, uses_of

LEADING = {
    "torch.nn.Linear": 2,
    "torch.nn.Conv1d": 5,
    "torch.nn.Conv2d": 5,
    "torch.nn.Conv3d": 5,
    "torch.nn.ConvTranspose1d": 6,
    "torch.nn.ConvTranspose2d": 6,
    "torch.nn.ConvTranspose3d": 6,
    "torch.nn.BatchNorm1d": 1,
    "torch.nn.BatchNorm2d": 1,
    "torch.nn.BatchNorm3d": 1,
    "torch.nn.Embedding": 2,
    "torch.nn.LSTM": 3,
    "torch.nn.GRU": 3,
    "torch.nn.RNN": 3,
    "torch.nn.LSTMCell": 2,
    "torch.nn.GRUCell": 2,
    "torch.nn.MaxPool1d": 3,
    "torch.nn.MaxPool2d": 3,
    "torch.nn.AvgPool2d": 3,
    "torch.nn.GroupNorm": 2,
    "keras.layers.Dense": 1,
    "keras.layers.LSTM": 1,
    "keras.layers.GRU": 1,
    "keras.layers.SimpleRNN": 1,
    "keras.layers.Conv1D": 2,
    "keras.layers.Conv2D": 2,
    "keras.layers.Embedding": 2,
    "keras.layers.RepeatVector": 1,
    "builtins.range": 3,
    "torch.zeros": 9,
    "torch.ones": 9,
    "torch.randn": 9,
    "torch.rand": 9,
    "torch.empty": 9,
}
"""By function, how many of its first arguments are whole numbers."""

NAMED = frozenset(
    [
        "in_features",
        "out_features",
        "in_channels",
        "out_channels",
        "kernel_size",
        "stride",
        "padding",
        "num_features",
        "num_embeddings",
        "embedding_dim",
        "input_size",
        "hidden_size",
        "num_layers",
        "units",
        "filters",
        "input_dim",
        "output_dim",
        "strides",
        "pool_size",
        "steps_per_epoch",
        "validation_steps",
        "batch_size",
        "epochs",
    ]
)
"""Keywords that take whole numbers in all of these."""

METHODS = frozenset({"view", "reshape", "repeat", "expand", "narrow"})
"""Methods of tensors that take whole numbers only."""


class FloatWhereSizeIsMeant(ApiChange):
    """`/` gives a float in Python 3, whatever it divides; layers, shapes and `range` take whole numbers.

    Seen where the division stands in the argument itself, or is what the only variable in it was assigned. The division
    becomes `//`, which gives what Python 2 gave.

    Fix safety: safe: the call fails with every float, and `//` of integers is what `/` was in Python 2.

    References: https://peps.python.org/pep-0238/.
    """

    code = "DNF514"
    name = "float-where-size-is-meant"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """Divisions whose result is given as a size."""
        source = subject.source
        divisions = list(uses_of(source).divisions()) if "/" in source.text else []
        assigned = _assigned(subject) if divisions else frozenset()
        seen: set[ast.AST] = set()
        for call in source.all_calls if divisions else ():
            given = (*call.args, *(keyword.value for keyword in call.keywords))
            if not any(_may_divide(argument, assigned) for argument in given):
                continue
            for argument in _sizes(subject, call):
                for division in _divisions(subject, argument):
                    if division in seen:
                        continue
                    seen.add(division)
                    site = source.site(division)
                    yield Hit(
                        site,
                        f"{source.segment(site)} is a float in Python 3, where a whole number is needed",
                        title="divide to a whole number",
                        edits=(_floored(subject, division),),
                        safe=True,
                        confidence=0.9,
                    )

    examples = (
        Example(
            "half as many features",
            """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.first = nn.Conv2d(3, n / 2, 3, padding=1)
        self.second = nn.Linear(n//2*64, out_features=n / 4)
""",
            """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.first = nn.Conv2d(3, n // 2, 3, padding=1)
        self.second = nn.Linear(n//2*64, out_features=n // 4)
""",
        ),
        Example(
            "the number of batches",
            """\
import torch

data = torch.zeros(100, 3)
batches = len(data) / 10  # ten at a time
for i in range(batches):
    print(data[i * 10:(i + 1) * 10].view(10/2, -1).shape)
""",
            """\
import torch

data = torch.zeros(100, 3)
batches = len(data) // 10  # ten at a time
for i in range(batches):
    print(data[i * 10:(i + 1) * 10].view(10//2, -1).shape)
""",
        ),
        Example(
            "units of a Keras layer",
            """\
from keras.layers import Dense
from keras.models import Sequential

size = 64
model = Sequential([Dense(size / 2, activation="relu"), Dense(units=size/4)])
""",
            """\
from keras.layers import Dense
from keras.models import Sequential

size = 64
model = Sequential([Dense(size // 2, activation="relu"), Dense(units=size//4)])
""",
        ),
    )
    rejects = (
        Reject(
            "floats that are meant",
            """\
import torch
from torch import nn

drop = nn.Dropout(1 / 2)
norm = nn.BatchNorm1d(4, 1 / 1000)
scale = torch.ones(3) / 2
layer = nn.Linear(int(8 / 2), round(6 / 2))
""",
        ),
        Reject(
            "whole numbers and paths",
            """\
from pathlib import Path
import torch

for i in range(10 // 2):
    print(torch.load(Path("a") / "b"))
""",
        ),
    )


def _assigned(subject: Subject) -> frozenset[str]:
    """The variables and attributes that a division is assigned to."""
    found: set[str] = set()
    for statement in uses_of(subject.source).assignments():
        if isinstance(statement.value, ast.BinOp):
            for target in statement.targets:
                found.add(target.id if isinstance(target, ast.Name) else getattr(target, "attr", ""))
    return frozenset(found)


def _may_divide(argument: ast.expr, assigned: frozenset[str]) -> bool:
    """Whether an argument can have a division in it: a cheap look before names are resolved."""
    if isinstance(argument, ast.Name):
        return argument.id in assigned
    if isinstance(argument, ast.Attribute):
        return argument.attr in assigned
    if isinstance(argument, (ast.Tuple, ast.List)):
        return any(_may_divide(element, assigned) for element in argument.elts)
    return isinstance(argument, ast.BinOp)


def _sizes(subject: Subject, call: ast.Call) -> Iterator[ast.expr]:
    """The arguments of a call that have to be whole numbers."""
    name = subject.source.qualified(call.func)
    method = call.func.attr if isinstance(call.func, ast.Attribute) and name is None else ""
    if name in LEADING:
        yield from _flat(call.args[: LEADING[name]])
        yield from _flat([k.value for k in call.keywords if k.arg in NAMED])
    elif method in METHODS:
        yield from _flat(call.args)
    elif method == "fit":
        yield from (k.value for k in call.keywords if k.arg in NAMED)


def _flat(arguments: list[ast.expr]) -> Iterator[ast.expr]:
    for argument in arguments:
        if isinstance(argument, (ast.Tuple, ast.List)):
            yield from _flat(argument.elts)
        elif not isinstance(argument, ast.Starred):
            yield argument


def _divisions(subject: Subject, argument: ast.expr) -> Iterator[ast.BinOp]:
    """The divisions that make an argument a float: in its own arithmetic, or in what its variable was assigned."""
    if isinstance(argument, ast.BinOp):
        if isinstance(argument.op, ast.Div):
            yield argument
        elif isinstance(argument.op, (ast.Add, ast.Sub, ast.Mult)):
            yield from _divisions(subject, argument.left)
            yield from _divisions(subject, argument.right)
    elif isinstance(argument, (ast.Name, ast.Attribute)):
        bound = subject.source.bindings(argument)
        if len(bound) == 1 and isinstance(bound[0], ast.BinOp):
            yield from _divisions(subject, bound[0])


def _floored(subject: Subject, division: ast.BinOp) -> Edit:
    """The division with its operator doubled and all else as it was."""
    source = subject.source
    whole, right = source.site(division), source.site(division.right)
    tree = source.places
    start, middle = tree.offset(whole.line, whole.column), tree.offset(right.line, right.column)
    left = source.site(division.left)
    at = source.text.index("/", tree.offset(left.end_line, left.end_column), middle)
    text = source.segment(whole)
    return Replace(whole, text[: at - start] + "/" + text[at - start :])
