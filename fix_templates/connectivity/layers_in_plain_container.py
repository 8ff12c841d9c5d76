"""Layers are kept in a plain list or dict, where the model does not see them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    Source,
    Subject,
    Symptom,
    Wrap,
    component_kind,
    kept_in_self,
    layer_facts,
    once,
    spell,
    within,
)

REGISTERING = frozenset({"add_module", "register_module", "setattr", "add_param_group"})
"""Calls by which a class may make single layers known after all."""

CONTAINERS = frozenset({"ModuleList", "ModuleDict", "Sequential"})
"""Calls that register what they are given."""


class LayersInPlainContainer(FixTemplate):
    """A torch module keeps layers in a Python list or dict; their weights are no parameters of the model.

    `Module.parameters()` finds what is assigned to attributes as modules. Layers in a plain container are called in
    `forward` and give values, but the optimizer never receives their weights, `model.to(device)` leaves them behind and
    `state_dict` does not save them. `nn.ModuleList` and `nn.ModuleDict` are containers that register what they hold.

    Fix safety: unsafe. The layers are trained from now on, and the saved files of the model get more entries.

    References: torch.nn.ModuleList and torch.nn.ModuleDict; torch.nn.Module.parameters.
    """

    code = "DNF403"
    name = "layers-in-plain-container"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "the layers in `self.{attribute}` are in a plain {container}, so they are no part of the model"
    triggers = ("Module",)

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for owner in _modules(subject.source):
            names = {_called(call) for call in within(owner, ast.Call)}
            for attribute, value in kept_in_self(owner):
                layers, container = _layers(subject, owner, attribute, value)
                if not layers or _registered(owner, attribute, names):
                    continue
                yield self.finding(
                    subject.source.site(value),
                    symptom=Symptom.VIOLATION,
                    confidence=0.95,
                    evidence={"attribute": attribute, "container": container, "class": owner.name},
                    attribute=attribute,
                    container=container,
                )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        value = subject.node(finding.site)
        if value is None:
            yield Decline("the container is not made in this file")
            return
        kind = "ModuleDict" if finding.evidence["container"] == "dict" else "ModuleList"
        name = spell(subject, f"torch.nn.{kind}")
        title = f"Keep the layers in {name.code}"
        yield self.candidate(finding, title, Wrap(finding.site, f"{name.code}(", ")"), *name.imports, prior=0.95)

    examples = (
        Example(
            "a list of convolutions",
            """\
import torch.nn as nn

class Stack(nn.Module):
    def __init__(self, depth):
        super().__init__()
-         self.convs = [nn.Conv2d(8, 8, 3, padding=1) for _ in range(depth)]
+         self.convs = nn.ModuleList([nn.Conv2d(8, 8, 3, padding=1) for _ in range(depth)])
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        for conv in self.convs:
            x = conv(x).relu()
        return self.head(x.mean(dim=(2, 3)))
""",
        ),
        Example(
            "an empty list that is filled",
            """\
import torch

class Mlp(torch.nn.Module):
    def __init__(self, sizes):
        super(Mlp, self).__init__()
-         self.layers = []  # filled below
+         self.layers = torch.nn.ModuleList([])  # filled below
        for i in range(len(sizes) - 1):
            self.layers.append(torch.nn.Linear(sizes[i], sizes[i + 1]))

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x
""",
        ),
        Example(
            "a dict of heads, some of them classes of the program",
            """\
from torch.nn import Linear, Module
+ import torch.nn as nn

class Head(Module):
    def __init__(self, n):
        super().__init__()
        self.out = Linear(16, n)

    def forward(self, x):
        return self.out(x)

class Model(Module):
    def __init__(self):
        super().__init__()
-         self.heads = {"kind": Head(3), "age": Linear(16, 1)}
+         self.heads = nn.ModuleDict({"kind": Head(3), "age": Linear(16, 1)})

    def forward(self, x, task):
        return self.heads[task](x)
""",
        ),
    )
    rejects = (
        Reject(
            "layers without weights",
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.pools = [nn.MaxPool2d(2), nn.MaxPool2d(3)]
""",
        ),
        Reject(
            "the list becomes a Sequential",
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = [nn.Linear(4, 4), nn.ReLU()]
        self.net = nn.Sequential(*self.parts)

    def forward(self, x):
        return self.net(x)
""",
        ),
        Reject(
            "a list of sizes",
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = [4, 8]
        self.net = nn.Linear(*self.sizes)
""",
        ),
        Reject(
            "layers registered by name",
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.blocks = []
        for i in range(n):
            block = nn.Linear(4, 4)
            self.add_module(f"block{i}", block)
            self.blocks.append(block)
""",
        ),
        Reject(
            "a list of layers outside a module",
            "from torch import nn\n\nclass Plan:\n    def __init__(self):\n        self.parts = [nn.Linear(2, 2)]\n",
        ),
    )


@once
def _modules(source: Source) -> tuple[ast.ClassDef, ...]:
    """The classes of the program that are torch modules, directly or through another class of the program."""
    known: set[str] = set()
    found: list[ast.ClassDef] = []
    for owner in source.nodes(ast.ClassDef):
        bases = {source.qualified(base) for base in owner.bases}
        own = {base.id for base in owner.bases if isinstance(base, ast.Name)}
        if "torch.nn.Module" in bases or own & known:
            known.add(owner.name)
            found.append(owner)
    return tuple(found)


def _layers(subject: Subject, owner: ast.ClassDef, attribute: str, value: ast.expr) -> tuple[list[ast.expr], str]:
    """The expressions that make layers for the container, and what kind of container it is; none if not all do."""
    if isinstance(value, ast.Dict):
        elements, container = list(value.values), "dict"
    elif isinstance(value, ast.ListComp):
        elements, container = [value.elt], "list"
    elif isinstance(value, ast.List):
        elements, container = [*value.elts, *_appended(owner, attribute)], "list"
    else:
        return [], ""
    made = [_made(subject, element) for element in elements]
    known = all(kind is not None for kind in made)
    return (elements if known and "weighted" in made else []), container


def _appended(owner: ast.ClassDef, attribute: str) -> Iterator[ast.expr]:
    for node in within(owner, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("append", "insert"):
            place = node.func.value
            if isinstance(place, ast.Attribute) and place.attr == attribute and node.args:
                yield node.args[-1]


def _made(subject: Subject, element: ast.expr) -> str | None:
    """`weighted` for an expression that makes a layer with weights or a module of the program, `plain` for another
    layer, `None` for anything else."""
    made = subject.source.constructor(element)
    if made is None:
        return None
    name = subject.source.qualified(made.func)
    if name is None:
        definition = subject.source.definition(made.func)
        return "weighted" if isinstance(definition, ast.ClassDef) and definition in _modules(subject.source) else None
    if not name.startswith("torch.nn.") or component_kind(name) not in ("layer", "model"):
        return None
    facts = layer_facts(name)
    return "weighted" if component_kind(name) == "model" or (facts is not None and facts.gives) else "plain"


def _registered(owner: ast.ClassDef, attribute: str, called: set[str]) -> bool:
    """Whether the class makes the layers known by another way, or hands the container on."""
    if called & REGISTERING:
        return True
    for node in within(owner, ast.Call):
        if _called(node) in CONTAINERS:
            for given in node.args:
                inner = given.value if isinstance(given, ast.Starred) else given
                if isinstance(inner, ast.Attribute) and inner.attr == attribute:
                    return True
    return False


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""
