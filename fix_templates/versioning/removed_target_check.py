"""`_assert_no_grad(target)`: a check that torch's own losses do not make any more."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Edit, Example, Hit, Reject, Replace, Subject, replaced_import, uses_of

NAMES = frozenset({"torch.nn._assert_no_grad", "torch.nn.modules.loss._assert_no_grad"})


class RemovedTargetCheck(ApiChange):
    """Losses that were derived from torch's own imported `_assert_no_grad`, which torch 1.0 took away.

    The check is written out: a target that needs a gradient is refused as before.

    Fix safety: safe: the same condition is asserted.

    References: https://github.com/pytorch/pytorch/pull/11045.
    """

    code = "DNF515"
    name = "removed-target-check"
    triggers = ("_assert_no_grad",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The import, with the calls of what it brought in."""
        source = subject.source
        uses = uses_of(source)
        calls = [c for c in source.all_calls if source.written(c.func) in NAMES and isinstance(c.func, ast.Name)]
        local = next((name for name, meant in uses.imported.items() if meant in NAMES), None)
        taken = replaced_import(uses, local) if local is not None else None
        if local is None or taken is None:
            return
        edits: list[Edit] = [taken]
        for call in calls:
            if not isinstance(source.parent(call), ast.Expr) or len(call.args) != 1:
                return
            edits.append(
                Replace(source.site(call), f"assert not {source.segment(source.site(call.args[0]))}.requires_grad")
            )
        yield Hit(
            taken.site,
            "torch.nn.modules.loss._assert_no_grad is gone since torch 1.0",
            title="assert that the target needs no gradient",
            edits=tuple(edits),
            safe=True,
            removed={"torch": "1.0"},
        )

    examples = (
        Example(
            "imported alone",
            """\
import torch
- from torch.nn.modules.loss import _assert_no_grad


def distance(input, target):
-     _assert_no_grad(target)
+     assert not target.requires_grad
    return torch.dist(input, target)
""",
        ),
        Example(
            "two targets",
            """\
import torch
- from torch.nn.modules.loss import _assert_no_grad, MSELoss
+ from torch.nn.modules.loss import MSELoss


class Paired(MSELoss):
    def forward(self, first, second, left, right):
-         _assert_no_grad(left)
-         _assert_no_grad(right)
+         assert not left.requires_grad
+         assert not right.requires_grad
        return super().forward(torch.cat([first, second]), torch.cat([left, right]))
""",
        ),
    )
    rejects = (
        Reject(
            "other names of that module",
            "from torch.nn.modules.loss import MSELoss, _Loss\n\n\nclass Own(_Loss):\n    pass\n",
        ),
        Reject(
            "a function of the program's own",
            """\
import torch


def _assert_no_grad(tensor):
    assert not tensor.requires_grad


_assert_no_grad(torch.ones(2))
""",
        ),
    )
