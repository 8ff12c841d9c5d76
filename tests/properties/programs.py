"""Programs as people write them, put together and damaged by hypothesis."""

from __future__ import annotations

import json

from hypothesis import strategies as st

PROGRAMS = {
    "crash": """import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(5, 2))
print(model(torch.randn(2, 4)).shape)
""",
    "training": """import torch
from torch import nn

x = torch.randn(64, 8)
y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3), nn.Softmax(dim=1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(30):
    optimizer.zero_grad()
    loss = nn.CrossEntropyLoss()(model(x), y)
    loss.backward()
    optimizer.step()
""",
    "keras": """import numpy as np
from keras.models import Sequential
from keras.layers import Dense, Conv2D, Flatten
from keras.utils import np_utils

model = Sequential()
model.add(Conv2D(8, (3, 3), input_shape=(28, 28, 1), activation='relu'))
model.add(Flatten())
model.add(Dense(1, activation='softmax'))
model.compile(loss='categorical_crossentropy', optimizer='adam', metrics=['accuracy'])
model.fit_generator(data, epochs=3)
classes = model.predict_classes(np.zeros((2, 28, 28, 1)))
""",
    "old torch": """import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable

class Net(nn.Module):
    def __init__(self, hidden=10):
        super(Net, self).__init__()
        self.layers = [nn.Linear(4, hidden), nn.Linear(hidden, 2)]
        self.unused = nn.Linear(3, 3)

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
        return F.softmax(x)

net = Net()
criterion = nn.CrossEntropyLoss()
x = Variable(torch.randn(3, 4), volatile=True)
loss = criterion(net(x), torch.zeros(3).long())
print(loss.data[0], torch.log(x), torch.sqrt(x).sum() / x.std())
""",
}

_LINES = [line for text in PROGRAMS.values() for line in text.splitlines()]
_ENDS = st.sampled_from(["\n", "\n", "\r\n", "\r"])
_PIECES = [b"\r", b"\f", b"\t", b"'''", b"\\\n", b"(", b"]", b"\xff", b"\0", b"lambda:", b"\n    ", b"# noqa: DNF301\n"]


@st.composite
def programs(draw: st.DrawFn) -> bytes:
    """Programs that mostly parse: whole ones one after the other, in functions, with other line ends and encodings."""
    chosen = draw(st.lists(st.sampled_from(sorted(PROGRAMS)), min_size=1, max_size=2))
    parts = [PROGRAMS[name] for name in chosen]
    if draw(st.booleans()):
        parts[0] = "def main():\n" + "".join(f"    {line}\n" for line in parts[0].splitlines())
    if draw(st.booleans()):
        parts.append(
            f"# {draw(st.text(st.characters(codec='utf-8', exclude_categories=('C', 'Z')), max_size=8))} größe"
        )
    text = "\n".join(parts)
    if draw(st.booleans()):
        text = text.replace("\n", draw(_ENDS))
    bom = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"]))
    return bom + text.encode()


@st.composite
def damaged(draw: st.DrawFn, notebook: bool = False) -> bytes:
    """A program or notebook with pieces cut out, doubled, moved or replaced."""
    text = PROGRAMS[draw(st.sampled_from(sorted(PROGRAMS)))]
    raw = notebook_of(text) if notebook else text.encode()
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(raw)))
        end = draw(st.integers(start, min(len(raw), start + 60)))
        lines = st.sampled_from(_LINES).map(lambda line: f"\n{line}\n".encode())
        piece = draw(st.binary(max_size=5) | st.sampled_from([b"", raw[start:end] * 2, *_PIECES]) | lines)
        raw = raw[:start] + piece + raw[end:]
    return raw


def notebook_of(text: str) -> bytes:
    """A notebook with a magic and the text in two cells."""
    lines = ["%matplotlib inline\n", *text.splitlines(keepends=True)]
    middle = len(lines) // 2
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "id": name, "metadata": {}, "outputs": [], "execution_count": None, "source": part}
        for name, part in (("first", lines[:middle]), ("second", lines[middle:]))
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()
