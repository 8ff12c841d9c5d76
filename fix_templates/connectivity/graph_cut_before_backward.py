"""`backward` goes back from a value whose graph was cut on the way: nothing before the cut is trained."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Family, Fault, FixPattern, Nature, ReadTemplate, Replace, Source, Subject, graph_flow


class GraphCutBeforeBackward(ReadTemplate):
    """Every way from the network to the loss leads through something that has no gradient.

    `detach()`, `.data`, `item()`, `numpy()` and new tensors (`torch.tensor(out)`, `Variable(loss, requires_grad=True)`) give plain
    numbers; so do comparisons, `argmax` and casts to whole numbers. Under `no_grad` no operation is recorded. `backward` then raises, or, if
    the value was flagged with `requires_grad=True` to silence that, trains nothing. Read from the text alone: where another way to the loss has a graph,
    or may have one in a part that is not seen, nothing is reported.

    Fix safety: unsafe. The weights are trained from now on, which is the point.

    References: torch.Tensor.detach; torch.no_grad; "Locally disabling gradient computation" in "Autograd mechanics" of the torch manual;
    https://discuss.pytorch.org/t/loss-backward-does-not-update/129991.
    """

    code = "DNF480"
    name = "graph-cut-before-backward"
    message = "`{end}.backward()` trains nothing: {how} cuts the graph before it"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    nature = Nature.FAULT
    silent = 5
    default = False
    triggers = ("backward", "manual_backward")
    declined = "what has no gradient cannot be taken out by one edit"
    confidence = 0.85

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks or not {"backward", "manual_backward"} & source.words:
            return
        for each in graph_flow.account(source).passes:
            cut = each.value.cut
            if each.value.flow is not graph_flow.Flow.CUT or cut is None:
                continue
            said = {"end": ast.unparse(each.end), "how": each.value.how}
            kept = _inner(source, cut)
            if kept is None:
                yield Fault(source.site(cut), said, ())
            else:
                edit = Replace(source.site(cut), source.segment(source.site(kept)))
                yield Fault.with_repair(source.site(cut), said, "Keep the graph", edit, confidence=self.confidence)

    programs = """
=== example: a loss that is wrapped anew
import torch
from torch.autograd import Variable

for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(net(x), y)
-     loss = Variable(loss, requires_grad=True)
+     loss = loss
    loss.backward()
    optimizer.step()

=== example: the output without its graph
import torch

def train(model, batches, loss_fn, optimizer):
    for x, y in batches:
        out = model(x)
-         loss = loss_fn(out.detach(), y)
+         loss = loss_fn(out, y)
        loss.requires_grad = True
        loss.backward()
        optimizer.step()

=== example: a copy of the losses
import torch

losses = []
for x, y in batches:
    losses.append(criterion(model(x), y))
- total = torch.tensor(sum(losses), requires_grad=True)
+ total = sum(losses)
total.backward()

=== finds: numbers that a comparison chooses
import torch

for x, y in loader:
    out = net(x)
    decided = torch.tensor([1.0 if each > 0 else 0.0 for each in out], requires_grad=True)
    criterion(decided, y).backward()
    optimizer.step()

=== reject: samples of a generator in the loss of the discriminator
import torch

for real, _ in loader:
    fake = generator(torch.randn(16, 8))
    loss = criterion(discriminator(fake.detach()), zeros) + criterion(discriminator(real), ones)
    loss.backward()
    optimizer.step()

=== reject: a target that has no gradient
import torch

for state, action, reward, following in memory:
    with torch.no_grad():
        wanted = reward + 0.9 * target_net(following).max(1)[0]
    loss = criterion(policy_net(state).gather(1, action), wanted)
    loss.backward()
    optimizer.step()

=== reject: a factor that learns, and is kept by an object
import torch

class Agent:
    def update(self, batch):
        surprise = self.policy(batch).log_prob()
        loss = -(self.log_ent_coef * (surprise + self.wanted).detach()).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

=== reject: an attack on the input
import torch

delta = torch.zeros_like(image, requires_grad=True)
for _ in range(10):
    loss = -criterion(net(image + delta), label)
    loss.backward()
    delta.data = (delta + 0.01 * delta.grad.sign()).clamp(-0.1, 0.1)
    delta.grad.zero_()

=== reject: the value is printed
import torch

for x, y in loader:
    loss = criterion(net(x), y)
    loss.backward()
    value = loss.item()
    print(loss.data)

=== reject: an unseen function may have a graph
import torch

for x, y in loader:
    out = net(x).detach()
    loss = penalty(out, net) + 1
    loss.backward()
"""


def _inner(source: Source, cut: ast.expr | ast.stmt) -> ast.expr | None:
    """What is left where the cut is taken out; `None` where it does more than to cut."""
    if isinstance(cut, ast.Attribute) and cut.attr == "data":
        return cut.value
    if not isinstance(cut, ast.Call):
        return None
    if isinstance(cut.func, ast.Attribute) and cut.func.attr in ("detach", "item") and not source.qualified(cut.func):
        return cut.func.value
    name = source.qualified(cut.func)
    is_copy = name in ("torch.tensor", "torch.autograd.Variable") and len(cut.args) == 1
    if is_copy and not isinstance(cut.args[0], (ast.List, ast.ListComp, ast.Starred)):
        return cut.args[0]
    return None
