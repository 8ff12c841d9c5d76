"""A share of a length, which is a real number, is given where Python counts elements."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Edit, Example, Mend, Reject, Source, Subject, Wrap, within, words

REFUSALS = (
    "slice indices must be integers",
    "indices must be integers or slices, not float",
    "cannot be interpreted as an integer",
    "received an invalid combination of arguments - got (float",
    "must be tuple of ints, but found element of type float",
)

REAL = words("float numpy.float64 numpy.float32")

ROUNDED = words("numpy.floor numpy.ceil numpy.round numpy.rint numpy.around")
"""Functions that give a whole number as a real one."""


class ShareAsBound(CrashTemplate):
    """`split = 0.8 * len(data)` is a real number, and `data[:split]` takes whole ones only.

    A share of a length, a number that NumPy has rounded, or a number such as `1e3` is a float even where nothing stands
    behind its point. The number is made whole where it is worked out, so that all who use it agree. What comes from a
    division is left to the rule about `/` of Python 2, which writes `//`.

    Fix safety: unsafe. A part of an element is dropped; the program could not run before.

    References: https://docs.python.org/3/glossary.html#term-slice; https://docs.python.org/3/library/functions.html#int.
    """

    code = "DNF644"
    name = "share-as-bound"
    kinds = frozenset({"TypeError"})
    confidence = 0.9

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        if crash.site is None or not any(refusal in crash.message for refusal in REFUSALS):
            return
        source, node = subject.source, subject.node(crash.site)
        if node is None:
            return
        reals = list(dict.fromkeys(real for place in _counted(node) for real in _real(subject, crash, place)))
        if isinstance(node, ast.Call) and source.qualified(node.func) != "builtins.range":
            # what a function is given beside its sizes may be meant as a real number
            reals = [real for real in reals if _of_elements(source, real)]
        if reals and all(_stands_for_count(source, real) for real in reals):
            edits: tuple[Edit, ...] = tuple(Wrap(source.site(real), "int(", ")") for real in reals)
            what = f"{subject.text(source.site(reals[0]))} is a real number, and elements are counted by it"
            yield Mend(source.site(reals[0]), what, (("Make the number whole", edits, 0.9),))

    examples = (
        Example(
            "indices of a validation set, rounded by NumPy",
            """\
import numpy as np
import torch


def loaders(dataset, share):
    order = np.random.permutation(len(dataset)).tolist()
-     held_out = np.floor(share * len(dataset))
+     held_out = int(np.floor(share * len(dataset)))
    return order[held_out:], order[:held_out]


print(loaders(torch.randn(10, 3), 0.2))
""",
            runs=True,
        ),
        Example(
            "a number of steps with an exponent",
            """\
import torch

- steps = 1e1
+ steps = int(1e1)
net = torch.nn.Linear(2, 1)
for step in range(steps):
    net(torch.ones(3, 2)).mean().backward()
""",
            runs=True,
        ),
        Example(
            "the share within the slice",
            """\
import numpy as np
import torch

x = np.random.randn(10, 3).astype("float32")
- train = x[: len(x) * 0.7]
+ train = x[: int(len(x) * 0.7)]
print(torch.nn.Linear(3, 1)(torch.from_numpy(train)).shape)
""",
            runs=True,
        ),
        Example(
            "the sizes of two parts",
            """\
import torch
from torch.utils.data import TensorDataset, random_split

dataset = TensorDataset(torch.randn(10, 3), torch.zeros(10))
- train_size = 0.7 * len(dataset)
+ train_size = int(0.7 * len(dataset))
test_size = len(dataset) - train_size
train, test = random_split(dataset, [train_size, test_size])
print(len(train), len(test))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "the number is whole",
            """\
import torch

data = torch.randn(10, 3)
split = int(0.8 * len(data))
print(data[:split].shape, data[split:].shape)
""",
            runs=True,
        ),
        Reject(
            "a learning rate for a number of steps",
            """\
import torch

rate = 0.01
for step in range(rate):
    print(torch.ones(1))
""",
            runs=True,
        ),
        Reject(
            "a measured value as an index",
            """\
import torch

names = ["a", "b"]
score = torch.ones(1).item()
print(names[score])
""",
            runs=True,
        ),
    )


def _counted(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions within a failing one that count elements: bounds of slices, indices, what a call is given."""
    if isinstance(node, ast.Subscript):
        yield from _of_index(node.slice)
    elif isinstance(node, ast.Call):
        for given in (*node.args, *(keyword.value for keyword in node.keywords)):
            yield from given.elts if isinstance(given, (ast.Tuple, ast.List)) else (given,)
    elif isinstance(node, (ast.For, ast.Assign, ast.Expr, ast.Return)):
        for part in within(node, ast.Subscript):
            yield from _of_index(part.slice)


def _of_index(index: ast.expr) -> Iterator[ast.expr]:
    for part in index.elts if isinstance(index, ast.Tuple) else (index,):
        bounds = (part.lower, part.upper, part.step) if isinstance(part, ast.Slice) else (part,)
        yield from (bound for bound in bounds if bound is not None)


def _real(subject: Subject, crash: Crash, place: ast.expr) -> Iterator[ast.expr]:
    """Where the real number that stands at a place is worked out."""
    source = subject.source
    if isinstance(place, (ast.Name, ast.Attribute)):
        held = crash.held_at(source.site(place))
        bound = source.bindings(place)
        if held is not None and held.kind in REAL and len(bound) == 1:
            yield from _begun(source, bound[0])
    elif isinstance(place, ast.BinOp) and isinstance(place.op, (ast.Add, ast.Sub)):
        parts = [found for side in (place.left, place.right) for found in _real(subject, crash, side)]
        yield from parts
    elif _is_share(source, place):
        yield place


def _begun(source: Source, value: ast.expr) -> Iterator[ast.expr]:
    """The share that a value is worked out from by a sum or difference, else the value itself."""
    sides = (
        (value.left, value.right) if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)) else ()
    )
    shares = [
        bound[0]
        for side in sides
        if isinstance(side, (ast.Name, ast.Attribute))
        and len(bound := source.bindings(side)) == 1
        and _is_share(source, bound[0])
    ]
    yield from shares or (value,)


def _of_elements(source: Source, value: ast.expr) -> bool:
    """Whether a value is worked out from a number of elements."""
    for part in ast.walk(value):
        bound = source.bindings(part) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) else ()
        for one in (part, *bound):
            if isinstance(one, ast.Call) and ast.unparse(one.func) == "len":
                return True
            if isinstance(one, ast.Attribute) and one.attr in ("shape", "size", "numel"):
                return True
            if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Attribute) and one.value.attr == "shape":
                return True
    return False


def _is_share(source: Source, value: ast.expr) -> bool:
    """Whether an expression multiplies a length by a share, or rounds one by NumPy."""
    if isinstance(value, ast.Call):
        return (source.qualified(value.func) or "") in ROUNDED and len(value.args) == 1 and not value.keywords
    return isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult) and not _divides(value)


def _stands_for_count(source: Source, value: ast.expr) -> bool:
    """Whether a real number is meant as a count: a whole one by its value, or a share of a length."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, float) and value.value.is_integer() and value.value >= 1
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)):
        return not _divides(value) and any(_is_share(source, side) for side in (value.left, value.right))
    return _is_share(source, value)


def _divides(value: ast.expr) -> bool:
    return any(isinstance(part.op, ast.Div) for part in within(value, ast.BinOp))
