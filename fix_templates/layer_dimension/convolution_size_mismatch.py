"""A convolution is made for another number of channels than it receives."""

from __future__ import annotations

from dnnfix.api import (
    Example,
    Reject,
    SizeConflict,
    SizeTemplate,
    Subject,
)


class ConvolutionSizeMismatch(SizeTemplate):
    """A convolution, transposed or not, is made for another number of channels than it receives.

    The kernels have one slice per input channel, so the program stops at the first batch. Typical for gray images in a
    network for colour images, for blocks whose channels were changed on one side only, and after a concatenation.

    Fix safety: unsafe. The convolution, or the one before it, gets other weights; saved weights do not fit any more.

    References: torch.nn.Conv2d (`in_channels`), torch.nn.ConvTranspose2d.
    """

    code = "DNF202"
    name = "convolution-size-mismatch"
    message = "{layer} takes {stated} channels and receives {received}"
    kind = "convolution"

    def explains(self, subject: Subject, conflict: SizeConflict) -> bool:
        """Whether it is the number of channels: an image without batch or with its channels last is another fault."""
        shape = conflict.value.shape or ()
        if not super().explains(subject, conflict) or len(shape) != conflict.facts.batched_rank:
            return False
        return not (conflict.value.producer is None and shape[-1] == conflict.stated)

    examples = (
        Example(
            "gray images in a network for colour images",
            """\
import torch
import torch.nn as nn

images = torch.rand(4, 1, 16, 16)
net = nn.Sequential(
-     nn.Conv2d(3, 8, kernel_size=3),
+     nn.Conv2d(1, 8, kernel_size=3),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(8, 2),
)
print(net(images).shape)
""",
            runs=True,
        ),
        Example(
            "channels changed on one side",
            """\
import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(in_channels=2, out_channels=12, kernel_size=3)
        self.norm = nn.BatchNorm1d(12)
-         self.second = nn.Conv1d(in_channels=16, out_channels=4, kernel_size=3)
+         self.second = nn.Conv1d(in_channels=12, out_channels=4, kernel_size=3)

    def forward(self, signal):
        return self.second(torch.relu(self.norm(self.first(signal))))


print(Block()(torch.randn(3, 2, 20)).shape)
""",
            runs=True,
        ),
        Example(
            "transposed convolution of a block with parameters",
            """\
import torch
import torch.nn as nn


class Up(nn.Module):
    def __init__(self, in_ch, out_ch):
        super().__init__()
-         self.up = nn.ConvTranspose2d(in_ch, out_ch, 2, stride=2)
+         self.up = nn.ConvTranspose2d(in_ch // 2, out_ch, 2, stride=2)

    def forward(self, x):
        return self.up(x)


up = Up(64, 16)
print(up(torch.randn(1, 32, 4, 4)).shape)
""",
            runs=True,
        ),
        Example(
            "channels of a concatenation",
            """\
import torch
import torch.nn as nn

left = nn.Conv2d(3, 4, 1)
- right = nn.Conv2d(3, 6, 1)
+ right = nn.Conv2d(3, 4, 1)
join = nn.Conv2d(8, 2, 1)
x = torch.randn(2, 3, 5, 5)
y = join(torch.cat([left(x), right(x)], dim=1))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "channels that meet",
            """\
import torch
import torch.nn as nn

nn.Sequential(nn.Conv2d(3, 8, 3), nn.Conv2d(8, 4, 3))(torch.randn(2, 3, 9, 9))
""",
            runs=True,
        ),
        Reject(
            "images with their channels last",
            """\
import torch
import torch.nn as nn

nn.Conv2d(3, 8, 3)(torch.randn(2, 9, 9, 3))
""",
            runs=True,
        ),
    )
