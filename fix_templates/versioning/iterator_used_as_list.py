"""`d.keys()[0]`, `len(map(f, x))`: `map`, `zip`, `range` and dictionary views are not lists in Python 3."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, Source, Subject, Wrap, python2, trees, uses_of, words

LAZY = ("builtins.map", "builtins.filter", "builtins.zip")
VIEWS = ("keys", "values", "items")
DICTIONARIES = ("builtins.dict", "collections.OrderedDict", "collections.defaultdict", "collections.Counter")

LIST_METHODS = frozenset(("append", "extend", "insert", "pop", "remove", "reverse", "sort"))
SHUFFLES = frozenset(("random.shuffle", "numpy.random.shuffle"))
MADE_ARRAYS = frozenset(
    f"numpy.{name}" for name in ("zeros", "ones", "empty", "full", "array", "zeros_like", "ones_like")
)
SEQUENCES = frozenset(("random.choice", "random.sample", "numpy.random.choice", "numpy.random.permutation"))
ARRAYS = frozenset(
    f"numpy.{name}"
    for name in words(
        """argmax argmin argsort array asarray average column_stack concatenate cumsum dstack hstack max mean
        median min prod stack std sum unique var vstack"""
    )
) | frozenset(f"torch.{name}" for name in words("FloatTensor LongTensor Tensor as_tensor cat stack tensor"))
"""Functions that do not convert an iterator: NumPy stores it as an object, torch raises."""

WORDS = frozenset(("map", "filter", "zip", "range", "xrange", "sample", *VIEWS))


class IteratorUsedAsList(ApiChange):
    """`map`, `filter`, `zip`, `range` and dictionary methods returned lists in Python 2, and do not in Python 3.

    Their results are indexed, measured, added, sorted, shuffled or converted to an array, which fails. The call is
    wrapped in `list`, found through names with a single value and through functions of the program. In programs written
    for Python 2, an iterator that is iterated over repeatedly is converted too, since it is empty after the first time.
    A sample of a set is drawn from its sorted elements, where a run crashed there.

    Fix safety: unsafe: it is the list that the program had in Python 2, except for the order of dictionaries.

    References: https://docs.python.org/3/whatsnew/3.0.html#views-and-iterators-instead-of-lists.
    """

    code = "DNF584"
    name = "iterator-used-as-list"
    formerly = ("lazy-where-list-is-meant",)
    message = "{call} does not return a list since Python 3, and {use}"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if source.words.isdisjoint(WORDS):
            return
        found: dict[ast.Call, str] = {}
        for value, use, refused in _wanted(subject):
            for call, kind in _makers(subject, value):
                if kind in refused:
                    found.setdefault(call, use)
        if python2.speaks_python2(source):
            for call in _worn_out(subject):
                found.setdefault(call, "it is iterated over more than once")
        yield from _sampled(subject)
        for call, use in found.items():
            site = source.site(call)
            yield Hit(
                site,
                self.message.format(call=_name(call), use=use),
                title="convert it to a list",
                edits=(Wrap(site, "list(", ")"),),
                exact=True,
                confidence=0.9,
            )

    programs = """
=== example (runs): keys and pairs that are indexed
import torch

sizes = {"a": 1, "b": 2}
- pairs = zip([1, 2], [3, 4])
- print(sizes.keys()[0], pairs[1], len(filter(None, [0, 1])), torch.ones(1))
+ pairs = list(zip([1, 2], [3, 4]))
+ print(list(sizes.keys())[0], pairs[1], len(list(filter(None, [0, 1]))), torch.ones(1))

=== example (runs): a row of an array
import numpy as np
import torch

rows = np.zeros((2, 3))
for i, line in enumerate(["1 2 3", "4 5 6"]):
-     rows[i, :] = map(float, line.split())
+     rows[i, :] = list(map(float, line.split()))
print(torch.tensor(rows).sum())

=== example (runs): a sample of a set
import random
import torch

draw = random.sample
near = {0: {3, 1, 2}}
- print(torch.tensor([draw(near[0], 2)]).shape)
+ print(torch.tensor([draw(sorted(near[0]), 2)]).shape)

=== example (runs): an order that is shuffled
import random
import torch

x = torch.arange(6.0)
- order = range(6)
+ order = list(range(6))
random.shuffle(order)
- rest = range(2) + [5]
+ rest = list(range(2)) + [5]
print(x[order], x[rest])

=== example (runs): numbers that a function returns for an array
import numpy as np
import torch


def numbers(line):
-     return map(float, line.split(","))
+     return list(map(float, line.split(",")))


x = np.array(numbers("1,2,3"))
- y = torch.tensor(map(int, "123"))
+ y = torch.tensor(list(map(int, "123")))

=== example: batches that are iterated over in every epoch
import torch

- batches = zip([1.0, 2.0], [0.0, 1.0])
- for epoch in xrange(3):
+ batches = list(zip([1.0, 2.0], [0.0, 1.0]))
+ for epoch in range(3):
    for x, y in batches:
-         print torch.tensor(x) - y
+         print(torch.tensor(x) - y)

=== reject (runs): iteration, and what a range or a view can do
import numpy as np
import torch

numbers = range(5)
sizes = {"a": 1}
print(numbers[2], len(numbers), len(sizes.keys()), np.array(numbers), torch.tensor(numbers))
print(np.ones(5) + numbers, numbers * np.ones(5), range(5) + np.ones(5))
for a, b in zip(numbers, map(str, numbers)):
    print(a, b)
print(sorted(sizes.keys()), np.array(list(map(float, "12"))), list(zip("a", "b"))[0], max(map(int, "12")))

=== reject (runs): objects with methods of these names, and functions of the program's own
import pandas as pd
import torch

table = pd.DataFrame({"a": [1]})
pool = torch.nn.ModuleDict({"a": torch.nn.Linear(1, 1)})


def zip(a, b):
    return [a, b]


def first(columns):
    return columns.keys()[0]


print(table.keys()[0], zip(1, 2)[0], first(table), len(pool.keys()))
"""


def _name(call: ast.Call) -> str:
    return trees.last_name(call.func)


def _wanted(subject: Subject) -> Iterator[tuple[ast.expr, str, frozenset[str]]]:
    """The expressions that are used as lists, how, and which kinds of values cannot be used so."""
    source = subject.source
    every, lazy = frozenset(("map", "view", "range")), frozenset(("map",))
    uses = uses_of(source)
    for index in uses.subscripts():
        if isinstance(index.ctx, ast.Load):
            yield index.value, "it is indexed", frozenset(("map", "view"))
        else:
            yield index.value, "its elements are assigned to", every
    for statement in uses.assignments():
        if any(_is_part_of_array(source, target) for target in statement.targets):
            yield statement.value, "it is assigned to a slice of an array", frozenset(("map", "view"))
    for addition in source.nodes(ast.BinOp):
        if isinstance(addition.op, ast.Add):
            for one, other, use in (
                (addition.left, addition.right, "something is added to it"),
                (addition.right, addition.left, "it is added to something"),
            ):
                yield one, use, every if _is_list(subject, other) else every - {"range"}
        elif isinstance(addition.op, ast.Mult):
            yield addition.left, "it is repeated", every if _is_count(subject, addition.right) else every - {"range"}
    for call in uses.calls():
        function, name = call.func, source.qualified(call.func) or ""
        if isinstance(function, ast.Attribute) and function.attr in LIST_METHODS:
            yield function.value, f"{function.attr} is called on it", every
        if not call.args:
            continue
        first = call.args[0]
        if name == "builtins.len":
            yield first, "its length is taken", lazy
        elif name in SHUFFLES:
            yield first, "it is shuffled", every
        elif name in SEQUENCES:
            yield first, "elements are drawn from it", frozenset(("map", "view"))
        elif name in ARRAYS:
            yield first, "an array is made from it", frozenset(("map", "view"))


def _sampled(subject: Subject) -> Iterator[Hit]:
    """A set passed to `random.sample` where the run crashed; Python's own advice is to sort it."""
    crash, source = subject.crash, subject.source
    if crash is None or "Population must be a sequence" not in crash.message:
        return
    for call in uses_of(source).calls():
        site = source.site(call)
        stopped = site.line <= crash.own_line <= site.end_line
        if call.args and stopped and _called(source, call.func) == "random.sample":
            yield Hit(
                site,
                "random.sample does not accept a set since Python 3.11",
                title="sample from the sorted elements",
                edits=(Wrap(source.site(call.args[0]), "sorted(", ")"),),
                confidence=0.9,
            )


def _called(source: Source, function: ast.expr) -> str:
    """The qualified name of a function, also through a variable."""
    bound = source.bindings(function, function) if isinstance(function, ast.Name) else ()
    return source.qualified(bound[0] if len(bound) == 1 else function) or source.qualified(function) or ""


def _is_part_of_array(source: Source, target: ast.expr) -> bool:
    """Whether a target is a part of a NumPy array: one that is created here, or indexed with an axis or a slice."""
    if not isinstance(target, ast.Subscript):
        return False
    held = target.value
    bound = source.bindings(held, held) if isinstance(held, (ast.Name, ast.Attribute)) else ()
    made = [isinstance(value, ast.Call) and source.qualified(value.func) in MADE_ARRAYS for value in bound]
    return (
        isinstance(target.slice, ast.Tuple)
        and any(isinstance(part, ast.Slice) for part in target.slice.elts)
        or (bool(made) and all(made))
    )


def _is_list(subject: Subject, expr: ast.expr) -> bool:
    """Whether a range is added to a list, not to an array, which accepts ranges; in Python 2 ranges were lists."""
    source = subject.source
    if isinstance(expr, ast.BinOp):
        return _is_list(subject, expr.left) or _is_list(subject, expr.right)
    bound = source.bindings(expr, expr) if isinstance(expr, (ast.Name, ast.Attribute)) else (expr,)
    lists = [
        isinstance(value, (ast.List, ast.ListComp))
        or isinstance(value, ast.Call)
        and (source.qualified(value.func) == "builtins.list" or bool(_kind(source, value)))
        for value in bound
    ]
    return bool(lists) and all(lists) or python2.speaks_python2(source) or _stopped_at(subject, expr, "'range'")


def _is_count(subject: Subject, expr: ast.expr) -> bool:
    """Whether a range is repeated, and not multiplied by an array."""
    source = subject.source
    bound = source.bindings(expr, expr) if isinstance(expr, (ast.Name, ast.Attribute)) else (expr,)
    whole = [isinstance(value, ast.Constant) and isinstance(value.value, int) for value in bound]
    return bool(whole) and all(whole) or python2.speaks_python2(source) or _stopped_at(subject, expr, "'range'")


def _stopped_at(subject: Subject, expr: ast.expr, word: str) -> bool:
    """Whether the run crashed on the line of an expression with a message that names this type."""
    crash = subject.crash
    if crash is None or crash.kind != "TypeError" or word not in crash.message:
        return False
    return any(frame.site.line == expr.lineno for frame in crash.frames if not frame.site.path)


def _makers(subject: Subject, value: ast.expr, depth: int = 3) -> Iterator[tuple[ast.Call, str]]:
    """The calls that create an expression's value, each with its kind."""
    source = subject.source
    if isinstance(value, ast.Call):
        kind = _kind(source, value)
        if kind == "view" and not (_is_dictionary(source, value) or _shown(subject, value)):
            return
        if kind:
            yield value, kind
        elif depth and isinstance(made := source.definition(value.func), ast.FunctionDef):
            given = [node.value for node in ast.walk(made) if isinstance(node, ast.Return) and node.value is not None]
            if len(given) == 1:
                yield from _makers(subject, given[0], depth - 1)
    elif depth and isinstance(value, (ast.Name, ast.Attribute)):
        bound = source.bindings(value, value)
        if len(bound) == 1 and not isinstance(bound[0], ast.Name):
            yield from _makers(subject, bound[0], depth - 1)


def _kind(source: Source, call: ast.Call) -> str:
    name = source.qualified(call.func)
    if name in LAZY:
        return "map"
    if name == "builtins.range" or isinstance(call.func, ast.Name) and call.func.id == "xrange" and name is None:
        return "range"
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr in VIEWS and not call.args and not call.keywords:
        return "view"
    return ""


def _shown(subject: Subject, call: ast.Call) -> bool:
    """Whether the program is for Python 2, or the run crashed on this line at a dictionary view."""
    return _stopped_at(subject, call, "dict_") or python2.speaks_python2(subject.source)


def _is_dictionary(source: Source, call: ast.Call) -> bool:
    expr = call.func.value if isinstance(call.func, ast.Attribute) else call
    bound = source.bindings(expr) if isinstance(expr, (ast.Name, ast.Attribute)) else (expr,)
    return bool(bound) and all(
        isinstance(value, (ast.Dict, ast.DictComp))
        or isinstance(value, ast.Call)
        and source.qualified(value.func) in DICTIONARIES
        for value in bound
    )


def _worn_out(subject: Subject) -> Iterator[ast.Call]:
    """The iterators in a variable that is iterated over more than once."""
    source = subject.source
    for statement in uses_of(source).assignments():
        call = statement.value
        if not isinstance(call, ast.Call) or _kind(source, call) != "map" or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        if not isinstance(target, ast.Name):
            continue
        reads = [
            name
            for name in uses_of(source).names(target.id)
            if isinstance(name.ctx, ast.Load) and source.bindings(name, name) == (call,)
        ]
        if len(reads) > 1 or any(_is_repeated(source, name, statement) for name in reads):
            yield call


def _is_repeated(source: Source, name: ast.Name, made: ast.stmt) -> bool:
    """Whether a name is read in a loop that does not recreate its value."""
    loop = source.enclosing(name, ast.For, ast.While)
    if isinstance(loop, ast.For) and any(node is name for node in ast.walk(loop.iter)):
        loop = source.enclosing(loop, ast.For, ast.While)
    return loop is not None and not any(node is made for node in ast.walk(loop))
