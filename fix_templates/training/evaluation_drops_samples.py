"""`drop_last=True` in a loader for evaluation: the samples of the last batch are never looked at."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    SetArgument,
    Source,
    Subject,
    loader_uses,
    trees,
    words,
)

OF_TORCH = words("DistributedSampler SequentialSampler RandomSampler SubsetRandomSampler WeightedRandomSampler")


class EvaluationDropsSamples(ReadTemplate):
    """A test set is measured without its last, smaller batch, and sums that are divided by `len(dataset)` come out too low.

    `drop_last` is for training, where a small batch disturbs batch normalization. Predictions for a test set lack the last samples.

    Fix safety: unsafe. The last batch may be smaller.

    References: torch.utils.data.DataLoader ("drop_last").
    """

    code = "DNF762"
    name = "evaluation-drops-samples"
    message = "`{loader}` is there to evaluate and drops its last batch: these samples are never looked at"
    family = Family.TRAINING
    fix_pattern = FixPattern.DATA_WRANGLING
    nature = Nature.RISK
    silent = 6
    default = False
    triggers = ("drop_last",)
    confidence = 0.8

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for use in loader_uses.uses(source):
            if use.evaluates and not use.trains and use.says("drop_last", True) and not _is_packed(source, use):
                site = source.site(use.call)
                edit = SetArgument(site, "drop_last", "False")
                yield Fault.with_repair(
                    site, {"loader": use.name or "the loader"}, "Keep all samples", edit, confidence=self.confidence
                )

    programs = """
=== example: a test set
from torch.utils.data import DataLoader

- test_loader = DataLoader(test_set, batch_size=64, drop_last=True)
+ test_loader = DataLoader(test_set, batch_size=64, drop_last=False)

=== reject: in training
from torch.utils.data import DataLoader

train_loader = DataLoader(train_set, batch_size=64, shuffle=True, drop_last=True)
val_loader = DataLoader(val_set, batch_size=64, drop_last=False)

=== reject: a sampler decides what is left out
from torch.utils.data import DataLoader

test_loader = DataLoader(test_set, 16, sampler=Chunks(test_set, 16), drop_last=True)

=== reject: a variable decides
from torch.utils.data import DataLoader

def make(data, is_train):
    return DataLoader(data, batch_size=64, shuffle=is_train, drop_last=is_train)
"""


def _is_packed(source: Source, use: loader_uses.Use) -> bool:
    """Whether a sampler that is none of torch's own decides which samples make a batch."""
    sampler = use.option("sampler")
    made = source.constructor(sampler) if sampler is not None else None
    name = (source.qualified(made.func) or trees.last_name(made.func)) if made is not None else ""
    return bool(name) and not name.startswith("torch.") and name not in OF_TORCH
