import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 8)
y = (x[:, 0] > x[:, 1]).long()

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1e1)

for epoch in range(40):
    for start in range(0, 256, 32):
        optimizer.zero_grad()
        loss = loss_fn(model(x[start : start + 32]), y[start : start + 32])
        loss.backward()
        optimizer.step()
print(loss.item())
