"""Whether the rows of a batch stay apart, over sound networks of many kinds and over ones that mix them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.observing import Observe

APART = 1e-3

TRAINING = """
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {init}
    def forward(self, x):
        {forward}

inputs, targets = {data}
net = Net()
optimizer = torch.optim.Adam(net.parameters())
for x, y in {batches}:
    optimizer.zero_grad()
    loss = {loss}
    loss.backward()
    optimizer.step()
"""

LOADED = "DataLoader(TensorDataset(inputs, targets), batch_size=8)"
WHOLE = "[(inputs, targets)] * 3"
IMAGES = "torch.randn(24, 3, 12, 12), torch.randint(4, (24,))"
SERIES = "torch.randn(24, 6, 5), torch.randint(4, (24,))"
ROWS = "torch.randn(24, 5), torch.randint(4, (24,))"
CLASSES = "F.cross_entropy(net(x), y)"


def rows(observe: Observe, init: str, forward: str, data: str, batches: str = LOADED, loss: str = CLASSES) -> Any:
    source = TRAINING.format(
        init=init.replace("\n", "\n        "),
        forward=forward.replace("\n", "\n        "),
        data=data,
        batches=batches,
        loss=loss,
    )
    seen = observe(source, experiments=["rows-apart"])
    assert seen.outcome == "finished", seen.of("crash")
    assert not [note for note in seen.notes if "the probe failed" in note]
    return seen.probe("rows-apart")


@pytest.mark.parametrize("batches", [LOADED, WHOLE], ids=["loader", "whole"])
@pytest.mark.parametrize(
    ("init", "forward", "data", "loss"),
    [
        ("self.a = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 4))", "return self.a(x)", ROWS, CLASSES),
        ("self.a, self.b = nn.Linear(5, 8), nn.BatchNorm1d(8)", "return F.dropout(self.b(self.a(x)))", ROWS, CLASSES),
        ("self.c, self.b, self.a = nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.Linear(150, 4)",
         "return self.a(F.max_pool2d(F.relu(self.b(self.c(x))), 2).flatten(1))", IMAGES, CLASSES),
        ("self.r, self.a = nn.LSTM(5, 8, batch_first=True), nn.Linear(8, 4)", "return self.a(self.r(x)[0][:, -1])", SERIES, CLASSES),
        ("self.r, self.a = nn.GRU(5, 8), nn.Linear(8, 4)", "return self.a(self.r(x.permute(1, 0, 2))[1][0])", SERIES, CLASSES),
        ("self.t = nn.TransformerEncoder(nn.TransformerEncoderLayer(5, 1, 8, batch_first=True), 1)\nself.a = nn.Linear(5, 4)",
         "return self.a(self.t(x).mean(1))", SERIES, CLASSES),
        ("self.d, self.u, self.o = nn.Conv2d(3, 4, 3, 2, 1), nn.ConvTranspose2d(4, 3, 2, 2), nn.Conv2d(6, 3, 1)",
         "return self.o(torch.cat([x, self.u(F.relu(self.d(x)))], 1))", "(torch.randn(24, 3, 12, 12),) * 2", "F.mse_loss(net(x), y)"),
        ("self.e, self.d = nn.Linear(5, 2), nn.Linear(2, 5)", "return self.d(torch.tanh(self.e(x)))", "(torch.randn(24, 5),) * 2",
         "F.mse_loss(net(x), y)"),
        ("self.m, self.s, self.d = nn.Linear(5, 2), nn.Linear(5, 2), nn.Linear(2, 5)",
         "m, s = self.m(x), self.s(x)\nreturn self.d(m + torch.randn_like(m) * s.exp()), m, s", "(torch.randn(24, 5),) * 2",
         "F.mse_loss(net(x)[0], y)"),
        ("self.f = nn.Linear(5, 6)\nself.a, self.b = nn.Linear(6, 4), nn.Linear(6, 1)",
         "h = F.relu(self.f(x))\nreturn self.a(h), self.b(h)", ROWS, "sum(o.mean() for o in net(x)) + F.cross_entropy(net(x)[0], y)"),
    ],
    ids=["mlp", "batch-norm", "conv-net", "lstm", "gru-time-first", "transformer", "u-net", "autoencoder", "vae", "two-heads"],
)  # fmt: skip
def test_sound_networks_keep_rows_apart(
    observe: Observe, init: str, forward: str, data: str, loss: str, batches: str
) -> None:
    found = rows(observe, init, forward, data, batches, loss)
    assert found["axis"] == 0 and found["change"] < APART


@pytest.mark.parametrize(
    ("init", "forward", "data"),
    [
        ("self.a = nn.Linear(5, 4)", "return F.softmax(self.a(x), 0)", ROWS),
        ("self.a = nn.Linear(5, 4)", "h = self.a(x)\nreturn h - h.mean(0)", ROWS),
        ("self.a = nn.Linear(432, 4)", "return self.a(x.permute(1, 2, 3, 0).reshape(x.shape[0], -1))", IMAGES),
        ("self.r, self.a = nn.LSTM(5, 8), nn.Linear(8, 4)", "return self.a(self.r(x)[0][:, -1])", SERIES),
        ("self.r, self.a = nn.LSTM(5, 8, batch_first=True), nn.Linear(8, 4)", "return self.a(self.r(x[None])[0][0])", ROWS),
        ("self.r, self.a = nn.GRU(5, 8), nn.Linear(8, 4)", "return self.a(self.r(x.reshape(6, -1, 5))[1][0])", SERIES),
    ],
    ids=["softmax", "mean", "permute", "lstm", "rows-as-steps", "reshape-as-transpose"],
)  # fmt: skip
def test_mixed_rows_show(observe: Observe, init: str, forward: str, data: str) -> None:
    assert rows(observe, init, forward, data)["change"] > 10 * APART


@pytest.mark.parametrize(
    ("init", "forward", "data", "loss"),
    [
        ("self.e, self.r, self.a = nn.Embedding(9, 4), nn.LSTM(4, 8), nn.Linear(8, 3)",
         "return self.a(self.r(self.e(x).view(len(x), 1, -1))[0].view(len(x), -1))", "torch.randint(9, (7,)), torch.randint(3, (7,))", CLASSES),
        ("self.r, self.a = nn.GRU(5, 8, batch_first=True), nn.Linear(8, 4)", "return self.a(self.r(x[None])[0][0])", ROWS, CLASSES),
        ("self.q, self.k, self.a = nn.Linear(5, 5), nn.Linear(5, 5), nn.Linear(5, 4)",
         "return self.a(F.softmax(self.q(x) @ self.k(x).T, 1) @ x)", ROWS, CLASSES),
        ("self.a = nn.Linear(5, 4)\nself.near = torch.rand(24, 24)", "return self.a(self.near @ x)", ROWS, CLASSES),
        ("self.a = nn.Conv2d(3, 3, 3, padding=1)", "return self.a(x)", "(torch.randn(3, 8, 8),) * 2", "F.mse_loss(net(x), y)"),
        ("self.a = nn.Linear(5, 4)", "h = self.a(x)\nreturn h + torch.rand(()) * next(draws)",
         "torch.randn(24, 5), torch.randint(4, (24,))\nimport itertools\ndraws = itertools.count()", CLASSES),
        ("self.a = nn.Linear(5, 1)", "return self.a(x * 0)", "torch.randn(24, 5), torch.randn(24, 1)", "F.mse_loss(net(x), y)"),
    ],
    ids=["tagger", "one-sequence", "attention-by-hand", "graph", "one-image", "other-output-each-time", "constant"],
)  # fmt: skip
def test_where_rows_may_be_steps_nodes_or_channels_nothing_is_said(
    observe: Observe, init: str, forward: str, data: str, loss: str
) -> None:
    assert rows(observe, init, forward, data, WHOLE, loss) is None


def test_the_batch_is_found_on_the_second_axis_by_the_size_of_the_loaded_batches(observe: Observe) -> None:
    init = "self.r, self.a = nn.LSTM(5, 8), nn.Linear(8, 4)"
    batches = f"[(x.transpose(0, 1), y) for x, y in {LOADED}]"
    found = rows(observe, init, "return self.a(self.r(x)[0][-1])", SERIES, batches)
    assert found["axis"] == 1 and found["change"] < APART


def test_pairs_of_rows_are_compared_within_the_rows_that_stay(observe: Observe) -> None:
    alike = "F.cross_entropy(net(x), torch.arange(len(x)))"
    found = rows(observe, "self.a = nn.Linear(5, 4)", "h = self.a(x)\nreturn h @ h.T", ROWS, LOADED, alike)
    assert found["change"] < APART
