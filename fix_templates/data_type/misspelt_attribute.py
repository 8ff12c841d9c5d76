"""An attribute is asked for under a name that the object or module has with another spelling only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Example,
    FixPattern,
    Mend,
    Reject,
    Replace,
    Subject,
    alike,
    longer,
    one_letter_off,
    same_letters,
)

OTHERS = frozenset({"list", "tuple", "dict", "str", "bytes", "int", "float", "bool", "NoneType", "set", "function"})
"""Types whose attributes are rarely misspelt: mostly the object is not what it was taken for."""

ARRAYS = frozenset({"ndarray", "Tensor", "Parameter", "Size", "EagerTensor", "KerasTensor"})
"""Types that a program meets in place of one another: a name that one lacks is mostly a name of the other."""


class MisspeltAttribute(CrashTemplate):
    """An attribute is asked for under a name that the object or module has with another spelling only.

    The run tells what the object or module has. The one name is taken that differs in capitals and underscores, in one
    letter, or that is much alike; else the one that goes on where this one ends (`LayerNorm`), has its words and the
    fewest others (`sum`, `reduce_sum`), or goes on as another name that the program uses of the same object
    (`train_on_batch` beside `test`). Where several fit, none is taken.

    Fix safety: unsafe. The line could not run before.

    References: https://docs.python.org/3/library/exceptions.html#AttributeError.
    """

    code = "DNF609"
    name = "misspelt-attribute"
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"AttributeError"})
    confidence = 0.8

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site)
        if not isinstance(node, ast.Attribute) or not crash.near:
            return
        said = re.match(r"'(?:[\w.]*\.)?(\w+)' object has", crash.message)
        kind = said[1] if said is not None else ""
        if kind in OTHERS:
            return
        meant = _meant(subject, node, crash.near, kind in ARRAYS)
        if meant is None:
            return
        name, prior = meant
        code = f"{subject.text(subject.source.site(node.value))}.{name}"
        edits: tuple[Edit, ...] = tuple(
            Replace(subject.source.site(use), f"{subject.text(subject.source.site(use.value))}.{name}")
            for use in _uses(subject, node)
        )
        what = f"{ast.unparse(node.value)} has no {node.attr}; it has {name}"
        yield Mend(subject.source.site(node), what, ((f"Write {code}", edits, prior),))

    examples = (
        Example(
            "a function one letter off",
            """\
import torch

left, right = torch.ones(2, 3), torch.ones(3, 2)
- print(torch.matmull(left, right))
+ print(torch.matmul(left, right))
""",
            runs=True,
        ),
        Example(
            "a method without its ending",
            """\
import torch


class Trainer:
    def train_on_batch(self, x):
        return x.mean()

    def test_on_batch(self, x):
        return x.sum()

    def test_step(self):
        return 0


trainer = Trainer()
print(trainer.train_on_batch(torch.ones(2)))
- print(trainer.test(torch.ones(2)))
+ print(trainer.test_on_batch(torch.ones(2)))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a method of another library's arrays",
            """\
import numpy as np
import torch

print(torch.from_numpy(np.ones(3).unsqueeze(0)))
""",
            runs=True,
        ),
        Reject(
            "numbered layers of which one is missing",
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 4)
        self.fc2 = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc3(self.fc2(self.fc1(x)))


Net()(torch.ones(2, 4))
""",
            runs=True,
        ),
        Reject(
            "nothing where an object was meant",
            """\
import torch

model = None
model.train()
""",
            runs=True,
        ),
        Reject(
            "a beginning that several names have",
            """\
import torch

print(torch.conv(torch.ones(1, 1, 3)))
""",
            runs=True,
        ),
    )


def _meant(subject: Subject, node: ast.Attribute, near: tuple[str, ...], strict: bool) -> tuple[str, float] | None:
    """The name that was meant, and how sure that is; `strict` where only another spelling will do."""
    name = node.attr
    spelled = same_letters(name, near) or one_letter_off(name, near)
    if spelled is not None or strict:
        return (spelled, 0.9) if spelled is not None else None
    ended = _ended_alike(subject, node, near)
    if ended is not None:
        return ended, 0.85
    for other in (longer(name, near), alike(name, near)):
        if other is not None:
            return other, 0.75
    return None


def _ended_alike(subject: Subject, node: ast.Attribute, near: tuple[str, ...]) -> str | None:
    """The name that goes on as one does that the program uses of the same object."""
    of = ast.unparse(node.value)
    used = {use.attr for use in subject.source.nodes(ast.Attribute) if use is not node and ast.unparse(use.value) == of}
    found = {
        other
        for other in near
        if other.startswith(f"{node.attr}_")
        and any(known != other and known.endswith(other[len(node.attr) :]) for known in used)
    }
    return found.pop() if len(found) == 1 else None


def _uses(subject: Subject, node: ast.Attribute) -> tuple[ast.Attribute, ...]:
    """The places that ask for the same attribute: of a class's own object all of them, of a module too."""
    of = ast.unparse(node.value)
    around = subject.source.enclosing(node, ast.ClassDef) if of == "self" else subject.source.tree
    found = [
        use
        for use in ast.walk(around if around is not None else subject.source.tree)
        if isinstance(use, ast.Attribute)
        and use.attr == node.attr
        and isinstance(use.ctx, ast.Load)
        and ast.unparse(use.value) == of
    ]
    module = subject.source.qualified(node.value) is not None
    return tuple(found) if of == "self" or module else (node,)
