"""Arrays that are put together are given one by one, where one list of them is taken."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Edit, Example, FixPattern, Mend, Reject, Replace, Site, Subject

JOINING = frozenset(
    [f"numpy.{name}" for name in ("concatenate", "vstack", "hstack", "dstack", "stack", "column_stack")]
    + [f"torch.{name}" for name in ("cat", "concat", "concatenate", "stack", "vstack", "hstack")]
    + [f"keras.ops.{name}" for name in ("concatenate", "stack", "vstack", "hstack")]
    + [f"tensorflow.{name}" for name in ("concat", "stack")]
)
"""Functions whose first parameter is the list of what they put together."""

ARRAYS = frozenset({"numpy.ndarray", "torch.Tensor", "torch.nn.parameter.Parameter"})


class PartsGivenOneByOne(CrashTemplate):
    """Arrays that are put together are given one by one, where one list of them is taken.

    The second array is taken for the axis. The run shows which of the arguments are arrays; they become one list.

    Fix safety: unsafe. The call could not run before.

    References: numpy.concatenate, torch.cat.
    """

    code = "DNF622"
    name = "parts-given-one-by-one"
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"TypeError", "ValueError"})
    confidence = 0.9

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site)
        source = subject.source
        if not isinstance(node, ast.Call) or source.qualified(node.func) not in JOINING:
            return
        parts = []
        for given in node.args:
            held = crash.held_at(source.site(given))
            if held is None or held.kind not in ARRAYS:
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
            "two arrays",
            before="""\
import numpy as np
import torch

first, second = np.ones((2, 3)), np.zeros((2, 3))
print(np.concatenate(first, second).shape, torch.ones(1))
""",
            after="""\
import numpy as np
import torch

first, second = np.ones((2, 3)), np.zeros((2, 3))
print(np.concatenate([first, second]).shape, torch.ones(1))
""",
            runs=True,
        ),
        Example(
            "tensors along an axis",
            before="""\
import torch


class Skip(torch.nn.Module):
    def forward(self, x, y):
        return torch.cat(x, y, 1)


print(Skip()(torch.ones(2, 3), torch.ones(2, 1)).shape)
""",
            after="""\
import torch


class Skip(torch.nn.Module):
    def forward(self, x, y):
        return torch.cat([x, y], 1)


print(Skip()(torch.ones(2, 3), torch.ones(2, 1)).shape)
""",
            runs=True,
        ),
        Example(
            "tensors along a named axis",
            before="""\
import torch

a = b = c = torch.ones(2)
print(torch.stack(a, b, c, dim=1).shape)
""",
            after="""\
import torch

a = b = c = torch.ones(2)
print(torch.stack([a, b, c], dim=1).shape)
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


def _named(subject: Subject, keyword: ast.keyword) -> str:
    return f"{keyword.arg}={subject.text(subject.source.site(keyword.value))}"
