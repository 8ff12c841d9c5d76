"""Train a network for sounds, keep its weights in a file, and classify new sounds with a second net made for deployment."""
import os
import tempfile

import torch
from torch import nn

KINDS = ["whistle", "drum", "hiss", "hum"]
SAMPLES = 256


def sounds(count):
    kinds = torch.randint(0, len(KINDS), (count,))
    time = torch.linspace(0, 1, SAMPLES)
    pitch = torch.empty(count, 1).uniform_(30, 40)
    whistle = torch.sin(2 * torch.pi * pitch * time)
    drum = torch.exp(-8 * time) * torch.sin(2 * torch.pi * pitch / 3 * time) * 2
    hiss = torch.randn(count, SAMPLES) * 0.8
    hum = torch.sin(2 * torch.pi * pitch / 8 * time)
    every = torch.stack([whistle, drum, hiss, hum], dim=1)
    waves = every[torch.arange(count), kinds] + 0.2 * torch.randn(count, SAMPLES)
    return waves.unsqueeze(1), kinds


class SoundNet(nn.Module):
    def __init__(self, deploy=False):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 8, 9, stride=2), nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(8, 16, 5, stride=2), nn.ReLU(),
            nn.AdaptiveMaxPool1d(4),
        )
        self.ip = nn.Linear(64, len(KINDS))
        self.deploy = deploy

    def forward(self, waves):
        scores = self.ip(self.features(waves).flatten(1))
        return scores.softmax(dim=1) if self.deploy else scores


def solve(weights, iterations=200):
    net = SoundNet()
    solver = torch.optim.Adam(net.parameters(), lr=3e-3)
    for iteration in range(1, iterations + 1):
        waves, kinds = sounds(32)
        loss = nn.functional.cross_entropy(net(waves), kinds)
        solver.zero_grad()
        loss.backward()
        solver.step()
        if iteration % 50 == 0:
            print("Iteration %d, loss = %.4f" % (iteration, loss.item()))
    torch.save(net.state_dict(), weights)
    print("Snapshotting to", os.path.basename(weights))


def classify(weights, waves):
    if not os.path.exists(weights):
        raise SystemExit("no weights in " + weights)
    net = SoundNet(deploy=True)
    net.eval()
    with torch.no_grad():
        probabilities = net(waves)
    return probabilities.argmax(dim=1), probabilities.max(dim=1).values


def main():
    with tempfile.TemporaryDirectory() as folder:
        weights = os.path.join(folder, "soundnet_iter_200.pt")
        solve(weights)
        waves, kinds = sounds(200)
        guesses, certainty = classify(weights, waves)
    for guess, kind, probability in list(zip(guesses, kinds, certainty))[:3]:
        print("%-8s taken for %-8s (%.2f)" % (KINDS[kind], KINDS[guess], probability))
    print("accuracy of the deployed net: %.3f" % (guesses == kinds).float().mean().item())


if __name__ == "__main__":
    main()
