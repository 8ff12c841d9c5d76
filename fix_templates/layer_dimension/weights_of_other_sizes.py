"""Weights are loaded into a network that was created with other sizes than the saved one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Edit,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    RemoveArgument,
    Repairs,
    Replace,
    SetArgument,
    Site,
    Subject,
    Symptom,
    arithmetic,
)

MAX_NAMES = 3
"""How many names are followed from an argument to its value."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A call of `load_state_dict` that failed, the constructor of its network, and that of the other network."""

    call: ast.Call
    made: ast.Call
    other: ast.Call | None


Difference = tuple[str, Edit]
"""What is made equal, and the edit that does it."""


class WeightsOfOtherSizes(FaultTemplate[_Loaded]):
    """Weights are loaded into a network that was created with other sizes than the saved one.

    The network for inference is often created a second time, elsewhere in the program, and a width, a number of classes
    or an image size was changed only where the first one is trained.

    Fix safety: unsafe. The second network gets the sizes of the first.

    References: torch.nn.Module.load_state_dict, "Saving and Loading Models" of the torch tutorials.
    """

    code = "DNF228"
    name = "weights-of-other-sizes"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "{what} is created with other sizes than the network whose weights it loads"
    triggers = ("load_state_dict",)
    needs_run = True
    declined = "the program creates no other network of this class with other sizes"

    def faults(self, subject: Subject) -> Faults[_Loaded]:
        found = _loaded(subject)
        if found is not None:
            yield subject.source.site(found.call), found

    def report(self, site: Site, found: _Loaded) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.9,
            cause="crash",
            what=ast.unparse(found.made.func),
        )

    def repairs(self, subject: Subject, found: _Loaded) -> Repairs:
        differences = list(_differences(subject, found)) if found.other is not None else []
        groups: dict[str, list[Edit]] = {}
        for what, edit in differences:
            groups.setdefault(what, []).append(edit)
        for what, edits in groups.items():
            yield f"Create the network with {what}, as the trained one", tuple(edits), 0.8
        if len(groups) > 1:
            together = tuple(edit for edits in groups.values() for edit in edits)
            yield "Create the network with the sizes of the trained one", together, 0.6

    programs = """
=== example: a number of classes that is left to its default
import io

import torch
import torch.nn as nn


class Classifier(nn.Module):
    def __init__(self, n_in=8, n_classes=10):
        super().__init__()
        self.fc = nn.Linear(n_in, n_classes)

    def forward(self, x):
        return self.fc(x)


classes = 4
net = Classifier(n_classes=classes)
net(torch.rand(2, 8))
file = io.BytesIO()
torch.save(net.state_dict(), file)
file.seek(0)
- again = Classifier()
+ again = Classifier(n_classes=classes)
again.load_state_dict(torch.load(file))
print(again(torch.rand(2, 8)))

=== example: settings in two tables
import torch
from torch import nn

TRAIN = {"layers": (8, 16, 3), "dropout": 0.5}
- TEST = {"layers": (8, 12, 3), "dropout": 0.0}
+ TEST = {"layers": (8, 16, 3), "dropout": 0.0}


class Net(nn.Module):
    def __init__(self, settings):
        super().__init__()
        first, middle, last = settings["layers"]
        self.first, self.last = nn.Linear(first, middle), nn.Linear(middle, last)
        self.dropout = nn.Dropout(settings["dropout"])

    def forward(self, x):
        return self.last(self.dropout(torch.relu(self.first(x))))


net = Net(TRAIN)
net(torch.rand(5, 8)).mean().backward()
judge = Net(TEST)
judge.load_state_dict(net.state_dict())

=== reject: networks of one size
import torch

a, b = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
b.load_state_dict(a.state_dict())

=== reject: weights that are missing
import torch

a, b = torch.nn.Linear(3, 2), torch.nn.Linear(3, 4, bias=False)
b.load_state_dict({})
"""


def _loaded(subject: Subject) -> _Loaded | None:
    crash = subject.crash
    call = subject.node(crash.site) if crash is not None else None
    call = call.value if isinstance(call, ast.Expr) else call
    if crash is None or "size mismatch for" not in crash.message or not isinstance(call, ast.Call):
        return None
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "load_state_dict":
        return None
    made = subject.source.constructor(call.func.value)
    if made is None or any(isinstance(one, ast.Starred) for one in made.args):
        return None
    others = {ast.dump(other): other for other in subject.source.all_calls if _alike(subject, made, other)}
    others.pop(ast.dump(made), None)
    return _Loaded(call, made, next(iter(others.values())) if len(others) == 1 else None)


def _alike(subject: Subject, made: ast.Call, other: ast.Call) -> bool:
    """Whether another call creates a network of the same class."""
    if any(isinstance(one, ast.Starred) for one in other.args):
        return False
    definition = subject.source.definition(made.func)
    if definition is not None:
        return subject.source.definition(other.func) is definition
    name = subject.source.qualified(made.func)
    return name is not None and subject.source.qualified(other.func) == name


def _differences(subject: Subject, found: _Loaded) -> Iterator[Difference]:
    """The sizes in which the two networks differ, each with the edit of the network that loads the weights."""
    if found.other is None:
        return
    names = _parameters(subject, found.made)
    mine, theirs = _arguments(found.made, names), _arguments(found.other, names)
    site = subject.source.site(found.made)
    for name in dict.fromkeys((*mine, *theirs)):
        own, model = mine.get(name), theirs.get(name)
        if own is None and model is not None and _plain(model) and not name.isdigit():
            text = subject.text(subject.source.site(model))
            yield f"{name}={text}", SetArgument(site, name, text, names.index(name) if name in names else None)
        elif model is None and own is not None and not name.isdigit():
            yield f"the default {name}", RemoveArgument(site, name, names.index(name) if name in names else None)
        elif own is not None and model is not None:
            yield from _between(subject, own, model)


def _parameters(subject: Subject, made: ast.Call) -> list[str]:
    """The names of the constructor's parameters, in order, where the program defines the class."""
    owner = subject.source.definition(made.func)
    for method in owner.body if isinstance(owner, ast.ClassDef) else ():
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            return [one.arg for one in (*method.args.posonlyargs, *method.args.args)][1:]
    return []


def _arguments(call: ast.Call, names: list[str]) -> dict[str, ast.expr]:
    """The arguments of a call by parameter name, or by index where names are not known."""
    found = {names[i] if i < len(names) else str(i): one for i, one in enumerate(call.args)}
    return found | {one.arg: one.value for one in call.keywords if one.arg is not None}


def _between(subject: Subject, own: ast.expr, model: ast.expr) -> Iterator[Difference]:
    """The edits that make an expression equal to another one."""
    value, wanted = _behind(subject, own), _behind(subject, model)
    if ast.dump(value) == ast.dump(wanted):
        return
    if arithmetic.number(value) is not None and arithmetic.number(wanted) is not None:
        text = subject.text(subject.source.site(model))
        if arithmetic.number(value) != arithmetic.number(wanted) and _plain(model):
            site = subject.source.site(own)
            yield f"{text} instead of {subject.text(site)}", Replace(site, text)
    elif isinstance(value, ast.Dict) and isinstance(wanted, ast.Dict):
        entries = {
            ast.dump(key): entry for key, entry in zip(wanted.keys, wanted.values, strict=True) if key is not None
        }
        for key, entry in zip(value.keys, value.values, strict=True):
            if key is not None and ast.dump(key) in entries:
                yield from _between(subject, entry, entries[ast.dump(key)])
    elif isinstance(value, (ast.Tuple, ast.List)) and isinstance(wanted, (ast.Tuple, ast.List)):
        same = len(value.elts) == len(wanted.elts)
        for one, other in zip(value.elts, wanted.elts, strict=True) if same else ():
            yield from _between(subject, one, other)


def _behind(subject: Subject, node: ast.expr) -> ast.expr:
    """The value of a name that is bound once."""
    for _ in range(MAX_NAMES):
        bound = subject.source.bindings(node, node) if isinstance(node, ast.Name) else ()
        if len(bound) != 1:
            break
        node = bound[0]
    return node


def _plain(node: ast.expr) -> bool:
    """Whether an expression means the same elsewhere in the module: a number or a name."""
    return arithmetic.number(node) is not None or isinstance(node, ast.Name)
