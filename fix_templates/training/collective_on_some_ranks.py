"""A collective operation is reached by some ranks only, and these wait for the others for ever."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Delete,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertBefore,
    Replace,
    ReplaceLines,
    Site,
    Source,
    Subject,
    process_groups,
    trees,
    within,
)

_EMPTY = frozenset({"barrier", "monitored_barrier"})
"""Operations that nothing but wait."""


class CollectiveOnSomeRanks(CrashTemplate):
    """`if rank == 0: dist.barrier()` hangs: every rank of the group has to come to a barrier, a reduction, a broadcast.

    A pass through `DistributedDataParallel` is one of them where the network has buffers, such as those of batch
    normalization, which are sent from rank to rank: what one rank evaluates alone has to be called without the wrapper.

    Reported where a run as two ranks came to a standstill, and of the first operations that the two do not share one is
    under a test of the rank, or an evaluation.

    Fix safety: unsafe. All ranks take part in the operation, or none.

    References: https://docs.pytorch.org/docs/stable/distributed.html#collective-functions.
    """

    code = "DNF742"
    name = "collective-on-some-ranks"
    message = "`{call}` is reached by some ranks only, and these wait for the others for ever"
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({process_groups.HANG})
    confidence = 0.9
    declined = "what the ranks have to do together is not clear"

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        source = subject.source
        for pair in process_groups.parted(subject):
            found = [fault for kind, site in pair if (fault := _fault(source, kind, subject.node(site))) is not None]
            if len(found) == 1:  # each under its own test may be one operation
                yield found[0]
                return

    programs = """
=== example: a barrier before what one rank does
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank = dist.get_rank()
total = torch.ones(1)
dist.all_reduce(total)
+ dist.barrier()
if rank == 0:
-     dist.barrier()
    print(total)

=== example: nothing but the reduction
import torch
import torch.distributed as dist

def report(loss):
    dist.reduce(loss, 0)
-     if dist.get_rank() == 0:
-         dist.all_reduce(loss)
+     dist.all_reduce(loss)
    return loss

dist.init_process_group("gloo")
report(torch.ones(1))

=== example: the others wait for who saves
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
model = torch.nn.Linear(4, 1)
for epoch in range(2):
    total = torch.ones(1)
    dist.all_reduce(total)
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), "model.pt")
-     else:
-         dist.barrier()
+     dist.barrier()

=== example: in the midst of what one rank does
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
for step in range(4):
    total = torch.ones(1)
    dist.all_reduce(total)
    if rank == 0 and step % 2 == 0:
        print(step)
-         dist.barrier()
        print(total)

=== example: one rank evaluates a network with buffers
import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("nccl")
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    model.train()
    for step in range(3):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        optimizer.step()
    if dist.get_rank() == 0:
        model.eval()
        with torch.no_grad():
-             print(model(torch.randn(8, 4)).mean())
+             print(model.module(torch.randn(8, 4)).mean())
    dist.barrier()

=== reject: the others go first, each by its own test
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank != 0:
    dist.barrier()
print("loads")
if rank == 0:
    dist.barrier()

=== reject: all come to it
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 0:
    print("first")
    dist.barrier()
else:
    dist.barrier()
    print("second")

=== reject: one rank tells, and all wait
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
if dist.get_rank() == 0:
    print(total)
dist.barrier()
"""


def _fault(source: Source, kind: str, node: ast.AST | None) -> Fault | None:
    """The fault of a rank that comes to a call of some kind while the other does not."""
    if not isinstance(node, ast.Call) or kind == "forward":
        return None
    if kind == "evaluation":
        repair = "Call the network without its wrapper", _unwrapped(source, node), 0.9
    else:
        branch = process_groups.branch_of_rank(source, node)
        if branch is None:
            return None
        repair = "Have every rank come to it", _moved(source, node, branch), 0.9
        if repair[1] is None and kind in _EMPTY:
            repair = "Have no rank wait there", _taken_away(source, node), 0.8
    return Fault(source.site(node), {"call": ast.unparse(node)}, (repair,))


def _unwrapped(source: Source, call: ast.Call) -> tuple[Edit, ...] | None:
    """The edit that calls the network in a wrapper which the program itself makes."""
    if not list(source.calls(*process_groups.WRAPPERS)) or not isinstance(call.func, (ast.Name, ast.Attribute)):
        return None
    return (Replace(source.site(call.func), f"{ast.unparse(call.func)}.module"),)


def _taken_away(source: Source, call: ast.Call) -> tuple[Edit, ...] | None:
    statement = source.statement_of(call)
    return (Delete(source.site(statement)),) if isinstance(statement, ast.Expr) and statement.value is call else None


def _moved(source: Source, call: ast.Call, branch: ast.If) -> tuple[Edit, ...] | None:
    """The edits that put the statement of a call out of the branch of a test that it begins, or that is nothing else."""
    statement = source.statement_of(call)
    if statement not in (*branch.body, *branch.orelse):
        return None
    others = [each for each in (*branch.body, *branch.orelse) if each is not statement]
    names = {each.id for each in within(statement, ast.Name)}
    if any(names & trees.stored_names(each) for each in others):
        return None
    lines = source.places.lines
    place, around = source.site(statement), source.site(branch)
    code = textwrap.dedent("\n".join(lines[place.line - 1 : place.end_line]))
    head = lines[branch.lineno - 1]
    if not head.lstrip().startswith("if "):
        return None
    if not others or branch.orelse == [statement]:
        kept = branch.body[-1].end_lineno if others else branch.lineno - 1
        if kept is None or (others and lines[kept].strip() != "else:"):
            return None
        whole = Site(kept + 1, 1, place.end_line, len(lines[place.end_line - 1]) + 1)
        return (ReplaceLines(whole, textwrap.indent(code, head[: len(head) - len(head.lstrip())])),)
    if statement is branch.body[0]:
        return Delete(place), InsertBefore(around, code)
    return None
