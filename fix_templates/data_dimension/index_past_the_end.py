"""An index reaches past the last element: a loop that goes one too far, or numbers drawn for another length."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Replace,
    Site,
    Subject,
    Symptom,
    number,
    origins,
)

REFUSED = re.compile(r"index (\d+) is out of bounds for (?:dimension|axis) (\d+) with size (\d+)")
"""What torch and NumPy say; of a list only that the index is out of range."""

COUNTED = frozenset(
    {f"torch.{name}" for name in ("randperm", "arange")}
    | {f"numpy.{name}" for name in ("arange", "random.permutation", "random.choice")}
)
"""Functions whose first argument says for how many elements indices are made."""

BOUNDED = frozenset({"torch.randint", "numpy.random.randint", "random.randrange"})
"""Functions that draw below the bound that is their first argument, or their second."""

Loop = ast.For | ast.comprehension
Way = tuple[str, tuple[Edit, ...], float]


@dataclass(frozen=True, slots=True)
class _Past:
    """An element that is not there: of what, the expression of the index, its axis, and whether it is one too far."""

    node: ast.Subscript
    index: ast.expr
    axis: int
    by_one: bool


class IndexPastTheEnd(FaultTemplate[_Past]):
    """An index reaches past the last element: a loop that goes one too far, or numbers drawn for another length.

    Elements are counted from zero, so that a loop over `range(n + 1)` or over `range(1, n + 1)` asks for one that is not
    there, as does a look at the next element without stopping earlier. Indices that are drawn for the number of all
    values, or for another axis, reach past the rows of a table.

    Fix safety: unsafe. The program did not run before; the loop stops earlier, or the indices are those of the rows.

    References: torch.randperm, torch.Tensor.size, "The range() Function" of the Python tutorial.
    """

    code = "DNF127"
    name = "index-past-the-end"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "{index} reaches past the end of {what}"
    needs_run = True
    declined = "where the index goes too far is not written in a way that is known"

    def faults(self, subject: Subject) -> Faults[_Past]:
        found = _past(subject)
        if found is not None and next(_ways(subject, found), None) is not None:
            yield subject.source.site(found.node), found

    def report(self, site: Site, found: _Past) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.9,
            cause="crash",
            evidence={"axis": found.axis},
            index=ast.unparse(found.index),
            what=ast.unparse(found.node.value),
        )

    def repairs(self, subject: Subject, found: _Past) -> Repairs:
        yield from sorted(_ways(subject, found), key=lambda way: -way[2])[:3]

    examples = (
        Example(
            "a loop to the length and one",
            """\
import torch

rows = torch.rand(5, 3)
net = torch.nn.Linear(3, 2)
- for i in range(len(rows) + 1):
+ for i in range(len(rows)):
    net(rows[i])
""",
            runs=True,
        ),
        Example(
            "the next element of each",
            """\
import torch

series = [torch.rand(4) for _ in range(6)]
steps = []
- for t in range(len(series)):
+ for t in range(len(series) - 1):
    steps.append(series[t + 1] - series[t])
""",
            runs=True,
        ),
        Example(
            "epochs counted from one",
            """\
import torch

net = torch.nn.Linear(1, 1)
rates = [0.1, 0.05, 0.01]
for epoch in range(1, len(rates) + 1):
-     print(epoch, rates[epoch])
+     print(epoch, rates[epoch - 1])
""",
            runs=True,
        ),
        Example(
            "the label in the last column, counted from one",
            """\
import torch

table = torch.rand(20, 5)
- features, labels = table[:, :4], table[:, 5]
+ features, labels = table[:, :4], table[:, 4]
loss = (torch.nn.Linear(4, 1)(features)[:, 0] - labels).pow(2).mean()
""",
            runs=True,
        ),
        Example(
            "rows shuffled by the number of all values",
            """\
import torch


def shuffled(x, y):
-     order = torch.randperm(x.numel())
+     order = torch.randperm(len(x))
    return x[order], y[order]


shuffled(torch.rand(8, 5), torch.rand(8))
""",
            runs=True,
        ),
        Example(
            "rows drawn by the length of another axis",
            """\
import torch

data = torch.rand(6, 40)
for _ in range(20):
-     rows = torch.randint(0, data.size(1), (16,))
+     rows = torch.randint(0, len(data), (16,))
    batch = data[rows]
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "loops that stop in time",
            """\
import torch

rows = torch.rand(5, 3)
for i in range(1, len(rows)):
    rows[i] - rows[i - 1]
rows[torch.randperm(len(rows))]
""",
            runs=True,
        ),
        Reject(
            "a list with fewer elements than were configured",
            """\
rates = [0.1, 0.01]
stages = 3


def rate(stage):
    return rates[stage]


for stage in range(stages):
    print(rate(stage))
""",
            runs=True,
        ),
    )


def _past(subject: Subject) -> _Past | None:
    crash = subject.crash
    node = subject.node(crash.site) if crash is not None and crash.kind == "IndexError" else None
    node = node.value if isinstance(node, ast.Expr) else node
    if crash is None or not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Slice):
        return None
    said = REFUSED.search(crash.message)
    if said is None:
        return _Past(node, node.slice, 0, by_one=False) if crash.message == "list index out of range" else None
    axis, by_one = int(said[2]), said[1] == said[3]
    if not isinstance(node.slice, ast.Tuple):
        return _Past(node, node.slice, axis, by_one) if axis == 0 else None
    given = node.slice.elts
    plain = axis < len(given) and not any(isinstance(one, ast.Constant) and one.value in (None, ...) for one in given)
    return _Past(node, given[axis], axis, by_one) if plain else None


def _ways(subject: Subject, found: _Past) -> Iterator[Way]:
    if isinstance(found.index, ast.Name):
        loop = _loop_of(subject, found.index)
        if loop is not None:
            yield from _of_loop(subject, found, loop)
        else:
            yield from _of_drawn(subject, found)
        return
    match found.index:
        case ast.Subscript(value=ast.Name()):
            yield from _of_drawn(subject, found)
        case ast.BinOp(left=ast.Name() as name, op=ast.Add(), right=ahead) if (number(ahead) or 0) > 0:
            loop = _loop_of(subject, name)
            bounds = _range(subject, loop) if loop is not None else None
            if bounds is not None:
                edit = _less(subject, bounds[-1], number(ahead) or 0)
                yield "Stop before the last elements", (edit,), 0.85
    if number(found.index) is not None and found.by_one:
        yield "Count the elements from zero", (_less(subject, found.index, 1),), 0.8
    if _is_length(found.index, found):
        yield "Take the last element", (_less(subject, found.index, 1),), 0.85


def _less(subject: Subject, node: ast.expr, less: int) -> Edit:
    """The edit that takes a number off an expression, or off the number that is added to it."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=value)) if value == less:
            return Replace(subject.source.site(node), subject.text(subject.source.site(left)))
        case ast.Constant(value=int() as value):
            return Replace(subject.source.site(node), str(value - less))
    text = subject.text(subject.source.site(node))
    simple = isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.BinOp))
    return Replace(subject.source.site(node), f"{text} - {less}" if simple else f"({text}) - {less}")


# --- loops ------------------------------------------------------------------------------------------------------------


def _loop_of(subject: Subject, name: ast.Name) -> Loop | None:
    """The loop or comprehension around the name that counts it."""
    node = subject.source.parent(name)
    while node is not None and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        loops: list[Loop] = [node] if isinstance(node, ast.For) else []
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            loops += node.generators
        for loop in loops:
            if isinstance(loop.target, ast.Name) and loop.target.id == name.id:
                return loop
        node = subject.source.parent(node)
    return None


def _range(subject: Subject, loop: Loop) -> list[ast.expr] | None:
    """The bounds of a loop over a range that goes up by one: its stop, or its start and stop."""
    match loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=[*bounds], keywords=[]) if 1 <= len(bounds) <= 2:
            return bounds
    return None


def _of_loop(subject: Subject, found: _Past, loop: Loop) -> Iterator[Way]:
    bounds = _range(subject, loop)
    if bounds is None:
        return
    stop = bounds[-1]
    beyond = isinstance(stop, ast.BinOp) and isinstance(stop.op, ast.Add) and number(stop.right) == 1
    from_one = len(bounds) == 2 and number(bounds[0]) == 1
    if from_one and beyond:
        yield "Count the elements from zero", (_less(subject, found.index, 1),), 0.85
    elif beyond:
        yield "Stop at the last element", (_less(subject, stop, 1),), 0.85
    elif _is_size(stop) and _is_of(stop, found.node.value):
        length = _length(subject, found)
        if length is not None:
            yield "Stop at the last element", (Replace(subject.source.site(stop), length),), 0.75


# --- indices that are made at once ------------------------------------------------------------------------------------


def _of_drawn(subject: Subject, found: _Past) -> Iterator[Way]:
    length = _length(subject, found)
    for made in origins(subject, found.index):
        if not isinstance(made, ast.Call) or not made.args:
            continue
        name = subject.source.qualified(made.func)
        if name == "random.randint" and len(made.args) == 2 and found.by_one:
            yield "Draw below the length", (_less(subject, made.args[1], 1),), 0.9
        bound: ast.expr | None = None
        if name in COUNTED and len(made.args) == 1 or name == "numpy.random.choice":
            bound = made.args[0]
        elif name in BOUNDED:
            second = made.args[1:2]
            bound = second[0] if second and not isinstance(second[0], (ast.Tuple, ast.List)) else made.args[0]
        if bound is None or length is None:
            continue
        match bound:
            case ast.BinOp(op=ast.Add(), right=ast.Constant(value=1)) if found.by_one:
                yield "Draw below the length", (_less(subject, bound, 1),), 0.85
            case _ if _is_size(bound) and ast.unparse(bound) != length:
                yield "Draw indices of what is indexed", (Replace(subject.source.site(bound), length),), 0.8


def _length(subject: Subject, found: _Past) -> str | None:
    """The code for the length of what is indexed, along the axis of the index."""
    if not isinstance(found.node.value, (ast.Name, ast.Attribute)):
        return None
    text = ast.unparse(found.node.value)
    return f"len({text})" if found.axis == 0 else f"{text}.shape[{found.axis}]"


def _is_size(node: ast.expr) -> bool:
    """Whether an expression reads a size of a tensor or array: a length, the size of an axis, or the count of values."""
    match node:
        case ast.Call(func=ast.Name(id="len")) | ast.Call(func=ast.Attribute(attr="size" | "numel" | "nelement")):
            return True
        case ast.Subscript(value=ast.Attribute(attr="shape")) | ast.Attribute(attr="size"):
            return True
    return False


def _is_of(node: ast.expr, thing: ast.expr) -> bool:
    """Whether a size is one of this thing."""
    written = ast.dump(thing)
    return any(ast.dump(inner) == written for inner in ast.walk(node) if isinstance(inner, ast.expr))


def _is_length(node: ast.expr, found: _Past) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[thing]):
            return found.axis == 0 and ast.dump(thing) == ast.dump(found.node.value)
        case ast.Call(func=ast.Attribute(value=thing, attr="size"), args=[axis]):
            return number(axis) == found.axis and ast.dump(thing) == ast.dump(found.node.value)
        case ast.Subscript(value=ast.Attribute(value=thing, attr="shape"), slice=axis):
            return number(axis) == found.axis and ast.dump(thing) == ast.dump(found.node.value)
    return False
