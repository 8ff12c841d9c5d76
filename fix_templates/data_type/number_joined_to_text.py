"""A number is joined to a text by `+`, which joins texts with texts only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Example, Mend, Reject, Subject, wrapped

NUMBERS = r"(int|float|bool|Tensor|Parameter|numpy\.\w+)"

MESSAGES = (
    (re.compile(rf'can only concatenate str \(not "{NUMBERS}"\) to str'), "right"),
    (re.compile(rf"unsupported operand type\(s\) for \+: '{NUMBERS}' and 'str'"), "left"),
)
"""What Python says, and on which side of the `+` the number stands."""


class NumberJoinedToText(CrashTemplate):
    """A number is joined to a text by `+`: `"loss " + loss.item()`.

    `print` takes both side by side, `+` does not: the number has to be made a text first.

    Reported where the run ended so at a `+` that the program itself writes, and what is no text is a number or a tensor.

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
        for message, side in MESSAGES:
            said = message.search(crash.message)
            if said is not None:
                number = node.right if side == "right" else node.left
                site = subject.source.site(number)
                edits = (wrapped(subject, number, "str(", ")"),)
                yield Mend(site, f"{subject.text(site)} is no text", (("Make a text of the number", edits, 0.9),))

    examples = (
        Example(
            "a loss at the end of a line",
            before="""\
import torch

loss = torch.nn.functional.mse_loss(torch.ones(3), torch.zeros(3))
for epoch in range(2):
    print("epoch " + str(epoch) + ": " + loss.item())
""",
            after="""\
import torch

loss = torch.nn.functional.mse_loss(torch.ones(3), torch.zeros(3))
for epoch in range(2):
    print("epoch " + str(epoch) + ": " + str(loss.item()))
""",
            runs=True,
        ),
        Example(
            "the number first",
            before="""\
import torch

count = sum(weight.numel() for weight in torch.nn.Linear(3, 2).parameters())
print(count + " weights")
""",
            after="""\
import torch

count = sum(weight.numel() for weight in torch.nn.Linear(3, 2).parameters())
print(str(count) + " weights")
""",
            runs=True,
        ),
        Example(
            "a share in a title",
            before="""\
import numpy as np


def title(right, of):
    return "accuracy " + 100.0 * right / of + " %"


print(title(np.array([1, 0, 1]).sum(), 3))
""",
            after="""\
import numpy as np


def title(right, of):
    return "accuracy " + str(100.0 * right / of) + " %"


print(title(np.array([1, 0, 1]).sum(), 3))
""",
            runs=True,
        ),
    )
    rejects = (
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
