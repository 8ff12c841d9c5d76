"""`DataLoader(data, batch_size=64)` loads its batches in the training process."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Decline,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    SetArgument,
    Subject,
    Symptom,
    loaders,
)

WORKERS = 6
"""The position of `num_workers` among the arguments of a loader, from 1."""


class LoadingInOneProcess(FixTemplate):
    """A `DataLoader` without `num_workers` loads in the training process, which waits for every batch.

    Off by default: whether worker processes pay off depends on the data, and an explicit `num_workers=0` shows that
    somebody has considered it.

    Fix safety: unsafe. Where processes are spawned and not forked, a program without `if __name__ == "__main__"` starts
    itself again; random numbers that a data set draws come from another generator; and small data sets load slower.

    References: https://docs.pytorch.org/docs/stable/data.html#single-and-multi-process-data-loading.
    """

    code = "DNF904"
    name = "loading-in-one-process"
    family = Family.OPINIONATED
    fix_pattern = FixPattern.API_CONTRACT
    message = "DataLoader is called without num_workers: the training process loads the batches itself"
    triggers = ("DataLoader",)
    default = False

    def detect(self, subject: Subject) -> Iterator[Finding]:
        source = subject.source
        for call in source.calls(loaders.LOADER):
            told = any(k.arg in (None, "num_workers") for k in call.keywords)
            if not told and len(call.args) < WORKERS:
                yield self.finding(source.site(call), symptom=Symptom.NONE_OBSERVED, confidence=0.5)

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        yield self.candidate(finding, "load in two processes", SetArgument(finding.site, "num_workers", "2"), prior=0.3)

    programs = """
=== example: a loader of images
from torch.utils.data import DataLoader

- loader = DataLoader(pictures, batch_size=64, shuffle=True)
+ loader = DataLoader(pictures, batch_size=64, shuffle=True, num_workers=2)

=== reject: a loader with num_workers
from torch.utils.data import DataLoader

loader = DataLoader(rows, num_workers=0)
other = DataLoader(rows, 8, False, None, None, 4)

=== reject: options from elsewhere
from torch.utils.data import DataLoader

options = {"num_workers": 4}
loader = DataLoader(rows, **options)
"""
