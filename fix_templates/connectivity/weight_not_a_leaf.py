"""A weight is converted or moved after it was told to require gradients: what the name holds is no leaf, and gets no gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Source,
    Subject,
    Wrap,
    graph_flow,
    keyword_value,
    structure,
    words,
)

CONVERSIONS = words("to cuda double float half cpu t T view reshape squeeze unsqueeze mul div transpose permute type")


class WeightNotALeaf(ReadTemplate):
    """`w = torch.randn(3, requires_grad=True).to(device)`: the weight is the tensor before the conversion, and no name holds it.

    Gradients go to the leaf; `w.grad` stays None, and an optimizer refuses `w`. Multiplications and changes of shape do the same. Reported where a tensor is made with
    `requires_grad=True`, or with `requires_grad_()`, and converted in the same expression, unless what it holds is given to a network as its input.

    Fix safety: unsafe. The weight is another tensor, which gets gradients.

    References: torch.Tensor.is_leaf ("Tensors that have requires_grad … will be leaf Tensors if they were created by the user").
    """

    code = "DNF486"
    name = "weight-not-a-leaf"
    message = "`{name}` is the result of `{conversion}()`, and no leaf: its gradient stays None"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    nature = Nature.RISK
    silent = 5
    default = False
    triggers = ("requires_grad", "requires_grad_", "Parameter")
    declined = "a parameter of a network is converted by converting the network"
    confidence = 0.85

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks:
            return
        for node in source.nodes(ast.Assign):
            target, call = node.targets[0], node.value
            if (
                not isinstance(target, ast.Name)
                or not isinstance(call, ast.Call)
                or not isinstance(call.func, ast.Attribute)
            ):
                continue
            if (
                call.func.attr not in CONVERSIONS
                or not _is_leaf(source, call.func.value)
                or _is_input(source, target.id)
            ):
                continue
            said = {"name": target.id, "conversion": call.func.attr}
            site = source.site(call)
            is_parameter = "Parameter" in ast.unparse(call.func.value)
            edits = None if is_parameter else (Wrap(site, "", ".detach().requires_grad_()"),)
            yield Fault(site, said, (("Let the converted tensor be the leaf", edits, 0.8),))

    programs = """
=== example: moved to a device
import torch

- w = torch.randn(3, 1, requires_grad=True).to(device)
+ w = torch.randn(3, 1, requires_grad=True).to(device).detach().requires_grad_()
loss = (x @ w - y).pow(2).mean()
loss.backward()

=== reject: made there
import torch

w = torch.randn(3, 1, requires_grad=True, device=device)
b = torch.zeros(1).to(device).requires_grad_()

=== reject: an input
import torch

x = torch.randn(8, 3, 32, 32, requires_grad=True).cuda()
net(x).sum().backward()
"""


def _is_leaf(source: Source, expr: ast.expr) -> bool:
    """Whether an expression makes a tensor that is told to require gradients."""
    if not isinstance(expr, ast.Call):
        return False
    if isinstance(expr.func, ast.Attribute) and expr.func.attr == "requires_grad_" and not expr.args:
        return isinstance(expr.func.value, ast.Call)
    name, flag = source.qualified(expr.func), keyword_value(expr, "requires_grad")
    is_flagged = isinstance(flag, ast.Constant) and flag.value is True
    if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
        return flag is None or is_flagged
    return is_flagged and (name in graph_flow.FRESH or name in graph_flow.MAKERS)


def _is_input(source: Source, name: str) -> bool:
    """Whether a name is given to a network or another unseen function, as data are."""
    for call in source.all_calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in graph_flow.PASSING:
            continue
        is_given = any(isinstance(arg, ast.Name) and arg.id == name for arg in call.args)
        is_own = not (source.qualified(call.func) or "").startswith(("torch.", "builtins."))
        if is_given and (is_own or structure.is_network(source, call.func)):
            return True
    return bool(graph_flow.OF_DATA.search(name)) and name not in ("w", "weight", "weights")
