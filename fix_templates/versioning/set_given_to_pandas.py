"""`df["word"] = set(words)`: a set is passed to pandas, which needs an order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, Source, Subject, Wrap, changed_calls, uses_of

MAKERS = ("pandas.DataFrame", "pandas.Series", "pandas.Index")


class SetGivenToPandas(ApiChange):
    """A set has no order: pandas refuses one as a column, as data, and as labels that select rows or columns.

    Up to 1.0 a set became a column in Python's iteration order, and up to 1.5 it selected rows and columns. `list` has
    the same order.

    Fix safety: unsafe: the order is Python's, as before; strings come in another order in every run.

    References: https://pandas.pydata.org/docs/whatsnew/v1.1.0.html,
    https://pandas.pydata.org/docs/whatsnew/v2.0.0.html.
    """

    code = "DNF583"
    name = "set-given-to-pandas"
    message = "a set, which has no order, is passed to pandas as {role}"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if "pandas" not in source.words:
            return
        for statement in uses_of(source).assignments():
            target = statement.targets[0]
            if not isinstance(target, ast.Subscript) or not _is_frame(source, target.value):
                continue
            if len(statement.targets) == 1 and _is_set(source, statement.value, statement):
                yield _hit(source, statement.value, "a column")
        for call in uses_of(source).calls():
            if source.qualified(call.func) in MAKERS and call.args and _is_set(source, call.args[0], call):
                yield _hit(source, call.args[0], "data")
        for index in uses_of(source).subscripts():
            if isinstance(index.ctx, ast.Load) and _is_frame(source, index.value):
                for part in index.slice.elts if isinstance(index.slice, ast.Tuple) else [index.slice]:
                    if _is_set(source, part, index):
                        yield _hit(source, part, "labels")

    programs = """
=== example: words that became a set on the way
import pandas as pd
import torch

words = []
for line in ["a b", "b c"]:
    for word in line.split():
        words.append(word)
words = set(words)
frame = pd.DataFrame(torch.zeros(len(words), 2).numpy(), columns=["x1", "x2"])
- frame["word"] = words
+ frame["word"] = list(words)
frame = frame[["word", "x1"]]

=== example: columns that are left over
import pandas as pd
import torch

table = pd.DataFrame({"a": [1], "b": [2], "y": [0]})
- inputs = table[set(table.columns) - {"y"}]
- x = torch.tensor(table.loc[:, {"a", "b"}].values)
+ inputs = table[list(set(table.columns) - {"y"})]
+ x = torch.tensor(table.loc[:, list({"a", "b"})].values)

=== example: the classes as a series
import pandas
import torch

names = {"cat", "dog"}
- series = pandas.Series(names)
+ series = pandas.Series(list(names))
layer = torch.nn.Linear(2, len(series))

=== reject: lists, and a set that was sorted
import pandas as pd
import torch

frame = pd.DataFrame({"a": [1, 2]})
frame["b"] = sorted({3, 4})
frame["c"] = list({5, 6})
frame["d"] = torch.ones(2).numpy()
words = {"a"}
words = [word for word in words]
print(frame[words], frame[["a", "b"]])

=== reject: a dictionary
import pandas as pd
import torch

known = {}
known["words"] = set("ab")
print(pd.Series([1]), torch.ones(1), known)
"""


def _is_frame(source: Source, expr: ast.expr) -> bool:
    if isinstance(expr, ast.Attribute) and expr.attr == "loc":
        expr = expr.value
    bound = source.bindings(expr, expr) if isinstance(expr, ast.Name) else ()
    return changed_calls.receiver_is(source, bound[0] if len(bound) == 1 else expr, "pandas.DataFrame") is True


def _is_set(source: Source, value: ast.expr, at: ast.AST) -> bool:
    """Whether an expression is a set, at that node."""
    if isinstance(value, ast.Name):
        bound = source.bindings(value, at)
        return len(bound) == 1 and not isinstance(bound[0], ast.Name) and _is_set(source, bound[0], at)
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Sub, ast.BitAnd, ast.BitOr)):
        return _is_set(source, value.left, at)
    if isinstance(value, ast.Call):
        return source.qualified(value.func) in ("builtins.set", "builtins.frozenset")
    return isinstance(value, (ast.Set, ast.SetComp))


def _hit(source: Source, value: ast.expr, role: str) -> Hit:
    site = source.site(value)
    return Hit(
        site,
        SetGivenToPandas.message.format(role=role),
        title="convert the set to a list",
        edits=(Wrap(site, "list(", ")"),),
        removed={"pandas": "1.1"},
        confidence=0.9,
    )
