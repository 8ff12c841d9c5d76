"""What the examples of the layer-dimension templates cannot express: the choice of edits in a chain, and how sizes are written."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from dnnfix.detect.crashes.crash import sizes
from dnnfix.detect.run_rules import detect
from dnnfix.detect.tensors.chains import Link, chains, disagreements, solutions
from dnnfix.records import Candidate, Component, Finding, Json, Site
from dnnfix.registry import templates
from dnnfix.source.arithmetic import number
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.edits.sizes import size_changes
from dnnfix.testing import Bench


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


def linked(*sizes_: tuple[int, int]) -> tuple[Link, ...]:
    made = Component(1, "layer", "torch.nn.Linear")
    return tuple(Link(Site(n, 1, n, 9), made, a, b) for n, (a, b) in enumerate(sizes_, 1))


@pytest.mark.parametrize(
    ("sizes_", "arriving", "edits", "swapped"),
    [
        pytest.param([(20, 64), (128, 64), (128, 5)], None, 1, True, id="exchanged in the middle"),
        pytest.param([(20, 64), (128, 64), (128, 5)], 20, 1, True, id="the same with a known input"),
        pytest.param([(64, 784), (64, 10)], 784, 1, True, id="exchanged in the first layer"),
        pytest.param([(10, 32), (16, 3)], None, 1, False, id="one edge"),
        pytest.param([(10, 32), (16, 8), (4, 2)], None, 2, False, id="two edges"),
    ],
)
def test_the_fewest_edits_make_a_chain_agree(
    sizes_: list[tuple[int, int]], arriving: int | None, edits: int, swapped: bool
) -> None:
    links = linked(*sizes_)
    best = solutions(links, arriving)[0]
    assert len(best.changes) == edits
    assert best.changes[0].swapped is swapped
    changed = {change.link.site: change for change in best.changes}
    after = linked(*[(c.takes, c.gives) if (c := changed.get(one.site)) else (one.takes, one.gives) for one in links])
    assert disagreements(after, arriving) == 0
    assert after[-1].gives == (
        sizes_[-1][0] if changed.get(links[-1].site) and best.changes[-1].swapped else sizes_[-1][1]
    )


def test_a_chain_that_agrees_needs_no_edit() -> None:
    assert disagreements(linked((4, 8), (8, 2)), 4) == 0
    assert solutions(linked((4, 8), (8, 2)), 4) == []


def test_a_chain_ends_at_a_flattening() -> None:
    text = (
        "import torch.nn as nn\nm = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(9, 2), nn.Linear(2, 1))\n"
    )
    text += "import torch\nm(torch.zeros(1, 1, 8, 8))\n"
    found = list(chains(Subject(Source.from_bytes(text.encode(), "p.py"))))
    assert [[(link.takes, link.gives) for link in links] for links in found] == [[(9, 2), (2, 1)]]


@pytest.mark.parametrize(
    ("text", "value"),
    [("16 * 5 * 5", 400), ("2 ** 6", 64), ("n * 2", None), ("1 // 0", None), ("True", None), ("-3", -3)],
)
def test_whole_numbers_as_programs_write_them(text: str, value: int | None) -> None:
    assert number(ast.parse(text, mode="eval").body) == value


@pytest.mark.parametrize(
    ("given", "spatial", "expected"),
    [(3, 2, (3, 3)), ([3, 5], 2, (3, 5)), ([3], 2, (3, 3)), ("same", 2, None), (True, 1, None), ([1, 2, 3], 2, None)],
)
def test_sizes_of_windows(given: Json, spatial: int, expected: tuple[int, ...] | None) -> None:
    assert sizes(given, spatial) == expected


SHARED = """\
import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.fc = nn.Linear(wide, 4)


a, b = Block(6), Block(8)
a.fc(torch.zeros(1, 6))
b.fc(torch.zeros(1, 8))
"""


def test_no_number_is_written_where_one_constructor_makes_layers_of_two_sizes(bench: Bench) -> None:
    subject = Subject(Source.from_bytes(SHARED.encode(), "p.py"), bench.run(SHARED))
    layer = next(one for one in subject.network.components if one.args.get("in_features") == 6)
    written = [change.written for change in size_changes(subject, layer, "in_features", 3)]
    assert "3" not in written
    assert "wide // 2" in written


TWO_CLASSES = """\
import torch
import torch.nn as nn

flat = nn.Linear(12, 4)
flat(torch.zeros(5, 3, 4).view(-1))
"""


def test_the_size_of_a_batch_is_never_written_down(bench: Bench) -> None:
    source = Source.from_bytes(TWO_CLASSES.encode(), "p.py")
    subject = Subject(source, bench.run(TWO_CLASSES))
    found: list[tuple[Finding, bytes]] = []
    for template in templates():
        if template.code.startswith("DNF2"):
            for finding in template().detect(subject):
                for proposal in template().propose(finding, subject):
                    edits = getattr(proposal, "edits", None)
                    if edits:
                        found.append((finding, apply_edits(source, edits)))
    assert not [text for _, text in found if b"60" in text]


UP = """\
import torch
import torch.nn as nn


class Up(nn.Module):
    def __init__(self, wide, narrow):
        super().__init__()
        self.up = nn.ConvTranspose2d(wide // 2, narrow, 2, stride=2)
        self.conv = nn.Conv2d(wide, narrow, 3, padding=1)

    def forward(self, x, skip):
        return self.conv(torch.cat([skip, self.up(x)], dim=1))


Up(64, 16)(torch.randn(1, 32, 4, 4), torch.randn(1, 32, 8, 8))
"""

JOINED = """\
import torch
from torch import nn


class Joined(nn.Module):
    def __init__(self, total, words, out=5):
        super().__init__()
        self.words = nn.Linear(in_features=7, out_features=words)
        self.last = nn.Sequential(nn.Tanh(), nn.Linear(total, out))

    def forward(self, x):
        x, other = x.split([7, 12], dim=1)
        return self.last(torch.hstack((self.words(x), other)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Joined(24, 12), Joined(24, 6, out=2)

    def forward(self, x):
        return self.a(x), self.b(x)


Net()(torch.randn(3, 19))
"""

STACKED = """\
import torch
import torch.nn as nn


class Stage(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.first = nn.Conv1d(size, hidden, 1)
        self.gate = nn.Conv1d(size, size // 4, 1)
        self.second = nn.Conv1d(size, size, 1)

    def forward(self, x):
        return self.second(torch.cat([self.first(x), x[:, : -(x.size(1) // 4)]], 1)) * self.gate(x).mean()


nn.Sequential(Stage(8, 4), Stage(8, 4))(torch.randn(2, 8, 5))
"""


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        pytest.param(UP, "nn.ConvTranspose2d(wide // 2, wide // 2, 2", "narrow * 2", id="skip connection"),
        pytest.param(JOINED, "nn.Linear(in_features=7, out_features=total // 2)", "words * 2", id="second of two"),
        pytest.param(STACKED, "nn.Conv1d(size, size // 4, 1)\n        self.gate", "hidden // 2", id="written beside"),
    ],
)
def test_a_part_is_written_by_the_name_of_the_whole(text: str, right: str, wrong: str, bench: Bench) -> None:
    programs = proposed(text, bench)
    assert any(right in program for program in programs)
    assert not any(wrong in program for program in programs)


SERIES = """\
import torch
import torch.nn as nn


class Step(nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.fc = nn.Linear(wide, 4)

    def forward(self, x):
        return self.fc(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Step(6), Step(8)

    def forward(self, x):
        return self.b(self.a(x))


Net()(torch.zeros(2, 6))
"""


def test_a_formula_that_would_break_an_object_that_went_well_is_not_offered(bench: Bench) -> None:
    assert not any("wide // 2" in program for program in proposed(SERIES, bench))


def proposed(text: str, bench: Bench) -> list[str]:
    """The programs that the layer-dimension templates propose for a program after its run."""
    source = Source.from_bytes(text.encode(), "p.py")
    subject = Subject(source, bench.run(text))
    found: list[str] = []
    for template in templates():
        if template.code.startswith("DNF2"):
            for finding in template().detect(subject):
                for proposal in template().propose(finding, subject):
                    if isinstance(proposal, Candidate):
                        found.append(apply_edits(source, proposal.edits).decode())
    return found


def test_a_target_without_axes_lets_no_template_fail(bench: Bench) -> None:
    text = """\
import torch
from torch import nn
model = nn.Linear(4, 3)
loss = nn.CrossEntropyLoss()(model(torch.rand(1, 4)), torch.tensor(2))
"""
    subject = Subject(Source.from_bytes(text.encode(), "program.py"), bench.run(text))
    assert subject.crash is not None
    assert detect(subject, templates()).failures == ()


def test_a_factor_of_one_is_not_written(bench: Bench) -> None:
    text = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.out = nn.Linear(3, width), nn.Linear(width * 2, 1)
    def forward(self, x):
        return self.out(self.first(x))

Net(4)(torch.rand(2, 3))
"""
    subject = Subject(Source.from_bytes(text.encode(), "net.py"), bench.run(text))
    call = next(one for one in subject.network.components if one.args.get("in_features") == 8)
    assert "width" in [change.written for change in size_changes(subject, call, "in_features", 4)]
    assert not any("* 1" in change.written for change in size_changes(subject, call, "in_features", 4))
