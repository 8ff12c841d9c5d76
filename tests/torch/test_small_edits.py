"""The search over small edits at a crash, on whole programs: what it repairs, and what it leaves alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dnnfix.config import Settings
from dnnfix.pipeline import suggest_file, verify_certificate
from dnnfix.pipeline.runs import laboratory_for
from dnnfix.records import UNEXPLAINED_CODE, PatchVerdict, Replace
from dnnfix.run.job import Speculation
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.operators.change import NUMBER
from dnnfix.synthesize.scene import scenes_of
from dnnfix.synthesize.small_edits import Guess, guesses
from tests.slow import slow_after

MARGINS = """\
import torch
from torch import nn


class Contour(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 6, 3, padding=1)
        self.second = nn.Conv2d(6, 6, 3)
        self.down = nn.MaxPool2d(2)
        self.deep = nn.Conv2d(6, 8, 3, padding=1)
        self.up = nn.ConvTranspose2d(8, 6, 2, stride=2)
        self.last = nn.Conv2d(12, 1, 1)

    def forward(self, x):
        x = torch.relu(self.first(x))
        wide = torch.relu(self.second(x))
        deep = torch.relu(self.deep(self.down(x)))
        return self.last(torch.cat([self.up(deep), wide], dim=1))


torch.manual_seed(1)
pictures = torch.rand(32, 1, 16, 16)
masks = (pictures > 0.5).float()
net = Contour()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(30):
    optimizer.zero_grad()
    loss = nn.functional.binary_cross_entropy_with_logits(net(pictures), masks)
    loss.backward()
    optimizer.step()
print("loss", loss.item())
"""

LAST_BATCH = """\
import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self, batch):
        super().__init__()
        self.batch = batch
        self.read = nn.GRU(2, 5, batch_first=True)
        self.score = nn.Linear(5, 1)

    def begin(self, count):
        return torch.zeros(1, count, 5)

    def forward(self, rows):
        read, _ = self.read(rows, self.begin(self.batch))
        return self.score(read[:, -1]) / rows.size(0)


rows, wanted = torch.rand(20, 4, 2), torch.rand(20, 1)
net = Reader(8)
optimizer = torch.optim.Adam(net.parameters())
for turn in range(2):
    for start in range(0, 20, 8):
        loss = (net(rows[start:start + 8]) - wanted[start:start + 8]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
"""

CELL = """\
import torch
from torch import nn


class Turns(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(2, 4)
        self.score = nn.Linear(4, 1)

    def forward(self, seen):
        state = torch.zeros(len(seen), 4)
        kept = torch.zeros(len(seen), 4)
        for turn in range(seen.shape[1]):
            state = self.cell(seen[:, turn], (state, kept))
        return self.score(state)


print(Turns()(torch.rand(6, 3, 2)).mean())
"""

GENERATOR = """\
import numpy as np
import torch
from scipy.sparse import csr_matrix

samples = csr_matrix(np.eye(12, 4, dtype="float32"))


def batches(size):
    for start in range(0, 12, size):
        rows = slice(start, start + size)
        yield samples[rows], rows


total = 0.0
for batch, rows in batches(4):
    total += torch.tensor(batch).sum().item()
for batch, rows in batches(6):
    total += torch.tensor(batch).mean().item()
print(total, samples.nnz)
"""

FILES = {
    "net.py": """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, 8)
        self.last = nn.Linear(16, 1)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))
""",
    "program.py": """\
import torch

from net import Net

torch.manual_seed(1)
x, net = torch.rand(32, 4), Net(4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    loss = ((net(x) - x.sum(1, keepdim=True)) ** 2).mean()
    loss.backward()
    optimizer.step()
print(loss.item())
""",
}

REPAIRED = {
    "a list that is divided": (
        "import numpy as np\n\nlosses = [0.5, 0.25]\nprint(np.mean(losses / 2))\n",
        "np.array(losses) / 2",
    ),
    "a map that is counted": (
        'import torch\n\nlengths = map(len, ["one", "three"])\nprint(torch.zeros(len(lengths)))\n',
        "list(",
    ),
    "a real number as a size": ("import numpy as np\n\nhalf = 9 / 2\nprint(np.zeros(half).sum())\n", "int("),
    "the axis of the channel": (
        (
            "import torch\n\ngrey = torch.rand(4, 12, 12)\ncolor = torch.rand(4, 2, 12, 12)\n"
            "print(torch.cat([grey, color], 1).shape)\n"
        ),
        "grey.unsqueeze(1)",
    ),
    "a parameter of the constructor that is not kept": (
        (
            "import torch\n\n\nclass Wave(torch.nn.Module):\n    def __init__(self, pitch=3.0):\n        super().__init__()\n"
            "        self.bias = torch.nn.Parameter(torch.zeros(1))\n\n    def forward(self, x):\n"
            "        return torch.sin(x * pitch) / pitch + self.bias\n\n\nprint(Wave()(torch.ones(2)).sum().item())\n"
        ),
        "(x * self.pitch) / self.pitch + self.bias",
    ),
    "an object for another that has what it is asked for": (
        (
            "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n\nsamples = TensorDataset(torch.ones(4, 2))\n"
            "loader = DataLoader(samples, batch_size=2)\n\n\ndef seen(source):\n    return source.batch_size * len(source)\n\n\n"
            "print(seen(samples), len(samples))\n"
        ),
        "seen(loader)",
    ),
    "a misspelt function": ("import torch\n\nprint(torch.linspaces(0, 1, 5))\n", "torch.linspace(0, 1, 5)"),
    "a value that a generator gives": (GENERATOR, "yield samples[rows].toarray(), rows"),
    "a function that gives nothing back": (
        "import torch\n\n\ndef scaled(x):\n    x = x / x.max()\n    x = x - 0.5\n\n\nprint(scaled(torch.arange(6.0)).sum())\n",
        "return x",
    ),
    "a function of a module below": (
        "import torch\n\nprint(torch.softplus(torch.arange(4.0)).mean())\n",
        "torch.nn.functional.softplus(",
    ),
    "an import of a name that is written otherwise": (
        "from torch.nn import Linears\n\nprint(Linears(3, 2).in_features)\n",
        "Linear(3, 2)",
    ),
    "an argument too many": (
        "import numpy as np\nimport torch\n\nprint(torch.manual_seed(3, 'all').initial_seed())\n",
        "torch.manual_seed(3)",
    ),
    "an argument that is called as another parameter": (
        "import torch\n\nsize, dropout = 4, 0.0\nnet = torch.nn.GRU(3, size, 1, dropout)\nprint(net(torch.rand(2, 5, 3))[0].shape)\n",
        "torch.nn.GRU(3, size, 1, dropout=dropout)",
    ),
    "several arguments too many": (
        "import torch\n\n\ndef doubled(x):\n    return 2 * x\n\n\nx = torch.rand(4, 3)\nprint(doubled(x, 4, 3).shape)\nprint(doubled(x + 1, 4, 3).shape)\n",
        "doubled(x)",
    ),
    "what a loop goes through, reshaped for nothing": (
        "import numpy as np\n\npairs = np.arange(6.0).reshape(2, 3)\npairs.reshape(3, 2)\nfor low, high in pairs:\n    print(high - low)\n",
        "pairs = pairs.reshape(3, 2)",
    ),
    "a list that was to be several arguments, at two places": (
        (
            "import torch\n\n\nclass Pair:\n    def __init__(self, low, high):\n        self.middle = (low + high) / 2\n\n\n"
            "one = Pair([torch.ones(2), torch.zeros(2)])\nother = Pair([torch.ones(2), torch.ones(2)])\nprint(one.middle + other.middle)\n"
        ),
        "other = Pair(torch.ones(2), torch.ones(2))",
    ),
    "a pair that a function gives, for two arguments": (
        (
            "import torch\n\n\ndef drawn():\n    return torch.rand(3), torch.rand(3)\n\n\ndef error(given, wanted):\n"
            "    return (given - wanted).square().mean()\n\n\nprint(error(drawn()))\n"
        ),
        "error(*drawn())",
    ),
    "a mask that may be left out": (
        (
            "import torch\n\n\nclass Mean(torch.nn.Module):\n    def forward(self, x, mask):\n        if mask is not None:\n            x = x[mask]\n"
            "        return x.mean()\n\n\nprint(Mean()(torch.ones(3)))\n"
        ),
        "mask=None",
    ),
    "an argument that a constructor forgets": (
        (
            "import torch\n\n\nclass Scaled(torch.nn.Module):\n    def __init__(self, by):\n        super().__init__()\n        self.shift = 1.0\n\n"
            "    def forward(self, x):\n        return self.by * x + self.shift\n\n\nprint(Scaled(2.0)(torch.ones(3)))\n"
        ),
        "self.by = by",
    ),
    "the one attribute that has the method asked for": (
        (
            "import torch\n\n\nclass Trainer:\n    def __init__(self):\n        self.steps = 3\n        self.classifier = torch.nn.Linear(3, 2)\n\n"
            "    def prepare(self):\n        self.net.train()\n        return self.steps\n\n\nprint(Trainer().prepare())\n"
        ),
        "self.classifier.train()",
    ),
    "an element of a layer that has none, where those before had": (
        (
            "from torch import nn\n\nparts = [nn.Sequential(nn.Linear(4, 3), nn.ReLU()), nn.Sequential(nn.Linear(3, 3), nn.Tanh()), nn.Linear(3, 2)]\n"
            "for part in parts:\n    nn.init.zeros_(part[0].bias)\nprint(sum(part[0].bias.sum() for part in parts[:2]))\n"
        ),
        "nn.init.zeros_((part[0] if isinstance(part, nn.Sequential) else part).bias)",
    ),
    "a number for a tensor, in a program that prints how long it took": (
        (
            "import time\n\nimport torch\nimport torch.nn.functional as F\n\n\ndef error(scores, labels, weight):\n"
            "    return F.binary_cross_entropy_with_logits(scores, labels, pos_weight=weight)\n\n\nnet = torch.nn.Linear(5, 5)\n"
            "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\nfor _ in range(3):\n    begun = time.time()\n    optimizer.zero_grad()\n"
            "    loss = error(net(torch.eye(5)), torch.eye(5), 20.0 / 5)\n    loss.backward()\n    optimizer.step()\n"
            "    print(loss.item(), time.time() - begun)\n"
        ),
        "torch.tensor(",
    ),
    "tensors on two devices": (
        "import torch\n\nplace = torch.device('meta')\nfar, near = torch.rand(3, device=place), torch.zeros(3)\nprint((far + near).shape)\n",
        "near.to(place)",
    ),
    "an argument behind the wrong bracket": (
        (
            "import torch\n\nlayers = []\nlayers.append(torch.nn.Linear(3, 2), bias=False)\n"
            "print(layers[0](torch.rand(4, 3)).shape)\n"
        ),
        "layers.append(torch.nn.Linear(3, 2, bias=False))",
    ),
    "a condition that is about the whole pair": (
        (
            "import torch\n\nfound = iter([torch.ones(2)])\nlast = torch.zeros(2)\nfor step in range(3):\n"
            "    pair = next(found), last if step == 0 else None\n    print(step, pair)\n"
        ),
        "pair = (next(found), last) if step == 0 else None",
    ),
    "a question asked before there is an answer": (
        (
            "import torch\n\n\ndef scaled(x, weights=None):\n    assert weights.dim() == x.dim()\n    if weights is None:\n"
            "        weights = torch.full_like(x, 2)\n    return x * weights\n\n\nprint(scaled(torch.rand(4)).sum())\n"
        ),
        "assert weights.dim() == x.dim()",
    ),
    "an axis left out": (
        "import torch\n\nscores = torch.rand(5)\nprint(scores.softmax().max())\n",
        "scores.softmax(dim=-1)",
    ),
    "a bound too many": (
        "import torch\n\nimage = torch.rand(1, 3, 6, 8)\nheight, width = image.shape[2:3]\nprint(height * width)\n",
        "image.shape[2:]",
    ),
    "keys that are written otherwise": (
        (
            'import torch\n\noptions = {"hidden_size": 4, "depth": 2}\nfirst = torch.zeros(2, options["lstm_hidden_size"])\n'
            'second = torch.ones(3, options["lstm_hidden_size"])\nprint(first.sum() + second.sum())\n'
        ),
        "second = torch.ones(3, options['hidden_size'])",
    ),
    "the truth of an array": (
        "import torch\n\nfirst = True\nx = torch.rand(2, 3)\ny = first and x or torch.relu(x)\nprint(y.sum())\n",
        "y = x if first else torch.relu(x)",
    ),
    "more samples promised than there are": (
        (
            "import torch\nfrom torch.utils.data import DataLoader, Dataset\n\n\nclass Rows(Dataset):\n"
            "    def __init__(self):\n        self.rows = [torch.full((2,), float(n)) for n in range(12)]\n\n"
            "    def __getitem__(self, index):\n        return self.rows[index]\n\n    def __len__(self):\n        return 500\n\n\n"
            "for batch in DataLoader(Rows(), batch_size=4):\n    print(batch.sum())\n"
        ),
        "return len(self.rows)",
    ),
    "a class above that is not constructed": (
        (
            "import torch\n\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n        self.layer = torch.nn.Linear(3, 1)\n\n"
            "    def forward(self, x):\n        return self.layer(x)\n\n\nprint(Net()(torch.rand(5, 3)).shape)\n"
        ),
        "super().__init__()",
    ),
    "values that nothing takes": (
        "import torch\n\nfor row in [(1.0, 2.0, 'a'), (3.0, 4.0, 'b')]:\n    x, y = row\n    print(torch.tensor([x, y]).sum())\n",
        "x, y, _ = row",
    ),
    "a size that another name holds": (
        (
            "import torch\n\n\nclass Scale(torch.nn.Module):\n    def __init__(self, size):\n        super().__init__()\n"
            "        self.gain = torch.nn.Parameter(torch.ones(size))\n\n    def forward(self, x):\n        return self.gain * x\n\n\n"
            "hidden = 6\nwhole = 12\nlast = torch.nn.Sequential(Scale(hidden), torch.nn.Linear(hidden, 3))\n"
            "print(last(torch.rand(4, 12)).shape)\n"
        ),
        "Scale(whole), torch.nn.Linear(whole, 3)",
    ),
    "a keyword of a function without a signature": (
        "import torch\n\nprint(torch.ones(3, 4, dytpe=torch.bool).triu(1).sum())\n",
        "dtype=torch.bool",
    ),
    "several arguments in place of one that holds them": (
        "import keras\n\nkeras.Sequential([keras.Input((12,)), keras.layers.Reshape(3, 4)]).summary()\n",
        "keras.layers.Reshape((3, 4))",
    ),
    "a list where a tuple is asked for": (
        (
            "import torch\n\n\ndef mean(batch):\n    if isinstance(batch, tuple):\n        batch = batch[0]\n"
            "    return batch.mean(dim=1)\n\n\nprint(mean([torch.rand(4, 3), torch.rand(4)]).shape)\n"
        ),
        "isinstance(batch, (tuple, list))",
    ),
    "a dot for what is a name": (
        (
            "import torch\n\n\ndef rows(index, dim, dim_size=None):\n    if dim_size is None:\n        dim_size = 4\n"
            "    return torch.zeros(dim.size).index_add_(dim, index, torch.ones(3))\n\n\nprint(rows(torch.arange(3), 0))\n"
        ),
        "torch.zeros(dim_size)",
    ),
    "super of no object": (
        (
            "import torch\n\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super(Net).__init__()\n"
            "        self.layer = torch.nn.Linear(3, 1)\n\n    def forward(self, x):\n        return self.layer(x)\n\n\n"
            "print(Net()(torch.rand(5, 3)).shape)\n"
        ),
        "super().__init__()",
    ),
    "a last batch that is smaller": (LAST_BATCH, "self.begin(rows.size(0))"),
    "a pair that a cell gives, taken for one in the round before": (
        CELL,
        "state, kept = self.cell(seen[:, turn], (state, kept))",
    ),
    "a number where gradients flow": (
        (
            "import torch\n\nlayer = torch.nn.Linear(3, 1)\nkept = []\nfor row in torch.rand(4, 3):\n"
            "    kept.append(layer(row).sum().item())\nloss = torch.stack([torch.as_tensor(one) for one in kept]).mean()\n"
            "loss.backward()\nprint(layer.weight.grad.sum())\n"
        ),
        "kept.append(layer(row).sum())",
    ),
    "a copy in the place of a parameter": (
        (
            "import torch\n\nfirst, last = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)\nlast.weight = first.weight.clone()\n"
            "print(last(first(torch.rand(2, 3))).shape)\n"
        ),
        "last.weight = first.weight",
    ),
    "a method in a list, where its value was meant": (
        (
            "import torch\n\n\ndef turn(rows):\n    seen = []\n    for row in rows:\n        loss = (row * row).mean()\n"
            "        seen.append(loss.item)\n    return seen\n\n\nlosses = turn(torch.rand(4, 3))\nprint(sum(losses) / len(losses))\n"
        ),
        "seen.append(loss.item())",
    ),
    "windows up to one beyond the end": (
        (
            "import torch\n\n\nclass Windows(torch.utils.data.Dataset):\n    def __init__(self, series):\n        self.series = series\n\n"
            "    def __len__(self):\n        return len(self.series) - 5 + 1\n\n    def __getitem__(self, at):\n"
            "        return self.series[at:at + 5], self.series[at + 5]\n\n\n"
            "for past, following in torch.utils.data.DataLoader(Windows(torch.arange(30.0)), batch_size=4):\n"
            "    print(past.shape, following.sum())\n"
        ),
        "return len(self.series) - 5",
    ),
    "rows for what is not counted": (
        (
            "import torch\n\nwords = {}\nfor word in 'a net of a few words'.split():\n    words.setdefault(word, len(words) + 2)\n"
            "rows = len(words)\ntable = torch.nn.Embedding(rows, 3)\nprint(table(torch.tensor(list(words.values()))).shape)\n"
        ),
        "torch.nn.Embedding(rows + 2, 3)",
    ),
    "both directions of a recurrent layer": (
        (
            "import torch\n\n\nclass Tagger(torch.nn.Module):\n    def __init__(self, wide):\n        super().__init__()\n"
            "        self.read = torch.nn.GRU(3, wide, batch_first=True, bidirectional=True)\n"
            "        self.mix = torch.nn.Conv1d(wide, 2, 1)\n\n    def forward(self, seen):\n"
            "        return self.mix(self.read(seen)[0].transpose(1, 2))\n\n\nprint(Tagger(6)(torch.rand(4, 5, 3)).shape)\n"
        ),
        "torch.nn.Conv1d(2 * wide, 2, 1)",
    ),
    "results that are thrown away": (
        (
            "import torch\n\nrows = torch.rand(4, 6)\nrows.reshape(4, 2, 3)\nrows.transpose(1, 2)\n"
            "print(torch.nn.Conv1d(3, 1, 1)(rows).shape)\n"
        ),
        "rows = rows.transpose(1, 2)",
    ),
    "an argument left out between others": (
        (
            "import torch\n\n\ndef draw(model, letters, first, count):\n    seen = first\n    for _ in range(count):\n"
            "        seen += letters[int(model(torch.rand(1, 3)).argmax()) % len(letters)]\n    return seen\n\n\n"
            "model, letters = torch.nn.Linear(3, 5), 'abcde'\nprint(draw(model, 'ab', 20))\n"
        ),
        "draw(model, letters, 'ab', 20)",
    ),
    "what a part of an object has": (
        (
            "import torch\n\n\nclass Book(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.rows = torch.nn.Embedding(5, 3)\n\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n        self.book = Book()\n\n\nnet = Net()\nprint(net.rows.weight.shape)\n"
        ),
        "net.book.rows.weight",
    ),
    "a constructor of another class": (
        (
            "import keras\n\n\nclass Last(keras.layers.Layer):\n    def __init__(self):\n"
            "        super(keras.layers.Layer, self).__init__()\n\n    def call(self, x):\n        return x[:, -1]\n\n\n"
            "print(Last()(keras.ops.ones((2, 3, 4))).shape)\n"
        ),
        "super().__init__()",
    ),
    "a function of a module that is gone": (
        "import numpy as np\nfrom scipy.sparse.linalg.eigen.arpack import eigsh\n\nprint(eigsh(np.eye(6), k=2)[0])\n",
        "from scipy.sparse.linalg",
    ),
    "a value that only the loop gives": (
        (
            "import torch\n\n\ndef play(rounds):\n    total = 0.0\n    for n in range(rounds):\n        while not done:\n"
            "            total += float(torch.rand(1))\n            done = total > n\n    return total\n\n\nprint(play(3))\n"
        ),
        "done = False",
    ),
    "a text with more places than values": (
        "import torch\n\nfor n in range(2):\n    print('round {:d} | {:.2f} ({}/{})'.format(n, float(torch.rand(1))))\n",
        "'round {:d} | {:.2f}'.format",
    ),
    "a method that has to be called first": (
        (
            "import torch\n\n\nclass Mean:\n    def begin(self):\n        self.parts = []\n\n    def take(self, x):\n"
            "        self.parts.append(x)\n        return torch.stack(self.parts).mean()\n\n\nprint(Mean().take(torch.ones(3)))\n"
        ),
        "self.begin()",
    ),
    "statistics that lose their axis": (
        (
            "import torch\n\nx = torch.rand(8, 32)\n"
            "x = (x - torch.mean(x, 1).expand_as(x)) / torch.std(x, 1).expand_as(x)\nprint(x.shape)\n"
        ),
        "(x - torch.mean(x, 1, keepdim=True).expand_as(x)) / torch.std(x, 1, keepdim=True).expand_as(x)",
    ),
    "a layer under another name": (
        (
            "import torch\n\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.head_out = torch.nn.Linear(4, 2)\n\n    def forward(self, x):\n        return self.head(x)\n\n\n"
            "print(Net()(torch.rand(3, 4)).shape)\n"
        ),
        "return self.head_out(x)",
    ),
    "a layer on a model": (
        (
            "import keras\n\nx = keras.Input((4,))\nbody = keras.Model(x, keras.layers.Dense(3)(x))\n"
            "y = keras.layers.Dense(2)(body)\nprint(keras.Model(x, y).count_params())\n"
        ),
        "keras.layers.Dense(2)(body.output)",
    ),
    "a mask that is turned by subtraction": (
        (
            "import torch\n\n\ndef outside(rows, seen):\n    return rows * (1 - seen)\n\n\n"
            "rows = torch.rand(4, 3)\nprint(outside(rows, rows > 0.5).sum())\n"
        ),
        "~seen",
    ),
    "an attribute that nothing reads, where another one is missing": (
        (
            "import torch\n\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.body = torch.nn.Linear(3, 4)\n        self.out_of_classes = torch.nn.Linear(4, 2)\n\n"
            "    def forward(self, x):\n        return self.last(torch.relu(self.body(x)))\n\n\n"
            "print(Net()(torch.ones(5, 3)).shape)\n"
        ),
        "self.out_of_classes(torch",
    ),
    "a method of the class above without its last letters": (
        (
            "import torch\n\n\nclass Net(torch.nn.Linear):\n    def __init__(self):\n        super().__init(3, 2)\n\n\n"
            "print(Net()(torch.ones(5, 3)).shape)\n"
        ),
        "super().__init__(3, 2)",
    ),
    "a convolution without the margins of its siblings": (MARGINS, "nn.Conv2d(6, 6, 3, padding=1)"),
    "a default for an element": (
        (
            "import torch\n\nheld = [None, torch.rand(3)]\n\n\ndef taken(place):\n    state = held[place] or torch.zeros(3)\n"
            "    return state + 1\n\n\nprint(taken(0).sum().item(), taken(1).sum().item())\n"
        ),
        "state = held[place] if held[place] is not None else torch.zeros(3)",
    ),
    "a range over a list": (
        (
            "import torch\n\nwidths = [4, 3, 2]\nlayers = torch.nn.ModuleList()\nfor place in range(1, widths + 0):\n"
            "    layers.append(torch.nn.Linear(widths[place - 1], widths[place]))\nprint(len(layers))\n"
        ),
        "for place in range(1, len(widths) + 0):",
    ),
    "a mark that names may not have": (
        (
            "from torch import nn\n\nnet = nn.Sequential()\nfor place in range(2):\n"
            '    net.add_module("layer.{}".format(place), nn.Linear(3, 3))\n    net.add_module("relu.{}".format(place), nn.ReLU())\n'
            'net.add_module("last", nn.Linear(3, 1))\nprint(len(net))\n'
        ),
        'net.add_module("relu_{}".format(place), nn.ReLU())',
    ),
    "the number of a number": (
        "import torch\n\nrows = torch.rand(5, 3)\nsteps = rows.shape[1].value\nprint(rows.sum().item() / steps)\n",
        "steps = rows.shape[1]",
    ),
    "a weight that is computed anew": (
        (
            "import torch\n\nx, y = torch.arange(4.0), 2 * torch.arange(4.0)\nw = torch.zeros(1, requires_grad=True)\nfor _ in range(20):\n"
            "    loss = ((w * x - y) ** 2).mean()\n    loss.backward()\n    with torch.no_grad():\n        w = w - 0.01 * w.grad\n    w.grad.zero_()\n"
        ),
        "w -= 0.01 * w.grad",
    ),
}

LEFT_ALONE = {
    "a crash without values": 'import torch\n\nraise RuntimeError("nothing to train on")\n',
    "classes chosen over the batch": (
        "import torch\n\nscores, labels = torch.rand(20, 3), torch.randint(0, 3, (20,))\n"
        "print((scores.argmax(0) == labels).float().mean())\n"
    ),
    "a row too many": (
        "import numpy as np\n\nsamples = np.random.rand(5, 8)\nfor i in range(6):\n    print(samples[i].sum())\n"
    ),
    "an array without the method that is called": (
        "import numpy as np\n\nsamples = np.random.rand(20, 5)\nprint(samples.append(np.ones(5)))\n"
    ),
    "arrays of other sizes": (
        "import numpy as np\n\nscores = np.zeros((20, 5))\nprint((scores - np.ones((20, 3))).sum())\n"
    ),
    "a layer that worked before": (
        "import keras\n\nencoded = 8\nwords = keras.Input((20,))\nhidden = keras.layers.Dense(encoded)(words)\n"
        "wide = keras.layers.Dense(16)(hidden)\nlast = keras.layers.Dense(20)\nwhole = keras.Model(words, last(wide))\n"
        "code = keras.Input((encoded,))\ndecoder = keras.Model(code, last(code))\nprint(decoder.count_params())\n"
    ),
    "a test that lets what fails be passed by": (
        "import torch\n\n\nclass Shift(torch.nn.Module):\n    def __init__(self, by):\n        super().__init__()\n"
        "        if torch.is_tensor(by):\n            self.register_buffer('by')\n        else:\n            self.by = by\n\n\n"
        "print(Shift(torch.ones(2)).by)\n"
    ),
    "weights that had been fine before": (
        "import torch\nfrom torch import nn\n\nnet = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3))\nfor part in net:\n"
        "    nn.init.xavier_uniform_(part.weight.data)\nprint(net(torch.ones(1, 4)).shape)\n"
    ),
    "an element of what never had one": (
        "from torch import nn\n\nfor part in [nn.Linear(3, 3), nn.Linear(3, 2)]:\n    print(part[0].bias.sum())\n"
    ),
    "a value made for nothing": (
        "import torch\n\n\ndef scaled(x, centred):\n    if centred:\n        y = x - x.mean()\n    y = torch.relu(y)\n    return y * 2\n\n\n"
        "print(scaled(torch.ones(3), False))\n"
    ),
    "a gradient that is not there": (
        "import torch\n\nweight = torch.ones(3)\n(torch.ones(3, requires_grad=True) * weight).sum().backward()\nprint(weight.grad.numpy())\n"
    ),
    "a flag of what is not a leaf": (
        "import torch\n\nx = torch.zeros(3, 3, requires_grad=True)\ny = torch.sigmoid(x)\ny.requires_grad = False\ny.retain_grad()\n"
        "y.sum().backward()\nprint(y.grad)\n"
    ),
    "a text that is no number": 'import numpy as np\n\nprint(int("seven"))\n',
}


def patches_of(text: str, folder: Path, rules: tuple[str, ...] = (), **beside: str) -> tuple[list[str], list[str]]:
    """The patches of a program with every rule off but these: those that are accepted, and those to choose from."""
    path = folder / "program.py"
    for name, written in {"program.py": text, **beside}.items():
        (folder / name).write_text(written)
    settings = Settings(
        python=sys.executable, select=(UNEXPLAINED_CODE, *rules), cache_dir=folder / "cache", budget=240
    )
    report = suggest_file(path.read_bytes(), str(path), settings, lambda said: None)
    accepted = [patch.diff for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED]
    return accepted, [patch.diff for patch in report.patches if patch.verdict is PatchVerdict.CHOICE]


def accepted(text: str, folder: Path, rules: tuple[str, ...] = ()) -> list[str]:
    """The accepted patches of a program, with every rule off but these."""
    return patches_of(text, folder, rules)[0]


def offered(text: str, folder: Path, rules: tuple[str, ...] = (), **beside: str) -> list[str]:
    """The accepted patches, and then those to choose from, with every rule off but these."""
    accepted, choices = patches_of(text, folder, rules, **beside)
    return [*accepted, *choices]


@pytest.mark.parametrize("name", slow_after(5, REPAIRED))
def test_it_finds_the_repair(name: str, tmp_path: Path) -> None:
    program, written = REPAIRED[name]
    patches = offered(program, tmp_path)
    assert patches
    assert any(line.startswith("+") and written in line for line in patches[0].splitlines()), patches[0]


@pytest.mark.parametrize("name", slow_after(4, LEFT_ALONE))
def test_it_leaves_alone(name: str, tmp_path: Path) -> None:
    assert not accepted(LEFT_ALONE[name], tmp_path)


def test_it_repairs_a_module_beside_the_program(tmp_path: Path) -> None:
    patches = offered(FILES["program.py"], tmp_path, (), **{"net.py": FILES["net.py"]})
    assert patches
    assert "/net.py" in patches[0]
    assert "+        self.last = nn.Linear(8, 1)" in patches[0]


@pytest.mark.slow
def test_a_name_that_only_annotations_have_is_not_exchanged_for_another(tmp_path: Path) -> None:
    program = "import torch\nfrom kinds import Tensor\n\n\ndef twice(x: Tensor) -> Tensor:\n    return x * 2\n\n\nprint(twice(torch.ones(2)))\n"
    (tmp_path / "kinds.py").write_text("tensor_id = int\n")
    assert not offered(program, tmp_path)


def test_it_goes_on_from_what_rules_repaired(tmp_path: Path) -> None:
    text = "import numpy as np\n\nlosses = [np.float(1), np.float(3)]\nprint(np.mean(losses / 2))\n"
    patches = accepted(text, tmp_path, rules=("DNF501",))
    assert patches
    assert "np.float(" not in "".join(line for line in patches[0].splitlines() if line.startswith("+"))
    assert "np.array(losses) / 2" in patches[0]


def test_its_proof_holds_again(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("import numpy as np\n\noptions = {'size': 3}\nprint(np.zeros(options['sise']).sum())\n")
    settings = Settings(python=sys.executable, select=(UNEXPLAINED_CODE,), cache_dir=tmp_path / "cache", budget=240)
    report = suggest_file(path.read_bytes(), str(path), settings, lambda said: None)
    assert report.patches[0].certificate is not None
    assert verify_certificate(report.patches[0].certificate, settings) == (True, ())


@pytest.mark.slow
def test_what_a_method_changes_is_not_changed_in_its_copy(tmp_path: Path) -> None:
    text = "import torch\n\ntotal = torch.zeros(3, dtype=torch.int64)\ntotal.add_(4 * torch.rand(3))\nprint(total)\n"
    assert not any("total.float()" in patch for patch in accepted(text, tmp_path, rules=("DNF601",)))


@pytest.mark.slow
def test_rules_go_on_from_what_it_repaired(tmp_path: Path) -> None:
    text = "import numpy as np\n\noptions = {'size': 3}\nfirst = np.zeros(options['sise'])\nlast = np.int(first.sum())\nprint(last)\n"
    patches = accepted(text, tmp_path, rules=("DNF501",))
    assert patches
    assert "options['size']" in patches[0] and "last = int(" in patches[0]


def test_a_function_of_one_sample_is_called_on_each(tmp_path: Path) -> None:
    """It is offered, and not accepted: to leave samples out removes the crash as well."""
    path = tmp_path / "program.py"
    path.write_text(
        "import numpy as np\n\n\ndef grey(picture):\n    red, green, blue = picture.transpose(2, 0, 1)\n"
        "    return (red + green + blue) / 3\n\n\npictures = np.random.rand(6, 8, 8, 3)\nprint(grey(pictures).mean())\n"
    )
    source = Source.from_bytes(path.read_bytes(), str(path))
    with laboratory_for(source, Settings(python=sys.executable, cache_dir=tmp_path / "cache"), []) as laboratory:
        seen = laboratory.speculate(source, 0, Speculation()).probes["survey"]
        trace = laboratory.observe(source, 0)
    written = {edit.code for guess in guesses(scenes_of(Subject(source, trace), seen)) for edit in replaced(guess)}
    assert "np.array([grey(one) for one in pictures])" in written


def replaced(guess: Guess) -> list[Replace]:
    """The expressions that a guess exchanges."""
    return [edit for edit in guess.edits if isinstance(edit, Replace)]


@pytest.mark.parametrize(
    ("message", "numbers"),
    [
        ("mat1 and mat2 shapes cannot be multiplied (4x8 and 6x2)", []),
        ("expected input[2, 3, 8, 8] to have 1 channels, but got 3 channels instead", ["2", "3", "8", "8", "1", "3"]),
        ("dropout probability has to be between 0 and 1, but got 50", ["50"]),
        ("The size of tensor a (4) must match the size of tensor b (5) at non-singleton dimension 1", ["4", "5"]),
    ],
)
def test_numbers_of_a_message_that_may_be_meant(message: str, numbers: list[str]) -> None:
    assert NUMBER.findall(message) == numbers
