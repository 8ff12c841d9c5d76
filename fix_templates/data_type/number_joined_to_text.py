"""A number is joined to a text by `+`, which joins texts with texts only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Example, Mend, Reject, Source, Subject, wrapped

NUMBERS = r"(int|float|bool|Tensor|Parameter|numpy\.\w+)"

MESSAGES = (
    (re.compile(rf'can only concatenate str \(not "{NUMBERS}"\) to str'), "right"),
    (re.compile(rf"unsupported operand type\(s\) for \+: '{NUMBERS}' and 'str'"), "left"),
)
"""What Python says, and on which side of the `+` the number stands."""


class NumberJoinedToText(CrashTemplate):
    """A number is joined to a text by `+`: `"loss " + loss.item()`.

    `print` takes both side by side, `+` does not: the number has to be made a text first.

    Reported where the run ended so at a `+` that the program itself writes, what is no text is a number or a tensor, and
    a text of the program stands in the sum: a text that was read may be meant as a number itself.

    Fix safety: unsafe. The line could not run before.

    References: https://docs.python.org/3/library/stdtypes.html#str.
    """

    code = "DNF650"
    name = "number-joined-to-text"
    kinds = frozenset({"TypeError"})
    confidence = 0.9

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site) if crash.site is not None else None
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
            return
        if not _makes_text(subject.source, node):
            return
        for message, side in MESSAGES:
            said = message.search(crash.message)
            if said is not None:
                number = node.right if side == "right" else node.left
                site = subject.source.site(number)
                edits = (wrapped(subject, number, "str(", ")"),)
                yield Mend(site, f"{subject.text(site)} is no text", (("Make a text of the number", edits, 0.9),))

    examples = (
        Example(
            "the number first",
            """\
import torch

count = sum(weight.numel() for weight in torch.nn.Linear(3, 2).parameters())
- print(count + " weights")
+ print(str(count) + " weights")
""",
            runs=True,
        ),
        Example(
            "a share in a title",
            """\
import numpy as np


def title(right, of):
-     return "accuracy " + 100.0 * right / of + " %"
+     return "accuracy " + str(100.0 * right / of) + " %"


print(title(np.array([1, 0, 1]).sum(), 3))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a number that was read as text",
            """\
import torch

total = 0
for line in ("1 0.5", "2 0.25"):
    total = total + line.split()[1]
print(total, torch.ones(1))
""",
            runs=True,
        ),
        Reject(
            "a list that is joined to a text",
            """\
import torch

print("sizes " + list(torch.ones(2, 3).shape))
""",
            runs=True,
        ),
        Reject(
            "texts",
            """\
import torch

print("loss " + str(torch.ones(1).item()))
""",
            runs=True,
        ),
    )


def _makes_text(source: Source, node: ast.BinOp) -> bool:
    """Whether a text that the program writes stands in the sum that a `+` is part of."""
    whole: ast.expr = node
    while isinstance(above := source.parent(whole), ast.BinOp) and isinstance(above.op, ast.Add):
        whole = above
    return any(_is_text(part) for part in _parts(whole))


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _parts(node.left)
        yield from _parts(node.right)
    else:
        yield node


def _is_text(part: ast.expr) -> bool:
    if isinstance(part, ast.Call):
        function = part.func
        named = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        return named in ("str", "repr", "format", "join")
    if isinstance(part, ast.BinOp):
        return isinstance(part.op, ast.Mod) and _is_text(part.left)
    return isinstance(part, ast.JoinedStr) or isinstance(part, ast.Constant) and isinstance(part.value, str)
