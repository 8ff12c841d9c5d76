"""A tensor is asked for what only arrays of numpy have."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Edit, Example, Mend, Reject, Replace, Subject, argument_value, spell, words

KINDS = frozenset({"torch.Tensor", "torch.nn.parameter.Parameter"})

DTYPES = words("float16 float32 float64 int8 int16 int32 int64 uint8")
"""Names that numpy and torch have in common."""

OF_PYTHON = {"float": "float64", "int": "int64", "bool": "bool", "bool_": "bool", "long": "int64", "double": "float64"}
"""What other names for a dtype mean to numpy."""


class TensorUsedAsArray(CrashTemplate):
    """A tensor is asked for what only arrays of numpy have: `astype`, which is `to`, and `copy`, which is `clone`.

    Plain `float` asks for the floats of torch, not for the doubles of numpy: the weights are floats.

    Reported where the run shows that it is a tensor, and the dtype is one that both libraries name.

    Fix safety: unsafe. The line could not run before.

    References: torch.Tensor.to, torch.Tensor.clone.
    """

    code = "DNF628"
    name = "tensor-used-as-array"
    kinds = frozenset({"AttributeError"})
    triggers = ("astype", "copy")
    confidence = 0.9

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        source, node = subject.source, subject.node(crash.site)
        if not isinstance(node, ast.Attribute) or "'Tensor' object has no attribute" not in crash.message:
            return
        call = source.parent(node)
        if not isinstance(call, ast.Call) or call.func is not node:
            return
        text = subject.text(source.site(call))  # with the parentheses that may stand around what is called upon
        code, edits, title = text[: text.rindex(f".{node.attr}")], tuple[Edit, ...](), ""
        if node.attr == "copy" and not call.args and not call.keywords:
            edits, title = (Replace(source.site(call), f"{code}.clone()"),), "Clone the tensor"
        elif node.attr == "astype" and len(call.args) + len(call.keywords) == 1:
            dtype = _dtype(subject, argument_value(call, "dtype", 0))
            if dtype is not None:
                spelled = spell(subject, f"torch.{dtype}")
                edits = (Replace(source.site(call), f"{code}.to({spelled.code})"), *spelled.imports)
                title = "Cast the tensor"
        if edits:
            what = f"{code} is a tensor, which has no {node.attr}"
            yield Mend(source.site(node), what, ((title, edits, 0.9),))

    examples = (
        Example(
            "a dtype of numpy",
            """\
import numpy as np
import torch

mask = torch.rand(4) > 0.5
- weights = mask.astype(np.float32)
+ weights = mask.to(torch.float32)
print(weights.sum())
""",
            runs=True,
        ),
        Example(
            "a dtype as text, in an expression",
            """\
import torch


def accuracy(scores, labels):
-     return (scores.argmax(1) == labels).astype("float32").mean()
+     return (scores.argmax(1) == labels).to(torch.float32).mean()


print(accuracy(torch.rand(4, 3), torch.zeros(4)))
""",
            runs=True,
        ),
        Example(
            "a copy",
            """\
import torch

row = torch.ones(3)
- other = row.copy()
+ other = row.clone()
other[0] = 5
print(row, other)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "an array of numpy",
            """\
import numpy as np
import torch

print(torch.from_numpy(np.ones(3).astype("float32").copy()))
""",
            runs=True,
        ),
        Reject(
            "a dtype that torch does not have",
            """\
import torch

print(torch.ones(3).astype("S8"))
""",
            runs=True,
        ),
    )


def _dtype(subject: Subject, given: ast.expr | None) -> str | None:
    """The name in torch of a dtype that is given as numpy takes it."""
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        name = given.value
    elif isinstance(given, ast.Name | ast.Attribute):
        library, _, name = (subject.source.qualified(given) or "").rpartition(".")
        if library not in ("numpy", "builtins", "torch"):
            return None
    else:
        return None
    if name == "float":
        return "float32"
    return name if name in DTYPES else OF_PYTHON.get(name)
