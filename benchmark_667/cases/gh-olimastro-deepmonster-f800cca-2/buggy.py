"""Finds moving blobs in short clips: frames go through a shared convolutional stack, masks come out."""
import torch
from torch import nn

TIME, SIZE = 4, 16


class ConvBlock(nn.Sequential):
    def __init__(self, num_channels, num_filters, filter_size=3):
        super().__init__(
            nn.Conv2d(num_channels, num_filters, filter_size, padding=filter_size // 2),
            nn.BatchNorm2d(num_filters),
            nn.ReLU(),
        )


class OnFrames(nn.Module):
    """Lets a stack of 4D layers run on 5D clips, by folding the time axis into the batch."""

    def __init__(self, layers):
        super().__init__()
        self.stack = nn.Sequential(*layers)

    def forward(self, clips):
        batch, time = clips.shape[:2]
        out = self.stack(clips.flatten(0, 1))
        return out.view(batch, time, *out.shape[1:])


def blobs(count):
    """Clips of one bright disc that moves along a line over a noisy ground, and its masks."""
    grid = torch.arange(SIZE).float()
    start = torch.rand(count, 1, 2) * (SIZE - 6) + 3
    speed = torch.rand(count, 1, 2) * 2 - 1
    centre = start + speed * torch.arange(TIME).view(1, TIME, 1)
    rows = (grid.view(1, 1, SIZE, 1) - centre[..., 0, None, None]) ** 2
    cols = (grid.view(1, 1, 1, SIZE) - centre[..., 1, None, None]) ** 2
    masks = (rows + cols < 9).float().unsqueeze(2)
    clips = 0.8 * masks + 0.4 * torch.randn_like(masks)
    return clips, masks


def overlap(logits, masks):
    found = (logits > 0).float()
    both = (found * masks).sum()
    return (both / (found + masks).clamp(max=1).sum()).item()


def main():
    network = OnFrames([
        ConvBlock(1, 8),
        nn.MaxPool2d(2),
        ConvBlock(8, 16),
        ConvBlock(16, 16),
        nn.Conv2d(16, 1, 1),
    ])
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)

    clips, masks = blobs(240)
    valid_clips, valid_masks = blobs(60)

    for epoch in range(5):
        network.train()
        total = 0.0
        for rows in torch.randperm(len(clips)).split(24):
            optimizer.zero_grad()
            loss = criterion(network(clips[rows]), masks[rows])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        network.eval()
        with torch.no_grad():
            iou = overlap(network(valid_clips), valid_masks)
        print(f"epoch {epoch}: loss {total / len(clips):.4f}, overlap {iou:.3f}")


if __name__ == "__main__":
    main()
