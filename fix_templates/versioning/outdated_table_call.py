"""`df.ix[:, 0:4]`, `df.append(other)`: what pandas took away and an expression replaces."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    AddImport,
    ApiChange,
    Edit,
    Example,
    Hit,
    Reject,
    Replace,
    Source,
    Subject,
    receiver_is,
    uses_of,
)

FRAME = "pandas.DataFrame"
WORDS = frozenset(("append", "from_csv", "get_value", "ix", "set_value"))


LEFT = {
    "append": "pandas.concat takes its place and gives a new frame; what is added is not known here to be one",
    "get_value": "write .at[row, column]",
    "set_value": "write .at[row, column] = value",
}
"""By method, why no edit is made where its arguments are not known."""


class OutdatedTableCall(ApiChange):
    """Ways to reach into tables of pandas and to add to them that are gone.

    `df.ix[rows, columns]` took labels or numbers, whatever it was given: with names of columns it is `loc`, with numbers
    of columns and all rows `iloc`. Where both are mixed, only the author knows what was meant, and nothing is proposed.
    `df.append(other)` is `pd.concat([df, other])`, `DataFrame.from_csv(path)` reads the first column as dates and index,
    `get_value(row, column)` and `set_value` are `at`.

    Fix safety: unsafe: a table whose columns are numbers, or whose rows have no numbers, read `ix` in another way.

    References: https://pandas.pydata.org/docs/whatsnew/v0.20.0.html (ix), https://pandas.pydata.org/docs/whatsnew/v1.0.0.html,
    https://pandas.pydata.org/docs/whatsnew/v1.4.0.html (append).
    """

    code = "DNF586"
    name = "outdated-table-call"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The indexings and calls that are gone."""
        source = subject.source
        if "pandas" not in source.words or source.words.isdisjoint(WORDS):
            return
        uses = uses_of(source)
        for index in uses.subscripts():
            holder = index.value
            if not isinstance(holder, ast.Attribute) or holder.attr != "ix" or source.written(holder):
                continue
            if "ix" not in uses.kept:  # else a class of the program keeps something under this name
                yield _reached(source, index, holder)
        for call in uses.calls():
            function = call.func
            if not isinstance(function, ast.Attribute) or function.attr not in WORDS:
                continue
            if source.written(function) in ("pandas.DataFrame.from_csv", "pandas.Series.from_csv"):
                yield from _from_csv(source, call)
            elif not source.written(function) and receiver_is(source, function.value, FRAME):
                yield from _method(source, call, function)

    examples = (
        Example(
            "columns by their numbers and names",
            """\
import pandas as pd
import torch

table = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "y": [0, 1]})
- x = torch.tensor(table.ix[:, 0:2].values)
- y = torch.tensor(table.ix[:, "y"].values)
- print(table.ix[0, ["a", "b"]], table.ix[table.y > 0], table.ix[1])
+ x = torch.tensor(table.iloc[:, 0:2].values)
+ y = torch.tensor(table.loc[:, "y"].values)
+ print(table.loc[0, ["a", "b"]], table.loc[table.y > 0], table.loc[1])
""",
        ),
        Example(
            "rows that are added",
            """\
import pandas as pd
import torch

train = pd.DataFrame({"a": [1.0]})
test = pd.DataFrame({"a": [2.0]})
- both = train.append(test, ignore_index=True)
- both = train.append({"a": 3.0}, ignore_index=True)
+ both = pd.concat([train, test], ignore_index=True)
+ both = pd.concat([train, pd.DataFrame([{"a": 3.0}])], ignore_index=True)
print(torch.tensor(both.values))
""",
        ),
        Example(
            "a table in a file, and single values",
            """\
import torch
- from pandas import DataFrame, read_csv
+ from pandas import read_csv

- prices = DataFrame.from_csv("prices.csv")
+ prices = read_csv("prices.csv", index_col=0, parse_dates=True)
table = read_csv("iris.csv")
- table.set_value(0, "a", 2.0)
- print(torch.tensor(table.get_value(0, "a")))
+ table.at[0, "a"] = 2.0
+ print(torch.tensor(table.at[0, "a"]))
""",
        ),
    )
    rejects = (
        Reject(
            "lists and attributes of other things",
            """\
import pandas as pd
import torch


class Cursor:
    def __init__(self):
        self.ix = {0: 1}


rows = []
rows.append({"a": 1})
table = pd.DataFrame(rows)
columns = list(table.columns)
columns.append("b")
print(Cursor().ix[0], table.iloc[:, 0:1], torch.ones(1))
""",
        ),
        Reject(
            "a table of which little is known",
            """\
import pandas as pd
import torch


def add(both, one):
    return both.append(one)


print(add([1], 2), pd.Series([1]), torch.ones(1))
""",
        ),
    )


def _reached(source: Source, index: ast.Subscript, holder: ast.Attribute) -> Hit:
    """`df.ix[…]` as `loc` or `iloc`, where the columns tell which."""
    parts = index.slice.elts if isinstance(index.slice, ast.Tuple) else [index.slice]
    owner = source.segment(source.site(holder.value))
    whole = isinstance(parts[0], ast.Slice) and parts[0].lower is None and parts[0].upper is None
    kinds = [_kind(part) for part in parts]
    new = ""
    if len(parts) == 1 or kinds[1] in ("name", "all"):
        new = "loc"
    elif kinds[1] == "number" and whole:
        new = "iloc"
    edits = (Replace(source.site(holder), f"{owner}.{new}"),)
    return Hit(
        source.site(index),
        f"the indexer ix is gone since pandas 1.0{f'; it is {new} here' if new else ''}",
        title=f"write {new} for ix",
        edits=edits if new else (),
        decline=""
        if new
        else "it cannot be told whether labels or numbers are meant: loc takes the one and iloc the other",
        removed={"pandas": "1.0"},
        confidence=0.9,
    )


def _kind(part: ast.expr) -> str:
    """What columns are chosen by: `name`, `number`, `all` of them, or nothing that is known."""
    if isinstance(part, ast.Slice):
        ends = [_kind(end) for end in (part.lower, part.upper) if end is not None]
        return ends[0] if ends and len(set(ends)) == 1 else "" if ends else "all"
    if isinstance(part, (ast.List, ast.Tuple)):
        kinds = {_kind(element) for element in part.elts}
        return kinds.pop() if len(kinds) == 1 else ""
    if isinstance(part, ast.UnaryOp):
        return _kind(part.operand)
    if isinstance(part, ast.Constant):
        return "name" if isinstance(part.value, str) else "number" if isinstance(part.value, int) else ""
    return ""


def _from_csv(source: Source, call: ast.Call) -> Iterator[Hit]:
    if len(call.args) != 1 or any(k.arg not in ("encoding", "sep", "header") for k in call.keywords):
        return
    name, edits = _pandas(source, "read_csv")
    given = [source.segment(source.site(call.args[0])), "index_col=0", "parse_dates=True"]
    given += [source.segment(source.site(keyword)) for keyword in call.keywords]
    yield _hit(source, call, "from_csv", f"{name}({', '.join(given)})", "1.0", edits)


def _method(source: Source, call: ast.Call, function: ast.Attribute) -> Iterator[Hit]:
    owner = source.segment(source.site(function.value))
    given = [source.segment(source.site(arg)) for arg in call.args]
    names = {keyword.arg for keyword in call.keywords}
    other = call.args[0] if call.args else call
    row = isinstance(other, ast.Dict) and "ignore_index" in names
    if function.attr == "get_value" and len(given) == 2 and not call.keywords:
        yield _hit(source, call, "get_value", f"{owner}.at[{', '.join(given)}]", "1.0")
    elif function.attr == "set_value" and len(given) == 3 and isinstance(source.parent(call), ast.Expr):
        statement = source.statement_of(call)
        code = f"{owner}.at[{', '.join(given[:2])}] = {given[2]}"
        yield _hit(source, call, "set_value", code, "1.0", whole=statement)
    elif (
        function.attr == "append"
        and len(given) == 1
        and names <= {"ignore_index", "sort"}
        and (row or receiver_is(source, other, FRAME))
    ):
        concat, edits = _pandas(source, "concat")
        frame, more = _pandas(source, "DataFrame")
        second = f"{frame}([{given[0]}])" if row else given[0]
        rest = [source.segment(source.site(keyword)) for keyword in call.keywords]
        code = f"{concat}({', '.join([f'[{owner}, {second}]', *rest])})"
        yield _hit(source, call, "append", code, "2.0", (*edits, *(more if row else ())))
    else:
        yield _hit(source, call, function.attr, "", "2.0" if function.attr == "append" else "1.0")


def _pandas(source: Source, function: str) -> tuple[str, tuple[Edit, ...]]:
    """How a function of pandas is called here, and the import that this needs."""
    uses = uses_of(source)
    for local, name in uses.imported.items():
        if name == f"pandas.{function}" and local not in uses.bound:
            return local, ()
    local = next((local for local, name in uses.imported.items() if name == "pandas"), "")
    return (f"{local}.{function}", ()) if local else (f"pd.{function}", (AddImport("import pandas as pd"),))


def _hit(
    source: Source,
    call: ast.Call,
    old: str,
    code: str,
    removed: str,
    edits: tuple[Edit, ...] = (),
    whole: ast.stmt | None = None,
) -> Hit:
    site = source.site(whole if whole is not None else call)
    return Hit(
        site,
        f"the method {old} is gone since pandas {removed}",
        title=f"write {code}",
        edits=(Replace(site, code), *edits) if code else (),
        decline="" if code else LEFT[old],
        removed={"pandas": removed},
    )
