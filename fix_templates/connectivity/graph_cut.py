"""The graph is cut between the weights and the loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Call,
    Candidate,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    Subject,
    Symptom,
    flags_on_losses,
    loss_ends,
    taken_out,
    upstream,
    words,
)

CUTS = words(
    "torch.Tensor.data torch.Tensor.detach torch.Tensor.item torch.Tensor.numpy torch.Tensor.tolist torch.tensor"
)
"""Calls whose result no gradient flows back through; `torch.tensor` of a tensor is a detached copy of it."""

WRAPS = words("torch.tensor torch.as_tensor torch.from_numpy torch.autograd.Variable torch.FloatTensor torch.Tensor")
"""Calls that make a tensor that begins a graph of its own."""

MARKS = words("torch.Tensor.requires_grad_")


class GraphCut(FixTemplate):
    """Between weights that should be trained and the loss stands `detach()`, `.data`, `item()`, `numpy()` or a new tensor.

    Gradients flow back along the operations that made a value. These calls give the bare numbers, without the way back:
    nothing before them is trained. `loss.backward()` then raises, or, where the loss was wrapped once more with
    `requires_grad=True` to silence that, runs without effect.

    Reported only where weights that an optimizer holds received no gradient at all and the only way from them to the loss
    leads through the cut. Detached targets, generated samples and hidden states are left alone.

    Fix safety: unsafe. The weights are trained from now on, which is the point.

    References: torch.Tensor.detach; "Autograd mechanics" of the torch manual.
    """

    code = "DNF405"
    name = "graph-cut"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "`{cut}` cuts the way back from the loss: {starved} weights before it receive no gradient"
    triggers = ("backward",)
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        number = _number_sent_back(subject)
        if number is not None:
            yield self.finding(
                subject.source.site(number),
                symptom=Symptom.CRASH,
                cause="crash",
                confidence=0.95,
                cut=f"{number.func.attr}()" if isinstance(number.func, ast.Attribute) else "",
                starved="all",
            )
            return
        found = _cut_way(subject)
        if found is None:
            return
        cut, way = found
        crashed = subject.crash is not None
        fed = any(parameter.gradient is not None for parameter in subject.network.parameters)
        if cut.site is not None and not (fed and _on_purpose(subject, cut, way)):
            yield self.finding(
                cut.site,
                symptom=Symptom.CRASH if crashed else Symptom.VIOLATION if fed else Symptom.NO_GRADIENT,
                confidence=0.95,
                cause="crash" if crashed else "",
                evidence={"cuts": tuple(_short(each) for each in way if each.name in CUTS | WRAPS)},
                cut=_short(cut),
                starved="all" if not fed else "the",
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        if "cuts" not in finding.evidence:
            edits = taken_out(subject, [finding.site])
            if edits is not None:
                yield self.candidate(finding, "Keep the loss as a tensor", *edits, prior=0.9)
            return
        found = _cut_way(subject)
        way = found[1] if found is not None else []
        edits = taken_out(subject, [call.site for call in way if call.name in CUTS | WRAPS | MARKS])
        if edits is None:
            yield Decline("the cut cannot be taken out at one place")
            return
        yield self.candidate(finding, "Let the gradient through", *edits, *flags_on_losses(subject), prior=0.9)

    examples = (
        Example(
            "the output detached, the loss wrapped",
            """\
import torch
from torch import nn
from torch.autograd import Variable

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(16, 4), torch.randn(16, 1)
for _ in range(3):
-     out = net(x).detach()
+     out = net(x)
    loss = nn.functional.mse_loss(out, y)
-     loss = Variable(loss, requires_grad=True)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            runs=True,
        ),
        Example(
            "through an array and back",
            """\
import torch
import torch.nn as nn

net = nn.Linear(4, 1)
optimizer = torch.optim.Adam(net.parameters())
criterion = nn.MSELoss()
x, y = torch.randn(16, 4), torch.randn(16, 1)
- output = torch.tensor(net(x).data.numpy())  # as an array
+ output = net(x)  # as an array
loss = criterion(output, y)
loss.backward()
optimizer.step()
""",
            runs=True,
        ),
        Example(
            "an encoder behind .data, and a flag set on the loss",
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
-         code = torch.relu(self.encoder(x)).data
-         return self.head(code).detach()
+         code = torch.relu(self.encoder(x))
+         return self.head(code)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    loss = nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 3, (8,)))
-     loss.requires_grad = True
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            runs=True,
        ),
        Example(
            "a copy of the code, and losses joined by their numbers",
            """\
import torch
from torch import nn

class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.heads = nn.ModuleList([nn.Linear(8, 1), nn.Linear(8, 1)])

    def forward(self, x):
-         code = torch.tensor(torch.relu(self.body(x)))
+         code = torch.relu(self.body(x))
        return [head(code) for head in self.heads]

model = Pair()
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(16, 4), torch.randn(2, 16, 1)
for _ in range(3):
    losses = [nn.functional.mse_loss(out, goal) for out, goal in zip(model(x), y)]
-     loss = torch.tensor(losses, requires_grad=True).sum()
+     loss = torch.stack(losses).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            runs=True,
        ),
        Example(
            "a number that has no backward",
            """\
import torch
from torch import nn

net = nn.Linear(4, 2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
-     loss = criterion(net(torch.randn(8, 4)), torch.randint(0, 2, (8,))).item()
+     loss = criterion(net(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
    loss.backward()
    optimizer.step()
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a copy of what is aimed at, by a network whose weights the optimizer holds too",
            """\
import torch
from torch import nn

class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.online, self.target = nn.Linear(4, 2), nn.Linear(4, 2)

agent = Agent()
optimizer = torch.optim.Adam(agent.parameters())
for _ in range(3):
    state, after, reward = torch.randn(16, 4), torch.randn(16, 4), torch.randn(16)
    goal = torch.tensor(agent.target(after).max(1)[0]) * 0.9 + reward
    loss = nn.functional.mse_loss(agent.online(state).max(1)[0], goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(torch.tensor([loss.item()]))
""",
            runs=True,
        ),
        Reject(
            "a body that is left as it is",
            """\
import torch
from torch import nn

body, head = nn.Linear(4, 8), nn.Linear(8, 3)
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
for _ in range(2):
    scores = head(torch.relu(body(torch.randn(8, 4))).detach())
    loss = nn.functional.cross_entropy(scores, torch.randint(0, 3, (8,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            runs=True,
        ),
        Reject(
            "generated samples are detached for the discriminator",
            """\
import torch
from torch import nn

G, D = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
g_step, d_step = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
bce, ones, zeros = nn.BCELoss(), torch.ones(8, 1), torch.zeros(8, 1)
for _ in range(3):
    fake = G(torch.randn(8, 2))
    d_loss = bce(D(torch.randn(8, 4)), ones) + bce(D(fake.detach()), zeros)
    d_step.zero_grad()
    d_loss.backward()
    d_step.step()
    g_loss = bce(D(fake), ones)
    g_step.zero_grad()
    g_loss.backward()
    g_step.step()
    print(d_loss.item(), g_loss.item())
""",
            runs=True,
        ),
        Reject(
            "a hidden state and a target without gradient",
            """\
import torch
from torch import nn

rnn, head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
h = None
for _ in range(3):
    out, h = rnn(torch.randn(4, 5, 3), h)
    h = h.detach()
    value = head(out[:, -1])
    target = value.detach() * 0.9 + 1.0
    loss = ((value - target) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            runs=True,
        ),
    )


def _number_sent_back(subject: Subject) -> ast.Call | None:
    """The call that made a number of a loss, where the program crashed because it has no `backward`."""
    crash = subject.crash
    node = subject.node(crash.site) if crash is not None and crash.kind == "AttributeError" else None
    function = node.func if isinstance(node, ast.Call) else node
    if not isinstance(function, ast.Attribute) or function.attr != "backward":
        return None
    values = subject.source.bindings(function.value, function)
    value = values[0] if len(values) == 1 else None
    numbers = ("item", "numpy", "tolist")
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in numbers:
        return value
    return None


def _cut_way(subject: Subject) -> tuple[Call, list[Call]] | None:
    """The first cut on the way from weights without gradient to a loss, and that way."""
    starved = _starved(subject)
    for end in loss_ends(subject) if starved else ():
        way = _way(subject, end, starved)
        cut = next((call for call in way if call.name in CUTS and _cuts(call)), None)
        if cut is not None and subject.node(cut.site) is not None:
            return cut, way
    return None


def _starved(subject: Subject) -> frozenset[int]:
    """The components whose weights should train and received no gradient, by id."""
    if subject.trace is None:
        return frozenset()
    call = subject.crash.call if subject.crash is not None else None
    in_backward = call is not None and call.name == "torch.Tensor.backward"
    if in_backward and call is not None and (not call.inputs or call.inputs[0].requires_grad is not False):
        return frozenset()
    if not in_backward and (subject.crash is not None or not subject.trace.steps):
        return frozenset()
    return frozenset(
        parameter.component
        for parameter in subject.network.parameters
        if parameter.component is not None
        and parameter.trainable
        and parameter.gradient is None
        and not parameter.update
        and (in_backward or parameter.optimized)
    )


def _way(subject: Subject, end: Call, starved: frozenset[int]) -> list[Call]:
    """The calls between weights without gradient and the end, where every way from the weights is cut."""
    behind = upstream(subject.network, end)
    known = sorted(behind.values(), key=lambda call: call.id if call is not end else 1 << 60)
    touched: set[int] = set()
    for call in known:
        if call.component in starved or any(value.producer in touched for value in call.inputs):
            touched.add(call.id)
    return [call for call in known if call.id in touched]


def _on_purpose(subject: Subject, cut: Call, way: list[Call]) -> bool:
    """Whether a program that trains other weights may want the cut: what is aimed at, a teacher, a frozen part.

    Without `detach()`, whose only use is to cut, a way that goes on through weights that are trained was meant whole.
    """
    if cut.name == "torch.Tensor.detach" and not any(flags_on_losses(subject)):
        return True
    trained = {p.component for p in subject.network.parameters if p.gradient is not None and p.component is not None}
    return not any(call.id > cut.id and call.component in trained for call in way)


def _cuts(call: Call) -> bool:
    return bool(call.inputs) and call.inputs[0].requires_grad is True


def _short(call: Call) -> str:
    name = call.name.rpartition(".")[2]
    return ".data" if name == "data" else f"{name}()"
