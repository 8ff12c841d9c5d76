"""A name is not defined, and the program shows which one was meant."""

from __future__ import annotations

import ast
import builtins
import importlib
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    CRASH_CAUSE,
    AddImport,
    Edit,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Repairs,
    Replace,
    Site,
    Subject,
    Symptom,
    spelling,
    trees,
    undefined_names,
    words,
)

MODULES = words(
    """argparse collections copy csv functools glob gzip itertools json logging math operator os pickle random re shutil
    string struct sys tempfile time warnings"""
)
"""Modules of the standard library that can be imported without side effects."""

OF_PYTHON_2 = frozenset({"basestring", "long", "raw_input", "reduce", "unichr", "unicode", "xrange", "file", "cmp"})
"""Builtins that Python 3 removed, which are not misspellings."""

BINDING = frozenset({"exec", "globals", "setattr", "__dict__", "execfile"})
"""Names in programs that may bind names dynamically."""


@dataclass(frozen=True, slots=True)
class Meant:
    """The code that replaces an undefined name, or the import statement that is missing."""

    uses: tuple[ast.Name, ...]
    code: str = ""
    statement: str = ""
    prior: float = 0.85


class UndefinedName(FaultTemplate[Meant]):
    """A name is not defined, and Python raises a NameError; the program shows which name was meant.

    Reported for an attribute or method of the class without `self.`, a known name in other capitals or with other
    underscores, and a module of the standard library whose import is missing. After a crash also for a known name one
    letter off, and for the one unused parameter or variable of the function that shares a word with the undefined name
    (`weight` in the body, `target_weight` in the parameters).

    Fix safety: unsafe. The line could not run before.

    References: https://docs.python.org/3/library/exceptions.html#NameError.
    """

    code = "DNF608"
    name = "undefined-name"
    formerly = ("DNF433", "parameter-by-other-name")
    family = Family.DATA_TYPE
    fix_pattern = FixPattern.API_CONTRACT
    message = "{name} is not defined{meant}"
    needs_run = True
    declined = "which name was meant is not known"

    def faults(self, subject: Subject) -> Faults[Meant]:
        source = subject.source
        if subject.trace is None or source.recoveries or any(_stars(subject)):
            return
        told = _crashed_on(subject)
        if told is None and source.words & BINDING:
            return
        for undefined in undefined_names.undefined_names(source):
            meant = _meant(subject, undefined.name, told == undefined.name)
            if meant is not None:
                yield source.site(meant.uses[0]), meant

    def report(self, site: Site, fault: Meant) -> Finding:
        name = fault.uses[0].id
        meant = "; its import is missing" if fault.statement else f": did you mean {fault.code}?"
        return self.finding(
            site,
            symptom=Symptom.VIOLATION,
            confidence=0.9,
            evidence={"name": name, "meant": fault.code or fault.statement},
            name=name,
            meant=meant,
        )

    def detect(self, subject: Subject) -> Iterator[Finding]:
        told = _crashed_on(subject)
        for finding in super().detect(subject):
            if finding.evidence["name"] == told:
                yield self.finding(
                    finding.site,
                    symptom=Symptom.CRASH,
                    confidence=finding.confidence,
                    evidence=finding.evidence,
                    cause=CRASH_CAUSE,
                    name=finding.evidence["name"],
                    meant=finding.message.partition(str(finding.evidence["name"]))[2],
                )
            else:
                yield finding

    def repairs(self, subject: Subject, fault: Meant) -> Repairs:
        if fault.statement:
            yield f"Import {fault.uses[0].id}", (AddImport(fault.statement),), fault.prior
            return
        edits: tuple[Edit, ...] = tuple(Replace(subject.source.site(use), fault.code) for use in fault.uses)
        yield f"Write {fault.code}", edits, fault.prior

    programs = """
=== example: a layer without its underscore
import torch
from torch import nn
from torch.nn import BatchNorm1d


def block(size):
-     return nn.Sequential(nn.Linear(size, size), Batch_Norm1d(size))
+     return nn.Sequential(nn.Linear(size, size), BatchNorm1d(size))


print(block(4)(torch.ones(2, 4)).shape)

=== example: a layer of the network without self
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 2)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
-         return fc2(x)
+         return self.fc2(x)


print(Net()(torch.ones(3, 4)).shape)

=== example: a module that is not imported
import torch
+ import math


def scale(size):
    return 1.0 / math.sqrt(size)


def start(rows, columns):
    bound = math.sqrt(3.0) * scale(columns)
    return torch.empty(rows, columns).uniform_(-bound, bound)


print(start(4, 2))

=== example: the only argument that is not used
import torch
import torch.nn.functional as F


def weighted_loss(output, target, class_weight=None):
    if class_weight is None:
        class_weight = torch.ones(output.shape[1])
-     return F.cross_entropy(output, target, weight)
+     return F.cross_entropy(output, target, class_weight)


print(weighted_loss(torch.rand(4, 3), torch.tensor([0, 1, 2, 1])))

=== example: letters in another order
import torch

optimiser_steps = 4
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(optimiser_steps):
    loss = model(torch.ones(2, 3)).mean()
    loss.backward()
-     optimzier.step()
+     optimizer.step()

=== reject: a name that may be either of two
import torch

weight_a, weight_b = torch.ones(2), torch.zeros(2)
print(torch.ones(2) * weight_c)

=== reject: names that the program binds out of sight
import torch

exec("Batch_Size = 4")
batch_size = 8
print(torch.ones(Batch_Size))

=== reject: a NameError that is caught
import torch

try:
    text = unicode
except NameError:
    text = str
print(text(torch.ones(2)))

=== reject: a name that two parameters could stand for
import torch


def join(left_part, right_part):
    return torch.cat([part, part])


join(torch.zeros(1), torch.zeros(1))

=== reject: an argument that is used already
import torch
import torch.nn.functional as F


def weighted_loss(output, target, class_weight):
    return F.cross_entropy(output, target, class_weight) * weight


print(weighted_loss(torch.rand(4, 3), torch.tensor([0, 1, 2, 1]), torch.ones(3)))
"""


def _crashed_on(subject: Subject) -> str | None:
    """The name that the program crashed on."""
    crash = subject.crash
    node = subject.node(crash.site) if crash is not None and crash.kind == "NameError" else None
    return node.id if isinstance(node, ast.Name) else None


def _stars(subject: Subject) -> Iterator[bool]:
    for node in subject.source.nodes(ast.ImportFrom):
        yield any(alias.name == "*" for alias in node.names)


def _meant(subject: Subject, name: str, crashed: bool) -> Meant | None:
    source = subject.source
    named = [node for node in source.nodes(ast.Name) if node.id == name and isinstance(node.ctx, ast.Load)]
    uses = tuple(node for node in named if name not in undefined_names.bound_by(source, node))
    if not uses or name in OF_PYTHON_2 or any(_asked_for(subject, use) for use in uses):
        return None
    if all(_of_self(subject, use) for use in uses):
        return Meant(uses, code=f"self.{name}", prior=0.9)
    known = frozenset.intersection(*(undefined_names.bound_by(source, use) for use in uses)) | frozenset(dir(builtins))
    other = spelling.same_letters(name, known)
    if other is not None:
        return Meant(uses, code=other, prior=0.9)
    if name in MODULES and all(_in_module(subject, name, use) for use in uses):
        return Meant(uses, statement=f"import {name}", prior=0.95)
    if not crashed:
        return None
    other = spelling.one_letter_off(name, known)
    return Meant(uses, code=other, prior=0.8) if other is not None else _unread(subject, name, uses)


def _asked_for(subject: Subject, use: ast.Name) -> bool:
    """Whether the program handles the name being undefined."""
    guard = subject.source.enclosing(use, ast.Try)
    return guard is not None and any(
        handler.type is None or "Error" in ast.unparse(handler.type) or "Exception" in ast.unparse(handler.type)
        for handler in guard.handlers
    )


def _of_self(subject: Subject, use: ast.Name) -> bool:
    """Whether the name is an attribute or method of the class whose method uses it."""
    source = subject.source
    function, owner = source.enclosing(use, ast.FunctionDef), source.enclosing(use, ast.ClassDef)
    if function is None or owner is None or source.parent(function) is not owner:
        return False
    if not function.args.args or function.args.args[0].arg != "self":
        return False
    stored = any(
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and node.attr == use.id
        and trees.is_self(node.value)
        for node in ast.walk(owner)
    )
    return stored or any(isinstance(part, ast.FunctionDef) and part.name == use.id for part in owner.body)


def _in_module(subject: Subject, name: str, use: ast.Name) -> bool:
    above = subject.source.parent(use)
    return isinstance(above, ast.Attribute) and hasattr(importlib.import_module(name), above.attr)


def _unread(subject: Subject, name: str, uses: tuple[ast.Name, ...]) -> Meant | None:
    """The one unused name of the function that shares a word with the undefined one."""
    function = subject.source.enclosing(uses[0], ast.FunctionDef)
    if function is None:
        return None
    own = {each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    own |= trees.stored_names(function)
    found = [
        one for one in own - {"self", "cls", name} if _shares_word(name, one) and not _read(subject, function, one)
    ]
    inside = tuple(use for use in uses if subject.source.enclosing(use, ast.FunctionDef) is function)
    return Meant(inside, code=found[0], prior=0.8) if len(found) == 1 else None


def _shares_word(name: str, other: str) -> bool:
    """Whether a name has all words of the undefined one, or shares a word of more than two letters."""
    wanted, there = set(spelling.parts(name)), set(spelling.parts(other))
    return wanted < there or any(len(word) > 2 and word.isalpha() for word in wanted & there)


def _read(subject: Subject, function: ast.FunctionDef, name: str) -> bool:
    """Whether the function reads a name other than to compare it with `None` or to assign it again."""
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            above = subject.source.parent(node)
            if isinstance(above, ast.Compare) and all(isinstance(op, (ast.Is, ast.IsNot)) for op in above.ops):
                continue
            statement = subject.source.statement_of(node)
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name:
                continue
            return True
    return False
