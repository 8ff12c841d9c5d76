"""A layer is built into a model, and the forward pass leaves it out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Component,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    InsertAfter,
    Reject,
    Subject,
    Symptom,
    layer_facts,
    method,
    stated_input,
    stated_output,
    torch_modules,
)

KINDS = frozenset({"linear", "convolution"})


class LayerNeverCalled(FixTemplate):
    """A torch model has a layer with weights that no pass calls, right between two layers that it would fit between.

    The layer takes memory and is saved, but nothing flows through it and nothing trains it: its line in `forward` was
    forgotten.

    Reported only where its place is plain: the layer that `__init__` makes before it gives what it takes, and the one
    made after it takes what it gives.

    Fix safety: unsafe. The network gets one more layer, which is the point.

    References: torch.nn.Module.
    """

    code = "DNF413"
    name = "layer-never-called"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "`self.{layer}` is built between `self.{before}` and `self.{after}`, but no pass calls it"
    triggers = ("Module",)
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        if subject.trace is None or not subject.trace.steps:
            return
        for layer in subject.network.components:
            if layer.called != 0 or not layer.attribute or not _is_plain(layer) or _has_gradient(subject, layer):
                continue
            place = _place(subject, layer)
            if place is None or layer.site is None:
                continue
            before, after = place
            yield self.finding(
                layer.site,
                symptom=Symptom.VIOLATION,
                confidence=0.75,
                evidence={"layer": _last(layer), "before": before, "after": after},
                layer=_last(layer),
                before=before,
                after=after,
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        layer, before = str(finding.evidence["layer"]), str(finding.evidence["before"])
        made = subject.node(finding.site)
        owner = subject.source.enclosing(made, ast.ClassDef) if made is not None else None
        statement = _calling(owner, before) if owner is not None else None
        if statement is None or not isinstance(statement.targets[0], ast.Name):
            yield Decline(f"the call of `self.{before}` does not stand alone in a statement")
            return
        call = next(node for node in ast.walk(statement.value) if _calls(node, before))
        if not isinstance(call, ast.Call):
            return
        name, given = statement.targets[0].id, ast.unparse(call.args[0])
        text = ast.unparse(statement).replace(f"self.{before}({given})", f"self.{layer}({name})")
        yield self.candidate(
            finding, f"Call the layer: {text}", InsertAfter(subject.source.site(statement), text), prior=0.8
        )

    examples = (
        Example(
            "a linear layer",
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 8)
        self.fc3 = nn.Linear(8, 1)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
+         x = torch.relu(self.fc2(x))
        return self.fc3(x)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(8, 4)).pow(2).mean().backward()
optimizer.step()
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a second head that this program does not use",
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.mean = nn.Linear(8, 1)
        self.scale = nn.Linear(8, 1)

    def forward(self, x):
        h = torch.relu(self.body(x))
        return self.mean(h)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(8, 4)).pow(2).mean().backward()
optimizer.step()
""",
            runs=True,
        ),
        Reject(
            "a layer whose weight is used by itself",
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)
        self.c = nn.Linear(4, 1)

    def forward(self, x):
        x = self.a(x)
        x = nn.functional.linear(x, self.b.weight)
        return self.c(x)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(8, 4)).pow(2).mean().backward()
optimizer.step()
""",
            runs=True,
        ),
    )


def _last(layer: Component) -> str:
    return (layer.attribute or "").rpartition(".")[2]


def _is_plain(layer: Component) -> bool:
    facts = layer_facts(layer)
    return facts is not None and facts.kind in KINDS and layer.name.startswith("torch.nn.")


def _has_gradient(subject: Subject, layer: Component) -> bool:
    return any(p.component == layer.id and p.gradient is not None for p in subject.network.parameters)


def _place(subject: Subject, layer: Component) -> tuple[str, str] | None:
    """The attributes of the layers before and after, where sizes and the order in `__init__` say them plainly."""
    source, made = subject.source, subject.call_node(layer)
    owner = source.enclosing(made, ast.ClassDef) if made is not None else None
    if (
        made is None
        or owner not in torch_modules(source)
        or owner is None
        or source.enclosing(made, ast.For) is not None
    ):
        return None
    siblings = [c for c in subject.network.components if _is_plain(c) and c.name == layer.name and _beside(c, layer)]
    siblings.sort(key=lambda each: (each.site.line, each.site.column) if each.site is not None else (0, 0))
    index = siblings.index(layer)
    if not 0 < index < len(siblings) - 1 or any(_calls(node, _last(layer)) for node in ast.walk(owner)):
        return None
    before, after = siblings[index - 1], siblings[index + 1]
    fits = stated_output(before) == stated_input(layer) and stated_output(layer) == stated_input(after)
    if not fits or not before.called or not after.called or stated_input(layer) is None:
        return None
    return (_last(before), _last(after)) if _calling(owner, _last(before)) is not None else None


def _beside(one: Component, other: Component) -> bool:
    """Whether two components are attributes of one module."""
    return (
        bool(one.attribute) and (one.attribute or "").rpartition(".")[0] == (other.attribute or "").rpartition(".")[0]
    )


def _calling(owner: ast.ClassDef, attribute: str) -> ast.Assign | None:
    """The one statement of `forward` that gives a name the output of the attribute's call."""
    forward = method(owner, "forward")
    found = []
    for node in ast.walk(forward) if forward is not None else ():
        named = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if isinstance(node, ast.Assign) and named and any(_calls(inner, attribute) for inner in ast.walk(node.value)):
            found.append(node)
    return found[0] if len(found) == 1 else None


def _calls(node: ast.AST, attribute: str) -> bool:
    """Whether a node is the call `self.<attribute>(one argument)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or len(node.args) != 1:
        return False
    return node.func.attr == attribute and isinstance(node.func.value, ast.Name) and node.func.value.id == "self"
