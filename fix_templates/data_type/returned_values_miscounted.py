"""A function of the program returns more values than its caller takes apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Example, FixPattern, Mend, Reject, Replace, Source, Subject, within

IGNORED = "_"


class ReturnedValuesMiscounted(CrashTemplate):
    """`loss, acc = evaluate(net)` where `evaluate` ends in `return loss, acc, predictions`.

    Python refuses to take three values apart into two names. Where each of the names is that of one of the values that the
    function returns, in the same order, the values between and after them are the ones that this caller does not use: they
    are taken as `_`.

    Told where all the `return` statements of the function give the same values, and the names fit in one way only.

    Fix safety: unsafe. The values that have a name keep their meaning; the call could not be taken apart before.

    References: https://docs.python.org/3/reference/simple_stmts.html#assignment-statements.
    """

    code = "DNF649"
    name = "returned-values-miscounted"
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"ValueError"})
    confidence = 0.9
    declined = "the names do not tell which of the values are meant"

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node, source = subject.node(crash.site), subject.source
        if "too many values to unpack" not in crash.message or node is None:
            return
        statement = source.statement_of(node)
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            return
        target = statement.targets[0]
        if not isinstance(target, ast.Tuple) or not all(isinstance(name, ast.Name) for name in target.elts):
            return
        returned = _returned(source, statement.value)
        if any(name.id == IGNORED and isinstance(name.ctx, ast.Load) for name in source.nodes(ast.Name)):
            return  # the program reads `_` itself
        placed = _placed([ast.unparse(name) for name in target.elts], returned)
        if placed is not None:
            function = subject.text(source.site(statement.value.func))
            what = f"{function} returns {len(returned)} values, and {len(target.elts)} are taken"
            edit = Replace(source.site(target), ", ".join(placed))
            yield Mend(source.site(target), what, (("Leave the other values", (edit,), 0.9),))

    examples = (
        Example(
            "predictions that the caller does not use",
            """\
import torch

net = torch.nn.Linear(3, 2)


def evaluate(x, y):
    out = net(x)
    loss = torch.nn.functional.cross_entropy(out, y)
    acc = (out.argmax(1) == y).float().mean()
    return loss.item(), acc.item(), out


- loss, acc = evaluate(torch.randn(8, 3), torch.arange(8) % 2)
+ loss, acc, _ = evaluate(torch.randn(8, 3), torch.arange(8) % 2)
print(loss > 0, acc >= 0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "the name for what is left out is read",
            """\
import torch


def parts(x):
    low, high, middle = x.min(), x.max(), x.mean()
    return low, high, middle


for _ in range(2):
    low, high = parts(torch.ones(6))
    print(_, low, high)
""",
            runs=True,
        ),
        Reject(
            "names that are not those of the values",
            """\
import torch


def halves(x):
    return x[:2], x[2:4], x[4:]


first, second = halves(torch.ones(6))
print(first, second)
""",
            runs=True,
        ),
        Reject(
            "as many as there are",
            """\
import torch


def both(x):
    low, high = x.min(), x.max()
    return low, high


low, high = both(torch.ones(6))
print(low, high)
""",
            runs=True,
        ),
    )


def _returned(source: Source, call: ast.Call) -> list[str]:
    """The names of the values that a function of the program returns; nothing where its returns differ."""
    if not isinstance(call.func, ast.Name):
        return []
    named = [function for function in source.nodes(ast.FunctionDef) if function.name == call.func.id]
    if len(named) != 1:
        return []
    function = named[0]
    returns = [one for one in within(function, ast.Return) if source.enclosing(one, ast.FunctionDef) is function]
    given = [_names(one.value) for one in returns]
    return given[0] if given and all(names == given[0] for names in given) else []


def _names(value: ast.expr | None) -> list[str]:
    return [_name(one) for one in value.elts] if isinstance(value, ast.Tuple) else []


def _name(value: ast.expr) -> str:
    """The variable that a returned value is, or is made from by methods without arguments (`loss.item()`)."""
    while isinstance(value, (ast.Call, ast.Attribute)):
        if isinstance(value, ast.Call) and (value.args or value.keywords):
            return ""
        value = value.func if isinstance(value, ast.Call) else value.value
    return value.id if isinstance(value, ast.Name) else ""


def _placed(names: list[str], returned: list[str]) -> list[str] | None:
    """The names at the places of the values with the same names, and `_` at the others."""
    if len(names) >= len(returned) or len(set(returned)) != len(returned) or IGNORED in names:
        return None
    places = [returned.index(name) if name in returned else -1 for name in names]
    if -1 in places or places != sorted(places):
        return None
    return [name if name in names else IGNORED for name in returned]
