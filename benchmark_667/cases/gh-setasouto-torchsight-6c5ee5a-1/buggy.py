"""Focal loss for a one-stage detector of ships on synthetic radar images; some images are empty sea."""
import torch
from torch import nn

SIZE, STRIDE, SHIP = 32, 4, 6


def radar_batch(count):
    images = 0.1 * torch.randn(count, 1, SIZE, SIZE)
    boxes = torch.full((count, 2, 5), -1.0)
    for i in range(count):
        for j in range(int(torch.randint(0, 3, (1,)))):
            x, y = torch.randint(0, SIZE - SHIP, (2,)).tolist()
            images[i, 0, y:y + SHIP, x:x + SHIP] += 1.0
            boxes[i, j] = torch.tensor([x, y, x + SHIP, y + SHIP, 0.0])
    return images, boxes


def make_anchors():
    centres = torch.arange(STRIDE // 2, SIZE, STRIDE).float()
    y, x = torch.meshgrid(centres, centres, indexing="ij")
    x, y = x.reshape(-1), y.reshape(-1)
    return torch.stack([x - SHIP / 2, y - SHIP / 2, x + SHIP / 2, y + SHIP / 2], dim=1)


def compute_iou(a, b):
    top = torch.max(a[:, None, :2], b[None, :, :2])
    bottom = torch.min(a[:, None, 2:4], b[None, :, 2:4])
    inter = (bottom - top).clamp(min=0).prod(dim=2)
    area_a = (a[:, 2:4] - a[:, :2]).prod(dim=1)
    area_b = (b[:, 2:4] - b[:, :2]).prod(dim=1)
    return inter / (area_a[:, None] + area_b[None, :] - inter)


class FocalLoss(nn.Module):
    def __init__(self, alpha=0.25, gamma=2.0):
        super().__init__()
        self.alpha, self.gamma = alpha, gamma

    def forward(self, anchors, batch_scores, batch_shifts, batch_annotations):
        classification_losses = []
        regression_losses = []
        for scores, shifts, annotations in zip(batch_scores, batch_shifts, batch_annotations):
            # Keep only the real labels
            annotations = annotations[annotations[:, -1] != -1]
            if annotations.shape[0] == 0:
                classification_losses.append(torch.Tensor([0]))
                regression_losses.append(shifts.new_zeros(()))
                continue

            iou_max, assigned = compute_iou(anchors, annotations).max(dim=1)
            objects = iou_max > 0.4
            targets = objects.float()
            alpha = torch.where(objects, self.alpha, 1 - self.alpha)
            focal = alpha * torch.where(objects, 1 - scores, scores) ** self.gamma
            bce = -(targets * scores.log() + (1 - targets) * (1 - scores).log())
            classification_losses.append((focal * bce).sum() / objects.sum().clamp(min=1))

            if not objects.any():
                regression_losses.append(shifts.new_zeros(()))
                continue
            wanted = (annotations[assigned[objects], :2] - anchors[objects, :2]) / SHIP
            regression_losses.append(((wanted - shifts[objects]) ** 2).mean())
        return torch.stack(classification_losses).mean(), torch.stack(regression_losses).mean()


class ShipNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.score = nn.Conv2d(2 * width, 1, 1)
        self.shift = nn.Conv2d(2 * width, 2, 1)

    def forward(self, images):
        h = self.body(images)
        scores = torch.sigmoid(self.score(h)).flatten(1).clamp(1e-4, 1 - 1e-4)
        return scores, self.shift(h).flatten(2).transpose(1, 2)


anchors = make_anchors()
net, criterion = ShipNet(), FocalLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.005)
for step in range(60):
    images, annotations = radar_batch(12)
    classification, regression = criterion(anchors, *net(images), annotations)
    loss = classification + regression
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} classification {classification.item():.4f} regression {regression.item():.4f}")
print(f"final loss {loss.item():.4f}")
