"""A tensor that should be trained is an attribute of a module, but no parameter of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    TENSOR_MAKERS,
    Candidate,
    Decline,
    Edit,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    RemoveArgument,
    Subject,
    Symptom,
    Unwrap,
    Wrap,
    kept_in_self,
    spell,
    torch_modules,
)

VARIABLE = "torch.autograd.Variable"


class WeightNotRegistered(FixTemplate):
    """A torch module makes a tensor with `requires_grad=True` and keeps it as an ordinary attribute.

    Only `nn.Parameter` makes a tensor one of the module's parameters. A plain tensor receives gradients, but
    `model.parameters()` does not give it to the optimizer, `model.to(device)` leaves it behind and it is not saved.

    Fix safety: unsafe. The weight is trained from now on; saved files of the model get one more entry.

    References: torch.nn.parameter.Parameter.
    """

    code = "DNF412"
    name = "weight-not-registered"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "`self.{attribute}` is a plain tensor, no parameter of the module: no optimizer is given it"
    triggers = ("requires_grad",)

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for owner in torch_modules(subject.source):
            for attribute, value in kept_in_self(owner):
                if _made(subject, value) is None or _handed_on(subject, owner, attribute):
                    continue
                yield self.finding(
                    subject.source.site(value),
                    symptom=Symptom.VIOLATION,
                    confidence=0.9,
                    evidence={"class": owner.name},
                    attribute=attribute,
                )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        value = subject.node(finding.site)
        made = _made(subject, value) if isinstance(value, ast.expr) else None
        if made is None or value is None:
            yield Decline("how the tensor is made cannot be told")
            return
        source = subject.source
        name = spell(subject, "torch.nn.Parameter")
        edits: list[Edit] = [Wrap(finding.site, f"{name.code}(", ")"), *name.imports]
        if source.qualified(made.func) == VARIABLE:
            if made is not value or not made.args:
                yield Decline("the tensor is moved or cast after it was made")
                return
            # The inner tensor is kept as it is written, within the parameter.
            edits = [*_parameter_of(subject, made, name.code), *name.imports]
        else:
            edits.append(RemoveArgument(source.site(made), "requires_grad"))
        yield self.candidate(finding, f"Make the tensor a parameter of the module: {name.code}", *edits, prior=0.9)

    examples = (
        Example(
            "a scale",
            """\
import torch
from torch import nn

class Scale(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.fc = nn.Linear(n, n)
-         self.gain = torch.ones(n, requires_grad=True)
+         self.gain = nn.Parameter(torch.ones(n))

    def forward(self, x):
        return self.fc(x) * self.gain
""",
        ),
        Example(
            "a variable of old",
            """\
import torch
import torch.nn as nn
from torch.autograd import Variable

class Cell(nn.Module):
    def __init__(self, size):
        super(Cell, self).__init__()
-         self.peephole = Variable(torch.zeros(1, size), requires_grad=True)
+         self.peephole = nn.Parameter(torch.zeros(1, size))

    def forward(self, x, c):
        return torch.sigmoid(x + c * self.peephole)
""",
        ),
    )
    rejects = (
        Reject(
            "a buffer, and a tensor that is given to the optimizer by name",
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mask = torch.ones(4)
        self.style = torch.zeros(4, requires_grad=True)
        self.optimizer = torch.optim.Adam([self.style])
""",
        ),
        Reject(
            "a class that is no module",
            "import torch\n\nclass Attack:\n    def __init__(self):\n        self.delta = torch.zeros(4, requires_grad=True)\n",
        ),
    )


def _made(subject: Subject, value: ast.expr) -> ast.Call | None:
    """The call that makes a tensor which asks for gradients."""
    if not isinstance(value, ast.Call) or subject.source.qualified(value.func) not in TENSOR_MAKERS:
        return None
    asks = any(
        keyword.arg == "requires_grad" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for keyword in value.keywords
    )
    return value if asks else None


def _handed_on(subject: Subject, owner: ast.ClassDef, attribute: str) -> bool:
    """Whether the program gives the tensor to an optimizer or registers it itself, or leaves the module's own use."""
    for call in subject.source.all_calls:
        short = (
            call.func.attr
            if isinstance(call.func, ast.Attribute)
            else call.func.id
            if isinstance(call.func, ast.Name)
            else ""
        )
        optimizes = (subject.source.qualified(call.func) or "").startswith("torch.optim.")
        if optimizes or short in ("register_parameter", "register_buffer", "grad", "add_param_group", "Parameter"):
            for node in ast.walk(call):
                if isinstance(node, ast.Attribute) and node.attr == attribute:
                    return True
                if isinstance(node, ast.Constant) and node.value == attribute:
                    return True
    return False


def _parameter_of(subject: Subject, made: ast.Call, name: str) -> tuple[Edit, ...]:
    """Edits that put `nn.Parameter(…)` in the place of `Variable(…, requires_grad=True)`."""
    site, inner = subject.source.site(made), subject.source.site(made.args[0])
    return (Unwrap(site, inner), Wrap(inner, f"{name}(", ")"))
