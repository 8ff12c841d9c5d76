"""An edit that reaches out of the program is none, and one that repairs it is."""

from __future__ import annotations

import pytest

from dnnfix.proposer.reach import reaches_out
from dnnfix.source.program import Source

BEFORE = """import os
import numpy as np
import torch
from torch import nn

os.makedirs("out", exist_ok=True)
model = nn.Linear(8, 16)
print(model(torch.zeros(3, 9)))
open("out/log.txt", "w").write("done")
"""
LINE = "model = nn.Linear(8, 16)"


def reached(new: str) -> str:
    before, after = (Source.from_bytes(text.encode(), "train.py") for text in (BEFORE, BEFORE.replace(LINE, new)))
    return reaches_out(before, after)


@pytest.mark.parametrize(
    "new",
    [
        "import os; os.remove(__file__); model = nn.Linear(9, 16)",
        "os.system('rm -rf ~')",
        "os.makedirs('out', exist_ok=True); os.makedirs('more')",
        "remove = os.remove; remove(__file__)",
        "from os import remove",
        "from os import *",
        "import subprocess; subprocess.run(['touch', 'x'])",
        "from subprocess import run as r",
        "torch.os.remove('x')",
        "torch.hub.load('a/b', 'c')",
        "np.os.system('x')",
        "open('beside.txt', 'w')",
        "model = open",
        "torch.save(model, 'x')",
        "np.save('x', np.zeros(3))",
        "exec('import os')",
        "__import__('os').remove('x')",
        "getattr(torch, 'o' + 's')",
        "().__class__.__base__.__subclasses__()",
        "print.__self__",
        "model = __builtins__['open']('x')",
        "print = lambda *words: None",
        "def print(*words): pass",
        "import requests",
        "print('x' * 10**9)",
        "import sys; sys.stdout = None",
        "import pickle",
        "import ctypes",
        "model.write_text('x')",
        "import atexit",
        "import torch.utils.cpp_extension",
        "del print",
        "import builtins; builtins.print = None",
        "import torch.utils.collect_env; torch.utils.collect_env.run('touch x')",
        "from torch.utils import collect_env",
        "aside = torch.utils; aside.collect_env.run('touch x')",
        "aside = torch; aside.utils.collect_env.run('touch x')",
        "np.memmap('x', mode='w+', shape=(3,))",
        "reader = torch.load",
        "import logging; logging.FileHandler('x')",
        "import pandas as pd; pd.read_csv('http://example.org/x')",
        "np.loadtxt('http://example.org/x')",
        "import matplotlib.pyplot as plt; plt.savefig('x')",
        "torch.from_file('x', shared=True, size=3)",
        "import zipfile; zipfile.ZipFile('x', 'w')",
        "import gzip",
        "import timeit; timeit.timeit('print()')",
        "import cProfile; cProfile.run('print()')",
        "from numpy.testing import runstring",
        "np.f2py.compile('x')",
        "from itertools import repeat as print",
        "from torch import numel as len",
        "from numpy import empty as range",
        "class range(list): pass",
        "async def print(): pass",
        "try:\n    pass\nexcept Exception as print:\n    pass",
        "def f(print): pass",
        "from torch import *",
        "import yaml",
        "from transformers import AutoModel",
        "model.save('x')",
    ],
)
def test_what_reaches_out_of_the_program_is_named(new: str) -> None:
    assert reached(new)


@pytest.mark.parametrize(
    "new",
    [
        LINE,
        "",
        "model = nn.Linear(9, 16)",
        "model = nn.Sequential(nn.Linear(9, 16), nn.ReLU())",
        "import math; model = nn.Linear(math.prod((3, 3)), 16)",
        "import torch.nn.functional as F\nmodel = nn.Linear(torch.zeros(3, 9).shape[-1], 16).to(torch.float32)",
        "model = nn.Linear(9, 16)\nmodel.load_state_dict({**model.state_dict()})",
        "input = torch.zeros(3, 9); model = nn.Linear(input.shape[1], 16); id = input",
        "import os.path as p; model = nn.Linear(len(os.path.join('a', 'b')) + 6, 16)",
        "class Net(nn.Module):\n    def __init__(self, size):\n        super().__init__()\n        self.a = nn.Linear(size, 16)\n    def forward(self, x):\n        return self.a(x)\nmodel = Net(9)",
        "import tensorflow.compat.v1 as tf; model = tf.keras.layers.Dense(16, activation=tf.nn.relu)",
        "from keras.utils import to_categorical; from sklearn.preprocessing import StandardScaler",
        "from torch.nn.utils.rnn import pack_padded_sequence; from torch.utils.data import DataLoader; np.random.rand(3).astype(np.float32)",
        "class Net(nn.Module):\n    def __init__(self):\n        nn.Module.__init__(self)\n        self.code = torch.Tensor.view",
        "from __future__ import annotations",
        "import tensorflow as tf; tf.contrib.rnn.BasicLSTMCell(3); tf.train.AdamOptimizer(0.1); tf.data.Dataset.from_tensor_slices(3)",
        "model = nn.Linear(9, 16); y = list(model.parameters()); y.remove(y[0]); isinstance(y, list)",
    ],
)
def test_what_repairs_a_program_reaches_nowhere(new: str) -> None:
    assert reached(new) == ""


def test_what_the_program_does_already_may_stand_elsewhere() -> None:
    moved = BEFORE.replace('os.makedirs("out", exist_ok=True)\n', "").replace(
        LINE, f'os.makedirs("out", exist_ok=True)\n{LINE}'
    )
    before, after = (Source.from_bytes(text.encode(), "train.py") for text in (BEFORE, moved))
    assert reaches_out(before, after) == ""
