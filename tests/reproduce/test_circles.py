"""What leads back to itself, is enormous, or holds up a pattern: a plan is made of each program all the same, and soon."""

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
        "import sys\nprint(sys.argv[10000000000])\n",
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('x', nargs=10000000000)\nparser.parse_args()\n",
        FOLDER + "scores.topk(10000000000)\n",
        "import pandas as pd\nd = pd.read_csv('a.csv')\nx, y = d.iloc[:, 10000000000], d['a']\n",
        "open('%10000000000d' % 3)\nopen('%*d' % (10000000000, 3))\n",
        "open('{:10000000000d}'.format(3))\nopen('{:{}d}'.format(3, 10000000000))\n",
        "x = 'a'\n" + "x = x + x\n" * 60 + "open(x)\n",
        "x = 'a'\n" + "x = f'{x}{x}'\n" * 60 + "open(x)\n",
        "x = [0]\n" + "x = [x, x]\n" * 60 + "open('%s' % x)\nopen(f'{x}')\nopen('{}'.format(x))\nopen(str(x))\n",
        f"x = 1{'0' * 600}\nopen('%d.csv' % (x / 3))\n",
    ],
)
def test_a_plan_is_made(text: str) -> None:
    plan(Case(Source.from_bytes(text.encode(), "program.py"), (), lambda name: True, Path("/nowhere")))
