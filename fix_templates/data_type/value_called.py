"""A value is called that is no function: a shape, a property, or a module in place of what it holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Edit, Example, FixPattern, Mend, Reject, Replace, Subject, words

OF_ITS_NAME = words("tqdm glob time datetime copy pprint random deepcopy")
"""Modules that have a function or class of their own name."""

ROWS = frozenset({"torch.Size", "Size", "tuple", "list"})
"""Types whose elements are taken by their place."""


class ValueCalled(CrashTemplate):
    """A value is called that is no function.

    A shape or list that is called with a number is subscripted; a value that is called with nothing is taken as it is; a
    module that is called has a function of its own name.

    Fix safety: unsafe. The line could not run before.

    References: https://docs.python.org/3/reference/expressions.html#calls.
    """

    code = "DNF617"
    name = "value-called"
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"TypeError"})
    confidence = 0.85

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site)
        if not isinstance(node, ast.Call) or "object is not callable" not in crash.message:
            return
        source = subject.source
        function = source.site(node.func)
        code, kind = subject.text(function), crash.message.partition("'")[2].partition("'")[0]
        edit: Edit | None = None
        if kind == "module":
            name = code.rpartition(".")[2]
            if (
                isinstance(node.func, ast.Name)
                and name in OF_ITS_NAME
                and (source.qualified(node.func) or name) == name
            ):
                edit = Replace(function, f"{code}.{name}")
        elif kind in ROWS and len(node.args) == 1 and not node.keywords:
            if _is_index(node.args[0]):
                edit = Replace(source.site(node), f"{code}[{subject.text(source.site(node.args[0]))}]")
        elif not node.args and not node.keywords and isinstance(node.func, ast.Attribute) and kind != "NoneType":
            edit = Replace(source.site(node), code)
        if edit is not None:
            what = f"{code} is a {kind} and no function"
            title = "Take what is meant" if kind == "module" else "Take the value"
            yield Mend(source.site(node), what, ((title, (edit,), 0.85),))

    examples = (
        Example(
            "an axis of a shape",
            """\
import torch

x = torch.ones(4, 2)
- print(x.shape(0))
+ print(x.shape[0])
""",
            runs=True,
        ),
        Example(
            "a property with brackets",
            """\
import torch

x = torch.ones(4, 2)
- if x.is_cuda():
+ if x.is_cuda:
    print(x.device)
""",
            runs=True,
        ),
        Example(
            "a module for its function",
            """\
import time
import torch

- start = time()
+ start = time.time()
print(torch.ones(1), start > 0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a tensor that is called with another",
            """\
import torch

x = torch.ones(2)
print(x(torch.ones(2)))
""",
            runs=True,
        ),
        Reject(
            "a list called with what is no index",
            """\
import torch

layers = [torch.nn.Linear(2, 2)]
print(layers(torch.ones(1, 2)))
""",
            runs=True,
        ),
        Reject(
            "a module without a function of its name",
            """\
import math
import torch

print(math(torch.ones(1)))
""",
            runs=True,
        ),
    )


def _is_index(node: ast.expr) -> bool:
    """Whether an expression reads as a place in a row."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    return isinstance(node, ast.Name) and node.id in ("i", "j", "k", "idx", "index", "dim", "axis", "n")
