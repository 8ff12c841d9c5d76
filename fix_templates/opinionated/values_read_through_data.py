"""The values of a tensor are read through `.data`, where `detach()` belongs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Family, Fault, FixPattern, Nature, ReadTemplate, Replace, Source, Subject, through_data

WRAPPER = "torch.autograd.Variable"


class ValuesReadThroughData(ReadTemplate):
    """`output.data` gives the values without their graph, and so does `output.detach()`, which autograd watches.

    Where what was read is changed in place later, autograd raises for `detach()` and computes wrong gradients for `.data`. Reported
    once for each statement.

    Data sets, batches and others that have an attribute of that name are left alone.

    Fix safety: safe as long as nothing changes the values in place.

    References: https://pytorch.org/blog/pytorch-0_4_0-migration-guide/ ("What about .data?"); torch.Tensor.detach.
    """

    code = "DNF911"
    name = "values-read-through-data"
    message = "`{use}` gives values unwatched by autograd: `detach()` is for that"
    confidence = 0.8
    family = Family.OPINIONATED
    fix_pattern = FixPattern.API_CONTRACT
    nature = Nature.ADVICE
    silent = 12
    default = False
    triggers = ("data",)

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        uses = through_data.uses(source)
        changed = {use.statement for use in uses if use.changes}
        found: dict[ast.stmt, list[through_data.ThroughData]] = {}
        for use in uses:
            if use.statement not in changed and not _is_wrapped(source, use.node):
                found.setdefault(use.statement, []).append(use)
        for several in found.values():
            edits = tuple(Replace(source.site(use.node), _detached(source, use.node)) for use in several)
            said = {"use": ast.unparse(several[0].node)}
            yield Fault.with_repair(source.site(several[0].node), said, "Detach the tensor", *edits, prior=0.8)

    programs = """
=== example: the likeliest classes
import torch

for x, y in loader:
    outputs = net(x)
-     _, predicted = torch.max(outputs.data, 1)
+     _, predicted = torch.max(outputs.detach(), 1)

=== example: a gradient and an array
import torch

loss = criterion(net(x), y)
loss.backward()
- print(net.fc.weight.grad.data.norm(), loss.data.cpu().numpy())
+ print(net.fc.weight.grad.norm(), loss.detach().cpu().numpy())

=== example: a fragment
for p in model.parameters():
-     before.append(p.data.clone())
+     before.append(p.detach().clone())

=== example: an expression, and what takes its own place
import torch

a = mean + spread * torch.randn(3)
- a = a.data
+ a = a.detach()

=== example: a difference
import torch

- code = x + (nearest - x).data
+ code = x + (nearest - x).detach()

=== example: what a distribution gives
import torch

- old = policy(state).log_prob(action).data
+ old = policy(state).log_prob(action).detach()

=== reject: what else is called data
import torch
from torch.utils.data import DataLoader
from torch.nn.utils.rnn import pack_padded_sequence
from sklearn.datasets import load_iris

x = torch.tensor(load_iris().data)
iris = load_iris()
rows = iris.data[:3].shape
loader = DataLoader(torch.utils.data.TensorDataset(x))
packed = pack_padded_sequence(x, [3])
print(packed.data, args.data, batch.data.to("cuda"), self.data[0], response.data.decode())

=== reject: detached
import torch

_, predicted = torch.max(net(x).detach(), 1)
"""


def _is_wrapped(source: Source, node: ast.Attribute) -> bool:
    """Whether a `Variable` is made of it, which a rule of its own reports."""
    above = source.parent(node)
    return isinstance(above, ast.Call) and source.qualified(above.func) == WRAPPER


def _detached(source: Source, node: ast.Attribute) -> str:
    """The tensor without its graph; a gradient has none."""
    of = source.segment(source.site(node.value))
    if isinstance(node.value, (ast.BinOp, ast.UnaryOp, ast.Compare)):
        of = f"({of})"
    return of if of.endswith(".grad") else f"{of}.detach()"
