"""A method that Python is to call by itself has lost some of its underscores, or a letter."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Example,
    Family,
    FixPattern,
    Mend,
    Reject,
    Replace,
    Subject,
    method,
    one_letter_off,
    rename_method,
)

SPECIAL = ("init", "call", "len", "getitem", "iter", "next", "enter", "exit")
"""Special methods that programs which train networks write, without their underscores."""


class SpecialMethodMisspelt(CrashTemplate):
    """A class has `_init_` or `__getitem_`: what Python is to call by itself, with too few underscores.

    Python takes it for one more method and never calls it. Then the layers are not made and the optimizer gets an empty list of
    parameters, arguments of the constructor are too many, or a data set has no length.

    Fix safety: unsafe. The method was not called before.

    References: the Python Language Reference, "Special method names".
    """

    code = "DNF454"
    name = "special-method-misspelt"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    kinds = frozenset(
        {"AttributeError", "IndexError", "NotImplementedError", "RuntimeError", "TypeError", "ValueError"}
    )

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        source = subject.source
        for owner in source.nodes(ast.ClassDef):
            for each in owner.body:
                wanted = _meant(each) if isinstance(each, ast.FunctionDef) else None
                if not isinstance(each, ast.FunctionDef) or wanted is None or method(owner, wanted) is not None:
                    continue
                uses = [node for node in source.nodes(ast.Attribute) if node.attr == each.name]
                if not all(_is_super(node.value) for node in uses):
                    continue
                edits = [rename_method(source, each, wanted)]
                edits += [Replace(source.site(node), f"{ast.unparse(node.value)}.{wanted}") for node in uses]
                what = f"`{each.name}` is meant for `{wanted}`, which Python calls by itself"
                yield Mend(source.site(each), what, ((f"Call it `{wanted}`", tuple(edits), 0.95),))

    examples = (
        Example(
            "one underscore on each side",
            """\
import torch
from torch import nn

class Net(nn.Module):
-     def _init_(self):
-         super()._init_()
+     def __init__(self):
+         super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
print(net(torch.ones(3, 4)).shape)
""",
            runs=True,
        ),
        Example(
            "a letter is missing",
            """\
import torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self, count):
        self.rows = torch.rand(count, 3)

    def __len__(self):
        return len(self.rows)

-     def __getitm__(self, index):  # one row
+     def __getitem__(self, index):  # one row
        return self.rows[index]

for rows in DataLoader(Rows(6), batch_size=2):
    print(rows.shape)
""",
            runs=True,
        ),
        Example(
            "the conversion to a whole number",
            """\
import torch

class Scale(torch.nn.Module):
-     def __int__(self, size):
+     def __init__(self, size):
        super().__init__()
        self.by = torch.nn.Parameter(torch.ones(size))

    def forward(self, x):
        return x * self.by

print(Scale(3)(torch.ones(2, 3)).sum())
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a method that is called by its own name",
            """\
import torch

class Weights:
    def _init_(self, size):
        return torch.zeros(size)

    def made(self):
        return self._init_(3)

print(Weights().made() @ torch.ones(4))
""",
            runs=True,
        ),
        Reject(
            "the special method is there as well",
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def _init(self):
        nn.init.zeros_(self.fc.weight)

print(Net().fc(torch.ones(3, 5)))
""",
            runs=True,
        ),
        Reject(
            "a name without underscores",
            """\
import torch

class Net:
    def init(self):
        self.weight = torch.zeros(3)

print(torch.ones(2) + torch.ones(3))
""",
            runs=True,
        ),
    )


def _is_super(node: ast.expr) -> bool:
    """Whether it is the class above that a method is asked of."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _meant(function: ast.FunctionDef) -> str | None:
    """The special method that one is meant for; `None` for its right name, and for names without underscores around."""
    name, plain = function.name, function.name.strip("_")
    if not (name.startswith("_") and name.endswith("_")):
        return None
    if name == "__int__" and len(function.args.args) > 1:  # to make a number takes nothing
        return "__init__"
    known = plain if plain in SPECIAL else one_letter_off(plain, SPECIAL)
    special = hasattr(int, name) or hasattr(list, name) or name == f"__{known}__"
    return None if known is None or special else f"__{known}__"
