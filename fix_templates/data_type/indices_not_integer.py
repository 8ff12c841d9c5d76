"""Floats go into an embedding, which looks rows up by integers."""

from __future__ import annotations

from dnnfix.api import (
    Call,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Site,
    Subject,
    Symptom,
    cast_where_made,
    cast_where_used,
    failing_call,
    short,
)

LOOKUPS = frozenset({"torch.nn.Embedding", "torch.nn.EmbeddingBag", "torch.nn.functional.embedding"})


class IndicesNotInteger(FaultTemplate[Call]):
    """An embedding is given its indices as floating-point numbers, and torch refuses.

    It happens where token ids went through a float tensor on their way: a padded buffer made by `torch.zeros`, a table
    read as numbers. Ids that are whole numbers keep their value in the cast; fractions are left alone.

    Fix safety: unsafe. The program did not run before.

    References: torch.nn.Embedding, section "Shape" ("IntTensor or LongTensor of arbitrary shape").
    """

    code = "DNF603"
    name = "indices-not-integer"
    family = Family.DATA_TYPE
    fix_pattern = FixPattern.DATA_TYPE
    message = "{layer} looks rows up by integers and is given {received}"
    needs_run = True
    elsewhere = True
    declined = "the place where the indices enter is not in this file"

    def faults(self, subject: Subject) -> Faults[Call]:
        call = failing_call(subject)
        if call is None or call.name not in LOOKUPS or not call.inputs:
            return
        dtype = call.inputs[0].dtype
        if dtype is not None and dtype.startswith(("float", "bfloat")) and call.inputs[0].integral is not False:
            yield call.site, call

    def report(self, site: Site, call: Call) -> Finding:
        indices = call.inputs[0]
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.9,
            evidence={"received": indices.dtype, "shape": indices.shape},
            cause="crash",
            layer=short(call.name),
            received=indices.dtype,
        )

    def repairs(self, subject: Subject, call: Call) -> Repairs:
        yield "Make the indices integers", cast_where_made(subject, call, 0, "int64"), 0.8
        yield "Cast the indices to integers", cast_where_used(subject, call, 0, "int64"), 0.7

    examples = (
        Example(
            "a padded buffer of zeros",
            before="""\
import torch
import torch.nn as nn

batch = torch.zeros(4, 7)
batch[0, :3] = torch.tensor([5.0, 2.0, 9.0])
words = nn.Embedding(10, 3)
print(words(batch).shape)
""",
            after="""\
import torch
import torch.nn as nn

batch = torch.zeros(4, 7)
batch[0, :3] = torch.tensor([5.0, 2.0, 9.0])
words = nn.Embedding(10, 3)
print(words(batch.long()).shape)
""",
            runs=True,
        ),
        Example(
            "a float tensor given to a model",
            before="""\
import torch

class Tagger(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.table = torch.nn.Embedding(size, 4)

    def forward(self, ids):
        return self.table(ids).mean(dim=1)

ids = torch.FloatTensor([[1, 2], [3, 0]])
print(Tagger(6)(ids))
""",
            after="""\
import torch

class Tagger(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.table = torch.nn.Embedding(size, 4)

    def forward(self, ids):
        return self.table(ids.long()).mean(dim=1)

ids = torch.FloatTensor([[1, 2], [3, 0]])
print(Tagger(6)(ids))
""",
            runs=True,
        ),
        Example(
            "ids computed in floats",
            before="""\
import torch
from torch import nn

lookup = nn.Embedding(5, 2)
positions = torch.linspace(0, 4, 5).round()
out = lookup(positions * 1)
""",
            after="""\
import torch
from torch import nn

lookup = nn.Embedding(5, 2)
positions = torch.linspace(0, 4, 5).round()
out = lookup((positions * 1).long())
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "integer ids",
            "import torch\nprint(torch.nn.Embedding(4, 2)(torch.tensor([0, 3])))\n",
            runs=True,
        ),
        Reject(
            "an id outside the table",
            "import torch\nprint(torch.nn.Embedding(4, 2)(torch.tensor([0, 4])))\n",
            runs=True,
        ),
    )
