"""A torch module does not register weights that it holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import cast

from dnnfix.api import (
    Edit,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    RemoveArgument,
    Subject,
    Unwrap,
    Wrap,
    graph,
    keyword_value,
    layer_facts,
    network_facts,
    progress_figures,
    spell,
    training_loop,
    trees,
    within,
)

REGISTERING = frozenset({"add_module", "register_module", "setattr", "add_param_group"})
"""Calls by which a class may register layers or pass them to an optimizer itself."""
CONTAINERS = frozenset({"ModuleList", "ModuleDict", "Sequential"})
"""Constructors that register their arguments."""
HANDING_ON = frozenset({"register_parameter", "register_buffer", "grad", "add_param_group", "Parameter"})
"""Calls that a tensor with `requires_grad` may be made for."""
VARIABLE = "torch.autograd.Variable"


class WeightsNotRegistered(ReadTemplate):
    """A torch module keeps layers in a Python list or dict, or a tensor with `requires_grad=True` as a plain attribute.

    `Module.parameters()` finds only attributes that are modules or `nn.Parameter`. Layers in a plain container compute
    outputs and a plain tensor gets gradients, but the optimizer does not train them, `model.to(device)` does not move
    them and `state_dict` does not save them. `nn.ModuleList` and `nn.ModuleDict` register what they hold.

    Fix safety: unsafe. The weights are trained from now on, and saved files of the model get more entries.

    References: torch.nn.ModuleList and torch.nn.ModuleDict; torch.nn.Module.parameters; torch.nn.parameter.Parameter.
    """

    code = "DNF403"
    name = "weights-not-registered"
    message = "the module does not register its weights: {what}"
    confidence = 0.85
    formerly = ("layers-in-plain-container", "DNF412", "weight-not-registered")
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    triggers = ("Module", "requires_grad")
    declined = "the tensor is moved or cast after it was created"

    def read(self, subject: Subject) -> Iterator[Fault]:
        for owner in graph.torch_modules(subject.source):
            names = {progress_figures.name_of(call.func) for call in within(owner, ast.Call)}
            for attribute, value in graph.kept_in_self(owner):
                container = _container(subject, owner, attribute, value)
                if container and not names & REGISTERING and not _registered(owner, attribute):
                    yield _contained(subject, attribute, value, container)
                made = _made_tensor(subject, value)
                if made is not None and not _handed_on(subject, attribute):
                    yield _parameter(subject, attribute, made)

    programs = """
=== example: a list of convolutions
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

=== example: an empty list that is filled
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

=== example: a dict of heads, some of them classes of the program
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

=== example: a scale
import torch
from torch import nn

class Scale(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.fc = nn.Linear(n, n)
-         self.gain = torch.ones(n, requires_grad=True)
+         self.gain = nn.Parameter(torch.ones(n))

    def forward(self, x):
        return self.fc(x) * self.gain

=== example: a variable of old
import torch
import torch.nn as nn
from torch.autograd import Variable

class Cell(nn.Module):
    def __init__(self, size):
        super(Cell, self).__init__()
-         self.peephole = Variable(torch.zeros(1, size), requires_grad=True)
+         self.peephole = nn.Parameter(torch.zeros(1, size))

    def forward(self, x, c):
        return torch.sigmoid(x + c * self.peephole)

=== reject: layers without weights
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.pools = [nn.MaxPool2d(2), nn.MaxPool2d(3)]

=== reject: the list becomes a Sequential
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = [nn.Linear(4, 4), nn.ReLU()]
        self.net = nn.Sequential(*self.parts)

    def forward(self, x):
        return self.net(x)

=== reject: a list of sizes
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = [4, 8]
        self.net = nn.Linear(*self.sizes)

=== reject: layers registered by name
from torch import nn

class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.blocks = []
        for i in range(n):
            block = nn.Linear(4, 4)
            self.add_module(f"block{i}", block)
            self.blocks.append(block)

=== reject: a list of layers outside a module
from torch import nn

class Plan:
    def __init__(self):
        self.parts = [nn.Linear(2, 2)]

=== reject: a buffer, and a tensor passed to the optimizer by name
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mask = torch.ones(4)
        self.style = torch.zeros(4, requires_grad=True)
        self.optimizer = torch.optim.Adam([self.style])

=== reject: a class that is not a module
import torch

class Attack:
    def __init__(self):
        self.delta = torch.zeros(4, requires_grad=True)
"""


def _contained(subject: Subject, attribute: str, value: ast.expr, container: str) -> Fault:
    """Layers in a plain container, wrapped in the torch container."""
    site, name = subject.source.site(value), spell(subject, f"torch.nn.Module{container.title()}")
    what = f"the layers in `self.{attribute}` are in a plain {container}"
    return Fault.with_repair(
        site, what, f"Keep the layers in {name.code}", Wrap(site, f"{name.code}(", ")"), *name.imports, prior=0.95
    )


def _container(subject: Subject, owner: ast.ClassDef, attribute: str, value: ast.expr) -> str:
    """`list` or `dict` if the value is such a container of layers only, some of them with weights; else empty."""
    if isinstance(value, ast.Dict):
        elements, container = list(value.values), "dict"
    elif isinstance(value, ast.ListComp):
        elements, container = [value.elt], "list"
    elif isinstance(value, ast.List):
        elements, container = [*value.elts, *_appended(owner, attribute)], "list"
    else:
        return ""
    made = [_made(subject, element) for element in elements]
    return container if all(made) and "weighted" in made else ""


def _appended(owner: ast.ClassDef, attribute: str) -> Iterator[ast.expr]:
    for node in training_loop.attribute_calls(owner, "append", "insert"):
        place = cast(ast.Attribute, node.func).value
        if isinstance(place, ast.Attribute) and place.attr == attribute and node.args:
            yield node.args[-1]


def _made(subject: Subject, element: ast.expr) -> str | None:
    """`weighted` for a layer with weights or a module of the program, `plain` for another layer, else `None`."""
    made = subject.source.constructor(element)
    if made is None:
        return None
    name = subject.source.qualified(made.func)
    if name is None:
        return "weighted" if subject.source.definition(made.func) in graph.torch_modules(subject.source) else None
    if not name.startswith("torch.nn.") or network_facts.component_kind(name) not in ("layer", "model"):
        return None
    facts = layer_facts(name)
    return (
        "weighted" if network_facts.component_kind(name) == "model" or (facts is not None and facts.gives) else "plain"
    )


def _registered(owner: ast.ClassDef, attribute: str) -> bool:
    """Whether the class passes the container on to one that registers."""
    for node in within(owner, ast.Call):
        for given in node.args if progress_figures.name_of(node.func) in CONTAINERS else ():
            inner = given.value if isinstance(given, ast.Starred) else given
            if isinstance(inner, ast.Attribute) and inner.attr == attribute:
                return True
    return False


def _parameter(subject: Subject, attribute: str, made: ast.Call) -> Fault:
    """A plain tensor, wrapped in a parameter."""
    source, site, name = subject.source, subject.source.site(made), spell(subject, "torch.nn.Parameter")
    edits: tuple[Edit, ...] | None = (
        Wrap(site, f"{name.code}(", ")"),
        *name.imports,
        RemoveArgument(site, "requires_grad"),
    )
    if source.qualified(made.func) == VARIABLE:  # keep the tensor within it
        inner = source.site(made.args[0]) if made.args else None
        edits = (Unwrap(site, inner), Wrap(inner, f"{name.code}(", ")"), *name.imports) if inner is not None else None
    what = f"`self.{attribute}` is a plain tensor, not a parameter"
    return Fault(site, what, ((f"Make the tensor a parameter of the module: {name.code}", edits, 0.9),), confidence=0.9)


def _made_tensor(subject: Subject, value: ast.expr) -> ast.Call | None:
    """The call that creates a tensor with `requires_grad=True`."""
    if not isinstance(value, ast.Call) or subject.source.qualified(value.func) not in graph.TENSOR_MAKERS:
        return None
    asked = keyword_value(value, "requires_grad")
    return value if trees.is_true(asked) else None


def _handed_on(subject: Subject, attribute: str) -> bool:
    """Whether the program passes the tensor to an optimizer, registers it or takes its gradient itself."""
    for call in subject.source.all_calls:
        optimizes = (subject.source.qualified(call.func) or "").startswith("torch.optim.")
        if optimizes or progress_figures.name_of(call.func) in HANDING_ON:
            for node in ast.walk(call):
                if isinstance(node, ast.Attribute) and node.attr == attribute:
                    return True
                if isinstance(node, ast.Constant) and node.value == attribute:
                    return True
    return False
