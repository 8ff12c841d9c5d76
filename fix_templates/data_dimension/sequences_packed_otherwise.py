"""Sequences are packed in another order of axes, or of lengths, than they have."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from dnnfix.api import (
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    SetArgument,
    Site,
    Subject,
    Symptom,
)

PACK = "torch.nn.utils.rnn.pack_padded_sequence"
UNPACK = "torch.nn.utils.rnn.pad_packed_sequence"

COUNTED = re.compile(r"lengths.*batch_size, but got (\d+) \(batch_size=(\d+)\)")
UNSORTED = re.compile(r"lengths.*must be sorted in decreasing order")


@dataclass(frozen=True, slots=True)
class _Packed:
    """A call that packs sequences and failed: the argument that it lacks, and why."""

    node: ast.Call
    argument: str
    value: str
    why: str


class SequencesPackedOtherwise(FaultTemplate[_Packed]):
    """Sequences are packed in another order of axes, or of lengths, than they have.

    `pack_padded_sequence` takes (steps, batch, features) unless `batch_first=True` is given to it, too: that the
    recurrent layer has it does not count. And it takes the longest sequence first, unless `enforce_sorted=False` lets it
    sort them and put what comes out back in place.

    Fix safety: unsafe. The program did not run before; the sequences stay in their order.

    References: torch.nn.utils.rnn.pack_padded_sequence (`batch_first`, `enforce_sorted`).
    """

    code = "DNF131"
    name = "sequences-packed-otherwise"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.API_CONTRACT
    message = "the sequences are packed as if {why}"
    triggers = ("pack_padded_sequence",)
    needs_run = True
    declined = "the packing is not written in this file"

    def faults(self, subject: Subject) -> Faults[_Packed]:
        found = _packed(subject)
        if found is not None:
            yield subject.source.site(found.node), found

    def report(self, site: Site, found: _Packed) -> Finding:
        return self.finding(site, symptom=Symptom.CRASH, confidence=0.95, cause="crash", why=found.why)

    def repairs(self, subject: Subject, found: _Packed) -> Repairs:
        own = SetArgument(subject.source.site(found.node), found.argument, found.value)
        title = f"Pack with {found.argument}={found.value}"
        if found.argument != "batch_first":
            yield title, (own,), 0.95
            return
        other = [call for call in subject.source.calls(UNPACK) if not _given(call, "batch_first", 1)]
        both = [SetArgument(subject.source.site(call), "batch_first", "True") for call in other]
        if both:
            yield f"{title}, and unpack so", (own, *both), 0.9
        yield title, (own,), 0.85

    examples = (
        Example(
            "lengths that are not sorted",
            """\
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

rnn = nn.GRU(4, 6, batch_first=True)
words, lengths = torch.rand(3, 7, 4), torch.tensor([2, 7, 5])
- _, last = rnn(pack_padded_sequence(words, lengths, batch_first=True))
+ _, last = rnn(pack_padded_sequence(words, lengths, batch_first=True, enforce_sorted=False))
""",
        ),
        Example(
            "the batch first for the layer alone",
            """\
import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 6, batch_first=True)

    def forward(self, x, lengths):
-         packed = nn.utils.rnn.pack_padded_sequence(x, lengths)
-         out, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0])
+         packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
+         out, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return out


Encoder()(torch.rand(3, 7, 4), [7, 5, 2])
""",
        ),
        Example(
            "only the last state is used",
            """\
import torch
import torch.nn.utils.rnn as R

gru = torch.nn.GRU(2, 3, batch_first=True)
steps = torch.rand(4, 5, 2)
- packed = R.pack_padded_sequence(steps, [5, 4, 2, 1])
+ packed = R.pack_padded_sequence(steps, [5, 4, 2, 1], batch_first=True)
print(gru(packed)[1].shape)
""",
        ),
    )
    rejects = (
        Reject(
            "sequences that are packed as they are",
            """\
import torch
from torch.nn.utils.rnn import pack_padded_sequence

pack_padded_sequence(torch.rand(7, 3, 4), [7, 5, 2])
pack_padded_sequence(torch.rand(3, 7, 4), [2, 7, 5], batch_first=True, enforce_sorted=False)
""",
        ),
        Reject(
            "a length for each sequence but one",
            """\
import torch
from torch.nn.utils.rnn import pack_padded_sequence

pack_padded_sequence(torch.rand(3, 7, 4), [7, 5], batch_first=True)
""",
        ),
    )


def _packed(subject: Subject) -> _Packed | None:
    crash = subject.crash
    node = subject.node(crash.site) if crash is not None else None
    node = node.value if isinstance(node, ast.Expr) else node
    if crash is None or not isinstance(node, ast.Call) or subject.source.qualified(node.func) != PACK:
        return None
    if UNSORTED.search(crash.message) and not _given(node, "enforce_sorted", 3):
        return _Packed(node, "enforce_sorted", "False", "the longest came first")
    if COUNTED.search(crash.message) and not _given(node, "batch_first", 2):
        return _Packed(node, "batch_first", "True", "the steps were their first axis")
    return None


def _given(call: ast.Call, name: str, place: int) -> bool:
    return len(call.args) > place or any(one.arg in (name, None) for one in call.keywords)
