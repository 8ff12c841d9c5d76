"""`Variable(x, volatile=True)`: a request to record no gradients that does nothing any more."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Edit, Enclose, Example, Hit, Reject, RemoveArgument, Subject, uses_of


class VolatileVariable(ApiChange):
    """`volatile` has no effect since torch 0.4: evaluation records gradients again and fills the memory.

    The argument is dropped, and the rest of the block is put under `torch.no_grad()`, unless something in it calls
    `backward()` or the variable is made to be returned.

    Fix safety: safe where the argument alone goes. Under `torch.no_grad()` values stay the same, but what leaves the block
    has no gradient, so that this is unsafe.

    References: https://github.com/pytorch/pytorch/releases/tag/v0.4.0.
    """

    code = "DNF512"
    name = "volatile-variable"
    triggers = ("volatile",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The calls with `volatile`."""
        source = subject.source
        enclosed: set[ast.AST] = set()
        for call in source.all_calls:
            keyword = next((k for k in call.keywords if k.arg == "volatile"), None)
            if keyword is None or source.qualified(call.func) != "torch.autograd.Variable":
                continue
            site = source.site(call)
            edits: list[Edit] = [RemoveArgument(site, "volatile")]
            truth = isinstance(keyword.value, ast.Constant) and keyword.value.value is True
            header = _block(subject, call, enclosed) if truth else None
            if header is not None:
                edits.append(header)
            yield Hit(
                source.site(keyword),
                "volatile does nothing since torch 0.4: gradients are recorded all the same",
                title="evaluate under torch.no_grad()" if header is not None else "drop volatile",
                edits=tuple(edits),
                safe=header is None,
                removed={"torch": "0.4"},
                within=site,
            )

    examples = (
        Example(
            "a test loop",
            """\
import torch
from torch.autograd import Variable


def test(model, loader):
    correct = 0
    for data, target in loader:
        data, target = Variable(data, volatile=True), Variable(target)
        output = model(data)
        correct += output.max(1)[1].eq(target).sum()
    return correct
""",
            """\
import torch
from torch.autograd import Variable


def test(model, loader):
    correct = 0
    for data, target in loader:
        with torch.no_grad():
            data, target = Variable(data), Variable(target)
            output = model(data)
            correct += output.max(1)[1].eq(target).sum()
    return correct
""",
        ),
        Example(
            "a helper that returns the variable",
            """\
from torch.autograd import Variable


def as_variable(x):
    return Variable(x, volatile=True)
""",
            """\
from torch.autograd import Variable


def as_variable(x):
    return Variable(x)
""",
        ),
        Example(
            "switched off",
            """\
import torch
from torch.autograd import Variable

x = Variable(torch.ones(2), requires_grad=True, volatile=False)
(x * 2).sum().backward()
""",
            """\
import torch
from torch.autograd import Variable

x = Variable(torch.ones(2), requires_grad=True)
(x * 2).sum().backward()
""",
        ),
    )
    rejects = (
        Reject(
            "a variable without it",
            """\
import torch
from torch.autograd import Variable

x = Variable(torch.ones(2), requires_grad=True)
volatile = 3
""",
        ),
        Reject(
            "an argument of something else",
            """\
import torch


def market(price, volatile=True):
    return torch.tensor(price)


market(1.0, volatile=True)
""",
        ),
    )


def _block(subject: Subject, call: ast.Call, enclosed: set[ast.AST]) -> Enclose | None:
    """The rest of the block, from the statement of the call on; once for each block."""
    source = subject.source
    first = source.statement_of(call)
    owner = source.parent(first)
    body = getattr(owner, "body", None)
    if not isinstance(body, list) or first not in body or isinstance(first, ast.Return) or owner in enclosed:
        return None
    rest = body[body.index(first) :]
    inner = [node for statement in rest for node in ast.walk(statement)]
    if any(isinstance(n, ast.Attribute) and n.attr == "backward" for n in inner):
        return None
    if any(isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)) for n in inner):
        return None
    torch = next((local for local, name in uses_of(source).imported.items() if name == "torch"), None)
    if torch is None or len(rest) < 2 or _grows(owner, first, rest):
        return None
    enclosed.add(owner if owner is not None else first)
    return Enclose(source.site(first), source.site(rest[-1]), f"with {torch}.no_grad():")


def _grows(owner: ast.AST | None, first: ast.stmt, rest: list[ast.stmt]) -> bool:
    """Whether the block is the program itself, most of which would be indented."""
    return isinstance(owner, ast.Module) and len(rest) > 8
