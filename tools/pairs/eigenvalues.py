"""Directions of the data by what torch 1 had of linear algebra, for a small network."""

import torch
from torch import nn

torch.manual_seed(0)
inputs = torch.randn(64, 6, dtype=torch.float64) @ torch.randn(6, 6, dtype=torch.float64)
labels = (inputs[:, 0] > inputs[:, 1]).long()
centred = inputs - inputs.mean(0)
values, directions = torch.symeig(centred.t() @ centred / 63, eigenvectors=True)
inputs = (centred @ directions).abs() / values.clamp(min=1e-6).sqrt()
q, r = torch.qr(inputs)
inputs = torch.cat([inputs, q.abs()], dim=1)
lower = torch.cholesky(inputs.t() @ inputs + torch.eye(12, dtype=torch.float64))
inputs = (inputs / lower.diagonal()).float()
model = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    rows = slice(step % 4 * 16, step % 4 * 16 + 16)
    loss = nn.functional.cross_entropy(model(inputs[rows]), labels[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
