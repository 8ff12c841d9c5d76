"""Programs that join a process group run as two ranks, which meet, end together, and tell where one waits in vain."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from textwrap import dedent

import pytest

import dnnfix
from dnnfix.records import Json, RunOutcome, Trace
from dnnfix.run.job import Budget, Job, Tier
from dnnfix.run.probe.program import ranks
from dnnfix.run.runner import Runner
from dnnfix.run.sandbox import probe_tiers
from tests.run.conftest import PYTHON

Ranked = Callable[..., Trace]

HEAD = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
"""
TRAINED = """
torch.manual_seed(0)
x = torch.randn({rows}, 4)
data = TensorDataset(x, x.sum(1, keepdim=True))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=8, sampler=sampler)
model = DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    sampler.set_epoch(epoch)
    done = torch.zeros(1)
    for a, b in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(a), b).backward()
        optimizer.step()
        done += 1
        {after}
    dist.all_reduce(done)
    print(epoch, int(done), flush=True)
"""


@pytest.fixture(scope="module")
def ranked() -> Iterator[Ranked]:
    """Run a program's text in the tier in which two ranks can meet."""
    why = probe_tiers(PYTHON)[Tier.BUBBLEWRAP]
    if why is not None:
        pytest.skip(f"bubblewrap does not work here: {why}")
    with Runner(PYTHON, tier=Tier.BUBBLEWRAP, framework="torch") as runner:

        def run(text: str, arguments: tuple[str, ...] = (), **budget: float) -> Trace:
            allowed = Budget(**{"seconds": 60.0, **budget})  # type: ignore[arg-type]
            return runner.run(Job("program.py", text.encode(), budget=allowed, arguments=arguments))

        yield run


def shown(trace: Trace) -> dict[str, Json]:
    found = trace.probes["ranks"]
    assert isinstance(found, dict)
    return found


def test_two_ranks_meet_and_each_has_its_part_of_the_data(ranked: Ranked) -> None:
    joined = 'dist.init_process_group("nccl")\n'
    trace = ranked(HEAD + joined + TRAINED.format(rows=64, after="pass"), steps=100)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed == "0 8\n1 8\n2 8\n"  # 64 rows in batches of 8, which the two ranks count together
    assert shown(trace)["same_batches"] is False
    assert shown(trace)["differ_after_step"] is None
    assert len(trace.steps) == 12  # those of rank 0


def test_who_is_not_told_the_rank_is_told_it_as_by_a_launcher(ranked: Ranked) -> None:
    text = """
        import argparse, os
        import torch
        import torch.distributed as dist
        parser = argparse.ArgumentParser()
        parser.add_argument("--local_rank", type=int, default=-1)
        args = parser.parse_args()
        dist.init_process_group("nccl", rank=args.local_rank, world_size=int(os.environ["WORLD_SIZE"]))
        ranks = [None, None]
        dist.all_gather_object(ranks, (args.local_rank, os.environ["RANK"], dist.get_rank()))
        print(ranks)
    """
    assert ranked(dedent(text)).printed == "[(0, '0', 0), (1, '1', 1)]\n"


def test_a_program_that_nobody_can_tell_its_rank_says_nothing(ranked: Ranked) -> None:
    text = """
        import argparse
        import torch
        import torch.distributed as dist
        parser = argparse.ArgumentParser()
        parser.add_argument("--rank", type=int, default=0)
        args = parser.parse_args()
        dist.init_process_group("nccl", rank=args.rank, world_size=2)
        if args.rank == 0:
            torch.save(torch.ones(1), "one.pt")
    """
    trace = ranked(dedent(text))
    assert trace.outcome is RunOutcome.ENVIRONMENT and "nothing tells it which it is" in trace.detail
    assert trace.crash is None and "ranks" not in trace.probes


def test_what_is_spawned_runs_in_the_ranks_themselves(ranked: Ranked) -> None:
    text = """
        import torch
        import torch.distributed as dist
        import torch.multiprocessing as mp
        from torch.utils.data import DistributedSampler

        def work(rank, world):
            dist.init_process_group("nccl", rank=rank, world_size=world)
            total = torch.tensor([rank + 1.0])
            dist.all_reduce(total)
            print(int(total), len(DistributedSampler(range(10), num_replicas=1, rank=rank)))
            dist.destroy_process_group()

        if __name__ == "__main__":
            for again in range(2):
                mp.spawn(work, args=(torch.cuda.device_count(),), nprocs=torch.cuda.device_count())
    """
    trace = ranked(dedent(text))
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed == "3 5\n3 5\n"


def test_a_rank_that_waits_for_one_that_has_ended_is_named_with_its_place(ranked: Ranked) -> None:
    text = """
        import torch
        import torch.distributed as dist
        dist.init_process_group("gloo")
        dist.all_reduce(torch.ones(1))
        if dist.get_rank() == 0:
            dist.barrier()
    """
    trace = ranked(dedent(text).lstrip())
    assert trace.crash is not None and trace.crash.kind == ranks.HANG
    assert trace.crash.message == "rank 0 waits at line 6 for the other: rank 1 has ended, and never reaches it"
    assert trace.crash.site is not None and trace.crash.site.line == 6
    assert shown(trace)["parted"] == [[["barrier", [6, 5, 6, 19, ""]], None]]


@pytest.mark.slow
def test_ranks_that_wait_for_each_other_are_named_with_both_places(ranked: Ranked) -> None:
    text = """
        import torch
        import torch.distributed as dist
        dist.init_process_group("gloo")
        if dist.get_rank() == 0:
            dist.broadcast(torch.ones(1), 1)
        else:
            dist.broadcast(torch.ones(1), 0)
    """
    trace = ranked(dedent(text).lstrip())
    assert trace.crash is not None
    assert trace.crash.message == "rank 0 waits at line 5 for the other: rank 1 waits at line 7"


def test_what_crashes_on_the_other_rank_is_told(ranked: Ranked) -> None:
    text = """
        import torch
        import torch.distributed as dist
        dist.init_process_group("gloo")
        if dist.get_rank() == 1:
            torch.ones(2, 3) @ torch.ones(2, 3)
        dist.barrier()
    """
    trace = ranked(dedent(text).lstrip())
    assert trace.crash is not None and trace.crash.kind == "RuntimeError"
    assert trace.crash.message.startswith("on rank 1: mat1 and mat2 shapes cannot be multiplied")
    assert trace.crash.site is not None and trace.crash.site.line == 5


def test_both_ranks_end_after_the_step_that_the_clock_of_one_decides_on(ranked: Ranked) -> None:
    joined = 'import time\ndist.init_process_group("nccl")\n'
    trace = ranked(HEAD + joined + TRAINED.format(rows=6400, after="time.sleep(0.3)"), steps=600, training=2.0)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.hurried and 2 <= len(trace.steps) <= 10
    # What the ranks count together is twice what one does: neither was cut before the other, which would wait for it.
    assert trace.printed == f"0 {2 * len(trace.steps)}\n"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("dist.init_process_group('nccl')", True),
        ("dist.init_process_group('nccl', rank=rank, world_size=n)", True),
        ("dist.init_process_group('gloo', rank=0, world_size=1)", False),
        ("os.environ['RANK'] = '0'\ndist.init_process_group('gloo')", False),
        ("for rank in range(2):\n    Process(target=dist.init_process_group).start()", False),
        ("accelerator = Accelerator()\naccelerator.print('loss')\naccelerator.backward(loss)", False),
        ("accelerator = Accelerator()\nif accelerator.is_main_process:\n    print('loss')", True),
        ("class T:\n    def __init__(self):\n        self.a = Accelerator()\n        self.a.wait_for_everyone()", True),
        ("accelerator = Accelerator()\ntotal = functools.reduce(max, [1])", False),
        ("net = Net.from_pretrained('bert')\naccelerator = Accelerator()\naccelerator.wait_for_everyone()", False),
        ("accelerator = Accelerator(\naccelerator.is_main_process", False),
        ("print('init_process_group')", False),
    ],
)
def test_two_ranks_are_for_programs_that_join_a_group_of_several(text: str, wanted: bool) -> None:
    assert ranks.wanted(text) is wanted


@pytest.mark.skipif(importlib.util.find_spec("accelerate") is None, reason="accelerate is not installed")
@pytest.mark.parametrize(
    ("asked", "processes"), [("", 1), pytest.param("accelerator.wait_for_everyone()", 2, marks=pytest.mark.slow)]
)
def test_an_accelerator_that_is_asked_of_several_processes_is_one_of_two(
    ranked: Ranked, asked: str, processes: int
) -> None:
    text = f"from accelerate import Accelerator\nimport torch\naccelerator = Accelerator()\n{asked}\n"
    trace = ranked(text + "print(accelerator.state.num_processes)\n")
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed == f"{processes}\n"


def test_programs_without_a_group_run_alone(ranked: Ranked) -> None:
    trace = ranked("import torch\nprint(torch.cuda.device_count())\n")
    assert trace.printed == "0\n"
    assert "world" not in trace.probes


def test_where_ranks_cannot_meet_a_program_runs_alone() -> None:
    why = probe_tiers(PYTHON)[Tier.LIMITS]
    if why is not None:
        pytest.skip(f"limits do not work here: {why}")
    with Runner(PYTHON, tier=Tier.LIMITS, framework="torch") as runner:
        text = b"import torch.distributed as dist\ndist.init_process_group('gloo')\n"
        trace = runner.run(Job("program.py", text, budget=Budget(seconds=60.0)))
    assert trace.crash is not None and "RANK expected" in trace.crash.message
    assert "world" not in trace.probes


NO_SAMPLER = """
torch.manual_seed(0)
dist.init_process_group("nccl")
x = torch.randn(64, 4)
data = TensorDataset(x, x.sum(1, keepdim=True))
loader = DataLoader(data, batch_size=8, shuffle=True)
model = DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for a, b in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(a), b).backward()
        optimizer.step()
"""
JOINED = 'dist.init_process_group("nccl")\n' + TRAINED.format(rows=64, after="pass")
UNUSED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(4, 1), nn.Linear(4, 1)

    def forward(self, x):
        return self.used(x)

"""
FAULTY = {
    "DNF740": (JOINED.replace("    sampler.set_epoch(epoch)\n", ""), "+    sampler.set_epoch(epoch)"),
    "DNF741": (NO_SAMPLER, "sampler=DistributedSampler(data)"),
    "DNF742": (
        JOINED + "    if dist.get_rank() == 0:\n        dist.barrier()\n        print(epoch)\n",
        "+    dist.barrier()",
    ),
    "DNF743": (UNUSED + JOINED.replace("nn.Linear(4, 1)", "Net()"), "Net(), find_unused_parameters=True"),
    "DNF744": (JOINED + 'torch.save(model.state_dict(), "model.pt")\n', "+if dist.get_rank() == 0:"),
}


@pytest.mark.slow
@pytest.mark.parametrize("code", FAULTY)
def test_a_fault_of_several_ranks_is_repaired_and_proven(ranked: Ranked, code: str) -> None:
    text, added = FAULTY[code]
    report = dnnfix.suggest(HEAD.lstrip() + text, isolated=True)
    accepted = [patch for _, patch in report.patches() if patch.verdict is dnnfix.PatchVerdict.ACCEPTED]
    assert [patch.candidate.findings[0].code for patch in accepted] == [code]
    assert added in accepted[0].diff


@pytest.mark.slow
def test_a_sound_program_of_several_ranks_is_left_as_it_is(ranked: Ranked) -> None:
    text = HEAD.lstrip() + JOINED + 'if dist.get_rank() == 0:\n    torch.save(model.module.state_dict(), "model.pt")\n'
    report = dnnfix.suggest(text, isolated=True)
    assert [*report.findings(), *report.patches()] == []
