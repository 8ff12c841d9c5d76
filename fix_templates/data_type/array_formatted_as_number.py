"""A tensor or array with an axis of one element is formatted as a number."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Edit, Example, Mend, Reject, Replace, Subject, Wrap

_SAID = re.compile(r"unsupported format string passed to (?:numpy\.)?(Tensor|Parameter|ndarray)\.__format__")

ITEMS = {
    "Tensor": ("torch.Tensor",),
    "Parameter": ("torch.nn.parameter.Parameter",),
    "ndarray": ("numpy.ndarray",),
}
"""By the type in the message, how the values of a crash are called that can have stopped it."""

PLAIN = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


class ArrayFormattedAsNumber(CrashTemplate):
    """`f"{score:.3f}"` stops where `score` is a tensor or an array of one element that still has an axis.

    Only a tensor without axes is formatted as a number. The one element is taken out with `item`. Values are looked at
    where they are formatted: in a text with places, in `format` of a text. An array of several elements is left, since
    nothing tells which of them is meant.

    Fix safety: unsafe. What is written is the element; the program stopped before.

    References: https://docs.python.org/3/library/string.html#formatspec; torch.Tensor.item; numpy.ndarray.item.
    """

    code = "DNF648"
    name = "array-formatted-as-number"
    kinds = frozenset({"TypeError"})
    confidence = 0.9
    declined = "nothing tells which element is meant"

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        said, node = _SAID.search(crash.message), subject.node(crash.site)
        if said is None or node is None:
            return
        source = subject.source
        found = [value for value in _formatted(node) if _is_one(subject, crash, value, ITEMS[said[1]])]
        edits = tuple(_taken_out(subject, found))
        if edits:
            what = f"{ast.unparse(found[0])} is no number but holds one in an axis"
            yield Mend(source.site(found[0]), what, (("Take the number out", edits, 0.9),))

    examples = (
        Example(
            "a text with places",
            """\
import torch

net = torch.nn.Linear(2, 1)
score = torch.sigmoid(net(torch.ones(2)))
- print(f"score {score:.3f} of {1}")
+ print(f"score {score.item():.3f} of {1}")
""",
            runs=True,
        ),
        Example(
            "the method of a text",
            """\
import numpy as np
import torch


def report(epoch, loss):
-     print("epoch {:d}: {:.4f}".format(epoch, loss))
+     print("epoch {:d}: {:.4f}".format(epoch, loss.item()))


for epoch in range(2):
    report(epoch, torch.nn.Linear(2, 1)(torch.ones(1, 2)).detach().numpy())
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a tensor without axes",
            """\
import torch

loss = torch.ones(3).mean()
print(f"{loss:.3f}")
""",
            runs=True,
        ),
        Reject(
            "several elements",
            """\
import torch

losses = torch.ones(3)
print(f"{losses:.3f}")
""",
            runs=True,
        ),
    )


def _formatted(node: ast.AST) -> Iterator[ast.expr]:
    """The values that an expression formats: those with a format of their own, or all that `format` is given."""
    for part in ast.walk(node):
        if isinstance(part, ast.FormattedValue) and part.format_spec is not None and isinstance(part.value, PLAIN):
            yield part.value
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "format":
            for given in (*part.args, *(keyword.value for keyword in part.keywords)):
                if isinstance(given, PLAIN):
                    yield given


def _is_one(subject: Subject, crash: Crash, value: ast.expr, kinds: tuple[str, ...]) -> bool:
    """Whether a value is an array with axes that holds one element, as far as the run has shown."""
    held = crash.held_at(subject.source.site(value))
    if held is None or held.kind not in kinds or not held.size:
        return False
    told = crash.frames[-1].names.get(ast.unparse(value))
    shape = told.get("shape") if isinstance(told, dict) else None
    # not everything that an object keeps is told; that there is one element the run of the repaired program shows
    return told is None or isinstance(shape, (list, tuple)) and all(size == 1 for size in shape)


def _taken_out(subject: Subject, values: list[ast.expr]) -> Iterator[Edit]:
    """The edits that take the numbers out; a text with places is written anew as a whole."""
    source = subject.source
    within: dict[ast.JoinedStr, list[ast.expr]] = {}
    for value in values:
        place = source.parent(value)
        text = source.enclosing(value, ast.JoinedStr) if isinstance(place, ast.FormattedValue) else None
        if text is None:
            yield Wrap(source.site(value), "", ".item()")
        else:
            within.setdefault(text, []).append(value)
    for text, inside in within.items():
        lines = subject.text(source.site(text)).split("\n")
        begin = source.site(text)
        for value in sorted(inside, key=lambda one: (one.lineno, one.col_offset), reverse=True):
            site = source.site(value)
            row = site.line - begin.line
            end = site.end_column - (begin.column if row == 0 else 1)
            start = end - len(ast.unparse(value))
            # where Python places what stands within a text is not certain in its older versions
            if row >= len(lines) or lines[row][start:end] != ast.unparse(value):
                return
            lines[row] = f"{lines[row][:end]}.item(){lines[row][end:]}"
        yield Replace(begin, "\n".join(lines))
