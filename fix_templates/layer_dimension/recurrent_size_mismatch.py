"""A recurrent layer is made for another number of features per step than it receives."""

from __future__ import annotations

from dnnfix.api import (
    Example,
    Reject,
    SizeTemplate,
)


class RecurrentSizeMismatch(SizeTemplate):
    """A recurrent layer is made for another number of features per step than it receives.

    `input_size` is the size of one step, not the length of the sequence nor the size of the batch. The program stops at
    the first batch.

    Fix safety: unsafe. The layer, or the one before it, gets other weights; saved weights do not fit any more.

    References: torch.nn.LSTM (`input_size`, "the number of expected features in the input x").
    """

    code = "DNF204"
    name = "recurrent-size-mismatch"
    message = "{layer} takes {stated} features per step and receives {received}"
    kind = "recurrent"

    examples = (
        Example(
            "length of the sequence given as its width",
            """\
import torch
import torch.nn as nn

steps = torch.randn(4, 10, 3)
- lstm = nn.LSTM(input_size=10, hidden_size=6, batch_first=True)
+ lstm = nn.LSTM(input_size=3, hidden_size=6, batch_first=True)
out, state = lstm(steps)
""",
            runs=True,
        ),
        Example(
            "embedding of another width",
            """\
import torch
import torch.nn as nn


class Tagger(nn.Module):
    def __init__(self, vocab, width, hidden, tags):
        super().__init__()
        self.words = nn.Embedding(vocab, width)
-         self.rnn = nn.GRU(hidden, hidden, batch_first=True)
+         self.rnn = nn.GRU(width, hidden, batch_first=True)
        self.out = nn.Linear(hidden, tags)

    def forward(self, x):
        h, _ = self.rnn(self.words(x))
        return self.out(h)


Tagger(30, 8, 12, 5)(torch.randint(0, 30, (2, 7)))
""",
            runs=True,
        ),
        Example(
            "bidirectional layer before",
            """\
import torch
import torch.nn as nn

first = nn.LSTM(4, 8, bidirectional=True)
- second = nn.LSTM(8, 8)
+ second = nn.LSTM(16, 8)
out, _ = first(torch.randn(5, 2, 4))
out, _ = second(out)
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

out, _ = nn.GRU(3, 6)(torch.randn(10, 4, 3))
""",
            runs=True,
        ),
        Reject(
            "a state of the wrong size",
            """\
import torch
import torch.nn as nn

nn.GRU(3, 6)(torch.randn(10, 4, 3), torch.zeros(1, 2, 6))
""",
            runs=True,
        ),
    )
