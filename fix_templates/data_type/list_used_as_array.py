"""A list of numbers is used in a way that only arrays know."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Example,
    Held,
    InsertBefore,
    Mend,
    Reject,
    Source,
    Subject,
    Wrap,
    spell,
    within,
    words,
)

OF_ARRAYS = words(
    "shape reshape astype ndim dtype T flatten mean std sum argmax argmin ravel transpose squeeze min max"
)
"""What arrays of numpy have and lists have not."""

OF_TENSORS = words("to cuda cpu view unsqueeze float long permute contiguous size detach dim")
"""What tensors have and lists and arrays have not."""

NUMBERS = frozenset({"int", "float", "bool", "list", "tuple", "numpy.ndarray"})
ARRAYS = frozenset({"numpy.ndarray", "torch.Tensor"})
GROWING = frozenset({"append", "extend", "insert", "pop", "remove", "clear"})


class ListUsedAsArray(CrashTemplate):
    """A list of numbers is indexed with a mask, computed with, or asked for its shape, which only arrays know.

    The run shows which of the values in the failing statement is a list and what it holds. It becomes an array where it
    is made, where that is one place and nothing is appended to it; else where it is used. A list of tensors that is asked
    for what tensors have is stacked.

    Fix safety: unsafe. The line could not run before; what the list is used for elsewhere sees an array.

    References: numpy.array, torch.stack.
    """

    code = "DNF613"
    name = "list-used-as-array"
    kinds = frozenset({"TypeError", "AttributeError"})
    confidence = 0.85

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site)
        if node is None:
            return
        for used, maker in _used(subject, crash, node):
            code = subject.text(subject.source.site(used))
            repairs = tuple(_repairs(subject, used, maker))
            if repairs:
                yield Mend(subject.source.site(used), f"{code} is a list and is used as an array", repairs)

    examples = (
        Example(
            "a shuffled list indexed with a mask",
            """\
import numpy as np
import torch
from random import sample

data = torch.ones(10, 2)
- order = sample(range(len(data)), len(data))
+ order = np.array(sample(range(len(data)), len(data)))
held_out = np.random.rand(len(order)) < 0.5
print(data[order[held_out]].shape, data[order[~held_out]].shape)
""",
            runs=True,
        ),
        Example(
            "a list that was filled",
            """\
import numpy as np
import torch

losses = []
for step in range(4):
    losses.append(torch.rand(1).item())
+ losses = np.array(losses)
print(losses.mean())
""",
            runs=True,
        ),
        Example(
            "a list of tensors",
            """\
import torch


def gather(count):
-     rows = [torch.ones(3) for _ in range(count)]
+     rows = torch.stack([torch.ones(3) for _ in range(count)])
    return rows.view(-1)


print(gather(2))
""",
            runs=True,
        ),
        Example(
            "lists that are subtracted",
            """\
import numpy as np
import torch

- wanted = torch.arange(3).tolist()
+ wanted = np.array(torch.arange(3).tolist())
print(wanted / 2)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a list of texts",
            """\
import torch

names = ["a", "b"]
print(names.shape, torch.ones(1))
""",
            runs=True,
        ),
        Reject(
            "an index that is a text",
            """\
import torch

rows = [1, 2]
print(rows["a"], torch.ones(1))
""",
            runs=True,
        ),
        Reject(
            "an array with an index of floats",
            """\
import numpy as np
import torch

print(np.ones(3)[np.array([0.0])], torch.ones(1))
""",
            runs=True,
        ),
    )


def _used(subject: Subject, crash: Crash, node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """The lists that the failing expression uses as arrays, with the function that makes of each what is needed."""
    source = subject.source

    def held(expr: ast.expr) -> Held | None:
        return crash.held_at(source.site(expr))

    if isinstance(node, ast.Subscript):
        of, index = held(node.value), held(node.slice)
        by_array = index is not None and (index.kind in ARRAYS or index.kind == "list" and index.of in ("int", "bool"))
        by_array = by_array or "not tuple" in crash.message or "only integer scalar arrays" in crash.message
        if _is_list(of) and by_array:
            yield node.value, "numpy.array"
    elif isinstance(node, ast.Attribute):
        of = held(node.value)
        if of is not None and of.kind == "list" and of.of == "torch.Tensor":
            if node.attr in OF_TENSORS | OF_ARRAYS and not _is_batch(source, node.value):
                yield node.value, "torch.stack"
        elif _is_list(of) and node.attr in OF_ARRAYS:
            yield node.value, "numpy.array"
        elif _is_list(of) and node.attr in OF_TENSORS:
            yield node.value, "torch.tensor"
    elif isinstance(node, ast.BinOp) and not isinstance(node.op, (ast.Add, ast.Mod)):
        left, right = held(node.left), held(node.right)
        if "unsupported operand" in crash.message or "non-int of type 'float'" in crash.message:
            for side, own in ((node.left, left), (node.right, right)):
                if _is_list(own):
                    yield side, "numpy.array"
                    return


def _is_batch(source: Source, expr: ast.expr) -> bool:
    """Whether a loop gives the list, as a loader does each batch: its tensors are apart because they differ."""
    name, loop = expr.id if isinstance(expr, ast.Name) else "", source.enclosing(expr, ast.For)
    while loop is not None:
        if any(one.id == name for one in within(loop.target, ast.Name)):
            return True
        loop = source.enclosing(loop, ast.For)
    return False


def _is_list(held: Held | None) -> bool:
    return held is not None and held.kind == "list" and held.of in NUMBERS


def _repairs(subject: Subject, used: ast.expr, maker: str) -> Iterator[tuple[str, tuple[Edit, ...], float]]:
    source = subject.source
    spelling = spell(subject, maker)
    title = f"Make an array of the list with {spelling.code}"
    made = _made(subject, used)
    if made is not None:
        yield title, (Wrap(source.site(made), f"{spelling.code}(", ")"), *spelling.imports), 0.85
        return
    if isinstance(used, ast.Name) and _filled_before(subject, used):
        code = f"{used.id} = {spelling.code}({used.id})"
        yield title, (InsertBefore(source.site(source.statement_of(used)), code), *spelling.imports), 0.8
        return
    yield title, (Wrap(source.site(used), f"{spelling.code}(", ")"), *spelling.imports), 0.7


def _made(subject: Subject, used: ast.expr) -> ast.expr | None:
    """The one value that the list has, where nothing is put into it or taken out of it later."""
    if not isinstance(used, (ast.Name, ast.Attribute)) or _grows(subject, used):
        return None
    bound = subject.source.bindings(used)
    return bound[0] if len(bound) == 1 and isinstance(bound[0], (ast.Call, ast.ListComp, ast.List)) else None


def _grows(subject: Subject, used: ast.expr) -> bool:
    code = ast.unparse(used)
    return any(
        isinstance(call.func, ast.Attribute) and call.func.attr in GROWING and ast.unparse(call.func.value) == code
        for call in subject.source.all_calls
    )


def _filled_before(subject: Subject, used: ast.Name) -> bool:
    """Whether a variable is filled and done with in the function where it is used, and not used in a loop."""
    source = subject.source
    function = source.enclosing(used, ast.FunctionDef)
    statement = source.statement_of(used)
    block = function.body if function is not None else source.tree.body
    if statement not in block or not source.bindings(used):
        return False
    return not any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr in GROWING
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == used.id
        and call.lineno >= statement.lineno
        for call in source.all_calls
    )
