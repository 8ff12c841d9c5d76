"""What rests on a loss that a scaffold made up is no finding about the program."""

from __future__ import annotations

import pytest

from dnnfix.records import Family, Finding, Scaffold, Site
from dnnfix.reproduce.harness.made_losses import rests_on_made_loss
from dnnfix.source.program import Source

HANDED = """\
import torch.nn.functional as F


def train(model, batches, criterion):
    for x, y in batches:
        loss = criterion(F.softmax(model(x), 1), y)
        loss.backward()
"""
OWN = HANDED.replace(", criterion):", "):\n    criterion = torch.nn.NLLLoss()").replace(
    "import", "import torch\nimport", 1
)
CALLED = Scaffold(end="train(**_made_given)")


def finding(text: str, code: str) -> Finding:
    """A finding about the first place of a program that reads so."""
    line = next(number for number, each in enumerate(text.splitlines(), 1) if code in each)
    start = text.splitlines()[line - 1].index(code) + 1
    return Finding("DNF1", "", Family.LOSS_ACTIVATION, Site(line, start, line, start + len(code)), "")


@pytest.mark.parametrize(
    ("text", "code", "scaffold", "rests"),
    [
        (HANDED, "criterion(F.softmax(model(x), 1), y)", CALLED, True),
        (HANDED, "F.softmax(model(x), 1)", CALLED, True),
        (HANDED, "loss.backward()", CALLED, False),
        (HANDED, "F.softmax(model(x), 1)", Scaffold(), False),
        (OWN, "F.softmax(model(x), 1)", CALLED, False),
    ],
    ids=["its call", "what goes into it", "elsewhere", "nothing was called for it", "the program says which"],
)
def test_a_finding_rests_on_a_loss_that_was_handed_in(text: str, code: str, scaffold: Scaffold, rests: bool) -> None:
    source = Source.from_bytes(text.encode(), "train.py")
    assert rests_on_made_loss(finding(text, code), source, scaffold) is rests
