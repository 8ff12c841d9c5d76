"""The network: two convolutions and a layer of scores."""

from torch import nn


class Digits(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, kernel_size=3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, kernel_size=3),
            nn.ReLU(),
        )
        self.scores = nn.Linear(16 * 11 * 11, classes)

    def forward(self, images):
        return self.scores(self.features(images))
