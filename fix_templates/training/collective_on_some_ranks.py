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
    InsertAfter,
    InsertBefore,
    Replace,
    ReplaceLines,
    Source,
    Subject,
    function_around,
    process_groups,
    trees,
    within,
)


class CollectiveOnSomeRanks(CrashTemplate):
    """`if rank == 0: dist.barrier()` hangs: every rank of the group has to come to a barrier, a reduction, a broadcast.

    The same holds for a call of a model in `DistributedDataParallel`, which synchronizes: where one rank evaluates alone, it
    has to call `model.module`.

    Reported where a run as two ranks came to a standstill, and the first operation that the two do not share is under a
    test of the rank.

    Fix safety: unsafe. All ranks take part in the operation, or one calls the model without the others.

    References: https://docs.pytorch.org/docs/stable/distributed.html#collective-functions;
    torch.nn.parallel.DistributedDataParallel.
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
        for came in process_groups.shown(subject).get("parted") or ():
            site = process_groups.as_site(came[1]) if came else None
            node = subject.node(site)
            if came is None or not isinstance(node, ast.Call):
                continue
            branch = process_groups.branch_of_rank(source, node)
            if came[0] == "forward":
                for at, edit in _alone(source, node):
                    repair = "Call the model itself, which does not wait for other ranks", (edit,), 0.9
                    yield Fault(source.site(at), {"call": ast.unparse(at)}, (repair,))
            elif branch is not None:
                edits = _moved(source, node, branch)
                repair = "Have every rank come to it", edits, 0.9
                yield Fault(source.site(node), {"call": ast.unparse(node)}, (repair,))

    programs = """
=== example: a barrier behind what one rank does
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank = dist.get_rank()
total = torch.ones(1)
dist.all_reduce(total)
if rank == 0:
    print(total)
-     dist.barrier()
+ dist.barrier()

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

=== example: one rank evaluates
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
model = DDP(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
    if rank == 0:
        with torch.no_grad():
-             print(model(torch.randn(8, 4)).mean())
+             print(model.module(torch.randn(8, 4)).mean())

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
"""


def _moved(source: Source, call: ast.Call, branch: ast.If) -> tuple[Edit, ...] | None:
    """The edits that put the statement of a call before or behind the branch, where it begins or ends it."""
    statement = source.statement_of(call)
    if statement not in branch.body:
        return None
    others = [each for each in branch.body if each is not statement]
    names = {each.id for each in within(statement, ast.Name)}
    if any(names & trees.stored_names(each) for each in others):
        return None
    lines = source.places.lines
    place, around = source.site(statement), source.site(branch)
    code = textwrap.dedent("\n".join(lines[place.line - 1 : place.end_line]))
    head = lines[branch.lineno - 1]
    if not head.lstrip().startswith("if "):
        return None
    if not others:
        return (ReplaceLines(around, textwrap.indent(code, head[: len(head) - len(head.lstrip())])),)
    if statement is branch.body[-1]:
        return Delete(place), InsertAfter(around, code)
    if statement is branch.body[0]:
        return Delete(place), InsertBefore(around, code)
    return None


def _alone(source: Source, forward: ast.Call) -> Iterator[tuple[ast.Call, Edit]]:
    """The calls under a test of the rank that hand the wrapped model to where it is called, with the model itself instead."""
    if process_groups.branch_of_rank(source, forward) is not None:
        if isinstance(forward.func, (ast.Name, ast.Attribute)) and _is_wrapped(source, forward.func):
            yield forward, Replace(source.site(forward.func), f"{ast.unparse(forward.func)}.module")
        return
    function = function_around(source, forward)
    for call in source.all_calls if function is not None else ():
        if source.definition(call.func) is function and process_groups.branch_of_rank(source, call) is not None:
            given = [each for each in call.args if isinstance(each, ast.Name) and _is_wrapped(source, each)]
            if len(given) == 1:
                yield call, Replace(source.site(given[0]), f"{given[0].id}.module")


def _is_wrapped(source: Source, model: ast.expr) -> bool:
    made = source.constructor(model)
    return made is not None and source.qualified(made.func) in process_groups.WRAPPERS
