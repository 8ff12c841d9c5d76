"""An attention layer is made for another width than it receives."""

from __future__ import annotations

from dnnfix.api import (
    Example,
    Reject,
    SizeTemplate,
)


class AttentionSizeMismatch(SizeTemplate):
    """A multi-head attention or transformer layer is made for another width than it receives.

    `embed_dim` (`d_model`) is the size of the last axis of the sequence; the program stops at the first batch.

    Fix safety: unsafe. The layer, or the one before it, gets other weights; saved weights do not fit any more.

    References: torch.nn.MultiheadAttention (`embed_dim`), torch.nn.TransformerEncoderLayer (`d_model`).
    """

    code = "DNF205"
    name = "attention-size-mismatch"
    message = "{layer} is made for a width of {stated} and receives {received}"
    kind = "attention"

    examples = (
        Example(
            "self-attention over narrower tokens",
            """\
import torch
import torch.nn as nn

tokens = torch.randn(2, 5, 24)
- attention = nn.MultiheadAttention(32, 4, batch_first=True)
+ attention = nn.MultiheadAttention(24, 4, batch_first=True)
out, weights = attention(tokens, tokens, tokens)
""",
            runs=True,
        ),
        Example(
            "encoder layer after an embedding",
            """\
import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
-         self.layer = nn.TransformerEncoderLayer(d_model=32, nhead=4, dim_feedforward=16)
+         self.layer = nn.TransformerEncoderLayer(d_model=16, nhead=4, dim_feedforward=16)

    def forward(self, x):
        return self.layer(self.embed(x))


Encoder()(torch.randint(0, 50, (3, 6)))
""",
            runs=True,
        ),
        Example(
            "projection before the encoder",
            """\
import torch
from torch import nn

- project = nn.Linear(6, 20)
+ project = nn.Linear(6, 16)
layer = nn.TransformerEncoderLayer(d_model=16, nhead=2, dim_feedforward=8)
encoder = nn.TransformerEncoder(layer, num_layers=2)
print(encoder(project(torch.randn(4, 3, 6))).shape)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "widths that meet",
            """\
import torch
import torch.nn as nn

x = torch.randn(2, 5, 16)
nn.MultiheadAttention(16, 4)(x, x, x)
""",
            runs=True,
        ),
        Reject(
            "heads that do not divide the width",
            """\
import torch
import torch.nn as nn

nn.MultiheadAttention(30, 4)
""",
            runs=True,
        ),
    )
