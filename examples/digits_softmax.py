"""Handwritten digits: trains, but stays far from what such a network reaches."""

import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(0)
images, digits = load_digits(return_X_y=True)
inputs = torch.tensor(images / 16.0, dtype=torch.float32)
labels = torch.tensor(digits)


class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(64, 32)
        self.scores = nn.Linear(32, 10)

    def forward(self, x):
        x = torch.relu(self.hidden(x))
        return torch.softmax(self.scores(x), dim=1)


model = DigitNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(30):
    order = torch.randperm(len(inputs))
    for start in range(0, len(order), 64):
        rows = order[start:start + 64]
        optimizer.zero_grad()
        loss = criterion(model(inputs[rows]), labels[rows])
        loss.backward()
        optimizer.step()

accuracy = (model(inputs).argmax(dim=1) == labels).float().mean()
print(f"accuracy {accuracy:.3f}")
