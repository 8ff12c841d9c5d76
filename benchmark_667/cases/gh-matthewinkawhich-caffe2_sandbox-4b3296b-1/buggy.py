# Gesture recognition on stacks of optical flow fields (temporal stream), trained batch by batch.
import random

import numpy as np
import torch
import torch.nn as nn

FLOW_SIZE = 16
STACK = 6
GESTURES = ["swipe left", "swipe right", "swipe down", "zoom in"]


def flow_stack(gesture):
    """x and y flow of a moving patch over STACK frames."""
    flow = 0.2 * np.random.randn(STACK, 2, FLOW_SIZE, FLOW_SIZE)
    cy, cx = np.random.randint(5, 11, size=2)
    ys, xs = np.mgrid[0:FLOW_SIZE, 0:FLOW_SIZE]
    inside = (abs(ys - cy) < 4) & (abs(xs - cx) < 4)
    direction = {0: (-1, 0), 1: (1, 0), 2: (0, 1)}.get(gesture)
    for frame in range(STACK):
        if direction is None:
            flow[frame, 0][inside] += 0.4 * (xs - cx)[inside]
            flow[frame, 1][inside] += 0.4 * (ys - cy)[inside]
        else:
            flow[frame, 0][inside] += direction[0]
            flow[frame, 1][inside] += direction[1]
    return flow.reshape(2 * STACK, FLOW_SIZE, FLOW_SIZE)


class JesterReader:
    def __init__(self, size):
        self.sequences = [(flow_stack(label), label) for label in np.random.randint(len(GESTURES), size=size)]

    def __len__(self):
        return len(self.sequences)

    def read(self, batch_size, shuffle=True):
        order = list(range(len(self)))
        if shuffle:
            random.shuffle(order)
        for start in range(0, len(order) - batch_size + 1, batch_size):
            stacks, labels = zip(*(self.sequences[i] for i in order[start:start + batch_size]))
            yield np.stack(stacks).astype(np.float32), np.array(labels, dtype=np.int64)


def cnn_m():
    return nn.Sequential(
        nn.Conv2d(2 * STACK, 16, 5, stride=2), nn.ReLU(),
        nn.Conv2d(16, 24, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.2), nn.Linear(24 * 2 * 2, len(GESTURES)),
    )


def text_plot(title, values, rows=5, columns=40):
    """The curve of a training as a few lines of text."""
    low, high = values.min(), values.max()
    picked = values[np.linspace(0, len(values) - 1, columns).astype(int)]
    level = np.round((picked - low) / (high - low + 1e-9) * (rows - 1)).astype(int)
    print("%s from %.3f to %.3f" % (title, values[0], values[-1]))
    for row in reversed(range(rows)):
        print("".join("*" if at == row else " " for at in level))


train_dataset = JesterReader(160)
net = cnn_m()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

accuracy = []
loss = []
for epoch in range(6):
    for index, (image, label) in enumerate(train_dataset.read(batch_size=16)):
        label = torch.from_numpy(label)
        output = net(torch.from_numpy(image))
        batch_loss = criterion(output, label)
        optimizer.zero_grad()
        batch_loss.backward()
        optimizer.step()
        accuracy.append((output.argmax(1) == label).float().mean().item())
        loss.append(batch_loss.item())
    print("[%d] loss=%.4f, accuracy=%.3f" % (epoch, loss[-1], accuracy[-1]))

# After execution is done lets plot the values
text_plot("loss", np.array(loss))
text_plot("accuracy", accuracy)
