"""Train a small AlexNet on random crops, then load the snapshot into the deploy network and classify single images."""
import io

import torch
import torch.nn as nn
import torch.nn.functional as F

TRAIN_VAL = {"name": "mini_alexnet", "input_shape": (40, 3, 28, 28), "mirror": True}
DEPLOY = {"name": "mini_alexnet_deploy", "input_shape": (1, 3, 32, 32), "mirror": False}
CLASSES = ["stripes", "checks", "rings"]


class MiniAlexNet(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.shape = config["input_shape"]
        self.conv1 = nn.Conv2d(3, 8, kernel_size=5, stride=2)
        self.conv2 = nn.Conv2d(8, 16, kernel_size=3, padding=1)
        with torch.no_grad():
            width = self.features(torch.zeros(1, *self.shape[1:])).shape[1]
        self.fc6 = nn.Linear(width, 48)
        self.fc7 = nn.Linear(48, len(CLASSES))

    def features(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 3, stride=2)
        x = F.relu(self.conv2(x))
        return x.flatten(1)

    def forward(self, x):
        return self.fc7(F.relu(self.fc6(self.features(x))))


def textures(count, side=32):
    rows, cols = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    labels = torch.randint(0, len(CLASSES), (count,))
    images = torch.empty(count, 3, side, side)
    for i, label in enumerate(labels.tolist()):
        period = int(torch.randint(3, 6, ()))
        if label == 0:
            plane = ((cols // period) % 2).float()
        elif label == 1:
            plane = ((rows // period + cols // period) % 2).float()
        else:
            radius = ((rows - side / 2) ** 2 + (cols - side / 2) ** 2).sqrt()
            plane = ((radius // period) % 2).float()
        images[i] = plane * torch.rand(3, 1, 1) + 0.1 * torch.randn(3, side, side)
    return images - images.mean(), labels


def crop(images, size, at_random):
    room = images.shape[-1] - size
    top, left = (torch.randint(0, room + 1, (2,)).tolist() if at_random else (room // 2, room // 2))
    return images[..., top:top + size, left:left + size]


def solve(net, images, labels, iterations=120):
    batch, _, size, _ = net.shape
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
    for _ in range(iterations):
        rows = torch.randint(0, len(images), (batch,))
        x = crop(images[rows], size, at_random=True)
        if TRAIN_VAL["mirror"] and torch.rand(()) < 0.5:
            x = x.flip(-1)
        loss = F.cross_entropy(net(x), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"final training loss {loss.item():.3f}")


images, labels = textures(400)
net = MiniAlexNet(TRAIN_VAL)
solve(net, images, labels)
snapshot = io.BytesIO()
torch.save(net.state_dict(), snapshot)

snapshot.seek(0)
deployed = MiniAlexNet(DEPLOY)
deployed.load_state_dict(torch.load(snapshot))
deployed.eval()

images, labels = textures(60)
with torch.no_grad():
    guesses = [deployed(crop(image[None], deployed.shape[-1], at_random=False)).argmax(1) for image in images]
print("deployed accuracy", (torch.cat(guesses) == labels).float().mean().item())
