"""`Variable(x, volatile=True)`: a request to record no gradients that does nothing any more."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    AddImport,
    ApiChange,
    Delete,
    Edit,
    Enclose,
    Example,
    Hit,
    Reject,
    RemoveArgument,
    Replace,
    Subject,
    uses_of,
)

NAMED = (ast.Name, ast.Attribute)


class VolatileVariable(ApiChange):
    """`volatile` has no effect since torch 0.4: evaluation records gradients again and fills the memory.

    The argument is dropped, and the rest of the block is put under `torch.no_grad()`, unless something in it calls
    `backward()` or the variable is made to be returned; under `torch.set_grad_enabled(…)` where a variable said whether. `x.volatile = False` took a result out of the graph, and becomes
    `x = x.detach()`; `x.volatile = True` alone is taken away where such a line follows.

    Fix safety: safe where the argument alone goes; unsafe for assignments. Under `torch.no_grad()` values stay the same, but what leaves the block
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
            mode = _mode(subject, keyword.value)
            header = _block(subject, call, enclosed, mode) if mode else []
            edits += header
            yield Hit(
                source.site(keyword),
                "volatile does nothing since torch 0.4: gradients are recorded all the same",
                title=f"evaluate under torch.{mode}" if header else "drop volatile",
                edits=tuple(edits),
                safe=not header,
                removed={"torch": "0.4"},
                within=site,
            )
        yield from _assignments(subject)

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
        Example(
            "one loop for training and testing",
            """\
from torch.autograd import Variable


def run(net, criterion, loader, optimizer, is_train=True):
    total = 0
    for x, y in loader:
        x, y = Variable(x, volatile=not is_train), Variable(y, volatile=not is_train)
        loss = criterion(net(x), y)
        if is_train:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += float(loss)
    return total
""",
            """\
from torch.autograd import Variable
import torch


def run(net, criterion, loader, optimizer, is_train=True):
    total = 0
    for x, y in loader:
        with torch.set_grad_enabled(is_train):
            x, y = Variable(x), Variable(y)
            loss = criterion(net(x), y)
            if is_train:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += float(loss)
    return total
""",
        ),
        Example(
            "targets that are worked out by another network",
            """\
import torch


def loss(q, target, state, following, reward):
    following.volatile = True
    wanted = reward + 0.9 * target(following).max(1)[0]
    wanted.volatile = False
    return torch.nn.functional.smooth_l1_loss(q(state), wanted)
""",
            """\
import torch


def loss(q, target, state, following, reward):
    wanted = reward + 0.9 * target(following).max(1)[0]
    wanted = wanted.detach()
    return torch.nn.functional.smooth_l1_loss(q(state), wanted)
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
            "an attribute of something else",
            """\
import torch


class Market:
    def __init__(self, price):
        self.volatile = False
        self.price = torch.tensor(price)

    def open(self, stock):
        stock.volatile = True
        return self.volatile
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


def _assignments(subject: Subject) -> Iterator[Hit]:
    """`x.volatile = …` of what is no object of the program's own, in functions where a result is taken out of the graph."""
    source = subject.source
    found: dict[ast.AST, list[tuple[ast.Assign, str, bool]]] = {}
    for statement in uses_of(source).assignments():
        target, value = statement.targets[0], statement.value
        if len(statement.targets) != 1 or not isinstance(target, ast.Attribute) or target.attr != "volatile":
            continue
        if isinstance(target.value, ast.Name) and target.value.id == "self":
            return  # a word of the program's own
        if isinstance(target.value, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, bool):
            owner = source.enclosing(statement, ast.FunctionDef, ast.AsyncFunctionDef) or source.tree
            found.setdefault(owner, []).append((statement, target.value.id, value.value))
    for group in found.values():
        taken_out = any(not volatile for _, _, volatile in group)
        for statement, name, volatile in group if taken_out else ():
            site = source.site(statement)
            yield Hit(
                site,
                "volatile does nothing since torch 0.4: what follows is a part of the graph",
                title="drop volatile" if volatile else "take the result out of the graph with detach()",
                edits=(Delete(site) if volatile else Replace(site, f"{name} = {name}.detach()"),),
                removed={"torch": "0.4"},
                confidence=0.9,
            )


def _mode(subject: Subject, value: ast.expr) -> str:
    """What of torch records gradients only where a value is false; nothing where it is false, or has to be worked out."""
    if isinstance(value, ast.Constant):
        return "no_grad()" if value.value is True else ""
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not) and isinstance(value.operand, NAMED):
        return f"set_grad_enabled({subject.source.segment(subject.source.site(value.operand))})"
    if isinstance(value, NAMED):
        return f"set_grad_enabled(not {subject.source.segment(subject.source.site(value))})"
    return ""


def _block(subject: Subject, call: ast.Call, enclosed: set[ast.AST], mode: str) -> list[Edit]:
    """The edits that put the rest of the block, from the statement of the call on, under a mode; once for each block."""
    source = subject.source
    first = source.statement_of(call)
    owner = source.parent(first)
    body = getattr(owner, "body", None)
    if not isinstance(body, list) or first not in body or isinstance(first, ast.Return) or owner in enclosed:
        return []
    rest = body[body.index(first) :]
    inner = [node for statement in rest for node in ast.walk(statement)]
    if mode == "no_grad()" and any(isinstance(n, ast.Attribute) and n.attr == "backward" for n in inner):
        return []
    if any(isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)) for n in inner):
        return []
    torch = next((local for local, name in uses_of(source).imported.items() if name == "torch"), "")
    if not torch and "torch" in uses_of(source).bound or len(rest) < 2 or _grows(owner, first, rest):
        return []
    enclosed.add(owner if owner is not None else first)
    header = Enclose(source.site(first), source.site(rest[-1]), f"with {torch or 'torch'}.{mode}:")
    return [header] if torch else [AddImport("import torch"), header]


def _grows(owner: ast.AST | None, first: ast.stmt, rest: list[ast.stmt]) -> bool:
    """Whether the block is the program itself, most of which would be indented."""
    return isinstance(owner, ast.Module) and len(rest) > 8
