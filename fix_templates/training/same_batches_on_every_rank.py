"""All ranks train on the same batches: the loader has no `DistributedSampler`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    AddImport,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertBefore,
    ReadTemplate,
    SetArgument,
    Source,
    Subject,
    argument_value,
    loaders,
    process_groups,
)


class SameBatchesOnEveryRank(ReadTemplate):
    """Ranks that read the same batches compute the same gradients: the second GPU does the first one's work again.

    `DistributedDataParallel` averages gradients and divides no data. A `DistributedSampler` gives each rank its part.

    Reported where a run as two ranks saw equal batches enter the wrapped model on both, in step after step, and one loader
    of the program, which has no sampler, is trained on.

    Fix safety: unsafe. Each rank trains on its part of the data from now on.

    References: torch.nn.parallel.DistributedDataParallel; torch.utils.data.distributed.DistributedSampler.
    """

    code = "DNF741"
    name = "same-batches-on-every-rank"
    message = "every rank trains on the same batches: the loader does not divide its data among them"
    declined = "the program does not tell which data to divide"
    confidence = 0.9
    family = Family.TRAINING
    fix_pattern = FixPattern.DATA_WRANGLING
    needs_run = True

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if not process_groups.shown(subject).get("same_batches") or "IterableDataset" in subject.words:
            return
        plain = [call for call in source.calls(loaders.LOADER) if _is_plain(call)]
        trained = [call for call in plain if process_groups.epochs_of(source, call) is not None]
        if len(plain) == 1 or len(trained) == 1:
            loader = (trained or plain)[0]
            edits = _edits(source, loader)
            yield Fault(source.site(loader), {}, (("Divide the data among the ranks", edits, 0.9),))

    programs = """
=== example: a loader that shuffles
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
+ from torch.utils.data import DistributedSampler

torch.manual_seed(0)
dist.init_process_group("nccl")
x = torch.randn(64, 4)
dataset = TensorDataset(x, x.sum(1, keepdim=True))
- loader = DataLoader(dataset, batch_size=8, shuffle=True)
+ loader = DataLoader(dataset, batch_size=8, shuffle=False, sampler=DistributedSampler(dataset))
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
+     loader.sampler.set_epoch(epoch)
    for a, b in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(a), b).backward()
        optimizer.step()

=== reject: each rank its part
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
dist.init_process_group("gloo")
x = torch.randn(64, 4)
dataset = TensorDataset(*[part[dist.get_rank() :: dist.get_world_size()] for part in (x, x.sum(1, keepdim=True))])
loader = DataLoader(dataset, batch_size=8, shuffle=True)
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for a, b in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(a), b).backward()
        optimizer.step()

=== reject: each rank draws its own samples
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8, shuffle=True)
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for a, b in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(a), b).backward()
        optimizer.step()
"""


def _is_plain(loader: ast.Call) -> bool:
    """Whether a loader has neither a sampler nor arguments that cannot be seen."""
    named = {word.arg for word in loader.keywords}
    return len(loader.args) < 4 and named.isdisjoint({"sampler", "batch_sampler", None})


def _edits(source: Source, loader: ast.Call) -> tuple[Edit, ...] | None:
    dataset, shuffle = argument_value(loader, "dataset", 0), argument_value(loader, "shuffle", 2)
    if not isinstance(dataset, (ast.Name, ast.Attribute)):
        return None
    if shuffle is not None and not isinstance(shuffle, ast.Constant):
        return None
    shuffles = isinstance(shuffle, ast.Constant) and bool(shuffle.value)
    made = f"DistributedSampler({ast.unparse(dataset)}{'' if shuffles else ', shuffle=False'})"
    site = source.site(loader)
    edits: list[Edit] = [
        AddImport("from torch.utils.data import DistributedSampler"),
        SetArgument(site, "sampler", made),
    ]
    epochs = process_groups.epochs_of(source, loader)
    if shuffles:
        edits.append(SetArgument(site, "shuffle", "False", 2))
    if shuffles and epochs is not None and epochs.epoch != "_":
        asked = f"{epochs.loader}.sampler.set_epoch({epochs.epoch})"
        edits.append(InsertBefore(source.site(epochs.loop.body[0]), asked))
    return tuple(edits)
