"""An attention layer is made for another width than it receives."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    SizeConflict,
    Subject,
    Symptom,
    both_ends,
    short,
    size_conflict,
)


class AttentionSizeMismatch(FixTemplate):
    """A multi-head attention or transformer layer is made for another width than it receives.

    `embed_dim` (`d_model`) is the size of the last axis of the sequence; the program stops at the first batch.

    Fix safety: unsafe. The layer, or the one before it, gets other weights; saved weights do not fit any more.

    References: torch.nn.MultiheadAttention (`embed_dim`), torch.nn.TransformerEncoderLayer (`d_model`).
    """

    code = "DNF205"
    name = "attention-size-mismatch"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "{layer} is made for a width of {stated} and receives {received}"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        conflict = size_conflict(subject)
        if conflict is None or not _explains(subject, conflict):
            return
        site = conflict.call.made_at or conflict.call.site
        if site is not None:
            yield self.finding(
                site,
                symptom=Symptom.CRASH,
                confidence=0.9,
                cause="crash",
                evidence={"stated": conflict.stated, "received": conflict.received, "axis": conflict.axis},
                layer=short(conflict.call.name),
                stated=conflict.stated,
                received=conflict.received,
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        conflict = size_conflict(subject)
        changes = both_ends(subject, conflict) if conflict is not None else []
        for change in changes[:4]:
            yield self.candidate(finding, change.title, *change.edits, prior=change.prior)
        if not changes:
            yield Decline("neither size is written at a place that can be changed alone")

    examples = (
        Example(
            "self-attention over narrower tokens",
            before="""\
import torch
import torch.nn as nn

tokens = torch.randn(2, 5, 24)
attention = nn.MultiheadAttention(32, 4, batch_first=True)
out, weights = attention(tokens, tokens, tokens)
""",
            after="""\
import torch
import torch.nn as nn

tokens = torch.randn(2, 5, 24)
attention = nn.MultiheadAttention(24, 4, batch_first=True)
out, weights = attention(tokens, tokens, tokens)
""",
            runs=True,
        ),
        Example(
            "encoder layer after an embedding",
            before="""\
import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.layer = nn.TransformerEncoderLayer(d_model=32, nhead=4, dim_feedforward=16)

    def forward(self, x):
        return self.layer(self.embed(x))


Encoder()(torch.randint(0, 50, (3, 6)))
""",
            after="""\
import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.layer = nn.TransformerEncoderLayer(d_model=16, nhead=4, dim_feedforward=16)

    def forward(self, x):
        return self.layer(self.embed(x))


Encoder()(torch.randint(0, 50, (3, 6)))
""",
            runs=True,
        ),
        Example(
            "projection before the encoder",
            before="""\
import torch
from torch import nn

project = nn.Linear(6, 20)
layer = nn.TransformerEncoderLayer(d_model=16, nhead=2, dim_feedforward=8)
encoder = nn.TransformerEncoder(layer, num_layers=2)
print(encoder(project(torch.randn(4, 3, 6))).shape)
""",
            after="""\
import torch
from torch import nn

project = nn.Linear(6, 16)
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


def _explains(subject: Subject, conflict: SizeConflict) -> bool:
    return conflict.facts.kind == "attention"
