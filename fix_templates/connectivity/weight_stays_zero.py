"""A module multiplies by a tensor of zeros that is never trained or changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Edit, Family, Fault, FixPattern, ReadTemplate, Replace, Subject, graph, spell, trees, within

ZEROS = frozenset({"torch.zeros", "torch.zeros_like"})

VARIABLE = "torch.autograd.Variable"

MOVES = frozenset({"cuda", "cpu", "to", "float", "double", "half", "type"})
"""Methods that change the device or dtype only."""

LOOKS = frozenset({"size", "shape", "dtype", "device", "dim", "is_cuda"})
"""Attributes that describe a tensor."""


class WeightStaysZero(ReadTemplate):
    """A torch module multiplies by a tensor of zeros that it neither trains nor changes.

    The product is always zero. The tensor was meant to be a weight, which has to be an `nn.Parameter`: a plain tensor
    or an old `Variable` is not in any optimizer and gets no gradient.

    Fix safety: unsafe. The module has one more weight, which is trained.

    References: torch.nn.parameter.Parameter.
    """

    code = "DNF419"
    name = "weight-stays-zero"
    message = "`self.{attribute}` is a tensor of zeros that is never trained or changed: every product with it is zero"
    confidence = 0.85
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    triggers = ("zeros", "zeros_like")
    declined = "the tensor is created outside of __init__: an optimizer created earlier would not hold the parameter"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for owner in graph.torch_modules(source):
            for attribute, values in _stores(owner).items():
                made = [(value, _zeros(subject, value)) for value in values if not _is_none(value)]
                value, call = made[0] if made else (None, None)
                if value is None or call is None or any(other is None for _, other in made):
                    continue
                if _only_a_factor(subject, owner, attribute):
                    name, function = spell(subject, "torch.nn.Parameter"), source.enclosing(value, ast.FunctionDef)
                    text, parent = source.segment(source.site(value)), source.parent(call)
                    if isinstance(parent, ast.Call) and source.qualified(parent.func) == VARIABLE:
                        text = text.replace(source.segment(source.site(parent)), source.segment(source.site(call)))
                    edits: tuple[Edit, ...] = (Replace(source.site(value), f"{name.code}({text})"), *name.imports)
                    in_init = function is not None and function.name == "__init__"
                    title = f"Make the tensor a parameter of the module: {name.code}"
                    repair = title, edits if in_init else None, 0.85
                    yield Fault(source.site(value), {"attribute": attribute}, (repair,))

    programs = """
=== example: peephole weights as old variables
import torch
import torch.nn as nn
from torch.autograd import Variable

class Cell(nn.Module):
    def __init__(self, size):
        super(Cell, self).__init__()
        self.x, self.h = nn.Linear(size, size), nn.Linear(size, size)
-         self.peep = Variable(torch.zeros(1, size)).cuda()
+         self.peep = nn.Parameter(torch.zeros(1, size).cuda())

    def forward(self, x, h, c):
        gate = torch.sigmoid(self.x(x) + self.h(h) + c * self.peep)
        return gate * c

=== example: a matrix of zeros, its size looked at
import torch

class Bilinear(torch.nn.Module):
    def __init__(self, left, right):
        super().__init__()
        self.weight = None
-         self.weight = torch.zeros(left, right, dtype=torch.float32)
+         self.weight = torch.nn.Parameter(torch.zeros(left, right, dtype=torch.float32))
        self.bias = torch.nn.Parameter(torch.zeros(right))

    def forward(self, a, b):
        assert a.size(1) == self.weight.shape[0]
        return (a @ self.weight * b).sum(1) + self.bias.sum()

=== reject: states, masks and averages that are filled
import torch
from torch import nn

class Memory(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.fc = nn.Linear(size, size)
        self.state = torch.zeros(1, size)
        self.mask = torch.zeros(size)
        self.mask[: size // 2] = 1
        self.mean = torch.zeros(size)
        self.start = torch.zeros(size)

    def forward(self, x):
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        self.state = torch.tanh(self.fc(x) + self.state * 0.5)
        return self.state * self.mask * self.mean + self.start

=== reject: zeros that another object sets
import torch
from torch import nn

class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.strength = torch.zeros(1)

    def forward(self, x):
        return x + self.strength * self.fc(x)

gate = Gate()
for step in range(10):
    gate.strength = torch.ones(1) * step / 10
    gate(torch.rand(2, 3))

=== reject: zeros that are trained
import torch
from torch import nn

class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.zeros(1))
        self.shift = torch.zeros(1, requires_grad=True)

    def forward(self, x):
        return x * self.gain + x * self.shift
"""


def _stores(owner: ast.ClassDef) -> dict[str, list[ast.expr]]:
    """The values assigned to each attribute of `self`."""
    found: dict[str, list[ast.expr]] = {}
    for node in within(owner, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Attribute) and trees.is_self(target.value):
                found.setdefault(target.attr, []).append(node.value)
    return found


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _zeros(subject: Subject, value: ast.expr) -> ast.Call | None:
    """The call of `torch.zeros` behind a value without `requires_grad`."""
    while isinstance(value, ast.Call):
        if any(keyword.arg == "requires_grad" for keyword in value.keywords):
            return None
        name = subject.source.qualified(value.func)
        if name in ZEROS:
            return value
        if name == VARIABLE and len(value.args) == 1:
            value = value.args[0]
        elif isinstance(value.func, ast.Attribute) and value.func.attr in MOVES:
            value = value.func.value
        else:
            return None
    return None


def _only_a_factor(subject: Subject, owner: ast.ClassDef, attribute: str) -> bool:
    """Whether the class multiplies by the attribute, and nothing in the file uses it otherwise."""
    source, factor = subject.source, False
    inside = set(ast.walk(owner))
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Attribute) or node.attr != attribute:
            continue
        parent = source.parent(node)
        own = node in inside and trees.is_self(node.value)
        if not isinstance(node.ctx, ast.Load):
            if not own or not isinstance(parent, ast.Assign):
                return False
        elif isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Mult, ast.MatMult)):
            factor = factor or own
        elif not _only_looks(parent, own):
            return False
    return factor


def _only_looks(parent: ast.AST | None, own: bool) -> bool:
    """Whether an expression only inspects the tensor: a comparison with `None`, its size; outside also its sum."""
    if isinstance(parent, ast.Compare):
        return all(isinstance(one, (ast.Is, ast.IsNot)) for one in parent.ops)
    if isinstance(parent, ast.Attribute):
        return parent.attr in LOOKS or (not own and parent.attr in ("abs", "sum", "mean", "requires_grad", "grad"))
    return False
