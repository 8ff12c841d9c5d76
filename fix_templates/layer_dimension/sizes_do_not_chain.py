"""Several sizes in a chain of layers disagree, or one layer has its two sizes exchanged."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from dnnfix.api import (
    Candidate,
    Change,
    Decline,
    Edit,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Link,
    Reject,
    SetArgument,
    Site,
    Solution,
    Subject,
    Symptom,
    argument,
    argument_position,
    chains,
    disagreements,
    fits_run,
    layer_facts,
    made_as,
    short,
    size_changes,
    size_conflict,
    solutions,
)


class SizesDoNotChain(FixTemplate):
    """The sizes of layers that follow one another disagree: exchanged arguments, or a chain that was changed in part.

    A layer gives as many values as the next one has to take. Where several edges of a chain disagree, changing each
    layer that crashes, one after the other, leads to a network that nobody meant; the fewest edits that make the whole
    chain agree are looked for instead, and what comes out at its end is kept.

    Fix safety: unsafe. The changed layers get other weights; saved weights do not fit any more.

    References: torch.nn.Linear, torch.nn.Conv2d, torch.nn.BatchNorm1d (sizes of input and output).
    """

    code = "DNF216"
    name = "sizes-do-not-chain"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "the sizes of {count} layers in a row disagree: {sizes}"
    triggers = ("Linear", "Conv1d", "Conv2d", "Conv3d", "BatchNorm1d", "BatchNorm2d", "LayerNorm", "LSTM", "GRU", "RNN")

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for links, site, _ in _broken(subject):
            yield self.finding(
                site,
                symptom=Symptom.CRASH if subject.crash is not None else Symptom.NONE_OBSERVED,
                confidence=0.95,
                cause="crash" if subject.crash is not None else "",
                evidence={"sizes": [[link.takes, link.gives] for link in links]},
                count=len(links),
                sizes=", ".join(f"{link.takes} to {link.gives}" for link in links),
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        found = next((found for found in _broken(subject) if found[1] == finding.site), None)
        written = 0
        for solution in found[2] if found is not None else ():
            edits = _edits(subject, solution)
            if edits is None:
                continue
            written += 1
            swaps = any(change.swapped for change in solution.changes)
            prior = 0.95 if swaps else 0.8 if len(solution.changes) == 1 else 0.7
            yield self.candidate(finding, _title(solution), *edits, prior=prior - 0.05 * written)
        if not written:
            yield Decline("no few edits make the whole chain agree")

    examples = (
        Example(
            "arguments exchanged in the middle",
            before="""\
import torch
import torch.nn as nn

model = nn.Sequential(
    nn.Linear(20, 64),
    nn.ReLU(),
    nn.Linear(128, 64),  # 64 to 128
    nn.ReLU(),
    nn.Linear(128, 5),
)
print(model(torch.randn(4, 20)).shape)
""",
            after="""\
import torch
import torch.nn as nn

model = nn.Sequential(
    nn.Linear(20, 64),
    nn.ReLU(),
    nn.Linear(64, 128),  # 64 to 128
    nn.ReLU(),
    nn.Linear(128, 5),
)
print(model(torch.randn(4, 20)).shape)
""",
            runs=True,
        ),
        Example(
            "arguments exchanged in the last layer, seen without a run",
            before="""\
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(10, 32)
        self.out = nn.Linear(3, 32)

    def forward(self, x):
        return self.out(F.relu(self.hidden(x)))
""",
            after="""\
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(10, 32)
        self.out = nn.Linear(32, 3)

    def forward(self, x):
        return self.out(F.relu(self.hidden(x)))
""",
        ),
        Example(
            "a wide layer between narrow neighbours",
            before="""\
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(12, 24)
        self.norm = nn.BatchNorm1d(24)
        self.fc2 = nn.Linear(48, 48)
        self.fc3 = nn.Linear(24, 4)

    def forward(self, x):
        x = torch.relu(self.norm(self.fc1(x)))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


net = Classifier()
loss = nn.CrossEntropyLoss()(net(torch.randn(6, 12)), torch.randint(0, 4, (6,)))
""",
            after="""\
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(12, 24)
        self.norm = nn.BatchNorm1d(24)
        self.fc2 = nn.Linear(24, 48)
        self.fc3 = nn.Linear(48, 4)

    def forward(self, x):
        x = torch.relu(self.norm(self.fc1(x)))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


net = Classifier()
loss = nn.CrossEntropyLoss()(net(torch.randn(6, 12)), torch.randint(0, 4, (6,)))
""",
            runs=True,
        ),
        Example(
            "a convolution with its channels exchanged",
            before="""\
import torch
import torch.nn as nn

encoder = nn.Sequential(
    nn.Conv2d(3, 16, 3),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.Conv2d(32, 16, 3),
    nn.BatchNorm2d(32),
)
encoder(torch.randn(2, 3, 9, 9))
""",
            after="""\
import torch
import torch.nn as nn

encoder = nn.Sequential(
    nn.Conv2d(3, 16, 3),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.Conv2d(16, 32, 3),
    nn.BatchNorm2d(32),
)
encoder(torch.randn(2, 3, 9, 9))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "sizes that chain",
            """\
import torch.nn as nn

model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 128), nn.BatchNorm1d(128), nn.Linear(128, 5))
""",
        ),
        Reject(
            "layers that are not called in the order in which they are made",
            """\
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
""",
        ),
        Reject(
            "a flattening between the layers",
            """\
import torch
import torch.nn as nn

nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(144, 2))(torch.randn(2, 1, 8, 8))
""",
            runs=True,
        ),
    )


def _broken(subject: Subject) -> Iterator[tuple[tuple[Link, ...], Site, list[Solution]]]:
    """Chains that disagree, the place of the first disagreement, and the cheapest ways out.

    After a run only the chain that explains the crash, and only where changing the crashed layer alone is not the
    obvious answer: several edges disagree, or exchanging two arguments settles it.
    """
    if subject.trace is None:
        for links in chains(subject):
            if disagreements(links):
                place = next(n for n, (a, b) in enumerate(pairwise(links)) if a.gives != b.takes)
                yield links, links[place + 1].site, solutions(links)
        return
    conflict = size_conflict(subject)
    if conflict is None or len(conflict.value.shape or ()) < 2:
        return
    site = conflict.call.made_at
    for links in chains(subject):
        if site is None or not fits_run(links, site, conflict.received):
            continue
        arriving = conflict.received if links[0].site == site else None
        ways = solutions(links, arriving)
        if disagreements(links, arriving) > 1 or any(change.swapped for way in ways for change in way.changes):
            yield links, site, ways
        return


def _edits(subject: Subject, solution: Solution) -> tuple[Edit, ...] | None:
    edits: list[Edit] = []
    for change in solution.changes:
        found = _swap(subject, change) if change.swapped else _sizes(subject, change)
        if found is None:
            return None
        edits += found
    return tuple(edits)


def _swap(subject: Subject, change: Change) -> list[Edit] | None:
    """Exchange the texts of the two size arguments."""
    of = change.link.of
    facts = layer_facts(of)
    node = subject.node(change.link.site)
    if facts is None or facts.takes is None or facts.gives is None or node is None:
        return None
    call = subject.source.node_at(change.link.site)
    texts: list[str] = []
    for name in (facts.gives, facts.takes):
        given = argument(subject, call, of.name, name) if call is not None else None  # type: ignore[arg-type]
        if given is None:
            return None
        texts.append(subject.text(subject.source.site(given)))
    pairs = zip((facts.takes, facts.gives), texts, strict=True)
    return [SetArgument(change.link.site, name, text, argument_position(of.name, name)) for name, text in pairs]


def _sizes(subject: Subject, change: Change) -> list[Edit] | None:
    """Give the layer its new sizes, each written the likeliest way."""
    link, facts = change.link, layer_facts(change.link.of)
    if facts is None or facts.takes is None:
        return None
    edits: list[Edit] = []
    wanted = [(facts.takes, link.takes, change.takes)]
    if not link.tied and facts.gives is not None:
        wanted.append((facts.gives, link.gives, change.gives))
    for name, was, becomes in wanted:
        if was == becomes:
            continue
        plain = made_as(subject, link.of, name) is None
        ways = [way for way in size_changes(subject, link.of, name, becomes) if plain or way.written != str(becomes)]
        if not ways:
            return None
        edits += ways[0].edits
    return edits


def _title(solution: Solution) -> str:
    words = [
        f"exchange the sizes of {short(change.link.of.name)}"
        if change.swapped
        else f"make {short(change.link.of.name)} go from {change.takes} to {change.gives}"
        for change in solution.changes
    ]
    said = " and ".join(words)
    return said[0].upper() + said[1:]
