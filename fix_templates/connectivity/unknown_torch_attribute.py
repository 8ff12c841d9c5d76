"""A torch object is used with a method or attribute name that torch does not have."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from dnnfix.api import (
    Applicability,
    Candidate,
    Decline,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Replace,
    Site,
    Source,
    Subject,
    Symptom,
)

CONTAINERS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList"})

MISSPELT = ("require_grad", "requires_grads", "require_grads", "required_grad", "requires_gradient")
"""Misspellings of `requires_grad`: an assignment to one only adds an attribute."""


class UnknownTorchAttribute(FixTemplate):
    """`net.add(layer)` on a torch container, `weight.require_grad = False` on a tensor: torch has neither name.

    `torch.nn.Sequential` and `torch.nn.ModuleList` add a layer with `append`, and a named layer with `add_module`;
    `add` is the method of a Keras model. Any attribute can be assigned to a tensor, so `p.require_grad = False` neither
    raises nor freezes anything. Programs that read such an attribute, or define it in a class of their own, are left
    alone.

    Fix safety: safe for `add`: the layer is appended to the container. Unsafe for `requires_grad`: the weights are
    frozen, or trained, from now on.

    References: torch.nn.Sequential (`append`), torch.nn.Module (`add_module`); keras.Sequential (`add`);
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad.html.
    """

    code = "DNF415"
    name = "unknown-torch-attribute"
    formerly = ("attribute-not-of-torch", "keras-method-of-container", "DNF420", "misspelt-requires-grad")
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.API_CONTRACT
    message = "{owner} has no attribute `{word}`: {meant}"
    triggers = ("Sequential", "ModuleList", *MISSPELT)

    def detect(self, subject: Subject) -> Iterator[Finding]:
        crash = subject.crash
        for call, container in _added(subject):
            crashed = crash is not None and crash.kind == "AttributeError" and _holds(subject, call, crash.site)
            yield self.finding(
                subject.source.site(call.func),
                symptom=Symptom.CRASH if crashed else Symptom.VIOLATION,
                confidence=0.95,
                cause="crash" if crashed else "",
                owner=container,
                word="add",
                meant=f"`{_method(call) or 'append'}` is the method that adds a layer",
            )
        for target in _misspelt(subject.source):
            yield self.finding(
                subject.source.site(target),
                symptom=Symptom.VIOLATION,
                confidence=0.95,
                evidence={"owner": subject.source.segment(subject.source.site(target.value))},
                owner="a tensor",
                word=target.attr,
                meant="torch reads `requires_grad`, and ignores this",
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        owner = finding.evidence.get("owner")
        if owner is not None:
            edit = Replace(finding.site, f"{owner}.requires_grad")
            yield self.candidate(finding, "Assign requires_grad", edit, prior=0.95)
            return
        calls = [call for call, _ in _added(subject)]
        methods = [_method(call) for call in calls]
        if None in methods:
            yield Decline("the arguments are neither a layer nor a name and a layer")
            return
        edits = [
            Replace(subject.source.site(call.func), f"{_base(subject, call)}.{method}")
            for call, method in zip(calls, methods, strict=True)
        ]
        title = "Add the layers with the method that torch has"
        own = self.candidate(finding, title, *edits, applicability=Applicability.SAFE, prior=0.95)
        yield replace(own, findings=tuple(one for one in self.detect(subject) if "owner" not in one.evidence))

    programs = """
=== example (runs): layers under names, in a module that is run
import torch
import torch.nn as nn

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.shortcut = nn.Sequential()
        if width > 3:
-             self.shortcut.add('conv', nn.Conv2d(3, width, 1))
+             self.shortcut.add_module('conv', nn.Conv2d(3, width, 1))

    def forward(self, x):
        return self.shortcut(x)

Block(5)(torch.zeros(1, 3, 4, 4))

=== example: one weight of a model
import torch

layer = torch.nn.Linear(3, 3)
- layer.weight.requires_grads = False
+ layer.weight.requires_grad = False

=== reject: a Keras model and a set
import torch
from keras import Sequential, layers

model = Sequential()
model.add(layers.Dense(3))
seen = set()
seen.add(torch.float32)

=== reject: a container with a method of its own
import torch.nn as nn

class Chain(nn.Sequential):
    def add(self, layer):
        return self.append(layer)

chain = Chain()
chain.add(nn.ReLU())

=== reject: the attribute that is meant
import torch

layer = torch.nn.Linear(3, 3)
layer.weight.requires_grad = False

=== reject: the program reads the attribute
import torch

layer = torch.nn.Linear(3, 3)
layer.require_grad = False
for p in layer.parameters():
    p.requires_grad = layer.require_grad

=== reject: a class of the program's own
import torch


class Settings:
    def __init__(self):
        self.require_grad = False


print(Settings(), torch.ones(2))
"""


def _added(subject: Subject) -> Iterator[tuple[ast.Call, str]]:
    for call in subject.source.all_calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "add":
            made = subject.source.constructor(call.func.value)
            name = subject.source.qualified(made.func) if made is not None else None
            if name in CONTAINERS:
                yield call, name.rpartition(".")[2]


def _method(call: ast.Call) -> str | None:
    plain = not call.keywords and not any(isinstance(one, ast.Starred) for one in call.args)
    return {1: "append", 2: "add_module"}.get(len(call.args)) if plain else None


def _base(subject: Subject, call: ast.Call) -> str:
    value = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    return subject.text(subject.source.site(value))


def _holds(subject: Subject, call: ast.Call, site: Site | None) -> bool:
    return site is not None and subject.source.site(call).encloses(site)


def _misspelt(source: Source) -> Iterator[ast.Attribute]:
    """The assigned attributes that look like `requires_grad` and are never read."""
    words = [word for word in MISSPELT if word in source.words]
    if not words or "torch" not in source.frameworks:
        return
    read = {node.attr for node in source.nodes(ast.Attribute) if isinstance(node.ctx, ast.Load)}
    read |= {str(node.value) for node in source.nodes(ast.Constant) if isinstance(node.value, str)}
    for statement in source.nodes(ast.Assign):
        for target in statement.targets:
            if not isinstance(target, ast.Attribute) or target.attr not in words or target.attr in read:
                continue
            if not isinstance(target.value, ast.Name) or target.value.id not in (
                "self",
                "cls",
            ):  # these may belong to a class of the program
                yield target
