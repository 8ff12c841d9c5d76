"""`requires_grad` is set on a computed loss or output: it silences the error about a graph that was cut, and trains nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import Delete, Family, Fault, FixPattern, Nature, ReadTemplate, Replace, Subject, graph_flow


class LossFlagged(ReadTemplate):
    """`loss.requires_grad = True`, `loss.requires_grad_()` or `Variable(loss, requires_grad=True)`, on something that the program computed.

    What was computed from weights requires gradients by itself. Where it does not, its graph was cut before, and the flag makes a new leaf
    of it: `backward` runs, and no weight gets a gradient. Where it does, the line has no effect.

    Fix safety: unsafe. `backward` raises again where the graph was cut, which shows the cut.

    References: torch.Tensor.requires_grad; https://discuss.pytorch.org/t/loss-backward-does-not-update/129991.
    """

    code = "DNF481"
    name = "requires-grad-set-on-loss"
    message = "`{end}` is computed, and `requires_grad` is set on it: this hides a cut graph and trains nothing"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    nature = Nature.RISK
    silent = 5
    default = False
    triggers = ("requires_grad", "requires_grad_")
    confidence = 0.85

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks or not {"requires_grad", "requires_grad_"} & source.words:
            return
        account = graph_flow.account(source)
        ends = {ast.unparse(each.end) for each in account.passes}
        reported = {each.function for each in account.passes if each.value.flow is graph_flow.Flow.CUT}
        for each in account.flagged:
            text = ast.unparse(each.end)
            is_leaf = each.value.flow is graph_flow.Flow.DATA and not re.search("loss", text, re.IGNORECASE)
            if each.function in reported or is_leaf or not (text in ends or graph_flow.OF_OUTPUT.search(text)):
                continue
            if text.endswith((".weight", ".bias")):
                continue  # a parameter, whatever it is a part of
            if f"{text}.grad" in source.text or f"[{text}]" in source.text:
                continue
            statement = source.statement_of(each.end)
            made = source.parent(each.end)
            if isinstance(made, ast.Call) and each.end in made.args:
                if each.value.flow is graph_flow.Flow.GRAPH and graph_flow.is_loss_function(source, each.function):
                    continue  # graph-cut-in-network reports what it gives back
                edit: Delete | Replace = Replace(source.site(made), source.segment(source.site(each.end)))
                yield Fault.with_repair(source.site(made), {"end": text}, "Leave the flag to autograd", edit)
                continue
            node = source.parent(source.parent(each.end) or each.end)
            is_set = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute)
            if is_set or (isinstance(statement, ast.Expr) and statement.value is node):
                edit = Delete(source.site(statement))
            elif isinstance(node, ast.Call):
                edit = Replace(source.site(node), source.segment(source.site(each.end)))
            else:
                continue
            yield Fault.with_repair(source.site(each.end), {"end": text}, "Leave the flag to autograd", edit)

    programs = """
=== example: a loss of a function that is not seen
import torch

for x, y in loader:
    optimizer.zero_grad()
    loss = compute_loss(net, x, y)
-     loss.requires_grad = True
    loss.backward()
    optimizer.step()

=== example: flagged by a method
import torch

for x, y in loader:
    loss = distance(net, x, y)
-     loss.requires_grad_(True)
    loss.backward()
    optimizer.step()

=== example: wrapped, at the end of a function whose losses are not seen
import torch
from torch.autograd import Variable

def objective(net, views):
    loss = 0
    for first, second in views:
        loss += gap(net, first, second)
-     return Variable(loss, requires_grad=True)
+     return loss

=== example: a copy of the numbers
loss = rank_loss(scores, order)
- loss = torch.tensor(loss.item(), requires_grad=True)
+ loss = loss.item()
optimizer.zero_grad()

=== reject: weights of several losses, and the beginning of a sum
import torch

loss_weights = torch.tensor(first_loss_weights, requires_grad=True)
scale = torch.tensor(np.ones(len(losses)), requires_grad=True)
total_loss = torch.tensor(0.0, requires_grad=True)

=== reject: an input whose gradient is asked for
import torch

x.requires_grad = True
loss = criterion(net(x), y)
loss.backward()
saliency = x.grad.abs()

=== reject: weights of the text's own
import torch

w = torch.randn(3, 1)
w.requires_grad_()
loss = (x @ w - y).pow(2).mean()
loss.backward()

=== reject: an output whose gradient is asked for
import torch

output = net(x).detach()
output.requires_grad_()
loss = criterion(output, y)
loss.backward()
print(output.grad)

=== reject: the weights of an output layer
import torch

net.output.weight.requires_grad = old.output.weight.requires_grad

=== reject: frozen layers
import torch

for parameter in model.parameters():
    parameter.requires_grad = False
model.fc.weight.requires_grad = True
"""
