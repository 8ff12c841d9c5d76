"""A module or object has no attribute of this name, but one with a similar name or in another module."""

from __future__ import annotations

import ast
import datetime
import re
import sys
from collections.abc import Iterator

from dnnfix.api import (
    AddImport,
    Crash,
    CrashTemplate,
    Edit,
    Fault,
    FixPattern,
    Refusal,
    Replace,
    Subject,
    interfaces,
    spelling,
    uses_of,
)

OTHERS = frozenset({"list", "tuple", "dict", "str", "bytes", "int", "float", "bool", "NoneType", "set", "function"})
"""Types whose attributes are rarely misspelled: more often the object has an unexpected type."""

ARRAYS = frozenset({"ndarray", "Tensor", "Parameter", "Size", "EagerTensor", "KerasTensor"})
"""Types that are often confused: an attribute that one does not have is usually one of another."""

OF_THEIR_NAME = {"datetime": datetime.datetime}
"""Modules with a class of the same name, which has the attributes that the module does not have."""

_Way = tuple[str, tuple[Edit, ...], float]


class UnknownAttribute(CrashTemplate):
    """A module or object has no function, class, method or attribute of this name, but one with a similar name.

    The run records the attributes. For a library, a name is used if it is by far the likeliest and accepts the call:
    another spelling (`matmult`), abbreviated words (`LayerNorm`), one letter off, the same name in another module
    (`torch.cross_entropy`), or more words. `datetime.now` becomes a call on the class, and a submodule that the package
    does not import itself (`torch.utils.tensorboard`) is imported. Names in the tables of API changes are left to their
    rules. For any object, the one name that differs in capitals, underscores or a letter, or is very similar; else a
    longer one: the closest with all its words, or one with the ending of another name that the program uses of the same
    object (`train_on_batch` next to `test`). If several fit, nothing is proposed.

    Fix safety: unsafe. Another name is used, chosen by its spelling and parameters.

    References: https://docs.python.org/3/library/exceptions.html#AttributeError;
    https://docs.python.org/3/library/difflib.html.
    """

    code = "DNF609"
    name = "unknown-attribute"
    formerly = ("misspelt-attribute", "DNF551", "name-not-in-library")
    message = "the name does not exist or cannot be called: {what}"
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"AttributeError", "ImportError", "TypeError"})

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        asked = interfaces.refusal(subject)
        if asked is None or asked.asked == "call" or asked.site.path:
            return
        node = subject.node(asked.site)
        ways: list[_Way] = []
        if not asked.own and _type_of(asked) not in ARRAYS and not _in_tables(subject, asked, node):
            meant = interfaces.missing_name(asked, _called(subject, node))
            if meant is None:
                ways += _within_module(subject, asked, node)
            elif not _does_nothing(subject, node, meant):
                ways += _written(subject, asked, node, meant)
        if isinstance(node, ast.Attribute):
            ways += _spelled(subject, asked, node)
        if ways:
            owner = asked.owner if asked.kind == "module" else f"an object of type {asked.owner}"
            what = (
                f"the module {owner} is called"
                if asked.asked == "module"
                else f"{owner} has no attribute `{asked.name}`"
            )
            yield Fault(asked.site, what, tuple({way[0]: way for way in ways}.values()))

    programs = """
=== example: words that are shortened in a layer's name
import numpy as np
import keras
from keras import layers

inputs = keras.Input((4,))
- outputs = layers.Dense(1)(layers.LayerNorm()(inputs))
+ outputs = layers.Dense(1)(layers.LayerNormalization()(inputs))
model = keras.Model(inputs, outputs)
model.compile(loss="mse")
model.fit(np.ones((8, 4)), np.ones((8, 1)), verbose=0)

=== example: a class that is imported under a name of its own making
import torch
- from torch.nn import CrossEntropy, Linear
+ from torch.nn import CrossEntropyLoss, Linear

- criterion = CrossEntropy()
+ criterion = CrossEntropyLoss()
criterion(Linear(3, 2)(torch.ones(4, 3)), torch.zeros(4, dtype=torch.long)).backward()

=== example: the module of an optimizer, called
import torch

net = torch.nn.Linear(3, 1)
- optimizer = torch.optim.adam(net.parameters(), lr=0.01)
+ optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
net(torch.ones(2, 3)).sum().backward()
optimizer.step()

=== example: a method of the class that has its module's name
import datetime
import torch

- begun = datetime.now()
- print(torch.ones(1), (datetime.now() - begun).days)
+ begun = datetime.datetime.now()
+ print(torch.ones(1), (datetime.datetime.now() - begun).days)

=== example: a part of a package that is imported by itself
import torch
+ import torch.nn.utils.prune

net = torch.nn.Linear(2, 1)
torch.nn.utils.prune.l1_unstructured(net, "weight", amount=1)
print(net(torch.ones(1, 2)).shape)

=== example: a function one letter off
import torch

left, right = torch.ones(2, 3), torch.ones(3, 2)
- print(torch.matmull(left, right))
+ print(torch.matmul(left, right))

=== example: a method without its ending
import torch


class Trainer:
    def train_on_batch(self, x):
        return x.mean()

    def test_on_batch(self, x):
        return x.sum()

    def test_step(self):
        return 0


trainer = Trainer()
print(trainer.train_on_batch(torch.ones(2)))
- print(trainer.test(torch.ones(2)))
+ print(trainer.test_on_batch(torch.ones(2)))

=== reject: a name that the tables know
import numpy as np
import torch

labels = torch.from_numpy(np.zeros(3, dtype=np.float))

=== reject (runs): a setting that the tables know
from transformers import TrainingArguments

arguments = TrainingArguments("out", use_cpu=True)
print(not arguments.overwrite_output_dir)

=== reject: a method of another library's arrays
import numpy as np
import torch

print(torch.from_numpy(np.ones(3).unsqueeze(0)))

=== reject: numbered layers of which one is missing
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 4)
        self.fc2 = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc3(self.fc2(self.fc1(x)))


Net()(torch.ones(2, 4))

=== reject: nothing where an object was meant
import torch

model = None
model.train()

=== reject: a beginning that several names have
import torch

print(torch.conv(torch.ones(1, 1, 3)))
"""


def _called(subject: Subject, node: ast.AST | None) -> ast.Call | None:
    """The call that failed, or of the attribute that failed."""
    if isinstance(node, ast.Call):
        return node
    above = subject.source.parent(node) if isinstance(node, ast.Attribute) else None
    return above if isinstance(above, ast.Call) and above.func is node else None


def _type_of(asked: Refusal) -> str:
    """The type of the object; empty for modules and classes."""
    return asked.owner.rpartition(".")[2] if asked.kind == "object" else ""


def _in_tables(subject: Subject, asked: Refusal, node: ast.AST | None) -> bool:
    """Whether the tables of API changes contain the name."""
    written, uses = None, uses_of(subject.source)
    if asked.kind == "object":
        known = uses.knowing(asked.name)
        of = [kind for table in known for kind in table.arguments(asked.name)]
        of += [kind for table in known for change in table.methods(asked.name) for kind in change.of]
        if _type_of(asked) in {kind.rpartition(".")[2] for kind in of}:
            return True
    if isinstance(node, ast.Attribute):
        written = subject.source.written(node)
    elif isinstance(node, ast.ImportFrom):
        written = f"{node.module}.{asked.name}"
    return written is not None and uses.target(written) is not None


def _written(subject: Subject, asked: Refusal, node: ast.AST | None, meant: str) -> Iterator[_Way]:
    """The library's name in place of the unknown one."""
    source = subject.source
    if isinstance(node, (ast.Attribute, ast.Call)):
        place = node.func if isinstance(node, ast.Call) else node  # a module was called
        owner = place
        if isinstance(place, ast.Attribute) and not (isinstance(node, ast.Call) and meant == asked.name):
            owner = place.value
        text = meant if "." in meant else f"{subject.text(source.site(owner))}.{meant}"
        yield f"Write `{text}`", (Replace(source.site(place), text),), 0.8
    elif isinstance(node, ast.ImportFrom) and "." not in meant:
        given = next((each.asname for each in node.names if each.name == asked.name), None)
        statement = re.sub(rf"\b{asked.name}\b", meant, subject.text(asked.site), count=1)
        uses = [] if given else [each for each in source.nodes(ast.Name) if each.id == asked.name]
        edits = [Replace(asked.site, statement), *(Replace(source.site(each), meant) for each in uses)]
        yield f"Import `{meant}`", tuple(edits), 0.8


def _within_module(subject: Subject, asked: Refusal, node: ast.AST | None) -> Iterator[_Way]:
    """An attribute of the class with the name of the module, or a submodule that has to be imported."""
    source = subject.source
    if asked.kind != "module" or asked.asked != "name" or not isinstance(node, ast.Attribute):
        return
    module = node.value
    if asked.owner in OF_THEIR_NAME and hasattr(OF_THEIR_NAME[asked.owner], asked.name):
        if source.qualified(module) != asked.owner:
            return
        whole = f"{subject.text(source.site(module))}.{asked.owner}"
        uses = (one for one in source.nodes(ast.Attribute) if source.qualified(one.value) == asked.owner)
        edits = (
            Replace(source.site(use.value), whole)
            for use in uses
            # `datetime.date` and `datetime.time` are classes of the module, and methods of the class
            if hasattr(OF_THEIR_NAME[asked.owner], use.attr) and not hasattr(sys.modules[asked.owner], use.attr)
        )
        yield f"Use the class `{whole}`", tuple(edits), 0.85
    elif source.written(node) == f"{asked.owner}.{asked.name}" and isinstance(source.parent(node), ast.Attribute):
        yield f"Import `{asked.owner}.{asked.name}`", (AddImport(f"import {asked.owner}.{asked.name}"),), 0.85


def _spelled(subject: Subject, asked: Refusal, node: ast.Attribute) -> Iterator[_Way]:
    """The one attribute of the object that differs in spelling, wherever the program uses the same object."""
    kind = _type_of(asked)
    near = tuple(offer.name for offer in asked.near if not offer.path)
    meant = _meant(subject, node, near, kind in ARRAYS) if kind not in OTHERS else None
    if meant is not None and not _does_nothing(subject, node, meant[0]):
        name, prior = meant
        code = f"{subject.text(subject.source.site(node.value))}.{name}"
        edits: tuple[Edit, ...] = tuple(
            Replace(subject.source.site(use), f"{subject.text(subject.source.site(use.value))}.{name}")
            for use in _uses(subject, node)
        )
        yield f"Write `{code}`", edits, prior


def _does_nothing(subject: Subject, node: ast.AST | None, name: str) -> bool:
    """Whether a method that gives a new object would stand where one that changes its own (`name_`) is missing."""
    return isinstance(node, ast.Attribute) and node.attr == f"{name}_" and subject.source.is_called_in_vain(node)


def _meant(subject: Subject, node: ast.Attribute, near: tuple[str, ...], strict: bool) -> tuple[str, float] | None:
    """The name that was meant, with a prior; `strict` if it may differ in spelling only."""
    name = node.attr
    spelled = spelling.same_letters(name, near) or spelling.one_letter_off(name, near)
    if spelled is not None or strict:
        return (spelled, 0.9) if spelled is not None else None
    ended = _ended_alike(subject, node, near)
    if ended is not None:
        return ended, 0.85
    for other in (spelling.longer(name, near), spelling.alike(name, near)):
        if other is not None:
            return other, 0.75
    return None


def _ended_alike(subject: Subject, node: ast.Attribute, near: tuple[str, ...]) -> str | None:
    """The longer name with the ending of another name that the program uses of the same object."""
    of = ast.unparse(node.value)
    used = {use.attr for use in subject.source.nodes(ast.Attribute) if use is not node and ast.unparse(use.value) == of}
    found = {
        other
        for other in near
        if other.startswith(f"{node.attr}_")
        and any(known != other and known.endswith(other[len(node.attr) :]) for known in used)
    }
    return found.pop() if len(found) == 1 else None


def _uses(subject: Subject, node: ast.Attribute) -> tuple[ast.Attribute, ...]:
    """The accesses to the same attribute: all of them for `self` and modules."""
    of = ast.unparse(node.value)
    around = subject.source.enclosing(node, ast.ClassDef) if of == "self" else subject.source.tree
    found = [
        use
        for use in ast.walk(around if around is not None else subject.source.tree)
        if isinstance(use, ast.Attribute)
        and use.attr == node.attr
        and isinstance(use.ctx, ast.Load)
        and ast.unparse(use.value) == of
    ]
    module = subject.source.qualified(node.value) is not None
    return tuple(found) if of == "self" or module else (node,)
