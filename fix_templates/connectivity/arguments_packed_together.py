"""A network of the program's own is called with its inputs packed into one tuple, or without one that is at hand."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Family, Fault, FixPattern, Replace, Subject, function_around, graph, within

_MISSING = re.compile(r"(?:(\w+)\.)?(forward|__init__)\(\) missing \d+ required positional arguments?: (.+)")
_TOO_MANY = re.compile(r"(?:(\w+)\.)?forward\(\) takes 2 positional arguments but (\d+) were given")


class ArgumentsPackedTogether(CrashTemplate):
    """`net((x, mask))` gives a network of the program's own one input where its `forward` takes two.

    The tuple is written out, or unpacked where it has a name. Where a value that the call leaves out is at hand under the
    very name that the parameter has, it is handed over. The other way round, two inputs are given to a `forward` that
    takes one and unpacks it: they become a tuple.

    Fix safety: unsafe. The call could not run before.

    References: torch.nn.Module.forward; https://docs.python.org/3/tutorial/controlflow.html#unpacking-argument-lists.
    """

    code = "DNF451"
    name = "arguments-packed-together"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"TypeError"})
    confidence = 0.9

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        node = subject.node(crash.site)
        if not isinstance(node, ast.Call) or any(isinstance(one, ast.Starred) for one in node.args):
            return
        missing, too_many = _MISSING.search(crash.message), _TOO_MANY.search(crash.message)
        mend = None
        if missing is not None:
            names = re.findall(r"'(\w+)'", missing.group(3))
            called = _called(subject, missing.group(1), missing.group(2))
            if called is not None and names:
                unpacked = _unpacked(subject, crash, node, called, names) if missing.group(2) == "forward" else None
                mend = unpacked or _at_hand(subject, crash, node, called, names)
        elif too_many is not None:
            called = _called(subject, too_many.group(1), "forward")
            mend = _packed(subject, node, called, int(too_many.group(2)) - 1) if called is not None else None
        if mend is not None:
            yield mend

    programs = """
=== example: a tuple of two inputs
import torch
from torch import nn


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x, mask):
        return self.fc(x) * mask


net = Masked()
- out = net((torch.randn(4, 3), torch.ones(4, 1)))
+ out = net(torch.randn(4, 3), torch.ones(4, 1))

=== example: inputs with a name
import torch


class Pair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = torch.nn.Linear(3, 2), torch.nn.Linear(5, 2)

    def forward(self, a, b):
        return self.left(a) + self.right(b)


model = Pair()
inputs = (torch.randn(4, 3), torch.randn(4, 5))
- print(model(inputs).shape)
+ print(model(*inputs).shape)

=== example: a value at hand that is left out
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.out = nn.Embedding(10, 4), nn.Linear(4, 2)

    def forward(self, tokens, lengths):
        return self.out(self.emb(tokens).sum(1) / lengths)


def run(model, tokens, lengths):
-     return model(tokens)
+     return model(tokens, lengths)


run(Tagger(), torch.ones(2, 5, dtype=torch.long), torch.tensor([[5.0], [3.0]]))

=== example: a forward that unpacks what it is given
import torch
from torch import nn


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, pair):
        one, two = pair
        return (self.fc(one) - self.fc(two)).abs()


net = Siamese()
x, y = torch.randn(4, 3), torch.randn(4, 3)
- d = net(x, y)
+ d = net((x, y))

=== reject: nothing at hand has that name
import torch
from torch import nn


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x, mask):
        return self.fc(x) * mask


y = torch.randn(4, 2)
Masked()(torch.randn(4, 3))

=== reject: the first of three sizes is left out
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, given, hidden, classes):
        super().__init__()
        self.one, self.two = nn.Linear(given, hidden), nn.Linear(hidden, classes)

    def forward(self, x):
        return self.two(self.one(x))


given, hidden, classes = 4, 4, 2
Net(hidden, classes)(torch.randn(3, given))

=== reject: a batch with its labels
import torch
from torch import nn


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x, mask):
        return self.fc(x) * mask


net = Masked()
for batch in [(torch.randn(4, 3), torch.ones(4, 2))]:
    loss = (net(batch) - batch[1]).pow(2).mean()

=== reject: a forward that takes a pair
import torch
from torch import nn


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, pair):
        one, two = pair
        return (self.fc(one) - self.fc(two)).abs()


Siamese()((torch.randn(4, 3), torch.randn(4, 3)))
"""


def _called(subject: Subject, owner: str | None, name: str) -> ast.FunctionDef | None:
    """The method that was called, of the module of that name; before Python 3.10 messages do not say of which."""
    found = [
        function
        for one in graph.torch_modules(subject.source)
        if (owner is None or one.name == owner) and isinstance(function := graph.method(one, name), ast.FunctionDef)
    ]
    return found[0] if len(found) == 1 else None


def _needed(called: ast.FunctionDef) -> list[str]:
    """The parameters behind `self` that may not be left out."""
    names = [parameter.arg for parameter in called.args.args]
    return names[1 : len(names) - len(called.args.defaults)]


def _unpacked(
    subject: Subject, crash: Crash, call: ast.Call, called: ast.FunctionDef, missing: list[str]
) -> Fault | None:
    """Write the parts of a single tuple as arguments, or unpack one that has a name."""
    source = subject.source
    if len(call.args) != 1 or call.keywords or called.args.vararg is not None:
        return None
    given, count = call.args[0], len(missing) + 1
    if len(_needed(called)) != count:
        return None
    code, function = subject.text(source.site(given)), subject.text(source.site(call.func))
    what = f"`{code}` is one argument, and `forward` takes {count}"
    if isinstance(given, (ast.Tuple, ast.List)):
        if len(given.elts) != count or any(isinstance(one, ast.Starred) for one in given.elts):
            return None
        inside = code.strip()[1:-1].strip().removesuffix(",")
        if "#" in code:
            return None  # its comments would be lost
        edit = Replace(source.site(call), f"{function}({inside})")
        return Fault(source.site(call), what, (("Give the inputs one by one", (edit,), 0.9),))
    told = crash.held_at(source.site(given))
    if told is None or told.kind not in ("tuple", "list") or told.size != count or not isinstance(given, ast.Name):
        return None
    if _read_elsewhere(subject, given):
        return None
    edit = Replace(source.site(call), f"{function}(*{code})")
    return Fault(source.site(call), what, (("Unpack the inputs", (edit,), 0.9),))


def _read_elsewhere(subject: Subject, given: ast.Name) -> bool:
    """Whether parts of a tuple are read on their own: then they may be labels."""
    around = function_around(subject.source, given) or subject.source.tree
    for subscript in within(around, ast.Subscript):
        if isinstance(subscript.value, ast.Name) and subscript.value.id == given.id:
            return True
    return any(isinstance(one.value, ast.Name) and one.value.id == given.id for one in within(around, ast.Assign))


def _at_hand(
    subject: Subject, crash: Crash, call: ast.Call, called: ast.FunctionDef, missing: list[str]
) -> Fault | None:
    """Hand over the values that have the very names of the parameters that got none."""
    source = subject.source
    by_place = [parameter.arg for parameter in called.args.args][1:]
    if any(isinstance(one, (ast.Tuple, ast.List)) for one in call.args) or not missing:
        return None
    shifted = [
        one.id
        for place, one in enumerate(call.args)
        if isinstance(one, ast.Name) and one.id in by_place and by_place.index(one.id) != place
    ]
    if shifted:
        return None  # an argument before is missing, so that what is given stands at wrong places
    function = function_around(source, call)
    frame = crash.frames[-1]
    bound = graph.bound_in(function) if function is not None else frozenset(frame.names)
    if not all(name in bound and name in frame.names for name in missing):
        return None
    in_order = not call.keywords and by_place[len(call.args) : len(call.args) + len(missing)] == missing
    given = ", ".join(missing if in_order else [f"{name}={name}" for name in missing])
    text = subject.text(source.site(call)).rstrip()
    head = text[:-1].rstrip().removesuffix(",")
    separator = "" if not call.args and not call.keywords else ", "
    if "\n" in text or "#" in text:
        return None
    edit = Replace(source.site(call), f"{head}{separator}{given})")
    what = f"`{ast.unparse(call.func)}` is called without `{missing[0]}`, which is at hand"
    return Fault(source.site(call), what, ((f"Hand over {', '.join(missing)}", (edit,), 0.85),))


def _packed(subject: Subject, call: ast.Call, called: ast.FunctionDef, count: int) -> Fault | None:
    """Give the arguments as one tuple to a `forward` that takes one argument and unpacks it into as many."""
    source = subject.source
    needed = _needed(called)
    if len(call.args) != count or call.keywords or len(needed) != 1:
        return None
    for assign in within(called, ast.Assign):
        target = assign.targets[0]
        unpacks = isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == count
        if unpacks and isinstance(assign.value, ast.Name) and assign.value.id == needed[0]:
            parts = ", ".join(subject.text(source.site(one)) for one in call.args)
            function = subject.text(source.site(call.func))
            edit = Replace(source.site(call), f"{function}(({parts}))")
            what = f"`forward` takes one tuple of {count} and is given {count} arguments"
            return Fault(source.site(call), what, (("Give the inputs as one tuple", (edit,), 0.9),))
    return None
