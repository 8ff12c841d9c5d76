"""A regression that learns nothing: predictions of shape (n, 1) are compared with targets of shape (n,)."""

import numpy as np
import torch

rng = np.random.default_rng(0)
features = rng.normal(size=(200, 3)).astype(np.float32)
values = features @ np.array([1.0, -2.0, 0.5], dtype=np.float32) + 0.3

x = torch.from_numpy(features)
y = torch.from_numpy(values)

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
loss_fn = torch.nn.MSELoss()
optim = torch.optim.Adam(net.parameters(), lr=0.01)

for step in range(300):
    prediction = net(x)
    loss = loss_fn(prediction, y)
    optim.zero_grad()
    loss.backward()
    optim.step()
print(loss.item())
