"""Calls of PyTorch that have to be given something else today."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    ApiChange,
    Example,
    Hit,
    Reject,
    Subject,
    changed_forms,
    refused_complement,
    refused_mask,
    uses_of,
)


class OutdatedCall(ApiChange):
    """A call whose arguments changed along with its name or its defaults: `torch.load`, `iter(loader).next()`.

    Since PyTorch 2.6 `torch.load` reads weights only. A file that holds a whole network is refused unless the call says
    `weights_only=False`; that a network is in the file is told by what the program does with it. `torch.stft` of a real
    signal gave pairs of reals and has to be asked for complex numbers since 2.0. Masks of bytes are refused by
    `masked_select` and its like since 2.1, and what comparing gives cannot be subtracted since 1.2 (`1 - mask`).
    Nothing is of the type `Variable` since 0.4 (`type(h) == Variable`). Iterators of loaders have no `next()` since 1.13, and `Sampler` no constructor that takes the data since 2.10.

    The others still work and are spoken of where the run warned, or where `DNF550` is asked for: `torch.cuda.amp.autocast()`
    is `torch.amp.autocast("cuda")`, `chain_matmul(a, b)` is `linalg.multi_dot([a, b])`, `v2.ToTensor()` is `ToImage` and
    `ToDtype`, `x.add_(2, y)` is `x.add_(y, alpha=2)`, `resnet18(True)` takes `weights`, a schedule's `step` no epoch, and
    `checkpoint` and `meshgrid` are to be told `use_reentrant` and `indexing`.

    Fix safety: unsafe for `torch.load`, as such a file can run any code when it is read, for `torch.stft`, which gave
    complex numbers for a complex signal, for `1 - mask`, which is negated where it is a mask and made of bytes elsewhere,
    for a schedule's `step`, and for `v2.ToTensor`; the other forms do the same as the old ones.

    References: https://docs.pytorch.org/docs/stable/generated/torch.load.html,
    https://docs.pytorch.org/docs/stable/amp.html, https://docs.pytorch.org/docs/stable/checkpoint.html,
    https://github.com/pytorch/pytorch/releases/tag/v1.2.0 (truth values).
    """

    code = "DNF530"
    name = "outdated-call"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The calls whose form changed."""
        yield from changed_forms(uses_of(subject.source))
        yield from refused_mask(subject)
        yield from refused_complement(subject)

    examples = (
        Example(
            "truth values of an argument, which are negated twice",
            """\
import torch


def closed(mask, home):
-     if (1 - home).any():
-         mask[(1 - home).nonzero(), 0] = 0.0
+     if (~home).any():
+         mask[(~home).nonzero(), 0] = 0.0
    return mask


print(closed(torch.ones(3, 2), torch.tensor([1, 0, 2]).ne(0)))
""",
            runs=True,
        ),
        Example(
            "a whole network in a file",
            """\
import torch

- model = torch.load("model.pth", map_location="cpu")
+ model = torch.load("model.pth", map_location="cpu", weights_only=False)
model.eval()
""",
        ),
        Example(
            "a network that is used at once",
            """\
import torch as th

- names = [name for name, _ in th.load("model.pt").named_parameters()]
+ names = [name for name, _ in th.load("model.pt", weights_only=False).named_parameters()]
""",
        ),
        Example(
            "the spectrum of a real signal",
            """\
import torch

signal = torch.sin(torch.arange(64.0))
- spectrum = torch.stft(signal, 16, hop_length=8, window=torch.ones(16))
+ spectrum = torch.view_as_real(torch.stft(signal, 16, hop_length=8, window=torch.ones(16), return_complex=True))
print(spectrum[..., 0].shape)
""",
            runs=True,
        ),
        Example(
            "a sampler, and the first batch of a loader",
            """\
import torch
from torch.utils.data import DataLoader, Sampler


class Backwards(Sampler):
    def __init__(self, source):
-         super(Backwards, self).__init__(source)
+         super(Backwards, self).__init__()
        self.source = source

    def __iter__(self):
        return iter(reversed(range(len(self.source))))


numbers = torch.arange(4.0)
batches = iter(DataLoader(numbers, sampler=Backwards(numbers)))
- print(batches.next())
+ print(next(batches))
""",
            runs=True,
        ),
        Example(
            "a test for variables",
            """\
import torch
from torch.autograd import Variable


def repackaged(h):
-     if type(h) == Variable:
+     if isinstance(h, torch.Tensor):
        return Variable(h.data)
    return tuple(repackaged(v) for v in h)


print(repackaged((torch.ones(2), torch.zeros(2))))
""",
            runs=True,
        ),
        Example(
            "masks of bytes, and their complement",
            """\
import torch

prob = torch.rand(4, 3)
one_hot = torch.zeros(4, 3)
one_hot.scatter_(1, torch.ones(4, 1).long(), 1)
- chosen = torch.masked_select(prob, one_hot.byte())
+ chosen = torch.masked_select(prob, one_hot.bool())
pad = prob.gt(0.5)
- kept = prob * (1 - pad)
- rest = prob[1 - pad]
+ kept = prob * (1 - pad.byte())
+ rest = prob[~pad]
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "iterators, masks and samplers of today",
            """\
import torch
from torch.utils.data import DataLoader, Sampler


class Backwards(Sampler):
    def __init__(self, source):
        super().__init__()
        self.source = source

    def __iter__(self):
        return iter(reversed(range(len(self.source))))


class Cursor:
    def next(self):
        return 1


numbers = torch.arange(4.0)
first = next(iter(DataLoader(numbers, sampler=Backwards(numbers))))
mask = numbers.gt(1)
print(numbers.masked_select(mask), numbers[~mask], 1 - mask.float(), Cursor().next())
""",
            runs=True,
        ),
        Reject(
            "one less than what NumPy compares, and sets that grow",
            """\
import numpy as np
import torch

labels = np.array([0, 1])
wrong = 1 - (labels == 1)
seen = set()
seen.add(torch.ones(1).item())
weights = torch.ones(2).add_(torch.ones(2), alpha=0.5).add_(1)
""",
            runs=True,
        ),
        Reject(
            "a spectrum that is asked for as it is given today",
            """\
import torch

spectrum = torch.stft(torch.ones(64), 16, window=torch.ones(16), return_complex=True)
""",
            runs=True,
        ),
        Reject(
            "a dictionary of weights",
            """\
import torch

model = torch.nn.Linear(2, 1)
state = torch.load("weights.pth", map_location="cpu")
model.load_state_dict(state)
model.eval()
""",
        ),
        Reject(
            "the call says it already",
            """\
import torch

model = torch.load("model.pth", weights_only=False)
model.eval()
""",
        ),
        Reject(
            "another library's load",
            """\
import joblib
import torch

model = joblib.load("model.pkl")
model.eval()
""",
        ),
    )
