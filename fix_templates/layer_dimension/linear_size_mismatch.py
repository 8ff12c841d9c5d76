"""A linear layer is made for another number of features than it receives."""

from __future__ import annotations

from dnnfix.api import (
    Example,
    Reject,
    SizeConflict,
    SizeTemplate,
    Subject,
    image_behind,
)


class LinearSizeMismatch(SizeTemplate):
    """A linear layer is made for another number of features than it receives.

    The matrix product has no meaning and the program stops at the first batch. Typical after a layer was added, a kernel
    or an image size changed, or the size of the flattened image was guessed.

    Fix safety: unsafe. The layer, or the one before it, gets another number of weights; saved weights do not fit any more.

    References: torch.nn.Linear (`in_features`, "size of each input sample").
    """

    code = "DNF201"
    name = "linear-size-mismatch"
    message = "{layer} takes {stated} features and receives {received}"
    kind = "linear"

    def explains(self, subject: Subject, conflict: SizeConflict) -> bool:
        """Whether it is the size alone: an image that was not flattened, or a batch that was, is another fault."""
        rank = len(conflict.value.shape or ())
        if not super().explains(subject, conflict) or rank < 2:
            return False
        return rank == 2 or image_behind(subject, conflict.value) is None

    examples = (
        Example(
            "flattened image of another size",
            """\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
-         self.fc = nn.Linear(4*14*14, 10)
+         self.fc = nn.Linear(4*13*13, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        x = torch.flatten(x, 1)
        return self.fc(x)


out = Net()(torch.randn(2, 1, 28, 28))
""",
            runs=True,
        ),
        Example(
            "two layers of a sequential model",
            """\
import torch
from torch import nn

model = nn.Sequential(
    nn.Linear(6, 32),
    nn.ReLU(),
-     nn.Linear(16, 3),
+     nn.Linear(32, 3),
)
criterion = nn.CrossEntropyLoss()
loss = criterion(model(torch.randn(8, 6)), torch.randint(0, 3, (8,)))
loss.backward()
""",
            runs=True,
        ),
        Example(
            "size given by the caller",
            """\
import torch
import torch.nn as nn


class Regressor(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.body = nn.Linear(inputs, hidden)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


features = torch.randn(16, 13)
- net = Regressor(10, 8)
+ net = Regressor(13, 8)
print(net(features).shape)
""",
            runs=True,
        ),
        Example(
            "name of another layer's size",
            """\
import torch
import torch.nn as nn


class Coder(nn.Module):
    def __init__(self, wide, narrow, code):
        super().__init__()
        self.encode = nn.LSTMCell(wide, narrow)
-         self.mean = nn.Linear(wide, code)
+         self.mean = nn.Linear(narrow, code)
        self.decode = nn.Linear(code, wide)

    def forward(self, x):
        h, c = self.encode(x)
        return self.decode(self.mean(h))


coder = Coder(12, 6, 2)
print(coder(torch.randn(4, 12)).shape)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "sizes that meet",
            """\
import torch
import torch.nn as nn

model = nn.Sequential(nn.Flatten(), nn.Linear(12, 4), nn.ReLU(), nn.Linear(4, 2))
model(torch.randn(5, 3, 4))
""",
            runs=True,
        ),
        Reject(
            "a batch that was flattened into the features",
            """\
import torch
import torch.nn as nn

fc = nn.Linear(12, 4)
fc(torch.randn(5, 3, 4).view(-1))
""",
            runs=True,
        ),
    )
