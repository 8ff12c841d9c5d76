"""`torch.tensor` is given a list of tensors, which it reads as numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Edit, Example, Mend, Reject, Replace, Subject, held_list, spell

NUMBERS = ("torch.tensor", "torch.as_tensor", "torch.FloatTensor", "torch.LongTensor", "torch.Tensor")

CASTS = {"torch.FloatTensor": ".float()", "torch.LongTensor": ".long()"}


class TensorsInListMadeTensor(CrashTemplate):
    """`torch.tensor` of a list of tensors takes each for one number, and refuses tensors of several elements.

    `torch.stack` puts tensors of one shape behind one another, along a new first axis.

    Reported where the first elements of the list are tensors of the same shape. A `dtype` that is asked for is kept.

    Fix safety: unsafe. Unlike a copy of numbers, the stacked tensor keeps the gradients of its parts.

    References: torch.stack, torch.tensor.
    """

    code = "DNF629"
    name = "tensors-in-list-made-tensor"
    kinds = frozenset({"ValueError", "TypeError", "RuntimeError"})
    triggers = ("torch",)
    confidence = 0.95

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        source, node = subject.source, subject.node(crash.site)
        scalars = "converted to Python scalar" in crash.message or "converted to Scalar" in crash.message
        if not scalars or not isinstance(node, ast.Call) or len(node.args) != 1:
            return
        name, given = source.qualified(node.func) or "", node.args[0]
        if name not in NUMBERS or not _same_shapes(subject, given):
            return
        casts = {keyword.arg: keyword.value for keyword in node.keywords}
        if casts.keys() - {"dtype"}:
            return
        stack = spell(subject, "torch.stack")
        after = CASTS.get(name, "")
        if "dtype" in casts:
            after = f".to({subject.text(source.site(casts['dtype']))})"
        code = f"{stack.code}({subject.text(source.site(given))}){after}"
        edits: tuple[Edit, ...] = (Replace(source.site(node), code), *stack.imports)
        what = f"{ast.unparse(given)} is a list of tensors, of which {name} makes no tensor"
        yield Mend(source.site(node), what, (("Stack the tensors", edits, 0.95),))

    examples = (
        Example(
            "outputs that are collected",
            """\
import torch

net = torch.nn.Linear(2, 3)
outputs = []
for row in torch.rand(4, 2):
    outputs.append(net(row))
- print(torch.tensor(outputs).shape)
+ print(torch.stack(outputs).shape)
""",
            runs=True,
        ),
        Example(
            "with a dtype",
            """\
import torch as t

rows = [t.arange(3) for _ in range(5)]
- data = t.tensor(rows, dtype=t.float32)
+ data = t.stack(rows).to(t.float32)
print(data.mean())
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "tensors of one element each",
            """\
import torch

losses = [torch.ones(1), torch.zeros(1)]
print(torch.tensor(losses))
""",
            runs=True,
        ),
        Reject(
            "tensors of different lengths",
            """\
import torch

parts = [torch.ones(2), torch.ones(3)]
print(torch.tensor(parts))
""",
            runs=True,
        ),
    )


def _same_shapes(subject: Subject, given: ast.expr) -> bool:
    """Whether the elements that the run told of are tensors of one shape."""
    told = held_list(subject, given)
    items = told[1] if told is not None else ()
    shapes = {str(item.get("shape")) for item in items if isinstance(item, dict) and item.get("kind") == "torch.Tensor"}
    every = all(isinstance(item, dict) and item.get("kind") == "torch.Tensor" for item in items)
    return bool(items) and every and len(shapes) == 1
