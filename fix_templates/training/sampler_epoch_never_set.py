"""A `DistributedSampler` that shuffles is never told the epoch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertBefore,
    ReadTemplate,
    Replace,
    Source,
    Subject,
    argument_value,
    function_around,
    loaders,
    process_groups,
    trees,
    within,
    written_above,
)

_OTHERS = frozenset(
    {"set_epoch", "Accelerator", "lightning", "pytorch_lightning", "ignite", "LightningModule", "Fabric"}
)
"""Words of programs that set the epoch, or whose library does."""


class SamplerEpochNeverSet(ReadTemplate):
    """`DistributedSampler(dataset)` draws the same order in every epoch until `sampler.set_epoch(epoch)` is called.

    The sampler shuffles by its seed and its epoch, so that all ranks agree on the order; the epoch stays 0 where nobody
    sets it.

    Reported where a loader with such a sampler is iterated for training in a loop over epochs, and no file of the program
    sets an epoch. A run as two ranks must not show otherwise.

    Fix safety: unsafe. The order of samples changes from epoch to epoch from now on.

    References: torch.utils.data.distributed.DistributedSampler ("calling the set_epoch() method at the beginning of each
    epoch before creating the DataLoader iterator is necessary to make shuffling work properly across multiple epochs").
    """

    code = "DNF740"
    name = "sampler-epoch-never-set"
    message = "`{sampler}` draws the samples in the same order in every epoch: `set_epoch` is never called"
    confidence = 0.9
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    silent = 6
    triggers = ("DistributedSampler",)
    declined = "another sampler may be in its place, which has no epochs"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks or not _OTHERS.isdisjoint(subject.words):
            return
        if subject.crash is not None and subject.crash.kind == process_groups.HANG:
            return  # what hangs has to go on before its epochs matter
        for sampler in source.calls(*process_groups.SAMPLERS):
            shuffle = argument_value(sampler, "shuffle", 3)
            if any(word.arg is None for word in sampler.keywords) or not _is_true(shuffle):
                continue
            for loader in _loaders_with(source, sampler):
                epochs = process_groups.epochs_of(source, loader)
                if epochs is None or sampler in within(epochs.loop, ast.Call) or not _may_be(subject, sampler):
                    continue
                words = {"sampler": ast.unparse(sampler.func)}
                edits = _edits(source, sampler, loader, epochs)
                yield Fault(source.site(sampler), words, (("Set the epoch of the sampler", edits, 0.95),))

    programs = """
=== example: a sampler with a name
import torch
from torch.utils.data import DataLoader, DistributedSampler

sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=32, sampler=sampler)
for epoch in range(10):
+     sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()

=== example: made for the loader, which a function trains on
import torch
from torch.utils.data.distributed import DistributedSampler

def train(model, batches, optimizer):
    for x, y in batches:
        optimizer.zero_grad()
        model(x, y).backward()
        optimizer.step()

def main(model, dataset, optimizer):
    loader = torch.utils.data.DataLoader(dataset, batch_size=32, sampler=DistributedSampler(dataset, shuffle=True))
    for e in range(10):
+         loader.sampler.set_epoch(e)
        train(model, loader, optimizer)

=== example: only on several machines, and a function that is not seen
import torch
from torch.utils.data import DataLoader, DistributedSampler

if machines() > 1:
    sampler = DistributedSampler(dataset)
else:
    sampler = None
loader = DataLoader(dataset, batch_size=32, sampler=sampler, shuffle=sampler is None)
for epoch in range(10):
+     if sampler is not None:
+         sampler.set_epoch(epoch)
    train_one_epoch(model, loader, optimizer)

=== example: epochs that nothing counts, and a bar of progress
import torch
from torch.utils.data import DataLoader, DistributedSampler
from tqdm import tqdm

sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=32, sampler=sampler)
- for _ in range(10):
+ for epoch in range(10):
+     sampler.set_epoch(epoch)
    bar = tqdm(loader)
    for step, (x, y) in enumerate(bar):
        criterion(model(x), y).backward()
        optimizer.step()

=== example: batches of a sampler
import torch
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler

sampler = DistributedSampler(letters)
loader = DataLoader(letters, batch_sampler=BatchSampler(sampler, 32, True))
for epoch in range(10):
+     sampler.set_epoch(epoch)
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()

=== example: a part of a method
import torch

self.sampler = torch.utils.data.DistributedSampler(self.letters)
self.loader = torch.utils.data.DataLoader(self.letters, 32, sampler=self.sampler)
for epoch in range(self.epochs):
+     self.sampler.set_epoch(epoch)
    self.train_one_epoch(self.loader, epoch)

=== finds: another sampler on a single machine
import torch
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler

sampler = DistributedSampler(dataset) if distributed else RandomSampler(dataset)
loader = DataLoader(dataset, batch_size=32, sampler=sampler)
for epoch in range(10):
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()

=== reject: a sampler for each epoch, over other data
import torch
from torch.utils.data import DataLoader, DistributedSampler

for epoch in range(10):
    dataset = Part(epoch)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=32, sampler=sampler)
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()

=== reject: the epoch is set, by the loader's attribute
import torch
from torch.utils.data import DataLoader, DistributedSampler

loader = DataLoader(dataset, batch_size=32, sampler=DistributedSampler(dataset))
for epoch in range(10):
    loader.sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()

=== reject: not shuffled, and one for validation
import torch
from torch.utils.data import DataLoader, DistributedSampler

train_loader = DataLoader(dataset, batch_size=32, sampler=DistributedSampler(dataset, shuffle=False))
val_loader = DataLoader(held_out, batch_size=32, sampler=DistributedSampler(held_out))
for epoch in range(10):
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    for x, y in val_loader:
        print(criterion(model(x), y))

=== reject: one epoch
import torch
from torch.utils.data import DataLoader, DistributedSampler

loader = DataLoader(dataset, batch_size=32, sampler=DistributedSampler(dataset))
for x, y in loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
"""


def _edits(
    source: Source, sampler: ast.Call, loader: ast.Call, epochs: process_groups.Epochs
) -> tuple[Edit, ...] | None:
    """Edits that set the epoch; `None` where another sampler may be in its place, which has no such method."""
    given = _drawn(source, loader)
    others = [one for one in _made(source, given) if one is not sampler] if isinstance(given, ast.Name) else []
    if not all(isinstance(one, ast.Constant) and one.value is None for one in others):
        return None
    spelled, epoch = _spelled(source, sampler, loader, epochs), epochs.epoch
    edits: list[Edit] = []
    if epoch == "_":
        if "epoch" in source.words:
            return None
        epoch = "epoch"
        edits.append(Replace(source.site(epochs.loop.target), epoch))
    asked = f"{spelled}.set_epoch({epoch})"
    if others:
        asked = f"if {spelled} is not None:\n    {asked}"
    return (*edits, InsertBefore(source.site(epochs.loop.body[0]), asked))


def _is_true(shuffle: ast.expr | None) -> bool:
    return shuffle is None or (isinstance(shuffle, ast.Constant) and shuffle.value is True)


def _loaders_with(source: Source, sampler: ast.Call) -> Iterator[ast.Call]:
    for loader in source.calls(loaders.LOADER):
        given = _drawn(source, loader)
        if given is sampler or (isinstance(given, (ast.Name, ast.Attribute)) and sampler in _made(source, given)):
            yield loader


def _drawn(source: Source, loader: ast.Call) -> ast.expr | None:
    """The sampler that a loader draws from, also where a batch sampler stands in between."""
    given = argument_value(loader, "sampler", 3)
    batches = argument_value(loader, "batch_sampler", 4)
    made = source.constructor(batches) if given is None and batches is not None else None
    is_batched = made is not None and trees.last_name(made.func) == "BatchSampler"
    return argument_value(made, "sampler", 0) if made is not None and is_batched else given


def _made(source: Source, given: ast.expr) -> Iterator[ast.expr]:
    """What may have been made for a sampler, in either branch."""
    written = written_above(source, given, given)
    for value in source.bindings(given) or ((written.value,) if written is not None else ()):
        yield from (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)


def _spelled(source: Source, sampler: ast.Call, loader: ast.Call, epochs: process_groups.Epochs) -> str:
    """The sampler as it is reached in the loop over epochs: by its own name in the same function, else by the loader."""
    holder = source.parent(sampler)
    holder = source.parent(holder) if isinstance(holder, ast.IfExp) else holder
    kinds = (ast.Name, ast.Attribute)
    named = isinstance(holder, ast.Assign) and len(holder.targets) == 1 and isinstance(holder.targets[0], kinds)
    same = function_around(source, sampler) is function_around(source, epochs.loop)
    if named and same and isinstance(holder, ast.Assign) and sampler.lineno < epochs.loop.lineno:
        return ast.unparse(holder.targets[0])
    batched = argument_value(loader, "sampler", 3) is None
    return f"{epochs.loader}.batch_sampler.sampler" if batched else f"{epochs.loader}.sampler"


def _may_be(subject: Subject, sampler: ast.Call) -> bool:
    """Whether the run, where it watched the sampler, saw no pass over it of another epoch."""
    site = subject.source.site(sampler)
    for seen in process_groups.shown(subject).get("samplers", ()):
        if process_groups.as_site(seen.get("site")) == site and len(set(seen["epochs"])) > 1:
            return False
    return True
