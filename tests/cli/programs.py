"""Programs that the tests of the command line work on, and what a call gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Said(NamedTuple):
    """What one call did."""

    code: int
    out: str
    err: str


Call = Callable[..., Said]


FAULTY = """import torch
from torch import nn

model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 10), nn.Softmax(dim=1))
loss_fn = nn.CrossEntropyLoss()
loss = loss_fn(model(torch.randn(32, 20)), torch.randint(0, 10, (32,)))
"""
"""A program with one fault that the source shows: softmax before a loss that applies it (DNF301, line 4)."""

HEALTHY = "import torch\n\nprint(torch.zeros(3))\n"
