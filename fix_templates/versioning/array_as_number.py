"""`float(model.predict(x))`, `"%.2f" % w.numpy()`: NumPy no longer converts an array of one element to a number."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Edit, Hit, Replace, Subject, Wrap, origins

NUMBERS = frozenset({"builtins.float", "builtins.int", "builtins.complex"})
"""Functions that convert their argument to a number; those of `math` do too."""

PLAIN = frozenset({"builtins.len", "builtins.int", "builtins.float", "builtins.str", "builtins.round", "builtins.repr"})
"""Functions whose result is not an array."""

ARRAY_METHODS = frozenset({"numpy", "predict", "predict_on_batch", "predict_proba", "reshape", "astype", "flatten"})
"""Methods whose result is an array."""


INDEX = "only integer scalar arrays can be converted to a scalar index"


class ArrayAsNumber(ApiChange):
    """An array of one element is used as a number; since NumPy 2.4 only arrays without axes are converted.

    Predictions, weights and losses are arrays of shape (1,) or (1, 1), and programs format them with `%.2f`, pass them
    to `float` or `math.exp`, or assign them to an element of another array. `item()` returns the number, and raises for
    more than one element. As the end of a slice or range (`start = np.random.choice(n, 1)`) such arrays are refused
    since NumPy 1.12.

    Fix safety: unsafe. The program did not run before; the number is the one that older versions of NumPy used.

    References: https://numpy.org/doc/stable/release/1.25.0-notes.html ("Only ndim-0 arrays are treated as scalars").
    """

    code = "DNF520"
    name = "array-as-number"
    message = "an array is used where a number is expected: NumPy {version} no longer converts arrays of one element"
    needs_run = True

    def hits(self, subject: Subject) -> Iterator[Hit]:
        crash = subject.crash
        node = subject.node(crash.site) if crash is not None else None
        if crash is None or crash.site is None or node is None or not _says_so(crash.kind, crash.message):
            return
        for operand in _arrays(subject, list(_operands(subject, node))):
            since = "1.12" if INDEX in crash.message else "2.4"
            yield Hit(
                subject.source.site(operand),
                self.message.format(version=since),
                title="extract the number with item()",
                edits=(_item(subject, operand),),
                removed={"numpy": since},
                felt=crash.site,
            )

    programs = """
=== example: a weight printed with two digits
import torch

w = torch.nn.Linear(1, 1).weight.data
for epoch in range(2):
-     print("after %s: w = %.2f" % (epoch, w.numpy()))
+     print("after %s: w = %.2f" % (epoch, w.item()))

=== example: the prediction of a Keras model for one sample
import numpy as np
import keras

model = keras.Sequential([keras.layers.Dense(1)])
answer = model.predict(np.ones((1, 3)), verbose=0)
- print("sure:", float(answer) > 0.5)
+ print("sure:", float(answer.item()) > 0.5)

=== example: outputs collected in an array
import numpy as np
import torch

net = torch.nn.Linear(2, 1)
curve = np.zeros(4)
for i in range(4):
-     curve[i] = net(torch.ones(2) * i).detach().numpy()
+     curve[i] = net(torch.ones(2) * i).detach().item()

=== example: perplexity of a mean loss
import math
import numpy as np
import torch

losses = np.array([[0.5]])
- print(math.exp(losses * 2), torch.ones(1))
+ print(math.exp((losses * 2).item()), torch.ones(1))

=== example: a piece of a series that begins anywhere
import numpy as np
import torch

series = np.arange(40.0).reshape(4, 10)
for _ in range(2):
    rows = np.random.choice(4, 2)
    start = np.random.choice(10 - 3, 1)
-     piece = series[rows, start : start + 3]
+     piece = series[rows, start.item() : start.item() + 3]
print(torch.from_numpy(piece).shape)

=== reject: a list indexed by an array of several indices
import numpy as np
import torch

names = ["a", "b", "c"]
print(names[np.random.permutation(3)], torch.ones(1))

=== reject: arrays without axes
import numpy as np
import torch

w = torch.ones(1, 1).mean().numpy()
print("%.2f" % w, float(np.array(2.5)))

=== reject: rows of different lengths put into one array
import numpy as np
import torch

rows = np.zeros(3)
rows[0] = [1.0, 2.0]
print(torch.from_numpy(rows))
"""


def _says_so(kind: str, message: str) -> bool:
    """Whether NumPy raised the error: no framework recorded the call."""
    if kind == "TypeError":
        return (
            INDEX in message
            or "0-dimensional arrays can be converted" in message
            or message.endswith("required, not numpy.ndarray")
        )
    return kind == "ValueError" and message.startswith("setting an array element with a sequence")


def _operands(subject: Subject, node: ast.expr | ast.stmt) -> Iterator[ast.expr]:
    """The expressions that the crashed expression converts to numbers."""
    source = subject.source
    if subject.crash is not None and INDEX in subject.crash.message:
        yield from _ends(subject, node)
    elif isinstance(node, ast.Call):
        name = source.qualified(node.func) or ""
        if name in NUMBERS or name.startswith("math."):
            yield from node.args
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        yield from node.right.elts if isinstance(node.right, ast.Tuple) else (node.right,)
    else:
        statement = node if isinstance(node, ast.stmt) else source.statement_of(node)
        if isinstance(statement, ast.Assign) and all(isinstance(one, ast.Subscript) for one in statement.targets):
            yield statement.value


def _ends(subject: Subject, node: ast.expr | ast.stmt) -> Iterator[ast.expr]:
    """The summands of the bounds of the slices or the range that crashed."""
    within = [part for part in ast.walk(node) if isinstance(part, ast.Slice)]
    ends = [end for part in within for end in (part.lower, part.upper) if end is not None]
    if isinstance(node, ast.Call) and subject.source.qualified(node.func) == "builtins.range":
        ends = list(node.args)
    while ends:
        end = ends.pop(0)
        if isinstance(end, ast.BinOp):
            ends += [end.left, end.right]
        else:
            yield end


def _arrays(subject: Subject, operands: list[ast.expr]) -> list[ast.expr]:
    """The operands known to be arrays; else the only one that may be one."""
    possible = [one for one in operands if not _is_plain(subject, one)]
    sure = [one for one in possible if any(_makes_array(subject, origin) for origin in origins.origins(subject, one))]
    return sure or (possible if len(possible) == 1 else [])


def _is_plain(subject: Subject, node: ast.expr) -> bool:
    if isinstance(node, (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)):
        return True
    return isinstance(node, ast.Call) and (
        subject.source.qualified(node.func) in PLAIN
        or (isinstance(node.func, ast.Attribute) and node.func.attr in ("item", "format", "join"))
    )


def _makes_array(subject: Subject, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = subject.source.qualified(node.func) or ""
    if name.startswith("numpy."):
        return True
    return isinstance(node.func, ast.Attribute) and node.func.attr in ARRAY_METHODS


def _item(subject: Subject, node: ast.expr) -> Edit:
    source = subject.source
    site = source.site(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "numpy":
        return Replace(site, f"{source.segment(source.site(node.func.value))}.item()")
    if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
        return Wrap(site, "", ".item()")
    return Wrap(site, "(", ").item()")
