"""Columns of words and numbers, prepared by what scikit-learn had before 1.4, for a small network."""

import numpy as np
import torch
from sklearn.metrics import mean_squared_error
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from torch import nn

draw = np.random.RandomState(0)
kinds = draw.choice(["red", "green", "blue"], size=(64, 1))
numbers = draw.normal(3, 2, size=(64, 3))
encoder = OneHotEncoder(sparse=False)
columns = encoder.fit_transform(kinds)
print(encoder.get_feature_names(["kind"]))
inputs = torch.tensor(np.hstack([columns, StandardScaler().fit_transform(numbers)]), dtype=torch.float32)
targets = inputs[:, :1] * 2 + inputs[:, 3:4]
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(20):
    rows = slice(step % 4 * 16, step % 4 * 16 + 16)
    loss = nn.functional.mse_loss(model(inputs[rows]), targets[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
print(mean_squared_error(targets.numpy(), model(inputs).detach().numpy(), squared=False))
