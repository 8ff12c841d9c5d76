"""A function changes a variable of the module that it does not declare as such."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Edit, Example, FixPattern, InsertBefore, Mend, Reject, Subject

_SAID = re.compile(r"local variable '(\w+)'")


class GlobalAssignedInFunction(CrashTemplate):
    """A function changes a variable of the module, or of the function around it, that it does not declare as such.

    A name that a function assigns is its own; `count += 1` then reads it before it has a value. Told where every
    assignment in the function is of the form `name += ...` or `name = ... name ...`, or stands under an `if` that compares
    the name with what it is given, as for a best value, so that it goes on from the value outside, and where one is there.

    Fix safety: unsafe. The function could not run before; it changes the variable outside.

    References: https://docs.python.org/3/faq/programming.html#why-am-i-getting-an-unboundlocalerror-when-the-variable-has-a-value.
    """

    code = "DNF621"
    name = "global-assigned-in-function"
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"UnboundLocalError"})
    confidence = 0.9

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        said = _SAID.search(crash.message)
        node = subject.node(crash.site)
        source = subject.source
        function = source.enclosing(node, ast.FunctionDef) if node is not None else None
        if said is None or node is None or function is None:
            return
        name = said[1]
        stores = [
            one
            for one in ast.walk(function)
            if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store)
        ]
        if not stores or not all(_goes_on(subject, one, name) for one in stores):
            return
        around = source.enclosing(function, ast.FunctionDef)
        if around is not None and _binds(around, function, name):
            word = "nonlocal"
        elif any(_binds_at_top(statement, name) for statement in source.tree.body):
            word = "global"
        else:
            return
        first = function.body[0]
        documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(function.body) > 1
        edit: Edit = InsertBefore(source.site(function.body[1] if documented else first), f"{word} {name}")
        what = f"{function.name} changes {name}, which it does not declare {word}"
        yield Mend(source.site(node), what, ((f"Declare {name} {word}", (edit,), 0.9),))

    examples = (
        Example(
            "a sum in a closure",
            """\
import torch


def train():
    total = 0.0

    def closure():
+         nonlocal total
        total += torch.ones(1).item()
        return total

    return closure()


print(train())
""",
            runs=True,
        ),
        Example(
            "the best accuracy so far",
            """\
import torch

net = torch.nn.Linear(3, 2)
best_acc = 0.0


def validate(x, y):
+     global best_acc
    acc = (net(x).argmax(1) == y).float().mean().item()
    if acc > best_acc:
        best_acc = acc
    return acc


print(validate(torch.randn(8, 3), torch.arange(8) % 2) >= 0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a variable that only one branch binds",
            """\
import torch

best = 0


def choose(loss):
    if loss < 0:
        best = loss
    return best


print(choose(torch.ones(1).item()))
""",
            runs=True,
        ),
        Reject(
            "a sum that begins nowhere",
            """\
import torch


def add(rows):
    for row in rows:
        total += row
    return total


print(add(torch.ones(2)))
""",
            runs=True,
        ),
    )


def _goes_on(subject: Subject, store: ast.Name, name: str) -> bool:
    """Whether an assignment goes on from the value that the variable has."""
    statement = subject.source.parent(store)
    if isinstance(statement, ast.AugAssign):
        return True
    if not isinstance(statement, ast.Assign):
        return False
    again = any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(statement.value))
    return again or _keeps_best(subject, statement, name)


def _keeps_best(subject: Subject, statement: ast.Assign, name: str) -> bool:
    """Whether an assignment stands under `if value > name:` and gives the name that value."""
    above = subject.source.parent(statement)
    if not isinstance(above, ast.If) or statement not in above.body:
        return False
    given = ast.unparse(statement.value)
    return any(
        {ast.unparse(node.left), ast.unparse(node.comparators[0])} == {name, given}
        for node in ast.walk(above.test)
        if isinstance(node, ast.Compare) and len(node.ops) == 1
    )


def _binds(around: ast.FunctionDef, inner: ast.FunctionDef, name: str) -> bool:
    """Whether the function around another binds a name, outside of it."""
    inside = set(ast.walk(inner))
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store) and node not in inside
        for node in ast.walk(around)
    )


def _binds_at_top(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        return False
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for node in ast.walk(statement)
    )
