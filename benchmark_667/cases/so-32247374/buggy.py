"""Fields on an aerial photo: a fully convolutional network that labels every pixel."""
import torch
import torch.nn.functional as F
from torch import nn

SIDE = 32
KINDS = 3  # bare soil, crop, road


def aerial_photo():
    label = torch.zeros(SIDE, SIDE, dtype=torch.long)
    top, left = torch.randint(0, SIDE // 2, (2,)).tolist()
    label[top : top + 14, left : left + 14] = 1
    road = int(torch.randint(2, SIDE - 4, (1,)))
    if torch.rand(1) < 0.5:
        label[road : road + 3] = 2
    else:
        label[:, road : road + 3] = 2
    colours = torch.tensor([[0.55, 0.4, 0.25], [0.2, 0.6, 0.2], [0.5, 0.5, 0.5]])
    photo = colours[label].permute(2, 0, 1) + 0.1 * torch.randn(3, SIDE, SIDE)
    return photo, label


def batch(n):
    photos, labels = zip(*(aerial_photo() for _ in range(n)))
    return torch.stack(photos), torch.stack(labels)


class FCN(nn.Module):
    def __init__(self, kinds):
        super().__init__()
        # a margin, so that pixels at the border have neighbours on all sides
        self.conv1 = nn.Conv2d(3, 16, kernel_size=3, padding=3)
        self.conv2 = nn.Conv2d(16, 24, kernel_size=3, padding=1)
        self.score = nn.Conv2d(24, kinds, kernel_size=1)
        self.upscore = nn.ConvTranspose2d(kinds, kinds, kernel_size=4, stride=2, bias=False)

    def forward(self, data):
        pool1 = F.max_pool2d(F.relu(self.conv1(data)), 2)
        score = self.score(F.relu(self.conv2(pool1)))
        score = self.upscore(score)
        return score


net = FCN(KINDS)
solver = torch.optim.Adam(net.parameters(), lr=0.01)
for iteration in range(1, 81):
    data, label = batch(8)
    loss = F.cross_entropy(net(data), label)
    solver.zero_grad()
    loss.backward()
    solver.step()
    if iteration % 20 == 0:
        print("iteration %d, loss %.3f" % (iteration, loss.item()))

data, label = batch(30)
with torch.no_grad():
    guessed = net(data).argmax(1)
print("pixels labelled rightly: %.3f" % (guessed == label).float().mean().item())
