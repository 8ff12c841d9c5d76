"""What leads back to itself, and texts that a pattern could be lost in: a plan is made of each all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from dnnfix.reproduce.case import Case
from dnnfix.reproduce.plan import plan
from dnnfix.source.program import Source

FOLDER = "import torch, torchvision\npictures = torchvision.datasets.ImageFolder('pictures')\n"

CALLS = """
import torch

class Trainer:
    def __init__(self, model, optimizer, stuff):
        self.model = model
        self.one(stuff)

    def one(self, stuff):
        self.other(stuff)

    def other(self, stuff):
        self.one(stuff)

    def fit(self, data):
        self.one(data)
        for x, y in data:
            self.model(x).sum().backward()
"""

DOCSTRING = 'import tensorflow as tf\n\ndef scale(x):\n    """x: a tensor [{}"""\n    return tf.matmul(x, x)\n'


@pytest.mark.parametrize(
    "text",
    [
        FOLDER + "def best(scores, k=k):\n    return scores.topk(k)\n",
        FOLDER + "k = max(k, 3)\nscores.topk(k)\n",
        FOLDER + "sizes = (sizes, 8)\ntorchvision.transforms.Resize(sizes)\n",
        CALLS,
        DOCSTRING.format("x" * 60),
    ],
)
def test_a_plan_is_made(text: str) -> None:
    plan(Case(Source.from_bytes(text.encode(), "program.py"), (), lambda name: True, Path("/nowhere")))
