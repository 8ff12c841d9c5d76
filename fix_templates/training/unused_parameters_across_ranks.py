"""`DistributedDataParallel` waits for gradients of parameters that take no part in the loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Family,
    Fault,
    FixPattern,
    SetArgument,
    Subject,
    keyword_value,
    process_groups,
)


class UnusedParametersAcrossRanks(CrashTemplate):
    """`DistributedDataParallel` averages a gradient for each parameter, and waits for those that a pass does not compute.

    A model whose branches are taken now and then, or that has layers without use, has to be wrapped with
    `find_unused_parameters=True`; what is never used had better be removed.

    Reported where the run as two ranks ended with the error that says so.

    Fix safety: unsafe. Each backward pass looks for unused parameters, which takes time.

    References: torch.nn.parallel.DistributedDataParallel.
    """

    code = "DNF743"
    name = "unused-parameters-across-ranks"
    message = "`{wrapper}` waits for the gradients of parameters that take no part in the loss"
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"RuntimeError"})
    confidence = 0.9

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        source = subject.source
        if "Expected to have finished reduction in the prior iteration" not in crash.message:
            return
        wrapped = list(source.calls(*process_groups.WRAPPERS))
        if len(wrapped) != 1 or keyword_value(wrapped[0], "find_unused_parameters") is not None:
            return
        site = source.site(wrapped[0])
        repair = "Look for unused parameters", (SetArgument(site, "find_unused_parameters", "True"),), 0.9
        yield Fault(site, {"wrapper": ast.unparse(wrapped[0].func)}, (repair,))

    programs = """
=== example: a head without use
import torch
import torch.distributed as dist
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 1)
        self.other = nn.Linear(4, 1)

    def forward(self, x):
        return self.body(x)

dist.init_process_group("nccl")
- model = nn.parallel.DistributedDataParallel(Net())
+ model = nn.parallel.DistributedDataParallel(Net(), find_unused_parameters=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(5):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()

=== reject: all are used
import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
model = nn.parallel.DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(5):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()

=== reject: it looks for them
import torch
import torch.distributed as dist
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 1)
        self.other = nn.Linear(4, 1)

    def forward(self, x):
        return self.body(x)

dist.init_process_group("gloo")
model = nn.parallel.DistributedDataParallel(Net(), find_unused_parameters=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(5):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
"""
