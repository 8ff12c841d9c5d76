"""A model is trained by the loss, and no optimizer holds its parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Component,
    Decline,
    Delete,
    Edit,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    InsertAfter,
    Network,
    Parameter,
    Reject,
    Replace,
    Subject,
    Symptom,
    argument_value,
    held_by,
    words,
)

LOADED = words(
    "load_state_dict deepcopy pretrained from_pretrained hub requires_grad requires_grad_ eval IMAGENET1K_V1 load"
)
"""Words of a program that may leave one of its models as it is on purpose."""


class ParametersNotInOptimizer(FixTemplate):
    """The loss gives a model gradients, and the optimizer holds the parameters of another model, or of only one of two.

    An optimizer changes what it was given when it was made. A model that is made afterwards, made twice, or forgotten in
    the list stays as it was initialized, whatever its gradients are.

    Reported where the loss trains a whole model that no optimizer holds: all models, or, in a program that neither loads
    nor freezes nor copies weights, one of several. A backbone whose head alone is trained is left alone.

    Fix safety: unsafe. The model is trained from now on, which is the point.

    References: torch.optim ("Constructing it").
    """

    code = "DNF404"
    name = "parameters-not-in-optimizer"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.OPTIMIZER
    message = "{model} receives gradients, but no optimizer holds its {count} parameters"
    triggers = ("optim",)
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        if subject.trace is None or not subject.trace.steps:
            return
        network = subject.network
        optimizers = [c for c in network.components if c.kind == "optimizer" and c.name.startswith("torch.") and c.site]
        trained = [(root, own) for root, own in _roots(network) if any(p.gradient for p in own)]
        if not optimizers or not trained or _moves_data(network):
            return
        orphans = [(root, own) for root, own in trained if all(p.optimized is False for p in own)]
        every = len(orphans) == len(trained)
        if not every and (not LOADED.isdisjoint(subject.source.words) or len(orphans) > 1):
            return
        for root, own in orphans:
            optimizer = _meant(network, optimizers, every)
            if optimizer is None or optimizer.site is None or root.site is None:
                continue
            yield self.finding(
                optimizer.site,
                symptom=Symptom.NOT_LEARNING if every else Symptom.VIOLATION,
                confidence=0.9,
                evidence={"line": root.site.line, "replaces": every, "parameters": tuple(p.name for p in own[:20])},
                model=root.name.rpartition(".")[2],
                count=len(own),
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        line = finding.evidence["line"]
        made = (root for root, _ in _roots(subject.network) if root.site is not None and root.site.line == line)
        root = next(made, None)
        call = subject.node(finding.site)
        name = held_by(subject.source, root.site) if root is not None and root.site is not None else None
        if not isinstance(call, ast.Call) or name is None or root is None:
            yield Decline("the model has no name where the optimizer is made")
            return
        edits = (
            _given(subject, call, name, bool(finding.evidence["replaces"])) if _visible(subject, call, name) else None
        )
        if edits is None:
            yield Decline(f"`{ast.unparse(name)}` is not known where the optimizer is made")
            return
        yield self.candidate(finding, f"Give the optimizer the parameters of `{ast.unparse(name)}`", *edits, prior=0.9)

    examples = (
        Example(
            "the optimizer of another model",
            """\
import torch
from torch import nn

first = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
second = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
- optimizer = torch.optim.SGD(first.parameters(), lr=0.1)
+ optimizer = torch.optim.SGD(second.parameters(), lr=0.1)
for _ in range(3):
    loss = nn.functional.mse_loss(second(torch.randn(16, 4)), torch.randn(16, 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            runs=True,
        ),
        Example(
            "an encoder that is forgotten",
            """\
import torch
import torch.nn as nn
import torch.optim as optim

encoder = nn.GRU(4, 8, batch_first=True)
decoder = nn.Linear(8, 1)
criterion = nn.MSELoss()
- opt = optim.Adam(decoder.parameters(), lr=0.01)
+ opt = optim.Adam(list(decoder.parameters()) + list(encoder.parameters()), lr=0.01)
for _ in range(3):
    code, _state = encoder(torch.randn(16, 5, 4))
    loss = criterion(decoder(code[:, -1]), torch.randn(16, 1))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
            runs=True,
        ),
        Example(
            "a model made anew after the optimizer",
            """\
import torch
from torch import nn

def build():
    return nn.Linear(4, 2)

model = build()
+ model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
- model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
loss_fn = nn.CrossEntropyLoss()
for _ in range(3):
    optimizer.zero_grad()
    loss_fn(model(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
    optimizer.step()
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "only the head is trained",
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))

net = Net()
optimizer = torch.optim.SGD(net.head.parameters(), lr=0.1)
for _ in range(3):
    loss = nn.functional.mse_loss(net(torch.randn(16, 4)), torch.randn(16, 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            runs=True,
        ),
        Reject(
            "an input is optimized, not the network",
            """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
image = torch.zeros(1, 4, requires_grad=True)
optimizer = torch.optim.Adam([image], lr=0.1)
for _ in range(3):
    loss = (net(image) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            runs=True,
        ),
        Reject(
            "two models with an optimizer each",
            """\
import torch
from torch import nn

G, D = nn.Linear(2, 4), nn.Linear(4, 1)
first, second = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
for _ in range(3):
    first.zero_grad()
    (D(G(torch.randn(8, 2))) ** 2).mean().backward()
    first.step()
    second.zero_grad()
    (D(torch.randn(8, 4)) ** 2).mean().backward()
    second.step()
""",
            runs=True,
        ),
    )


def _roots(network: Network) -> Iterator[tuple[Component, list[Parameter]]]:
    """The models that the program calls as wholes, with all of their parameters that may train."""
    inner = {child for component in network.components for child in component.children}
    for component in network.components:
        if component.id in inner or component.kind not in ("layer", "model") or not component.called:
            continue
        under = _under(network, component)
        own = [p for p in network.parameters if p.component in under and p.trainable]
        if own:
            yield component, own


def _under(network: Network, component: Component) -> set[int]:
    found: set[int] = set()
    waiting = [component.id]
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            part = network.component(number)
            waiting.extend(part.children if part is not None else ())
    return found


def _moves_data(network: Network) -> bool:
    """Whether an optimizer changes tensors of no model, such as an image, along gradients through the network."""
    return any(p.component is None and p.optimized is not False and p.gradient is not None for p in network.parameters)


def _meant(network: Network, optimizers: list[Component], every: bool) -> Component | None:
    """The optimizer that should hold the model: the only one there is, among those whose parameters are idle first."""
    named = {parameter.name: parameter for parameter in network.parameters}
    idle = [
        optimizer
        for optimizer in optimizers
        if all(not (p.gradient if (p := named.get(name)) is not None else None) for name in optimizer.parameters)
    ]
    chosen = idle if every else optimizers
    return chosen[0] if len({optimizer.site for optimizer in chosen}) == 1 else None


def _visible(subject: Subject, call: ast.Call, name: ast.expr) -> bool:
    """Whether the name means the same where the optimizer is made."""
    source = subject.source
    own = source.enclosing(name, ast.FunctionDef)
    other = source.enclosing(call, ast.FunctionDef)
    if isinstance(name, ast.Attribute):
        return source.enclosing(name, ast.ClassDef) is source.enclosing(call, ast.ClassDef)
    return own is None or own is other


def _given(subject: Subject, call: ast.Call, name: ast.expr, replaces: bool) -> tuple[Edit, ...] | None:
    source = subject.source
    given = argument_value(call, "params", 0)
    if given is None or isinstance(given, ast.Starred):
        return None
    wanted = f"{ast.unparse(name)}.parameters()"
    made, holder = source.statement_of(name), source.statement_of(call)
    if made.lineno > holder.lineno and source.enclosing(name, ast.FunctionDef) is source.enclosing(
        call, ast.FunctionDef
    ):
        moved = source.segment(source.site(holder))
        text = source.segment(source.site(given))
        if not replaces or not isinstance(holder, ast.Assign) or source.parent(made) is not source.parent(holder):
            return None
        return (Delete(source.site(holder)), InsertAfter(source.site(made), moved.replace(text, wanted, 1)))
    if replaces:
        return (Replace(source.site(given), wanted),) if ast.unparse(given) != wanted else None
    text = source.segment(source.site(given))
    if isinstance(given, ast.BinOp):
        return (Replace(source.site(given), f"{text} + list({wanted})"),)
    if isinstance(given, ast.List):
        return None
    return (Replace(source.site(given), f"list({text}) + list({wanted})"),)
