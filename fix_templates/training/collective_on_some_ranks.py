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
    ReplaceLines,
    Source,
    Subject,
    process_groups,
    trees,
    within,
)


class CollectiveOnSomeRanks(CrashTemplate):
    """`if rank == 0: dist.barrier()` hangs: every rank of the group has to come to a barrier, a reduction, a broadcast.

    Reported where a run as two ranks came to a standstill, and the first operation that the two do not share is under a
    test of the rank.

    Fix safety: unsafe. All ranks take part in the operation.

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
        for came in process_groups.shown(subject).get("parted") or ():
            site = process_groups.as_site(came[1]) if came else None
            node = subject.node(site)
            if came is None or not isinstance(node, ast.Call):
                continue
            branch = process_groups.branch_of_rank(source, node)
            if came[0] != "forward" and branch is not None:
                edits = _moved(source, node, branch)
                repair = "Have every rank come to it", edits, 0.9
                yield Fault(source.site(node), {"call": ast.unparse(node)}, (repair,))

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


def _moved(source: Source, call: ast.Call, branch: ast.If) -> tuple[Edit, ...] | None:
    """The edits that put the statement of a call before the branch that it begins, or in place of one that is nothing else."""
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
    if statement is branch.body[0]:
        return Delete(place), InsertBefore(around, code)
    return None
