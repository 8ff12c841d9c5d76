import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

SIZE = 24
CLASSES = ('__background__', 'bottle', 'chair')


class ShapesDatabase:
    """Images with one object each, and the proposals that a region tool made for them."""

    def __init__(self, num_images):
        self.images, self.objects, self.kinds = [], [], []
        for _ in range(num_images):
            image, box, cls = self._draw()
            self.images.append(image)
            self.objects.append(np.array([box]))
            self.kinds.append(cls)
        self.images = np.array(self.images, dtype='float32')
        self._from_tool = {'boxes': [self._propose(box[0]) for box in self.objects]}

    def _draw(self):
        cls = np.random.randint(1, len(CLASSES))
        height, width = (14, 6) if cls == 1 else (9, 9)
        y, x = np.random.randint(0, SIZE - height + 1), np.random.randint(0, SIZE - width + 1)
        image = np.random.normal(0, 0.1, (3, SIZE, SIZE))
        image[cls, y:y + height, x:x + width] += 1.0
        return image, (x, y, x + width - 1, y + height - 1), cls

    def _propose(self, box, count=20):
        """The output of the MATLAB tool: rows of (y1, x1, y2, x2)."""
        near = np.array(box) + np.random.randint(-3, 4, (count // 2, 4))
        corners = np.sort(np.random.randint(0, SIZE, (count // 2, 2, 2)), axis=1).reshape(-1, 4)
        boxes = np.clip(np.vstack([near, corners, [[0, 0, SIZE - 1, SIZE - 1]]]), 0, SIZE - 1)
        return boxes[:, (1, 0, 3, 2)] + 1

    def regions(self):
        entries = []
        for i in range(len(self.images)):
            boxes = self._from_tool['boxes'][i][:, (1, 0, 3, 2)]
            overlaps = bbox_overlaps(boxes, self.objects[i][0])
            labels = np.where(overlaps > 0.5, self.kinds[i], 0)
            entries.append({'boxes': boxes, 'labels': labels, 'overlaps': overlaps})
        return entries


def bbox_overlaps(boxes, gt):
    width = np.minimum(boxes[:, 2], gt[2]) - np.maximum(boxes[:, 0], gt[0]) + 1
    height = np.minimum(boxes[:, 3], gt[3]) - np.maximum(boxes[:, 1], gt[1]) + 1
    shared = np.clip(width, 0, None) * np.clip(height, 0, None)
    area = (boxes[:, 2] - boxes[:, 0] + 1) * (boxes[:, 3] - boxes[:, 1] + 1)
    return shared / (area + (gt[2] - gt[0] + 1) * (gt[3] - gt[1] + 1) - shared)


class RegionNet(nn.Module):
    """Scores regions by the features at their corners and in their middle."""

    def __init__(self, channels=16):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, channels, 5, padding=2), nn.ReLU(), nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU())
        self.score = nn.Sequential(nn.Linear(5 * channels, 48), nn.ReLU(), nn.Linear(48, len(CLASSES)))

    def forward(self, image, boxes):
        conv = self.features(image[None])[0]
        x1, y1, x2, y2 = boxes.unbind(dim=1)
        rows = torch.stack([y1, y1, y2, y2, (y1 + y2) // 2], dim=1)
        cols = torch.stack([x1, x2, x1, x2, (x1 + x2) // 2], dim=1)
        pooled = conv[:, rows, cols].permute(1, 2, 0)
        return self.score(pooled.flatten(1))


def tensors(database):
    for image, entry in zip(database.images, database.regions()):
        yield torch.from_numpy(image), torch.from_numpy(entry['boxes']), torch.from_numpy(entry['labels'])


train_set = list(tensors(ShapesDatabase(60)))
test_set = list(tensors(ShapesDatabase(20)))

net = RegionNet()
optimizer = torch.optim.Adam(net.parameters(), lr=0.005)
weight = torch.tensor([0.5, 1.0, 1.0])
for epoch in range(8):
    total = 0.0
    for n in torch.randperm(len(train_set)).tolist():
        image, boxes, labels = train_set[n]
        loss = F.cross_entropy(net(image, boxes), labels, weight=weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print('epoch %d  loss %.4f' % (epoch, total / len(train_set)))

with torch.no_grad():
    hits = torch.cat([net(image, boxes).argmax(dim=1) == labels for image, boxes, labels in test_set])
print('regions classified: %.3f of %d' % (hits.float().mean().item(), len(hits)))
