"""The result of an operation that returns a new tensor is discarded."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Family, Fault, FixPattern, ReadTemplate, Replace, Subject, bare_calls, trees


class ResultDiscarded(ReadTemplate):
    """The result of a tensor operation, or of a layer, is discarded, and the unchanged tensor is used afterwards.

    `permute`, `view`, `to` and the like do not change a tensor or array but return a new one. As a statement of its own
    such a call has no effect: the following code works with the old shape, dtype or device. A layer whose output is
    discarded is not part of the network.

    Fix safety: unsafe. The following code works with another tensor from now on.

    References: torch.Tensor.permute, torch.Tensor.to (against torch.nn.Module.to, which works in place).
    """

    code = "DNF402"
    name = "result-discarded"
    formerly = ("result-thrown-away",)
    message = "the result of `{operation}` is discarded; `{kept}` does not change"
    confidence = 0.85
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for call, target in bare_calls.discarded(subject) if source.frameworks else ():
            if _operation(call) == "detach()":
                continue  # a rule of its own says what comes of it
            kept, site = source.segment(source.site(target)), source.site(call)
            words = {"operation": _operation(call), "kept": kept}
            edit = Replace(site, f"{kept} = {subject.text(site)}")
            yield Fault.with_repair(site, words, f"Assign the result to `{kept}`", edit)

    programs = """
=== example: axes meant to be swapped
import torch
import torch.nn as nn

class Encoder(nn.Module):
    def __init__(self, batch_first):
        super().__init__()
        self.batch_first = batch_first
        self.rnn = nn.GRU(8, 16, batch_first=True)

    def forward(self, x):
        if not self.batch_first:
-             x.permute(1, 0, 2)  # (T, B, F) -> (B, T, F)
+             x = x.permute(1, 0, 2)  # (T, B, F) -> (B, T, F)
        out, _ = self.rnn(x)
        return out[:, -1]

=== example: batches that stay on the CPU
import torch
from torch.utils.data import DataLoader

def train(model, data, optimizer, device):
    loader = DataLoader(data, batch_size=8)
    for step, (images, labels) in enumerate(loader):
-         images.to(device)
+         images = images.to(device)
        labels = labels.to(device)
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()

=== example: a torch function whose result is discarded
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 16)
        self.drop = nn.Dropout(0.5)
        self.fc2 = nn.Linear(16, 3)

    def forward(self, x):
        h = self.fc1(x)
-         F.relu(h)
+         h = F.relu(h)
        return self.fc2(self.drop(h))

=== example: a Keras layer whose output is discarded
import numpy as np
from keras.layers import Dense, Dropout, Input
from keras.models import Model

x_train = np.random.rand(32, 2, 2)
inputs = Input(shape=(4,))
x = Dense(16, activation="relu")(inputs)
- Dropout(0.5)(x)
+ x = Dropout(0.5)(x)
outputs = Dense(1)(x)
model = Model(inputs, outputs)
model.compile(loss="mse", optimizer="adam")
model.fit(x_train.reshape(-1, 4), np.zeros(32))

=== reject: modules move in place, and methods with an underscore work in place
import torch
from torch import nn

def prepare(device):
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    net.to(device)
    net.float()
    x = torch.zeros(4)
    x.unsqueeze_(0)
    nn.functional.relu(x, inplace=True)
    return net(x)

=== reject: batches that are mappings move in place
import torch
from torch.utils.data import DataLoader

def train(model, data, collate, device):
    for step, batch in enumerate(DataLoader(data, batch_size=8, collate_fn=collate)):
        batch.to(device)
        model(**batch).loss.backward()
    for batch in DataLoader(data, batch_size=8, collate_fn=collate):
        batch.to(device)
        print(batch["labels"])

=== reject: a module that is called squeeze
from torch import nn

class Fire(nn.Module):
    def __init__(self):
        super().__init__()
        self.squeeze = nn.Conv2d(8, 4, 1)

    def forward(self, x):
        self.squeeze(x)
        return x

def use(model, x):
    model.to("cpu")
    return model(x)

=== reject: an expression that a notebook shows
# In[1]:
import torch
x = torch.zeros(6)
x.view(2, 3)
# In[2]:
print(x)
"""


def _operation(call: ast.Call) -> str:
    function = call.func.func if isinstance(call.func, ast.Call) else call.func
    return f"{trees.last_name(function)}()"
