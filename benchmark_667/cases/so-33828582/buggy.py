# A LeNet on rows of features: every record is 100 numbers of a 10x10 pressure map and a class.
import io

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CLASSES = ("heel", "toe", "edge")


def write_records(n):
    """Pressure maps of a foot plate as lines of text: the label, then the numbers."""
    r, c = np.mgrid[:10, :10]
    lines = []
    for label in np.random.randint(0, len(CLASSES), n):
        y, x = [(7, 5), (2, 5), (5, 8)][label] + np.random.uniform(-1, 1, 2)
        pressure = 200 * np.exp(-((r - y) ** 2 + (c - x) ** 2) / 5.0) + np.random.randint(0, 60, (10, 10))
        lines.append(",".join([str(label)] + ["%d" % p for p in pressure.ravel()]))
    return io.StringIO("\n".join(lines))


class VectorData(Dataset):
    """The data layer: reads all records and scales them."""

    def __init__(self, source, scale=1 / 256.0):
        table = np.loadtxt(source, delimiter=",", dtype="float32")
        self.label = torch.from_numpy(table[:, 0]).long()
        self.data = torch.from_numpy(table[:, 1:]) * scale

    def __len__(self):
        return len(self.label)

    def __getitem__(self, index):
        return self.data[index], self.label[index]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, kernel_size=3)
        self.pool1 = nn.MaxPool2d(2, stride=2)
        self.conv2 = nn.Conv2d(10, 16, kernel_size=3)
        self.ip1 = nn.Linear(16 * 2 * 2, 32)
        self.relu1 = nn.ReLU()
        self.ip2 = nn.Linear(32, len(CLASSES))

    def forward(self, data):
        blob = self.pool1(self.conv1(data))
        blob = self.conv2(blob).flatten(1)
        return self.ip2(self.relu1(self.ip1(blob)))


def test(net, loader):
    net.eval()
    right = 0
    with torch.no_grad():
        for data, label in loader:
            right += (net(data).argmax(1) == label).sum().item()
    net.train()
    return right / len(loader.dataset)


train_loader = DataLoader(VectorData(write_records(600)), batch_size=32, shuffle=True)
test_loader = DataLoader(VectorData(write_records(150)), batch_size=50)

net = Net()
solver = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
loss_layer = nn.CrossEntropyLoss()

iteration = 0
for epoch in range(5):
    for data, label in train_loader:
        loss = loss_layer(net(data), label)
        solver.zero_grad()
        loss.backward()
        solver.step()
        if iteration % 20 == 0:
            print("Iteration %d, loss = %.4f" % (iteration, loss.item()))
        iteration += 1
print("Test accuracy = %.3f" % test(net, test_loader))
