"""Processes or threads share what is on the GPU in a way that is not safe."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Decline,
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    RemoveArgument,
    Repair,
    Replace,
    Source,
    Subject,
    devices,
    function_around,
    keyword_value,
    structure,
    training_loop,
    trees,
    within,
    words,
)

OF_POOL = words("map imap imap_unordered starmap starmap_async map_async apply apply_async submit")
"""Methods that give the processes of a pool something to do."""


class GpuTensorsOfWorkers(ReadTemplate):
    """Work on the GPU is shared by processes or threads unsafely.

    A data set or a `collate_fn` that moves its samples to the GPU does so in each worker of the loader: with forked workers CUDA cannot
    be used, or every worker takes memory of its own, and one sample at a time is moved. Processes that are forked cannot use CUDA, and
    share nothing of it; they have to be spawned. A copy to the CPU that does not block is read before it is there. What `forward` keeps in
    `self` under `DataParallel` is kept in a copy of the module, and lost.

    Fix safety: unsafe. Where and when things are computed changes.

    References: torch.utils.data (note on CUDA tensors in workers); https://docs.pytorch.org/docs/stable/notes/multiprocessing.html;
    torch.nn.DataParallel ("updates to the running module in forward will be lost").
    """

    code = "DNF773"
    name = "gpu-tensors-of-workers"
    message = "{what}"
    confidence = 0.75
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    nature = Nature.RISK
    silent = 13
    default = False
    declined = "how the work is to be shared is not told by the text"
    triggers = ("cuda", "to", "DataParallel", "non_blocking")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks:
            return
        for node, what in (*_samples(source), *_forked(source), *_unblocked(source), *_lost(source)):
            yield Fault(source.site(node), {"what": what}, (*_repairs(source, node), Decline(self.declined)))

    programs = """
=== example: samples on the GPU
import torch
from torch.utils.data import DataLoader, Dataset

class Pictures(Dataset):
    def __getitem__(self, i):
-         return torch.tensor(self.x[i]).cuda()
+         return torch.tensor(self.x[i])

    def __len__(self):
        return len(self.x)

for x in DataLoader(Pictures(), num_workers=4):
    net(x)

=== example: a copy that is read at once
import torch

net.cuda()
- out = net(x).to("cpu", non_blocking=True)
+ out = net(x).to("cpu")
print(out.numpy())

=== example: all samples are kept on the GPU
import torch
from torch.utils.data import DataLoader, Dataset

class Spectra(Dataset):
    def __init__(self, values):
-         self.values = torch.tensor(values).cuda()
+         self.values = torch.tensor(values)

    def __getitem__(self, i):
        return self.values[i]

train = DataLoader(Spectra(values), batch_size=32, num_workers=6)

=== finds: a network is given to a process that is forked
import torch
import torch.multiprocessing as mp
from rollouts import collect

net = Net().cuda()
mp.Process(target=collect, args=(net, 3)).start()

=== finds: a pool whose work holds a network
import torch
from functools import partial
from torch.multiprocessing import Pool
from rollouts import collect

net = Net().cuda()
with Pool(3) as pool:
    rewards = pool.map(partial(collect, net), seeds)

=== reject: all samples are kept on the GPU, and there are no workers
import torch
from torch.utils.data import DataLoader, Dataset

class Spectra(Dataset):
    def __init__(self, values):
        self.values = torch.tensor(values).cuda()

    def __getitem__(self, i):
        return self.values[i]

train = DataLoader(Spectra(values), batch_size=32)

=== reject: what is forked is no work for a GPU
import multiprocessing
import torch

net = Net().cuda()
pool = multiprocessing.Pool(8)
texts = pool.map(tokenize, read("corpus.txt"))

=== reject: moved in the loop
import torch
from torch.utils.data import DataLoader, Dataset

class Pictures(Dataset):
    def __getitem__(self, i):
        return torch.tensor(self.x[i])

    def __len__(self):
        return len(self.x)

for x in DataLoader(Pictures(), num_workers=4):
    x = x.cuda(non_blocking=True)

=== reject: spawned
import torch
import torch.multiprocessing as mp

def work(rank):
    torch.cuda.set_device(rank)

if __name__ == "__main__":
    mp.spawn(work, nprocs=2)

=== reject: nothing is kept
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        return self.fc(x)

net = nn.DataParallel(Net()).cuda()
"""


def _repairs(source: Source, node: ast.expr) -> Iterator[Repair]:
    """Leave a move to the GPU to the loop, and let a copy to the CPU block."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and devices.moves(source, node):
        text = source.segment(source.site(node.func.value))
        yield "Leave moving it to the loop over batches", (Replace(source.site(node), text),), 0.7
    elif isinstance(node, ast.Call) and keyword_value(node, "non_blocking") is not None:
        yield "Let the copy block", (RemoveArgument(source.site(node), "non_blocking"),), 0.8


def _samples(source: Source) -> Iterator[tuple[ast.expr, str]]:
    """Moves to the GPU in what the workers of a loader call."""
    loaders = [call for call in source.all_calls if ast.unparse(call.func).endswith("DataLoader")]
    alone = bool(loaders) and all(_number_of_workers(call) == 0 for call in loaders)
    if alone:
        return
    for function in structure.functions(source):
        if function.name != "__getitem__" and not function.name.startswith("collate"):
            continue
        for call in (*within(function, ast.Call), *_held(source, function)):
            given = keyword_value(call, "device")
            made = given is not None and devices.is_device(source, given)
            if devices.moves(source, call) or made:
                yield call, "each worker of the loader moves its samples to the GPU by itself"
                break


def _held(source: Source, function: training_loop.Function) -> Iterator[ast.Call]:
    """What makes the tensors that a data set keeps on the GPU and takes its samples from, where a loader is seen to have workers."""
    kind = source.parent(function)
    loaders = [call for call in source.all_calls if ast.unparse(call.func).endswith("DataLoader")]
    if not isinstance(kind, ast.ClassDef) or not any(_number_of_workers(call) for call in loaders):
        return
    read = {ast.unparse(node) for node in within(function, ast.Attribute)}
    for statement in within(kind, ast.Assign):
        if ast.unparse(statement.targets[0]) in read and isinstance(statement.value, ast.Call):
            yield statement.value


def _number_of_workers(call: ast.Call) -> int | None:
    given = keyword_value(call, "num_workers")
    if given is None:
        return None if any(k.arg is None for k in call.keywords) or len(call.args) > 5 else 0
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, int) else None


def _forked(source: Source) -> Iterator[tuple[ast.expr, str]]:
    """Processes that are forked in a text that uses CUDA."""
    if not devices.uses_gpu(source) or re.search(r"spawn|forkserver", source.text):
        return
    for call in source.all_calls:
        name = source.qualified(call.func) or ast.unparse(call.func)
        of_module = re.search(r"(^|\.)(multiprocessing|mp)\.(Process|Pool)$", name) or name in (
            "Process",
            "ProcessPoolExecutor",
        )
        if of_module and _has_used_cuda(source, call) and any(_works(source, *work) for work in _given(source, call)):
            yield (
                call,
                "a process is forked that cannot use the CUDA of its parent, and shares nothing of it: it has to be spawned",
            )


def _given(source: Source, process: ast.Call) -> Iterator[tuple[ast.expr, list[ast.expr]]]:
    """What a process, or a pool of them, is given to do: functions, with what they are called with."""
    target = keyword_value(process, "target")
    if target is not None:
        handed = keyword_value(process, "args")
        yield target, [*handed.elts] if isinstance(handed, (ast.Tuple, ast.List)) else []
        return
    for call in source.all_calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in OF_POOL and call.args:
            work = call.args[0]
            if isinstance(work, ast.Call) and trees.last_name(work.func) == "partial" and work.args:
                yield work.args[0], [*work.args[1:], *call.args[1:]]
            else:
                yield work, call.args[1:]


def _works(source: Source, does: ast.expr, given: list[ast.expr]) -> bool:
    """Whether a function gives the GPU work, or is given a network; one from elsewhere may do anything."""
    body = source.definition(does)
    calls = within(body, ast.Call) if isinstance(body, (ast.FunctionDef, ast.Lambda)) else ()
    return any(devices.moves(source, call) or devices.works(source, call) for call in calls) or any(
        structure.is_network(source, one) for one in given
    )


def _has_used_cuda(source: Source, process: ast.Call) -> bool:
    """Whether the function that starts a process, or the top of the module, moves something to the GPU itself."""
    around = function_around(source, process)
    return any(
        devices.moves(source, call) and function_around(source, call) in (around, None) for call in source.all_calls
    )


def _unblocked(source: Source) -> Iterator[tuple[ast.expr, str]]:
    """Copies to the CPU that do not block."""
    if "synchronize" in source.words:
        return
    for call in source.all_calls:
        given = keyword_value(call, "non_blocking")
        if isinstance(given, ast.Constant) and given.value is True and isinstance(call.func, ast.Attribute):
            to = call.args[0] if call.func.attr == "to" and call.args else None
            if isinstance(to, ast.Constant) and to.value == "cpu":
                yield call, "a copy to the CPU that does not block may be read before it is there"


def _lost(source: Source) -> Iterator[tuple[ast.expr, str]]:
    """What `forward` keeps in `self` of a module that runs as copies."""
    if not any(ast.unparse(call.func).endswith("DataParallel") for call in source.all_calls):
        return
    for node in source.nodes(ast.ClassDef):
        forward = next((s for s in node.body if isinstance(s, ast.FunctionDef) and s.name == "forward"), None)
        if forward is None or structure.is_network_class(source, ast.Name(node.name, ast.Load())) is False:
            continue
        stored: list[ast.Assign | ast.AugAssign] = [*within(forward, ast.Assign), *within(forward, ast.AugAssign)]
        for statement in stored:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
            text = ast.unparse(target)
            adds = isinstance(statement, ast.AugAssign) or any(
                ast.unparse(node) == text for node in within(statement.value, ast.Attribute)
            )
            if own and adds and isinstance(target, ast.Attribute):
                yield (
                    target,
                    f"`{ast.unparse(target)}` is kept in a copy of the module, and lost: DataParallel runs copies",
                )
                break
