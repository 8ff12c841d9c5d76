"""A gradient is asked for a tensor of integers."""

from __future__ import annotations

import ast

from dnnfix.api import (
    CrashTemplate,
    Edit,
    Example,
    Faults,
    Mend,
    Reject,
    SetArgument,
    Subject,
    Symptom,
    Wrap,
    argument,
)

FROM_DATA = frozenset({"torch.tensor", "torch.as_tensor", "torch.arange", "torch.full", "torch.autograd.Variable"})


class IntegerTensorRequiresGrad(CrashTemplate):
    """`requires_grad=True` on a tensor made of Python integers: only floating-point tensors can have a gradient.

    `torch.tensor([1, 2])` takes its dtype from the numbers, so a missing decimal point makes a tensor of integers.

    Fix safety: unsafe. The program did not run before; the numbers keep their value.

    References: torch.tensor, torch.Tensor.requires_grad_.
    """

    code = "DNF604"
    name = "integer-tensor-requires-grad"
    triggers = ("requires_grad",)
    needs_run = False
    declined = "the tensor is made by a function that was imported by its own name"
    confidence = 0.95

    def faults(self, subject: Subject) -> Faults[Mend]:
        for call in subject.source.calls(*FROM_DATA):
            typed = argument(subject, call, "torch.tensor", "dtype") is not None
            if not typed and call.args and _asks_for_gradient(call) and _all_integers(call.args[0], subject):
                site = subject.source.site(call)
                symptom = Symptom.CRASH if _crashed_at(subject, call) else Symptom.NONE_OBSERVED
                yield site, Mend(site, "a tensor of integers cannot have a gradient", _floats(subject, call), symptom)

    examples = (
        Example(
            "a matrix and a vector",
            """\
import torch as th

inputs = th.tensor([[1, -2],
                    [3, 4]],  # two rows
-                    requires_grad=True)
+                    requires_grad=True,
+                    dtype=th.float32)
print(inputs.sum())
""",
        ),
    )
    rejects = (
        Reject("floats", "import torch\nw = torch.tensor([1.0], requires_grad=True)\n"),
        Reject("a dtype is stated", "import torch\nw = torch.tensor([1], requires_grad=True, dtype=torch.double)\n"),
        Reject("no gradient is asked for", "import torch\nw = torch.tensor([1], requires_grad=False)\n"),
    )


def _floats(subject: Subject, call: ast.Call) -> tuple[tuple[str, tuple[Edit, ...], float], ...]:
    """The repair of a call that is written with its module."""
    if not isinstance(call.func, ast.Attribute):
        return ()
    if subject.source.qualified(call.func) == "torch.autograd.Variable":
        return (("Make it float", (Wrap(subject.source.site(call.args[0]), "", ".float()"),), 0.5),)
    dtype = f"{subject.text(subject.source.site(call.func.value))}.float32"
    return (("Make it a float tensor", (SetArgument(subject.source.site(call), "dtype", dtype),), 0.9),)


def _asks_for_gradient(call: ast.Call) -> bool:
    return any(
        keyword.arg == "requires_grad" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for keyword in call.keywords
    )


def _all_integers(node: ast.expr, subject: Subject) -> bool:
    if isinstance(node, (ast.List, ast.Tuple)):
        return bool(node.elts) and all(_all_integers(element, subject) for element in node.elts)
    if isinstance(node, ast.UnaryOp):
        return _all_integers(node.operand, subject)
    if isinstance(node, ast.Name):
        bound = subject.source.bindings(node)
        return len(bound) == 1 and not isinstance(bound[0], ast.Name) and _all_integers(bound[0], subject)
    return isinstance(node, ast.Constant) and type(node.value) is int


def _crashed_at(subject: Subject, call: ast.Call) -> bool:
    crash = subject.crash
    return crash is not None and crash.site is not None and crash.site.line == call.lineno
