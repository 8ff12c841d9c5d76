"""The values of a tensor are changed through `.data`, behind the back of autograd."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from dnnfix.api import (
    Edit,
    Enclose,
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Replace,
    Source,
    Subject,
    Unwrap,
    spell,
    structure,
    through_data,
    training_loop,
)


class ValuesChangedThroughData(ReadTemplate):
    """`weight.data.mul_(2)` and `weight.data = …` change a tensor, and autograd does not learn of it.

    A value that the graph still needs for the backward pass may be changed so, and the gradients are wrong without an error.
    Under `torch.no_grad()` the tensor itself can be changed, and autograd sees to it that no such value is used. The functions
    of `torch.nn.init` do that themselves: they take the parameter. Adjacent changes are reported once.

    Data sets, batches and others that have an attribute of that name are left alone, as are changes of a shape, which `.data` does
    not pass on (shape-changed-through-data).

    Fix safety: unsafe. Autograd may refuse a change that it did not see before.

    References: https://pytorch.org/blog/pytorch-0_4_0-migration-guide/ ("What about .data?"); torch.no_grad.
    """

    code = "DNF471"
    name = "values-changed-through-data"
    message = "`{use}` changes values unseen by autograd: {instead}"
    confidence = 0.9
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.API_CONTRACT
    nature = Nature.RISK
    silent = 12
    default = False
    triggers = ("data",)
    declined = "the change shares its line with other statements"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        uses = through_data.uses(source)
        changing = {use.statement: use for use in reversed(uses) if use.changes}
        done: set[ast.stmt] = set()
        for statement in sorted(changing, key=lambda one: (one.lineno, one.col_offset)):
            if statement in done:
                continue
            group = _group(source, statement, changing)
            done.update(group)
            yield self._fault(subject, group, [use for use in uses if use.statement in group], changing[statement])

    def _fault(
        self,
        subject: Subject,
        group: Sequence[ast.stmt],
        uses: Sequence[through_data.ThroughData],
        first: through_data.ThroughData,
    ) -> Fault:
        source = subject.source
        edits: list[Edit] = []
        for statement in group:
            edits += _dropped(source, statement, [use for use in uses if use.statement is statement])
        ungraded = structure.without_gradients(source, group[0]) or all(use.initializes for use in uses if use.changes)
        title = "Change the tensor itself"
        if not ungraded:
            header, (start, end) = spell(subject, "torch.no_grad"), _whole(source, group)
            edits += [Enclose(source.site(start), source.site(end), f"with {header.code}():"), *header.imports]
            title += " under no_grad"
        instead = "`init` takes the tensor itself" if first.initializes else "`torch.no_grad()` is for that"
        said = {"use": ast.unparse(first.node), "instead": instead}
        return Fault(source.site(first.node), said, ((title, tuple(edits), 0.8),))

    programs = """
=== example: weights updated by hand
import torch

for x, y in loader:
    criterion(net(x), y).backward()
-     for p in net.parameters():
-         p.data.add_(p.grad.data, alpha=-0.1)
+     with torch.no_grad():
+         for p in net.parameters():
+             p.add_(p.grad, alpha=-0.1)

=== example: weights that are set at the start
import torch.nn as nn
+ import torch

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.init_weights()

    def init_weights(self):
-         self.fc.bias.data.fill_(0)
-         self.fc.weight.data.uniform_(-0.1, 0.1)
+         with torch.no_grad():
+             self.fc.bias.fill_(0)
+             self.fc.weight.uniform_(-0.1, 0.1)

=== example: a function of init
from torch import nn

def start(m):
    if isinstance(m, nn.Linear):
-         nn.init.xavier_uniform_(m.weight.data)
+         nn.init.xavier_uniform_(m.weight)

=== example: assigned
import torch

- for target, own in zip(slow.parameters(), fast.parameters()):
-     target.data = 0.99 * target.data + 0.01 * own.data
+ with torch.no_grad():
+     for target, own in zip(slow.parameters(), fast.parameters()):
+         target.copy_(0.99 * target + 0.01 * own)

=== example: a fragment
+ import torch
w = torch.randn(3, 1, requires_grad=True)
loss = (x @ w).sum()
loss.backward()
- w.data -= 0.1 * w.grad
+ with torch.no_grad():
+     w -= 0.1 * w.grad

=== example: a part of a weight
import torch
from torch import nn

table = nn.Embedding(10, 3)
- table.weight.data[0] = 0
+ with torch.no_grad():
+     table.weight[0] = 0

=== example: a copy by any name
import torch

near = start.clone()
- near.data[0, 2] += 1e-3
+ with torch.no_grad():
+     near[0, 2] += 1e-3
slope = (height(near) - height(start)) / 1e-3

=== reject: what else is called data
import torch
from torch.utils.data import DataLoader

class Rows(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.data = torch.zeros(rows)
        self.data[0] = 1
        self.data /= 2

dataset = Rows(3)
dataset.data = dataset.data[:2]
args.data = "folder"
batch.data = None

=== reject: gradients of one's own
class Descent:
    def step(self):
        for p in self.params:
            p.data -= self.rate * p.grad

    def clear(self):
        for p in self.params:
            p.grad = 0

=== reject: another library
from tinygrad.tensor import Tensor

def step(weights):
    for w in weights:
        w.data -= 0.1 * w.grad

=== reject: matrices with few entries
import numpy as np
import scipy.sparse as sparse
import torch

links = sparse.coo_matrix(table)
links.data = np.ones(len(links.data))
rows = links.tocsr()
rows.data *= 2

=== reject: the type of a weight
import torch

layer.weight.data = layer.weight.data.half()

=== reject: under no_grad
import torch

with torch.no_grad():
    for p in net.parameters():
        p.sub_(0.1 * p.grad)

=== reject: a shape
import torch

x = torch.zeros(3)
x.data.unsqueeze_(0)
"""


def _group(source: Source, statement: ast.stmt, changing: dict[ast.stmt, through_data.ThroughData]) -> list[ast.stmt]:
    """A change with the adjacent ones."""
    block = training_loop.block_of(source, statement)
    group = [statement]
    for following in block[block.index(statement) + 1 :]:
        if following not in changing:
            break
        group.append(following)
    return group


def _whole(source: Source, group: Sequence[ast.stmt]) -> tuple[ast.stmt, ast.stmt]:
    """The first and the last statement of a group; a loop that does nothing else as a whole."""
    above = source.parent(group[0])
    if isinstance(above, ast.For) and not above.orelse and above.body == list(group):
        return above, above
    return group[0], group[-1]


def _dropped(source: Source, statement: ast.stmt, uses: Sequence[through_data.ThroughData]) -> Iterator[Edit]:
    """The edits that take `.data` away in a statement; an assignment to it copies the values."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    is_whole = isinstance(target, ast.Attribute) and target in [use.node for use in uses]
    if isinstance(statement, ast.Assign) and isinstance(target, ast.Attribute) and is_whole:
        tensor, value = source.segment(source.site(target.value)), source.segment(source.site(statement.value))
        code = re.sub(r"(?<=[\w)\]])\.data\b(?!\.[A-Z])", "", value)
        yield Replace(source.site(statement), f"{tensor}.copy_({code})")
        return
    for use in uses:
        yield Unwrap(source.site(use.node), source.site(use.node.value))
