"""Several sizes in a chain of layers disagree, or one layer has its two sizes swapped."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from dnnfix.api import (
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Repairs,
    Site,
    Subject,
    Symptom,
    chain_edits,
    crashes,
    size_chains,
)


class Broken(NamedTuple):
    """A chain whose sizes disagree, the cheapest solutions, and whether the program crashed in it."""

    links: tuple[size_chains.Link, ...]
    ways: list[size_chains.Solution]
    crashed: bool


class SizesDoNotChain(FaultTemplate[Broken]):
    """The sizes of consecutive layers disagree: swapped arguments, or a chain that was changed in part.

    Each layer has to return as many values as the next one expects. Where several pairs disagree, changing one crashed
    layer after the other leads to a network that nobody meant. Proposed are the fewest edits that make the whole chain
    agree and keep its output size.

    Fix safety: unsafe. The changed layers get other weights; saved weights do not fit any more.

    References: torch.nn.Linear, torch.nn.Conv2d, torch.nn.BatchNorm1d (sizes of input and output).
    """

    code = "DNF216"
    name = "sizes-do-not-chain"
    at_either_end = True
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "the sizes of {count} consecutive layers disagree: {sizes}"
    triggers = ("Linear", "Conv1d", "Conv2d", "Conv3d", "BatchNorm1d", "BatchNorm2d", "LayerNorm", "LSTM", "GRU", "RNN")
    elsewhere = True
    declined = "no small number of edits makes the whole chain agree"

    def faults(self, subject: Subject) -> Faults[Broken]:
        if subject.trace is None:
            for links in size_chains.chains(subject):
                if size_chains.disagreements(links):
                    place = next(n for n, (a, b) in enumerate(pairwise(links)) if a.gives != b.takes)
                    yield links[place + 1].site, Broken(links, size_chains.solutions(links), crashed=False)
            return
        # After a crash only the chain that explains it, and only where changing the crashed layer alone is not the
        # obvious answer: several pairs disagree, or swapping two arguments is enough.
        conflict = crashes.size_conflict(subject)
        site = conflict.call.made_at if conflict is not None else None
        if conflict is None or site is None or len(conflict.value.shape or ()) < 2:
            return
        chain = next(
            (links for links in size_chains.chains(subject) if size_chains.fits_run(links, site, conflict.received)),
            None,
        )
        if chain is None:
            return
        arriving = conflict.received if chain[0].site == site else None
        ways = size_chains.solutions(chain, arriving)
        if size_chains.disagreements(chain, arriving) > 1 or any(
            change.swapped for way in ways for change in way.changes
        ):
            yield site, Broken(chain, ways, crashed=True)

    def report(self, site: Site, fault: Broken) -> Finding:
        crashed = fault.crashed
        return self.finding(
            site,
            symptom=Symptom.CRASH if crashed else Symptom.NONE_OBSERVED,
            confidence=0.95,
            cause="crash" if crashed else "",
            evidence={"sizes": [[link.takes, link.gives] for link in fault.links]},
            count=len(fault.links),
            sizes=", ".join(f"{link.takes} to {link.gives}" for link in fault.links),
        )

    def repairs(self, subject: Subject, fault: Broken) -> Repairs:
        written = 0
        for solution in fault.ways:
            edits = chain_edits.carry_out(subject, solution)
            if edits is None:
                continue
            written += 1
            swaps = any(change.swapped for change in solution.changes)
            prior = 0.95 if swaps else 0.8 if len(solution.changes) == 1 else 0.7
            if chain_edits.named_as_they_stand(subject, solution):
                prior = 0.2
            yield chain_edits.told(solution), edits, prior - 0.05 * written

    programs = """
=== example: arguments exchanged in the last layer, seen without a run
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(10, 32)
-         self.out = nn.Linear(3, 32)
+         self.out = nn.Linear(32, 3)

    def forward(self, x):
        return self.out(F.relu(self.hidden(x)))

=== example (runs): a wide layer between narrow neighbours
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(12, 24)
        self.norm = nn.BatchNorm1d(24)
-         self.fc2 = nn.Linear(48, 48)
-         self.fc3 = nn.Linear(24, 4)
+         self.fc2 = nn.Linear(24, 48)
+         self.fc3 = nn.Linear(48, 4)

    def forward(self, x):
        x = torch.relu(self.norm(self.fc1(x)))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


net = Classifier()
loss = nn.CrossEntropyLoss()(net(torch.randn(6, 12)), torch.randint(0, 4, (6,)))

=== reject: sizes that chain
import torch.nn as nn

model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 128), nn.BatchNorm1d(128), nn.Linear(128, 5))

=== reject: layers that are not called in the order in which they are created
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 8)
        self.b = nn.Linear(6, 4)
        self.c = nn.Linear(8, 2)

    def forward(self, x):
        return self.c(self.a(self.b(x)))

=== reject (runs): a flattening between the layers
import torch
import torch.nn as nn

nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(144, 2))(torch.randn(2, 1, 8, 8))
"""
