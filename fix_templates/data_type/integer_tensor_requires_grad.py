"""A gradient is asked for a tensor of integers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    SetArgument,
    Subject,
    Symptom,
    Wrap,
    argument,
)

FROM_DATA = frozenset({"torch.tensor", "torch.as_tensor", "torch.arange", "torch.full", "torch.autograd.Variable"})


class IntegerTensorRequiresGrad(FixTemplate):
    """`requires_grad=True` on a tensor made of Python integers: only floating-point tensors can have a gradient.

    `torch.tensor([1, 2])` takes its dtype from the numbers, so a missing decimal point makes a tensor of integers.

    Fix safety: unsafe. The program did not run before; the numbers keep their value.

    References: torch.tensor, torch.Tensor.requires_grad_.
    """

    code = "DNF604"
    name = "integer-tensor-requires-grad"
    family = Family.DATA_TYPE
    fix_pattern = FixPattern.DATA_TYPE
    message = "a tensor of integers cannot have a gradient"
    triggers = ("requires_grad",)

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for call in subject.source.calls(*FROM_DATA):
            typed = argument(subject, call, "torch.tensor", "dtype") is not None
            if typed or not call.args or not _asks_for_gradient(call) or not _all_integers(call.args[0], subject):
                continue
            crashed = _crashed_at(subject, call)
            yield self.finding(
                subject.source.site(call),
                symptom=Symptom.CRASH if crashed else Symptom.NONE_OBSERVED,
                confidence=0.95,
                cause="crash" if crashed else "",
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        node = subject.node(finding.site)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            yield Decline("the tensor is made by a function that was imported by its own name")
            return
        owner = subject.text(subject.source.site(node.func.value))
        if subject.source.qualified(node.func) == "torch.autograd.Variable":
            yield self.candidate(finding, "Make it float", Wrap(subject.source.site(node.args[0]), "", ".float()"))
            return
        yield self.candidate(
            finding, "Make it a float tensor", SetArgument(finding.site, "dtype", f"{owner}.float32"), prior=0.9
        )

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
