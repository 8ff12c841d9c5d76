"""Land cover from four-band satellite tiles, stored as 16 bit digital numbers like the sensor delivers them."""
import random

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

CLASSES = ("water", "forest", "crop", "built-up")
SIGNATURES = np.array([
    [955, 920, 870, 845],
    [880, 900, 850, 950],
    [865, 945, 890, 930],
    [920, 935, 940, 905],
])


def to_tensor(pic):
    """H x W x C integer array to C x H x W float tensor in [0, 1]."""
    denominator = np.iinfo(pic.dtype).max
    pic = np.ascontiguousarray(pic.transpose(2, 0, 1))
    return torch.from_numpy(pic.astype(np.float32)).div(denominator)


def to_ndarray(tensor):
    """C x H x W float tensor in [0, 1] to H x W x C integer array."""
    pic = tensor.mul(255).numpy().astype(np.uint8)
    return pic.transpose(1, 2, 0)


def normalize(tensor, mean, std):
    mean = torch.tensor(mean).view(-1, 1, 1)
    std = torch.tensor(std).view(-1, 1, 1)
    return (tensor - mean) / std


class RandomRot90Flip:
    """Works on arrays, so tensors go there and back."""

    def __call__(self, tensor):
        pic = np.rot90(to_ndarray(tensor), k=random.randrange(4))
        if random.random() < 0.5:
            pic = np.fliplr(pic)
        return to_tensor(pic)


class Tiles(Dataset):
    def __init__(self, count, size=10):
        self.labels = np.random.randint(0, len(CLASSES), count)
        pixels = SIGNATURES[self.labels][:, None, None, :]
        brightness = np.random.normal(0, 8, (count, 1, 1, 1))
        noise = np.random.normal(0, 18, (count, size, size, 4))
        self.tiles = (pixels + brightness + noise).round().astype(np.uint16)
        self.augment = RandomRot90Flip()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        tensor = self.augment(to_tensor(self.tiles[index]))
        tensor = normalize(tensor, mean=[0.0138, 0.0141, 0.0135, 0.0138], std=[0.0006, 0.0004, 0.0006, 0.0007])
        return tensor, int(self.labels[index])


def network():
    return nn.Sequential(
        nn.Conv2d(4, 16, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 16, 3), nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 3 * 3, len(CLASSES)),
    )


def accuracy(net, loader):
    net.eval()
    hits = 0
    with torch.no_grad():
        for tiles, labels in loader:
            hits += (net(tiles).argmax(1) == labels).sum().item()
    return hits / len(loader.dataset)


def main():
    train_loader = DataLoader(Tiles(400), batch_size=20, shuffle=True)
    test_loader = DataLoader(Tiles(200), batch_size=50)
    net = network()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(1, 7):
        net.train()
        for tiles, labels in train_loader:
            optimizer.zero_grad()
            loss = criterion(net(tiles), labels)
            loss.backward()
            optimizer.step()
        print("epoch %d, last loss %.3f" % (epoch, loss.item()))
    print("test accuracy: %.3f" % accuracy(net, test_loader))


if __name__ == "__main__":
    main()
