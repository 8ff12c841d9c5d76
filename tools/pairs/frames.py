"""A table with gaps, filled and changed by what pandas 1 had, for a small network."""

import numpy as np
import pandas as pd
import torch
from torch import nn

draw = np.random.RandomState(0)
first = pd.DataFrame(draw.normal(size=(40, 4)), columns=list("abcd"))
first.loc[::5, "b"] = np.nan
more = pd.DataFrame(draw.normal(size=(24, 4)), columns=list("abcd"))
table = first.append(more, ignore_index=True)
table["b"] = table["b"].fillna(method="ffill")
table["b"] = table["b"].fillna(method="bfill")
rounded = more.applymap(lambda value: round(value, 1))
table.loc[40:, "c"] = rounded["c"].values
labels = torch.tensor((table["a"] > table["b"]).astype("float32").values)
inputs = torch.tensor(table.values, dtype=torch.float32)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    rows = slice(step % 4 * 16, step % 4 * 16 + 16)
    loss = nn.functional.binary_cross_entropy_with_logits(model(inputs[rows]).squeeze(1), labels[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
