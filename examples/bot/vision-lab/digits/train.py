"""Trains the network on pictures that stand in for the real ones."""

import argparse

import torch
from net import Digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def pictures(count):
    labels = torch.randint(10, (count,))
    images = torch.randn(count, 1, 28, 28) * 0.3
    for image, label in zip(images, labels):
        image[0, 2 + 2 * label : 4 + 2 * label] += 1.0
    return TensorDataset(images, labels)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--batch-size", type=int, default=32)
    options = parser.parse_args()
    net, measure = Digits(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(options.epochs):
        for images, labels in DataLoader(pictures(512), batch_size=options.batch_size, shuffle=True):
            optimizer.zero_grad()
            loss = measure(net(images), labels)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
