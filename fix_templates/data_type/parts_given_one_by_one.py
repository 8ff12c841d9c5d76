"""Arrays that are put together are given one by one, where one list of them is taken."""

from __future__ import annotations

import ast
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
    Site,
    Source,
    Subject,
    is_symbolic,
)

MERGING = ("concatenate", "add", "subtract", "multiply", "average", "maximum", "minimum", "dot")
"""Ways to merge branches that Keras has as functions, and as layers with a capital letter."""

JOINING = frozenset(
    [f"numpy.{name}" for name in ("concatenate", "vstack", "hstack", "dstack", "stack", "column_stack")]
    + [f"torch.{name}" for name in ("cat", "concat", "concatenate", "stack", "vstack", "hstack")]
    + [f"keras.ops.{name}" for name in ("concatenate", "stack", "vstack", "hstack")]
    + [f"tensorflow.{name}" for name in ("concat", "stack")]
    + [f"keras.layers.{name}" for name in MERGING]
)
"""Functions whose first parameter is the list of what they put together."""

MERGE_LAYERS = frozenset(f"keras.layers.{name.capitalize()}" for name in MERGING)
"""Layers that are called on the list of what they put together."""

ARRAYS = frozenset({"numpy.ndarray", "torch.Tensor", "torch.nn.parameter.Parameter"})
SYMBOLIC = "KerasTensor"


class PartsGivenOneByOne(CrashTemplate):
    """Arrays that are put together are given one by one, where one list of them is taken.

    The second array is taken for the axis. The run shows which of the arguments are arrays; they become one list. The
    layers of Keras that merge branches, as `Concatenate()` and `Add()`, are called on a list as well.

    Fix safety: unsafe. The call could not run before.

    References: numpy.concatenate, torch.cat, keras.layers.Concatenate.
    """

    code = "DNF622"
    name = "parts-given-one-by-one"
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"TypeError", "ValueError"})
    confidence = 0.9

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site)
        source = subject.source
        if not isinstance(node, ast.Call) or not _joins(source, node):
            return
        parts = []
        for given in node.args:
            if not _is_array(subject, crash, given):
                break
            parts.append(given)
        open_ended = any(keyword.arg is None for keyword in node.keywords)
        if len(parts) < 2 or len(node.args) - len(parts) > 1 or open_ended:
            return
        first, last = source.site(parts[0]), source.site(parts[-1])
        whole = Site(first.line, first.column, last.end_line, last.end_column)
        rest = [subject.text(source.site(one)) for one in node.args[len(parts) :]]
        rest += [_named(subject, one) for one in node.keywords]
        given_now = ", ".join([f"[{subject.text(whole)}]", *rest])
        edit: Edit = Replace(source.site(node), f"{subject.text(source.site(node.func))}({given_now})")
        what = f"{ast.unparse(node.func)} takes one list of what it puts together, and gets {len(parts)} arrays"
        yield Mend(source.site(node), what, (("Give them as a list", (edit,), 0.9),))

    examples = (
        Example(
            "tensors along an axis",
            """\
import torch


class Skip(torch.nn.Module):
    def forward(self, x, y):
-         return torch.cat(x, y, 1)
+         return torch.cat([x, y], 1)


print(Skip()(torch.ones(2, 3), torch.ones(2, 1)).shape)
""",
            runs=True,
        ),
        Example(
            "tensors along a named axis",
            """\
import torch

a = b = c = torch.ones(2)
- print(torch.stack(a, b, c, dim=1).shape)
+ print(torch.stack([a, b, c], dim=1).shape)
""",
            runs=True,
        ),
        Example(
            "branches of a network given to a layer that merges them",
            """\
import keras
import numpy as np
from keras.layers import Add, Dense

a, b = keras.Input((3,)), keras.Input((2,))
- both = Add()(Dense(4)(a), Dense(4)(b))
+ both = Add()([Dense(4)(a), Dense(4)(b)])
model = keras.Model([a, b], Dense(1)(both))
model.compile("sgd", "mse")
model.fit([np.ones((4, 3)), np.ones((4, 2))], np.ones((4, 1)), verbose=0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a list and an axis that is no number",
            """\
import torch

a = torch.ones(2)
print(torch.cat([a, a], "rows"))
""",
            runs=True,
        ),
        Reject(
            "arrays of other sizes",
            """\
import numpy as np
import torch

print(np.concatenate([np.ones((2, 3)), np.ones((2, 4))]), torch.ones(1))
""",
            runs=True,
        ),
    )


def _joins(source: Source, call: ast.Call) -> bool:
    """Whether a call is of a function, or of a layer of Keras, that puts a list of arrays together."""
    if source.qualified(call.func) in JOINING:
        return True
    layer = call.func if isinstance(call.func, ast.Call) else source.constructor(call.func)
    return layer is not None and source.qualified(layer.func) in MERGE_LAYERS


def _is_array(subject: Subject, crash: Crash, given: ast.expr) -> bool:
    held = crash.held_at(subject.source.site(given))
    if held is not None:
        return held.kind in ARRAYS or held.kind.endswith(f".{SYMBOLIC}")
    return isinstance(given, ast.Call) and is_symbolic(subject.source, given)


def _named(subject: Subject, keyword: ast.keyword) -> str:
    return f"{keyword.arg}={subject.text(subject.source.site(keyword.value))}"
