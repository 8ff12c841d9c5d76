"""Features of NumPy with the aliases of types that it had before 1.24, for a small network."""

import numpy as np
import torch
from torch import nn

draw = np.random.RandomState(0)
inputs = draw.normal(size=(64, 6)).astype(np.float)
labels = (inputs.sum(axis=1) > 0).astype(np.int)
kept = np.ones(64, dtype=np.bool)
kept[::9] = False
inputs, labels = inputs[kept], labels[kept]
inputs = inputs / np.linalg.norm(inputs, axis=1, keepdims=True)
area = np.trapz(np.abs(inputs), axis=1)
inputs = np.column_stack([inputs, area]).astype("float32")
model = nn.Sequential(nn.Linear(7, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(20):
    rows = slice(step % 4 * 12, step % 4 * 12 + 12)
    loss = nn.functional.cross_entropy(model(torch.from_numpy(inputs[rows])), torch.from_numpy(labels[rows]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
