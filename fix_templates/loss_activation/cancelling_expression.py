"""`torch.log(1 + x)`, `torch.exp(x) - 1` or `torch.log(torch.sum(torch.exp(x), 1))` loses precision or overflows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Replace,
    Subject,
    Symptom,
)


class CancellingExpression(ReadTemplate):
    """A logarithm or exponential is written in a form that cancels for small values or overflows for large ones.

    `1 + x` rounds to 1 where x is below the precision of the dtype, so its logarithm is 0; `exp(x) - 1` loses the same
    digits. A sum of exponentials overflows where its logarithm would not. `log1p`, `expm1` and `logsumexp` avoid both.
    Reported by `check` only: most programs never come near these values.

    Fix safety: unsafe. The value is the same up to rounding, and finite where the old one was not.

    References: https://docs.pytorch.org/docs/stable/generated/torch.log1p.html,
    https://docs.pytorch.org/docs/stable/generated/torch.expm1.html,
    https://docs.pytorch.org/docs/stable/generated/torch.logsumexp.html.
    """

    code = "DNF350"
    name = "cancelling-expression"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.API_CONTRACT
    message = "this expression loses precision or overflows; torch.{new} computes the same accurately"
    triggers = ("log", "exp")
    default = False
    default_in_check = True
    declined = "the function is imported by its name"

    def read(self, subject: Subject) -> Iterator[Fault]:
        """The expressions of these three forms that use functions of torch throughout."""
        source = subject.source
        if "torch" not in source.frameworks:
            return
        for call in source.calls("torch.log"):
            if len(call.args) != 1 or call.keywords:
                continue
            found = _after_one(call.args[0])
            if found is not None:
                yield _in_one_step(subject, call, call.func, "log1p", subject.text(source.site(found)))
                continue
            summed = call.args[0]
            if not isinstance(summed, ast.Call) or source.qualified(summed.func) != "torch.sum":
                continue
            axes = [subject.text(source.site(arg)) for arg in summed.args[1:]]
            axes += [f"{k.arg}={subject.text(source.site(k.value))}" for k in summed.keywords]
            named = {k.arg for k in summed.keywords}
            inner = summed.args[0] if summed.args else None
            known = len(summed.args) == 2 or "dim" in named
            if known and named <= {"dim", "keepdim"} and _is_exponential(inner, subject):
                given = ", ".join([subject.text(source.site(inner.args[0])), *axes])
                yield _in_one_step(subject, call, call.func, "logsumexp", given)
        for node in source.nodes(ast.BinOp):
            left = node.left
            if isinstance(node.op, ast.Sub) and _is_one(node.right) and _is_exponential(left, subject):
                yield _in_one_step(subject, node, left.func, "expm1", subject.text(source.site(left.args[0])))

    programs = """
=== example: a logarithm next to one
import torch

x = torch.tensor([1e-9, 0.5])
- y = torch.log(x + 1.0)
+ y = torch.log1p(x)

=== example: an exponential less one
import torch

x = torch.tensor([1e-9, 0.5])
- y = 2 * (torch.exp(x) - 1)
+ y = 2 * (torch.expm1(x))

=== example: the normalization of logits
import torch as th

scores = th.tensor([[1000.0, 2.0]])
- normalized = scores - th.log(th.sum(th.exp(scores), dim=1, keepdim=True))
+ normalized = scores - th.logsumexp(scores, dim=1, keepdim=True)

=== reject: a sum over everything, and another number
import torch

x = torch.ones(2, 2)
y = torch.log(torch.sum(torch.exp(x)))
z = torch.log(2 + x) + torch.exp(x) - 2

=== reject: NumPy's functions
import numpy as np
import torch

y = torch.from_numpy(np.log(1 + np.ones(2)))
"""


def _in_one_step(subject: Subject, node: ast.expr, function: ast.expr, new: str, given: str) -> Fault:
    """The fault of the expression, with the function that replaces it if the module's name is written."""
    site = subject.source.site(node)
    owner = subject.text(subject.source.site(function.value)) if isinstance(function, ast.Attribute) else ""
    way = f"Write {owner}.{new}", (Replace(site, f"{owner}.{new}({given})"),) if owner else None, 0.8
    return Fault(site, {"new": new}, (way,), confidence=0.8, symptom=Symptom.NONE_OBSERVED)


def _is_exponential(expr: ast.expr | None, subject: Subject) -> TypeGuard[ast.Call]:
    exponential = isinstance(expr, ast.Call) and subject.source.qualified(expr.func) == "torch.exp"
    return exponential and isinstance(expr, ast.Call) and len(expr.args) == 1 and not expr.keywords


def _after_one(expr: ast.expr) -> ast.expr | None:
    """The summand beside 1, if the expression is such a sum."""
    if not isinstance(expr, ast.BinOp) or not isinstance(expr.op, ast.Add):
        return None
    if _is_one(expr.left):
        return expr.right
    return expr.left if _is_one(expr.right) else None


def _is_one(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Constant) and type(expr.value) in (int, float) and expr.value == 1
