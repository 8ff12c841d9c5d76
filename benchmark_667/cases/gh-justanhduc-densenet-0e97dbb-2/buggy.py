import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

config = {
    "model": {"growth_rate": 8, "layers": 3, "classes": 3},
    "training": {
        "n_epochs": 4,
        "batch_size": 64,
        "learning_rate": 0.05,
    },
}


class DenseLayer(nn.Module):
    def __init__(self, channels, growth_rate):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.conv = nn.Conv2d(channels, growth_rate, 3, padding=1, bias=False)

    def forward(self, x):
        return torch.cat([x, self.conv(F.relu(self.norm(x)))], dim=1)


class DenseNet(nn.Module):
    def __init__(self, growth_rate, layers, classes):
        super().__init__()
        channels = 2 * growth_rate
        self.stem = nn.Conv2d(1, channels, 3, stride=2, padding=1, bias=False)
        block = []
        for _ in range(layers):
            block.append(DenseLayer(channels, growth_rate))
            channels += growth_rate
        self.block = nn.Sequential(*block)
        self.softmax = nn.Linear(channels, classes)

    def forward(self, x):
        x = self.block(self.stem(x))
        return self.softmax(F.relu(x).mean(dim=(2, 3)))


def strokes(n, size=14):
    """Vertical, horizontal or crossed strokes."""
    x = np.random.normal(0, 0.15, (n, 1, size, size)).astype("float32")
    y = np.random.randint(0, 3, n)
    for image, label in zip(x, y):
        row, col = np.random.randint(3, size - 3, 2)
        if label != 1:
            image[0, :, col] += 1
        if label != 0:
            image[0, row] += 1
    return torch.from_numpy(x), torch.from_numpy(y)


def generator(data, batch_size, shuffle=False):
    x, y = data
    order = torch.randperm(len(x)) if shuffle else torch.arange(len(x))
    for chosen in order.split(batch_size):
        yield x[chosen], y[chosen]


def validate(net, data, batch_size):
    num_batches = len(data[0]) // batch_size
    cost = accuracy = 0.0
    net.eval()
    with torch.no_grad():
        for x, y in generator(data, batch_size):
            scores = net(x)
            cost += F.cross_entropy(scores, y).item()
            accuracy += (scores.argmax(1) == y).float().mean().item() * 100
    return cost / num_batches, accuracy / num_batches


def train():
    options = config["training"]
    training_data, validation_data = strokes(1280), strokes(250)
    net = DenseNet(**config["model"])
    optimizer = torch.optim.SGD(net.parameters(), lr=options["learning_rate"], momentum=0.9, nesterov=True)
    start = time.time()
    for epoch in range(1, options["n_epochs"] + 1):
        net.train()
        training_cost = []
        for x, y in generator(training_data, options["batch_size"], shuffle=True):
            optimizer.zero_grad()
            cost = F.cross_entropy(net(x), y)
            cost.backward()
            optimizer.step()
            training_cost.append(cost.item())
        cost, accuracy = validate(net, validation_data, options["batch_size"])
        print("Epoch %d, training cost %.4f" % (epoch, np.mean(training_cost)))
        print("\tvalidation cost: %.4f" % cost)
        print("\tvalidation accuracy: %.2f %%" % accuracy)
    print("Training took %.1f s" % (time.time() - start))


if __name__ == "__main__":
    train()
