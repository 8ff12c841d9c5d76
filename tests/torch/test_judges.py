"""What the judges say of wrong repairs of crashes, of right ones, and of a comment in sound programs."""

from __future__ import annotations

import pytest

from dnnfix.records import Status
from tests.observing import Observe, judged

JUDGES = ("rows-stay-apart", "gradients-reach", "distinct-values-kept", "named-ranges-hold", "nothing-thrown-away")
FITS = (Status.PASS, Status.NOT_APPLICABLE)

HEAD = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
"""

CLASSIFIER = (
    HEAD
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {init}
    def forward(self, x):
        {forward}

inputs, targets = {data}
net = Net()
optimizer = torch.optim.Adam(net.parameters())
for x, y in DataLoader(TensorDataset(inputs, targets), batch_size=8):
    optimizer.zero_grad()
    loss = {loss}
    loss.backward()
    optimizer.step()
"""
)
ROWS = "torch.randn(24, 5), torch.randint(4, (24,))"
SERIES = "torch.randn(24, 6, 5), torch.randint(4, (24,))"
CLASSES = "F.cross_entropy(net(x), y)"


def classifier(init: str, forward: str, data: str = ROWS, loss: str = CLASSES) -> str:
    spread = [text.replace("\n", "\n        ") for text in (init, forward)]
    return CLASSIFIER.format(init=spread[0], forward=spread[1], data=data, loss=loss)


TABLE = "self.r, self.a = nn.LSTM(5, 8, batch_first=True), nn.Linear(8, 4)"
TWO = "self.a, self.b = nn.Linear(5, 6), nn.Linear(6, 4)"
SHARE = (
    classifier(TWO, "return self.b(torch.relu(self.a(x)))")
    + """
with torch.no_grad():
    found = net(inputs).argmax(1)
    right = {right}
    accuracy = right / len(targets)
    print("accuracy:", accuracy)
"""
)


@pytest.mark.parametrize(
    ("judge", "broken", "wrong", "right"),
    [
        ("rows-stay-apart",
         classifier(TABLE, "return self.a(self.r(x)[0][:, -1])"),
         classifier(TABLE, "return self.a(self.r(x.unsqueeze(0))[0][0])"),
         classifier(TABLE, "return self.a(self.r(x.unsqueeze(1))[0][:, -1])")),
        ("rows-stay-apart",
         classifier("self.a = nn.Linear(30, 4)", "return self.a(x)", SERIES),
         classifier("self.a = nn.Linear(30, 4)", "return self.a(x.permute(1, 2, 0).reshape(len(x), -1))", SERIES),
         classifier("self.a = nn.Linear(30, 4)", "return self.a(x.reshape(len(x), -1))", SERIES)),
        ("rows-stay-apart",
         classifier("self.r, self.a = nn.GRU(5, 8), nn.Linear(8, 4)", "return self.a(self.r(x)[1][0])", SERIES),
         classifier("self.r, self.a = nn.GRU(5, 8), nn.Linear(8, 4)", "return self.a(self.r(x)[0][:, -1])", SERIES),
         classifier("self.r, self.a = nn.GRU(5, 8), nn.Linear(8, 4)", "return self.a(self.r(x.transpose(0, 1))[1][0])", SERIES)),
        ("gradients-reach",
         classifier(TWO, "h = self.a(x).numpy()\nreturn self.b(torch.from_numpy(h))"),
         classifier(TWO, "h = self.a(x).detach().numpy()\nreturn self.b(torch.from_numpy(h))"),
         classifier(TWO, "h = self.a(x)\nreturn self.b(h)")),
        ("gradients-reach",
         classifier(TWO, "return self.b(self.a(x).T)"),
         classifier(TWO, "return self.b(torch.tensor(self.a(x).tolist()))"),
         classifier(TWO, "return self.b(self.a(x))")),
        ("distinct-values-kept",
         classifier("self.a = nn.Linear(5, 4)", "return self.a(x)", "torch.randn(24, 5), torch.rand(24)"),
         classifier("self.a = nn.Linear(5, 4)", "return self.a(x)", "torch.randn(24, 5), torch.rand(24).long()"),
         classifier("self.a = nn.Linear(5, 1)", "return self.a(x)[:, 0]", "torch.randn(24, 5), torch.rand(24)", "F.mse_loss(net(x), y)")),
        ("distinct-values-kept",
         classifier("self.a = nn.Linear(5, 4)", "return self.a(x)", "torch.randn(24, 5), torch.randint(4, (24, 1))"),
         classifier("self.a = nn.Linear(5, 4)", "return self.a(x)", "torch.randn(24, 5), torch.randint(4, (24, 1)).argmax(1)"),
         classifier("self.a = nn.Linear(5, 4)", "return self.a(x)", "torch.randn(24, 5), torch.randint(4, (24, 1)).squeeze(1)")),
        ("named-ranges-hold",
         SHARE.format(right="(found == targets.reshape(2, -1)).sum().item()"),
         SHARE.format(right="(found[:, None] == targets[:, None].repeat(400, 1).T).sum().item()"),
         SHARE.format(right="(found == targets).sum().item()")),
        ("nothing-thrown-away",
         classifier(TWO, "h = torch.relu(self.a(x))\nreturn self.b(h.T)"),
         classifier(TWO, "h = torch.relu(self.a(x))\nreturn self.b(F.pad(x, (0, 1)))"),
         classifier(TWO, "h = torch.relu(self.a(x))\nreturn self.b(h)")),
    ],
    ids=["rows-as-steps", "permuted", "batch-as-time", "detach", "list", "truncated", "one-column", "all-pairs", "left-aside"],
)  # fmt: skip
def test_a_wrong_repair_is_refused_and_a_right_one_is_not(
    observe: Observe, judge: str, broken: str, wrong: str, right: str
) -> None:
    assert judged(observe, broken, wrong)[judge] is Status.FAIL
    fine = judged(observe, broken, right)
    assert fine["runs"] is not Status.FAIL
    assert {name: fine[name] for name in JUDGES if fine[name] not in FITS} == {}


GAN = """
real = torch.randn(24, 5)
G, D = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 5)), nn.Sequential(nn.Linear(5, 1), nn.Sigmoid())
g, d, bce = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters()), nn.BCELoss()
for x in real.split(8):
    fake = G(torch.randn(8, 3))
    d.zero_grad()
    (bce(D(x), torch.ones(8, 1)) + bce(D(fake.detach()), torch.zeros(8, 1))).backward()
    d.step()
    g.zero_grad()
    bce(D(fake), torch.ones(8, 1)).backward()
    g.step()
"""

SIAMESE = """
class Twin(nn.Module):
    def __init__(self):
        super().__init__()
        self.arm = nn.Linear(5, 4)
    def forward(self, a, b):
        return F.pairwise_distance(self.arm(a), self.arm(b))
net = Twin()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for a, b, y in DataLoader(TensorDataset(torch.randn(24, 5), torch.randn(24, 5), torch.rand(24)), batch_size=8):
    optimizer.zero_grad()
    ((net(a, b) - y) ** 2).mean().backward()
    optimizer.step()
"""

PACKED = """
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.r, self.a = nn.GRU(5, 8, batch_first=True), nn.Linear(8, 3)
    def forward(self, x, lengths):
        _, h = self.r(nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True))
        return self.a(h[0])
net = Reader()
optimizer = torch.optim.Adam(net.parameters())
for x, lengths, y in [(torch.randn(8, 6, 5), torch.arange(8, 0, -1).clamp(1, 6), torch.randint(3, (8,)))] * 3:
    optimizer.zero_grad()
    F.cross_entropy(net(x, lengths), y).backward()
    optimizer.step()
"""

UNUSED_HEAD = classifier(
    TWO + "\nself.c = nn.Linear(5, 2)",
    "return self.b(torch.relu(self.a(x))), self.c(x)",
    loss="F.cross_entropy(net(x)[0], y)",
)

CONTRAST = """
class Contrast(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(5, 4)
    def forward(self, x):
        h = self.a(x)
        return (h - h.mean(0)) / h.std(0)
net = Contrast()
optimizer = torch.optim.Adam(net.parameters())
for x, y in DataLoader(TensorDataset(torch.randn(24, 5), torch.randint(4, (24,))), batch_size=8):
    optimizer.zero_grad()
    F.cross_entropy(net(x), y).backward()
    optimizer.step()
print("acc: 240")
"""

ENCODER = (
    "self.t = nn.TransformerEncoder(nn.TransformerEncoderLayer(5, 1, 8, batch_first=True), 1)\nself.a = nn.Linear(5, 4)"
)

SOUND = {
    "mlp": classifier(TWO, "return self.b(torch.relu(self.a(x)))"),
    "batch-norm": classifier(TWO + "\nself.n = nn.BatchNorm1d(6)", "return self.b(self.n(self.a(x)))"),
    "lstm": classifier(TABLE, "return self.a(self.r(x)[0][:, -1])", SERIES),
    "lstm-time-first": classifier(TABLE.replace(", batch_first=True", ""), "return self.a(self.r(x.transpose(0, 1))[0][-1])", SERIES),
    "transformer": classifier(ENCODER, "return self.a(self.t(x).mean(1))", SERIES),
    "unused-head": UNUSED_HEAD,
    "gan": HEAD + GAN,
    "siamese": HEAD + SIAMESE,
    "packed": HEAD + PACKED,
    "batch-statistics": HEAD + CONTRAST,
}  # fmt: skip


@pytest.mark.parametrize("source", SOUND.values(), ids=SOUND)
def test_a_comment_breaks_nothing(observe: Observe, source: str) -> None:
    found = judged(observe, source, source + "# a comment\n")
    assert {name: found[name] for name in JUDGES if found[name] not in FITS} == {}


@pytest.mark.parametrize("source", SOUND.values(), ids=SOUND)
def test_a_right_repair_of_a_crash_elsewhere_is_not_refused(observe: Observe, source: str) -> None:
    broken = source + "picture = torch.randn(3, 4)\nprint(picture.view(5, 5).sum())\n"
    found = judged(observe, broken, broken.replace("view(5, 5)", "view(2, 6).squeeze().argmax(1).float()"))
    assert found["runs"] is Status.PASS
    assert {name: found[name] for name in JUDGES if found[name] not in FITS} == {}
