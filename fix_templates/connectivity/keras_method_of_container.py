"""A torch container is filled with a method that only Keras models have."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from dnnfix.api import (
    Applicability,
    Candidate,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    Replace,
    Site,
    Subject,
    Symptom,
)

CONTAINERS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList"})


class KerasMethodOfContainer(FixTemplate):
    """A torch container is filled with `add`, the method of a Keras model.

    `torch.nn.Sequential` and `torch.nn.ModuleList` take a layer with `append`, and a layer under a name with
    `add_module`. They have no `add`.

    Fix safety: safe. The layer is put at the end of the container, as `add` would.

    References: torch.nn.Sequential (`append`), torch.nn.Module (`add_module`); keras.Sequential (`add`).
    """

    code = "DNF415"
    name = "keras-method-of-container"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.API_CONTRACT
    message = "{container} has no `add`; `{method}` puts a layer into it"
    triggers = ("Sequential", "ModuleList")

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for call, container in _added(subject):
            crash = subject.crash
            crashed = crash is not None and crash.kind == "AttributeError" and _holds(subject, call, crash.site)
            yield self.finding(
                subject.source.site(call.func),
                symptom=Symptom.CRASH if crashed else Symptom.VIOLATION,
                confidence=0.95,
                cause="crash" if crashed else "",
                container=container,
                method=_method(call) or "append",
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        calls = [call for call, _ in _added(subject)]
        methods = [_method(call) for call in calls]
        if None in methods:
            yield Decline("what is added is neither a layer nor a name and a layer")
            return
        edits = [
            Replace(subject.source.site(call.func), f"{_base(subject, call)}.{method}")
            for call, method in zip(calls, methods, strict=True)
        ]
        title = "Put the layers in with the method that torch has"
        own = self.candidate(finding, title, *edits, applicability=Applicability.SAFE, prior=0.95)
        yield replace(own, findings=tuple(self.detect(subject)))

    examples = (
        Example(
            "layers under names, in a module that is run",
            """\
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
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a Keras model and a set",
            """\
import torch
from keras import Sequential, layers

model = Sequential()
model.add(layers.Dense(3))
seen = set()
seen.add(torch.float32)
""",
        ),
        Reject(
            "a container with a method of its own",
            """\
import torch.nn as nn

class Chain(nn.Sequential):
    def add(self, layer):
        return self.append(layer)

chain = Chain()
chain.add(nn.ReLU())
""",
        ),
    )


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
