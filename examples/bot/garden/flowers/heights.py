"""How high does a flower grow? From four measures."""

import torch

torch.manual_seed(0)
measures = torch.randn(400, 4)
heights = measures @ torch.tensor([1.0, -2.0, 0.5, 3.0]) + 10

net = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(200):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(net(measures), heights)
    loss.backward()
    optimizer.step()
print("mean squared error %.3f" % loss.item())
