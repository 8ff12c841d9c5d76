"""A tensor that gradients flow through is turned into an array of numpy."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Edit, Example, Mend, Reject, Replace, Subject, Wrap, spell, words

IN_TORCH = words("sqrt exp log abs sin cos tanh mean sum square sign clip dot matmul stack concatenate zeros_like")
"""Functions of numpy that torch has under the same name with the same first arguments."""

MAKERS = words("zeros ones empty")
"""Functions that make an array of a shape, in numpy and in torch."""

TENSORS = frozenset({"torch.Tensor", "torch.nn.parameter.Parameter"})


class TensorIntoNumpy(CrashTemplate):
    """A tensor that gradients flow through is turned into an array of numpy, which torch refuses.

    Where a network computes (in `forward`, or in what a network or a loss calls), the operation becomes that of torch, so
    that the gradient is kept: a function of the same name, or an array to be filled that is made by torch. Elsewhere the
    tensor is taken out of the graph with `detach` first.

    Fix safety: unsafe. The line could not run before. What is detached hands no gradient on.

    References: torch.Tensor.numpy, torch.Tensor.detach.
    """

    code = "DNF614"
    name = "tensor-into-numpy"
    kinds = frozenset({"RuntimeError"})
    confidence = 0.9

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        if "numpy() on Tensor that requires grad" not in crash.message or crash.site is None:
            return
        node = subject.node(crash.site)
        source = subject.source
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "numpy":
            edit: Edit = Wrap(source.site(node.func.value), "", ".detach()")
            yield _mend(subject, node.func.value, "Detach the tensor", (edit,))
            return
        statement = source.statement_of(node) if node is not None else None
        filled = _filled(subject, crash, statement)
        if filled is not None:
            maker, name = filled
            spelling = spell(subject, f"torch.{name}")
            yield _mend(
                subject, maker, f"Make it with {spelling.code}", (Replace(source.site(maker.func), spelling.code),)
            )
            return
        if isinstance(node, ast.Call):
            yield from _function(subject, crash, node)

    examples = (
        Example(
            "an array of predictions",
            """\
import torch

net = torch.nn.Linear(2, 1)
out = net(torch.ones(3, 2))
- values = out.numpy()
+ values = out.detach().numpy()
print(values.shape)
""",
            runs=True,
        ),
        Example(
            "halves of a flow put together in an array",
            """\
import numpy as np
import torch
from torch import nn


def join(first, second):
-     both = np.zeros([first.shape[0], first.shape[1] + second.shape[1]])
+     both = torch.zeros([first.shape[0], first.shape[1] + second.shape[1]])
    both[:, 0::2] = first
    both[:, 1::2] = second
    return both


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(2, 2)

    def forward(self, x):
        return join(x[:, 0::2], x[:, 1::2] + self.net(x[:, 0::2]))


print(Flow()(torch.ones(3, 4)).sum())
""",
            runs=True,
        ),
        Example(
            "a norm in the network",
            """\
import numpy as np
import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        h = self.fc(x)
-         return np.tanh(h)
+         return torch.tanh(h)


print(Scaled()(torch.ones(3, 2)).sum())
""",
            runs=True,
        ),
        Example(
            "a measure after training",
            """\
import numpy as np
import torch

net = torch.nn.Linear(2, 1)
out = net(torch.ones(3, 2))
- print(np.allclose(out, 0))
+ print(np.allclose(out.detach(), 0))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a tensor without gradient",
            """\
import torch

print(torch.ones(2).numpy())
""",
            runs=True,
        ),
        Reject(
            "a crash about sizes",
            """\
import torch

print(torch.nn.Linear(2, 1)(torch.ones(3, 3)).numpy())
""",
            runs=True,
        ),
    )


def _mend(subject: Subject, node: ast.expr, title: str, edits: tuple[Edit, ...]) -> Mend:
    site = subject.source.site(node)
    return Mend(
        site, f"{subject.text(site)} makes an array of a tensor that gradients flow through", ((title, edits, 0.9),)
    )


def _filled(subject: Subject, crash: Crash, statement: ast.stmt | None) -> tuple[ast.Call, str] | None:
    """The call that makes the array into which a tensor is put, with the name of its function."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Subscript):
        return None
    held = crash.held_at(subject.source.site(statement.targets[0].value))
    into = statement.targets[0].value
    bound = subject.source.bindings(into) if isinstance(into, ast.Name) else ()
    if held is None or held.kind != "numpy.ndarray" or len(bound) != 1 or not isinstance(bound[0], ast.Call):
        return None
    library, _, name = (subject.source.qualified(bound[0].func) or "").partition(".")
    plain = len(bound[0].args) == 1 and not bound[0].keywords
    return (bound[0], name) if library == "numpy" and name in MAKERS and plain else None


def _function(subject: Subject, crash: Crash, node: ast.Call) -> Iterator[Mend]:
    """The repairs of a call that makes arrays of what it is given."""
    source = subject.source
    library, _, name = (source.qualified(node.func) or "").partition(".")
    inner = source.enclosing(node, ast.ClassDef) is not None or _called_by_network(subject, node)
    if inner and library == "numpy" and name in IN_TORCH:
        spelling = spell(subject, f"torch.{name}")
        edits: tuple[Edit, ...] = (Replace(source.site(node.func), spelling.code), *spelling.imports)
        yield _mend(subject, node, f"Compute it with {spelling.code}", edits)
        return
    if inner:
        return
    given = [one for one in (*node.args, *(keyword.value for keyword in node.keywords))]
    tensors = [one for one in given if (held := crash.held_at(source.site(one))) is not None and held.kind in TENSORS]
    if tensors:
        detached: tuple[Edit, ...] = tuple(Wrap(source.site(one), "", ".detach()") for one in tensors)
        yield _mend(subject, node, "Detach the tensor", detached)


def _called_by_network(subject: Subject, node: ast.Call) -> bool:
    """Whether the crash came from within a method of a class, through the function that the call is in."""
    crash = subject.crash
    frames = crash.frames if crash is not None else ()
    return any(frame.function == "forward" for frame in frames)
