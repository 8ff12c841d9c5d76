"""All ranks write the same file."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Enclose, Family, Fault, FixPattern, ReadTemplate, Subject, process_groups

_SHARDED = frozenset({"FSDP", "FullyShardedDataParallel", "fully_shard", "DTensor", "deepspeed", "state_dict_type"})
"""Words of programs in which every rank has a part of what is saved."""


class FileSavedByEveryRank(ReadTemplate):
    """`torch.save(model.state_dict(), "model.pt")` on every rank: they write one file at the same time, and may spoil it.

    All ranks hold the same parameters, so that one of them has to save.

    Reported where a run as two ranks saw both write to the same place. Programs that load what they saved are told of it
    only: the other ranks may have to wait for the file.

    Fix safety: unsafe. The other ranks do not write any more.

    References: https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints.
    """

    code = "DNF744"
    name = "file-saved-by-every-rank"
    message = "every rank writes the file of `{call}`"
    declined = "the program loads the file again, for which other ranks may have to wait"
    confidence = 0.85
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    needs_run = True

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if not _SHARDED.isdisjoint(subject.words):
            return
        loads = any((source.qualified(call.func) or "") == "torch.load" for call in source.all_calls)
        for saved in process_groups.shown(subject).get("saved_by_all", ()):
            site = process_groups.as_site(saved.get("site"))
            node = subject.node(site)
            if site is None or not isinstance(node, ast.Call):
                continue
            statement, rank = source.statement_of(node), process_groups.rank_at(source, node)
            alone = isinstance(statement, ast.Expr) and statement.value is node
            place = source.site(statement)
            edits = (Enclose(place, place, f"if {rank} == 0:"),) if rank and alone and not loads else None
            words = {"call": ast.unparse(node)}
            yield Fault(site, words, (("Save on one rank", edits, 0.9),))

    programs = """
=== example: at the end
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def main():
    dist.init_process_group("nccl")
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(3):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        optimizer.step()
-     torch.save(model.module.state_dict(), "model.pt")
+     if dist.get_rank() == 0:
+         torch.save(model.module.state_dict(), "model.pt")

main()

=== reject: a file for each rank
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
torch.save(torch.randn(3), f"part-{dist.get_rank()}.pt")

=== reject: one rank saves
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
model = torch.nn.Linear(4, 1)
if dist.get_rank() == 0:
    torch.save(model.state_dict(), "model.pt")
dist.barrier()
"""
