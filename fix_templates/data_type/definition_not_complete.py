"""A required part of a class or function is missing: `self`, the base constructor call, `__len__` or `global`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    CrashTemplate,
    Delete,
    Failure,
    Fault,
    FixPattern,
    InsertBefore,
    ReplaceLines,
    Site,
    Source,
    graph,
    reads,
    within,
)

LENGTH = "{indent}def __len__(self):\n{indent}    return len({collection})"


@reads(
    "TypeError", r"(\w+)\(\) takes (?:from \d+ to )?(\d+) positional arguments? but (\d+) (?:was|were) given", ast.Call
)
def _without_self(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """A method has no parameter for the object that it is called on."""
    source, (name, taken, given) = failure.source, failure.said.groups()
    found = [
        function
        for function in source.nodes(ast.FunctionDef)
        if function.name == name
        and isinstance(source.parent(function), ast.ClassDef)
        and not function.decorator_list
        and not _takes_self(function)
    ]
    line = source.places.lines[found[0].lineno - 1].rstrip("\n") if len(found) == 1 else ""
    head = re.match(rf"(\s*def\s+{re.escape(name)}\s*\()\s*(.*)", line)
    owner = source.parent(found[0]) if found else None
    if head is None or not isinstance(owner, ast.ClassDef):
        return
    if int(given) == int(taken) + 1 and len(found[0].args.args) == int(taken):
        at, comma = found[0].lineno, "" if head[2].startswith(")") else ", "
        edit = ReplaceLines(Site(at, 1, at, len(line) + 1), f"{head[1]}self{comma}{head[2]}")
        what = f"{owner.name}.{name} does not have the parameter self"
        yield failure.fault(failure.node, what, "Add the parameter self", edit)


@reads(
    "AttributeError RuntimeError TypeError",
    r"before Module\.__init__\(\) call|forgot to call `?super|super\(\)\.__init__|super\(\w+, self\)"
    r"|object has no attribute '_(?:parameters|modules|buffers|forward_hooks|backward_hooks|lock|tracker|auto_lock)",
    object,
)
def _base_not_set_up(failure: Failure[object]) -> Iterator[Fault]:
    """A layer or model assigns attributes before the constructor of its base class is called."""
    source, own = failure.source, [frame.site for frame in failure.crash.frames if not frame.site.path]
    setups = list(_setups(source))
    reached = [one for one in setups if any(source.site(one[1]).encloses(site) for site in own)]
    named = [
        (owner, setup)
        for owner, setup in setups
        if not any(map(_sets_up, within(setup, ast.Call)))
        and re.search(rf"\b{re.escape(owner.name)}\b", failure.crash.message)
    ]
    if len(reached or named) != 1:
        return
    ((owner, setup),) = reached or named
    first, calls = _first(setup), [call for call in within(setup, ast.Call) if _sets_up(call)]
    late = source.statement_of(calls[0]) if calls else None
    what = f"{owner.name} assigns attributes before {ast.unparse(owner.bases[0])}.__init__ is called"
    if first is not None and late is None:
        added = InsertBefore(source.site(first), _spelled(source, setup, owner))
        yield failure.fault(first, what, "Call __init__ of the base class first", added)
    elif first is not None and late is not None and len(calls) == 1 and late is not first and late in setup.body:
        moved = (InsertBefore(source.site(first), failure.code(late)), Delete(source.site(late)))
        yield failure.fault(first, what, "Call __init__ of the base class before attributes are assigned", *moved)


@reads("TypeError", r"object of type '(\w+)' has no len\(\)", object)
def _without_length(failure: Failure[object]) -> Iterator[Fault]:
    """A dataset has no `__len__`: its length is that of what `__getitem__` indexes."""
    source = failure.source
    owners = [one for one in source.nodes(ast.ClassDef) if one.name == failure.said[1]]
    getter = graph.method(owners[0], "__getitem__") if len(owners) == 1 else None
    if getter is None or graph.method(owners[0], "__len__") is not None or getter.decorator_list:
        return
    collection, site = _collection(getter), source.site(getter)
    if collection is not None:
        lines = source.text.splitlines()[site.line - 1 : site.end_line]
        added = LENGTH.format(indent=" " * getter.col_offset, collection=collection)
        edit = ReplaceLines(site, "\n".join((*lines, "", added)))
        what = f"{owners[0].name} has __getitem__ but no __len__"
        yield failure.fault(getter, what, "Add __len__", edit)


@reads("UnboundLocalError", r"local variable '(\w+)'", ast.AST)
def _not_declared(failure: Failure[ast.AST]) -> Iterator[Fault]:
    """A function assigns a variable of the module or an enclosing function without declaring it."""
    source, name = failure.source, failure.said[1]
    function = source.enclosing(failure.node, ast.FunctionDef)
    stores = list(_stores(function, name)) if function is not None else []
    if function is None or not stores or not all(_goes_on(source, one, name) for one in stores):
        return
    around = source.enclosing(function, ast.FunctionDef)
    top = [
        one for one in source.tree.body if not isinstance(one, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef))
    ]
    word = "global" if any(True for one in top for _ in _stores(one, name)) else ""
    if around is not None and set(_stores(around, name)) - set(stores):
        word = "nonlocal"
    first = _first(function)
    if word and first is not None:
        edit = InsertBefore(source.site(first), f"{word} {name}")
        what = f"{function.name} assigns {name} without declaring it {word}"
        yield failure.fault(failure.node, what, f"Declare {name} {word}", edit)


class DefinitionNotComplete(CrashTemplate):
    """A required part of a class or function is missing: `self`, the base constructor call, `__len__` or `global`.

    A method without `self`: Python passes the object first, so that there is one argument too many.

    A layer or model that assigns attributes before the `__init__` of its base class: `nn.Module` and Keras register
    them in what it sets up. It is called first, written as in the other classes of the program; a late call is moved to
    the front.

    A dataset without `__len__`, which the sampler of a loader calls. Reported for a class of the program whose
    `__getitem__` indexes one collection of `self`.

    A function that assigns a variable of the module, or of an enclosing function, without `global` or `nonlocal`: the
    name is local, and `count += 1` reads it unbound. Reported where such a variable exists and every assignment is of
    the form `name += …` or `name = … name …`, or under an `if` that compares the name with the new value, as for a best
    value.

    Fix safety: unsafe. The class or function could not be used before; it may change the variable outside.

    References: https://docs.python.org/3/tutorial/classes.html#method-objects, torch.nn.Module, keras.layers.Layer,
    torch.utils.data.Dataset, https://docs.python.org/3/reference/datamodel.html#object.__len__,
    https://docs.python.org/3/faq/programming.html#why-am-i-getting-an-unboundlocalerror-when-the-variable-has-a-value.
    """

    code = "DNF620"
    name = "definition-not-complete"
    formerly = (
        "base-class-not-set-up",
        "DNF619",
        "method-without-self",
        "DNF621",
        "global-assigned-in-function",
        "DNF625",
        "dataset-without-length",
    )
    message = "the definition is incomplete: {what}"
    fix_pattern = FixPattern.API_CONTRACT
    confidence = 0.9
    readings = (
        _without_self,
        _base_not_set_up,
        _without_length,
        _not_declared,
    )

    programs = """
=== example: a method without any parameter
import torch


class Data:
-     def rows():
+     def rows(self):
        return torch.ones(2)


print(Data().rows())

=== example: a base that is set up too late
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
+         super(Net, self).__init__()
        self.size = 2
        self.fc = nn.Linear(self.size, 1)
-         super(Net, self).__init__()

    def forward(self, x):
        return self.fc(x)


print(Net()(torch.ones(1, 2)).shape)

=== example: one class of several
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, size):
        super(Block, self).__init__()
        self.fc = nn.Linear(size, size)

    def forward(self, x):
        return self.fc(x)


class Net(nn.Module):
    def __init__(self, size):
        # two blocks in a row
+         super(Net, self).__init__()
        self.first = Block(size)
        self.second = Block(size)

    def forward(self, x):
        return self.second(self.first(x))


print(Net(2)(torch.ones(1, 2)).shape)

=== example: a list of texts
import torch
import torch.utils.data as data


class Lines(data.Dataset):
    def __init__(self, lines):
        super().__init__()
        self.lines = lines

    def __getitem__(self, i):
        line = self.lines[i]
        return torch.tensor([len(line)])

+     def __len__(self):
+         return len(self.lines)
+

print(len(data.DataLoader(Lines(["a", "bc"]), batch_size=2)))

=== example: a sum in a closure
import torch


def train():
    total = 0.0

    def closure():
+         nonlocal total
        total += torch.ones(1).item()
        return total

    return closure()


print(train())

=== example: the best accuracy so far
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

=== reject: an argument too many
import torch


class Data:
    def rows(self, count):
        return torch.ones(count)


print(Data().rows(2, 3))

=== reject: a function with an argument too many
import torch


def rows(count):
    return torch.ones(count)


print(rows(2, 3))

=== reject: an attribute that is not there
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, self.size)


print(Net()(torch.ones(1, 2)))

=== reject: a class without a base
import torch


class Data:
    def __init__(self):
        self.rows = torch.ones(2)
        print(self.columns)


Data()

=== reject: windows over a series, of which there are fewer than elements
import torch
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, series):
        self.series = series

    def __getitem__(self, i):
        return self.series[i : i + 3], self.series[i + 3]


DataLoader(Windows(torch.rand(9)), batch_size=2, shuffle=True)

=== reject: a dataset with its length
import torch
from torch.utils.data import DataLoader, Dataset


class Whole(Dataset):
    def __init__(self):
        self.rows = torch.rand(4, 2)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


print(len(DataLoader(Whole(), batch_size=2)))

=== reject: a variable that only one branch binds
import torch

best = 0


def choose(loss):
    if loss < 0:
        best = loss
    return best


print(choose(torch.ones(1).item()))

=== reject: a sum that begins nowhere
import torch


def add(rows):
    for row in rows:
        total += row
    return total


print(add(torch.ones(2)))
"""


def _takes_self(function: ast.FunctionDef) -> bool:
    first = (*function.args.posonlyargs, *function.args.args)[:1]
    return bool(first) and first[0].arg in ("self", "cls", "this") or function.args.vararg is not None


def _setups(source: Source) -> Iterator[tuple[ast.ClassDef, ast.FunctionDef]]:
    """The classes with a base class, and their constructors."""
    for setup in source.nodes(ast.FunctionDef):
        owner = source.parent(setup)
        if setup.name == "__init__" and isinstance(owner, ast.ClassDef) and owner.bases:
            yield owner, setup


def _sets_up(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"


def _first(function: ast.FunctionDef) -> ast.stmt | None:
    """The first statement after the docstring."""
    match function.body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest[0] if rest else None
    return function.body[0]


def _spelled(source: Source, setup: ast.FunctionDef, owner: ast.ClassDef) -> str:
    """The call of the base constructor, written as in other classes of the program."""
    old = any(
        _sets_up(call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Call)
        and ast.unparse(call.func.value.func) == "super"
        and call.func.value.args
        for call in source.all_calls
    )
    given = f"**{setup.args.kwarg.arg}" if setup.args.kwarg is not None else ""
    return f"super({owner.name}, self).__init__({given})" if old else f"super().__init__({given})"


def _collection(getter: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    """The first attribute of `self` in the source that is indexed with the index itself.

    `None` if something is computed from the index: the number of elements may differ then.
    """
    if len(getter.args.args) != 2:
        return None
    me, index = (one.arg for one in getter.args.args)
    found: list[str] = []
    plain = 0
    for part in within(getter, ast.Subscript):
        if not isinstance(part.slice, ast.Name) or part.slice.id != index:
            continue
        plain += 1
        whole = part.value
        if isinstance(whole, ast.Attribute) and whole.attr in ("iloc", "values"):
            whole = whole.value
        if isinstance(whole, ast.Attribute) and isinstance(whole.value, ast.Name) and whole.value.id == me:
            found.append(ast.unparse(whole))
    reads = [one for one in within(getter, ast.Name) if one.id == index]
    kept = any(isinstance(one.ctx, ast.Store) for one in within(getter, ast.Subscript))  # a cache
    return found[0] if found and plain == len(reads) and not kept else None


def _stores(scope: ast.AST, name: str) -> Iterator[ast.Name]:
    """The assignments to a name."""
    return (one for one in within(scope, ast.Name) if one.id == name and isinstance(one.ctx, ast.Store))


def _goes_on(source: Source, store: ast.Name, name: str) -> bool:
    """Whether an assignment uses the current value of the variable."""
    statement = source.parent(store)
    if not isinstance(statement, ast.Assign):
        return isinstance(statement, ast.AugAssign)
    again = any(node.id == name for node in within(statement.value, ast.Name))
    return again or _keeps_best(source, statement, name)


def _keeps_best(source: Source, statement: ast.Assign, name: str) -> bool:
    """Whether an assignment of a value is under an `if` that compares it with the name."""
    above = source.parent(statement)
    if not isinstance(above, ast.If) or statement not in above.body:
        return False
    given = ast.unparse(statement.value)
    return any(
        {ast.unparse(node.left), ast.unparse(node.comparators[0])} == {name, given}
        for node in within(above.test, ast.Compare)
        if len(node.ops) == 1
    )
