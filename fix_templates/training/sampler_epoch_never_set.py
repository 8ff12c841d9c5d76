"""A `DistributedSampler` that shuffles is never told the epoch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    InsertBefore,
    ReadTemplate,
    Source,
    Subject,
    argument_value,
    function_around,
    loaders,
    process_groups,
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
    triggers = ("DistributedSampler",)

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
                if epochs is None or not _may_be(subject, sampler):
                    continue
                asked = f"{_spelled(source, sampler, loader, epochs)}.set_epoch({epochs.epoch})"
                edit = InsertBefore(source.site(epochs.loop.body[0]), asked)
                words = {"sampler": ast.unparse(sampler.func)}
                yield Fault.with_repair(source.site(sampler), words, "Set the epoch of the sampler", edit, prior=0.95)

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


def _is_true(shuffle: ast.expr | None) -> bool:
    return shuffle is None or (isinstance(shuffle, ast.Constant) and shuffle.value is True)


def _loaders_with(source: Source, sampler: ast.Call) -> Iterator[ast.Call]:
    for loader in source.calls(loaders.LOADER):
        given = argument_value(loader, "sampler", 3)
        if given is sampler or (isinstance(given, ast.Name) and source.constructor(given) is sampler):
            yield loader


def _spelled(source: Source, sampler: ast.Call, loader: ast.Call, epochs: process_groups.Epochs) -> str:
    """The sampler as it is reached in the loop over epochs: by its own name in the same function, else by the loader."""
    holder = source.parent(sampler)
    named = isinstance(holder, ast.Assign) and len(holder.targets) == 1 and isinstance(holder.targets[0], ast.Name)
    same = function_around(source, sampler) is function_around(source, epochs.loop)
    if named and same and isinstance(holder, ast.Assign) and sampler.lineno < epochs.loop.lineno:
        return ast.unparse(holder.targets[0])
    return f"{epochs.loader}.sampler"


def _may_be(subject: Subject, sampler: ast.Call) -> bool:
    """Whether the run, where it watched the sampler, saw no pass over it of another epoch."""
    site = subject.source.site(sampler)
    for seen in process_groups.shown(subject).get("samplers", ()):
        if process_groups.as_site(seen.get("site")) == site and len(set(seen["epochs"])) > 1:
            return False
    return True
