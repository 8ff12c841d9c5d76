"""A method that Python or a framework calls is missing: its name is misspelled, or it is indented wrongly."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Family,
    Fault,
    FixPattern,
    Replace,
    ReplaceLines,
    Site,
    Source,
    Subject,
    graph,
    recipes,
    spelling,
    trees,
    within,
)

_UNCALLED = re.compile(
    r'Module \[(?P<torch>\w+)\] is missing the required "forward"|(?:Layer|Model) (?P<keras>\w+) does not have a `call'
)

SPECIAL = ("init", "call", "len", "getitem", "iter", "next", "enter", "exit")
"""Special methods that training programs define, without their underscores."""

_HABITS = {"forward": ("call", "__forward__"), "call": ("forward", "__call")}
"""Names from the other library, and names that only look like special methods."""


class CalledMethodMissing(CrashTemplate):
    """A method that Python or a framework calls is misspelled or not in its class: `_init_`, `foward`, `calls`.

    Python treats it as one more method and never calls it. Without `__init__` no layers are created, so that the
    optimizer gets an empty parameter list or the constructor too many arguments; without `__len__` a dataset has no
    length; without `forward` or `call` the base class raises. A `def forward` indented too far is a local function of
    `__init__`; one that is not indented is a function of the module.

    Fix safety: unsafe. The method was not called before.

    References: the Python Language Reference, "Special method names"; torch.nn.Module.forward ("Should be overridden by
    all subclasses"); keras.layers.Layer.call.
    """

    code = "DNF453"
    name = "called-method-missing"
    formerly = ("forward-missing", "DNF454", "special-method-misspelt")
    message = "the class does not define a method that is called: {what}"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    kinds = frozenset(
        {"AttributeError", "IndexError", "NotImplementedError", "RuntimeError", "TypeError", "ValueError"}
    )

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        source = subject.source
        yield from _special(source)
        said = _UNCALLED.search(crash.message) if crash.kind == "NotImplementedError" else None
        if said is None:
            return
        wanted = "forward" if said["torch"] else "call"
        modules = graph.torch_modules(source) if said["torch"] else graph.keras_modules(source)
        owners = [each for each in modules if each.name == (said["torch"] or said["keras"])]
        if len(owners) == 1 and graph.method(owners[0], wanted) is None:
            yield from _hidden(source, owners[0], wanted)
            yield from _misspelt(source, owners[0], wanted)

    programs = """
=== example: one underscore on each side
import torch
from torch import nn

class Net(nn.Module):
-     def _init_(self):
-         super()._init_()
+     def __init__(self):
+         super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
print(net(torch.ones(3, 4)).shape)

=== example: a letter of a special method is missing
import torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self, count):
        self.rows = torch.rand(count, 3)

    def __len__(self):
        return len(self.rows)

-     def __getitm__(self, index):  # one row
+     def __getitem__(self, index):  # one row
        return self.rows[index]

for rows in DataLoader(Rows(6), batch_size=2):
    print(rows.shape)

=== example: the conversion to an integer
import torch

class Scale(torch.nn.Module):
-     def __int__(self, size):
+     def __init__(self, size):
        super().__init__()
        self.by = torch.nn.Parameter(torch.ones(size))

    def forward(self, x):
        return x * self.by

print(Scale(3)(torch.ones(2, 3)).sum())

=== example: a letter is missing
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

-     def foward(self, x):  # scores
+     def forward(self, x):  # scores
        return self.fc(x)

print(Net()(torch.randn(3, 4)).shape)

=== example: methods within __init__
import torch
import torch.nn as nn

class Classifier(nn.Module):
    def __init__(self, classes):
        super(Classifier, self).__init__()
        self.body = nn.Linear(4, 8)
        self.head = nn.Linear(8, classes)

-         def features(self, x):
-             return torch.relu(self.body(x))
+     def features(self, x):
+         return torch.relu(self.body(x))

-         # scores of the classes
-         def forward(self, x):
-             return self.head(self.features(x))
+     # scores of the classes
+     def forward(self, x):
+         return self.head(self.features(x))

model = Classifier(3)
print(model(torch.randn(3, 4)).shape)

=== example: after the class
import torch
from torch.nn import Linear, Module

class Regression(Module):
    def __init__(self):
        super().__init__()
        self.linear = Linear(3, 1)

- def forward(self, x):
-     out = self.linear(x)
+     def forward(self, x):
+         out = self.linear(x)

-     return out
+         return out

print(Regression()(torch.ones(2, 3)).shape)

=== example: the name from Keras
import torch

class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.by = torch.nn.Parameter(torch.ones(1))

-     def call(self, inputs):
+     def forward(self, inputs):
        return inputs * self.by

print(Scale()(torch.randn(3)).shape)

=== reject: a special method that is called by its own name
import torch

class Weights:
    def _init_(self, size):
        return torch.zeros(size)

    def made(self):
        return self._init_(3)

print(Weights().made() @ torch.ones(4))

=== reject: the special method is there as well
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def _init(self):
        nn.init.zeros_(self.fc.weight)

print(Net().fc(torch.ones(3, 5)))

=== reject: a name without underscores
import torch

class Net:
    def init(self):
        self.weight = torch.zeros(3)

print(torch.ones(2) + torch.ones(3))

=== reject: nothing that could be it
import torch
from torch import nn

class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.other = nn.Linear(4, 2), nn.Linear(4, 2)

    def first(self, x):
        return self.one(x)

    def second(self, x):
        return self.other(x)

print(Pair()(torch.randn(3, 4)).shape)

=== reject: the program itself says that something is not implemented
import torch
from torch import nn

class Base(nn.Module):
    def forward(self, x):
        return self.scores(x)

    def scores(self, x):
        raise NotImplementedError("scores")

print(Base()(torch.randn(3, 4)))

=== reject: a method that is called by its own name
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forwards(self, x):
        return self.fc(x)

net = Net()
print(net.forwards(torch.randn(3, 4)))
print(net(torch.randn(3, 4)))
"""


def _special(source: Source) -> Iterator[Fault]:
    """Methods whose names differ from a special method by underscores or one letter."""
    for owner in source.nodes(ast.ClassDef):
        for each in owner.body:
            wanted = _meant(each) if isinstance(each, ast.FunctionDef) else None
            if not isinstance(each, ast.FunctionDef) or wanted is None or graph.method(owner, wanted) is not None:
                continue
            uses = [node for node in source.nodes(ast.Attribute) if node.attr == each.name]
            if not all(_is_super(node.value) for node in uses):
                continue
            edits = [Replace(source.site(node), f"{ast.unparse(node.value)}.{wanted}") for node in uses]
            yield _renamed(source, each, wanted, *edits)


def _renamed(source: Source, function: ast.FunctionDef, wanted: str, *uses: Edit) -> Fault:
    """The fault of a misspelled method, repaired by renaming it."""
    edits = (recipes.rename_method(source, function, wanted), *uses)
    what = f"expected `{wanted}`, found `{function.name}`"
    return Fault(source.site(function), what, ((f"Rename it to `{wanted}`", edits, 0.95),))


def _is_super(node: ast.expr) -> bool:
    """Whether an expression is `super()`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _meant(function: ast.FunctionDef) -> str | None:
    """The special method whose misspelling this is; `None` if the name is right or has no underscores around it."""
    name, plain = function.name, function.name.strip("_")
    if not (name.startswith("_") and name.endswith("_")):
        return None
    if name == "__int__" and len(function.args.args) > 1:  # `__int__` has no parameter but `self`
        return "__init__"
    known = plain if plain in SPECIAL else spelling.one_letter_off(plain, SPECIAL)
    special = hasattr(int, name) or hasattr(list, name) or name == f"__{known}__"
    return None if known is None or special else f"__{known}__"


def _hidden(source: Source, owner: ast.ClassDef, wanted: str) -> Iterator[Fault]:
    """The method as a local function at the end of `__init__`, or as a function right after its class."""
    init = graph.method(owner, "__init__")
    last = _functions_at_end(init.body) if init is not None else []
    if init is not None and any(each.name == wanted for each in last) and len(last) < len(init.body):
        inside = set().union(*({n.id for n in ast.walk(s) if isinstance(n, ast.Name)} for s in init.body[: -len(last)]))
        if not inside & {each.name for each in last}:
            before = init.body[-len(last) - 1].end_lineno or init.lineno
            yield from _moved(source, last, before + 1, _indentation(source, init.lineno), wanted, "in `__init__`")
    block = getattr(source.parent(owner), "body", [])
    after = block[block.index(owner) + 1 :] if owner in block else []
    outside = next((each for each in after[:1] if isinstance(each, ast.FunctionDef)), None)
    if outside is not None and outside.name == wanted and _is_method(outside):
        begin, lines = trees.first_line(outside), source.places.lines
        while lines[begin - 2].startswith("#"):
            begin -= 1
        depth = _indentation(source, owner.body[0].lineno)
        yield from _moved(source, [outside], begin, depth, wanted, "outside of the class")


def _functions_at_end(body: list[ast.stmt]) -> list[ast.FunctionDef]:
    found: list[ast.FunctionDef] = []
    for each in reversed(body):
        if not isinstance(each, ast.FunctionDef) or not _is_method(each):
            break
        found.insert(0, each)
    return found


def _is_method(function: ast.FunctionDef) -> bool:
    return [argument.arg for argument in function.args.args[:1]] == ["self"] and len(function.args.args) > 1


def _indentation(source: Source, number: int) -> str:
    line = source.places.lines[number - 1]
    return line[: len(line) - len(line.lstrip())]


def _moved(
    source: Source, methods: list[ast.FunctionDef], begin: int, depth: str, wanted: str, where: str
) -> Iterator[Fault]:
    """The methods with the comments before them, reindented to the level of their class."""
    texts = [node for each in methods for node in within(each, ast.Constant, ast.JoinedStr)]
    if any(node.lineno != node.end_lineno and not isinstance(source.parent(node), ast.Expr) for node in texts):
        return  # reindenting would change a string of several lines
    end = methods[-1].end_lineno or begin
    lines = source.places.lines[begin - 1 : end]
    text = textwrap.indent(textwrap.dedent("\n".join(lines)), depth)
    repair = (
        f"Make `{wanted}` a method of the class",
        (ReplaceLines(Site(begin, 1, end, len(lines[-1]) + 1), text),),
        0.95,
    )
    yield Fault(source.site(methods[0]), f"`{wanted}` is defined {where}, so it is not a method", (repair,))


def _misspelt(source: Source, owner: ast.ClassDef, wanted: str) -> Iterator[Fault]:
    """The one method with a name close to the wanted one, which nothing calls by its own name."""
    methods = [each for each in owner.body if isinstance(each, ast.FunctionDef) and _is_method(each)]
    close = [each for each in methods if _close(each.name, wanted)]
    if len(close) != 1 or any(node.attr == close[0].name for node in source.nodes(ast.Attribute)):
        return
    yield _renamed(source, close[0], wanted)


def _close(name: str, wanted: str) -> bool:
    if name.lower().strip("_") == wanted or name in _HABITS[wanted]:
        return True
    return wanted in (spelling.one_letter_off(name, [wanted]), spelling.alike(name, [wanted]))
