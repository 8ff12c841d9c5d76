"""Which pixels of a scan belong to a lesion? Windows around each pixel, and a small convolutional net."""
import torch
from torch import nn, optim

WINDOW = 7
SHARE_OF_LESIONS = 0.04


def windows(n):
    """Windows of a noisy scan; in a few of them the middle is slightly brighter."""
    target = (torch.rand(n) < SHARE_OF_LESIONS).long()
    scan = torch.randn(n, 1, WINDOW, WINDOW)
    blob = torch.zeros(WINDOW, WINDOW)
    blob[2:5, 2:5] = 0.65
    return scan + target.view(-1, 1, 1, 1) * blob, target


class PixelNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, kernel_size=3)
        self.conv2 = nn.Conv2d(8, 12, kernel_size=3)
        self.score = nn.Linear(12 * 9, 2)

    def forward(self, data):
        conv1 = torch.relu(self.conv1(data))
        conv2 = torch.relu(self.conv2(conv1))
        return self.score(conv2.flatten(1))


train_data, train_label = windows(5000)
test_data, test_label = windows(4000)

net = PixelNet()
loss_layer = nn.CrossEntropyLoss()
solver = optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)

max_iter, batch_size = 240, 100
for it in range(max_iter):
    pick = torch.randint(len(train_data), (batch_size,))
    loss = loss_layer(net(train_data[pick]), train_label[pick])
    solver.zero_grad()
    loss.backward()
    solver.step()
    if it % 60 == 0:
        print("iteration %d, loss = %.4f" % (it, loss.item()))

net.eval()
with torch.no_grad():
    predicted = net(test_data).argmax(1)
lesion = test_label == 1
found = (predicted[lesion] == 1).float().mean().item()
kept = (predicted[~lesion] == 0).float().mean().item()
print("accuracy per class: background %.3f, lesion %.3f" % (kept, found))
print("mean of the two: %.3f" % ((kept + found) / 2))
