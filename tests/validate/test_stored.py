"""Whether a program begins its training with stored weights, told from its text."""

from __future__ import annotations

import pytest

from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.stored_weights import begins_with_stored

PROGRAM = """\
import argparse, os, torch
parser = argparse.ArgumentParser()
parser.add_argument("--resume", default="")
parser.add_argument("--load", default="no")
options = parser.parse_args()
net = torch.nn.Linear(4, 2)
{before}
for x, y in loader:
    net(x).sum().backward()
{after}
"""
LOAD = 'net.load_state_dict(torch.load("net.pt"))'


@pytest.mark.parametrize(
    ("before", "after", "stored"),
    [
        ("", "", False),
        (LOAD, "", True),
        (f'if os.path.exists("net.pt"):\n    {LOAD}', "", True),
        ("", LOAD, False),
        (f"if options.resume:\n    {LOAD}", "", False),
        (f'if os.path.exists("net.pt") and options.load == "yes":\n    {LOAD}', "", False),
        (f'if options.load == "no":\n    {LOAD}', "", True),
        (f"if options.resume:\n    pass\nelse:\n    {LOAD}", "", True),
        ("net = torchvision.models.resnet18(pretrained=True)", "", True),
    ],
)
def test_weights_that_are_read_before_training(before: str, after: str, stored: bool) -> None:
    source = Source.from_bytes(PROGRAM.format(before=before, after=after).encode(), "program.py")
    backward = next(call for call in source.all_calls if source.segment(source.site(call)).endswith(".backward()"))
    assert begins_with_stored(Subject(source), source.site(backward)) is stored


SAVED = """\
import torch
def train(net):
    for x, y in loader:
        net(x).sum().backward()
    torch.save(net.state_dict(), "net.pt")
def predict():
    net = torch.nn.Linear(4, 2)
    net.load_state_dict(torch.load("net.pt"))
    return net(x)
{calls}
"""


@pytest.mark.parametrize(
    ("calls", "stored"),
    [
        ("train(torch.nn.Linear(4, 2))\npredict()", False),
        ("predict()\ntrain(torch.nn.Linear(4, 2))", True),
        ("for _ in range(3):\n    train(torch.nn.Linear(4, 2))\n    predict()", True),
        ("def main():\n    train(torch.nn.Linear(4, 2))\n    predict()\nmain()", False),
    ],
)
def test_what_training_saved_is_read_in_a_function_of_its_own(calls: str, stored: bool) -> None:
    source = Source.from_bytes(SAVED.format(calls=calls).encode(), "program.py")
    backward = next(call for call in source.all_calls if source.segment(source.site(call)).endswith(".backward()"))
    assert begins_with_stored(Subject(source), source.site(backward)) is stored
