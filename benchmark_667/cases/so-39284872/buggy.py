"""Steering from a strip of road: the output is the wheel's position, from -1 (left) to 1 (right)."""
import numpy as np
import torch
from torch import nn

HEIGHT, WIDTH = 12, 32


def drive(frames):
    """Rendered lane markings whose bend is what the driver did, and the driver's wheel."""
    wheel = np.clip(np.random.normal(0, 0.5, frames), -0.95, 0.95)
    offset = np.random.uniform(-2, 2, frames)
    rows = np.arange(HEIGHT)[::-1] / HEIGHT
    columns = np.arange(WIDTH)
    centre = WIDTH / 2 + offset[:, None] + 9 * wheel[:, None] * rows ** 2
    left = np.exp(-((columns - centre[..., None] + 5) ** 2))
    right = np.exp(-((columns - centre[..., None] - 5) ** 2))
    pictures = left + right + 0.1 * np.random.randn(frames, HEIGHT, WIDTH)
    return (torch.tensor(pictures[:, None], dtype=torch.float32),
            torch.tensor(wheel[:, None], dtype=torch.float32))


layers = [
    ("conv1", nn.Conv2d(1, 8, 5, stride=2)),
    ("relu1", nn.ReLU()),
    ("conv2", nn.Conv2d(8, 12, 3)),
    ("relu2", nn.ReLU()),
    ("flatten", nn.Flatten()),
    ("ip1", nn.Linear(12 * 2 * 12, 32)),
    ("relu3", nn.ReLU()),
    ("ip2", nn.Linear(32, 1)),
    ("angle", nn.Sigmoid()),
]
net = nn.Sequential()
for name, layer in layers:
    net.add_module(name, layer)

train_pictures, train_wheel = drive(1200)
test_pictures, test_wheel = drive(200)

euclidean_loss = nn.MSELoss()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(10):
    net.train()
    for part in torch.randperm(len(train_pictures)).split(40):
        loss = euclidean_loss(net(train_pictures[part]), train_wheel[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        error = (net(test_pictures) - test_wheel).abs().mean().item()
    if epoch % 3 == 0:
        print("epoch %2d: training loss %.4f" % (epoch, loss.item()))
print("mean error of the wheel: %.4f" % error)
