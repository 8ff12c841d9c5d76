"""`correct[:k].view(-1)`: a view of elements that do not lie side by side in memory."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import cast

from dnnfix.api import ApiChange, Example, Hit, Reject, Replace, Subject

REFUSED = "view size is not compatible with input tensor's size and stride"
"""What `view` says of a tensor whose elements do not lie as it needs them."""


class ViewOfScatteredElements(ApiChange):
    """`view` wants elements that lie side by side; what operations give of a transposed tensor does so no more.

    Until torch 1.7 `pred.t().eq(target)` was laid out anew, and the usual `accuracy` took a view of its rows. Now the
    result keeps the order of its input, and `view` refuses it; `reshape` copies where a view cannot be had. The other
    views of the same value are repaired along with the one at which the run stopped.

    Fix safety: safe: `reshape` is `view` wherever that works, and gives the same elements elsewhere.

    References: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.view.html,
    https://github.com/pytorch/examples/pull/839.
    """

    code = "DNF592"
    name = "view-of-scattered-elements"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The `view` at which the run stopped, and those of the same value."""
        source, crash = subject.source, subject.crash
        if crash is None or crash.kind != "RuntimeError" or crash.site is None or crash.site.path:
            return
        if REFUSED not in crash.message:
            return
        views = [call for call in source.all_calls if _is_view(call)]
        refused = [call for call in views if crash.site.encloses(source.site(call)) or source.site(call) == crash.site]
        if len(refused) != 1:
            return
        function = source.enclosing(refused[0], ast.FunctionDef)
        for call in views:
            same = _value(call) == _value(refused[0]) and source.enclosing(call, ast.FunctionDef) is function
            if call is refused[0] or same:
                method = source.site(call.func)
                yield Hit(
                    source.site(call),
                    "view() refuses elements that do not lie side by side, which torch lays out otherwise since 1.7",
                    title="reshape() copies where a view cannot be had",
                    edits=(Replace(method, source.segment(method).removesuffix("view") + "reshape"),),
                    safe=True,
                    removed={"torch": "1.7"},
                )

    examples = (
        Example(
            "the rows of a transposed comparison",
            """\
import torch


def accuracy(output, target, topk=(1,)):
    _, pred = output.topk(max(topk), 1, True, True)
    pred = pred.t()
    correct = pred.eq(target.view(1, -1).expand_as(pred))
-     return [correct[:k].view(-1).float().sum(0) for k in topk]
+     return [correct[:k].reshape(-1).float().sum(0) for k in topk]


print(accuracy(torch.randn(8, 9), torch.zeros(8).long(), (1, 5)))
""",
            runs=True,
        ),
        Example(
            "two views of one value",
            """\
import torch

likeliest = torch.randn(8, 9).topk(5, 1)[1].t()
hits = likeliest == torch.zeros(8).long()
- first = hits[:1].view(-1)
- print(hits[:5].view(-1).sum(), hits[:3].view(-1).sum())
+ first = hits[:1].reshape(-1)
+ print(hits[:5].reshape(-1).sum(), hits[:3].reshape(-1).sum())
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "views of elements that lie side by side",
            """\
import torch

x = torch.randn(2, 3, 4, 4)
print(x.view(2, -1).sum(), x.permute(0, 2, 3, 1).contiguous().view(2, -1).sum())
""",
            runs=True,
        ),
        Reject(
            "a view for another number of elements",
            """\
import torch

x = torch.randn(2, 3, 4, 4)
print(x.permute(0, 2, 3, 1).view(2, 7).sum())
""",
            runs=True,
        ),
    )


def _is_view(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "view"


def _receiver(call: ast.Call) -> ast.expr:
    return cast(ast.Attribute, call.func).value


def _value(call: ast.Call) -> str:
    """What a view is taken of, whatever rows of it."""
    value = _receiver(call)
    while isinstance(value, ast.Subscript):
        value = value.value
    return ast.unparse(value)
