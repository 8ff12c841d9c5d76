# Sorts pictures of two strokes: do they run in the same direction or not?
import torch
import torch.nn as nn
import torch.nn.functional as F

SIDE = 10
BATCH = 32
ITERATIONS = 800


def draw(n):
    """Grey pictures with one stroke in the left half and one in the right half."""
    pictures = 0.15 * torch.randn(n, 1, SIDE, SIDE)
    upright = torch.randint(2, (n, 2))
    for picture, pair in zip(pictures, upright):
        for half, stands in enumerate(pair):
            left = half * SIDE // 2
            if stands:
                column = left + int(torch.randint(1, 4, ()))
                picture[0, 1:9, column] += 1.0
            else:
                row = int(torch.randint(2, 8, ()))
                picture[0, row, left:left + 5] += 1.0
    return pictures, (upright[:, 0] == upright[:, 1]).long()


class Net(nn.Module):
    """The layers between the data and the loss."""

    def __init__(self, classes=2):
        super().__init__()
        self.ip = nn.Linear(SIDE * SIDE, classes)

    def forward(self, data):
        x = torch.flatten(data, 1)
        return self.ip(x)


def accuracy(net, data, label):
    with torch.no_grad():
        return (net(data).argmax(1) == label).float().mean().item()


train_data, train_label = draw(1500)
test_data, test_label = draw(400)

net = Net()
solver = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=0.0005)
schedule = torch.optim.lr_scheduler.StepLR(solver, step_size=600, gamma=0.1)

for iteration in range(1, ITERATIONS + 1):
    rows = torch.randint(len(train_data), (BATCH,))
    loss = F.cross_entropy(net(train_data[rows]), train_label[rows])
    solver.zero_grad()
    loss.backward()
    solver.step()
    schedule.step()
    if iteration % 200 == 0:
        print("Iteration %d, loss = %.4f" % (iteration, loss.item()))

print("test accuracy: %.3f" % accuracy(net, test_data, test_label))
