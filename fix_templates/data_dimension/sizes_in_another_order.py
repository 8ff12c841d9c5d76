"""A view or reshape is given the sizes of a tensor's axes in another order, as the text tells: it mixes the values."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Decline,
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Replace,
    Subject,
    axis_layouts,
    axis_order,
)


class SizesInAnotherOrder(ReadTemplate):
    """`view` and `reshape` keep the order of the values; given the sizes of the axes in another order they mix them.

    After `b, c, h, w = x.shape` a `x.view(b, h, w, c)` has the shape of the permuted tensor, and values of other places in each of its
    rows. The same goes for the last state of a recurrent layer with several layers or directions as `view(batch, -1)`, and for pictures
    of OpenCV or PIL as `reshape(3, h, w)`. Nothing raises, and the network learns from mixed values. `DNF111` sees it in a run.

    Fix safety: unsafe. The values are ordered differently.

    References: torch.Tensor.view, torch.Tensor.permute, torch.nn.LSTM ("h_n: tensor of shape (D * num_layers, N, H_out)").
    """

    code = "DNF170"
    name = "sizes-in-another-order"
    message = "this view mixes values: it {what}"
    confidence = 0.8
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    nature = Nature.RISK
    silent = 11
    default = False
    declined = "the order of the axes that was meant is not told by the sizes"
    triggers = ("view", "reshape")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for viewing in axis_layouts.viewings(source):
            found = axis_order.swaps(source, viewing)
            if found is None:
                for reading, told in (("heads", axis_order.mixed_heads), ("patches", axis_order.torn_patches)):
                    if what := told(source, viewing):
                        yield Fault(
                            source.site(viewing.call), {"what": what}, (Decline(self.declined),), reading=reading
                        )
                continue
            before, after = found
            order = axis_order.permutation(source, viewing)
            text = source.segment(source.site(viewing.base))
            edits = (
                None
                if order is None
                else (Replace(source.site(viewing.call), f"{text}.permute({', '.join(map(str, order))})"),)
            )
            said = {"what": f"lays a tensor with the axes ({before}) out as ({after}), and swaps none of them"}
            yield Fault(source.site(viewing.call), said, (("Permute the axes", edits, 0.8), Decline(self.declined)))

    programs = """
=== example: channels moved by a view
import torch

def last(x):
    b, c, h, w = x.shape
-     return x.view(b, h, w, c)
+     return x.permute(0, 2, 3, 1)

=== example: batch and steps
import torch

def forward(self, x):
-     x = x.reshape(x.size(1), x.size(0), x.size(2))
+     x = x.permute(1, 0, 2)
    return self.lstm(x)

=== reject: the last axis is split into what it was made of
import torch
from torch import nn

class Scores(nn.Module):
    def __init__(self, boxes):
        super().__init__()
        self.score = nn.Conv2d(64, boxes * 2, 1)

    def forward(self, x, boxes):
        n, _, h, w = x.shape
        scores = self.score(x).permute(0, 2, 3, 1).contiguous()
        return torch.softmax(scores.view(n, h, w, boxes, 2), dim=4)

=== reject: permuted first
import torch

def rows(x):
    n, c, h, w = x.size()
    x = x.transpose(1, 2).transpose(2, 3).contiguous().view(-1, c)
    return x

=== reject: flattened, split and joined
import torch

def heads(self, x):
    b, t, c = x.size()
    q = self.query(x).view(b, t, self.n, c // self.n).transpose(1, 2)
    y = (q @ q.transpose(-2, -1)) @ q
    y = y.transpose(1, 2).contiguous().view(b, t, c)
    return y.view(b * t, c), x.view(b, -1), x.view(-1, c)

=== reject: one layer in one direction
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 16, batch_first=True)

    def forward(self, x):
        out, (h, c) = self.lstm(x)
        return h.view(x.size(0), -1)

=== reject: rows of a file
import numpy as np
import torch

rows = np.load("rows.npy")
pictures = torch.from_numpy(rows).view(len(rows), 3, 32, 32)

=== finds: frames back in the wrong order
import torch
from torch import nn

class Clips(nn.Module):
    def forward(self, clip):
        n, frames, c, h, w = clip.shape
        seen = self.backbone(clip.view(n * frames, c, h, w))
        return self.rnn(seen.view(frames, n, -1))

=== finds: tokens back to a map
import torch

def mixed(x):
    n, c, h, w = x.shape
    tokens = x.flatten(2).transpose(1, 2)
    return tokens.reshape(n, c, h, w)

=== finds: heads joined where they stand
import torch

def attend(q, k, v):
    n, heads, steps, width = q.shape
    weights = (q @ k.transpose(-2, -1)).softmax(dim=-1)
    return (weights @ v).reshape(n, steps, heads * width)

=== finds: heads split with the batch
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads, self.depth = heads, size // heads
        self.keys = nn.Linear(size, size)

    def forward(self, x):
        return self.keys(x).view(x.size(0) * self.heads, -1, self.depth)

=== finds: heads split by a method of their own
from torch import nn

class Attention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads, self.head_dim = heads, size // heads
        self.to_key = nn.Linear(size, size)

    def split(self, values, number):
        return values.view(number, self.heads, -1, self.head_dim)

    def forward(self, x):
        return self.split(self.to_key(x), x.size(0))

=== finds: an array of pictures as a tensor
import torch

def ready(pictures):
    n, h, w, c = pictures.shape
    return torch.from_numpy(pictures).view(n, c, h, w)

=== finds: last states of several layers
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(8, 16, num_layers=2)

    def forward(self, x):
        _, last = self.gru(x)
        return last.view(-1, 32)

=== finds: patches without their channels
import torch

def patches(x, size):
    n, c, h, w = x.shape
    cut = x.unfold(2, size, size).unfold(3, size, size).contiguous()
    return cut.view(n, -1, c * size * size)

=== finds: pixels of patches as rows and columns
import torch
from torch import nn

class Decoder(nn.Module):
    def forward(self, tokens, n, height, width):
        tiles = self.head(tokens).reshape(n, self.side ** 2, self.tile ** 2, self.colours)
        return tiles.reshape(n, height, width, self.colours)

=== reject: patches put side by side first
import torch
from torch import nn

class Decoder(nn.Module):
    def forward(self, tokens, n, height, width):
        tiles = self.head(tokens).reshape(n, self.side, self.side, self.tile, self.tile, self.colours)
        tiles = tiles.permute(0, 1, 3, 2, 4, 5).reshape(n, height, width, self.colours)
        return tiles.reshape(n, height * width, self.colours)

=== finds: heads in front of the batch, joined by a method of their own
import torch
from torch import nn

class Heads(nn.Module):
    def join(self, batch, values):
        values = values.permute(0, 2, 1, 3)
        return values.reshape(batch, -1, self.count * self.depth)

    def forward(self, values, batch):
        values = values.view(self.count, batch, -1, self.depth)
        return self.end(self.join(batch, values))

=== finds: channels of a picture in front
import cv2
import torch

picture = cv2.imread("cat.png")
x = torch.from_numpy(picture).float().view(1, 3, 224, 224)

=== finds: channels of a list of pictures in front
import cv2
import numpy as np

def load(paths):
    pictures = []
    for path in paths:
        picture = cv2.imread(path)
        pictures.append(cv2.resize(picture, (48, 48)))
    return np.array(pictures).reshape(-1, 3, 48, 48)

=== finds: scores of a convolution by class
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.classes = classes
        self.scores = nn.Conv2d(8, 6 * classes, 3)

    def forward(self, x):
        scores = self.scores(x)
        return scores.view(x.size(0), -1, self.classes)

=== finds: segments of a clip joined to the batch
import torch

def split(self, x):
    n, c, length, h, w = x.size()
    return self.conv(x.view(n * self.segments, self.frames * c, h, w))

=== example: sizes by the name of the shape
import torch

def show(picture):
    sizes = picture.shape
-     return picture.reshape(sizes[1], sizes[2], sizes[0])
+     return picture.permute(1, 2, 0)

=== finds: pictures of a batch, one by one
import torch

def rows(x):
    n, c, h, w = x.shape
    return [x[i].reshape(h, w, c) for i in range(n)]

=== reject: the shape of what it was before
import torch

def turned(x):
    sizes = x.shape
    x = x.permute(1, 2, 0).contiguous()
    return x.view(sizes[1], sizes[2], sizes[0])

=== reject: frames and the batch, there and back
import torch
from torch import nn

class Clips(nn.Module):
    def forward(self, clip):
        n, frames, c, h, w = clip.shape
        seen = self.backbone(clip.view(frames * n, c, h, w))
        return self.rnn(seen.view(n, frames, -1))

=== reject: permuted patches, and patches with channels of their own
import torch

def patches(x, size):
    n, c, h, w = x.shape
    cut = x.unfold(2, size, size).unfold(3, size, size)
    return cut.permute(0, 2, 3, 1, 4, 5).reshape(n, -1, c * size * size), cut.reshape(n, c, -1, size, size)

=== reject: values that a mask chooses
import torch

def visible(picture, mask, number):
    channels, height, width = picture.size()
    return picture[mask].view(2, channels, number)

=== reject: a single step for a cell, and for heads
import torch
from torch import nn

class Step(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = nn.Linear(8, 8)

    def forward(self, x, state):
        state = state.view(state.size(1), -1)
        return state, self.key(x).view(x.size(0), self.heads, 1, self.head_dim)

=== reject: heads moved back
import torch

def attend(q, k, v):
    n, heads, steps, width = q.shape
    weights = (q @ k.transpose(-2, -1)).softmax(dim=-1)
    return (weights @ v).transpose(1, 2).reshape(n, steps, heads * width)

=== reject: a picture that was made a tensor
import numpy as np
from PIL import Image

x = np.asarray(Image.open("cat.png"))
x = transform(x).numpy()
x = np.reshape(x, [1, 3, x.shape[1], x.shape[2]])
height = x.shape[3]

=== reject: joined with another in front
import torch

def both(a, b):
    n, c, steps = a.shape
    return torch.cat([a, b]).view(2, n, c, steps)
"""
