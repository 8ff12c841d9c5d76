"""Edits follow a name only as far as it means the same thing."""

from __future__ import annotations

import ast

import pytest

from dnnfix.detect.tensors.identity import same_thing
from dnnfix.source.program import Source
from dnnfix.subject import Subject

LOSSES_OF_FUNCTIONS = """\
import torch
from torch import nn

criterion = nn.MSELoss()

def train(net, loss):
    loss(net(1), 1)

def evaluate(net, loss):
    loss(net(2), 2)

def other():
    loss = nn.CrossEntropyLoss()
    loss(3, 3)

def never_called(net, loss):
    loss(net(4), 4)

train(nn.Linear(1, 1), criterion)
evaluate(nn.Linear(1, 1), loss=criterion)
criterion(5, 5)
"""

LOSSES_OF_CLASSES = """\
class Trainer:
    def step(self):
        self.loss(1, 1)
    def check(self):
        self.loss(2, 2)

class Other:
    def step(self):
        self.loss(3, 3)
"""

A_GLOBAL_AND_A_LOCAL = """\
def fit(x):
    global model
    model = make()
    model(1, x)

def local(x):
    model = make()
    def inner():
        model(2, x)
    model(3, x)

model(4, 0)
"""


@pytest.mark.parametrize(
    ("text", "kept", "groups"),
    [
        (LOSSES_OF_FUNCTIONS, "loss criterion", ["7 10 21", "14", "17"]),
        (LOSSES_OF_CLASSES, "loss", ["3 5", "9"]),
        (A_GLOBAL_AND_A_LOCAL, "model", ["4 12", "9 10"]),
    ],
)
def test_same_thing(text: str, kept: str, groups: list[str]) -> None:
    subject = Subject(Source.from_bytes(text.encode(), "program.py"))
    named = {
        call.lineno: call.func
        for call in subject.source.all_calls
        if ast.unparse(call.func).rpartition(".")[2] in kept.split() and len(call.args) == 2
    }
    found = {
        " ".join(str(b) for b in sorted(named) if a == b or same_thing(subject, named[a], named[b])) for a in named
    }
    assert found == set(groups)
