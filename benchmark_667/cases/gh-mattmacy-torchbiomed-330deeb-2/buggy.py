import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.data as data

SHAPE_MAX = (12, 12, 12)
MIN_BOUND, MAX_BOUND = -1000.0, 400.0


def scan_archive(count):
    """CT crops by series id in Hounsfield units; only series with a nodule have a mask."""
    images, masks = {}, {}
    for number in range(count):
        series = "1.3.6.1.4.%d" % (1000 + number)
        volume = np.random.normal(-700, 80, size=SHAPE_MAX)
        if number % 2 == 0:
            z, y, x = np.random.randint(1, 8, size=3)
            mask = np.zeros(SHAPE_MAX, dtype=np.int8)
            mask[z:z + 4, y:y + 4, x:x + 4] = 1
            volume[mask == 1] += 650
            masks[series] = mask
        images[series] = volume
    return images, masks


def normalize(image):
    image = (image - MIN_BOUND) / (MAX_BOUND - MIN_BOUND)
    return np.clip(image, 0.0, 1.0).astype(np.float32)


def make_dataset(image_dict, label_dict, train):
    negatives = []
    positives = list(label_dict.keys())
    for key in image_dict:
        image_dict[key] = normalize(image_dict[key])
        if key not in label_dict:
            label_dict[key] = np.zeros(SHAPE_MAX, dtype=np.int8)
            negatives.append(key)
    pos_test_count = len(positives) // 5
    neg_test_count = len(negatives) // 5

    train_series, test_series = [], []
    for count, series in enumerate(positives):
        if count < pos_test_count:
            test_series.append(series)
        else:
            train_series.append(series)
    count = 0
    for series, label in negatives:
        if count < neg_test_count:
            test_series.append(series)
        else:
            train_series.append(series)
        count += 1

    image_series = train_series if train else test_series
    return [(series, image_dict[series], label_dict[series]) for series in image_series]


class LungNodules(data.Dataset):
    def __init__(self, images, masks, train=True):
        self.items = make_dataset(dict(images), dict(masks), train)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        _, image, label = self.items[index]
        return torch.from_numpy(image)[None], torch.from_numpy(label).float()[None]


class VNetLite(nn.Sequential):
    def __init__(self, width=6):
        super().__init__(
            nn.Conv3d(1, width, 3, padding=1), nn.ELU(),
            nn.Conv3d(width, width, 3, padding=1), nn.ELU(),
            nn.Conv3d(width, 1, 1),
        )


def dice(logits, target):
    mask = (logits > 0).float()
    return (2 * (mask * target).sum() / (mask.sum() + target.sum()).clamp(min=1)).item()


images, masks = scan_archive(40)
train_loader = data.DataLoader(LungNodules(images, masks), batch_size=8, shuffle=True)
test_loader = data.DataLoader(LungNodules(images, masks, train=False), batch_size=8)

net = VNetLite()
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
for epoch in range(8):
    for image, label in train_loader:
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(net(image), label)
        loss.backward()
        optimizer.step()
    print("epoch %d loss %.4f" % (epoch, loss.item()))

net.eval()
with torch.no_grad():
    scores = [dice(net(image), label) for image, label in test_loader]
print("test dice %.3f" % np.mean(scores))
