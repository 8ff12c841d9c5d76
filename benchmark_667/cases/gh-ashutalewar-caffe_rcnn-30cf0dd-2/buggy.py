"""Name the objects in street scenes, region by region, from annotations in the manner of PASCAL VOC."""
from xml.dom import minidom

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

CLASSES = ("__background__", "car", "person", "bicycle")
CLASS_TO_IND = {name: ind for ind, name in enumerate(CLASSES)}
SEEN = ("car", "person", "bicycle", "dog", "bin")
SHAPES = {"car": (5, 9), "person": (9, 3), "bicycle": (6, 6), "dog": (3, 4), "bin": (4, 3)}
SIDE = 24


def scene():
    """A street of three things, and its annotation."""
    image = 0.15 * np.random.randn(SIDE, SIDE).astype(np.float32)
    objects = ""
    for name in np.random.choice(SEEN, size=3):
        high, wide = SHAPES[name]
        y, x = np.random.randint(1, SIDE - high), np.random.randint(1, SIDE - wide)
        image[y : y + high, x : x + wide] += 1
        box = "<xmin>%d</xmin><ymin>%d</ymin><xmax>%d</xmax><ymax>%d</ymax>" % (x + 1, y + 1, x + wide, y + high)
        objects += "<object><name>%s</name><bndbox>%s</bndbox></object>" % (name, box)
    return image, "<annotation>%s</annotation>" % objects


def load_pascal_annotation(text):
    """The boxes and the classes of an image's objects, as numbers."""

    def get_data_from_tag(node, tag):
        return node.getElementsByTagName(tag)[0].childNodes[0].data

    objs = minidom.parseString(text).getElementsByTagName("object")
    num_objs = len(objs)
    boxes = np.zeros((num_objs, 4), dtype=np.int64)
    gt_classes = -np.ones((num_objs), dtype=np.int64)
    for ix, obj in enumerate(objs):
        # pixels count from 0
        boxes[ix] = [int(get_data_from_tag(obj, tag)) - 1 for tag in ("xmin", "ymin", "xmax", "ymax")]
        name = get_data_from_tag(obj, "name")
        if name in CLASS_TO_IND:
            gt_classes[ix] = CLASS_TO_IND[name]
    return {"boxes": boxes, "gt_classes": gt_classes}


def get_minibatch(n):
    """Regions with a margin around each box, all of one size, and their labels."""
    rois, labels = [], []
    for _ in range(n):
        image, annotation = scene()
        roidb = load_pascal_annotation(annotation)
        for x1, y1, x2, y2 in roidb["boxes"]:
            roi = np.zeros((12, 12), dtype=np.float32)
            cut = image[max(0, y1 - 1) : y2 + 2, max(0, x1 - 1) : x2 + 2]
            roi[: cut.shape[0], : cut.shape[1]] = cut
            rois.append(roi)
        labels.extend(roidb["gt_classes"])
    return torch.tensor(np.array(rois))[:, None], torch.tensor(np.array(labels))


net = nn.Sequential(
    nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(8 * 25, 32), nn.ReLU(),
    nn.Linear(32, len(CLASSES)),
)
solver = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

for iteration in range(1, 151):
    rois, labels = get_minibatch(8)
    loss = F.cross_entropy(net(rois), labels)
    solver.zero_grad()
    loss.backward()
    solver.step()
    if iteration % 50 == 0:
        print("iteration %d: loss_cls %.3f" % (iteration, loss.item()))

rois, labels = get_minibatch(60)
with torch.no_grad():
    named = net(rois).argmax(1)
print("regions named as annotated: %.3f" % (named == labels).float().mean().item())
